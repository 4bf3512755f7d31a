package a2aserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
	"parley/a2aserver"
)

func TestGRPCSizes(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{}, nil)
	// With a file of this length the message is exactly at the limit.
	at := func(n int) *lf.SendMessageRequest {
		r := lfText("m", "hello")
		r.Message.Parts = append(r.Message.Parts, &lf.Part{Content: &lf.Part_Raw{Raw: make([]byte, n)}, MediaType: "text/plain"})
		return r
	}
	n := a2a.Limits.RequestBody
	n -= proto.Size(at(n)) - n
	if got := proto.Size(at(n)); got != a2a.Limits.RequestBody {
		t.Fatalf("the message has %d bytes", got)
	}
	for d, want := range map[int]codes.Code{-1: codes.InvalidArgument, 0: codes.InvalidArgument, 1: codes.ResourceExhausted} {
		_, err := s.lf.SendMessage(t.Context(), at(n+d)) // the file itself is over its own limit
		if grpcstatus.Code(err) != want {
			t.Errorf("%+d: %v", d, err)
		}
	}
	for d, want := range map[int]codes.Code{0: codes.OK, 1: codes.InvalidArgument} {
		r := at(a2a.Limits.InlineFile + d)
		r.Message.MessageId = fmt.Sprint("file", d)
		if _, err := s.lf.SendMessage(t.Context(), r); grpcstatus.Code(err) != want {
			t.Errorf("a file of %+d: %v", d, err)
		}
	}
}

// TestGRPCDrain: streams end with a status that says to come back, health says what is going on, and nothing new begins.
func TestGRPCDrain(t *testing.T) {
	t.Parallel()
	s, ctx := serveGRPC(t, config{}, nil), t.Context()
	stream, err := s.lf.SendStreamingMessage(ctx, lfText("m1", "hold"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.GetTask() == nil {
		t.Fatalf("%v, %v", first, err)
	}
	s.handler.Drain()
	s.grpc.Drain()
	_, err = all(t, stream, nil)
	refused(t, err, codes.Unavailable, a2a.KindUnavailable)
	_, err = s.lf.SendMessage(ctx, lfText("m2", "do it"))
	refused(t, err, codes.Unavailable, a2a.KindUnavailable)
	if h, err := healthpb.NewHealthClient(s.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: pb.ServiceV03}); err != nil || h.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	if err := s.grpc.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func TestGRPCDeadline(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.lf.SendMessage(ctx, lfText("m1", "hold"))
	if grpcstatus.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that takes too long: %v", err)
	}
}

// TestGRPCSlowReader: a client that reads nothing loses its stream, and another one of the same task misses nothing.
func TestGRPCSlowReader(t *testing.T) {
	t.Parallel()
	const chunks = 40_000
	exec := execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for range chunks {
			if !yield(chunk("0123456789")) {
				return nil
			}
		}
		return nil
	})
	s := serveGRPC(t, config{exec: exec}, nil)
	a2aserver.SetGRPCPatience(s.grpc, 100*time.Millisecond)
	slow, err := s.lf.SendStreamingMessage(t.Context(), lfText("m1", "go"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := slow.Recv()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.lf.SendMessage(t.Context(), lfText("m1", "go")) // the same: waits for its end
	if err != nil || len(r.GetTask().GetArtifacts()[0].GetParts()) != chunks {
		t.Fatalf("the other reader: %v, %d parts", err, len(r.GetTask().GetArtifacts()))
	}
	if first.GetTask().GetId() != r.GetTask().GetId() {
		t.Fatal("two tasks")
	}
	deadline := time.Now().Add(10 * time.Second)
	for a2aserver.OpenFeeds(s.handler) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the slow stream is still open")
		}
		time.Sleep(5 * time.Millisecond)
	}
	events, err := all(t, slow, nil)
	if grpcstatus.Code(err) != codes.Unavailable || len(events) >= chunks {
		t.Errorf("the slow reader got %d events, %v", len(events), err)
	}
}

func TestGRPCPanic(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{front: func(tasks a2aserver.Tasks) a2aserver.Tasks { return panicky{tasks} }}, nil)
	_, err := s.lf.GetTask(t.Context(), &lf.GetTaskRequest{Id: "x"})
	refused(t, err, codes.Internal, a2a.KindInternal)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells %v", err)
	}
	sub, err := s.lf.SubscribeToTask(t.Context(), &lf.SubscribeToTaskRequest{Id: "x"})
	_, err = all(t, sub, err)
	refused(t, err, codes.Internal, a2a.KindInternal)
}

type panicky struct{ a2aserver.Tasks }

func (panicky) Task(context.Context, string, *a2a.GetRequest) (*a2a.Task, error) { panic("secret") }

func (panicky) Snapshot(context.Context, string, string, int64) (*a2a.Task, int64, error) {
	panic("secret")
}

func TestGRPCTap(t *testing.T) {
	t.Parallel()
	seen := make(chan *wire.Exchange, 10)
	s := serveGRPC(t, config{handler: &a2aserver.HandlerOptions{Tap: func(_ context.Context, x *wire.Exchange) { seen <- x }}}, nil)
	if _, err := s.v03.SendMessage(t.Context(), v03Text("m1", "do it")); err != nil {
		t.Fatal(err)
	}
	x := <-seen
	if x.Method != "SendMessage" || x.Dialect != wire.PROTO || !x.Inbound || x.Status != 200 || x.TaskID == "" ||
		!strings.HasSuffix(x.URL, "/a2a.v1.A2AService/SendMessage") ||
		!strings.Contains(string(x.Request), `"text":"do it"`) || !strings.Contains(string(x.Response), `"TASK_STATE_COMPLETED"`) {
		t.Errorf("recorded %+v\n%s\n%s", x, x.Request, x.Response)
	}
	stream, err := s.lf.SendStreamingMessage(t.Context(), lfText("m2", "do it"))
	if _, err = all(t, stream, err); err != nil {
		t.Fatal(err)
	}
	if x = <-seen; x.Method != "SendStreamingMessage" || x.Events[0] == 0 || x.Events[1] <= x.Events[0] || x.Response != nil {
		t.Errorf("recorded %+v", x)
	}
	_, _ = s.lf.GetTask(t.Context(), &lf.GetTaskRequest{Id: "none"})
	if x = <-seen; x.Status != 404 || x.Err == "" {
		t.Errorf("recorded %+v", x)
	}
}

// TestGRPCMalformed sends 10,000 messages that are none, or nearly: whatever they hold, the fault is the caller's, nothing
// panics and nothing is left behind.
func TestGRPCMalformed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var logged strings.Builder
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(b)
	}), nil))
	s := serveGRPC(t, config{handler: &a2aserver.HandlerOptions{Logger: log, BlockingTimeout: time.Second}}, nil)
	ctx := t.Context()
	if _, err := s.lf.ListTasks(ctx, &lf.ListTasksRequest{}); err != nil {
		t.Fatal(err)
	}
	base := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for w := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, w))
			methods := pb.Methods()
			for i := range 1250 {
				m := &methods[r.IntN(len(methods))]
				err := malformed(ctx, s.conn, m, garbage(r, m, fmt.Sprintf("%d-%d", w, i)))
				switch c := grpcstatus.Code(err); c {
				case codes.OK, codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.Unimplemented:
				default:
					t.Errorf("%s: %v", m.Path(), err)
				}
			}
		})
	}
	wg.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > base+2 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > base+2 {
		t.Errorf("%d goroutines, %d before", n, base)
	}
	mu.Lock()
	defer mu.Unlock()
	if logged.Len() > 0 {
		t.Errorf("logged %s", logged.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// garbage makes a request that is random bytes, a good one with some bytes changed or cut off, or one with odd members.
func garbage(r *rand.Rand, m *pb.Method, id string) []byte {
	var good proto.Message = m.NewRequest()
	text := []string{"do it", "echo", "ask", "\x00", ""}[r.IntN(5)]
	switch good.(type) {
	case *lf.SendMessageRequest:
		g := lfText(id, text)
		g.Message.Metadata, _ = structpb.NewStruct(map[string]any{"a": []any{1.0, nil, map[string]any{"b": "c"}}})
		g.Message.Parts = append(g.Message.Parts, &lf.Part{Content: &lf.Part_Data{Data: structpb.NewNullValue()}})
		good = g
	case *v03.SendMessageRequest:
		g := v03Text(id, text)
		g.Configuration = &v03.SendMessageConfiguration{Blocking: r.IntN(2) == 0, HistoryLength: int32(r.IntN(5) - 2)}
		good = g
	case *v03.GetTaskRequest:
		good = &v03.GetTaskRequest{Name: "tasks/" + id, HistoryLength: -5}
	case *lf.ListTasksRequest:
		good = &lf.ListTasksRequest{PageToken: id, PageSize: proto.Int32(int32(r.IntN(300) - 100)), Status: lf.TaskState(r.IntN(20))}
	}
	b, err := proto.Marshal(good)
	if err != nil {
		panic(err)
	}
	switch r.IntN(4) {
	case 0:
		b = make([]byte, r.IntN(64))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	case 1:
		for range 1 + r.IntN(3) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
	case 2:
		b = b[:r.IntN(len(b)+1)]
	}
	return b
}

// malformed sends bytes as a message and reads whatever is answered.
func malformed(ctx context.Context, conn *grpc.ClientConn, m *pb.Method, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, m.Path(), grpc.ForceCodec(rawCodec{}))
	if err != nil {
		return err
	}
	if err := s.SendMsg(b); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	for {
		var reply []byte
		if err := s.RecvMsg(&reply); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)   { return v.([]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = slices.Clone(b); return nil }
func (rawCodec) Name() string                    { return "proto" }
