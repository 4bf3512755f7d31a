package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, text string) (*File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path, true)
}

func TestRead(t *testing.T) {
	t.Parallel()
	f, err := read(t, "# ours\na2a:\n  publicUrl: https://parley.example\n  localWebhooks: true\n  errorStatuses: 1.0.0\nhistory: {days: 30}\ndemo: false\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a2a.publicUrl": "https://parley.example", "a2a.localWebhooks": "true", "a2a.errorStatuses": "1.0.0", "history.days": "30", "demo": "false"} {
		if got, _, ok := f.Get(name); !ok || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, where, _ := f.Get("a2a.publicUrl"); !strings.HasSuffix(where, "parley.yaml, line 3") {
		t.Errorf("it stands at %s", where)
	}
	if _, _, ok := f.Get("ui.address"); ok {
		t.Error("there is what nobody wrote")
	}
	for _, empty := range []string{"", "# nothing\n"} {
		if _, err := read(t, empty); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
	if f, err := Read(filepath.Join(t.TempDir(), "none.yaml"), false); err != nil || f == nil {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.yaml"), true); err == nil {
		t.Error("one that was named is missing, and nobody says so")
	}
}

// What is wrong is named, with its line.
func TestReadWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a2a:\n  pubicUrl: x\n":              ":2: there is no setting a2a.pubicUrl; did you mean a2a.publicUrl?",
		"nonsense: 1\n":                      ":1: there is no setting nonsense",
		"demo: maybe\n":                      `:1: demo is true or false, not "maybe"`,
		"history:\n  days: -1\n":             ":2: history.days is a whole number from 0 on",
		"history:\n  days: \"30\"\n":         ":2: history.days is a whole number",
		"appearance:\n  theme: pink\n":       `:2: appearance.theme is one of system, light, dark, not "pink"`,
		"a2a: [1]\n":                         "a name and a value are wanted here",
		"demo:\n":                            "demo wants one value",
		"ui:\n  address: a\nui.address: b\n": ":3: ui.address is set twice",
		"a2a: {\n":                           "is not YAML",
	} {
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// A variable counts before the file, and is checked as the file is.
func TestFind(t *testing.T) {
	t.Parallel()
	f, err := read(t, "a2a:\n  publicUrl: https://file.example\ndemo: true\n")
	if err != nil {
		t.Fatal(err)
	}
	find := func(name, variable, value string) (string, string, bool, error) {
		t.Helper()
		for _, k := range Keys {
			if k.Name == name {
				return f.Find(k, func(v string) string { return map[string]string{variable: value}[v] })
			}
		}
		t.Fatalf("there is no %s", name)
		return "", "", false, nil
	}
	for _, c := range []struct{ name, variable, value, want, where string }{
		{"a2a.publicUrl", "PARLEY_A2A_PUBLIC_URL", "https://env.example", "https://env.example", "PARLEY_A2A_PUBLIC_URL"},
		{"a2a.publicUrl", "PARLEY_A2A_PUBLIC_URL", "", "https://file.example", "parley.yaml, line 2"},
		{"demo", "PARLEY_DEMO", "false", "false", "PARLEY_DEMO"},
		{"history.days", "PARLEY_HISTORY_DAYS", "0", "0", "PARLEY_HISTORY_DAYS"},
		{"history.days", "PARLEY_HISTORY_DAYS", "", "", ""},
	} {
		text, where, ok, err := find(c.name, c.variable, c.value)
		if err != nil || text != c.want || !strings.HasSuffix(where, c.where) || ok != (c.want != "") {
			t.Errorf("%s with %q: %q at %q, %t, %v", c.name, c.value, text, where, ok, err)
		}
	}
	for _, c := range [][3]string{
		{"demo", "PARLEY_DEMO", "1"},
		{"history.days", "PARLEY_HISTORY_DAYS", "-1"},
		{"history.days", "PARLEY_HISTORY_DAYS", "1.5"},
		{"appearance.theme", "PARLEY_APPEARANCE_THEME", "pink"},
	} {
		if _, _, _, err := find(c[0], c[1], c[2]); err == nil || !strings.HasPrefix(err.Error(), c[1]+": "+c[0]+" is ") {
			t.Errorf("%s=%s: %v", c[1], c[2], err)
		}
	}
	seen := map[string]string{"PARLEY_DATA": "the data directory", "PARLEY_LOGIN": "the passphrase", "PARLEY_PASSPHRASE": "the vault's"}
	for _, k := range Keys {
		if other := seen[k.Variable()]; other != "" {
			t.Errorf("%s is both %s and %s", k.Variable(), other, k.Name)
		}
		seen[k.Variable()] = k.Name
	}
}
