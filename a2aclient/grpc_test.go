package a2aclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// newServices is a scripted lf.a2a.v1: the functions that are set answer.
type newServices struct {
	lf.UnimplementedA2AServiceServer
	send      func(context.Context, *lf.SendMessageRequest) (*lf.SendMessageResponse, error)
	stream    func(*lf.SendMessageRequest, grpc.ServerStreamingServer[lf.StreamResponse]) error
	get       func(context.Context, *lf.GetTaskRequest) (*lf.Task, error)
	subscribe func(*lf.SubscribeToTaskRequest, grpc.ServerStreamingServer[lf.StreamResponse]) error
	remove    func(context.Context, *lf.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error)
}

func (s *newServices) SendMessage(ctx context.Context, r *lf.SendMessageRequest) (*lf.SendMessageResponse, error) {
	return s.send(ctx, r)
}

func (s *newServices) SendStreamingMessage(r *lf.SendMessageRequest, out grpc.ServerStreamingServer[lf.StreamResponse]) error {
	return s.stream(r, out)
}

func (s *newServices) GetTask(ctx context.Context, r *lf.GetTaskRequest) (*lf.Task, error) {
	return s.get(ctx, r)
}

func (s *newServices) SubscribeToTask(r *lf.SubscribeToTaskRequest, out grpc.ServerStreamingServer[lf.StreamResponse]) error {
	return s.subscribe(r, out)
}

func (s *newServices) DeleteTaskPushNotificationConfig(ctx context.Context, r *lf.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
	return s.remove(ctx, r)
}

// oldService is a scripted a2a.v1.
type oldService struct {
	v03.UnimplementedA2AServiceServer
	send   func(context.Context, *v03.SendMessageRequest) (*v03.SendMessageResponse, error)
	stream func(*v03.SendMessageRequest, grpc.ServerStreamingServer[v03.StreamResponse]) error
	get    func(context.Context, *v03.GetTaskRequest) (*v03.Task, error)
}

func (s *oldService) SendMessage(ctx context.Context, r *v03.SendMessageRequest) (*v03.SendMessageResponse, error) {
	return s.send(ctx, r)
}

func (s *oldService) SendStreamingMessage(r *v03.SendMessageRequest, out grpc.ServerStreamingServer[v03.StreamResponse]) error {
	return s.stream(r, out)
}

func (s *oldService) GetTask(ctx context.Context, r *v03.GetTaskRequest) (*v03.Task, error) {
	return s.get(ctx, r)
}

// serveRPC serves one of the above and returns its address, host:port.
func serveRPC(t *testing.T, services ...any) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	for _, service := range services {
		switch service := service.(type) {
		case *newServices:
			lf.RegisterA2AServiceServer(s, service)
		case *oldService:
			v03.RegisterA2AServiceServer(s, service)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return ln.Addr().String()
}

// rpcClient returns a client of an agent over gRPC that thinks it speaks that version.
func rpcClient(t *testing.T, address, version string, o *a2aclient.Options) *a2aclient.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	o = quick(o)
	o.HTTP = &http.Client{Transport: transport}
	c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: address, Binding: "GRPC", Version: version, Tenant: "acme"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lfTask(state lf.TaskState, text string) *lf.Task {
	t := &lf.Task{Id: "T1", ContextId: "C1", Status: &lf.TaskStatus{State: state}}
	if text != "" {
		t.Artifacts = []*lf.Artifact{{ArtifactId: "a", Parts: []*lf.Part{{Content: &lf.Part_Text{Text: text}}}}}
	}
	return t
}

func lfChunk(text string) *lf.StreamResponse {
	return &lf.StreamResponse{Payload: &lf.StreamResponse_ArtifactUpdate{ArtifactUpdate: &lf.TaskArtifactUpdateEvent{
		TaskId: "T1", ContextId: "C1", Append: true, Artifact: &lf.Artifact{ArtifactId: "a", Parts: []*lf.Part{{Content: &lf.Part_Text{Text: text}}}},
	}}}
}

func TestGRPCSend(t *testing.T) {
	t.Parallel()
	s := &newServices{send: func(ctx context.Context, r *lf.SendMessageRequest) (*lf.SendMessageResponse, error) {
		seen, _ := metadata.FromIncomingContext(ctx)
		if v := seen["a2a-version"]; len(v) != 1 || v[0] != "1.0" {
			t.Errorf("the version is %v", v)
		}
		if v := seen["authorization"]; len(v) != 1 || v[0] != "Bearer secret" {
			t.Errorf("authorization is %v", v)
		}
		if r.Tenant != "acme" || r.Message.Parts[0].GetText() != "hello" || r.Message.Role != lf.Role_ROLE_USER {
			t.Errorf("the agent got %v", r)
		}
		return &lf.SendMessageResponse{Payload: &lf.SendMessageResponse_Task{Task: lfTask(lf.TaskState_TASK_STATE_COMPLETED, "done")}}, nil
	}}
	address := serveRPC(t, s)
	var mu sync.Mutex
	var told []*wire.Exchange
	o := &a2aclient.Options{
		Tap: func(_ context.Context, x *wire.Exchange) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, x)
		},
		Authorize: func(_ context.Context, r *http.Request) error {
			if r.URL.Host != address {
				t.Errorf("credentials were asked for %s", r.URL)
			}
			r.Header.Set("Authorization", "Bearer secret")
			return nil
		},
	}
	for _, url := range []string{address, "grpc://" + address, "http://" + address, "dns:///" + address} {
		e, err := rpcClient(t, url, "1.0", o).Send(t.Context(), hello())
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if task, ok := e.(*a2a.Task); !ok || task.ID != "T1" || a2a.Text(task.Artifacts[0].Parts) != "done" {
			t.Errorf("%s: %+v", url, e)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 4 || told[0].Method != "SendMessage" || told[0].Status != 200 || !strings.Contains(string(told[0].Request), `"text":"hello"`) ||
		!strings.Contains(string(told[0].Response), `"text":"done"`) {
		t.Errorf("the tap was told %+v", told)
	}
}

// TestGRPCStream follows a stream that breaks off: get, then subscribe, nothing twice.
func TestGRPCStream(t *testing.T) {
	t.Parallel()
	s := &newServices{
		stream: func(_ *lf.SendMessageRequest, out grpc.ServerStreamingServer[lf.StreamResponse]) error {
			out.Send(&lf.StreamResponse{Payload: &lf.StreamResponse_Task{Task: lfTask(lf.TaskState_TASK_STATE_WORKING, "")}})
			out.Send(lfChunk("one "))
			return grpcstatus.Error(codes.Unavailable, "going down")
		},
		get: func(context.Context, *lf.GetTaskRequest) (*lf.Task, error) {
			return lfTask(lf.TaskState_TASK_STATE_WORKING, "one "), nil
		},
		subscribe: func(r *lf.SubscribeToTaskRequest, out grpc.ServerStreamingServer[lf.StreamResponse]) error {
			if r.Id != "T1" || r.Tenant != "acme" {
				t.Errorf("subscribed to %v", r)
			}
			out.Send(&lf.StreamResponse{Payload: &lf.StreamResponse_Task{Task: lfTask(lf.TaskState_TASK_STATE_WORKING, "one ")}})
			out.Send(lfChunk("two"))
			s := lfTask(lf.TaskState_TASK_STATE_COMPLETED, "one ")
			s.Artifacts[0].Parts = append(s.Artifacts[0].Parts, &lf.Part{Content: &lf.Part_Text{Text: "two"}})
			return out.Send(&lf.StreamResponse{Payload: &lf.StreamResponse_Task{Task: s}})
		},
	}
	c := rpcClient(t, serveRPC(t, s), "1.0", nil)
	task := &a2a.Task{}
	for e, err := range c.Stream(t.Context(), hello()) {
		var gap *a2aclient.GapError
		if err != nil && !errors.As(err, &gap) {
			t.Fatal(err)
		}
		if err == nil {
			task.Apply(e)
		}
	}
	if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 || a2a.Text(task.Artifacts[0].Parts) != "one two" {
		t.Errorf("the task is %+v", task)
	}
}

// TestGRPCOtherGeneration: a card that names the wrong version is put right, in both directions.
func TestGRPCOtherGeneration(t *testing.T) {
	t.Parallel()
	newer := &newServices{send: func(context.Context, *lf.SendMessageRequest) (*lf.SendMessageResponse, error) {
		return &lf.SendMessageResponse{Payload: &lf.SendMessageResponse_Message{Message: &lf.Message{
			MessageId: "r", Role: lf.Role_ROLE_AGENT, Parts: []*lf.Part{{Content: &lf.Part_Text{Text: "v1"}}},
		}}}, nil
	}}
	older := &oldService{send: func(_ context.Context, r *v03.SendMessageRequest) (*v03.SendMessageResponse, error) {
		if !r.Configuration.GetBlocking() {
			t.Errorf("it is not said that the answer is waited for: %v", r)
		}
		return &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Msg{Msg: &v03.Message{
			MessageId: "r", Role: v03.Role_ROLE_AGENT, Parts: []*v03.Part{{Part: &v03.Part_Text{Text: "v0.3"}}},
		}}}, nil
	}}
	for _, c := range []struct {
		service  any
		card     string
		said     string
		dialect  wire.Dialect
		thinksIt bool
	}{
		{newer, "1.0", "v1", wire.NEW, true},
		{newer, "0.3", "v1", wire.NEW, false},
		{older, "0.3", "v0.3", wire.PROTO, true},
		{older, "1.0", "v0.3", wire.PROTO, false},
	} {
		client := rpcClient(t, serveRPC(t, c.service), c.card, nil)
		e, err := client.Send(t.Context(), hello())
		if err != nil {
			t.Fatalf("%s: %v", c.card, err)
		}
		if m, ok := e.(*a2a.Message); !ok || a2a.Text(m.Parts) != c.said || client.Dialect() != c.dialect {
			t.Errorf("%s: %+v in %s", c.card, e, client.Dialect())
		}
	}
}

func TestGRPCV03Stream(t *testing.T) {
	t.Parallel()
	event := func(state v03.TaskState, final bool) *v03.StreamResponse {
		return &v03.StreamResponse{Payload: &v03.StreamResponse_StatusUpdate{StatusUpdate: &v03.TaskStatusUpdateEvent{
			TaskId: "T1", ContextId: "C1", Status: &v03.TaskStatus{State: state}, Final: final,
		}}}
	}
	s := &oldService{
		stream: func(_ *v03.SendMessageRequest, out grpc.ServerStreamingServer[v03.StreamResponse]) error {
			out.Send(&v03.StreamResponse{Payload: &v03.StreamResponse_Task{Task: &v03.Task{
				Id: "T1", ContextId: "C1", Status: &v03.TaskStatus{State: v03.TaskState_TASK_STATE_SUBMITTED},
			}}})
			out.Send(event(v03.TaskState_TASK_STATE_WORKING, false))
			return out.Send(event(v03.TaskState_TASK_STATE_COMPLETED, true))
		},
		get: func(_ context.Context, r *v03.GetTaskRequest) (*v03.Task, error) {
			return &v03.Task{
				Id: strings.TrimPrefix(r.Name, "tasks/"), Status: &v03.TaskStatus{State: v03.TaskState_TASK_STATE_COMPLETED},
				History: []*v03.Message{{MessageId: "m", Parts: []*v03.Part{{Part: &v03.Part_Text{Text: "said"}}}}},
			}, nil
		},
	}
	c := rpcClient(t, serveRPC(t, s), "0.3", nil)
	var states []a2a.TaskState
	for e, err := range c.Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, a2a.EventState(e))
	}
	if len(states) != 3 || states[2] != a2a.TaskStateCompleted {
		t.Errorf("went through %v", states)
	}
	none := 0
	if task, err := c.Get(t.Context(), &a2a.GetRequest{ID: "T1", HistoryLength: &none}); err != nil || len(task.History) != 0 {
		t.Errorf("without history: %+v, %v", task, err)
	}
	if task, err := c.Get(t.Context(), &a2a.GetRequest{ID: "T1"}); err != nil || len(task.History) != 1 {
		t.Errorf("with all of it: %+v, %v", task, err)
	}
}

// TestGRPCFailures looks at what becomes of statuses: what a person is told, and whether the message may have been taken.
func TestGRPCFailures(t *testing.T) {
	t.Parallel()
	ours := func(kind a2a.ErrorKind) error {
		return pb.Status(wire.NEW, &a2a.Error{Kind: kind, Message: "what happened"}, wire.Mapping101).Err()
	}
	for _, c := range []struct {
		name string
		err  error
		kind card.Kind
		ran  bool
	}{
		{"details", ours(a2a.KindTaskTerminal), card.KindTaskEnded, false},
		{"unavailable, by the agent itself", ours(a2a.KindUnavailable), card.KindUnavailable, false},
		{"unavailable, by whoever", grpcstatus.Error(codes.Unavailable, "upstream reset"), card.KindUnavailable, true},
		{"content", ours(a2a.KindContentType), card.KindFileType, false},
		{"sign-in", grpcstatus.Error(codes.Unauthenticated, "who?"), card.KindUnauthenticated, false},
		{"forbidden", grpcstatus.Error(codes.PermissionDenied, "no"), card.KindForbidden, false},
		{"too many", grpcstatus.Error(codes.ResourceExhausted, "slow down"), card.KindRateLimited, false},
		{"deadline", grpcstatus.Error(codes.DeadlineExceeded, "late"), card.KindAgent, true},
		{"broken", grpcstatus.Error(codes.Internal, "50% broken: é"), card.KindAgent, true},
		{"refused", ours(a2a.KindInvalidParams), card.KindAgent, false},
	} {
		s := &newServices{send: func(context.Context, *lf.SendMessageRequest) (*lf.SendMessageResponse, error) { return nil, c.err }}
		_, err := rpcClient(t, serveRPC(t, s), "1.0", nil).Send(t.Context(), hello())
		var e *a2aclient.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.MayHaveRun != c.ran {
			t.Errorf("%s: %+v", c.name, err)
			continue
		}
		if c.name == "broken" && !strings.Contains(e.Raw, "50% broken: é") {
			t.Errorf("the agent's words came as %q", e.Raw)
		}
	}
	// Nobody there, and somebody who speaks something else.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := ln.Addr().String()
	ln.Close()
	var e *a2aclient.Error
	if _, err := rpcClient(t, free, "1.0", nil).Send(t.Context(), hello()); !errors.As(err, &e) || e.Kind != card.KindRefused || e.MayHaveRun {
		t.Errorf("nobody there: %+v", err)
	}
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	if _, err := rpcClient(t, strings.TrimPrefix(web.URL, "http://"), "1.0", nil).Send(t.Context(), hello()); !errors.As(err, &e) {
		t.Errorf("no gRPC there: %+v", err)
	}
}

// TestGRPCEmptyAnswer deletes a push configuration: the answer has no members, and is one.
func TestGRPCEmptyAnswer(t *testing.T) {
	t.Parallel()
	s := &newServices{remove: func(_ context.Context, r *lf.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
		if r.TaskId != "T1" || r.Id != "c1" {
			t.Errorf("the agent got %v", r)
		}
		return &emptypb.Empty{}, nil
	}}
	if err := rpcClient(t, serveRPC(t, s), "1.0", nil).DeletePush(t.Context(), &a2a.PushDeleteRequest{TaskID: "T1", ID: "c1"}); err != nil {
		t.Error(err)
	}
}

// TestGRPCFraming reads answers that are cut, compressed, too long or no messages at all, from a server that sends bytes.
func TestGRPCFraming(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body    string
		trailer string
		kind    card.Kind
	}{
		"cut in the prefix":  {"\x00\x00", "", card.KindCut},
		"cut in the message": {"\x00\x00\x00\x00\x05abc", "", card.KindCut},
		"no outcome":         {"", "", card.KindCut},
		"compressed":         {"\x01\x00\x00\x00\x01a", "0", card.KindGarbage},
		"too long":           {"\x00\xff\xff\xff\xffa", "0", card.KindTooLarge},
		"no message":         {"\x00\x00\x00\x00\x02\xff\xff", "0", card.KindGarbage},
		"an empty message":   {"\x00\x00\x00\x00\x00", "0", card.KindGarbage},
		"nothing":            {"", "0", card.KindGarbage},
		"an odd outcome":     {"", "x", card.KindAgent},
	} {
		web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/grpc")
			w.WriteHeader(200)
			_, _ = io.WriteString(w, c.body)
			if c.trailer != "" {
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", c.trailer)
			}
		}))
		web.Config.Protocols = new(http.Protocols)
		web.Config.Protocols.SetUnencryptedHTTP2(true)
		web.Start()
		t.Cleanup(web.Close)
		_, err := rpcClient(t, strings.TrimPrefix(web.URL, "http://"), "1.0", nil).Send(t.Context(), hello())
		var e *a2aclient.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !e.MayHaveRun {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestGRPCEnds(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s := &newServices{send: func(ctx context.Context, _ *lf.SendMessageRequest) (*lf.SendMessageResponse, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	go func() {
		<-began
		cancel()
	}()
	if _, err := rpcClient(t, serveRPC(t, s), "1.0", nil).Send(ctx, hello()); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that its caller gave up: %v", err)
	}
}
