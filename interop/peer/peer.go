// Package peer is what the Go peers and the harness share: the nouns of the line protocol by which the client of
// somebody else's SDK is told what to do, in a program of its own, and says what came of it. It is the standard library
// only, so that it can stand in one binary with any edition of any SDK.
//
// The protocol is a line of JSON each way. A Request names an operation; its answers carry the request's number. A stream
// is answered by any number of lines with an event and ends, as every other operation does, with a line without one.
// Requests are carried out side by side. The program ends with its standard input.
package peer

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
)

// Client is what an SDK's client can do, in words that all editions share. States are lower-case words with hyphens,
// as in v0.3. A method that the SDK or its version of the protocol does not have returns ErrNone.
type Client interface {
	Card(ctx context.Context) (*Card, error)
	Send(ctx context.Context, m *Message) (*Event, error)
	Stream(ctx context.Context, m *Message) iter.Seq2[*Event, error]
	Subscribe(ctx context.Context, task string) iter.Seq2[*Event, error]
	Get(ctx context.Context, task string, history *int) (*Event, error)
	Cancel(ctx context.Context, task string) (*Event, error)

	// List returns the ids of one page of tasks, and the token of the next page.
	List(ctx context.Context, context string, size int, token string) (tasks []string, next string, err error)

	PushSet(ctx context.Context, p *Push) (*Push, error)
	PushGet(ctx context.Context, task, id string) (*Push, error)
	PushList(ctx context.Context, task string) ([]*Push, error)
	PushDelete(ctx context.Context, task, id string) error

	// Extended reads the card for those who signed in.
	Extended(ctx context.Context) (*Card, error)
}

// ErrNone says that this SDK, or its version of the protocol, has no such operation.
var ErrNone = errors.New("not offered by this SDK")

// Failure is a protocol error in words: task-not-found, task-not-cancelable, push-not-supported, unsupported-operation,
// content-type, invalid-params, invalid-request, method-not-found, extended-card-not-configured, extension-required,
// unauthenticated; "" for any other.
type Failure struct{ Kind, Text string }

func (f *Failure) Error() string { return f.Text }

// Dial says which agent to talk to.
type Dial struct {
	URL        string   `json:"url"` // where its card is
	Token      string   `json:"token,omitempty"`
	Binding    string   `json:"binding"` // JSONRPC, HTTP+JSON, GRPC
	Extensions []string `json:"extensions,omitempty"`
}

// Card is the part of a card that is checked.
type Card struct {
	Name      string `json:"name"`
	Skills    int    `json:"skills"`
	Streaming bool   `json:"streaming"`
	Push      bool   `json:"push"`

	// Security is what the card declares of security, as the SDK writes what it has read: an object with the members that
	// a card has for it.
	Security json.RawMessage `json:"security,omitempty"`
}

// Message is what the person says.
type Message struct {
	Text       string          `json:"text"`
	Parts      []Part          `json:"parts,omitempty"` // after the text
	Task       string          `json:"task,omitempty"`
	Context    string          `json:"context,omitempty"`
	NoWait     bool            `json:"noWait,omitempty"` // answer at once, do not wait for the end of the task
	History    *int            `json:"history,omitempty"`
	References []string        `json:"references,omitempty"`
	Accept     []string        `json:"accept,omitempty"` // media types of the answer
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Push       *Push           `json:"push,omitempty"`
}

// Part is one part of a message or an artifact: a text, bytes (base64 on the line), a URL or data. Bytes is nil where
// there are none, Data where there is none.
type Part struct {
	Text      string          `json:"text,omitempty"`
	Bytes     []byte          `json:"bytes,omitempty"`
	URL       string          `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Name      string          `json:"name,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// Event is one event of a stream, or what a call answered.
type Event struct {
	Kind      string     `json:"kind"` // message, task, status, artifact
	Task      string     `json:"task,omitempty"`
	Context   string     `json:"context,omitempty"`
	State     string     `json:"state,omitempty"`
	Said      []Part     `json:"said,omitempty"`      // of a message, or of the message in a status
	Artifacts []Artifact `json:"artifacts,omitempty"` // of a task; the one of an artifact event
	Append    bool       `json:"append,omitempty"`
	Last      bool       `json:"last,omitempty"`
	History   int        `json:"history,omitempty"` // how many messages of it a task holds
}

// Artifact is what a task made.
type Artifact struct {
	ID    string `json:"id"` // the index, in v0.1
	Name  string `json:"name,omitempty"`
	Parts []Part `json:"parts"`
}

// Push asks for webhooks.
type Push struct {
	Task        string `json:"task,omitempty"`
	ID          string `json:"id,omitempty"`
	URL         string `json:"url"`
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// The traits of an agent: what it is like beside obeying.
const (
	Declaring = "declaring" // its card has security declarations of every kind, in v1.0 a tenant, and an extension that it needs
	Polled    = "polled"    // it does not stream
)

// Tenant is whom a declaring agent of v1.0 wants to be asked for.
const Tenant = "acme"

//go:embed security
var security embed.FS

// Security is what a declaring agent declares of security: the members that a card of a version has for it.
func Security(version string) json.RawMessage {
	b, err := security.ReadFile("security/v" + version + ".json")
	if err != nil {
		panic(err)
	}
	return b
}

// Raw is v as JSON.
func Raw(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}

// Text joins the texts of parts.
func Text(parts []Part) string {
	var s string
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// The bindings.
const (
	JSONRPC = "JSONRPC"
	REST    = "HTTP+JSON"
	GRPC    = "GRPC"
)

// Extension is declared by every agent that can, and asked for by every client that can.
const Extension = "urn:parley:interop:extension"

// Codes are the kinds of the error codes that all versions share, for SDKs that show no more than the code.
var Codes = map[string]string{
	"-32001": "task-not-found", "-32002": "task-not-cancelable", "-32003": "push-not-supported",
	"-32004": "unsupported-operation", "-32005": "content-type", "-32007": "extended-card-not-configured",
	"-32600": "invalid-request", "-32601": "method-not-found", "-32602": "invalid-params",
}

// NewID returns a new random id.
func NewID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}
