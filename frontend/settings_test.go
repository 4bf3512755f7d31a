package frontend

import (
	"context"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"parley/orchestrator"
)

// house is an upkeep and a model that remember what they were told.
type house struct {
	state orchestrator.UpkeepState
	model orchestrator.Model
	did   []string
}

func (h *house) State(context.Context) (*orchestrator.UpkeepState, error) { return &h.state, nil }

func (h *house) Backup(context.Context) (orchestrator.Backup, error) {
	b := orchestrator.Backup{Name: "saved-1.db", Made: clock, Size: 2048}
	h.state.Backups = append(h.state.Backups, b)
	return b, nil
}

func (h *house) Restore(_ context.Context, name string) error {
	h.did, h.state.Restoring = append(h.did, "restore "+name), name != ""
	return nil
}

func (h *house) Export(_ context.Context, format string, w io.Writer) error {
	_, err := io.WriteString(w, "all as "+format)
	return err
}

func (h *house) RotateKey(context.Context) (string, error) {
	h.state.NextKey = "ffff"
	return "ffff", nil
}

func (h *house) Model(context.Context) (*orchestrator.Model, error) { return &h.model, nil }

func (h *house) SetModel(_ context.Context, c *orchestrator.ModelChange) (*orchestrator.Model, error) {
	h.model.URL, h.model.Name, h.model.On = *c.URL, *c.Name, *c.On
	if c.Key != nil {
		h.did = append(h.did, "key "+c.Key.Reveal())
	}
	return &h.model, nil
}

func (h *house) TestModel(_ context.Context, c *orchestrator.ModelChange) (*orchestrator.ModelTest, error) {
	if *c.URL == "" {
		return nil, &orchestrator.Fault{What: "There is no endpoint to ask."}
	}
	return &orchestrator.ModelTest{OK: true, What: "It can plan.", Models: []string{"qwen3"}}, nil
}

func TestSettingsSections(t *testing.T) {
	t.Parallel()
	h := &house{state: orchestrator.UpkeepState{
		Dir: "/home/p/parley", Database: 3 << 20, Files: 1 << 20, Fingerprint: "abcd ef", ConfigFile: "/home/p/parley/parley.yaml",
		Values: []orchestrator.ConfigValue{
			{Name: "a2a.publicUrl", Value: "https://p.example", Flag: "--public-url", By: "--public-url", Help: "URL."},
			{Name: "appearance.theme", Setting: "ui.theme", By: "parley.yaml, line 3"},
		},
	}}
	w := newWorld(t, &Options{Upkeep: h, Models: h, Version: "1.2.3"})
	w.get("/settings").want(t, 200, "Text size", "Language", "한국어", "Set by parley.yaml, line 3, so it cannot be changed here")
	w.get("/settings?section=network").want(t, 200, "a2a.publicUrl", "https://p.example", "Set by --public-url", "One message, with its files", "8.4 MB")
	w.get("/settings?section=storage").want(t, 200, "3.1 MB in the database, 1.0 MB in files", "/home/p/parley", "Back up now")
	w.get("/settings?section=keys").want(t, 200, "abcd ef")
	w.get("/settings?section=about").want(t, 200, "1.2.3", "/home/p/parley/parley.yaml")
	w.get("/settings?section=nothing").want(t, 200, "Appearance")

	if _, _, wake := w.lobby.since(0); wake != nil {
		<-wake
	}
	// What the file decides stays; the rest is stored.
	w.post("/settings", url.Values{"section": {"general"}, "theme": {"dark"}, "text": {"large"}, "language": {"ko"}, "retention": {"7"}}).want(t, 303)
	for name, want := range map[string]string{"ui.theme": "", orchestrator.TextSize: "large", LanguageSetting: "ko", orchestrator.RetentionDays: "7"} {
		if got, _ := w.st.Setting(t.Context(), name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	r := w.get("/settings?section=about")
	if page := find(r.doc, func(n *html.Node) bool { return n.Data == "html" }); attr(page[0], "data-text") != "large" || attr(page[0], "lang") != "ko" {
		t.Error("the page has not the size and the language that were chosen")
	}
	// The bar that windows are given by the socket follows, though nothing in it changed but its language.
	for n := int64(0); ; {
		bar, next, wake := w.lobby.since(n)
		if n = next; strings.Contains(string(bar), "에이전트") {
			break
		}
		if wake != nil {
			select {
			case <-wake:
			case <-time.After(10 * time.Second):
				t.Fatal("the bar stayed in the other language")
			}
		}
	}
	w.post("/settings", url.Values{"section": {"general"}, "language": {"en"}}).want(t, 303)
	for _, bad := range []url.Values{{"theme": {"pink"}}, {"text": {"huge"}}, {"language": {"xx"}}, {"retention": {"-1"}}, {"retention": {"36501"}}, {"section": {"network"}, "edition": {"2"}}} {
		w.post("/settings", bad).want(t, 400)
	}
	w.post("/settings", url.Values{"retention": {"36500"}}).want(t, 303)

	to := w.post("/settings/backup", nil).want(t, 303).Header.Get("Location")
	w.get(strings.TrimSuffix(to, "#backups")).want(t, 200, "Copied and checked: saved-1.db", "2 KB")
	w.post("/settings/restore", url.Values{"name": {"saved-1.db"}}).want(t, 303)
	w.get("/settings?section=storage").want(t, 200, "takes the place of the database at the next start", "Call it off")
	w.post("/settings/restore", nil).want(t, 303)
	w.post("/settings/rotate", nil).want(t, 303)
	w.get("/settings?section=keys").want(t, 200, "From the next start on: ffff")
	if got := strings.Join(h.did, ", "); got != "restore saved-1.db, restore " {
		t.Errorf("did %s", got)
	}
	if r := w.get("/settings/export.json"); r.body != "all as json" || !strings.Contains(r.Header.Get("Content-Disposition"), "parley-2026-11-20.json") {
		t.Errorf("exported %q, %v", r.body, r.Header)
	}
	w.post("/settings/folder", nil).want(t, 404) // there is no window
}

func TestModelSettings(t *testing.T) {
	t.Parallel()
	h := &house{model: orchestrator.Model{Kept: "Kept in the vault.", Key: true}}
	w := newWorld(t, &Options{Models: h})
	w.get("/settings?section=model").want(t, 200, "Model for planning", "Kept in the vault.", "Forget the key")
	form := url.Values{"url": {" http://127.0.0.1:1/v1 "}, "name": {"qwen3"}, "on": {"1"}, "key": {"canary"}, "test": {"1"}}
	r := w.post("/settings/model", form).want(t, 200, "It can plan.")
	if strings.Contains(r.body, "canary") || h.model.URL != "" {
		t.Error("a test stores what it asks, or shows the key")
	}
	if fields := find(r.doc, func(n *html.Node) bool { return attr(n, "name") == "url" }); attr(fields[0], "value") != "http://127.0.0.1:1/v1" {
		t.Error("what was typed is gone")
	}
	form.Del("test")
	w.post("/settings/model", form).want(t, 303)
	if h.model.URL != "http://127.0.0.1:1/v1" || !h.model.On || strings.Join(h.did, ",") != "key canary" {
		t.Errorf("stored %+v, %v", h.model, h.did)
	}
	w.post("/settings/model", url.Values{"test": {"1"}}).want(t, 422, "There is no endpoint to ask.")
}
