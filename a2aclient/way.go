package a2aclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// way is one interface of the agent and what is known of it.
type way struct {
	iface     a2a.AgentInterface
	binding   string
	transport transport
	speech    atomic.Pointer[speech]
	noStream  atomic.Bool           // the agent said that it cannot stream here
	left      atomic.Pointer[Error] // why another was last tried in its place
}

// maxWays is how many interfaces of one card are tried at most.
const maxWays = 8

// setWays makes the ways to the agent: iface is the one in use, and where no person says otherwise the other interfaces are
// what is left. Those that are not spoken or have no address are left out.
func (c *Client) setWays(iface a2a.AgentInterface) error {
	use, err := c.way(c.o.Override.over(iface), c.o.Verdict)
	if err != nil {
		return err
	}
	c.use.Store(use)
	found := false
	if c.o.Override == nil {
		for _, i := range c.o.Interfaces {
			if !found && sameWay(i, use.iface) {
				found = true
				c.ways = append(c.ways, use)
			} else if w, err := c.way(i, nil); err == nil && len(c.ways) < maxWays {
				c.ways = append(c.ways, w)
			}
		}
	}
	if !found {
		c.ways = slices.Insert(c.ways, 0, use)
	}
	if len(c.ways) > maxWays { // the one in use is always among them
		if c.ways = c.ways[:maxWays]; !slices.Contains(c.ways, use) {
			c.ways[maxWays-1] = use
		}
	}
	return nil
}

// sameWay reports whether two interfaces are one way to go, in whatever version.
func sameWay(a, b a2a.AgentInterface) bool {
	return card.Address(&a) == card.Address(&b) && bindingName(a.Binding) == bindingName(b.Binding) && a.Tenant == b.Tenant
}

// way makes the way to an interface, of which v was found before.
func (c *Client) way(i a2a.AgentInterface, v *Verdict) (*way, error) {
	w := &way{iface: i, binding: a2a.BindingJSONRPC}
	if i.Binding != "" {
		w.binding = strings.ToUpper(i.Binding)
	}
	s, err := c.listen(i, v)
	if err != nil {
		return nil, err
	}
	w.speech.Store(s)
	w.transport, err = c.dial(w)
	return w, err
}

// begin sends a request on this way.
func (w *way) begin(ctx context.Context, q *request) (answer, error) {
	q.way, q.params = w, inTenant(q.params, w.iface.Tenant)
	return w.transport.begin(ctx, q)
}

// inTenant is params for an interface's tenant, unless they name another.
func inTenant(params any, tenant string) any {
	if tenant == "" {
		return params
	}
	switch p := params.(type) {
	case *a2a.SendRequest:
		return within(p, tenant, func(p *a2a.SendRequest) *string { return &p.Tenant })
	case *a2a.GetRequest:
		return within(p, tenant, func(p *a2a.GetRequest) *string { return &p.Tenant })
	case *a2a.ListRequest:
		return within(p, tenant, func(p *a2a.ListRequest) *string { return &p.Tenant })
	case *a2a.CancelRequest:
		return within(p, tenant, func(p *a2a.CancelRequest) *string { return &p.Tenant })
	case *a2a.SubscribeRequest:
		return within(p, tenant, func(p *a2a.SubscribeRequest) *string { return &p.Tenant })
	case *a2a.PushConfig:
		return within(p, tenant, func(p *a2a.PushConfig) *string { return &p.Tenant })
	case *a2a.PushGetRequest:
		return within(p, tenant, func(p *a2a.PushGetRequest) *string { return &p.Tenant })
	case *a2a.PushListRequest:
		return within(p, tenant, func(p *a2a.PushListRequest) *string { return &p.Tenant })
	case *a2a.PushDeleteRequest:
		return within(p, tenant, func(p *a2a.PushDeleteRequest) *string { return &p.Tenant })
	case *a2a.ExtendedCardRequest:
		return within(p, tenant, func(p *a2a.ExtendedCardRequest) *string { return &p.Tenant })
	}
	return params
}

func within[T any](p *T, tenant string, of func(*T) *string) *T {
	if *of(p) != "" {
		return p
	}
	out := *p
	*of(&out) = tenant
	return &out
}

// Interface returns the interface in use.
func (c *Client) Interface() a2a.AgentInterface { return c.use.Load().iface }

// Left is an interface that would be preferred to the one in use, and why it is not used.
type Left struct {
	Interface a2a.AgentInterface
	Err       *Error
}

// Left lists the interfaces that come before the one in use and were found, by this client, not to be served.
func (c *Client) Left() []Left {
	var out []Left
	use := c.use.Load()
	for _, w := range c.ways {
		if w == use {
			break
		}
		if err := w.left.Load(); err != nil {
			out = append(out, Left{Interface: w.iface, Err: err})
		}
	}
	return out
}

// aim says what is asked for, which decides what an error proves.
type aim int

const (
	follows aim = iota // it is about a task that there is, or about the agent
	begins             // a message that belongs to no task yet
	probes             // a task that there cannot be
)

// attempt runs f on the way in use and, as long as it is certain that nobody serves it, so that nothing was carried out, on
// the others, once each. An agent that was spoken with is left for a first message only: whoever follows a task is patient
// with it. first says that f sends a message that belongs to no task yet.
func (c *Client) attempt(op wire.Op, first bool, f func(*way, wire.Dialect) error) error {
	w, why := c.use.Load(), follows
	if first {
		why = begins
	}
	err := c.speak(w, op, first, f)
	if err == nil || len(c.ways) == 1 || !first && w.speech.Load().proven() || !w.unserved(op, why, err) {
		return err
	}
	return c.elsewhere(w, op, why, err, f)
}

// Probe asks the agent for a task that it cannot know. That it says so, with an *Error of KindTaskNotFound, proves address,
// sign-in and version at once and costs it nothing. It begins with the interface to be preferred, whichever is in use; the
// first that answers as it should is in use afterwards.
func (c *Client) Probe(ctx context.Context) error {
	id := nameOf("task", "")
	var v any
	f := func(w *way, d wire.Dialect) error {
		x, err := w.begin(ctx, &request{dialect: d, op: wire.OpGet, params: &a2a.GetRequest{ID: id}})
		if err == nil {
			v, err = x.result()
		}
		return err
	}
	w := c.ways[0]
	err := c.speak(w, wire.OpGet, false, f)
	switch {
	case len(c.ways) > 1 && c.passes(w, wire.OpGet, probes, err):
		err = c.elsewhere(w, wire.OpGet, probes, err, f)
	case served(probes, err):
		c.take(w)
	}
	if err == nil {
		_, err = c.itsTask(wire.OpGet, v, id)
	}
	return err
}

// elsewhere runs f on the other ways after w, which err says is not served, until one is, which is used from then on. When
// none is, err counts; so it does where another way only wants a sign-in of its own, and where what is followed may go on
// at w while others know nothing of it. Whoever breaks an encrypted connection does not have what was to go over it sent in the open.
func (c *Client) elsewhere(w *way, op wire.Op, why aim, err error, f func(*way, wire.Dialect) error) error {
	var fault *Error
	errors.As(err, &fault)
	w.left.Store(fault)
	all := *fault
	all.Tried = []card.Try{w.tried(fault)}
	order := c.ways
	if now := c.use.Load(); now != w && why != probes { // another call has found out meanwhile
		order = slices.Concat([]*way{now}, slices.DeleteFunc(slices.Clone(order), func(o *way) bool { return o == now }))
	}
	for _, other := range order {
		if other == w || w.hidden() && !other.hidden() && other != c.use.Load() {
			continue
		}
		again := c.speak(other, op, why == begins, f)
		var e *Error
		switch failed := errors.As(again, &e); {
		case failed && (c.passes(other, op, why, again) || e.Kind == card.KindBlocked || why != probes && wantsSignIn(again)):
			other.left.Store(e)
			all.Tried = append(all.Tried, other.tried(e))
			continue
		case served(why, again):
			c.take(other)
		case failed && (why == follows || e.Kind == card.KindTaskNotFound && !e.MayHaveRun):
			return &all // the task may well be where nobody answers now
		}
		return again
	}
	return &all
}

// passes reports whether err is reason to try the next way. A probe, which asks the agent to do nothing, passes also what
// only may not be served, or wants a sign-in of its own, unless that is in use.
func (c *Client) passes(w *way, op wire.Op, why aim, err error) bool {
	if w.unserved(op, why, err) {
		return true
	}
	var e *Error
	return why == probes && w != c.use.Load() && errors.As(err, &e) && (!served(why, err) || wantsSignIn(err))
}

// hidden reports whether nobody on the net can read what goes this way: it is encrypted, or does not leave this machine.
func (w *way) hidden() bool {
	u, err := url.Parse(card.Address(&w.iface))
	return err == nil && (u.Scheme == "https" || card.Loopback(u.Hostname()))
}

// tried is what came of this way in short.
func (w *way) tried(e *Error) card.Try {
	t := card.Try{URL: w.iface.URL, Status: e.Status, Result: card.Result(e)}
	if _, ok := protocol(e); ok {
		t.Result = "takes no messages of A2A"
	}
	if u, err := url.Parse(card.Address(&w.iface)); err == nil {
		t.URL = card.Show(u)
	}
	return t
}

// take uses a way that was found to be served.
func (c *Client) take(w *way) {
	old := c.use.Load()
	if w == old {
		return
	}
	w.left.Store(nil)
	if c.use.CompareAndSwap(old, w) {
		c.log.Info("an agent is called at another of its interfaces", "agent", c.o.Peer, "binding", w.binding, "url", w.iface.URL, "before", old.iface.URL)
		c.tell()
	}
}

// tell says what the agent was found to speak, and where.
func (c *Client) tell() {
	if c.o.Learned != nil {
		c.o.Learned(c.Speaks())
	}
}

// served reports whether the outcome came from the agent itself. That a task is not known does not prove it where there is
// one.
func served(why aim, err error) bool {
	if err == nil {
		return true
	}
	if ae, ok := protocol(err); ok {
		return why != follows || ae.Kind != a2a.KindTaskNotFound
	}
	return wantsSignIn(err)
}

func wantsSignIn(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// unserved reports whether err says for certain that nobody serves the agent on this way, in none of the dialects: that no
// connection came about, that there is nothing at the address, or that what is there does not know how messages are sent.
func (w *way) unserved(op wire.Op, why aim, err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.MayHaveRun || e.Kind == card.KindBlocked {
		return false
	}
	if e.Status == 0 && e.Where != card.WhereSignIn && card.Unsent(e.Err) {
		return true
	}
	if why == follows || op == wire.OpStream {
		return false // it may be this alone that is not there; a message is sent without a stream next
	}
	ae, ok := protocol(err)
	if !ok {
		switch e.Status {
		case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return why == begins || w.binding != a2a.BindingREST // where each task has an address of its own
		}
		return false
	}
	if ae.Final() {
		return false
	}
	switch ae.Kind {
	case a2a.KindVersionNotSupported:
		return true
	case a2a.KindMethodNotFound:
		return why == begins || w.binding == a2a.BindingGRPC
	case a2a.KindUnsupportedOperation:
		return why == begins
	case a2a.KindTaskNotFound:
		return why == begins && w.binding != a2a.BindingJSONRPC
	}
	return false
}
