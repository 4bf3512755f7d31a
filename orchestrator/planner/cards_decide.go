package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
)

var _ Decider = (*Cards)(nil)

// Decide gives the whole request to the agent whose card matches it, asks which agent when none clearly does, and takes
// what came of it for the answer. The error is a *orchestrator.Fault: nobody is left to ask, or no round.
func (c *Cards) Decide(_ context.Context, b *Brief) (*Decision, error) {
	if done := b.completed(); len(done) > 0 {
		return &Decision{Why: "The answer is what came back.", Finish: b.joined(done)}, nil
	}
	agents := b.usable()
	if failed := b.results(); len(failed) > 0 {
		agents = slices.DeleteFunc(agents, func(a *orchestrator.Agent) bool {
			return slices.ContainsFunc(failed, func(r *Result) bool { return r.AgentID == a.ID })
		})
		if last := failed[len(failed)-1]; len(agents) == 0 || b.Left <= 1 || b.Decline[last.AgentID] == "" {
			return nil, last.fault()
		}
	}
	if len(agents) == 0 {
		return nil, &orchestrator.Fault{
			Kind: "no-agents", Where: orchestrator.WhereUs, What: "No agent is left that could take this.",
			Do: "Connect another agent, then send the message again.",
		}
	}
	if b.Left <= 1 {
		return nil, &orchestrator.Fault{
			Kind: "rounds", Where: orchestrator.WhereUs, What: "The plan came to the end of its rounds without an answer.", Do: "Ask for less at once.",
		}
	}
	text := a2a.Text(b.Request)
	p := &Plan{}
	if n := len(b.Rounds); n > 0 && b.Rounds[n-1].Decision.Ask != nil {
		asked := b.Rounds[n-1]
		if id, ok := Pick(asked.Decision.Ask.Choices, asked.Answer); ok && has(agents, id) {
			p = &Plan{Agent: id, Why: "You chose this agent."}
		} else {
			text += "\n" + asked.Answer
		}
	}
	if p.Agent == "" {
		p = c.choose(agents, text)
	}
	if p.Agent == "" {
		return &Decision{Ask: &Question{Prompt: p.Prompt, Choices: p.Choices}}, nil
	}
	if strings.TrimSpace(text) == "" {
		text = "See what is sent with this message."
	}
	return &Decision{Why: p.Why, Delegate: []Delegation{{ID: b.delegationID(1), Agent: p.Agent, Message: text}}}, nil
}

// Reply leaves every question of an agent to a person.
func (c *Cards) Reply(context.Context, *Brief, *Question) (*Answer, error) { return nil, nil }

func has(agents []*orchestrator.Agent, id string) bool {
	return slices.ContainsFunc(agents, func(a *orchestrator.Agent) bool { return a.ID == id })
}

// usable returns the agents that may be named: approved ones that have not turned anything down.
func (b *Brief) usable() []*orchestrator.Agent {
	var all []*orchestrator.Agent
	for _, a := range b.Agents {
		if _, declined := b.Decline[a.ID]; !declined && a.Trust == orchestrator.TrustApproved {
			all = append(all, a)
		}
	}
	return all
}

// results returns what came of all delegations so far, oldest first.
func (b *Brief) results() []*Result {
	var all []*Result
	for i := range b.Rounds {
		for j := range b.Rounds[i].Results {
			all = append(all, &b.Rounds[i].Results[j])
		}
	}
	return all
}

// completed returns what was done in the last round in which anything was.
func (b *Brief) completed() []*Result {
	for i := len(b.Rounds) - 1; i >= 0; i-- {
		var done []*Result
		for j := range b.Rounds[i].Results {
			if r := &b.Rounds[i].Results[j]; r.ok() {
				done = append(done, r)
			}
		}
		if len(done) > 0 {
			return done
		}
	}
	return nil
}

// ok reports whether the agent did what it was asked. An agent that answers with a message has no task, and no state.
func (r *Result) ok() bool {
	return r.Fault == nil && (r.State == a2a.TaskStateCompleted || r.State == a2a.TaskStateUnspecified)
}

// fault says what became of a delegation that came to nothing.
func (r *Result) fault() *orchestrator.Fault {
	if r.Fault != nil {
		return r.Fault
	}
	return &orchestrator.Fault{
		Kind: "agent", Where: orchestrator.WhereAgent, What: "The agent did not do what it was asked.", Raw: r.Text, Do: "Ask again, or ask another agent.",
	}
}

// delegationID is the id of the nth delegation, from 1, of the decision to come.
func (b *Brief) delegationID(n int) string { return fmt.Sprintf("r%d-%d", len(b.Rounds)+1, n) }

// joined makes one answer of several results: the texts one after another, under the agents' names, with all artifacts.
func (b *Brief) joined(done []*Result) *Finish {
	f := &Finish{}
	var texts []string
	for _, r := range done {
		text := strings.TrimSpace(r.Text)
		if text != "" && len(done) > 1 {
			text = "**" + b.name(r.AgentID) + "**\n\n" + text
		}
		if text != "" {
			texts = append(texts, text)
		}
		for _, a := range r.Artifacts {
			f.Artifacts = append(f.Artifacts, ArtifactRef{Delegation: r.ID, Artifact: a.ArtifactID})
		}
	}
	if f.Text = strings.Join(texts, "\n\n"); f.Text == "" {
		f.Text = "Done."
	}
	return f
}

// name is what people call an agent.
func (b *Brief) name(id string) string {
	for _, a := range b.Agents {
		if a.ID == id {
			return Choice(a).Label
		}
	}
	return id
}
