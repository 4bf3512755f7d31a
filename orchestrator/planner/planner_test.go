package planner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/planner"
)

// cards are agents as people publish them.
var cards = []a2a.AgentCard{
	{Name: "Travel desk", Description: "Books flights, trains and hotels. Knows the rules of most airlines.", Skills: []a2a.AgentSkill{
		{Name: "Book a flight", Tags: []string{"flight", "travel", "airline"}, Examples: []string{"Book a flight from Rome to Oslo"}},
		{Name: "Find a hotel", Tags: []string{"hotel"}, Examples: []string{"A quiet hotel near the station"}},
	}},
	{Name: "Currency", Description: "Exchange rates between currencies, today and in the past.", Skills: []a2a.AgentSkill{
		{Name: "Convert", Tags: []string{"currency", "exchange", "rates"}, Examples: []string{"How much is 10 USD in INR?"}},
	}},
	{Name: "Writer", Description: "Drafts and edits texts: letters, articles, travel stories.", Skills: []a2a.AgentSkill{
		{Name: "Draft a text", Tags: []string{"writing", "letter", "text"}, Examples: []string{"Write a letter to my landlord"}},
	}},
	{Name: "Invoices", Description: "Reads invoices and books them.", Skills: []a2a.AgentSkill{
		{Name: "Read an invoice", Tags: []string{"invoice", "accounting"}, Examples: []string{"Book this invoice"}},
	}},
}

// fixed is a registry whose matches are given.
type fixed struct {
	*orchestratortest.MemoryStore
	matches []orchestrator.Match
	err     error
}

func (f fixed) MatchAgents(context.Context, string, int) ([]orchestrator.Match, error) {
	return f.matches, f.err
}

func id(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

func registry(t *testing.T) *orchestratortest.MemoryStore {
	t.Helper()
	m := orchestratortest.NewMemoryStore()
	var rows []*orchestrator.Agent
	for i := range cards {
		rows = append(rows, &orchestrator.Agent{ID: id(cards[i].Name), Name: cards[i].Name, Card: &cards[i], Trust: orchestrator.TrustApproved})
	}
	rows = append(rows, &orchestrator.Agent{ID: "shady", Name: "Shady travel", Card: &cards[0], Trust: orchestrator.TrustPending})
	if err := m.Write(t.Context(), &orchestrator.Batch{Agents: rows}); err != nil {
		t.Fatal(err)
	}
	return m
}

func choices(p *planner.Plan) []string {
	var ids []string
	for _, c := range p.Choices {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestCardsByScore(t *testing.T) {
	t.Parallel()
	all := []string{"currency", "invoices", "travel-desk", "writer"}
	tests := []struct {
		name    string
		matches []orchestrator.Match
		agent   string
		choices []string
	}{
		{"none matches: all are offered, by name", nil, "", all},
		{"the only match", []orchestrator.Match{{AgentID: "writer", Score: 0.01}}, "writer", nil},
		{"clearly better", []orchestrator.Match{{AgentID: "writer", Score: 5}, {AgentID: "currency", Score: 1}}, "writer", nil},
		{"just good enough", []orchestrator.Match{{AgentID: "writer", Score: 1.4}, {AgentID: "currency", Score: 1}}, "writer", nil},
		{"just not", []orchestrator.Match{{AgentID: "writer", Score: 1.399}, {AgentID: "currency", Score: 1}}, "", []string{"writer", "currency"}},
		{"equal", []orchestrator.Match{{AgentID: "invoices", Score: 2}, {AgentID: "currency", Score: 2}, {AgentID: "writer", Score: 1}}, "", []string{"invoices", "currency", "writer"}},
		{"no score to speak of", []orchestrator.Match{{AgentID: "writer", Score: 0}, {AgentID: "currency", Score: 0}}, "", []string{"writer", "currency"}},
		{"negative", []orchestrator.Match{{AgentID: "writer", Score: -1}, {AgentID: "currency", Score: -3}}, "", []string{"writer", "currency"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := planner.Cards(t.Context(), fixed{MemoryStore: registry(t), matches: tt.matches}, "text")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.choices, choices(p)); diff != "" || p.Agent != tt.agent {
				t.Errorf("agent %q, choices (-want +got):\n%s", p.Agent, diff)
			}
			if (p.Agent == "") == (p.Prompt == "") || (p.Agent == "") == (p.Why != "") {
				t.Errorf("the plan does not explain itself: %+v", p)
			}
		})
	}
}

func TestCardsByWords(t *testing.T) {
	t.Parallel()
	m := registry(t)
	for text, want := range map[string]string{
		"Please book a flight to Oslo":        "travel-desk",
		"exchange rates of the rupee":         "currency",
		"Write a letter to my landlord":       "writer",
		"xyzzy":                               "",
		"travel":                              "", // the travel desk and the writer of travel stories
		"accounting: what about this invoice": "invoices",
	} {
		p, err := planner.Cards(t.Context(), m, text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Agent != want {
			t.Errorf("%q: planned %q (offered %v), want %q", text, p.Agent, choices(p), want)
		}
		for _, c := range p.Choices {
			if c.ID == "shady" || c.Label == "" || c.Detail == "" {
				t.Errorf("%q: offered %+v", text, c)
			}
		}
	}
}

func TestCardsFails(t *testing.T) {
	t.Parallel()
	var f *orchestrator.Fault
	if _, err := planner.Cards(t.Context(), orchestratortest.NewMemoryStore(), "hi"); !errors.As(err, &f) || f.Kind != "no-agents" || f.Do == "" {
		t.Errorf("without agents: %v", err)
	}
	broken := fmt.Errorf("broken")
	if _, err := planner.Cards(t.Context(), fixed{MemoryStore: registry(t), err: broken}, "hi"); !errors.Is(err, broken) {
		t.Errorf("a broken registry: %v", err)
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	for description, want := range map[string]string{
		"Books flights. And more.": "Books flights.",
		"One line\nand another":    "One line",
		"Version 1.0 of an agent":  "Version 1.0 of an agent",
		long:                       strings.TrimSpace(string([]rune(long)[:159])) + "…",
		"":                         "",
	} {
		c := planner.Choice(&orchestrator.Agent{ID: "a", Card: &a2a.AgentCard{Description: description}})
		if c.Detail != want || c.Label != "a" {
			t.Errorf("%.20q: %+v", description, c)
		}
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	cs := []orchestrator.Choice{{ID: "travel-desk", Label: "Travel desk"}, {ID: "b", Label: "Writer"}}
	for text, want := range map[string]string{
		"travel-desk": "travel-desk", " Travel Desk. ": "travel-desk", "2": "b", "\"writer\"": "b", "3": "", "0": "", "": "", "wri": "",
	} {
		if got, ok := planner.Pick(cs, text); got != want || ok != (want != "") {
			t.Errorf("%q picks %q, %v; want %q", text, got, ok, want)
		}
	}
}
