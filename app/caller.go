package app

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/orchestrator"
)

// caller is the orchestrator's way to agents: a client for each, over egress, with the credentials it may use.
type caller struct {
	egress *egress.Egress
	creds  *credentials
	tap    wire.Tap
	log    *slog.Logger

	hooks    *hooks // nil = agents cannot reach us
	reported func(run string, x *wire.Exchange)

	// learned is told when an agent proved to speak something, or to be served at another of its interfaces. It must not
	// block.
	learned func(g *orchestrator.Agent, k *a2aclient.Client, v a2aclient.Verdict)

	// heard is told how a call to an agent went, where that differs from how the last one did: nil, it answered. It must
	// not block.
	heard func(g *orchestrator.Agent, f *orchestrator.Fault)

	mu      sync.Mutex
	clients map[string]*agentClient // by agent id
}

// agentClient is a client and what it was made from.
type agentClient struct {
	*a2aclient.Client
	iface  a2a.AgentInterface
	hash   string
	chosen bool // by a person, not by the card
}

func newCaller(e *egress.Egress, creds *credentials, tap wire.Tap, log *slog.Logger) *caller {
	return &caller{egress: e, creds: creds, tap: tap, log: log, clients: map[string]*agentClient{}}
}

// headerTime is above what a2aclient itself waits for any answer to begin.
const headerTime = 10 * time.Minute

// client returns the client of an agent, made anew when the agent's card or address changed.
func (c *caller) client(g *orchestrator.Agent) (*a2aclient.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	chosen := g.Known == orchestrator.KnownByPerson
	old := c.clients[g.ID]
	if old != nil && old.iface == g.Interface && old.hash == g.CardHash && old.chosen == chosen {
		return old.Client, nil
	}
	id := g.ID
	verdict, override := speech(g)
	var all []a2a.AgentInterface
	if g.Card != nil && !chosen {
		all = card.Interfaces(g.Card, g.CardURL)
	}
	var k *a2aclient.Client
	var err error
	k, err = a2aclient.New(g.Card, g.Interface, &a2aclient.Options{
		HTTP: c.egress.Client(egress.Policy{
			Agent: id, HeaderTime: headerTime,
			Credentials: func(ctx context.Context) ([]egress.Bound, error) { return c.creds.of(ctx, id) },
			Trace:       func(ctx context.Context) string { return orchestrator.OriginOf(ctx).Trace.Parent() },
		}),
		Logger: c.log, Tap: c.tap, Peer: id, Interfaces: all, Verdict: verdict, Override: override, Hook: c.hook(g),
		Learned: func(v a2aclient.Verdict) {
			if c.learned != nil {
				c.learned(g, k, v)
			}
		},
	})
	if e := (*card.Error)(nil); err != nil && !errors.As(err, &e) {
		return nil, &toldError{cause: err, fault: &orchestrator.Fault{
			Kind: "interface", Where: orchestrator.WhereUs, What: "The address of " + g.Name + " cannot be used. Nothing was sent.",
			Do: "Connect it again.", Raw: err.Error(),
		}}
	}
	if err != nil {
		return nil, told(err)
	}
	if old != nil {
		old.Close()
	}
	c.clients[g.ID] = &agentClient{Client: k, iface: g.Interface, hash: g.CardHash, chosen: chosen}
	return k, nil
}

// speech is what is known of an agent beyond its card: what it was found to speak, or what a person says that it does.
func speech(g *orchestrator.Agent) (*a2aclient.Verdict, *a2aclient.Override) {
	switch g.Known {
	case orchestrator.KnownByPerson:
		if d, ok := card.Speaks(g.Interface.Version, g.Interface.Binding); ok {
			return nil, &a2aclient.Override{Dialect: &d}
		}
	case orchestrator.KnownByAnswer:
		var v a2aclient.Verdict
		text := g.Dialect + " " + cmp.Or(g.Interface.Binding, a2a.BindingJSONRPC) + " " + string(a2aclient.ByRecord)
		if v.UnmarshalText([]byte(text)) == nil {
			return &v, nil
		}
	}
	return nil, nil
}

// at is an agent at the interface at which it is called now.
func at(g *orchestrator.Agent, k *a2aclient.Client) *orchestrator.Agent {
	in := k.Interface()
	if in == g.Interface {
		return g
	}
	moved := *g
	moved.Interface = in
	return &moved
}

// probe asks an agent for a task that it cannot know, at the interface that its card prefers first, and returns the client
// that did.
func (c *caller) probe(ctx context.Context, g *orchestrator.Agent) (*a2aclient.Client, error) {
	k, err := c.client(g)
	if err != nil {
		return nil, err
	}
	err = k.Probe(ctx)
	return k, c.went(at(g, k), err)
}

// forget ends the connections of an agent.
func (c *caller) forget(agent string) {
	c.mu.Lock()
	old := c.clients[agent]
	delete(c.clients, agent)
	c.mu.Unlock()
	if old != nil {
		old.Close()
	}
	c.egress.Forget(agent)
}

func (c *caller) Send(ctx context.Context, g *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		k, err := c.client(g)
		if err != nil {
			yield(nil, err)
			return
		}
		c.relay(g, k, k.Stream(ctx, r), yield)
	}
}

func (c *caller) Await(ctx context.Context, g *orchestrator.Agent, task string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		k, err := c.client(g)
		if err != nil {
			yield(nil, err)
			return
		}
		c.relay(g, k, k.Await(ctx, task), yield)
	}
}

// relay passes events on, and errors in the orchestrator's terms.
func (c *caller) relay(g *orchestrator.Agent, k *a2aclient.Client, events iter.Seq2[a2a.Event, error], yield func(a2a.Event, error) bool) {
	answered := false
	for e, err := range events {
		var gap *a2aclient.GapError
		switch {
		case err == nil && answered:
		case errors.As(err, &gap):
			err = &orchestrator.Gap{Reason: gap.Reason}
		default:
			answered = err == nil
			err = c.went(at(g, k), err)
		}
		if !yield(e, err) {
			return
		}
	}
}

func (c *caller) Get(ctx context.Context, g *orchestrator.Agent, r *a2a.GetRequest) (*a2a.Task, error) {
	k, err := c.client(g)
	if err != nil {
		return nil, err
	}
	t, err := k.Get(ctx, r)
	return t, c.went(at(g, k), err)
}

func (c *caller) Cancel(ctx context.Context, g *orchestrator.Agent, r *a2a.CancelRequest) (*a2a.Task, error) {
	k, err := c.client(g)
	if err != nil {
		return nil, err
	}
	t, err := k.Cancel(ctx, r)
	return t, c.went(at(g, k), err)
}

func (c *caller) Find(ctx context.Context, g *orchestrator.Agent, contextID, messageID string) (*a2a.Task, error) {
	k, err := c.client(g)
	if err != nil {
		return nil, err
	}
	t, err := k.Find(ctx, contextID, messageID)
	return t, c.went(at(g, k), err)
}

// List asks an agent for its own list of our tasks.
func (c *caller) List(ctx context.Context, g *orchestrator.Agent, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	k, err := c.client(g)
	if err != nil {
		return nil, err
	}
	p, err := k.List(ctx, r)
	return p, c.went(at(g, k), err)
}

var _ orchestrator.Caller = (*caller)(nil)

// went tells how a call went and returns its error in the orchestrator's terms. An error in the agent's own terms is an
// answer; a call that we ended, or did not make, says nothing of the agent.
func (c *caller) went(g *orchestrator.Agent, err error) error {
	err = told(err)
	var t *toldError
	if g.Known == orchestrator.KnownByPerson && errors.As(err, &t) && t.fault.Kind == string(card.KindVersion) {
		t.fault.Do = "Choose another version on the agent's page, under “Call it differently”."
	}
	if c.heard == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var answer *a2a.Error
	var fault *orchestrator.Fault
	switch {
	case err == nil:
	case !errors.As(err, &t) || t.fault.Where == orchestrator.WhereUs:
		return err
	case t.fault.Where == orchestrator.WhereAgent && errors.As(err, &answer):
	default:
		f := t.fault
		fault = &orchestrator.Fault{Kind: f.Kind, Where: f.Where, What: f.What, Do: f.Do, Raw: f.Raw}
	}
	if g.Health.Checked.IsZero() || !alike(g.Health.Fault, fault) {
		c.heard(g, fault)
	}
	return err
}

// toldError is a failure as a person is told of it, beside its cause.
type toldError struct {
	fault *orchestrator.Fault
	cause error
}

func (e *toldError) Error() string   { return e.fault.What }
func (e *toldError) Unwrap() []error { return []error{e.fault, e.cause} }

// told puts an error of the client into the orchestrator's terms; what the agent answered stays in its chain.
func told(err error) error {
	var e *card.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	f := &orchestrator.Fault{
		Kind: string(e.Kind), Where: orchestrator.Where(e.Where), What: e.What, Do: e.Do, Raw: e.Raw, Retry: e.Retry,
		MayHaveRun: e.MayHaveRun, SignIn: challenges(e.Challenges),
	}
	for _, t := range e.Tried {
		f.Raw = strings.TrimLeft(f.Raw+"\n"+t.URL+": "+t.Result, "\n")
	}
	return &toldError{cause: e.Err, fault: f}
}
