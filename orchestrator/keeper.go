package orchestrator

import (
	"context"
	"time"

	"parley/a2a"
)

// Keeper looks after the agents that a person let in. What it does the pages and the command line ask for alike.
type Keeper interface {
	// Look returns what is known of an agent besides its row. It asks nobody.
	Look(ctx context.Context, agent string) (*AgentLook, error)

	// Test asks an agent for nothing that costs: its card is read, and a task asked for that it cannot know. What it
	// proves stands in the result; an agent that does not answer is no error. A blocked one is not asked: *Fault.
	Test(ctx context.Context, agent string) (*AgentTest, error)

	// TakeCard approves the card that an agent serves now (Agent.Changed) in place of the one approved before, with
	// exactly the origins that it names. hash is that of the card which the person saw: a *Fault when it is another now.
	TakeCard(ctx context.Context, agent, hash string) error

	// Block makes sure that nothing is sent to an agent, or lets it be called again.
	Block(ctx context.Context, agent string, on bool) error

	// Mute keeps an agent's asks out of notifications, or lets them in again.
	Mute(ctx context.Context, agent string, on bool) error

	// RevokeGrant takes back the leave to reach an agent at an origin. What goes on there ends.
	RevokeGrant(ctx context.Context, agent, origin string) error

	// RemoveCredential forgets one credential of an agent.
	RemoveCredential(ctx context.Context, agent string, c CredentialInfo) error

	// ExtendedCard asks an agent for the card that it shows to those who signed in.
	ExtendedCard(ctx context.Context, agent string) (*a2a.AgentCard, error)
}

// AgentLook is what is known of an agent besides its row, some of it since the program began only.
type AgentLook struct {
	Contact      *Contact         // the last one; nil: none since the program began
	Connections  []Connection     // how it was reached over TLS, by origin
	Credentials  []CredentialInfo // that are kept for it
	Findings     []Finding        // about its card, the worst first
	Test         *AgentTest       // the last one
	Extended     *a2a.AgentCard   // as it was asked for last
	ExtendedJSON []byte           // the same, as v1.0 writes it
}

// Contact is one exchange with an agent.
type Contact struct {
	At     time.Time     `json:"at"`
	Method string        `json:"method"`
	Took   time.Duration `json:"tookNanos"`     // until the answer was there; of a stream, until it ended
	Err    string        `json:"err,omitempty"` // "": it answered
}

// Connection is how an origin was seen over TLS.
type Connection struct {
	Origin  string    `json:"origin"`
	Version string    `json:"version"` // "TLS 1.3"
	Subject string    `json:"subject"` // of the certificate: the common name, or the first of its names
	Issuer  string    `json:"issuer"`
	Names   []string  `json:"names,omitempty"` // the hosts it is for
	Expires time.Time `json:"expires"`
	Seen    time.Time `json:"seen"` // when this certificate was shown first
}

// CredentialInfo names a credential that is kept, without its secret.
type CredentialInfo struct {
	Origin string `json:"origin"`         // the only one it goes to
	Kind   string `json:"kind"`           // "bearer", "basic", "key" or "certificate"
	Name   string `json:"name,omitempty"` // key: of the header, parameter or cookie; basic: of the user; certificate: its subject
}

// AgentTest is what a harmless call proved.
type AgentTest struct {
	At      time.Time     `json:"at"`
	Latency time.Duration `json:"latencyNanos,omitempty"` // of the call; 0: it was not answered
	Steps   []TestStep    `json:"steps"`                  // in the order in which they were done
}

// OK reports whether all that was done went well.
func (t *AgentTest) OK() bool {
	for _, s := range t.Steps {
		if s.Fault != nil {
			return false
		}
	}
	return true
}

// TestStep is one thing that was tried.
type TestStep struct {
	Name   string `json:"name"`             // "Card", "Connection", "Answer", "Sign-in", "Version"
	Detail string `json:"detail,omitempty"` // what it showed, one sentence
	Fault  *Fault `json:"fault,omitempty"`  // nil: it went well
	Left   bool   `json:"left,omitempty"`   // it was not tried; Detail says why
}

// Finding is a remark on a card, by the rules of its version.
type Finding struct {
	Level FindingLevel `json:"level"`
	Path  string       `json:"path"` // in the card, as a JSON path: "$.skills[2].id"
	What  string       `json:"what"` // one sentence
	Rule  string       `json:"rule"` // where it stands: "A2A v1.0, 4.4.5"
}

// FindingLevel says how much a finding weighs.
type FindingLevel string

const (
	FindingError   FindingLevel = "error"   // against a MUST, or a required member
	FindingWarning FindingLevel = "warning" // against a SHOULD, or sure to mislead
	FindingNote    FindingLevel = "note"    // worth knowing
)

// CardChange is the card that an agent serves in place of the one that was approved.
type CardChange struct {
	JSON      []byte
	Card      *a2a.AgentCard
	Hash      string
	Interface a2a.AgentInterface // the one that would be used
	Origins   []string           // that approving it grants
	Notes     []a2a.Note
	Signature *Signature
	Grave     bool      // where, how or as whom the agent is called changed, or what it says it can do: nothing is sent until a person looked
	Seen      time.Time // first
}
