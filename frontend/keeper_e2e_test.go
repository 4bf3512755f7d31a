package frontend

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley/a2a"
	"parley/orchestrator"
)

// The pages of an agent that is looked after, of our own agent and of the settings, by hand and keyboard in Chromium, with
// nothing serious for axe in any state.
func TestE2EKeeping(t *testing.T) {
	t.Parallel()
	h := &house{state: orchestrator.UpkeepState{
		Dir: "/home/p/parley", Database: 3 << 20, Files: 1 << 20, Fingerprint: "abcd ef", ConfigFile: "/home/p/parley/parley.yaml",
		Backups: []orchestrator.Backup{{Name: "saved-0.db", Made: clock, Size: 100}},
		Values:  []orchestrator.ConfigValue{{Name: "a2a.publicUrl", Value: "https://p.example", Flag: "--public-url", By: "--public-url"}, {Name: "tls.key", Flag: "--tls-key"}, {Name: "history.days", Setting: "retention.days", By: "parley.yaml, line 1"}},
	}}
	served := &host{served: orchestrator.Published{
		On: true, Address: "http://127.0.0.1:7421/", Fingerprint: "abcd ef01", Cards: []orchestrator.ServedCard{{Version: "v1.0", Path: "/.well-known/agent-card.json", JSON: []byte(`{"name":"Parley"}`)}},
		Callers: []orchestrator.CallerUse{{ID: "u1", Name: "Newcomer", Waiting: clock}, {ID: "u2", Name: "Regular", Tasks: 7, Open: 2, Last: clock}},
	}, tokens: []*orchestrator.Token{{ID: "t1", Name: "Night build", Agents: []string{"atlas"}, Credentials: true, Used: clock}, {ID: "t2", Name: "Old", Revoked: clock}}}
	w := newWorld(t, &Options{Now: time.Now, Linger: time.Minute, Publisher: served, Upkeep: h, Models: h})
	k := &keeper{person: w.who, st: w.st, look: &orchestrator.AgentLook{
		Credentials: []orchestrator.CredentialInfo{{Origin: "https://old.example", Kind: "key", Name: "X-Key"}},
		Findings:    []orchestrator.Finding{{Level: orchestrator.FindingWarning, Path: "$.skills[0].tags", What: "It is required and empty.", Rule: "A2A v1.0, 4.4.5"}},
	}}
	w.registry = k
	a := agent("atlas", "Atlas Research")
	now := *a.Card
	now.Skills = append([]a2a.AgentSkill{{ID: "mail", Name: "Mail"}}, now.Skills...)
	a.Trust, a.Changed = orchestrator.TrustReview, &orchestrator.CardChange{Card: &now, JSON: []byte(`{}`), Hash: "h1", Grave: true, Seen: clock, Origins: []string{"https://new.example"}}
	b := agent("quill", "Quill")
	b.Trust = orchestrator.TrustBlocked
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a, b}})
	w.srv.Close()
	w.srv = httptest.NewServer(w.Handler())
	t.Cleanup(w.srv.Close)

	tab := w.tab(browserFor(t, 5*time.Minute))
	check := func(what string) {
		for _, f := range tab.axe("") {
			t.Errorf("%s: %s", what, f)
		}
	}
	open := func(path string) {
		tab.do(chromedp.Navigate(w.srv.URL + path))
		tab.until("document.querySelector('#live-word').textContent === 'Live'")
	}
	// At full width and in the hand all pages are looked at by TestE2EAccessible.
	tab.do(chromedp.EmulateViewport(1024, 900))
	if _, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/agents/atlas", "/agents/quill", "/my-agent", "/my-agent?call=go", "/settings", "/settings?section=model", "/settings?section=network", "/settings?section=storage", "/settings?section=keys", "/settings?section=about"} {
		open(path)
		check(path)
		if wide := js[int](tab, "document.documentElement.scrollWidth"); wide > 1024 {
			t.Errorf("%s is %d wide in a window of 1024", path, wide)
		}
	}
	if _, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}}); err != nil {
		t.Fatal(err)
	}
	tab.do(chromedp.EmulateViewport(1280, 800))

	// A test is run with the keyboard, and what it found is on the page.
	open("/agents/atlas")
	js[any](tab, "(document.querySelector('form[action$=\"/test\"] button').focus(), 0)")
	tab.do(chromedp.KeyEvent("\r"))
	tab.shows("It wants to know who you are.")
	check("/agents/atlas, tested")

	// A token is made, shown, and not shown again.
	open("/my-agent")
	js[any](tab, "(document.querySelector('#tokens details').open = true, document.querySelector('#tok-name').value = 'CI', document.querySelector('form[action=\"/my-agent/tokens\"]').requestSubmit(), 0)")
	tab.shows("parley_canary")
	check("/my-agent, with a token")
	tab.do(chromedp.Reload())
	tab.until("!document.body.innerText.includes('parley_canary')")

	// The size of the text is seen at once, and stays.
	open("/settings")
	js[any](tab, "(document.querySelector('input[name=\"text\"][value=\"larger\"]').click(), 0)")
	tab.until("getComputedStyle(document.documentElement).fontSize === '20px'")
	js[any](tab, "(document.querySelector('form[action=\"/settings\"]').requestSubmit(), 0)")
	tab.shows("Saved")
	tab.until("getComputedStyle(document.documentElement).fontSize === '20px'")
	check("/settings, with large text")
	tab.quiet()
}
