package orchestrator

import (
	"encoding/json"
	"strings"
	"time"

	"parley/a2a"
)

// Run is one request being carried out. To outside clients it is the A2A task of our own agent, or of the gateway
// agent it was sent to: same id, same context.
type Run struct {
	ID             string
	Scope          string // whose task it is: OwnAgent, "agents/{id}" for the gateway, "demo/{name}" for a demo agent, "step/{run}" for a call of a plan
	Principal      string
	ConversationID string // "" for a run of an outside caller
	ContextID      string
	To             string        // an agent id, or Auto
	State          a2a.TaskState // TaskStateUnspecified: the answer was a Message
	Updated        time.Time     // of State
	Created        time.Time
	LastSeq        int64           // of its newest event; set by the store
	Engine         json.RawMessage // what the driver needs beside the events
	Workflow       string          // the id of the kept workflow it carries out; "" = none, or one from a file
}

// StepScope begins the scope of every run that is a call of a plan: what follows is the id of the run with the plan.
const StepScope = "step/"

// Plan is the id of the run with the plan that r is a call of, "" for one that stands alone.
func (r *Run) Plan() string {
	id, ok := strings.CutPrefix(r.Scope, StepScope)
	if !ok {
		return ""
	}
	return id
}

// ReceiptAge is how long a message is known as received, at least.
const ReceiptAge = 7 * 24 * time.Hour

// Receipt remembers a received message so that it is acted on once.
type Receipt struct {
	Scope     string
	Principal string
	MessageID string
	Digest    [32]byte
	RunID     string
	After     int64 // the events that answer the message have a Seq above this
	At        time.Time
}

// Step is one node of a run's plan.
type Step struct {
	ID           string // unique within the run
	RunID        string
	AgentID      string
	Attempt      int    // attempt group: the same message id within one, a new one in the next
	MessageID    string // derived from (run, step, attempt)
	State        StepState
	ChildTask    string // the agent's task id, known from its first event
	ChildContext string
	Updated      time.Time
}

// StepState is where a step stands. What the child task does is the run's State.
type StepState string

const (
	StepPlanned  StepState = "planned"
	StepSending  StepState = "sending"  // the intent is committed; what went out is unknown until the child is known
	StepAwaiting StepState = "awaiting" // the child task is known
	StepAsking   StepState = "asking"   // the child is interrupted
	StepDone     StepState = "done"     // the child ended, whichever way
	StepLost     StepState = "lost"     // it cannot be known what became of it; a person was asked
)

// ChildContext is the (contextId, taskId) that a conversation, or an outside caller's context, has with one agent. Our
// own ids never go to an agent.
type ChildContext struct {
	Key       string // conversation id, or "principal/contextId" of an outside caller
	AgentID   string
	ContextID string
	TaskID    string // the child task a reply must name while it is interrupted; "" when there is none
	LastTask  string // the last ended task, for referenceTaskIds
}

// Ask is something only somebody else can give.
type Ask struct {
	ID             string
	RunID          string
	StepID         string
	ConversationID string // "" when the ask belongs to an outside caller
	Principal      string
	AgentID        string // who asks
	Kind           AskKind
	Prompt         string          // Markdown
	Schema         json.RawMessage // JSON Schema of the wanted data, when the agent gave one
	Choices        []Choice
	Links          []Link // for a sign-in: where to go. Shown with their host, opened on a click only
	State          AskState
	Answer         json.RawMessage // what was answered, as shown on the receipt; secrets never
	Opened         time.Time
	Closed         time.Time
}

// AskKind tells how an ask is put.
type AskKind string

const (
	AskInput  AskKind = "input"  // a reply in words, or a form when Schema is set
	AskChoice AskKind = "choice" // one of Choices
	AskSignIn AskKind = "sign-in"
	AskResend AskKind = "resend" // "It may have arrived. Send again?"

	AskApproval AskKind = "approval" // a step of a plan waits for a yes
)

// AskState is where an ask stands.
type AskState string

const (
	AskOpen     AskState = "open"
	AskAnswered AskState = "answered"
	AskDeclined AskState = "declined"
	AskGone     AskState = "gone" // the agent went on by itself, or the run ended
)

// What is said of a sign-in.
const (
	// SignedIn is the answer of one that is gone because the agent went on: the person signed in at the agent's own page.
	SignedIn = "Signed in."
	// NotSignedIn opens the prompt of one that the agent wants again, without saying where, after a person had signed in.
	NotSignedIn = "The agent does not see yet that you have signed in."
)

// Choice is one button of an ask.
type Choice struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
}

// Link is an address an agent wants opened.
type Link struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Answer is what somebody gives to an ask. Exactly one of the fields counts, by the ask's kind.
type Answer struct {
	Text    string
	Data    json.RawMessage // for a form
	Choice  string          // for a choice and a resend ("again", "leave")
	Decline bool
	Parts   []a2a.Part // files beside Text
}
