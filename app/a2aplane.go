package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
	"parley/app/guard"
	"parley/orchestrator"
)

// a2aPlane is what outside A2A clients reach: our own agent at the root, and every approved agent at /agents/{id}.
//
// The own card may be read by anybody; everything else wants a bearer token. An agent that is unknown, not approved, or
// not for this caller's token is the same 404 to it.
type a2aPlane struct {
	app     *App
	base    string // our origin, as our cards name it, with a trailing slash
	grpc    string // host:port of the same over gRPC, "" where that is not served
	own     *a2aserver.Handler
	auth    http.Handler // own and gateway, behind the token check
	callers *guard.Keys
	files   *files

	mu      sync.Mutex
	gateway map[string]*gateway // by agent id
	drained bool
}

// gateway serves one remote agent.
type gateway struct {
	*a2aserver.Handler
	agent *orchestrator.Agent // that card was made of
	card  *a2a.AgentCard
}

// anonymous is the caller where no token is wanted.
const anonymous = "anonymous"

func newA2APlane(a *App, base, grpc string) (*a2aPlane, error) {
	p := &a2aPlane{app: a, base: base, grpc: grpc, gateway: map[string]*gateway{}}
	var err error
	reach := func(ctx context.Context, principal, agent string) bool {
		return a.forCaller(ctx, principal, agent) != nil
	}
	if p.files, err = newFiles(a.data, base, a.egress, a.grants, reach); err != nil {
		return nil, err
	}
	card := ownCard(base, grpc, a.cfg.Version, !a.cfg.OpenA2A)
	a.keys.sign(card, base)
	extended := func(ctx context.Context, principal string, agents []*orchestrator.Agent) *a2a.AgentCard {
		card := extendedCard(card, a.offered(ctx, principal), agents)
		a.keys.sign(card, base)
		return card
	}
	public := func(context.Context, *http.Request) *a2a.AgentCard { return card }
	if a.cfg.OpenA2A { // nobody has a token, so nobody asks for more
		public = func(ctx context.Context, _ *http.Request) *a2a.AgentCard { return extended(ctx, anonymous, nil) }
	}
	p.own = p.handler(public, &a2aserver.HandlerOptions{
		ExtendedCard: func(ctx context.Context, principal string) *a2a.AgentCard {
			return extended(ctx, principal, a.agentsFor(ctx, principal))
		},
	})
	p.callers = guard.NewKeys(a.tokens.lookup, &guard.BearerOptions{
		Public: func(r *http.Request) bool { return isCard(r.URL.Path) || r.URL.Path == jwksPath }, Requests: a2a.Limits.ConnectionsPerPrincipal,
		Random: func(principal string) bool { return principal != envPrincipal }, // whose token somebody chose
		Refuse: refuseCall, Logger: a.log,
	})
	inner := http.HandlerFunc(p.route)
	if p.auth = p.callers.Bearer(inner); a.cfg.OpenA2A {
		p.auth = guard.NoBrowser(inner)
	}
	return p, nil
}

func isCard(path string) bool {
	return path == "/.well-known/agent-card.json" || path == "/.well-known/agent.json"
}

func (p *a2aPlane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, hooksPath) { // what agents report has tokens of its own
		p.app.hooks.receiver.ServeHTTP(w, r)
		return
	}
	if p.app.publisher.off.Load() && r.URL.Path != jwksPath && !strings.HasPrefix(r.URL.Path, "/files/") {
		refuseCall(w, r, http.StatusNotFound, "This agent is not published.")
		return
	}
	if t := orchestrator.ReadTrace(r.Header.Get("Traceparent")); t != "" {
		r = r.WithContext(orchestrator.WithTrace(r.Context(), t))
	}
	p.auth.ServeHTTP(w, r)
}

// refuseCall turns a request away in the form that A2A clients of its binding read: a reply to a call that nobody could
// identify.
func refuseCall(w http.ResponseWriter, r *http.Request, status int, sentence string) {
	e := &a2a.Error{Kind: a2a.KindInvalidRequest, Message: sentence}
	switch status {
	case http.StatusUnauthorized:
		e.Kind = a2a.KindUnauthenticated
	case http.StatusRequestEntityTooLarge:
		e.Kind = a2a.KindTooLarge
	case http.StatusTooManyRequests:
		e.Kind = a2a.KindRateLimited
	case http.StatusServiceUnavailable:
		e.Kind = a2a.KindUnavailable
	case http.StatusNotFound:
		e.Kind = a2a.KindMethodNotFound
	}
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/agents/"); ok {
		path = "/" + rest // as a tenant is named
	}
	call, _ := wire.DecodeREST(r.Method, path, nil, nil)
	if call.Op == 0 { // nothing that HTTP+JSON has
		call = &wire.Call{Dialect: wire.MID}
		if strings.HasPrefix(r.Header.Get("A2A-Version"), "1") {
			call.Dialect = wire.NEW
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendCallError(nil, call, e, wire.Mapping101))
}

// handler serves an agent's tasks under what the callers' tokens allow. o says which agent, and what is particular to it.
func (p *a2aPlane) handler(card func(context.Context, *http.Request) *a2a.AgentCard, o *a2aserver.HandlerOptions) *a2aserver.Handler {
	o.Logger = p.app.log
	o.Challenge = `Bearer realm="parley"`
	o.Rate = func(principal string) *rate.Limiter { return p.app.tokens.limiter(principal) }
	o.Authenticate = p.principal
	o.Tap = p.app.record
	o.ErrorMapping = p.app.store.errorMapping
	o.Push = allowedPush{p.app.push.For(pushScope(o.Agent)), p.app.tokens.readOnly}
	return a2aserver.NewHandler(p.tasks(o.Agent), card, o)
}

// principal is who the token check found.
func (p *a2aPlane) principal(r *http.Request) (string, error) {
	if p.app.cfg.OpenA2A {
		return anonymous, nil
	}
	if who := guard.Principal(r.Context()); who != "" {
		return who, nil
	}
	return "", a2a.ErrUnauthenticated
}

func (p *a2aPlane) route(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/agents/")
	if !ok {
		if strings.HasPrefix(r.URL.Path, "/files/") {
			who, _ := p.principal(r) // checked before
			p.files.serve(w, r, who)
			return
		}
		if r.URL.Path == jwksPath {
			p.app.keys.ServeHTTP(w, r)
			return
		}
		serveUnder(p.own, "", w, r)
		return
	}
	id, _, _ := strings.Cut(rest, "/")
	h := p.agent(r.Context(), guard.Principal(r.Context()), id)
	if h == nil {
		refuseCall(w, r, http.StatusNotFound, "There is no agent at this address.")
		return
	}
	serveUnder(h, "/agents/"+id, w, r)
}

// serveUnder serves a handler mounted at prefix; its endpoint answers at /, at nothing, and at /rpc, with a slash or without.
func serveUnder(h http.Handler, prefix string, w http.ResponseWriter, r *http.Request) {
	path, raw := strings.TrimPrefix(r.URL.Path, prefix), strings.TrimPrefix(r.URL.RawPath, prefix)
	if path == "" || path == "/rpc" || path == "/rpc/" { // some clients end every address in a slash
		path, raw = "/", ""
	}
	if path != r.URL.Path {
		r2 := *r
		u := *r.URL
		u.Path, u.RawPath = path, raw
		r2.URL = &u
		r = &r2
	}
	h.ServeHTTP(w, r)
}

// forCaller returns the agent of that id, nil when there is none for this caller.
func (a *App) forCaller(ctx context.Context, principal, id string) *orchestrator.Agent {
	g, err := a.remote(ctx, id)
	if err != nil {
		var f *orchestrator.Fault
		if !errors.As(err, &f) {
			a.log.ErrorContext(ctx, "an agent could not be read", "agent", id, "err", err)
		}
		return nil
	}
	if a.cfg.OpenA2A && !g.Local || !a.cfg.OpenA2A && !a.tokens.mayReach(principal, id) {
		return nil
	}
	return g
}

// agentsFor returns the agents that a caller may reach, by name.
func (a *App) agentsFor(ctx context.Context, principal string) []*orchestrator.Agent {
	all, err := a.store.ListAgents(ctx)
	if err != nil {
		a.log.ErrorContext(ctx, "the agents could not be read", "err", err)
		return nil
	}
	return slices.DeleteFunc(all, func(g *orchestrator.Agent) bool { return a.forCaller(ctx, principal, g.ID) == nil })
}

// agent returns the gateway of an agent, nil when there is none for this caller.
func (p *a2aPlane) agent(ctx context.Context, principal, id string) *a2aserver.Handler {
	g := p.app.forCaller(ctx, principal, id)
	if g == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.gateway[id]
	if k != nil && k.agent == g {
		return k.Handler
	}
	card := gatewayCard(g.Card, p.base+"agents/"+id+"/", p.grpc, id, !p.app.cfg.OpenA2A)
	p.app.keys.sign(card, p.base)
	if k != nil {
		k.agent, k.card = g, card
		return k.Handler
	}
	k = &gateway{agent: g, card: card}
	k.Handler = p.handler(func(context.Context, *http.Request) *a2a.AgentCard {
		p.mu.Lock()
		defer p.mu.Unlock()
		return k.card
	}, &a2aserver.HandlerOptions{
		Agent:         id,
		CardNeedsAuth: !p.app.cfg.OpenA2A,
		Tenant:        func(_ context.Context, _, tenant string) bool { return tenant == id },
	})
	if p.drained {
		k.Drain()
	}
	p.gateway[id] = k
	return k.Handler
}

// drain ends the open streams, each at a place its client can go on from.
func (p *a2aPlane) drain() {
	p.own.Drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drained = true
	for _, h := range p.gateway {
		h.Drain()
	}
}
