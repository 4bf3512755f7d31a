package a2aserver_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2aserver"
)

// TestGRPCStrangers: nobody without a good token gets an answer of any method but the health check, and none is kept waiting
// for his message.
func TestGRPCStrangers(t *testing.T) {
	t.Parallel()
	var open sync.Map
	s := serveGRPC(t, config{front: func(tasks a2aserver.Tasks) a2aserver.Tasks { return panicky{tasks} }}, &a2aserver.GRPCOptions{Authenticate: tokens(&open)})
	paths := []string{
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/grpc.health.v1.Health/Watch",
	}
	for _, m := range pb.Methods() {
		paths = append(paths, m.Path())
	}
	if len(paths) < 20 {
		t.Fatalf("%d methods", len(paths))
	}
	call := func(ctx context.Context, path string, message []byte) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		c, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path, grpc.ForceCodec(rawCodec{}))
		if err != nil {
			return err
		}
		if message != nil {
			if err := c.SendMsg(message); err != nil && err != io.EOF {
				return err
			}
		}
		return c.RecvMsg(new([]byte)) // its own end is still open
	}
	for _, path := range paths {
		for name, values := range map[string][]string{
			"none": nil, "wrong": {"Bearer wrong"}, "empty": {""}, "a good one without its scheme": {"one"}, "basic": {"Basic one"},
			"of another name": nil,
		} {
			ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization": values})
			if name == "of another name" {
				ctx = metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization-bin": {"Bearer one"}, "x-authorization": {"Bearer one"}, "cookie": {"authorization=Bearer one"}})
			}
			for _, message := range [][]byte{nil, {}, bytes.Repeat([]byte{0xff}, 100)} {
				if err := call(ctx, path, message); grpcstatus.Code(err) != codes.Unauthenticated {
					t.Errorf("%s, %s: %v", path, name, err)
				}
			}
		}
	}
	for _, path := range []string{"/lf.a2a.v1.A2AService/Nothing", "/nothing/SendMessage", "/grpc.channelz.v1.Channelz/GetServers", "//", "/lf.a2a.v1.A2AService/SendMessage/"} {
		if err := call(bearing(t.Context(), "one"), path, nil); grpcstatus.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", path, err)
		}
	}
	open.Range(func(who, _ any) bool { t.Errorf("%v was let in", who); return true })
}

// TestGRPCOddTenants: a tenant is a name and nothing else, and what is none of ours is not there.
func TestGRPCOddTenants(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	s := serveGRPC(t, config{}, &a2aserver.GRPCOptions{Agent: func(_ context.Context, _, tenant string) *a2aserver.Handler {
		mu.Lock()
		defer mu.Unlock()
		asked[tenant] = true
		return nil
	}})
	odd := []string{
		"..", "../own", "a/b", "/", "%2e%2e", "a\x00b", "a\r\nb", " ", "own ", "\u202eown", "öwn", "ow\u0301n", "*", "'; DROP TABLE agents; --", strings.Repeat("x", 1<<20), "v1", "tasks", ".well-known",
	}
	for i, tenant := range odd {
		r := lfText("m", "hello")
		r.Tenant = tenant
		if got, err := s.lf.SendMessage(t.Context(), r); grpcstatus.Code(err) != codes.NotFound && grpcstatus.Code(err) != codes.InvalidArgument {
			t.Errorf("%d, %.20q: %v, %v", i, tenant, got, err)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%.20q comes back: %d bytes", tenant, len(err.Error()))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for tenant := range asked {
		if tenant == "own" {
			t.Error("an odd name became another")
		}
	}
}

// TestGRPCMetadata: what is not ours to read does nothing, and too much of it is refused.
func TestGRPCMetadata(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{}, nil)
	many := metadata.MD{}
	for range 100 {
		many.Append("a2a-extensions", strings.Repeat("urn:x,", 20))
		many.Append("a2a-version", "1.0")
	}
	for name, md := range map[string]metadata.MD{
		"many": many, "odd version": {"a2a-version": {strings.Repeat("9", 5000)}}, "traces": {"traceparent": {"00-zz"}, "grpc-trace-bin": {"\x00\xff"}},
		"timeouts": {"x-grpc-timeout": {"1n"}}, "too large": {"x": {strings.Repeat("x", a2a.Limits.Header)}},
	} {
		ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(t.Context(), md), 10*time.Second)
		r, err := s.lf.SendMessage(ctx, lfText("m-"+name, "do it"))
		cancel()
		switch c := grpcstatus.Code(err); {
		case name == "too large" && c == codes.OK, c == codes.DeadlineExceeded, c == codes.Unknown:
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if _, err := s.lf.SendMessage(t.Context(), lfText("after", "do it")); err != nil {
		t.Errorf("after all of it: %v", err)
	}
}

// TestGRPCIdle: a connection on which nobody calls ends, and one with an open stream does not.
func TestGRPCIdle(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{}, &a2aserver.GRPCOptions{Idle: 300 * time.Millisecond})
	stream, err := s.lf.SendStreamingMessage(t.Context(), lfText("m1", "hold"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.conn.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("it is kept: %v", err)
		}
		_, ended = frame.(*http2.GoAwayFrame)
	}
	// The stream is still there after the others' time: its task ends it.
	if _, err := s.lf.ListTasks(t.Context(), &lf.ListTasksRequest{}); err != nil {
		t.Error(err)
	}
	s.handler.Drain()
	if _, err := all(t, stream, nil); grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("the stream ended with %v", err)
	}
}
