// Package a2aclient calls remote A2A agents: it sends messages, follows tasks to their end, gets, lists and cancels them.
// Package card, below it, finds the agents.
//
//	Client ── Send, Get, List, Cancel, Find, SetPush, …: one exchange each
//	       ── Stream, Await: follow a task: stream ─cut→ get, subscribe (or poll, or be woken) ─→ … until it ends or needs somebody
//	         │
//	         └─ way: one interface of the agent, the card's next where this one is not served
//	             ├─ dialect: v1.0, v0.3, v0.1: by the card, by what the first message is answered, by what a person says
//	             └─ transport: JSON-RPC, HTTP+JSON, gRPC
//
// What it guarantees:
//
//   - Callers see the meaning of A2A v1.0, whatever the agent speaks. When the card turns out to be wrong about that, the
//     other generations are tried, once each, while the answers show that nothing was carried out; what works is remembered.
//     So are the card's other interfaces (Options.Interfaces) where nobody serves the one in use.
//   - A message is sent once. After a timeout, or when anything may have been carried out, it is never sent again; the
//     error says so in MayHaveRun. Agents of v0.1 are first asked for the task, whose name the client made.
//   - A broken stream is mended by asking for the task and subscribing again, or by looking at it again and again where the
//     agent cannot stream, without loss or duplicates. What could not be had again is reported by a *GapError that ends
//     nothing. A push is a hint to look, never taken at its word.
//   - Events of tasks and contexts other than the one asked for are dropped; a task that has ended stays as it ended.
//   - Every failure is an *Error. A call ended by its own context returns the context's error.
//   - Requests go to the origin of the interface in use and to no other, by the HTTP client given to New. No answer is read beyond
//     its limit, counted after decompression.
package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// Options of New. Only HTTP is required.
type Options struct {
	// HTTP makes every request: the program's way out, with its own rules about where that may lead. Its redirect policy,
	// cookies and total timeout are not used.
	HTTP *http.Client

	Logger *slog.Logger // nil discards
	Tap    wire.Tap     // is told of every exchange
	Peer   string       // the name of this agent in what Tap is told

	// Authorize adds credentials to a request. It is called for each one, and only for the interface's own origin.
	Authorize func(context.Context, *http.Request) error

	// Interfaces are those of the agent in order of preference, as card.Interfaces returns them. Where the one given to New
	// is not served they are tried, which is only ever done when nothing can have been carried out.
	Interfaces []a2a.AgentInterface

	Verdict  *Verdict      // what Learned was told before, for the same card and interface
	Learned  func(Verdict) // is told when the agent proved to speak something, or to be served elsewhere, see Client.Interface: to be kept by the hash of its card
	Override *Override     // what a person says instead of the card; nothing else is then tried

	Extensions []string // URIs of the extensions that the caller understands
	SendAnyway bool     // leave out the checks before sending: required extensions, file types

	// Hook makes a webhook for a task of an agent that reports by push but does not stream; task is "" when the agent is
	// still to name it. The agent is then looked at when woken says so, and otherwise seldom. done ends the webhook; ok
	// false means that there is none, as when no address of ours can be reached from there.
	Hook func(ctx context.Context, task string) (config *a2a.PushConfig, woken <-chan struct{}, done func(), ok bool)

	// Idle is told, at most once per silence, that a stream said nothing for IdleTime. The stream goes on.
	Idle func(task string, silence time.Duration)

	HeaderTime time.Duration // until an answer begins; default 30 s
	SendTime   time.Duration // the same for a message to an agent that does not stream, which may work first; default 5 min
	IdleTime   time.Duration // of silence before Idle is told and the task is asked for in passing; default 60 s
	PollMin    time.Duration // between two looks at a task that moves; default 1 s
	PollMax    time.Duration // between two looks at a task that rests; default 30 s
	Patience   time.Duration // how long a broken connection is tried again before it is an error; default 60 s
}

// Client calls one agent. It is safe for concurrent use.
type Client struct {
	card       *a2a.AgentCard
	o          Options
	log        *slog.Logger
	extensions []string // as a header tells those that both sides know; nil for none
	active     atomic.Pointer[[]string]

	ways []*way // in order of preference
	use  atomic.Pointer[way]

	noPush atomic.Bool // the agent said that it cannot push

	extendedMu sync.Mutex
	extended   *a2a.AgentCard
}

// New returns a client of the agent behind iface, an interface of c with an absolute URL.
func New(c *a2a.AgentCard, iface a2a.AgentInterface, o *Options) (*Client, error) {
	if o == nil || o.HTTP == nil {
		return nil, errors.New("a2aclient: no HTTP client was given")
	}
	if c == nil {
		c = &a2a.AgentCard{}
	}
	cl := &Client{card: c, o: *o, log: o.Logger}
	if cl.log == nil {
		cl.log = slog.New(slog.DiscardHandler)
	}
	if active := cl.shared(); active != "" {
		cl.extensions = []string{active}
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cl.o.HeaderTime, 30*time.Second)
	def(&cl.o.SendTime, 5*time.Minute)
	def(&cl.o.IdleTime, time.Minute)
	def(&cl.o.PollMin, time.Second)
	def(&cl.o.PollMax, 30*time.Second)
	def(&cl.o.Patience, time.Minute)
	if err := cl.setWays(iface); err != nil {
		return nil, err
	}
	return cl, nil
}

// Close gives back the connections that the client itself holds. Calls under way may fail.
func (c *Client) Close() {
	for _, w := range c.ways {
		w.transport.close()
	}
}

// shared lists the extensions that both the card and the caller know, as a header has them.
func (c *Client) shared() string {
	var out []string
	for _, uri := range c.o.Extensions {
		for _, x := range c.card.Capabilities.Extensions {
			if x.URI == uri {
				out = append(out, uri)
			}
		}
	}
	return strings.Join(out, ", ")
}

// Streams reports whether the agent is thought to stream.
func (c *Client) Streams() bool {
	return c.card.Capabilities.Streaming && !c.use.Load().noStream.Load()
}

// Activated lists the extensions that the agent said it used for its last answer, of those that were asked for.
func (c *Client) Activated() []string {
	if p := c.active.Load(); p != nil {
		return *p
	}
	return nil
}

// activated reads a header of either name.
func (c *Client) activated(h http.Header) {
	var out []string
	for _, name := range []string{"A2A-Extensions", "X-A2A-Extensions"} {
		for _, line := range h.Values(name) {
			for uri := range strings.SplitSeq(line, ",") {
				if uri = strings.TrimSpace(uri); slices.Contains(c.o.Extensions, uri) && !slices.Contains(out, uri) {
					out = append(out, uri)
				}
			}
		}
	}
	c.active.Store(&out)
}

func (c *Client) name() string {
	if n, _ := card.Name(c.card.Name, card.MaxName); n != "" {
		return n
	}
	return "The agent"
}

// Send sends a message and returns the one *a2a.Task or *a2a.Message that the agent answers.
func (c *Client) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	if err := c.check(r); err != nil {
		return nil, err
	}
	v, err := c.call(ctx, wire.OpSend, r)
	if err != nil {
		return nil, c.unspoken(err)
	}
	e, ok := v.(a2a.Event)
	if !ok {
		return nil, c.garbage(wire.OpSend, "the answer to a message is neither a task nor a message")
	}
	if t, ok := e.(*a2a.Task); ok && r.Message.TaskID != "" && t.ID != r.Message.TaskID {
		return nil, c.stranger(t.ID, r.Message.TaskID)
	}
	return e, nil
}

// unspoken tells of an agent that does not know the one method every agent has, in either generation, that it speaks
// another language.
func (c *Client) unspoken(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Kind != card.KindUnsupported || c.use.Load().speech.Load().proven() {
		return err
	}
	return &Error{
		Kind: card.KindVersion, Where: card.WhereAgent, Raw: e.Raw, Status: e.Status, Err: err,
		What: fmt.Sprintf("%s does not speak the versions of A2A that Parley does.", c.name()),
		Do:   "Look at the agent's card again: it may offer another address for other versions.",
	}
}

// Get returns a task as it stands.
func (c *Client) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	return c.task(ctx, wire.OpGet, r, r.ID)
}

// Cancel asks the agent to stop a task and returns it as it then stands: it may still be working.
func (c *Client) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	return c.task(ctx, wire.OpCancel, r, r.ID)
}

func (c *Client) task(ctx context.Context, op wire.Op, params any, id string) (*a2a.Task, error) {
	v, err := c.call(ctx, op, params)
	if err != nil {
		return nil, err
	}
	return c.itsTask(op, v, id)
}

// itsTask is what an agent answered, if that is the task asked for.
func (c *Client) itsTask(op wire.Op, v any, id string) (*a2a.Task, error) {
	t, ok := v.(*a2a.Task)
	switch {
	case !ok:
		return nil, c.garbage(op, "the answer is no task")
	case t.ID != id:
		return nil, c.stranger(t.ID, id)
	}
	return t, nil
}

// List returns a page of the tasks that the agent lets us see.
func (c *Client) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	v, err := c.call(ctx, wire.OpList, r)
	if err != nil {
		return nil, err
	}
	p, ok := v.(*a2a.TaskPage)
	if !ok {
		return nil, c.garbage(wire.OpList, "the answer is no list of tasks")
	}
	return p, nil
}

// Find looks for the task that a message started, in the newest tasks of its context (of all contexts when contextID is
// ""). It returns nil when there is none or the agent cannot list tasks.
func (c *Client) Find(ctx context.Context, contextID, messageID string) (*a2a.Task, error) {
	if c.Dialect() == wire.OLD {
		return c.findNamed(ctx, messageID)
	}
	const pages = 5
	history := a2a.Limits.History
	r := &a2a.ListRequest{ContextID: contextID, PageSize: a2a.Limits.PageSize, HistoryLength: &history}
	for range pages {
		p, err := c.List(ctx, r)
		if e := (*Error)(nil); errors.As(err, &e) && e.Kind == card.KindUnsupported {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range p.Tasks {
			t := &p.Tasks[i]
			if contextID != "" && t.ContextID != contextID {
				continue
			}
			for j := range t.History {
				if t.History[j].ID == messageID {
					return c.Get(ctx, &a2a.GetRequest{ID: t.ID}) // a list is without what the task made
				}
			}
		}
		if r.PageToken = p.NextPageToken; r.PageToken == "" {
			break
		}
	}
	return nil, nil
}

// garbage is an answer that is none of those the protocol allows.
func (c *Client) garbage(op wire.Op, what string) *Error {
	return c.answered(op, 0, nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "%s", what))
}

// stranger is an answer about another task than the one asked for.
func (c *Client) stranger(got, want string) *Error {
	c.log.Warn("an agent answered about another task", "agent", c.o.Peer, "asked", want, "got", got)
	e := c.garbage(wire.OpGet, "the answer is about another task")
	e.What = fmt.Sprintf("%s answered about another task than the one asked for.", c.name())
	return e
}
