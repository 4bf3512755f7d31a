package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"parley/a2a"
	"parley/a2aserver"
	"parley/app/guard"
)

// DefaultGRPC is the address for A2A clients over gRPC where none is given, or the next free port.
const DefaultGRPC = "127.0.0.1:7422"

// noGRPC in the place of the address means that gRPC is not served.
const noGRPC = "off"

// listenGRPC opens the listener; nil where gRPC is not served.
func (a *App) listenGRPC(ctx context.Context) (net.Listener, error) {
	if a.cfg.GRPC == noGRPC {
		return nil, nil
	}
	ln, err := listen(ctx, a.cfg.GRPC, DefaultGRPC)
	if err != nil {
		return nil, fmt.Errorf("A2A clients cannot be served over gRPC: %w", err)
	}
	return ln, nil
}

// grpcAddress is how cards name a listener: host and port. Behind a proxy, which knows nothing of it, they do not.
func (a *App) grpcAddress(ln net.Listener) string {
	if ln == nil {
		return ""
	}
	host, port, err := net.SplitHostPort(ln.Addr().String())
	if u, wrong := url.Parse(a.cfg.PublicURL); err == nil && wrong == nil && u.Host != "" {
		if loopback(host) {
			return ""
		}
		host = u.Hostname()
	}
	return net.JoinHostPort(host, port)
}

// serveGRPC answers the callers of the A2A plane over gRPC as well: our own agent, and, in v1.0, each other one by its id as
// the tenant.
func (a *App) serveGRPC(ln net.Listener, o *guard.Options) {
	o.Logger = a.log
	g := guard.New(ln.Addr(), o)
	a.grpc = a2aserver.NewGRPC(a.a2a.own, &a2aserver.GRPCOptions{
		Authenticate: func(ctx context.Context, md metadata.MD) (string, func(), error) { return a.a2a.enter(ctx, g, md) },
		Agent:        a.a2a.agent,
		Logger:       a.log,
	})
	go func() {
		if err := a.grpc.Serve(g.Listen(ln)); err != nil {
			a.failed <- fmt.Errorf("a listener failed: %w", err)
		}
	}()
}

// enter is the way in for calls over gRPC: what stands before the handlers over HTTP, by metadata.
func (p *a2aPlane) enter(ctx context.Context, g *guard.Guard, md metadata.MD) (principal string, leave func(), err error) {
	from, _ := peer.FromContext(ctx)
	if from == nil {
		return "", nil, a2a.ErrUnauthenticated
	}
	if host := md[":authority"]; len(host) != 1 || !g.Answers(host[0], from.LocalAddr) {
		return "", nil, a2a.Errorf(a2a.KindForbidden, "This program does not answer to that name.")
	}
	if p.app.publisher.off.Load() {
		return "", nil, a2a.Errorf(a2a.KindUnavailable, "This agent is not published.")
	}
	if p.app.cfg.OpenA2A {
		if len(md["origin"]) > 0 || len(md["sec-fetch-site"]) > 0 {
			return "", nil, a2a.Errorf(a2a.KindForbidden, "Web pages cannot call this.")
		}
		return anonymous, nil, nil
	}
	principal, leave, denied := p.callers.Enter(ctx, g.From(from.Addr.String(), md["x-forwarded-for"]), md["authorization"])
	if denied == nil {
		return principal, leave, nil
	}
	e := &a2a.Error{Kind: a2a.KindUnauthenticated, Message: denied.Sentence, RetryAfter: denied.RetryAfter}
	switch denied.Status {
	case http.StatusTooManyRequests:
		e.Kind = a2a.KindRateLimited
	case http.StatusServiceUnavailable:
		e.Kind = a2a.KindUnavailable
	}
	return "", nil, e
}
