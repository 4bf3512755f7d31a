// Package completions speaks the chat-completions wire format of OpenAI, which most servers of language models offer, on
// other people's machines and on one's own: POST {base}/chat/completions, answered as a stream of events or as one JSON
// object, and GET {base}/models.
//
// What it guarantees:
//
//   - A Reply is whole: a stream that ends before the model said that it is done is an error, whatever it held.
//   - Servers differ, and are met where they are: a parameter that one refuses is left out from then on; tool calls are
//     read with an index or without, their arguments in pieces, whole, or as an object.
//   - Rate limits (with Retry-After) and failures of the server are waited out, a bounded number of times, within a bounded
//     time. Everything else fails at once, as an *Error that says which kind of failure it is.
//   - What a server sends costs bounded memory.
//
// It opens no connection itself, and knows no credential: both are the business of the http.Client that it is given.
package completions

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Options of New. The zero value of a field means the default that its comment gives.
type Options struct {
	Logger   *slog.Logger  // attempts that failed; nil discards
	Attempts int           // of one request: 4
	Time     time.Duration // of one request, with all its attempts and waits: 5 min. A model may have to be loaded first
	Pause    time.Duration // before the second attempt, doubled before each other: 1 s
	Longest  time.Duration // pause; a server that asks for a longer one is not asked again: 30 s

	// Sleep waits; nil is a timer. It returns early, with an error, when ctx is done.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
	o    Options

	mu      sync.Mutex
	refused map[string]bool // parameters that the endpoint does not take
}

// New returns a client of the API at base, an http or https URL that the paths of the API are below.
func New(base string, h *http.Client, o *Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%q is no address of an API: want http(s)://host/v1", base)
	}
	c := &Client{base: strings.TrimRight(base, "/"), http: h, refused: map[string]bool{}}
	if o != nil {
		c.o = *o
	}
	if c.o.Logger == nil {
		c.o.Logger = slog.New(slog.DiscardHandler)
	}
	if c.o.Attempts == 0 {
		c.o.Attempts = 4
	}
	if c.o.Sleep == nil {
		c.o.Sleep = sleep
	}
	for _, d := range []struct {
		at  *time.Duration
		std time.Duration
	}{{&c.o.Time, 5 * time.Minute}, {&c.o.Pause, time.Second}, {&c.o.Longest, 30 * time.Second}} {
		if *d.at == 0 {
			*d.at = d.std
		}
	}
	return c, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Request is what a model is asked.
type Request struct {
	Model    string
	Messages []Message
	Tools    []Tool
	Must     bool // it has to call a tool, where the endpoint can make it
}

// The roles of messages.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool"
)

// Message is one of a conversation with a model.
type Message struct {
	Role    string
	Content string
	Calls   []Call // of an assistant
	CallID  string // of a tool: the call that it answers
}

// Call is a call of a tool.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON, if the model got it right
}

// Tool is something that a model can call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema
}

// Reply is what a model answered.
type Reply struct {
	Model   string // as the endpoint calls the one that answered; may be ""
	Content string
	Calls   []Call
	Length  bool // it was cut off at a number of tokens
	Usage   Usage
}

// Usage is how many tokens a request took; zeros when the endpoint did not say.
type Usage struct {
	Input  int64
	Output int64
}

// The parameters that an endpoint can do without.
const (
	paramUsage       = "stream_options"
	paramTemperature = "temperature"
	paramChoice      = "tool_choice"
)

var optional = []string{paramUsage, paramTemperature, paramChoice}

// body writes a request as JSON, without what the endpoint does not take.
func (c *Client) body(r *Request) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
		Arguments   *string         `json:"arguments,omitempty"`
	}
	type tool struct {
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Calls   []tool `json:"tool_calls,omitempty"`
		CallID  string `json:"tool_call_id,omitempty"`
	}
	out := struct {
		Model       string          `json:"model"`
		Messages    []message       `json:"messages"`
		Tools       []tool          `json:"tools,omitempty"`
		Choice      string          `json:"tool_choice,omitempty"`
		Temperature *int            `json:"temperature,omitempty"`
		Stream      bool            `json:"stream"`
		Options     map[string]bool `json:"stream_options,omitempty"`
	}{Model: r.Model, Stream: true}
	for _, m := range r.Messages {
		to := message{Role: m.Role, Content: m.Content, CallID: m.CallID}
		for _, call := range m.Calls {
			to.Calls = append(to.Calls, tool{ID: call.ID, Type: "function", Function: function{Name: call.Name, Arguments: &call.Arguments}})
		}
		out.Messages = append(out.Messages, to)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Type: "function", Function: function{Name: t.Name, Description: t.Description, Parameters: t.Parameters}})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Must && len(r.Tools) > 0 && !c.refused[paramChoice] {
		out.Choice = "required"
	}
	if !c.refused[paramTemperature] {
		out.Temperature = new(int)
	}
	if !c.refused[paramUsage] {
		out.Options = map[string]bool{"include_usage": true}
	}
	return json.Marshal(out)
}

// refuses remembers the optional parameter that an error speaks of, and reports whether there is one to leave out.
func (c *Client) refuses(e *Error) bool {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ReplaceAll(e.Said, "tool choice", paramChoice)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range optional {
		if !c.refused[p] && strings.Contains(said, p) {
			c.refused[p] = true
			return true
		}
	}
	return false
}

// pause is how long to wait before attempt n, from 2: at most what is allowed, with some chance in it, so that many that
// failed together do not come back together.
func (c *Client) pause(n int) time.Duration {
	d := min(c.o.Pause<<(n-2), c.o.Longest)
	return d/2 + rand.N(d/2+1)
}
