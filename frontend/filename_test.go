package frontend

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/orchestrator"
)

func TestFilename(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for in, want := range map[string]string{
		"report.pdf": "report.pdf", "": "file", ".": "file", "..": "file", "/": "file", ".bashrc": "bashrc", "a/b/c.txt": "c.txt", `C:\x\y.txt`: "y.txt",
		"a:b": "a_b", "CON": "_CON", "con.txt": "_con.txt", "COM1": "_COM1", "lpt9.log": "_lpt9.log", "console": "console", "a\x00b": "ab", "a\u202egpj.exe": "agpj.exe",
		"\xff\xfea.txt": "a.txt", "名前.txt": "名前.txt", "a.txt. .": "a.txt", long + ".pdf": strings.Repeat("é", 116) + ".pdf", long: strings.Repeat("é", 120), "x." + long: "x." + strings.Repeat("é", 118),
	} {
		if got := CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzFilename(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", "CON", "\u202e", ". .", "x/..", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := CleanName(s)
		if got == "" || got == "." || got == ".." || strings.ContainsAny(got, "/\\:\x00\r\n") || !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxFilename+1 {
			t.Errorf("CleanName(%q) = %q", s, got)
		}
	})
}

// A chat's title is no path: all of it is in the name of its file, and nothing that would mislead.
func TestExportFilename(t *testing.T) {
	t.Parallel()
	c := &orchestrator.Conversation{Name: "Tides / moons \u202egpj"}
	if got := disposition("attachment", fileOf(t.Context(), c, ".md")); got != `attachment; filename="Tides - moons gpj.md"` {
		t.Error(got)
	}
}
