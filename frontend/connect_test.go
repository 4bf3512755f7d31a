package frontend

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/orchestrator"
)

// Where the card names another host than the one that was typed, only the person can know which is right.
func TestConnectAtTheTypedAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	found := agent("far", "Far")
	typed := found.Interface
	typed.URL = "https://typed.example/a2a"
	w.who.previews = []*orchestrator.Candidate{{Input: "typed.example", Agent: found, Typed: &typed, Origins: []string{"https://typed.example"}}}
	page := w.post("/connect", url.Values{"input": {"typed.example"}}).want(t, 303).Header.Get("Location")
	w.get(page).want(t, 200, "names another host", typed.URL, found.Interface.URL)
	form := url.Values{"n": {"0"}, "preview": {strings.TrimPrefix(page, "/connect/")}, "at": {""}}
	w.post("/connect/approve", form).want(t, 303)
	form.Set("at", "typed")
	w.post("/connect/approve", form).want(t, 303)
	if got := w.who.approved; len(got) != 2 || got[0].Agent.Interface != found.Interface || got[1].Agent.Interface != typed || got[1].Agent.Known != orchestrator.KnownByPerson {
		t.Errorf("approved %+v", got)
	}
}

// A catalogue is a list to choose from: each agent is approved by itself, and its card is there to be opened.
func TestConnectCatalogue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	one, two := agent("one", "First"), agent("two", "Second")
	w.who.previews = []*orchestrator.Candidate{
		{Input: "https://a.example/one", Agent: one, Origins: []string{"https://a.example"}},
		{Input: "https://a.example/gone", Fault: &orchestrator.Fault{Kind: "card-not-found", Where: orchestrator.WhereAgent, What: "There is no card."}},
		{Input: "https://a.example/two", Agent: two, Origins: []string{"https://b.example"}},
	}
	r := w.post("/connect", url.Values{"input": {"https://a.example"}}).want(t, 303)
	page := r.Header.Get("Location")
	r = w.get(page).want(t, 200, "2 agents were found", "First", "Second", "There is no card.", "https://a.example/gone")
	forms := find(r.doc, func(n *html.Node) bool { return attr(n, "action") == "/connect/approve" })
	folded := find(r.doc, func(n *html.Node) bool { return n.Data == "details" && strings.Contains(attr(n, "class"), "raw") })
	if len(forms) != 2 || len(folded) != 2 {
		t.Errorf("%d forms, %d folded cards", len(forms), len(folded))
	}
	w.post("/connect/approve", url.Values{"n": {"2"}, "preview": {strings.TrimPrefix(page, "/connect/")}}).want(t, 303)
	if len(w.who.approved) != 1 || w.who.approved[0].Agent != two {
		t.Errorf("approved %+v", w.who.approved)
	}
}

// A form for a credential says where it will be kept, and does not say more.
func TestCredentialsAreKeptWhere(t *testing.T) {
	t.Parallel()
	for fleeting, want := range map[bool]string{true: "in memory only, until Parley ends", false: "in this computer's vault"} {
		w := newWorld(t, &Options{Fleeting: fleeting})
		w.get("/agents/atlas?kept").want(t, 200, want)
		w.who.fails(&orchestrator.Fault{Kind: "unauthenticated", Where: orchestrator.WhereSignIn, What: "The card wants a credential."})
		r := w.post("/connect", url.Values{"input": {"locked.example"}})
		w.get(r.Header.Get("Location")).want(t, 200, want)
	}
}
