package a2aclient_test

import (
	"context"
	"errors"
	"iter"
	"net"
	"testing"

	sdk03 "github.com/a2aproject/a2a-go/a2a"
	rpc03 "github.com/a2aproject/a2a-go/a2agrpc"
	srv03 "github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	sdk1 "github.com/a2aproject/a2a-go/v2/a2a"
	rpc1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	srv1 "github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// mirror1 is an agent of a2a-go v2 that makes an artifact of what it is sent.
type mirror1 struct{}

func (mirror1) Execute(_ context.Context, x *srv1.ExecutorContext) iter.Seq2[sdk1.Event, error] {
	return func(yield func(sdk1.Event, error) bool) {
		_ = yield(sdk1.NewSubmittedTask(x, x.Message), nil) && yield(sdk1.NewArtifactEvent(x, x.Message.Parts...), nil) &&
			yield(sdk1.NewStatusUpdateEvent(x, sdk1.TaskStateCompleted, nil), nil)
	}
}

func (mirror1) Cancel(_ context.Context, x *srv1.ExecutorContext) iter.Seq2[sdk1.Event, error] {
	return func(yield func(sdk1.Event, error) bool) {
		yield(sdk1.NewStatusUpdateEvent(x, sdk1.TaskStateCanceled, nil), nil)
	}
}

// mirror03 is the same of a2a-go v0.3.
type mirror03 struct{}

func (mirror03) Execute(ctx context.Context, x *srv03.RequestContext, q eventqueue.Queue) error {
	end := sdk03.NewStatusUpdateEvent(x, sdk03.TaskStateCompleted, nil)
	end.Final = true
	return errors.Join(
		q.Write(ctx, sdk03.NewSubmittedTask(x, x.Message)), q.Write(ctx, sdk03.NewArtifactEvent(x, x.Message.Parts...)), q.Write(ctx, end),
	)
}

func (mirror03) Cancel(ctx context.Context, x *srv03.RequestContext, q eventqueue.Queue) error {
	return q.Write(ctx, sdk03.NewStatusUpdateEvent(x, sdk03.TaskStateCanceled, nil))
}

// TestCheck08GRPCGoSDKs calls agents of both Go SDKs: send, stream, get, cancel, and contents byte for byte.
func TestCheck08GRPCGoSDKs(t *testing.T) {
	t.Parallel()
	parts := []a2a.Part{
		a2a.TextPart("hello"),
		{Kind: a2a.PartRaw, Raw: []byte("\x00\xff"), MediaType: "image/png", Filename: "f.png"},
		{Kind: a2a.PartRaw, Raw: []byte("aGk="), MediaType: "image/png"},
		{Kind: a2a.PartData, Data: []byte(`{"k":[1,null]}`)},
	}
	for version, register := range map[string]func(*grpc.Server){
		"1.0": func(s *grpc.Server) { rpc1.NewHandler(srv1.NewHandler(mirror1{})).RegisterWith(s) },
		"0.3": func(s *grpc.Server) { rpc03.NewHandler(srv03.NewHandler(mirror03{})).RegisterWith(s) },
	} {
		t.Run(version, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := grpc.NewServer()
			register(s)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = s.Serve(ln)
			}()
			defer func() {
				s.Stop()
				<-done
			}()
			c := rpcClient(t, ln.Addr().String(), version, nil)
			e, err := c.Send(t.Context(), &a2a.SendRequest{Message: a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: parts}})
			task, _ := e.(*a2a.Task)
			if err != nil || task == nil || task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 {
				t.Fatalf("answered %+v, %v", e, err)
			}
			for i, p := range task.Artifacts[0].Parts {
				if p.Text != parts[i].Text || string(p.Raw) != string(parts[i].Raw) || string(p.Data) != string(parts[i].Data) || p.Filename != parts[i].Filename {
					t.Errorf("part %d came back as %+v", i, p)
				}
			}
			folded := &a2a.Task{}
			for e, err := range c.Stream(t.Context(), &a2a.SendRequest{Message: a2a.Message{ID: "m2", Role: a2a.RoleUser, Parts: parts[:1]}}) {
				if err != nil {
					t.Fatal(err)
				}
				folded.Apply(e)
			}
			if folded.Status.State != a2a.TaskStateCompleted || len(folded.Artifacts) != 1 || a2a.Text(folded.Artifacts[0].Parts) != "hello" {
				t.Errorf("streamed %+v", folded)
			}
			if got, err := c.Get(t.Context(), &a2a.GetRequest{ID: task.ID}); err != nil || got.ID != task.ID {
				t.Errorf("got %+v, %v", got, err)
			}
			var fault *a2aclient.Error
			if _, err := c.Get(t.Context(), &a2a.GetRequest{ID: "none"}); !errors.As(err, &fault) || fault.Kind != card.KindTaskNotFound {
				t.Errorf("a task that is not there: %v", err)
			}
			if _, err := c.Cancel(t.Context(), &a2a.CancelRequest{ID: task.ID}); !errors.As(err, &fault) || fault.Kind != card.KindTaskEnded {
				t.Errorf("canceling what has ended: %+v", err)
			}
		})
	}
}
