package egress

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Policy says on whose leave a client sends. Each field adds origins; the zero Policy reaches nothing.
type Policy struct {
	Agent  string // an agent: the origins granted to it
	Typed  string // an origin that a person typed just now: any address but the forbidden ones
	Public bool   // any origin on ports 80 and 443 with public addresses: what a card, an agent or a client names

	Content    Content       // what is expected, for the size and the time it may take
	HeaderTime time.Duration // instead of Options.HeaderTime, for an agent that answers only when its work is done

	// Credentials are asked for before each request and attached below the client, so that they are in no request, error
	// or record above it. One whose origin is not the request's, exactly, is left out.
	Credentials func(ctx context.Context) ([]Bound, error)

	// Trace returns the traceparent header of a request (W3C Trace Context); "", or no function: none.
	Trace func(ctx context.Context) string
}

// Content is what a response is expected to hold.
type Content int

const (
	Answer Content = iota // the answer to a call, or a stream of events
	Card                  // an agent card or a key set
	File                  // a file
)

// trip carries out requests under one policy.
type trip struct {
	e          *Egress
	policy     Policy
	limit      Limit
	headerTime time.Duration
	last       atomic.Pointer[known]
	tls        atomic.Pointer[tls.ConnectionState] // of the answer before

	typed    origin
	typedErr error
	typedWay *http.Transport
}

// way returns the transport for an origin and, for an agent's, the context that ends with the agent. Only agents are called
// over gRPC.
func (t *trip) way(ctx context.Context, o origin, grpc bool) (*http.Transport, context.Context, error) {
	if t.policy.Agent != "" {
		a := t.e.agent(t.policy.Agent)
		if a == nil {
			return nil, nil, &Refused{Origin: o.String(), Reason: "the program is shutting down", Advice: "Start it again."}
		}
		if slices.Contains(a.grants(ctx, t.e), o) {
			return a.way(t.e, wayKey{headerTime: t.headerTime, grpc: grpc}), a.alive, nil
		}
	}
	if t.typedErr != nil {
		return nil, nil, t.typedErr
	}
	if t.typedWay != nil && t.typed == o {
		return t.typedWay, nil, nil
	}
	if t.policy.Public {
		return t.e.public, nil, nil
	}
	r := &Refused{Origin: o.String(), Agent: t.policy.Agent}
	switch {
	case t.typedWay != nil:
		r.Reason, r.Advice = "it is not the address that was typed ("+t.typed.String()+")", "Type this address if it is the one that is meant."
	case t.policy.Agent != "":
		r.Reason, r.Advice = "it is not among the origins granted to this agent", "Review the agent and approve this origin to let it be reached."
	default:
		r.Reason, r.Advice = "nobody gave leave to reach it", "Approve this origin for an agent."
	}
	return nil, nil, r
}

// certified returns the transport for an origin that shows a certificate to it. The leave is the one that way found.
func (t *trip) certified(o origin, granted, grpc bool, cert *tls.Certificate) *http.Transport {
	if granted {
		if a := t.e.agent(t.policy.Agent); a != nil {
			return a.way(t.e, wayKey{t.headerTime, grpc, o, cert})
		}
	}
	leave := rule(publicOnly)
	if t.typedWay != nil && t.typed == o {
		leave = t.e.anyBut(t.typed)
	}
	way := t.e.transport(t.headerTime, leave)
	way.TLSClientConfig.Certificates = []tls.Certificate{*cert}
	way.DisableKeepAlives = true // used for a moment; nothing to close afterwards
	return way
}

// grants returns the origins granted to the agent now.
func (a *agent) grants(ctx context.Context, e *Egress) []origin {
	granted := e.o.Grants(ctx, a.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(granted, a.granted) {
		a.granted, a.origins = slices.Clone(granted), nil
		for _, g := range granted {
			// A grant that is not an origin grants nothing.
			if o, err := parseOrigin(g); err == nil {
				a.origins = append(a.origins, o)
			}
		}
	}
	return a.origins
}
