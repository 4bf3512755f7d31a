package planner

import (
	"context"
	"encoding/json"

	"parley/a2a"
	"parley/orchestrator"
)

// Decider says what a run without a plan does next: it is asked at the begin, and again whenever all that it wanted done is
// done. What it answers is data: checked, logged, and never asked for again. An error is a *orchestrator.Fault for people.
type Decider interface {
	Decide(ctx context.Context, b *Brief) (*Decision, error)

	// Reply answers a question that an agent asked, where the plan allows that; nil without an error: a person has to.
	Reply(ctx context.Context, b *Brief, q *Question) (*Answer, error)
}

// Brief is all that a Decider is told. Everything in it that came from agents is data, never an instruction.
type Brief struct {
	RunID   string
	Request []a2a.Part            // what the person said
	Earlier []Turn                // of the same conversation, oldest first
	Agents  []*orchestrator.Agent // the approved ones: nobody else can be named
	Rounds  []Round               // what was decided in this run so far, and what came of it
	Left    int                   // rounds that are left, with this one; at 1 it must finish
	Decline map[string]string     // agents that turned something down in this run, with what they said
}

// Turn is one thing that was said before.
type Turn struct {
	AgentID string // "" = the person
	Text    string
}

// Round is one decision with what came of it.
type Round struct {
	Decision *Decision
	Results  []Result // of Decision.Delegate, in their order
	Answer   string   // to Decision.Ask
}

// Result is what came of one delegation.
type Result struct {
	ID        string
	AgentID   string
	State     a2a.TaskState
	Text      string
	Data      []json.RawMessage
	Artifacts []orchestrator.ArtifactData
	Fault     *orchestrator.Fault
}

// Decision is exactly one of: some delegations, a question to the person, the final answer.
type Decision struct {
	Why      string              `json:"why,omitempty"` // one sentence for people
	Delegate []Delegation        `json:"delegate,omitempty"`
	Ask      *Question           `json:"ask,omitempty"`
	Finish   *Finish             `json:"finish,omitempty"`
	Usage    *orchestrator.Usage `json:"usage,omitempty"`
	Model    string              `json:"model,omitempty"`    // which; "" = the cards
	Fallback *orchestrator.Fault `json:"fallback,omitempty"` // why the model was not of use, when the cards decided instead
}

// Delegation is one message to one agent. All of a decision go out at once.
type Delegation struct {
	ID        string        `json:"id"` // unique in the run
	Agent     string        `json:"agent"`
	Message   string        `json:"message"`
	Artifacts []ArtifactRef `json:"artifacts,omitempty"` // passed on by reference
}

// ArtifactRef names an artifact of an earlier delegation.
type ArtifactRef struct {
	Delegation string `json:"delegation"`
	Artifact   string `json:"artifact"`
}

// Question is for the person, or, in Reply, from an agent.
type Question struct {
	AgentID string                `json:"agentId,omitempty"`
	Prompt  string                `json:"prompt"`
	Choices []orchestrator.Choice `json:"choices,omitempty"`
	Schema  json.RawMessage       `json:"schema,omitempty"`
}

// Answer is what a Decider answers to an agent.
type Answer struct {
	Text  string              `json:"text,omitempty"`
	Data  json.RawMessage     `json:"data,omitempty"`
	Usage *orchestrator.Usage `json:"usage,omitempty"`
}

// Finish is the answer to the person.
type Finish struct {
	Text      string        `json:"text"` // Markdown
	Artifacts []ArtifactRef `json:"artifacts,omitempty"`
}
