package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

// deskCards are agents as people publish them.
var deskCards = []a2a.AgentCard{
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

func agentID(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

func approved(cards ...a2a.AgentCard) []*orchestrator.Agent {
	var rows []*orchestrator.Agent
	for i := range cards {
		rows = append(rows, &orchestrator.Agent{
			ID: agentID(cards[i].Name), Name: cards[i].Name, Card: &cards[i], Trust: orchestrator.TrustApproved,
		})
	}
	return rows
}

func stored(t testing.TB, rows ...*orchestrator.Agent) *orchestratortest.MemoryStore {
	t.Helper()
	m := orchestratortest.NewMemoryStore()
	if err := m.Write(t.Context(), &orchestrator.Batch{Agents: rows}); err != nil {
		t.Fatal(err)
	}
	return m
}

func desk(t testing.TB) *orchestratortest.MemoryStore {
	return stored(t, append(approved(deskCards...),
		&orchestrator.Agent{ID: "shady", Name: "Shady travel", Card: &deskCards[0], Trust: orchestrator.TrustPending})...)
}

func plan(t testing.TB, c *Cards, agents orchestrator.Agents, text string) *Plan {
	t.Helper()
	p, err := c.Plan(t.Context(), agents, text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return p
}

func choices(p *Plan) []string {
	var ids []string
	for _, c := range p.Choices {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		scores []float64
		want   bool
	}{
		{"none", nil, false},
		{"the only match", []float64{Enough}, true},
		{"the only match, and poor", []float64{Enough - 0.001}, false},
		{"clearly better", []float64{5, 1}, true},
		{"just good enough", []float64{Margin + Enough, 1}, true},
		{"just not", []float64{Margin + Enough - 0.001, 1}, false},
		{"equal", []float64{2, 2, 1}, false},
		{"better, but both poor", []float64{0.4, 0.1}, false},
	} {
		var ms []match
		for _, s := range tt.scores {
			ms = append(ms, match{score: s})
		}
		if got := clear(ms); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestCards(t *testing.T) {
	t.Parallel()
	m := desk(t)
	var c Cards
	for text, want := range map[string]string{
		"Please book a flight to Oslo":        "travel-desk",
		"I need some HOTELS, could you help?": "travel-desk",
		"Necesito un vuelo a Lima":            "travel-desk",
		"東京までの航空券がほしい":                        "travel-desk",
		"a fligth to Oslo":                    "travel-desk",
		"exchange rates of the rupee":         "currency",
		"Wie ist der Wechselkurs?":            "currency",
		"Write a letter to my landlord":       "writer",
		"accounting: what about this invoice": "invoices",
		"Verbuche die Handwerkerrechnung":     "invoices",
	} {
		p := plan(t, &c, m, text)
		if p.Agent != want {
			t.Errorf("%q: planned %q (offered %v), want %q", text, p.Agent, choices(p), want)
		}
		if !strings.Contains(p.Why, "“") || p.Prompt != "" || p.Choices != nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestCardsOffersAll(t *testing.T) {
	t.Parallel()
	var c Cards
	for _, text := range []string{"xyzzy", "", "the and of", `"AND OR NOT NEAR( ) * ^ : - + { } \x00`, "\xff\xfe", "🦊🦊"} {
		p := plan(t, &c, desk(t), text)
		if diff := cmp.Diff([]string{"currency", "invoices", "travel-desk", "writer"}, choices(p)); diff != "" || p.Agent != "" || p.Prompt == "" {
			t.Errorf("%q: agent %q, choices (-want +got):\n%s", text, p.Agent, diff)
		}
	}
}

func TestCardsOffersThree(t *testing.T) {
	t.Parallel()
	rows := approved(deskCards...)
	for _, n := range []string{"One", "Two", "Six", "Ten"} {
		rows = append(rows, &orchestrator.Agent{ID: agentID(n), Name: n, Trust: orchestrator.TrustApproved, Card: &a2a.AgentCard{
			Name: n, Description: "Weather forecasts.", Skills: []a2a.AgentSkill{{Name: "Forecast", Tags: []string{"weather"}}},
		}})
	}
	var c Cards
	p := plan(t, &c, stored(t, rows...), "will it rain tomorrow?")
	if len(p.Choices) != offered {
		t.Errorf("offered %v, want %d", choices(p), offered)
	}
	for _, ch := range p.Choices {
		if !slices.Contains([]string{"one", "two", "six", "ten"}, ch.ID) || ch.Label == "" || ch.Detail != "Weather forecasts." {
			t.Errorf("offered %+v", ch)
		}
	}
	if p.Agent != "" || p.Prompt == "" {
		t.Errorf("%+v", p)
	}
}

func TestCardsWhy(t *testing.T) {
	t.Parallel()
	var c Cards
	p := plan(t, &c, desk(t), "Please book a Flight to Oslo")
	if !strings.HasPrefix(p.Why, "Travel desk fits best") || !strings.Contains(p.Why, "“Flight”") || !strings.HasSuffix(p.Why, ".") {
		t.Errorf("why: %q", p.Why)
	}
}

func TestCardsNamed(t *testing.T) {
	t.Parallel()
	rows := append(approved(deskCards...), approved(
		a2a.AgentCard{Name: "Zanzibot", Description: "Plays chess."},
		a2a.AgentCard{Name: "Kindly", Description: "Answers customers of online shops."},
	)...)
	var c Cards
	m := stored(t, rows...)
	for text, want := range map[string]string{
		"zanzibot, book a flight to Oslo":               "zanzibot",
		"let the travel desk convert 10 dollars":        "travel-desk",
		"ask Currency about the flight":                 "currency",
		"Writer: exchange rates please":                 "writer",
		"@invoices what does a flight to Oslo cost?":    "invoices",
		"@kindly book a flight":                         "kindly",
		"kindly book a flight to Oslo":                  "travel-desk",
		"which currency is used there, exchange rate":   "currency",
		"mail me@kindly.example about a flight to Rome": "travel-desk",
	} {
		p := plan(t, &c, m, text)
		if p.Agent != want {
			t.Errorf("%q: planned %q (offered %v), want %q", text, p.Agent, choices(p), want)
		}
	}
	if p := plan(t, &c, m, "zanzibot or travel desk, a flight to Oslo"); p.Why == "The message asks for Zanzibot." {
		t.Error("of two that are named one was taken")
	}
}

// TestCardsStuffed holds that a card that speaks of everything does not take what others are for.
func TestCardsStuffed(t *testing.T) {
	t.Parallel()
	var every []string
	for line := range strings.Lines(lexiconText) {
		if _, words, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			every = append(every, strings.Fields(strings.NewReplacer("*", "", "~", "", "_", " ").Replace(words))...)
		}
	}
	all := strings.Join(every, " ")
	rows := append(approved(deskCards...), &orchestrator.Agent{ID: "greedy", Name: "Greedy", Trust: orchestrator.TrustApproved, Card: &a2a.AgentCard{
		Name: "Greedy", Description: all, Skills: []a2a.AgentSkill{{Name: all, Description: all, Tags: every, Examples: []string{all}}},
	}})
	var c Cards
	m := stored(t, rows...)
	for text, want := range map[string]string{
		"Please book a flight to Oslo":        "travel-desk",
		"exchange rates of the rupee":         "currency",
		"accounting: what about this invoice": "invoices",
	} {
		if p := plan(t, &c, m, text); p.Agent != want && (len(p.Choices) == 0 || p.Choices[0].ID != want) {
			t.Errorf("%q: planned %q (offered %v), want %q first", text, p.Agent, choices(p), want)
		}
	}
}

func TestCardsDeterministic(t *testing.T) {
	t.Parallel()
	rows := labelledAgents(t)
	m := stored(t, rows...)
	slices.Reverse(rows)
	other := stored(t, rows...)
	var one, two Cards
	for i, r := range readSet(t, "tune.json") {
		if i%25 == 0 { // what reads the cards anew must find the same; it takes longer than all that is asked of it
			one, two = Cards{}, Cards{}
		}
		want := plan(t, &one, m, r.Text)
		for range 3 {
			if d := cmp.Diff(want, plan(t, &one, m, r.Text)); d != "" {
				t.Fatalf("%q (-first +again):\n%s", r.Text, d)
			}
		}
		if d := cmp.Diff(want, plan(t, &two, other, r.Text)); d != "" {
			t.Fatalf("%q, agents in another order (-want +got):\n%s", r.Text, d)
		}
	}
}

func TestCardsFollowsChanges(t *testing.T) {
	t.Parallel()
	rows := approved(deskCards...)
	m := stored(t, rows...)
	var c Cards
	const text = "will it rain in Oslo?"
	if p := plan(t, &c, m, text); p.Agent != "" {
		t.Fatalf("planned %q before anybody tells the weather", p.Agent)
	}
	changed := *rows[2]
	changed.Card = &a2a.AgentCard{Name: "Writer", Description: "Weather forecasts: rain, snow, wind."}
	write := func() {
		t.Helper()
		if err := m.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{&changed}}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if p := plan(t, &c, m, text); p.Agent != "writer" {
		t.Errorf("planned %q after the card changed", p.Agent)
	}
	changed.Trust = orchestrator.TrustReview
	write()
	if p := plan(t, &c, m, text); p.Agent == "writer" || slices.Contains(choices(p), "writer") {
		t.Error("planned an agent that is not approved any more")
	}
}

// broken is a registry that cannot be read.
type broken struct {
	*orchestratortest.MemoryStore
	err error
}

func (b broken) ListAgents(context.Context) ([]*orchestrator.Agent, error) { return nil, b.err }

func TestCardsFails(t *testing.T) {
	t.Parallel()
	var c Cards
	var f *orchestrator.Fault
	if _, err := c.Plan(t.Context(), orchestratortest.NewMemoryStore(), "hi"); !errors.As(err, &f) || f.Kind != "no-agents" || f.Do == "" {
		t.Errorf("without agents: %v", err)
	}
	cause := fmt.Errorf("broken")
	if _, err := c.Plan(t.Context(), broken{desk(t), cause}, "hi"); !errors.Is(err, cause) {
		t.Errorf("a broken registry: %v", err)
	}
}

func FuzzCards(f *testing.F) {
	f.Add("Please book a flight", "Books flights.")
	f.Add("航空券 비행기 \xff 'x", "「")
	f.Fuzz(func(t *testing.T, text, description string) {
		r := newRoster(approved(append(deskCards, a2a.AgentCard{Name: text, Description: description})...))
		for i, m := range r.rank(text) {
			if !(m.score > 0) || len(m.words) == 0 || i > len(deskCards) {
				t.Fatalf("%q: %+v", text, m)
			}
		}
		r.named(text)
	})
}
