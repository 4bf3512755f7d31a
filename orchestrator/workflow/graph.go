package workflow

import (
	"encoding/json"
	"fmt"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Spec is the content of one step: what the engine does not look at. It stands in engine.Node.Spec.
type Spec struct {
	ID       string  `json:"id"`
	Name     string  `json:"name,omitempty"`
	File     string  `json:"file"`
	At       Pos     `json:"at"`
	Agent    *Agent  `json:"agent,omitempty"`
	Message  []Part  `json:"message,omitempty"`
	Use      string  `json:"use,omitempty"`
	With     []Named `json:"with,omitempty"`
	Ask      *Ask    `json:"ask,omitempty"`
	If       *Expr   `json:"if,omitempty"`
	ForEach  *Value  `json:"forEach,omitempty"`
	While    *Expr   `json:"while,omitempty"`
	Fallback *Agent  `json:"fallback,omitempty"`
	Approve  *Text   `json:"approve,omitempty"`
	Answer   string  `json:"answer,omitempty"`
	Undo     *Undo   `json:"undo,omitempty"`
	Outputs  []Named `json:"outputs,omitempty"`
}

// PlanSpec is the content of the whole: it stands in engine.Graph.Spec.
type PlanSpec struct {
	Name    string         `json:"name"`
	File    string         `json:"file"`
	Inputs  map[string]any `json:"inputs"` // checked, with defaults
	Outputs []Named        `json:"outputs,omitempty"`
}

// Graph makes a plan of the workflow for the inputs of one run, which it checks. depth is how many plans this one is
// within. Errors are Faults.
func (w *Workflow) Graph(given map[string]json.RawMessage, depth int) (*engine.Graph, error) {
	inputs, err := w.Given(given)
	if err != nil {
		return nil, err
	}
	g := &engine.Graph{Name: w.Name, Timeout: w.Timeout.Milliseconds(), Budget: w.Budget, Depth: depth}
	if g.Spec, err = marshal(&PlanSpec{Name: w.Name, File: w.File, Inputs: inputs, Outputs: w.Outputs}); err != nil {
		return nil, tooLarge(w)
	}
	size := len(g.Spec)
	for i := range w.Steps {
		s := &w.Steps[i]
		n := engine.Node{
			ID: s.ID, Kind: s.Kind(), Needs: s.Needs, Join: s.Join, Quorum: s.Quorum, Approve: s.Approve != nil, Parallel: s.Parallel, Loop: s.Loop,
			Attempts: s.Attempts, Backoff: s.Backoff.Milliseconds(), Timeout: s.Timeout.Milliseconds(), OnError: s.OnError, Undo: s.Undo != nil,
		}
		n.Spec, err = marshal(&Spec{
			ID: s.ID, Name: s.Name, File: w.File, At: s.At, Agent: s.Agent, Message: s.Message, Use: s.Use, With: s.With, Ask: s.Ask, If: s.If,
			ForEach: s.ForEach, While: s.While, Fallback: s.Fallback, Approve: s.Approve, Answer: s.Answer, Undo: s.Undo, Outputs: s.Outputs,
		})
		if size += len(n.Spec); err != nil || size > engine.MaxPlanSize {
			return nil, tooLarge(w)
		}
		g.Nodes = append(g.Nodes, n)
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	return g, nil
}

func tooLarge(w *Workflow) error {
	return &orchestrator.Fault{
		Kind: "plan", Where: orchestrator.WhereUs, What: fmt.Sprintf("The plan of %s has more than %d bytes with its inputs.", w.Name, engine.MaxPlanSize),
		Do: "Give large inputs as files, or divide the workflow.",
	}
}
