package frontend

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"parley/a2a"
	"parley/orchestrator"
)

// keeper is a registry that also looks after agents, and remembers what it was asked to do.
type keeper struct {
	*person
	look *orchestrator.AgentLook
	did  []string
	st   *memory
}

func (k *keeper) note(what ...string) { k.did = append(k.did, strings.Join(what, " ")) }

func (k *keeper) Look(context.Context, string) (*orchestrator.AgentLook, error) { return k.look, nil }

func (k *keeper) Test(_ context.Context, id string) (*orchestrator.AgentTest, error) {
	k.note("test", id)
	k.look.Test = &orchestrator.AgentTest{At: clock, Latency: 12 * time.Millisecond, Steps: []orchestrator.TestStep{
		{Name: "Card", Detail: "It is the one you approved."},
		{Name: "Answer", Detail: "It says that there is no such task, as it should."},
		{Name: "Sign-in", Fault: &orchestrator.Fault{Where: orchestrator.WhereSignIn, What: "It wants to know who you are.", Do: "Give it a token."}},
	}}
	return k.look.Test, k.err
}

func (k *keeper) TakeCard(_ context.Context, id, hash string) error {
	k.note("take", id, hash)
	return k.err
}

func (k *keeper) Block(_ context.Context, id string, on bool) error {
	k.note("block", id, map[bool]string{true: "on", false: "off"}[on])
	return k.err
}

func (k *keeper) Mute(_ context.Context, id string, on bool) error {
	k.note("mute", id, map[bool]string{true: "on", false: "off"}[on])
	return k.err
}

func (k *keeper) RevokeGrant(_ context.Context, id, origin string) error {
	k.note("revoke", id, origin)
	return k.err
}

func (k *keeper) RemoveCredential(_ context.Context, id string, c orchestrator.CredentialInfo) error {
	k.note("forget", id, c.Origin, c.Kind)
	return k.err
}

func (k *keeper) ExtendedCard(_ context.Context, id string) (*a2a.AgentCard, error) {
	k.note("extended", id)
	return nil, k.err
}

// kept is a world whose agents are looked after.
func kept(t *testing.T) (*world, *keeper) {
	w := newWorld(t, nil)
	k := &keeper{person: w.who, look: &orchestrator.AgentLook{}, st: w.st}
	w.registry = k
	return w, k
}

// The page of an agent says what is known of it, and each button does what it says.
func TestAgentPage(t *testing.T) {
	t.Parallel()
	w, k := kept(t)
	k.look = &orchestrator.AgentLook{
		Contact:     &orchestrator.Contact{At: clock.Add(-time.Minute), Method: "SendStreamingMessage"},
		Connections: []orchestrator.Connection{{Origin: "https://atlas.example", Version: "TLS 1.3", Subject: "atlas.example", Issuer: "Test CA", Expires: clock.AddDate(0, 0, 5)}},
		Credentials: []orchestrator.CredentialInfo{{Origin: "https://old.example", Kind: "key", Name: "X-Key"}},
		Findings:    []orchestrator.Finding{{Level: orchestrator.FindingError, Path: "$.skills[0].id", What: "It is required and missing.", Rule: "A2A v1.0, 4.4.5"}},
	}
	a := agent("atlas", "Atlas Research")
	a.CardURL, a.Health = "https://atlas.example/.well-known/agent-card.json", orchestrator.AgentHealth{Checked: clock, Latency: 34 * time.Millisecond}
	a.Card.Capabilities.ExtendedAgentCard = true
	a.Card.DefaultInputModes = []string{"*/*"}
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a}})
	w.get("/agents/atlas").want(t, 200, "14:04:00, SendStreamingMessage", "34 ms", "Card and address are both on atlas.example",
		"TLS 1.3, with a certificate valid until 25 November 2026", "for atlas.example, issued by Test CA", "It ends in 5 days.", "The card is not signed.",
		"As you approved it on 20 November 2026.", "API key X-Key goes to https://old.example only", "It is called at https://atlas.example now, and no credential is kept for that origin.",
		"Validation report: 1 finding", "$.skills[0].id It is required and missing.", "A2A v1.0, 4.4.5", "Fetch the extended card", "TakesAnything")

	for _, c := range []struct{ path, form, did, to string }{
		{"test", "", "test atlas", "#health"},
		{"mute", "on=1", "mute atlas on", "#manage"},
		{"block", "on=1", "block atlas on", ""},
		{"block", "", "block atlas off", ""},
		{"revoke", "origin=https://a.example", "revoke atlas https://a.example", "#trust"},
		{"forget", "origin=https://a.example&kind=key", "forget atlas https://a.example key", "#trust"},
		{"take", "hash=abc", "take atlas abc", "#trust"},
		{"extended", "", "extended atlas", "#card"},
	} {
		form, _ := url.ParseQuery(c.form)
		r := w.post("/agents/atlas/"+c.path, form).want(t, 303)
		if got := r.Header.Get("Location"); got != "/agents/atlas"+c.to {
			t.Errorf("%s leads to %s", c.path, got)
		}
		if got := k.did[len(k.did)-1]; got != c.did {
			t.Errorf("%s did %q, want %q", c.path, got, c.did)
		}
	}
	w.get("/agents/atlas").want(t, 200, "Tested at 14:05:00", "no such task, as it should. after 12 ms", "It wants to know who you are. Give it a token.")
	w.who.fails(&orchestrator.Fault{Kind: "card-changed", What: "The card is another again."})
	w.post("/agents/atlas/take", url.Values{"hash": {"x"}}).want(t, 422, "The card is another again.")
}

// A changed card is shown beside the approved one; what is grave holds the agent back, and a blocked one is not offered.
func TestAgentChanged(t *testing.T) {
	t.Parallel()
	w, _ := kept(t)
	a := agent("atlas", "Atlas Research")
	now := *a.Card
	now.Skills = append([]a2a.AgentSkill{{ID: "mail", Name: "<b>Mail</b>"}}, now.Skills...)
	a.Trust = orchestrator.TrustReview
	a.Changed = &orchestrator.CardChange{Card: &now, JSON: []byte(`{}`), Hash: "h1", Grave: true, Seen: clock, Origins: []string{"https://new.example"}}
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a}})
	r := w.get("/agents/atlas").want(t, 200, "The card changed since you approved it on 20 November 2026", "Nothing is sent to this agent until you approve", "mail <b>Mail</b>", "https://new.example", "Another is served since")
	if hash := find(r.doc, func(n *html.Node) bool { return attr(n, "name") == "hash" }); len(hash) != 1 || attr(hash[0], "value") != "h1" {
		t.Error("what is approved is not what is shown")
	}
	if len(find(r.doc, func(n *html.Node) bool { return attr(n, "href") == "/?to=atlas" })) > 0 {
		t.Error("a chat is offered")
	}
	a.Changed.Grave, a.Changed.Origins, a.Trust = false, nil, orchestrator.TrustApproved
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a}})
	w.get("/agents/atlas").want(t, 200, "it goes on being called as you approved it", "cannot be approved")
	a.Trust = orchestrator.TrustBlocked
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a}})
	r = w.get("/agents/atlas").want(t, 200, "You blocked this agent", "Let it be called again")
	if strings.Contains(r.body, "The card changed since") || strings.Contains(r.body, `action="/agents/atlas/test"`) {
		t.Error("a blocked agent is still offered")
	}
}
