package orchestrator

import (
	"time"

	"parley/a2a"
)

// Agent is a remote A2A agent we know.
type Agent struct {
	ID         string // short, made from the name; used in /agents/{id}. OwnAgent is reserved
	Name       string
	Trust      Trust
	CardURL    string             // where the card came from; "" for a pasted one
	CardJSON   []byte             // as fetched
	Card       *a2a.AgentCard     // as understood
	CardHash   string             // SHA-256 of the canonical card, pinned at approval
	Interface  a2a.AgentInterface // the one we chose, its URL repaired where it had to be
	Dialect    string             // what it was found to speak: "v1.0", "v0.3", "v0.1"
	Known      KnownBy            // how that is known
	Notes      []a2a.Note         // what was repaired or is doubtful, one sentence each
	Hue        int                // of its flag, 0 to 11, stored at approval
	Local      bool               // one of the demo agents of this program
	Idempotent bool               // known to act once on a repeated message id
	Signature  *Signature         // of its card; nil: it has none, and no key is pinned
	Changed    *CardChange        // the card that it serves now, another than the approved one; nil: the same, as far as is known
	Muted      bool               // its asks notify nobody
	Added      time.Time
	Health     AgentHealth
}

// KnownBy says how it is known what an agent speaks.
type KnownBy string

const (
	KnownByCard   KnownBy = ""       // its card says so
	KnownByAnswer KnownBy = "answer" // its card was wrong or silent: it answered so
	KnownByPerson KnownBy = "person" // a person chose, and nothing else is tried
)

// Remarks are the agent's notes without those about its version that its answers, or a person, have settled since.
func (a *Agent) Remarks() []string {
	var out []string
	for _, n := range a.Notes {
		if n.Kind != a2a.NoteVersion || a.Known == KnownByCard {
			out = append(out, n.Text)
		}
	}
	return out
}

// Refusal says why nothing is sent to the agent; nil for one that is approved.
func (a *Agent) Refusal() *Fault {
	switch a.Trust {
	case TrustApproved:
		return nil
	case TrustBlocked:
		return &Fault{Kind: "blocked", Where: WhereUs, What: a.Name + " is blocked, so nothing is sent to it.", Do: "Let it be called again first."}
	}
	return &Fault{
		Kind: "agent-not-approved", Where: WhereUs, What: a.Name + " is not approved, so nothing is sent to it.",
		Do: "Look at its card and approve it first.",
	}
}

// OwnAgent is the id by which Parley's own agent is meant; no remote agent may have it.
const OwnAgent = "agent"

// Auto addresses a conversation to whichever agent the planner finds.
const Auto = "auto"

// Trust says how far a person let an agent in.
type Trust string

const (
	TrustPending  Trust = "pending" // known, not approved: nothing is sent
	TrustApproved Trust = "approved"
	TrustReview   Trust = "review"  // its card changed since approval: nothing is sent until a person looked
	TrustBlocked  Trust = "blocked" // by a person: nothing is sent
	TrustRemoved  Trust = "removed"
)

// AgentHealth is how the last contact went.
type AgentHealth struct {
	Checked time.Time     // the first contact that went so; zero: none yet
	Latency time.Duration // of the last test, to the millisecond; 0: none yet
	Fault   *Fault        // nil: it answered
}

// Grant is leave that a person gave: this agent may be reached at this origin.
type Grant struct {
	AgentID string
	Origin  string // scheme://host:port
	Given   time.Time
}

// Token lets an outside client call us. The secret itself is never stored.
type Token struct {
	ID          string // also the principal's id
	Name        string
	Hash        [32]byte // SHA-256 of the secret
	Agents      []string // agents it may reach besides our own; "*" = all
	ReadOnly    bool     // may get, list and subscribe only
	Credentials bool     // its runs may use stored credentials
	Workflows   bool     // may have workflows carried out: kept ones, and files it sends
	RatePerMin  int      // requests a minute; 0 = no limit
	Created     time.Time
	Used        time.Time
	Revoked     time.Time // zero while valid
}

// LocalPrincipal is the person at this machine.
const LocalPrincipal = "local"
