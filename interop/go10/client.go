package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"parley/interop/peer"
)

type client struct {
	*a2aclient.Client
	card *a2a.AgentCard
	with a2aclient.ServiceParams
}

const session = a2aclient.SessionID("peer")

func dial(ctx context.Context, d *peer.Dial) (peer.Client, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, d.URL)
	var status *agentcard.ErrStatusNotOK
	if errors.As(err, &status) && status.StatusCode == http.StatusUnauthorized { // the card, too, is for callers with a token
		card, err = agentcard.DefaultResolver.Resolve(ctx, d.URL, agentcard.WithRequestHeader("Authorization", "Bearer "+d.Token))
	}
	if err != nil {
		return nil, err
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool {
		return string(i.ProtocolBinding) != d.Binding || i.ProtocolVersion != a2a.Version
	})
	secrets := a2aclient.NewInMemoryCredentialsStore()
	for name := range card.SecuritySchemes {
		secrets.Set(session, name, a2aclient.AuthCredential(d.Token))
	}
	c, err := a2aclient.NewFromCard(ctx, card,
		a2aclient.WithCallInterceptors(&a2aclient.AuthInterceptor{Service: secrets}),
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return nil, err
	}
	with := a2aclient.ServiceParams{}
	if len(d.Extensions) > 0 {
		with.Append(a2a.SvcParamExtensions, d.Extensions...)
	}
	return &client{c, card, with}, nil
}

func (c *client) in(ctx context.Context) context.Context {
	return a2aclient.AttachServiceParams(a2aclient.AttachSessionID(ctx, session), c.with)
}

func (c *client) Card(context.Context) (*peer.Card, error) { return card(c.card), nil }

func card(c *a2a.AgentCard) *peer.Card {
	return &peer.Card{Name: c.Name, Skills: len(c.Skills), Streaming: c.Capabilities.Streaming, Push: c.Capabilities.PushNotifications, Security: peer.Raw(map[string]any{
		"securitySchemes": c.SecuritySchemes, "securityRequirements": c.SecurityRequirements,
	})}
}

func (c *client) Extended(ctx context.Context) (*peer.Card, error) {
	e, err := c.GetExtendedAgentCard(c.in(ctx), &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return nil, err
	}
	return card(e), nil
}

func request(m *peer.Message) *a2a.SendMessageRequest {
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(m.Text))
	msg.TaskID, msg.ContextID = a2a.TaskID(m.Task), m.Context
	msg.Parts = append(msg.Parts, toParts(m.Parts)...)
	json.Unmarshal(m.Metadata, &msg.Metadata)
	for _, id := range m.References {
		msg.ReferenceTasks = append(msg.ReferenceTasks, a2a.TaskID(id))
	}
	config := &a2a.SendMessageConfig{ReturnImmediately: m.NoWait, HistoryLength: m.History, AcceptedOutputModes: m.Accept}
	if m.Push != nil {
		config.PushConfig = toPush(m.Push)
	}
	return &a2a.SendMessageRequest{Message: msg, Config: config}
}

func (c *client) Send(ctx context.Context, m *peer.Message) (*peer.Event, error) {
	r, err := c.SendMessage(c.in(ctx), request(m))
	if err != nil {
		return nil, err
	}
	return event(r), nil
}

func (c *client) Stream(ctx context.Context, m *peer.Message) iter.Seq2[*peer.Event, error] {
	return events(c.SendStreamingMessage(c.in(ctx), request(m)))
}

func (c *client) Subscribe(ctx context.Context, task string) iter.Seq2[*peer.Event, error] {
	return events(c.SubscribeToTask(c.in(ctx), &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(task)}))
}

func (c *client) Get(ctx context.Context, task string, history *int) (*peer.Event, error) {
	t, err := c.GetTask(c.in(ctx), &a2a.GetTaskRequest{ID: a2a.TaskID(task), HistoryLength: history})
	if err != nil {
		return nil, err
	}
	return event(t), nil
}

func (c *client) Cancel(ctx context.Context, task string) (*peer.Event, error) {
	t, err := c.CancelTask(c.in(ctx), &a2a.CancelTaskRequest{ID: a2a.TaskID(task)})
	if err != nil {
		return nil, err
	}
	return event(t), nil
}

func (c *client) List(ctx context.Context, talk string, size int, token string) ([]string, string, error) {
	page, err := c.ListTasks(c.in(ctx), &a2a.ListTasksRequest{ContextID: talk, PageSize: size, PageToken: token})
	if err != nil {
		return nil, "", err
	}
	var ids []string
	for _, t := range page.Tasks {
		ids = append(ids, string(t.ID))
	}
	return ids, page.NextPageToken, nil
}

func toPush(p *peer.Push) *a2a.PushConfig {
	c := &a2a.PushConfig{TaskID: a2a.TaskID(p.Task), ID: p.ID, URL: p.URL, Token: p.Token}
	if p.Scheme != "" {
		c.Auth = &a2a.PushAuthInfo{Scheme: p.Scheme, Credentials: p.Credentials}
	}
	return c
}

func fromPush(c *a2a.PushConfig) *peer.Push {
	p := &peer.Push{Task: string(c.TaskID), ID: c.ID, URL: c.URL, Token: c.Token}
	if c.Auth != nil {
		p.Scheme, p.Credentials = c.Auth.Scheme, c.Auth.Credentials
	}
	return p
}

func (c *client) PushSet(ctx context.Context, p *peer.Push) (*peer.Push, error) {
	got, err := c.CreateTaskPushConfig(c.in(ctx), toPush(p))
	if err != nil {
		return nil, err
	}
	return fromPush(got), nil
}

func (c *client) PushGet(ctx context.Context, task, id string) (*peer.Push, error) {
	got, err := c.GetTaskPushConfig(c.in(ctx), &a2a.GetTaskPushConfigRequest{TaskID: a2a.TaskID(task), ID: id})
	if err != nil {
		return nil, err
	}
	return fromPush(got), nil
}

func (c *client) PushList(ctx context.Context, task string) ([]*peer.Push, error) {
	all, err := c.ListTaskPushConfigs(c.in(ctx), &a2a.ListTaskPushConfigRequest{TaskID: a2a.TaskID(task)})
	var out []*peer.Push
	for _, p := range all {
		out = append(out, fromPush(p))
	}
	return out, err
}

func (c *client) PushDelete(ctx context.Context, task, id string) error {
	return c.DeleteTaskPushConfig(c.in(ctx), &a2a.DeleteTaskPushConfigRequest{TaskID: a2a.TaskID(task), ID: id})
}

func events(from iter.Seq2[a2a.Event, error]) iter.Seq2[*peer.Event, error] {
	return func(yield func(*peer.Event, error) bool) {
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
