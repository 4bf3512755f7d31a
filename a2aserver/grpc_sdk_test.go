package a2aserver_test

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"

	sdk03 "github.com/a2aproject/a2a-go/a2a"
	client03 "github.com/a2aproject/a2a-go/a2aclient"
	sdk1 "github.com/a2aproject/a2a-go/v2/a2a"
	client1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"

	"parley/a2a"
	"parley/a2aserver"
)

// TestCheck08GRPCGoSDK1 is called by the client of a2a-go v2.
func TestCheck08GRPCGoSDK1(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.Capabilities.ExtendedAgentCard = true
	card.DefaultInputModes = []string{"*/*"}
	s, ctx := serveGRPC(t, config{card: &card}, nil), t.Context()
	c := client1.NewGRPCTransport(s.conn)
	say := func(parts ...*sdk1.Part) *sdk1.SendMessageRequest {
		return &sdk1.SendMessageRequest{Message: sdk1.NewMessage(sdk1.MessageRoleUser, parts...)}
	}
	r, err := c.SendMessage(ctx, nil, say(sdk1.NewTextPart("do it"), sdk1.NewDataPart(map[string]any{"k": "x"}), sdk1.NewRawPart([]byte("\x00\x01"))))
	task, _ := r.(*sdk1.Task)
	if err != nil || task == nil || task.Status.State != sdk1.TaskStateCompleted || task.Artifacts[0].Parts[0].Text() != "it" {
		t.Fatalf("answered %+v, %v", r, err)
	}
	if r, err = c.SendMessage(ctx, nil, say(sdk1.NewTextPart("hello"))); err != nil || r.(*sdk1.Message).Parts[0].Text() != "echo: hello" {
		t.Fatalf("answered %+v, %v", r, err)
	}
	var last sdk1.Event
	n := 0
	for e, err := range c.SendStreamingMessage(ctx, nil, say(sdk1.NewTextPart("do more"))) {
		if err != nil {
			t.Fatal(err)
		}
		if _, whole := e.(*sdk1.Task); n == 0 && !whole {
			t.Errorf("the stream begins with %T", e)
		}
		last = e
		n++
	}
	if u, ok := last.(*sdk1.TaskStatusUpdateEvent); !ok || u.Status.State != sdk1.TaskStateCompleted || n < 3 {
		t.Errorf("%d events, the last is %+v", n, last)
	}
	if got, err := c.GetTask(ctx, nil, &sdk1.GetTaskRequest{ID: task.ID}); err != nil || got.ID != task.ID {
		t.Errorf("got %+v, %v", got, err)
	}
	if page, err := c.ListTasks(ctx, nil, &sdk1.ListTasksRequest{PageSize: 10}); err != nil || len(page.Tasks) != 2 {
		t.Errorf("listed %+v, %v", page, err)
	}
	if _, err := c.GetTask(ctx, nil, &sdk1.GetTaskRequest{ID: "none"}); !errors.Is(err, sdk1.ErrTaskNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
	if _, err := c.CancelTask(ctx, nil, &sdk1.CancelTaskRequest{ID: task.ID}); !errors.Is(err, sdk1.ErrTaskNotCancelable) {
		t.Errorf("canceling what has ended: %v", err)
	}
	if _, err := c.CreateTaskPushConfig(ctx, nil, &sdk1.PushConfig{TaskID: task.ID, URL: "https://hook.example/"}); !errors.Is(err, sdk1.ErrPushNotificationNotSupported) {
		t.Errorf("a push configuration: %v", err)
	}
	if _, err := c.GetExtendedAgentCard(ctx, nil, &sdk1.GetExtendedAgentCardRequest{}); !errors.Is(err, sdk1.ErrExtendedCardNotConfigured) {
		t.Errorf("the extended card: %v", err)
	}
}

// TestCheck08GRPCGoSDK03 is called by the client of a2a-go v0.3.
func TestCheck08GRPCGoSDK03(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.DefaultInputModes = []string{"*/*"}
	s, ctx := serveGRPC(t, config{card: &card, exec: execFunc(mirror)}, nil), t.Context()
	c := client03.NewGRPCTransport(s.conn)
	say := func(parts ...sdk03.Part) *sdk03.MessageSendParams {
		return &sdk03.MessageSendParams{Message: sdk03.NewMessage(sdk03.MessageRoleUser, parts...)}
	}
	for _, raw := range []string{"hi", "\x00\xff\x10", "aGk=", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="} {
		sent := base64.StdEncoding.EncodeToString([]byte(raw))
		r, err := c.SendMessage(ctx, say(sdk03.TextPart{Text: "mirror"}, sdk03.FilePart{File: sdk03.FileBytes{
			FileMeta: sdk03.FileMeta{MimeType: "image/png", Name: "f.png"}, Bytes: sent,
		}}, sdk03.DataPart{Data: map[string]any{"k": []any{1.0}}}))
		m, _ := r.(*sdk03.Message)
		if err != nil || m == nil || len(m.Parts) != 3 {
			t.Fatalf("answered %+v, %v", r, err)
		}
		if f, ok := m.Parts[1].(sdk03.FilePart).File.(sdk03.FileBytes); !ok || f.Bytes != sent || f.Name != "f.png" || f.MimeType != "image/png" {
			t.Errorf("%q came back as %+v", sent, m.Parts[1])
		}
	}
	r, err := c.SendMessage(ctx, say(sdk03.TextPart{Text: "do it"}))
	task, _ := r.(*sdk03.Task)
	if err != nil || task == nil || task.Status.State != sdk03.TaskStateCompleted {
		t.Fatalf("answered %+v, %v", r, err)
	}
	var final bool
	for e, err := range c.SendStreamingMessage(ctx, say(sdk03.TextPart{Text: "do more"})) {
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := e.(*sdk03.TaskStatusUpdateEvent); ok {
			final = u.Final
		}
	}
	if !final {
		t.Error("the stream did not say that it ends")
	}
	if got, err := c.GetTask(ctx, &sdk03.TaskQueryParams{ID: task.ID}); err != nil || got.ID != task.ID {
		t.Errorf("got %+v, %v", got, err)
	}
	for e, err := range c.ResubscribeToTask(ctx, &sdk03.TaskIDParams{ID: task.ID}) {
		if err != nil {
			t.Errorf("subscribed: %+v, %v", e, err)
		}
	}
	if _, err := c.GetTask(ctx, &sdk03.TaskQueryParams{ID: "none"}); !errors.Is(err, sdk03.ErrTaskNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
	if _, err := c.CancelTask(ctx, &sdk03.TaskIDParams{ID: task.ID}); !errors.Is(err, sdk03.ErrTaskNotCancelable) {
		t.Errorf("canceling what has ended: %v", err)
	}
	if got, err := c.GetAgentCard(ctx); err != nil || got.Name != card.Name || got.PreferredTransport == "" || len(got.Skills) != 1 {
		t.Errorf("the card: %+v, %v", got, err)
	}
}

// mirror answers "mirror" with what it was sent, and obeys otherwise.
func mirror(ctx context.Context, t *a2aserver.Turn, yield func(a2a.Event) bool) error {
	if t.Task == nil && t.Message.Parts[0].Text == "mirror" {
		yield(&a2a.Message{Parts: t.Message.Parts})
		return nil
	}
	return obey(ctx, t, yield)
}
