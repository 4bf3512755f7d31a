// Package check drives an A2A server through the client of somebody else's SDK and says what worked.
//
// The checks are written once, against the small Client interface; each SDK edition has an adapter of its own, in a
// program of its own, because two editions cannot live in one binary.
package check

import (
	"context"
	"errors"
	"iter"
)

// Client is what an SDK's client can do, in words that all editions share. States are lower-case words with hyphens,
// as in v0.3.
type Client interface {
	Card(ctx context.Context) (Card, error)
	Send(ctx context.Context, m Message) (*Reply, error)
	Stream(ctx context.Context, m Message) iter.Seq2[*Event, error]
	Subscribe(ctx context.Context, task string) iter.Seq2[*Event, error]
	Get(ctx context.Context, task string) (*Reply, error)
	Cancel(ctx context.Context, task string) (*Reply, error)

	// List returns the ids of one page of tasks, and the token of the next page; ErrNotInThisVersion where the
	// protocol version has no such method.
	List(ctx context.Context, context string, size int, token string) (tasks []string, next string, err error)

	// Push asks for webhooks about a task.
	Push(ctx context.Context, task, url string) error

	// Kind names the protocol error that err is, in words: task-not-found, task-not-cancelable, push-not-supported,
	// unsupported-operation, invalid-params, invalid-request, unauthenticated; "" for any other.
	Kind(err error) string
}

// ErrNotInThisVersion says that a version of the protocol has no such method.
var ErrNotInThisVersion = errors.New("not in this version of the protocol")

// Dial reads the card at url and connects to the agent with a bearer token ("" = none).
type Dial func(ctx context.Context, url, token string) (Client, error)

// Card is the part of a card that is checked.
type Card struct {
	Name      string
	Skills    int
	Streaming bool
}

// Message is what the person says.
type Message struct {
	Text      string
	More      []Part
	TaskID    string
	ContextID string
	NoWait    bool // answer at once, do not wait for the end of the task
}

// Part is one part of a message or an artifact. One of Text, Bytes, URL and Data is set.
type Part struct {
	Text      string
	Bytes     []byte
	URL       string
	Data      any
	Name      string
	MediaType string
}

// Reply is what a call answered.
type Reply struct {
	Message   bool // a message; otherwise a task as it stands
	TaskID    string
	ContextID string
	State     string
	Parts     []Part // of the message; or of all artifacts, without any of the message that completes the task
}

// Event is one event of a stream.
type Event struct {
	Kind      string // message, task, status, artifact
	TaskID    string
	ContextID string
	State     string
	Artifact  string // its id
	Append    bool
	Parts     []Part // of the message or the artifact; of a status only when it completes the task
}

// Text joins the texts of parts.
func Text(parts []Part) string {
	var s string
	for _, p := range parts {
		s += p.Text
	}
	return s
}
