package engine

import (
	"encoding/json"
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
)

// Body is what one event of a run means to the reducer. All but Report are the JSON bodies of the internal event kinds.
type Body interface{ Kind() orchestrator.EventKind }

// Planned is the plan: which agents take part.
type Planned struct {
	Agents []string `json:"agents,omitempty"`
	Why    string   `json:"why,omitempty"`   // one sentence for people
	Graph  *Graph   `json:"graph,omitempty"` // of a run with several steps; a later one adds its nodes
	At     int64    `json:"at,omitempty"`    // with a Graph: Unix milliseconds

	Preview  bool            `json:"preview,omitempty"`  // a person agrees to the plan before anything of it begins
	Node     string          `json:"node,omitempty"`     // the node of kind plan that this is the decision of
	Decision json.RawMessage `json:"decision,omitempty"` // as it was decided
	Source   string          `json:"source,omitempty"`   // the workflow file it was made of
	Inputs   json.RawMessage `json:"inputs,omitempty"`   // as they were given, with the Source
}

// Sending is the intent to send a message to an agent: committed before any byte goes out.
type Sending struct {
	Step       string          `json:"step"`
	Agent      string          `json:"agent"`
	Turn       int             `json:"turn"`
	Attempt    int             `json:"attempt"`
	Repeat     int             `json:"repeat,omitempty"`
	MessageID  string          `json:"messageId"` // as the agent sees it
	ContextID  string          `json:"contextId,omitempty"`
	TaskID     string          `json:"taskId,omitempty"`
	References []string        `json:"references,omitempty"`
	Digest     string          `json:"digest,omitempty"` // of the parts
	At         int64           `json:"at"`               // Unix milliseconds
	Hops       int             `json:"hops,omitempty"`   // how many agents the message came through, with us
	Message    json.RawMessage `json:"message"`          // as we received it
	Config     *Config         `json:"config,omitempty"`
}

// Config is what the caller wanted of the answer and the agent is told.
type Config struct {
	OutputModes []string        `json:"outputModes,omitempty"`
	Immediately bool            `json:"immediately,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // of the request
}

// Sent says that the message arrived: the agent answered it.
type Sent struct {
	Step    string `json:"step"`
	Task    string `json:"task,omitempty"` // "" when the answer was a Message
	Context string `json:"context,omitempty"`
}

// Asked opens an ask.
type Asked struct {
	Ask     string                `json:"ask"`
	Step    string                `json:"step,omitempty"`
	AskKind orchestrator.AskKind  `json:"kind"`
	Agent   string                `json:"agent,omitempty"`
	Prompt  string                `json:"prompt,omitempty"`
	Schema  json.RawMessage       `json:"schema,omitempty"`
	Choices []orchestrator.Choice `json:"choices,omitempty"`
	Links   []orchestrator.Link   `json:"links,omitempty"`
	Phase   int                   `json:"phase,omitempty"` // of the Open it answers, in a plan of several steps
}

// Answered closes an ask.
type Answered struct {
	Ask    string                `json:"ask"`
	State  orchestrator.AskState `json:"state"`
	Choice string                `json:"choice,omitempty"`
	Shown  string                `json:"shown,omitempty"` // what was answered, for the receipt; secrets never

	// In a plan of several steps, where the answer goes to no agent.
	Message json.RawMessage `json:"message,omitempty"` // the whole answer, an a2a.Message
	At      int64           `json:"at,omitempty"`      // Unix milliseconds
}

// Stopping says that somebody asked to stop.
type Stopping struct{}

// Gap says that events may be missing here.
type Gap struct {
	Reason string `json:"reason"`
}

// Class says what a fault means for the step it happened to.
type Class string

const (
	Unsent  Class = "unsent"  // the agent certainly executed nothing: worth another attempt group
	Refused Class = "refused" // the agent, or the way to it, said no for good: the run ends
	Lost    Class = "lost"    // the message may have arrived; what became of it cannot be known
	Repeat  Class = "repeat"  // as Lost, and the agent acts once on a repeated message id: send it again
	Ignored Class = "ignored" // the agent did not take a message for its running task, which goes on
	Cancel  Class = "cancel"  // the agent did not stop: it goes on, and so does the run, unless it is part of a plan
	Noted   Class = "noted"   // it changes nothing
	Silent  Class = "silent"  // somebody asked to stop and the agent never answered the message at all
)

// Faulted is a failure and what it means for the step.
type Faulted struct {
	Step  string              `json:"step,omitempty"`
	Class Class               `json:"class"`
	Fault *orchestrator.Fault `json:"fault"`
}

// Report is what an A2A event of the run says to the reducer: a state, or that the answer was a Message.
type Report struct {
	State   a2a.TaskState
	Message bool
	kind    orchestrator.EventKind
}

// ReportOf returns what e says. Artifacts say nothing.
func ReportOf(e a2a.Event) *Report {
	_, message := e.(*a2a.Message)
	return &Report{State: a2a.EventState(e), Message: message, kind: orchestrator.KindOfEvent(e)}
}

// Ends reports whether nothing follows.
func (r *Report) Ends() bool { return r.Message || r.State.Terminal() }

func (*Planned) Kind() orchestrator.EventKind  { return orchestrator.EventPlanned }
func (*Sending) Kind() orchestrator.EventKind  { return orchestrator.EventSending }
func (*Sent) Kind() orchestrator.EventKind     { return orchestrator.EventSent }
func (*Asked) Kind() orchestrator.EventKind    { return orchestrator.EventAsked }
func (*Answered) Kind() orchestrator.EventKind { return orchestrator.EventAnswered }
func (*Stopping) Kind() orchestrator.EventKind { return orchestrator.EventStopping }
func (*Gap) Kind() orchestrator.EventKind      { return orchestrator.EventGap }
func (*Faulted) Kind() orchestrator.EventKind  { return orchestrator.EventFault }
func (r *Report) Kind() orchestrator.EventKind { return r.kind }

// Marshal returns the JSON under which an internal body is logged.
func Marshal(b Body) []byte {
	switch b := b.(type) {
	case *Sending:
		return b.appendJSON(make([]byte, 0, len(b.Message)+384))
	case *Sent:
		return b.appendJSON(make([]byte, 0, 160))
	}
	return encoded(b)
}

// Decode reads an event of the log.
func Decode(e *orchestrator.Event) (Body, error) {
	var b Body
	switch e.Kind {
	case orchestrator.EventPlanned:
		b = new(Planned)
	case orchestrator.EventSending:
		b = new(Sending)
	case orchestrator.EventTaken:
		b = new(Taken)
	case orchestrator.EventSent:
		b = new(Sent)
	case orchestrator.EventAsked:
		b = new(Asked)
	case orchestrator.EventAnswered:
		b = new(Answered)
	case orchestrator.EventStopping:
		b = new(Stopping)
	case orchestrator.EventGap:
		b = new(Gap)
	case orchestrator.EventFault:
		b = new(Faulted)
	case orchestrator.EventResolved:
		b = new(Resolved)
	case orchestrator.EventBegun:
		b = new(Begun)
	case orchestrator.EventOver:
		b = new(Over)
	case orchestrator.EventDue:
		b = new(Due)
	case orchestrator.EventSteered:
		b = new(Steered)
	case orchestrator.EventArtifact:
		return &Report{kind: e.Kind}, nil
	case orchestrator.EventTask, orchestrator.EventMessage, orchestrator.EventStatus:
		ev, err := e.Event()
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		return ReportOf(ev), nil
	default:
		return nil, fmt.Errorf("event %d: unknown kind %q", e.Seq, e.Kind)
	}
	if err := json.Unmarshal(e.JSON, b); err != nil {
		return nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind, err)
	}
	return b, nil
}
