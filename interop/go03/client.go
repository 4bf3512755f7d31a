package main

import (
	"context"
	"encoding/base64"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

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
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithInterceptors(&a2aclient.AuthInterceptor{Service: secrets}))
	if err != nil {
		return nil, err
	}
	return &client{c, card}, nil
}

func in(ctx context.Context) context.Context { return a2aclient.WithSessionID(ctx, session) }

func (c *client) Card(context.Context) (check.Card, error) {
	return check.Card{Name: c.card.Name, Skills: len(c.card.Skills), Streaming: c.card.Capabilities.Streaming}, nil
}

func request(m check.Message) *a2a.MessageSendParams {
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: m.Text})
	msg.TaskID, msg.ContextID = a2a.TaskID(m.TaskID), m.ContextID
	for _, p := range m.More {
		switch {
		case p.Data != nil:
			msg.Parts = append(msg.Parts, a2a.DataPart{Data: p.Data.(map[string]any)})
		default:
			msg.Parts = append(msg.Parts, a2a.FilePart{File: a2a.FileBytes{
				FileMeta: a2a.FileMeta{Name: p.Name, MimeType: p.MediaType},
				Bytes:    base64.StdEncoding.EncodeToString(p.Bytes),
			}})
		}
	}
	blocking := !m.NoWait
	return &a2a.MessageSendParams{Message: msg, Config: &a2a.MessageSendConfig{Blocking: &blocking}}
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
	return events(c.ResubscribeToTask(in(ctx), &a2a.TaskIDParams{ID: a2a.TaskID(task)}))
}

func (c *client) Get(ctx context.Context, task string) (*check.Reply, error) {
	t, err := c.GetTask(in(ctx), &a2a.TaskQueryParams{ID: a2a.TaskID(task)})
	if err != nil {
		return nil, err
	}
	return reply(t), nil
}

func (c *client) Cancel(ctx context.Context, task string) (*check.Reply, error) {
	t, err := c.CancelTask(in(ctx), &a2a.TaskIDParams{ID: a2a.TaskID(task)})
	if err != nil {
		return nil, err
	}
	return reply(t), nil
}

func (c *client) List(context.Context, string, int, string) ([]string, string, error) {
	return nil, "", check.ErrNotInThisVersion
}

func (c *client) Push(ctx context.Context, task, url string) error {
	_, err := c.SetTaskPushConfig(in(ctx), &a2a.TaskPushConfig{TaskID: a2a.TaskID(task), Config: a2a.PushConfig{URL: url}})
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

func state(s a2a.TaskState) string { return strings.ToLower(string(s)) }

func parts(in a2a.ContentParts) []check.Part {
	var out []check.Part
	for _, p := range in {
		switch p := p.(type) {
		case a2a.TextPart:
			out = append(out, check.Part{Text: p.Text})
		case a2a.DataPart:
			out = append(out, check.Part{Data: p.Data})
		case a2a.FilePart:
			switch f := p.File.(type) {
			case a2a.FileBytes:
				b, err := base64.StdEncoding.DecodeString(f.Bytes)
				if err != nil {
					b = []byte("not base64: " + f.Bytes)
				}
				out = append(out, check.Part{Bytes: b, Name: f.Name, MediaType: f.MimeType})
			case a2a.FileURI:
				out = append(out, check.Part{URL: f.URI, Name: f.Name, MediaType: f.MimeType})
			}
		}
	}
	return out
}
