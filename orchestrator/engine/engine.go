// Package engine decides what a run does next. It is a pure reducer: a State is folded from the events of a run, and
// Next says which commands follow from it. It reads no clock, does no I/O and starts no goroutine, so the same package
// serves every driver and a state can be folded again, event by event, with the same result.
//
//	events of the run ──Apply──▶ State ──Next──▶ commands ──(a driver, steps)──▶ events of the run
//
// Promises:
//   - applying the same events to the same state gives the same state and the same commands;
//   - a command has an ID; once Next has stopped naming it, it never names it again, so a driver that remembers what
//     it started does nothing twice;
//   - a run that has ended stays as it ended: nothing applied afterwards changes it, and Next is empty.
//
// Rules numbers the behaviour. A state carries the number it was started under, and a change of behaviour asks for it,
// so that runs started by an older program finish the way they began.
package engine

import (
	"encoding/json"
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
)

// Rules is the version of the rules that new runs start under. Runs of all versions since 1 are carried on.
//
//	2: a step that is tried again has those tried again that were skipped because of it.
//	3: a step that failed is not one of those that JoinAny and JoinQuorum count; a call of a plan whose agent does not stop
//	   ends all the same.
//	4: what undoes a node is stopped once its time is over.
const Rules = 4

// Bounds of what a run does on its own account.
const (
	MaxAttempts  = 3 // attempt groups of one message, when the agent certainly executed nothing
	MaxRepeats   = 3 // deliveries of the same message id to an agent that acts once on it
	MaxIdentical = 3 // identical requests to one agent within IdenticalWindow
)

// IdenticalWindow is the time, in milliseconds, over which identical requests are counted.
const IdenticalWindow = 60_000

// State is a run as the reducer sees it.
type State struct {
	Rules    int                 `json:"rules"`
	Events   int                 `json:"events"` // how many events of the run are folded into this state
	To       string              `json:"to"`     // an agent id, or orchestrator.Auto
	Person   bool                `json:"person,omitempty"`
	Part     bool                `json:"part,omitempty"`
	Planning int                 `json:"planning,omitempty"` // times a plan was asked for
	Chosen   string              `json:"chosen,omitempty"`   // the agent that was picked when the planner offered several
	Steps    []Step              `json:"steps,omitempty"`
	Asks     []Ask               `json:"asks,omitempty"`   // the open ones
	SignIn   string              `json:"signIn,omitempty"` // the id of the last sign-in that somebody answered
	Calls    []Call              `json:"calls,omitempty"`
	Stops    int                 `json:"stops,omitempty"` // times somebody asked to stop
	Stopping bool                `json:"stopping,omitempty"`
	Declined bool                `json:"declined,omitempty"` // stopping because an ask was declined
	End      a2a.TaskState       `json:"end,omitempty"`      // decided here, and not in the log yet
	Fault    *orchestrator.Fault `json:"fault,omitempty"`    // why
	Ended    bool                `json:"ended,omitempty"`
}

// Step is one node of the plan.
type Step struct {
	ID      string                 `json:"id"`
	Agent   string                 `json:"agent"`
	State   orchestrator.StepState `json:"state"`
	Turn    int                    `json:"turn"`              // the message it is at: 1, and one more for each reply
	Attempt int                    `json:"attempt"`           // attempt group of that message
	Repeat  int                    `json:"repeat,omitempty"`  // deliveries of the same message id after the first
	Phase   int                    `json:"phase,omitempty"`   // times it began to wait for its agent or for somebody
	Task    string                 `json:"task,omitempty"`    // the agent's task, once known
	Context string                 `json:"context,omitempty"` // the agent's context, once known
	Wants   orchestrator.AskKind   `json:"wants,omitempty"`   // an ask that must be opened
	Asking  orchestrator.AskKind   `json:"asking,omitempty"`  // what its interrupted task waits for
}

// Ask is an open ask.
type Ask struct {
	ID   string               `json:"id"`
	Step string               `json:"step,omitempty"`
	Kind orchestrator.AskKind `json:"kind"`
}

// Call remembers a request for the bound on identical ones.
type Call struct {
	Agent  string `json:"agent"`
	Digest string `json:"digest"`
	At     int64  `json:"at"` // Unix milliseconds
}

// FirstStep is the id of the step of a plan of one.
const FirstStep = "s1"

// Start says how a run begins.
type Start struct {
	To     string // an agent id, or orchestrator.Auto
	Person bool   // the local person can be asked questions of our own; otherwise they end the run
	Part   bool   // it is a call of a plan, which does not wait for an agent that does not stop
}

// New returns the state of a run before its first event. A run to one agent has its plan from the start.
func New(s Start) State {
	st := State{Rules: Rules, To: s.To, Person: s.Person, Part: s.Part}
	if s.To != orchestrator.Auto {
		st.Steps = []Step{step(FirstStep, s.To)}
	}
	return st
}

// Stored is what has to be kept of a state beside the events of its run: the rules it was started under.
func (s *State) Stored() json.RawMessage { return fmt.Appendf(nil, `{"rules":%d}`, s.Rules) }

// Restore returns the state that a run was in after the first Events of its events; the rest are for the caller to apply.
// That is its beginning, unless an older program stored a later state. Rules that this program does not know are an error.
func Restore(stored json.RawMessage, start Start) (State, error) {
	var s State
	if err := json.Unmarshal(stored, &s); err != nil {
		return State{}, err
	}
	if s.Rules < 1 || s.Rules > Rules {
		return State{}, fmt.Errorf("it was started under rules %d, which this program does not know", s.Rules)
	}
	if s.Events == 0 {
		rules := s.Rules
		s = New(start)
		s.Rules = rules
	}
	return s, nil
}

func step(id, agent string) Step {
	return Step{ID: id, Agent: agent, State: orchestrator.StepPlanned, Turn: 1, Attempt: 1}
}

// Step returns the step of that id, or nil.
func (s *State) Step(id string) *Step {
	for i := range s.Steps {
		if s.Steps[i].ID == id {
			return &s.Steps[i]
		}
	}
	return nil
}

// Active returns the step that what the agent says belongs to, or nil.
func (s *State) Active() *Step {
	for i := range s.Steps {
		if s.Steps[i].State != orchestrator.StepDone {
			return &s.Steps[i]
		}
	}
	return nil
}

// Open returns the open ask of that id, or nil.
func (s *State) Open(id string) *Ask {
	for i := range s.Asks {
		if s.Asks[i].ID == id {
			return &s.Asks[i]
		}
	}
	return nil
}

// TooOften reports whether one more request like that would be more than MaxIdentical within IdenticalWindow.
func (s *State) TooOften(agent, digest string, at int64) bool {
	n := 0
	for _, c := range s.Calls {
		if c.Agent == agent && c.Digest == digest && at-c.At < IdenticalWindow {
			n++
		}
	}
	return n >= MaxIdentical
}

// Before returns what must be logged ahead of a report so that the log tells it in order: an ask is gone once the
// agent went on by itself, asks for something else, or ended.
func (s *State) Before(r *Report) []Body {
	if s.Ended || r.State == a2a.TaskStateUnspecified && !r.Message {
		return nil
	}
	var bodies []Body
	for _, a := range s.Asks {
		own := a.Kind == orchestrator.AskChoice || a.Kind == orchestrator.AskResend
		switch {
		case r.Ends(): // whichever ask it is
		case own, kindOf(r.State) == a.Kind:
			continue
		}
		gone := &Answered{Ask: a.ID, State: orchestrator.AskGone}
		if a.Kind == orchestrator.AskSignIn && (!r.Ends() || r.Message || r.State == a2a.TaskStateCompleted) {
			gone.Shown = orchestrator.SignedIn // past us, where the agent sent the person: it would not go on without
		}
		bodies = append(bodies, gone)
	}
	return bodies
}

// kindOf returns the kind of ask that an interrupted task opens.
func kindOf(s a2a.TaskState) orchestrator.AskKind {
	switch s {
	case a2a.TaskStateInputRequired:
		return orchestrator.AskInput
	case a2a.TaskStateAuthRequired:
		return orchestrator.AskSignIn
	}
	return ""
}
