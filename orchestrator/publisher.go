package orchestrator

import (
	"context"
	"time"
)

// Publisher serves Parley itself as an agent to others.
type Publisher interface {
	// Published says how Parley is served, and who calls it.
	Published(ctx context.Context) (*Published, error)

	// Publish serves it, or stops. While it is not served, nobody reaches it or, through it, another agent.
	Publish(ctx context.Context, on bool) error

	// AskFirst makes the first task of a new caller wait for the person's yes, or not.
	AskFirst(ctx context.Context, on bool) error

	// LetIn says yes or no to a caller who waits. No revokes the caller's token.
	LetIn(ctx context.Context, caller string, yes bool) error

	// Tokens returns all tokens, oldest first, without their hashes.
	Tokens(ctx context.Context) ([]*Token, error)

	// NewToken makes a token with the name, the agents and the leave of t, and returns its secret, which is shown once.
	NewToken(ctx context.Context, t *Token) (Secret, error)

	// RevokeToken ends a token at once. What it started goes on.
	RevokeToken(ctx context.Context, id string) error
}

// The settings that a Publisher stores.
const (
	SettingPublished = "a2a.published" // "off": Parley is not served as an agent
	SettingAskFirst  = "a2a.askFirst"  // "true": a new caller waits for the person's yes
	SettingLetIn     = "a2a.letIn"     // callers who got it, a space between
)

// Published is how Parley is served.
type Published struct {
	On          bool
	AskFirst    bool
	Open        bool   // no token is wanted
	Address     string // that its cards name
	Public      bool   // that is reached from other machines
	GRPC        string // host:port, "" where it is not served so
	Fingerprint string // of the key that its cards are signed with
	Cards       []ServedCard
	Callers     []CallerUse // who called, the last first; those who wait before all
}

// ServedCard is our card as readers of one version get it.
type ServedCard struct {
	Version string // "v1.0"
	Path    string // at which it is read
	Header  string // that a reader sends for it; "" for none
	JSON    []byte
}

// CallerUse is what one caller did.
type CallerUse struct {
	ID      string // the principal
	Name    string
	Tasks   int // at most 500 are counted
	Open    int
	Last    time.Time
	Revoked bool
	Waiting time.Time // since when it waits to be let in; zero: it does not
}
