package orchestrator

import (
	"context"
	"encoding/json"
	"time"
)

// Workflow is a plan that somebody wrote down and keeps under a name.
type Workflow struct {
	ID          string // short, made of the file's name; used in addresses and commands: a-z, 0-9 and "-", at most 64 characters
	Name        string // as the file says
	Description string
	Source      []byte // the file, as written
	Exposed     bool   // a skill of our own agent
	Demo        bool   // came with the program
	Added       time.Time
	Updated     time.Time
}

// Workflows are the kept workflows in a Store.
type Workflows interface {
	Workflow(ctx context.Context, id string) (*Workflow, error)
	ListWorkflows(ctx context.Context) ([]*Workflow, error) // by name
	RemoveWorkflow(ctx context.Context, id string) error    // its runs stay; one that is not there is no error

	// WorkflowRuns returns runs of a workflow, the last begun first: at most n, after the run named by after
	// ("" = from the top). Runs that were begun for its steps are not among them.
	WorkflowRuns(ctx context.Context, id, after string, n int) ([]*Run, error)
}

// Library keeps workflows and reads their files.
type Library interface {
	Workflows(ctx context.Context) ([]*Workflow, error)
	Workflow(ctx context.Context, id string) (*Workflow, error)
	Runs(ctx context.Context, id, after string, n int) ([]*Run, error) // as Workflows.WorkflowRuns

	// Check reads a workflow file. It never fails: what is wrong stands in the result.
	Check(ctx context.Context, source []byte) *WorkflowCheck

	// Save keeps a workflow; id "" makes one of the file's name. A file with problems is kept all the same, unless it has
	// no name, but cannot be run. expose: as a skill of our own agent.
	Save(ctx context.Context, id string, source []byte, expose bool) (*Workflow, error)
	Remove(ctx context.Context, id string) error
}

// WorkflowCheck is what a workflow file says, as far as it can be read.
type WorkflowCheck struct {
	Name        string
	Description string
	Inputs      json.RawMessage   // JSON Schema of an object
	Nodes       []PlanNode        // ids, titles, kinds, needs, agents: what can be drawn
	Problems    []WorkflowProblem // nil: it can be run
}

// WorkflowProblem is one thing that is wrong with a workflow file.
type WorkflowProblem struct {
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // from 1, in characters
	What   string `json:"what"`
	Do     string `json:"do,omitempty"` // how to mend it
}
