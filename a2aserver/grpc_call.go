package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
)

// rpc is one gRPC call being answered.
type rpc struct {
	asked
	g      *GRPC
	m      *pb.Method
	s      grpc.ServerStream
	record *wire.Exchange // for the tap; nil without one
	slow   *time.Timer    // of a stream: runs while a message waits for its reader
}

// serve answers a call.
func (g *GRPC) serve(m *pb.Method, s grpc.ServerStream) error {
	x := &rpc{g: g, m: m, s: s}
	x.Handler = g.own
	if !m.Streams() {
		return x.serve()
	}
	// The handler returns at once when its reader takes nothing: that, and nothing else, ends a message under way.
	stuck, done := make(chan struct{}), make(chan error, 1)
	x.slow = time.AfterFunc(time.Hour, func() { close(stuck) })
	x.slow.Stop()
	go func() { done <- x.serve() }()
	select {
	case err := <-done:
		return err
	case <-stuck:
		return status.Error(codes.Unavailable, "the stream was not read")
	}
}

// serve answers the call; what it returns is nil or the status.
func (x *rpc) serve() error {
	if err := x.authenticated(x.s.Context()); err != nil {
		return x.status(err)
	}
	return nil
}

// authenticated answers the call of whoever may make it.
func (x *rpc) authenticated(ctx context.Context) (err error) {
	defer func() { // as over HTTP, what goes wrong in one call ends that call only
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	principal, leave, err := x.g.authenticate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	x.principal = principal
	return x.take(ctx)
}

// take reads the call's message and answers it.
func (x *rpc) take(ctx context.Context) (err error) {
	if err := x.limit(x.principal); err != nil {
		return err
	}
	if x.feeds.draining() {
		return closingError()
	}
	var body encoded
	if err := x.s.RecvMsg(&body); err != nil {
		if errors.Is(err, io.EOF) {
			return a2a.Errorf(a2a.KindInvalidParams, "the call holds no message")
		}
		return err
	}
	request := x.m.NewRequest()
	malformed := proto.Unmarshal(body, request)
	x.begin(ctx, request)
	defer func() { x.tell(ctx, err) }()
	if x.call, err = pb.DecodeCall(x.m, request); malformed != nil {
		return &a2a.Error{Kind: a2a.KindInvalidParams, Message: "the message cannot be read", Err: malformed}
	}
	if err != nil {
		return err
	}
	if err := x.address(ctx); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md["a2a-version"]; len(v) > 0 {
		x.version = strings.TrimSpace(v[0])
	}
	x.extensions = append(md["a2a-extensions"], md["x-a2a-extensions"]...)
	result, events, err := x.answer(ctx)
	if len(x.active) > 0 {
		name := "a2a-extensions"
		if x.call.Dialect != wire.NEW {
			name = "x-a2a-extensions"
		}
		if err := x.s.SetHeader(metadata.Pairs(name, strings.Join(x.active, ", "))); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case events != nil:
		return x.stream(events)
	}
	return x.reply(result)
}

// address finds the agent that the call's tenant names, where others than our own may be.
func (x *rpc) address(ctx context.Context) error {
	tenant := x.call.Tenant()
	if tenant == "" || x.g.o.Agent == nil {
		return nil
	}
	h := x.g.o.Agent(ctx, x.principal, tenant)
	if h == nil {
		return errNoAgent
	}
	x.Handler = h
	x.call.SetTenant("") // it has said all that it has to say
	return nil
}

func (x *rpc) reply(result any) error {
	msg, err := pb.Reply(x.call, result)
	if err != nil {
		return err
	}
	b, err := proto.Marshal(msg)
	if err != nil {
		return err
	}
	if x.record != nil {
		x.record.Response = pb.JSON(msg)
	}
	return x.s.SendMsg(encoded(b))
}

// stream sends events, each as one message.
func (x *rpc) stream(events iter.Seq2[[]*a2a.Entry, error]) error {
	var last a2a.Event
	for entries, err := range events {
		if err != nil {
			return err
		}
		for _, e := range entries {
			if last, err = e.Event(); err != nil {
				return err
			}
			if err := x.send(e, last); err != nil {
				return err
			}
		}
	}
	if x.feeds.draining() && !isLast(last) { // an end without an error would say that this is all
		return closingError()
	}
	return nil
}

// isLast reports whether a stream may end with e.
func isLast(e a2a.Event) bool {
	if _, ok := e.(*a2a.Message); ok {
		return true
	}
	s := a2a.EventState(e)
	return s.Terminal() || s.Interrupted()
}

func (x *rpc) send(e *a2a.Entry, event a2a.Event) (err error) {
	var b []byte
	if e.JSON == nil { // not in the log
		b, err = proto.Marshal(pb.Event(x.call.Dialect, event))
	} else {
		b, err = pb.EncodeEntry(x.call.Dialect, e)
	}
	if err != nil {
		return err
	}
	if x.record != nil {
		if x.record.Events[0] == 0 {
			x.record.Events[0] = e.Seq
		}
		x.record.Events[1] = e.Seq
	}
	x.slow.Reset(x.g.patience)
	defer x.slow.Stop()
	return x.s.SendMsg(encoded(b))
}

// status makes the status of a call that failed.
func (x *rpc) status(err error) error {
	if s, ok := status.FromError(err); ok { // of grpc itself
		return s.Err()
	}
	ctx := x.s.Context()
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if err == errNoAgent {
		return status.Error(codes.NotFound, errNoAgent.Message)
	}
	switch a2a.KindOf(err) {
	case a2a.KindUnauthenticated:
		x.s.SetTrailer(metadata.Pairs("www-authenticate", x.o.Challenge))
	case a2a.KindInternal:
		x.o.Logger.Error("call failed", "method", x.m.Path(), "error", err)
	}
	return pb.Status(x.m.Dialect, x.naming(err), x.mapping()).Err()
}

// begin starts the record for the tap.
func (x *rpc) begin(ctx context.Context, request proto.Message) {
	if x.o.Tap == nil {
		return
	}
	authority := ""
	md, _ := metadata.FromIncomingContext(ctx) // a copy
	if len(md[":authority"]) > 0 {
		authority = md[":authority"][0]
	}
	x.record = &wire.Exchange{
		At: time.Now(), Inbound: true, Peer: x.principal, Method: x.m.Name, Dialect: x.m.Dialect,
		URL: "grpc://" + authority + x.m.Path(), Header: md, Request: pb.JSON(request),
	}
}

// tell completes the record and hands it to the tap.
func (x *rpc) tell(ctx context.Context, err error) {
	if x.record == nil {
		return
	}
	x.record.Took = time.Since(x.record.At)
	x.record.TaskID = x.task
	x.record.Status = http.StatusOK
	if err != nil {
		x.record.Err = err.Error()
		if x.record.Status = http.StatusInternalServerError; x.call != nil {
			call := *x.call
			call.REST = true // whose errors have statuses of their own
			x.record.Status = wire.Status(&call, err, x.mapping())
		}
	}
	x.o.Tap(ctx, x.record)
}
