package main

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"parley/interop/check"
)

type client struct {
	*a2aclient.Client
	card *a2a.AgentCard
}

const session = a2aclient.SessionID("check")

func dial(ctx context.Context, url, token string) (check.Client, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, url)
	var status *agentcard.ErrStatusNotOK
	if errors.As(err, &status) && status.StatusCode == http.StatusUnauthorized { // the card, too, is for callers with a token
		card, err = agentcard.DefaultResolver.Resolve(ctx, url, agentcard.WithRequestHeader("Authorization", "Bearer "+token))
	}
	if err != nil {
		return nil, err
	}
	secrets := a2aclient.NewInMemoryCredentialsStore()
	for name := range card.SecuritySchemes {
		secrets.Set(session, name, a2aclient.AuthCredential(token))
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithCallInterceptors(&a2aclient.AuthInterceptor{Service: secrets}))
	if err != nil {
		return nil, err
	}
	return &client{c, card}, nil
}

func in(ctx context.Context) context.Context { return a2aclient.AttachSessionID(ctx, session) }

func (c *client) Card(context.Context) (check.Card, error) {
	return check.Card{Name: c.card.Name, Skills: len(c.card.Skills), Streaming: c.card.Capabilities.Streaming}, nil
}

func request(m check.Message) *a2a.SendMessageRequest {
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(m.Text))
	msg.TaskID, msg.ContextID = a2a.TaskID(m.TaskID), m.ContextID
	for _, p := range m.More {
		part := a2a.NewRawPart(p.Bytes)
		if p.Data != nil {
			part = a2a.NewDataPart(p.Data)
		}
		part.Filename, part.MediaType = p.Name, p.MediaType
		msg.Parts = append(msg.Parts, part)
	}
	return &a2a.SendMessageRequest{Message: msg, Config: &a2a.SendMessageConfig{ReturnImmediately: m.NoWait}}
}

func (c *client) Send(ctx context.Context, m check.Message) (*check.Reply, error) {
	r, err := c.SendMessage(in(ctx), request(m))
	if err != nil {
		return nil, err
	}
	if msg, ok := r.(*a2a.Message); ok {
		return &check.Reply{Message: true, TaskID: string(msg.TaskID), ContextID: msg.ContextID, Parts: parts(msg.Parts)}, nil
	}
	return reply(r.(*a2a.Task)), nil
}

func (c *client) Stream(ctx context.Context, m check.Message) iter.Seq2[*check.Event, error] {
	return events(c.SendStreamingMessage(in(ctx), request(m)))
}

func (c *client) Subscribe(ctx context.Context, task string) iter.Seq2[*check.Event, error] {
	return events(c.SubscribeToTask(in(ctx), &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(task)}))
}

func (c *client) Get(ctx context.Context, task string) (*check.Reply, error) {
	t, err := c.GetTask(in(ctx), &a2a.GetTaskRequest{ID: a2a.TaskID(task)})
	if err != nil {
		return nil, err
	}
	return reply(t), nil
}

func (c *client) Cancel(ctx context.Context, task string) (*check.Reply, error) {
	t, err := c.CancelTask(in(ctx), &a2a.CancelTaskRequest{ID: a2a.TaskID(task)})
	if err != nil {
		return nil, err
	}
	return reply(t), nil
}

func (c *client) List(ctx context.Context, talk string, size int, token string) ([]string, string, error) {
	page, err := c.ListTasks(in(ctx), &a2a.ListTasksRequest{ContextID: talk, PageSize: size, PageToken: token})
	if err != nil {
		return nil, "", err
	}
	var ids []string
	for _, t := range page.Tasks {
		ids = append(ids, string(t.ID))
	}
	return ids, page.NextPageToken, nil
}

func (c *client) Push(ctx context.Context, task, url string) error {
	_, err := c.CreateTaskPushConfig(in(ctx), &a2a.PushConfig{TaskID: a2a.TaskID(task), URL: url})
	return err
}

func (c *client) Kind(err error) string {
	for kind, is := range map[string]error{
		"task-not-found":        a2a.ErrTaskNotFound,
		"task-not-cancelable":   a2a.ErrTaskNotCancelable,
		"push-not-supported":    a2a.ErrPushNotificationNotSupported,
		"unsupported-operation": a2a.ErrUnsupportedOperation,
		"invalid-params":        a2a.ErrInvalidParams,
		"invalid-request":       a2a.ErrInvalidRequest,
		"unauthenticated":       a2a.ErrUnauthenticated,
	} {
		if errors.Is(err, is) {
			return kind
		}
	}
	return ""
}

func events(from iter.Seq2[a2a.Event, error]) iter.Seq2[*check.Event, error] {
	return func(yield func(*check.Event, error) bool) {
		for e, err := range from {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(event(e), nil) {
				return
			}
		}
	}
}

func event(e a2a.Event) *check.Event {
	info := e.TaskInfo()
	out := &check.Event{TaskID: string(info.TaskID), ContextID: info.ContextID}
	switch e := e.(type) {
	case *a2a.Message:
		out.Kind, out.Parts = "message", parts(e.Parts)
	case *a2a.Task:
		r := reply(e)
		out.Kind, out.State, out.Parts = "task", r.State, r.Parts
	case *a2a.TaskStatusUpdateEvent:
		out.Kind, out.State, out.Parts = "status", state(e.Status.State), said(e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		out.Kind, out.Artifact, out.Append, out.Parts = "artifact", string(e.Artifact.ID), e.Append, parts(e.Artifact.Parts)
	}
	return out
}

func reply(t *a2a.Task) *check.Reply {
	r := &check.Reply{TaskID: string(t.ID), ContextID: t.ContextID, State: state(t.Status.State)}
	for _, a := range t.Artifacts {
		r.Parts = append(r.Parts, parts(a.Parts)...)
	}
	if len(r.Parts) == 0 {
		r.Parts = said(t.Status)
	}
	return r
}

// said returns what stands in a status that ends a task well.
func said(s a2a.TaskStatus) []check.Part {
	if s.Message == nil || s.State != a2a.TaskStateCompleted {
		return nil
	}
	return parts(s.Message.Parts)
}

// state turns TASK_STATE_INPUT_REQUIRED into input-required.
func state(s a2a.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(s), "TASK_STATE_"), "_", "-"))
}

func parts(in a2a.ContentParts) []check.Part {
	var out []check.Part
	for _, p := range in {
		out = append(out, check.Part{
			Text: p.Text(), Bytes: p.Raw(), URL: string(p.URL()), Data: p.Data(), Name: p.Filename, MediaType: p.MediaType,
		})
	}
	return out
}
