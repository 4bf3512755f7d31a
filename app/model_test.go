package app_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/app"
	"parley/orchestrator"
	"parley/orchestrator/planner/modeltest"
)

const secretKey = "sk-the-key-that-nobody-sees"

func ptr[T any](v T) *T { return &v }

// inVault keeps credentials on the disk.
func inVault(c *app.Config) { c.Keyring = &keychain{} }

// TestModelKey follows a key: to the endpoint it is for, and nowhere else.
func TestModelKey(t *testing.T) {
	t.Parallel()
	first := modeltest.New(t, modeltest.Delegate("", [2]string{"echo", "Say hello."}), modeltest.Finish("By the first."))
	first.Key(secretKey)
	second := modeltest.New(t, modeltest.Finish("By the second."))
	p := start(t, inVault)
	m := verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr(first.URL), Name: ptr("small"), On: ptr(true), Key: ptr(secretKey)})
	if !m.On || !m.Key || m.URL != first.URL || !strings.Contains(m.Kept, "encrypted") {
		t.Fatalf("%+v", m)
	}
	if test := verb[orchestrator.ModelTest](p, "model.test", struct{}{}); !test.OK || !test.Tools || len(test.Models) != 2 {
		t.Errorf("%+v", test)
	}
	if got := p.say("Hello there"); !strings.Contains(got, "By the first.") {
		t.Errorf("the answer is %q", got)
	}
	for _, r := range first.Asked() {
		if r.Header.Get("Authorization") != "Bearer "+secretKey || strings.Contains(string(r.Body), secretKey) {
			t.Errorf("%v %s", r.Header, r.Body)
		}
	}

	// Another origin does not see it, neither on trial nor in use.
	if test := verb[orchestrator.ModelTest](p, "model.test", app.ModelChange{URL: ptr(strings.Replace(second.URL, "127.0.0.1", "localhost", 1)), Name: ptr("")}); test.OK || !strings.Contains(test.What, "no model is chosen") {
		t.Errorf("%+v", test)
	}
	if m = verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr(second.URL)}); m.Key || !m.On {
		t.Errorf("%+v", m)
	}
	if got := p.say("Hello again"); !strings.Contains(got, "By the second.") {
		t.Errorf("the answer is %q", got)
	}
	for _, r := range second.Asked() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the second was sent %v", r.Header)
		}
	}
	// It is forgotten, not only unused.
	if m = verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr(first.URL)}); m.Key {
		t.Errorf("the key is still there: %+v", m)
	}

	p.stop()
	if strings.Contains(p.log.String(), secretKey) {
		t.Error("the log holds the key")
	}
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secretKey) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// say says something to nobody in particular, and returns what came back until it ended, or something was asked.
func (p *program) say(text string) string {
	p.Helper()
	var all strings.Builder
	asked := errors.New("asked")
	err := p.ctl.Stream(p.Context(), "send", app.Message{Text: text}, func(line []byte) error {
		all.Write(line)
		if strings.Contains(string(line), `"kind":"ask"`) {
			return asked
		}
		return nil
	})
	if err != nil && !errors.Is(err, asked) {
		p.Fatalf("%s: %v", text, err)
	}
	return all.String()
}

// TestModelKept has it all there after a restart.
func TestModelKept(t *testing.T) {
	t.Parallel()
	e := modeltest.New(t, modeltest.Finish("As before."))
	e.Key(secretKey)
	dir, keys := t.TempDir(), &keychain{}
	same := func(c *app.Config) { c.Keyring = keys }
	p := startIn(t, dir, same)
	verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr(e.URL), Name: ptr("small"), On: ptr(true), Key: ptr(secretKey)})
	p.stop()
	p = startIn(t, dir, same)
	if m := verb[orchestrator.Model](p, "model.show", struct{}{}); !m.On || !m.Key || m.Name != "small" || m.Fault != nil {
		t.Errorf("%+v", m)
	}
	if got := p.say("Hello"); !strings.Contains(got, "As before.") {
		t.Errorf("the answer is %q", got)
	}
	verb[orchestrator.Model](p, "model.set", app.ModelChange{On: ptr(false)})
	if got := p.say("Travel desk, from Paris to Lyon"); strings.Contains(got, "As before.") || len(e.Asked()) != 1 {
		t.Errorf("a model that is off was asked: %q", got)
	}
}

// TestModelFault says what the last decision met with.
func TestModelFault(t *testing.T) {
	t.Parallel()
	none := modeltest.Status(http.StatusNotFound, `{"error":"model \"tiny\" not found"}`)
	e := modeltest.New(t, none, none) // at the begin, and when the agent that the cards found is done
	p := start(t)
	verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr(e.URL), Name: ptr("tiny"), On: ptr(true)})
	if got := p.say("Echo, say this"); !strings.Contains(got, "say this") {
		t.Errorf("the answer is %q", got)
	}
	if m := verb[orchestrator.Model](p, "model.show", struct{}{}); m.Fault == nil || !strings.Contains(m.Fault.What, "no model tiny") {
		t.Errorf("%+v", m)
	}
}

// TestModelOff has no leave for an endpoint that is off, beyond the time of a test.
func TestModelOff(t *testing.T) {
	t.Parallel()
	e := modeltest.New(t)
	e.Key("another")
	p := start(t)
	test := verb[orchestrator.ModelTest](p, "model.test", app.ModelChange{URL: ptr(e.URL), Name: ptr("small"), Key: ptr("wrong")})
	if test.OK || !strings.Contains(test.What, "does not accept the key") || test.Do == "" {
		t.Errorf("%+v", test)
	}
	if m := verb[orchestrator.Model](p, "model.show", struct{}{}); m.URL != "" || m.Key || m.On {
		t.Errorf("a test stored %+v", m)
	}
}

func TestModelSettings(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.Demo = nil })
	for typed, want := range map[string]string{
		"http://127.0.0.1:11434/v1/":              "http://127.0.0.1:11434/v1",
		"127.0.0.1:11434":                         "http://127.0.0.1:11434/v1",
		"localhost:1234":                          "http://localhost:1234/v1",
		"gpu:8000/v1":                             "http://gpu:8000/v1",
		"api.openai.com":                          "https://api.openai.com/v1",
		" https://API.openai.com:443/v1 ":         "https://api.openai.com/v1",
		"https://host.example/x/chat/completions": "https://host.example/x",
		"https://host.example/api/v3/":            "https://host.example/api/v3",
		"":                                        "",
	} {
		if m := verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr(typed)}); m.URL != want {
			t.Errorf("%q is %q, want %q", typed, m.URL, want)
		}
	}
	verb[orchestrator.Model](p, "model.set", app.ModelChange{URL: ptr("")})
	for name, c := range map[string]struct {
		change app.ModelChange
		says   string
	}{
		"no URL":                  {app.ModelChange{URL: ptr("ftp://x")}, "no URL"},
		"a URL with a user":       {app.ModelChange{URL: ptr("https://me:pw@host.example/v1")}, "no URL"},
		"a URL with a query":      {app.ModelChange{URL: ptr("https://host.example/v1?key=x")}, "no URL"},
		"a number in disguise":    {app.ModelChange{URL: ptr("http://2130706433/v1")}, "no URL"},
		"on without a model":      {app.ModelChange{On: ptr(true)}, "before it is turned on"},
		"a name of two lines":     {app.ModelChange{Name: ptr("a\nb")}, "no name"},
		"a key for nothing":       {app.ModelChange{Key: ptr("x")}, "there is none"},
		"a key in the clear":      {app.ModelChange{URL: ptr("http://host.example/v1"), Key: ptr("x")}, "readable"},
		"a key in the clear, IP":  {app.ModelChange{URL: ptr("http://93.184.216.34/v1"), Key: ptr("x")}, "readable"},
		"a key with a line break": {app.ModelChange{URL: ptr("https://host.example"), Key: ptr("a\nb")}, "This is no key"},
	} {
		var f *orchestrator.Fault
		err := p.ctl.Call(t.Context(), "model.set", c.change, nil)
		if !errors.As(err, &f) || !strings.Contains(f.What, c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if m := verb[orchestrator.Model](p, "model.show", struct{}{}); m.URL != "" || m.Name != "" || m.Key || m.On {
			t.Fatalf("%s: stored %+v", name, m)
		}
	}
	var f *orchestrator.Fault
	if err := p.ctl.Call(t.Context(), "model.test", struct{}{}, nil); !errors.As(err, &f) || !strings.Contains(f.What, "no model to test") {
		t.Error(err)
	}
}
