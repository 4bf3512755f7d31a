package frontend

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/orchestrator"
)

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
