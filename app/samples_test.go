package app_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

// onceAsked has the demo agents wait until somebody asks for them.
func onceAsked(c *app.Config) { c.DemoStart = app.DemoOnceAsked }

// press posts a form of the page.
func (p *program) press(path string, form url.Values) {
	p.Helper()
	origin := strings.TrimSuffix(p.page(), "/")
	r := p.do("POST", origin+path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Cookie", p.login(), "Origin", origin)
	if r.StatusCode != 303 {
		p.Fatalf("POST %s: %d %.500s", path, r.StatusCode, r.body)
	}
}

// shown is a page as somebody sees it who is logged in.
func (p *program) shown(path string) string {
	p.Helper()
	r := p.do("GET", strings.TrimSuffix(p.page(), "/")+path, "", "Cookie", p.login())
	if r.StatusCode != 200 {
		p.Fatalf("GET %s: %d %.500s", path, r.StatusCode, r.body)
	}
	return string(r.body)
}

// The welcome offers the demo agents. One click brings them in for good, and another takes them out for good.
func TestDemoAgentsOnceAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir, onceAsked)
	restart := func() {
		t.Helper()
		p.stop()
		p = startIn(t, dir, onceAsked)
	}
	agents := func() (names []string) {
		t.Helper()
		for _, g := range verb[[]app.AgentInfo](p, "agents.list", struct{}{}) {
			names = append(names, g.ID)
		}
		return names
	}
	check := func(when string, here bool) {
		t.Helper()
		if got := len(agents()) > 5; got != here {
			t.Errorf("%s the agents are %v", when, agents())
		}
		welcome := p.shown("/")
		if got := strings.Contains(welcome, "Add the demo agents"); got == here {
			t.Errorf("%s the welcome offers them: %v", when, got)
		}
		for _, what := range []string{"/agents/writer", "/workflows/publish"} {
			if got := strings.Contains(welcome, `href="`+what); got != here {
				t.Errorf("%s the welcome leads to %s: %v", when, what, got)
			}
		}
	}
	check("at the first start", false)
	p.press("/demo", url.Values{"on": {"1"}})
	check("after the click", true)
	restart()
	check("after a restart", true)
	p.press("/demo", url.Values{})
	check("without them", false)
	restart()
	check("without them, after a restart", false)
	p.press("/demo", url.Values{"on": {"1"}})
	check("once more", true)
}

// An agent that a person connected keeps its id from the demo agent of that name.
func TestDemoAgentsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	p := start(t, onceAsked)
	if err := p.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{{ID: "writer", Name: "My writer", Trust: orchestrator.TrustApproved}}}); err != nil {
		t.Fatal(err)
	}
	p.press("/demo", url.Values{"on": {"1"}})
	if s := p.shown("/agents"); !strings.Contains(s, "My writer") || !strings.Contains(s, "Travel desk") {
		t.Error("the demo agent took its place, or the others did not come")
	}
	p.press("/demo", url.Values{})
	if s := p.shown("/agents"); !strings.Contains(s, "My writer") || strings.Contains(s, "Travel desk") {
		t.Error("it went with the demo agents, or they stayed")
	}
}

// What a person decided about a demo agent holds at the next start, also where the agent's card is another by then.
func TestDemoAgentsAsDecided(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	for _, id := range []string{"echo", "slow"} {
		verb[struct{}](p, "agents.block", app.BlockAgent{ID: id, On: true})
	}
	g, err := p.Agent(t.Context(), "slow")
	if err != nil {
		t.Fatal(err)
	}
	before := *g
	before.CardHash, before.Muted = "of another version", true
	if err := p.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{&before}}); err != nil {
		t.Fatal(err)
	}
	p.stop()
	p = startIn(t, dir)
	for id, want := range map[string]orchestrator.Trust{
		"echo": orchestrator.TrustBlocked, "slow": orchestrator.TrustBlocked, "writer": orchestrator.TrustApproved,
	} {
		g, err := p.Agent(t.Context(), id)
		if err != nil || g.Trust != want || g.CardHash == before.CardHash || g.Muted != (id == "slow") {
			t.Errorf("%s is %s, muted: %v, of the card %s, %v", id, g.Trust, g.Muted, g.CardHash, err)
		}
	}
	verb[struct{}](p, "agents.block", app.BlockAgent{ID: "slow"})
	said := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "echo"})
	verb[struct{}](p, "agents.block", app.BlockAgent{ID: "echo"})
	verb[app.AgentInfo](p, "agents.speak", app.SpeakAgent{ID: "echo", At: &a2a.AgentInterface{URL: said.URL, Binding: a2a.BindingJSONRPC, Version: "0.3"}})
	verb[app.AgentInfo](p, "agents.speak", app.SpeakAgent{ID: "files", At: &a2a.AgentInterface{URL: "http://127.0.0.1:1/other", Binding: a2a.BindingREST, Version: "1.0"}})
	p.stop()
	p = startIn(t, dir)
	if a := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "echo"}); a.Speaks != "v0.3 over JSON-RPC" || a.Known != orchestrator.KnownByPerson || a.URL != said.URL {
		t.Errorf("echo speaks %s at %s, known by %q", a.Speaks, a.URL, a.Known)
	}
	if r := p.call("agents/echo", envToken, "SendMessage", say("m1", "hello")); r.result(t, "message.parts.0.text") != "hello" {
		t.Errorf("as it was chosen: %s", r.body)
	}
	if a := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "files"}); a.URL != "http://127.0.0.1:1/other" || !slices.Contains(a.Origins, "http://127.0.0.1:1") {
		t.Errorf("files is called at %s, granted %v", a.URL, a.Origins)
	}
	if g, err := p.Agent(t.Context(), "slow"); err != nil || g.Trust != orchestrator.TrustApproved {
		t.Errorf("unblocked it is %s, %v", g.Trust, err)
	}
}
