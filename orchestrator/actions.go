package orchestrator

import (
	"context"
	"time"

	"parley/a2a"
)

// Runner carries runs out: the port that a driver implements (package local on one machine).
type Runner interface {
	// Say takes what the local person says: a new run in a conversation. It returns when the message is stored.
	Say(ctx context.Context, s *Say) (*Run, error)

	// Answer closes an open ask; the same run goes on. An ask that is closed already is a *Fault of kind "ask-closed".
	Answer(ctx context.Context, ask string, a *Answer) error

	// Stop asks the agents of a run to cancel. The run ends when they say so; until then it is stopping.
	Stop(ctx context.Context, run string) error

	// Retry starts a new run in the same conversation with the message of an ended one. Of a run that carries out a step it
	// tries the step again: in its plan while that goes on, whose run it returns, else in a new run of that plan, which has
	// of the ended one what was done and does not need the step. Of a plan that was stopped nothing is taken over.
	Retry(ctx context.Context, run string) (*Run, error)
}

// Say is one message of the local person.
type Say struct {
	ConversationID string // "" = a new conversation
	To             string // an agent id or Auto; "" = as the conversation is addressed
	MessageID      string // made by the page, so that a repeated post is one message; "" = made here
	Text           string
	Files          []a2a.Part
	Data           []byte // a JSON value sent as a data part, when not nil
}

// Registry finds, approves and removes agents.
type Registry interface {
	// Preview reads what a person typed or pasted (host, base URL, card URL, card JSON, a path of a file, a list of
	// those) and returns the cards found, nothing stored. Each candidate has its own Fault when it failed. A *Fault of
	// kind "unauthenticated" means that the card itself wants a credential: ask for one and call again.
	Preview(ctx context.Context, input string, c *Credential) ([]*Candidate, error)

	// Approve stores a previewed candidate as an approved agent, grants it exactly the origins of the preview, and
	// keeps the credential for it. Without an id the agent gets one made from its name that nobody has.
	Approve(ctx context.Context, c *Candidate) (*Agent, error)

	// Remove forgets an agent's approval, grants and credential. Its conversations stay.
	Remove(ctx context.Context, agent string) error

	// Speak sets in which version, over which binding and at which address an agent is called, as a person chose it;
	// the address's origin is granted with that. Nothing else is tried then. nil goes by its card again.
	Speak(ctx context.Context, agent string, at *a2a.AgentInterface) error

	// SetCredential stores a credential for an agent (for one exact origin).
	SetCredential(ctx context.Context, agent string, c *Credential) error
}

// Candidate is an agent that was found and not yet approved.
type Candidate struct {
	Input      string
	Agent      *Agent                        // ID is a proposal
	Typed      *a2a.AgentInterface           // the same interface at the address that was typed, when the card names another host
	Elsewhere  bool                          // its card was not found under the path that was typed: it may be another agent
	Origins    []string                      // every origin its card names: what approval grants
	Wants      map[string]a2a.SecurityScheme // the sign-in its card declares
	Credential *Credential                   // what the card was fetched with; kept at approval
	Fault      *Fault                        // set: this one cannot be approved
}

// AsTyped is the candidate called at the address that was typed; c itself when there is no such doubt.
func (c *Candidate) AsTyped() *Candidate {
	if c.Typed == nil {
		return c
	}
	typed, agent := *c, *c.Agent
	agent.Interface, agent.Known = *c.Typed, KnownByPerson
	typed.Agent = &agent
	return &typed
}

// Credential is a secret for one exact origin. It is never logged, stored in the log, or sent anywhere else.
type Credential struct {
	Origin   string         // scheme://host:port it may go to; "" = the origin of the card
	Kind     a2a.SchemeKind // SchemeHTTP, SchemeAPIKey or SchemeMutualTLS: then Secret is the certificate and its key in PEM
	Scheme   string         // http: "Bearer" or "Basic"
	Header   string         // apiKey: the name, chosen by the person
	Location string         // apiKey: header, query or cookie
	User     string         // Basic
	Secret   Secret
}

// Secret is a string that does not print itself.
type Secret string

func (Secret) String() string               { return "[secret]" }
func (Secret) GoString() string             { return "[secret]" }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"[secret]"`), nil }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// Opened is a one-time link into the page.
type Opened struct {
	URL     string
	Expires time.Time
	Shown   bool // instead: a window shows it
}
