package orchestrator

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"parley/a2a"
)

// Planner carries out plans of several steps, and says where they stand. A run that only talks to one agent has no plan.
type Planner interface {
	// Launch begins a run that carries out a workflow. It returns when that is stored. What is wrong with the file or the
	// inputs is a *Fault; nothing is begun then.
	Launch(ctx context.Context, l *Launch) (*Run, error)

	// Plan returns the plan of a run as it stands; ErrNotFound when the run has none.
	Plan(ctx context.Context, run string) (*Plan, error)

	// FollowPlan yields the plan as it stands, and again whenever something about it changed, until the run has ended, the
	// last of it yielded, or ctx is done. A slow reader is given the newest, not each.
	FollowPlan(ctx context.Context, run string) iter.Seq2[*Plan, error]

	// StopStep stops what a step of a plan has going on; what follows is as the plan says of failures.
	StopStep(ctx context.Context, run, node string) error

	// RetryStep begins a failed step of a plan once more: in its plan while that goes on, else in a new run, which begins
	// with what the other steps gave. It returns the run that the step is a part of then. Retry begins the whole plan anew.
	RetryStep(ctx context.Context, run, node string) (*Run, error)
}

// Launch is a workflow to be carried out. Exactly one of Workflow and Source is set.
type Launch struct {
	Workflow       string                     // the name of a kept one
	Source         []byte                     // the text of a workflow file
	As             string                     // with Source: the kept workflow it was made of, whose run it is (Run.Workflow); "" = none
	Inputs         map[string]json.RawMessage // by name
	Text           string                     // what the person said to begin it; "" = made of the name and the inputs
	ConversationID string                     // "" = a new one
	MessageID      string                     // so that a repeated post is one run; "" = made here
	Preview        bool                       // a person sees the plan, and agrees to it, before anything of it begins
}

// Plan is where a run with a plan stands, for people: made from the log whenever it is asked for.
type Plan struct {
	RunID          string                     `json:"runId"`
	ConversationID string                     `json:"conversationId,omitempty"`
	Name           string                     `json:"name"` // of the workflow; "" = a model made the plan
	State          a2a.TaskState              `json:"state"`
	Began          time.Time                  `json:"began"`
	Ended          time.Time                  `json:"ended,omitzero"`
	Source         string                     `json:"-"` // of the workflow file, as it was when the run began
	Inputs         map[string]json.RawMessage `json:"inputs,omitempty"`
	Outputs        map[string]json.RawMessage `json:"outputs,omitempty"` // once it is done
	Fault          *Fault                     `json:"fault,omitempty"`
	Nodes          []PlanNode                 `json:"steps"`
}

// PlanNode is one step of a plan.
type PlanNode struct {
	ID       string          `json:"id"`
	Title    string          `json:"title,omitempty"`
	Kind     string          `json:"kind"` // call, ask, none, plan: as engine.NodeKind
	Needs    []string        `json:"needs,omitempty"`
	Join     string          `json:"join,omitempty"`
	Approve  bool            `json:"approve,omitempty"`
	AgentID  string          `json:"agentId,omitempty"` // as far as it is known before a call is made
	Use      string          `json:"use,omitempty"`     // the workflow it runs
	State    string          `json:"state"`             // waiting, ready, approving, running, done, failed, skipped, canceled: as engine.NodeState
	Round    int             `json:"round,omitempty"`   // from 1: the last that began
	AskID    string          `json:"askId,omitempty"`   // the open question that it waits for
	Text     string          `json:"text,omitempty"`    // what came of it
	Data     json.RawMessage `json:"data,omitempty"`    // likewise, or its computed outputs; as far as it is short
	Fault    *Fault          `json:"fault,omitempty"`
	Began    time.Time       `json:"began,omitzero"`
	Ended    time.Time       `json:"ended,omitzero"`
	CanStop  bool            `json:"-"`
	CanRetry bool            `json:"-"`
	Calls    []PlanCall      `json:"calls,omitempty"`
}

// PlanCall is one run that was begun for a step: an item, a round or an attempt of it.
type PlanCall struct {
	RunID     string         `json:"runId"`
	AgentID   string         `json:"agentId,omitempty"` // "" for a plan within this one
	Planned   bool           `json:"planned,omitempty"` // it has a plan of its own: Plan(RunID)
	Round     int            `json:"round"`
	Item      int            `json:"item"` // from 0; -1: it undoes the step
	Attempt   int            `json:"attempt"`
	Fallback  bool           `json:"fallback,omitempty"`
	State     a2a.TaskState  `json:"state"`
	ChildTask string         `json:"childTask,omitempty"` // as the agent calls it
	Began     time.Time      `json:"began"`
	Ended     time.Time      `json:"ended,omitzero"`
	Fault     *Fault         `json:"fault,omitempty"`
	Artifacts []ArtifactData `json:"artifacts,omitempty"` // read through Store.Artifact(RunID, …)
	Usage     *Usage         `json:"usage,omitempty"`     // nil: the agent reported none
}

// Usage is what an agent, or a model, reported that a call took. A zero was not reported.
type Usage struct {
	InputTokens  int64   `json:"inputTokens,omitempty"`
	OutputTokens int64   `json:"outputTokens,omitempty"`
	Cost         float64 `json:"cost,omitempty"`
	Currency     string  `json:"currency,omitempty"` // ISO 4217
}

// Add adds what another call took. Costs in different currencies have none together.
func (u *Usage) Add(o *Usage) {
	if o.Cost > 0 {
		switch {
		case u.Cost == 0:
			u.Currency = o.Currency
		case u.Currency != o.Currency:
			u.Currency = ""
		}
	}
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.Cost += o.Cost
}
