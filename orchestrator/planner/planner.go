// Package planner says which agents take part in a run. Direct is the plan of a run that names its agent; Cards finds
// the agent for a text by the cards of the approved agents. A planner only proposes: what it answers is logged before
// anything follows from it, and it is never asked the same thing twice.
//
// Cards needs no model and no network: it knows which words people use for which matter from lexicon.txt, has more of them
// from what English words are near to (senses.txt), what foreign ones are in English (glossary.txt) and how people ask
// (requests.txt), and weighs them by how few of the connected agents' cards speak of that matter. The same cards and text
// give the same plan.
package planner

import (
	"fmt"
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
