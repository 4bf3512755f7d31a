package a2aserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"golang.org/x/time/rate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
	"parley/a2aserver"
)

// grpcServer is an agent behind real gRPC, and the generated clients of both SDKs.
type grpcServer struct {
	*server
	grpc *a2aserver.GRPC
	conn *grpc.ClientConn
	lf   lf.A2AServiceClient
	v03  v03.A2AServiceClient
}

func serveGRPC(t testing.TB, c config, o *a2aserver.GRPCOptions) *grpcServer {
	t.Helper()
	s := &grpcServer{server: serve(t, c)}
	s.grpc = a2aserver.NewGRPC(s.handler, o)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.grpc.Serve(ln) }()
	s.conn, err = grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	s.lf, s.v03 = lf.NewA2AServiceClient(s.conn), v03.NewA2AServiceClient(s.conn)
	t.Cleanup(func() {
		s.conn.Close()
		s.handler.Drain()
		s.grpc.Stop(closed())
		if err := <-served; err != nil {
			t.Errorf("serving ended: %v", err)
		}
	})
	return s
}

func lfText(id, text string) *lf.SendMessageRequest {
	return &lf.SendMessageRequest{Message: &lf.Message{
		MessageId: id, Role: lf.Role_ROLE_USER, Parts: []*lf.Part{{Content: &lf.Part_Text{Text: text}}},
	}}
}

func v03Text(id, text string) *v03.SendMessageRequest {
	return &v03.SendMessageRequest{Request: &v03.Message{
		MessageId: id, Role: v03.Role_ROLE_USER, Parts: []*v03.Part{{Part: &v03.Part_Text{Text: text}}},
	}}
}

// all reads a stream to its end.
func all[T any](t testing.TB, s grpc.ServerStreamingClient[T], err error) ([]*T, error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var list []*T
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, m)
	}
}

// refused checks the status of a call and the reason in its details.
func refused(t testing.TB, err error, code codes.Code, reason a2a.ErrorKind) {
	t.Helper()
	s := grpcstatus.Convert(err)
	got := ""
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			got = info.Reason
			if info.Domain != "a2a-protocol.org" {
				t.Errorf("the domain is %q", info.Domain)
			}
		}
	}
	if s.Code() != code || got != string(reason) {
		t.Errorf("%v (%s); want %s (%s)", err, got, code, reason)
	}
}

// TestGRPC does everything that there is to do with a task, over lf.a2a.v1.
func TestGRPC(t *testing.T) {
	t.Parallel()
	s, ctx := serveGRPC(t, config{}, nil), t.Context()
	r, err := s.lf.SendMessage(ctx, lfText("m1", "do it"))
	if err != nil {
		t.Fatal(err)
	}
	task := r.GetTask()
	if task.GetStatus().GetState() != lf.TaskState_TASK_STATE_COMPLETED || task.GetArtifacts()[0].GetParts()[0].GetText() != "it" {
		t.Fatalf("answered %v", r)
	}
	if r, err = s.lf.SendMessage(ctx, lfText("m2", "hello")); err != nil || r.GetMessage().GetParts()[0].GetText() != "echo: hello" {
		t.Fatalf("answered %v, %v", r, err)
	}
	got, err := s.lf.GetTask(ctx, &lf.GetTaskRequest{Id: task.Id, HistoryLength: proto.Int32(0)})
	if err != nil || len(got.History) != 0 || got.Id != task.Id {
		t.Fatalf("got %v, %v", got, err)
	}
	page, err := s.lf.ListTasks(ctx, &lf.ListTasksRequest{PageSize: proto.Int32(1)})
	if err != nil || len(page.Tasks) != 1 || page.TotalSize != 1 || page.PageSize != 1 {
		t.Fatalf("listed %v, %v", page, err)
	}
	stream, err := s.lf.SendStreamingMessage(ctx, lfText("m3", "do more"))
	events, err := all(t, stream, err)
	if err != nil || len(events) < 3 || events[0].GetTask() == nil ||
		events[len(events)-1].GetStatusUpdate().GetStatus().GetState() != lf.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("streamed %v, %v", events, err)
	}
	held, err := s.lf.SendMessage(ctx, &lf.SendMessageRequest{
		Message: lfText("m4", "hold").Message, Configuration: &lf.SendMessageConfiguration{ReturnImmediately: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := held.GetTask().GetId()
	sub, err := s.lf.SubscribeToTask(ctx, &lf.SubscribeToTaskRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := sub.Recv(); err != nil || first.GetTask().GetId() != id {
		t.Fatalf("the subscription begins with %v, %v", first, err)
	}
	if c, err := s.lf.CancelTask(ctx, &lf.CancelTaskRequest{Id: id}); err != nil || c.Id != id {
		t.Fatalf("canceled %v, %v", c, err)
	}
	rest, err := all(t, sub, nil)
	if err != nil || rest[len(rest)-1].GetStatusUpdate().GetStatus().GetState() != lf.TaskState_TASK_STATE_CANCELED {
		t.Fatalf("followed by %v, %v", rest, err)
	}
	_, err = s.lf.GetTask(ctx, &lf.GetTaskRequest{Id: "none"})
	refused(t, err, codes.NotFound, a2a.KindTaskNotFound)
	_, err = s.lf.CancelTask(ctx, &lf.CancelTaskRequest{Id: task.Id})
	refused(t, err, codes.FailedPrecondition, a2a.KindTaskNotCancelable)
	over, err := s.lf.SubscribeToTask(ctx, &lf.SubscribeToTaskRequest{Id: task.Id})
	_, err = all(t, over, err)
	refused(t, err, codes.FailedPrecondition, a2a.KindUnsupportedOperation)
	again := lfText("m5", "more")
	again.Message.TaskId = task.Id
	_, err = s.lf.SendMessage(ctx, again)
	refused(t, err, codes.FailedPrecondition, a2a.KindUnsupportedOperation)
	_, err = s.lf.CreateTaskPushNotificationConfig(ctx, &lf.TaskPushNotificationConfig{TaskId: task.Id, Url: "https://hook.example/"})
	refused(t, err, codes.FailedPrecondition, a2a.KindPushNotSupported)
	_, err = s.lf.GetExtendedAgentCard(ctx, &lf.GetExtendedAgentCardRequest{})
	refused(t, err, codes.FailedPrecondition, a2a.KindUnsupportedOperation)
	_, err = s.lf.SendMessage(ctx, &lf.SendMessageRequest{})
	refused(t, err, codes.InvalidArgument, a2a.KindInvalidParams)
	foreign := lfText("m6", "do it")
	foreign.Tenant = "elsewhere"
	_, err = s.lf.SendMessage(ctx, foreign)
	refused(t, err, codes.InvalidArgument, a2a.KindInvalidParams)
}

// TestGRPCV03 is the same over a2a.v1.
func TestGRPCV03(t *testing.T) {
	t.Parallel()
	s, ctx := serveGRPC(t, config{}, nil), t.Context()
	r, err := s.v03.SendMessage(ctx, v03Text("m1", "do it"))
	if err != nil {
		t.Fatal(err)
	}
	task := r.GetTask()
	if task.GetStatus().GetState() != v03.TaskState_TASK_STATE_COMPLETED || task.GetArtifacts()[0].GetParts()[0].GetText() != "it" {
		t.Fatalf("answered %v", r)
	}
	if r, err = s.v03.SendMessage(ctx, v03Text("m2", "hello")); err != nil || r.GetMsg().GetParts()[0].GetText() != "echo: hello" {
		t.Fatalf("answered %v, %v", r, err)
	}
	for _, name := range []string{task.Id, "tasks/" + task.Id} {
		if got, err := s.v03.GetTask(ctx, &v03.GetTaskRequest{Name: name}); err != nil || got.Id != task.Id || len(got.History) == 0 {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	stream, err := s.v03.SendStreamingMessage(ctx, v03Text("m3", "do more"))
	events, err := all(t, stream, err)
	if err != nil || len(events) < 3 || events[0].GetTask() == nil {
		t.Fatalf("streamed %v, %v", events, err)
	}
	for i, e := range events {
		if u := e.GetStatusUpdate(); u != nil && u.Final != (i == len(events)-1) {
			t.Errorf("event %d of %d: final is %v", i, len(events), u.Final)
		}
	}
	asks, err := s.v03.SendMessage(ctx, v03Text("m4", "ask"))
	if err != nil || asks.GetTask().GetStatus().GetState() != v03.TaskState_TASK_STATE_INPUT_REQUIRED {
		t.Fatalf("answered %v, %v", asks, err)
	}
	reply := v03Text("m5", "this one")
	reply.Request.TaskId = asks.GetTask().GetId()
	if r, err = s.v03.SendMessage(ctx, reply); err != nil || r.GetTask().GetStatus().GetState() != v03.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("answered %v, %v", r, err)
	}
	// A task that has ended is shown once more, and its end said.
	over, err := s.v03.TaskSubscription(ctx, &v03.TaskSubscriptionRequest{Name: "tasks/" + task.Id})
	events, err = all(t, over, err)
	if err != nil || len(events) != 2 || events[0].GetTask() == nil || !events[1].GetStatusUpdate().GetFinal() {
		t.Fatalf("streamed %v, %v", events, err)
	}
	_, err = s.v03.GetTask(ctx, &v03.GetTaskRequest{Name: "tasks/none"})
	refused(t, err, codes.NotFound, a2a.KindTaskNotFound)
	_, err = s.v03.CancelTask(ctx, &v03.CancelTaskRequest{Name: "tasks/" + task.Id})
	refused(t, err, codes.FailedPrecondition, a2a.KindTaskNotCancelable)
	again := v03Text("m6", "more")
	again.Request.TaskId = task.Id
	_, err = s.v03.SendMessage(ctx, again)
	refused(t, err, codes.InvalidArgument, a2a.KindUnsupportedOperation)
	if !strings.Contains(err.Error(), "terminal state") {
		t.Errorf("a message for a task that ended: %v", err)
	}
	_, err = s.v03.ListTasks(ctx, &v03.ListTasksRequest{})
	if grpcstatus.Code(err) != codes.Unimplemented {
		t.Errorf("a list of v0.3: %v", err)
	}
	card, err := s.v03.GetAgentCard(ctx, &v03.GetAgentCardRequest{})
	if err != nil || card.Name != testCard.Name {
		t.Errorf("the card is %v, %v", card, err)
	}
}

// TestGRPCContent takes files and data through both services to the agent and back, byte for byte.
func TestGRPCContent(t *testing.T) {
	t.Parallel()
	var got []a2a.Part
	var mu sync.Mutex
	card := *testCard
	card.DefaultInputModes, card.DefaultOutputModes = []string{"*/*"}, []string{"*/*"}
	s := serveGRPC(t, config{card: &card, exec: execFunc(func(_ context.Context, turn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		mu.Lock()
		got = append(got, turn.Message.Parts...)
		mu.Unlock()
		yield(&a2a.Message{Parts: turn.Message.Parts})
		return nil
	})}, nil)
	files := []string{"hi", "aGk=", "\x00\xff\x10", strings.Repeat("QUJD", 10), ""}
	data := []string{`{"k":1}`, `[1,null,"x"]`, `"text"`, `3.5`, `null`, `true`, `9007199254740992`, `{"value":[1]}`}
	for _, d := range []wire.Dialect{wire.NEW, wire.PROTO} {
		var parts []a2a.Part
		for _, f := range files {
			parts = append(parts, a2a.Part{Kind: a2a.PartRaw, Raw: []byte(f), MediaType: "image/png", Filename: "f"})
		}
		for _, v := range data {
			parts = append(parts, a2a.Part{Kind: a2a.PartData, Data: []byte(v)})
		}
		mu.Lock()
		got = nil
		mu.Unlock()
		m, msg, err := pb.Request(d, wire.OpSend, &a2a.SendRequest{Message: a2a.Message{ID: "m" + d.String(), Parts: parts}})
		if err != nil {
			t.Fatal(err)
		}
		reply := m.NewReply()
		if err := s.conn.Invoke(t.Context(), m.Path(), msg, reply); err != nil {
			t.Fatal(err)
		}
		v, err := pb.Result(m, reply)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		for name, list := range map[string][]a2a.Part{"the agent": got, "the client": v.(*a2a.Message).Parts} {
			if len(list) != len(parts) {
				t.Fatalf("%s: %s has %d parts", d, name, len(list))
			}
			for i, p := range list {
				if string(p.Raw) != string(parts[i].Raw) || string(p.Data) != string(parts[i].Data) || p.Filename != parts[i].Filename {
					t.Errorf("%s: %s has part %d as %+v, not %+v", d, name, i, p, parts[i])
				}
			}
		}
		mu.Unlock()
	}
}

// TestGRPCVersion is peers.md's check of versions in metadata.
func TestGRPCVersion(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{}, nil)
	for v, ok := range map[string]bool{"1.0": true, "1": true, "1.0.1": true, "": true, "1.7": false, "0.3": false, "2.0": false} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", v)
		_, err := s.lf.ListTasks(ctx, &lf.ListTasksRequest{})
		if ok && err != nil {
			t.Errorf("%q: %v", v, err)
		}
		if !ok {
			refused(t, err, codes.FailedPrecondition, a2a.KindVersionNotSupported)
		}
	}
	if _, err := s.lf.ListTasks(t.Context(), &lf.ListTasksRequest{}); err != nil {
		t.Errorf("without a version: %v", err)
	}
}

func TestGRPCErrorMapping(t *testing.T) {
	t.Parallel()
	s := serveGRPC(t, config{handler: &a2aserver.HandlerOptions{ErrorMapping: func() wire.ErrorMapping { return wire.Mapping100 }}}, nil)
	_, err := s.lf.GetExtendedAgentCard(t.Context(), &lf.GetExtendedAgentCardRequest{})
	refused(t, err, codes.Unimplemented, a2a.KindUnsupportedOperation)
}

func TestGRPCExtensions(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://x.example/1", Required: true}}
	s := serveGRPC(t, config{card: &card}, nil)
	_, err := s.lf.SendMessage(t.Context(), lfText("m1", "do it"))
	refused(t, err, codes.FailedPrecondition, a2a.KindExtensionRequired)
	for _, name := range []string{"a2a-extensions", "x-a2a-extensions"} {
		var header metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), name, "https://x.example/1, https://y.example/2")
		if name == "a2a-extensions" {
			_, err = s.lf.SendMessage(ctx, lfText("m2", "do it"), grpc.Header(&header))
		} else {
			_, err = s.v03.SendMessage(ctx, v03Text("m3", "do it"), grpc.Header(&header))
		}
		if err != nil || !slices.Equal(header[name], []string{"https://x.example/1"}) {
			t.Errorf("%s: %v, activated %v", name, err, header)
		}
	}
}

// tokens is an authentication of two callers.
func tokens(left *sync.Map) func(context.Context, metadata.MD) (string, func(), error) {
	return func(_ context.Context, md metadata.MD) (string, func(), error) {
		switch auth := md["authorization"]; {
		case len(auth) != 1:
			return "", nil, a2a.ErrUnauthenticated
		case auth[0] == "Bearer blocked":
			return "", nil, a2a.Errorf(a2a.KindForbidden, "not you")
		case auth[0] == "Bearer one" || auth[0] == "Bearer two":
			n, _ := left.LoadOrStore(auth[0], new(int))
			*n.(*int)++
			return auth[0][7:], func() { *n.(*int)-- }, nil
		}
		return "", nil, errors.New("who?")
	}
}

func bearing(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func TestGRPCAuthentication(t *testing.T) {
	t.Parallel()
	var open sync.Map
	s := serveGRPC(t, config{}, &a2aserver.GRPCOptions{Authenticate: tokens(&open)})
	ctx := t.Context()
	var trailer metadata.MD
	_, err := s.lf.SendMessage(ctx, lfText("m", "do it"), grpc.Trailer(&trailer))
	refused(t, err, codes.Unauthenticated, a2a.KindUnauthenticated)
	if len(trailer["www-authenticate"]) != 1 {
		t.Errorf("the trailer is %v", trailer)
	}
	_, err = s.v03.SendMessage(bearing(ctx, "wrong"), v03Text("m", "do it"))
	refused(t, err, codes.Unauthenticated, a2a.KindUnauthenticated)
	_, err = s.lf.SendMessage(bearing(ctx, "blocked"), lfText("m", "do it"))
	refused(t, err, codes.PermissionDenied, a2a.KindForbidden)
	r, err := s.lf.SendMessage(bearing(ctx, "one"), lfText("m", "do it"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.lf.GetTask(bearing(ctx, "two"), &lf.GetTaskRequest{Id: r.GetTask().GetId()})
	refused(t, err, codes.NotFound, a2a.KindTaskNotFound)
	if _, err = s.lf.GetTask(bearing(ctx, "one"), &lf.GetTaskRequest{Id: r.GetTask().GetId()}); err != nil {
		t.Error(err)
	}
	stream, err := s.lf.SendStreamingMessage(ctx, lfText("m", "do it"))
	_, err = all(t, stream, err)
	refused(t, err, codes.Unauthenticated, a2a.KindUnauthenticated)

	// The health check is for anybody, looking around is not.
	if h, err := healthpb.NewHealthClient(s.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: pb.ServiceNEW}); err != nil || h.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	services := func(ctx context.Context) ([]string, error) {
		s, err := reflectpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(ctx)
		if err != nil {
			return nil, err
		}
		defer s.CloseSend()
		if err := s.Send(&reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_ListServices{}}); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r, err := s.Recv()
		var names []string
		for _, service := range r.GetListServicesResponse().GetService() {
			names = append(names, service.Name)
		}
		return names, err
	}
	_, err = services(ctx)
	refused(t, err, codes.Unauthenticated, a2a.KindUnauthenticated)
	if names, err := services(bearing(ctx, "one")); err != nil || !slices.Contains(names, pb.ServiceNEW) || !slices.Contains(names, pb.ServiceV03) {
		t.Errorf("services: %v, %v", names, err)
	}
}

func TestGRPCRate(t *testing.T) {
	t.Parallel()
	l := rate.NewLimiter(rate.Every(time.Hour), 2)
	s := serveGRPC(t, config{handler: &a2aserver.HandlerOptions{Rate: func(string) *rate.Limiter { return l }}}, nil)
	for range 2 {
		if _, err := s.lf.ListTasks(t.Context(), &lf.ListTasksRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.lf.ListTasks(t.Context(), &lf.ListTasksRequest{})
	refused(t, err, codes.ResourceExhausted, a2a.KindRateLimited)
	e := pb.Error(wire.OpList, grpcstatus.Convert(err))
	if e.RetryAfter <= 0 {
		t.Errorf("nothing says when to come back: %+v", e)
	}
}

// TestGRPCTenants finds other agents by the tenant, and only with v1.0.
func TestGRPCTenants(t *testing.T) {
	t.Parallel()
	other := serve(t, config{exec: execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(message("the other"))
		return nil
	})})
	s := serveGRPC(t, config{}, &a2aserver.GRPCOptions{Agent: func(_ context.Context, _, tenant string) *a2aserver.Handler {
		if tenant == "other" {
			return other.handler
		}
		return nil
	}})
	request := lfText("m1", "hello")
	for tenant, want := range map[string]string{"": "echo: hello", "other": "the other"} {
		request.Tenant = tenant
		r, err := s.lf.SendMessage(t.Context(), request)
		if err != nil || r.GetMessage().GetParts()[0].GetText() != want {
			t.Errorf("%q: %v, %v", tenant, r, err)
		}
	}
	request.Tenant = "nobody"
	if _, err := s.lf.SendMessage(t.Context(), request); grpcstatus.Code(err) != codes.NotFound {
		t.Errorf("an agent that is not there: %v", err)
	}
}
