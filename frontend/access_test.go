package frontend

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/a2a"
	"parley/orchestrator"
)

// everything is a site with all there is to see: chats, runs with plans, workflows, questions, tasks, exchanges, agents
// that are looked after, callers and tokens.
func everything(t *testing.T) *guardedWorld {
	t.Helper()
	h := &house{state: orchestrator.UpkeepState{
		Dir: "/home/p/parley", Database: 3 << 20, Files: 1 << 20, Fingerprint: "abcd ef", ConfigFile: "/home/p/parley/parley.yaml",
		Backups: []orchestrator.Backup{{Name: "saved-0.db", Made: clock, Size: 100}},
		Values:  []orchestrator.ConfigValue{{Name: "a2a.publicUrl", Value: "https://p.example", Flag: "--public-url", By: "--public-url"}, {Name: "tls.key", Flag: "--tls-key"}, {Name: "history.days", Setting: "retention.days", By: "parley.yaml, line 1"}},
	}}
	served := &host{served: orchestrator.Published{
		On: true, Address: "http://127.0.0.1:7421/", Fingerprint: "abcd ef01", Cards: []orchestrator.ServedCard{{Version: "v1.0", Path: "/.well-known/agent-card.json", JSON: []byte(`{"name":"Parley"}`)}},
		Callers: []orchestrator.CallerUse{{ID: "u1", Name: "Newcomer", Waiting: clock}, {ID: "u2", Name: "Regular", Tasks: 7, Open: 2, Last: clock}},
	}, tokens: []*orchestrator.Token{{ID: "t1", Name: "Night build", Agents: []string{"atlas"}, Credentials: true, Used: clock}, {ID: "t2", Name: "Old", Revoked: clock}}}
	failed, later := plan(), plan()
	failed.RunID, failed.Nodes[1].State, failed.State = "r2", "failed", a2a.TaskStateFailed
	failed.Nodes[1].Fault = &orchestrator.Fault{Kind: "refused", Where: orchestrator.WhereNetwork, What: "quill.example refused the connection.", Do: "Try again."}
	later.RunID = "r1"
	o := &office{plans: map[string]*orchestrator.Plan{"r1": later, "r2": failed}, kept: []*orchestrator.Workflow{
		{ID: "made", Name: "Publish", Source: []byte("name: Publish\nsteps:\n  a: {}\n"), Exposed: true, Updated: clock},
		{ID: "broken", Name: "Broken", Source: []byte("name: broken\n"), Updated: clock},
	}, runs: []*orchestrator.Run{{ID: "r2", Created: clock, Updated: clock, State: a2a.TaskStateFailed}, {ID: "r1", Created: clock, Updated: clock, State: a2a.TaskStateWorking}}}

	w := &guardedWorld{world: newWorld(t, &Options{
		Now: time.Now, Linger: time.Minute, Publisher: served, Upkeep: h, Models: h, Planner: o, Library: o,
	})}
	inspected(w.world)
	w.registry = &keeper{person: w.who, st: w.st, look: &orchestrator.AgentLook{
		Contact:     &orchestrator.Contact{At: clock.Add(-time.Minute), Method: "SendStreamingMessage"},
		Connections: []orchestrator.Connection{{Origin: "https://atlas.example", Version: "TLS 1.3", Subject: "atlas.example", Issuer: "Test CA", Expires: clock.AddDate(0, 0, 5)}},
		Credentials: []orchestrator.CredentialInfo{{Origin: "https://old.example", Kind: "key", Name: "X-Key"}},
		Findings:    []orchestrator.Finding{{Level: orchestrator.FindingWarning, Path: "$.skills[0].tags", What: "It is required and empty.", Rule: "A2A v1.0, 4.4.5"}},
	}}
	a := agent("atlas", "Atlas Research")
	now := *a.Card
	now.Skills = append([]a2a.AgentSkill{{ID: "mail", Name: "Mail"}}, now.Skills...)
	a.Trust, a.Changed = orchestrator.TrustReview, &orchestrator.CardChange{Card: &now, JSON: []byte(`{}`), Hash: "h1", Grave: true, Seen: clock, Origins: []string{"https://new.example"}}
	blocked := agent("shade", "Shade")
	blocked.Trust = orchestrator.TrustBlocked
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a, blocked}, Items: []*orchestrator.Item{
		{ConversationID: "c1", RunID: "r1", Kind: orchestrator.ItemUser, Text: "Hello", At: clock},
		{ConversationID: "c1", RunID: "r1", Kind: orchestrator.ItemAgent, AgentID: "atlas", At: clock, Text: "# Hi\n\nSome `code` and [a link](https://atlas.example).\n\n" +
			"| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() { // nothing\n\tprintln(\"x\", 1)\n}\n```\n\n> said\n\n- one\n- two\n\n$$x^2$$\n\n```mermaid\ngraph TD; a-->b\n```"},
	}})
	w.tell("c1", "r1", &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: "all", Name: "All sorts", Parts: []a2a.Part{
		{Kind: a2a.PartRaw, Raw: []byte("store,rows\nPebble,41200\n"), Filename: "rows.csv", MediaType: "text/csv"},
		{Kind: a2a.PartData, Data: json.RawMessage(`{"to":"Bergen","legs":[12.5,null,true]}`)},
		{Kind: a2a.PartRaw, Raw: []byte("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"), Filename: "fix.diff", MediaType: "text/x-diff"},
		{Kind: a2a.PartRaw, Raw: []byte("<p>hi</p>"), Filename: "report.html", MediaType: "text/html"},
	}}}, nil)
	w.who.previews = []*orchestrator.Candidate{{Input: "found.example", Agent: agent("found", "Found"), Origins: []string{"https://found.example", "https://cdn.example"}}}
	w.st.hits = []orchestrator.Hit{{
		Item: &orchestrator.Item{ID: 1, ConversationID: "c1", Kind: orchestrator.ItemUser, Text: "Hello there", At: clock}, Title: "Edge log store", Snippet: []orchestrator.Span{{Text: "Hello", Mark: true}, {Text: " there"}},
	}}
	w.srv.Close()
	w.srv = httptest.NewServer(w.Handler())
	t.Cleanup(w.srv.Close)
	return w
}

// sight is a page in a state that is worth looking at.
type sight struct {
	name, path string
	do         func(*tab) // what leads to the state
}

func pressed(key string, then string) func(*tab) {
	return func(a *tab) {
		a.do(chromedp.KeyEvent(key))
		a.until(then)
	}
}

func clicked(expr string, then string) func(*tab) {
	return func(a *tab) {
		js[any](a, "("+expr+".click(), 0)")
		a.until(then)
	}
}

// sights are all pages there are, in all their states.
var sights = []sight{
	{"welcome", "/", nil},
	{"chat", "/c/c1", nil},
	{"chat with all sorts of parts open", "/c/c1", func(a *tab) {
		js[any](a, "(document.querySelectorAll('main details:not(.menu):not([data-frame]):not([data-diagram])').forEach(d => d.open = true), 0)")
	}},
	{"chat with its menu", "/c/c1", clicked("document.querySelector('details.menu > summary')", "document.querySelector('details.menu[open]')")},
	{"find in a chat", "/c/c1", clicked("document.querySelector('#find-open')", "document.activeElement.id === 'find-q'")},
	{"an agent is named", "/c/c1", func(a *tab) {
		a.do(chromedp.SendKeys(chromedp.CSS("#say"), "@"))
		a.until("!document.querySelector('#complete').hidden && document.querySelector('#complete [role=option]')")
	}},
	{"rename", "/c/c1", pressed(kb.F2, "document.querySelector('#rename-chat[open]')")},
	{"run panel", "/c/c1?run=r1", nil},
	{"run panel, steps open", "/c/c1?run=r1", func(a *tab) {
		js[any](a, "(document.querySelectorAll('#run-steps details').forEach(d => d.open = true), 0)")
	}},
	{"run panel, as a sheet", "/c/c1?run=r1", func(a *tab) {
		a.do(chromedp.EmulateViewport(390, 900))
		js[any](a, "(document.querySelector('#panel-open').click(), 0)")
		a.until("document.activeElement.id === 'run-panel' && getComputedStyle(document.activeElement).visibility === 'visible'")
	}},
	{"run", "/runs/r1", nil},
	{"run that failed, steps open", "/runs/r2", func(a *tab) {
		js[any](a, "(document.querySelectorAll('#run-steps details').forEach(d => d.open = true), 0)")
	}},
	{"palette", "/c/c1", func(a *tab) {
		a.do(ctrl("k"))
		a.until("document.querySelector('#palette[open] [role=option]')")
	}},
	{"palette, nothing found", "/c/c1", func(a *tab) {
		a.do(ctrl("k"))
		a.until("document.querySelector('#palette[open] [role=option]')")
		a.do(chromedp.SendKeys(chromedp.CSS("#palette-q"), nowhere))
		a.until("document.querySelector('#palette[open] .blank') && !document.querySelector('#palette [role=option]')")
	}},
	{"shortcuts", "/agents", pressed("?", "document.querySelector('#keys[open]')")},
	{"inbox", "/inbox", nil},
	{"inbox, answered", "/inbox?view=answered", nil},
	{"inbox, an answered one", "/inbox?ask=q0", nil},
	{"inbox, muted", "/inbox?view=muted", nil},
	{"tasks", "/tasks", nil},
	{"tasks, chosen", "/tasks", clicked("document.querySelector('#t-r1 input')", "document.querySelector('[data-count]').textContent")},
	{"tasks, none", "/tasks?caller=nobody", nil},
	{"task", "/tasks/r1", nil},
	{"tasks at an agent", "/tasks/at/atlas", nil},
	{"task at an agent", "/tasks/at/atlas/far", nil},
	{"wire", "/wire", nil},
	{"wire, none", "/wire?text=nowhere", nil},
	{"wire, a record", "/wire?id=1", nil},
	{"wire, a record raw", "/wire?id=1&show=raw", nil},
	{"wire, its headers", "/wire?id=1&show=headers", nil},
	{"agents", "/agents", nil},
	{"agent that changed", "/agents/atlas", func(a *tab) { js[any](a, "(document.querySelectorAll('main details').forEach(d => d.open = true), 0)") }},
	{"agent", "/agents/quill", func(a *tab) { js[any](a, "(document.querySelectorAll('main details').forEach(d => d.open = true), 0)") }},
	{"agent that changed, as it opens", "/agents/atlas", nil},
	{"agent that is blocked", "/agents/shade", nil},
	{"connect", "/connect", nil},
	{"connect, preview", "/connect", func(a *tab) {
		js[any](a, "(f => { f.querySelector('[name=input]').value = 'atlas.example'; f.requestSubmit() })(document.querySelector('main form[action=\"/connect\"]'))")
		a.until("location.pathname !== '/connect' || document.querySelector('form[action=\"/connect/approve\"]')")
		a.until("document.querySelector('#live-word').textContent === 'Live'")
	}},
	{"workflows", "/workflows", nil},
	{"new workflow", "/workflows/new", nil},
	{"workflow", "/workflows/made", nil},
	{"workflow with problems", "/workflows/broken", nil},
	{"two runs side by side", "/workflows/made/compare?a=r1&b=r2", nil},
	{"my agent", "/my-agent", nil},
	{"my agent, how to call it", "/my-agent?call=go", nil},
	{"search", "/search?q=Hello", nil},
	{"search, empty", "/search", nil},
	{"import", "/import", nil},
	{"settings", "/settings", nil},
	{"settings, model", "/settings?section=model", nil},
	{"settings, network", "/settings?section=network", nil},
	{"settings, storage", "/settings?section=storage", nil},
	{"settings, keys", "/settings?section=keys", nil},
	{"settings, about", "/settings?section=about", nil},
	{"a page that is not there", "/nowhere", nil},
}

// appearances are what every page has to be readable in. By night only the colours are others.
var appearances = []struct {
	theme string
	width int64
	only  string
}{{"light", 1440, ""}, {"dark", 1440, "color-contrast"}, {"light", 390, ""}, {"dark", 390, "color-contrast"}}

// axe reports what axe finds serious, by all its rules or by one.
func (b *tab) axe(only string) (found []string) {
	b.t.Helper()
	if !js[bool](b, "Boolean(window.axe)") { // half a megabyte, once for each page
		source, err := os.ReadFile("testdata/axe/axe.min.js")
		if err != nil {
			b.t.Fatal(err)
		}
		js[any](b, "("+strings.TrimSuffix(strings.TrimSpace(string(source)), ";")+", 0)")
	}
	options := `{resultTypes: ['violations']}`
	if only != "" {
		options = `{resultTypes: ['violations'], runOnly: {type: 'rule', values: ['` + only + `']}}`
	}
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run(document, `+options+`).then(r => JSON.stringify(r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 200)).join(' | '))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// axe finds nothing serious on any page in any state, by day and by night, wide and narrow.
func TestE2EAccessible(t *testing.T) {
	t.Parallel()
	w := everything(t)
	a := w.tab(browserFor(t, 10*time.Minute))
	a.do(chromedp.Navigate(w.srv.URL + "/settings"))
	js[any](a, "(document.querySelector('main').append(document.createElement('button')), 0)")
	if len(a.axe("")) == 0 {
		t.Fatal("axe finds nothing wrong with a button that has no name")
	}
	js[any](a, "(document.querySelector('main p, main label, main h1').id = 'faint', document.querySelector('#faint').setAttribute('style', 'color:#ccc'), document.querySelector('#faint').attributeStyleMap.set('color', '#ccc'), 0)")
	if found := a.axe("color-contrast"); len(found) == 0 {
		t.Fatal("axe finds nothing wrong with grey on white")
	}
	const parts = 2 // each in a window of its own, beside the other
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			w := everything(t)
			a := w.tab(browserFor(t, 10*time.Minute))
			for i, s := range sights {
				if i%parts != part {
					continue
				}
				a.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(w.srv.URL+s.path))
				a.until("document.querySelector('#live-word')?.textContent === 'Live'")
				if s.do != nil {
					s.do(a)
				}
				for _, as := range appearances {
					a.do(chromedp.EmulateViewport(as.width, 900))
					if _, err := chromedp.Call(a.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
						{Name: "prefers-color-scheme", Value: as.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
					}}); err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%s, %s, %d", s.name, as.theme, as.width)
					for _, f := range a.axe(as.only) {
						t.Errorf("%s: %s", name, f)
					}
					if wide := js[float64](a, "document.documentElement.scrollWidth"); wide > float64(as.width) {
						t.Errorf("%s: the page is %v wide", name, wide)
					}
					a.picture("access-" + strings.NewReplacer(" ", "-", ",", "").Replace(name))
				}
			}
		})
	}
}
