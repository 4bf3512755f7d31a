// Package planner says which agents take part in a run. Direct is the plan of a run that names its agent; Cards finds
// the agent for a text by the cards of the approved agents. A planner only proposes: what it answers is logged before
// anything follows from it, and it is never asked the same thing twice.
package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/orchestrator"
)

// Plan is what a planner answers: an agent, or, when it cannot tell, the agents to choose from.
type Plan struct {
	Agent   string // "" = somebody must choose
	Why     string // one sentence for people
	Prompt  string
	Choices []orchestrator.Choice // ids are agent ids
}

// Direct is the plan of a run that names its agent.
func Direct(agent string) *Plan { return &Plan{Agent: agent} }

// Margin is how much better than the second best a match has to be so that nobody is asked.
const Margin = 1.4

// offered is how many candidates are put to a person when several match.
const offered = 5

// Cards finds the approved agent whose card matches the text. A clear winner (the only match, or one whose score is
// positive and at least Margin times the second) is the plan; otherwise the best matches are offered, or every approved
// agent when none matches. With no approved agent at all it answers a *orchestrator.Fault.
func Cards(ctx context.Context, agents orchestrator.Agents, text string) (*Plan, error) {
	matches, err := agents.MatchAgents(ctx, text, offered)
	if err != nil {
		return nil, err
	}
	if w, ok := winner(matches); ok {
		a, err := agents.Agent(ctx, w)
		if err != nil {
			return nil, err
		}
		return &Plan{Agent: a.ID, Why: fmt.Sprintf("%s fits best by its card.", a.Name)}, nil
	}
	all, err := agents.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(a *orchestrator.Agent) bool { return a.Trust != orchestrator.TrustApproved })
	if len(all) == 0 {
		return nil, &orchestrator.Fault{
			Kind: "no-agents", Where: orchestrator.WhereUs,
			What: "No agent is connected yet.", Do: "Connect an agent first, then send the message again.",
		}
	}
	p := &Plan{Prompt: "None of the connected agents clearly fits. Which one should take this?"}
	if len(matches) > 0 {
		p.Prompt = "More than one agent could take this. Which one should it be?"
		rank := map[string]int{}
		for i, m := range matches {
			rank[m.AgentID] = i + 1
		}
		all = slices.DeleteFunc(all, func(a *orchestrator.Agent) bool { return rank[a.ID] == 0 })
		slices.SortStableFunc(all, func(a, b *orchestrator.Agent) int { return rank[a.ID] - rank[b.ID] })
	}
	for _, a := range all {
		p.Choices = append(p.Choices, Choice(a))
	}
	return p, nil
}

// winner returns the clear winner of matches, best first.
func winner(ms []orchestrator.Match) (string, bool) {
	switch {
	case len(ms) == 0:
		return "", false
	case len(ms) == 1, ms[0].Score > 0 && ms[0].Score >= Margin*ms[1].Score:
		return ms[0].AgentID, true
	}
	return "", false
}

// Choice describes an agent as one of several to choose from.
func Choice(a *orchestrator.Agent) orchestrator.Choice {
	c := orchestrator.Choice{ID: a.ID, Label: a.Name}
	if c.Label == "" {
		c.Label = a.ID
	}
	if a.Card != nil {
		c.Detail = firstSentence(a.Card.Description)
	}
	return c
}

// firstSentence returns the first line of s, cut after its first sentence and at most 160 characters long.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	if r := []rune(s); len(r) > 160 {
		s = strings.TrimSpace(string(r[:159])) + "…"
	}
	return s
}

// Pick finds the choice that a text names: by id or label, or by its number in the list.
func Pick(choices []orchestrator.Choice, text string) (string, bool) {
	text = strings.Trim(strings.TrimSpace(text), ".!\"'")
	for i, c := range choices {
		if strings.EqualFold(c.ID, text) || strings.EqualFold(c.Label, text) || text == fmt.Sprint(i+1) {
			return c.ID, true
		}
	}
	return "", false
}
