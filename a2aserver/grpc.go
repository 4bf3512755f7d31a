package a2aserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
)

// GRPCOptions are the choices of a GRPC; the zero value serves anonymous callers.
type GRPCOptions struct {
	// Authenticate returns who is calling, by the metadata of the call; leave, if not nil, is called when the call is over.
	// Errors are as those of HandlerOptions.Authenticate. nil = everybody is the principal "".
	Authenticate func(context.Context, metadata.MD) (principal string, leave func(), err error)

	// Agent returns the handler of the agent that a tenant of v1.0 names, nil when there is none for this caller. nil = the
	// handler answers for its own tenants alone.
	Agent func(ctx context.Context, principal, tenant string) *Handler

	TLS       *tls.Config   // nil = plain text, or TLS by the listener
	KeepAlive time.Duration // a silent connection is asked this often whether it still lives; 0 = 30 seconds
	Idle      time.Duration // a connection without calls ends after this; 0 = a minute
	Logger    *slog.Logger  // nil = discard
}

// GRPC serves agents over gRPC: lf.a2a.v1 (v1.0) and a2a.v1 (v0.3) at one address, beside reflection and the health
// service. What it answers is what the Handlers answer over HTTP, with the same callers, limits and streams.
//
// A caller is known before its message is read. A message is at most a2a.Limits.RequestBody long; what cannot be read in
// it is the caller's fault (INVALID_ARGUMENT). A reader that takes nothing for half a minute loses its stream and delays
// nobody. Only the health check needs no authentication. A connection without calls is not kept: its opener need not be known.
type GRPC struct {
	own      *Handler
	o        GRPCOptions
	server   *grpc.Server
	health   *health.Server
	patience time.Duration
}

// NewGRPC returns a server of own: of all that a2a.v1 is asked for, which has no tenants, and of what lf.a2a.v1 is asked
// for without one that Options.Agent knows. A Handler may be served over HTTP as well.
func NewGRPC(own *Handler, o *GRPCOptions) *GRPC {
	g := &GRPC{own: own, patience: 30 * time.Second}
	if o != nil {
		g.o = *o
	}
	if g.o.Logger == nil {
		g.o.Logger = slog.New(slog.DiscardHandler)
	}
	if g.o.KeepAlive <= 0 {
		g.o.KeepAlive = 30 * time.Second
	}
	if g.o.Idle <= 0 {
		g.o.Idle = time.Minute
	}
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")}),
		grpc.MaxRecvMsgSize(a2a.Limits.RequestBody),
		grpc.MaxHeaderListSize(uint32(a2a.Limits.Header)),
		grpc.MaxConcurrentStreams(uint32(a2a.Limits.ConnectionsPerPrincipal)),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: g.o.KeepAlive, Timeout: 20 * time.Second, MaxConnectionIdle: g.o.Idle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.StreamInterceptor(g.protect),
	}
	if g.o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(g.o.TLS)))
	}
	g.server = grpc.NewServer(options...)
	g.health = health.NewServer()
	healthpb.RegisterHealthServer(g.server, g.health)
	for _, service := range []string{pb.ServiceNEW, pb.ServiceV03} {
		g.server.RegisterService(g.describe(service), g)
		g.health.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
	}
	reflection.Register(g.server)
	return g
}

// describe makes the description of a service. Every method is a stream to grpc-go, which makes no difference on the wire:
// so the caller is known before its message is read, and what that holds is ours to judge.
func (g *GRPC) describe(service string) *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)}
	if d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service)); err == nil {
		desc.Metadata = d.ParentFile().Path()
	}
	for _, m := range pb.Methods() {
		if m.Service == service {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{
				StreamName: m.Name, ServerStreams: true, ClientStreams: true,
				Handler: func(_ any, s grpc.ServerStream) error { return g.serve(&m, s) },
			})
		}
	}
	return desc
}

// Serve answers calls that come in on ln, until Stop. It closes ln.
func (g *GRPC) Serve(ln net.Listener) error {
	if err := g.server.Serve(ln); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Drain says to those who ask for its health that the server is about to stop. What ends open streams is the Drain of the
// Handlers.
func (g *GRPC) Drain() { g.health.Shutdown() }

// Stop takes no more calls, waits for those under way as long as ctx lasts, and breaks off the rest. It may be called
// twice.
func (g *GRPC) Stop(ctx context.Context) error {
	g.Drain()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.server.GracefulStop()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		g.server.Stop()
		<-done
		return ctx.Err()
	}
}

// protect lets nobody look around who may not call.
func (g *GRPC) protect(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if strings.HasPrefix(info.FullMethod, "/grpc.") {
		_, leave, err := g.authenticate(s.Context())
		if err != nil {
			return pb.Status(wire.NEW, err, wire.Mapping101).Err()
		}
		defer leave()
	}
	return next(srv, s)
}

// authenticate returns who is calling.
func (g *GRPC) authenticate(ctx context.Context) (principal string, leave func(), err error) {
	leave = func() {}
	if g.o.Authenticate == nil {
		return "", leave, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	principal, left, err := g.o.Authenticate(ctx, md)
	if left != nil {
		leave = left
	}
	if err == nil {
		return principal, leave, nil
	}
	leave()
	if _, ok := errors.AsType[*a2a.Error](err); !ok {
		err = &a2a.Error{Kind: a2a.KindUnauthenticated, Message: a2a.ErrUnauthenticated.Message, Err: err}
	}
	return "", nil, err
}

// encoded is a message that is encoded already, or not decoded yet.
type encoded []byte

// codec passes encoded messages through and leaves all others to the codec of grpc.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if b, ok := v.(*encoded); ok {
		*b = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
