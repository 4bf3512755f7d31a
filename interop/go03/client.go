package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"parley/interop/peer"
)

type client struct {
	*a2aclient.Client
	card *a2a.AgentCard
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
	if string(card.PreferredTransport) != d.Binding {
		i := slices.IndexFunc(card.AdditionalInterfaces, func(i a2a.AgentInterface) bool { return string(i.Transport) == d.Binding })
		if i < 0 {
			return nil, fmt.Errorf("the card offers no %s", d.Binding)
		}
		card.PreferredTransport, card.URL = card.AdditionalInterfaces[i].Transport, card.AdditionalInterfaces[i].URL
	}
	card.AdditionalInterfaces = nil
	secrets := a2aclient.NewInMemoryCredentialsStore()
	for name := range card.SecuritySchemes {
		secrets.Set(session, name, a2aclient.AuthCredential(d.Token))
	}
	with := a2aclient.CallMeta{}
	if len(d.Extensions) > 0 {
		with.Append("X-A2A-Extensions", d.Extensions...)
	}
	c, err := a2aclient.NewFromCard(ctx, card,
		a2aclient.WithInterceptors(&a2aclient.AuthInterceptor{Service: secrets}, a2aclient.NewStaticCallMetaInjector(with)),
		a2aclient.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return nil, err
	}
	return &client{c, card}, nil
}

func (c *client) in(ctx context.Context) context.Context {
	return a2aclient.WithSessionID(ctx, session)
}

func (c *client) Card(context.Context) (*peer.Card, error) { return card(c.card), nil }

func card(c *a2a.AgentCard) *peer.Card {
	return &peer.Card{Name: c.Name, Skills: len(c.Skills), Streaming: c.Capabilities.Streaming, Push: c.Capabilities.PushNotifications, Security: peer.Raw(map[string]any{
		"securitySchemes": c.SecuritySchemes, "security": c.Security,
	})}
}

func (c *client) Extended(ctx context.Context) (*peer.Card, error) {
	e, err := c.GetAgentCard(c.in(ctx))
	if err != nil {
		return nil, err
	}
	return card(e), nil
}

func request(m *peer.Message) (*a2a.MessageSendParams, error) {
	more, err := toParts(m.Parts)
	if err != nil {
		return nil, err
	}
	msg := a2a.NewMessage(a2a.MessageRoleUser, append(a2a.ContentParts{a2a.TextPart{Text: m.Text}}, more...)...)
	msg.TaskID, msg.ContextID = a2a.TaskID(m.Task), m.Context
	json.Unmarshal(m.Metadata, &msg.Metadata)
	for _, id := range m.References {
		msg.ReferenceTasks = append(msg.ReferenceTasks, a2a.TaskID(id))
	}
	block := !m.NoWait
	config := &a2a.MessageSendConfig{Blocking: &block, HistoryLength: m.History, AcceptedOutputModes: m.Accept}
	if m.Push != nil {
		config.PushConfig = &toPush(m.Push).Config
	}
	return &a2a.MessageSendParams{Message: msg, Config: config}, nil
}

func (c *client) Send(ctx context.Context, m *peer.Message) (*peer.Event, error) {
	p, err := request(m)
	if err != nil {
		return nil, err
	}
	r, err := c.SendMessage(c.in(ctx), p)
	if err != nil {
		return nil, err
	}
	return event(r), nil
}

func (c *client) Stream(ctx context.Context, m *peer.Message) iter.Seq2[*peer.Event, error] {
	p, err := request(m)
	if err != nil {
		return peer.Fail(err)
	}
	return events(c.SendStreamingMessage(c.in(ctx), p))
}

func (c *client) Subscribe(ctx context.Context, task string) iter.Seq2[*peer.Event, error] {
	return events(c.ResubscribeToTask(c.in(ctx), &a2a.TaskIDParams{ID: a2a.TaskID(task)}))
}

func (c *client) Get(ctx context.Context, task string, history *int) (*peer.Event, error) {
	t, err := c.GetTask(c.in(ctx), &a2a.TaskQueryParams{ID: a2a.TaskID(task), HistoryLength: history})
	if err != nil {
		return nil, err
	}
	return event(t), nil
}

func (c *client) Cancel(ctx context.Context, task string) (*peer.Event, error) {
	t, err := c.CancelTask(c.in(ctx), &a2a.TaskIDParams{ID: a2a.TaskID(task)})
	if err != nil {
		return nil, err
	}
	return event(t), nil
}

func (c *client) List(context.Context, string, int, string) ([]string, string, error) {
	return nil, "", peer.ErrNone
}

func toPush(p *peer.Push) *a2a.TaskPushConfig {
	c := &a2a.TaskPushConfig{TaskID: a2a.TaskID(p.Task), Config: a2a.PushConfig{ID: p.ID, URL: p.URL, Token: p.Token}}
	if p.Scheme != "" {
		c.Config.Auth = &a2a.PushAuthInfo{Schemes: []string{p.Scheme}, Credentials: p.Credentials}
	}
	return c
}

func fromPush(c *a2a.TaskPushConfig) *peer.Push {
	p := &peer.Push{Task: string(c.TaskID), ID: c.Config.ID, URL: c.Config.URL, Token: c.Config.Token}
	if a := c.Config.Auth; a != nil && len(a.Schemes) > 0 {
		p.Scheme, p.Credentials = a.Schemes[0], a.Credentials
	}
	return p
}

func (c *client) PushSet(ctx context.Context, p *peer.Push) (*peer.Push, error) {
	got, err := c.SetTaskPushConfig(c.in(ctx), toPush(p))
	if err != nil {
		return nil, err
	}
	return fromPush(got), nil
}

func (c *client) PushGet(ctx context.Context, task, id string) (*peer.Push, error) {
	got, err := c.GetTaskPushConfig(c.in(ctx), &a2a.GetTaskPushConfigParams{TaskID: a2a.TaskID(task), ConfigID: id})
	if err != nil {
		return nil, err
	}
	return fromPush(got), nil
}

func (c *client) PushList(ctx context.Context, task string) ([]*peer.Push, error) {
	all, err := c.ListTaskPushConfig(c.in(ctx), &a2a.ListTaskPushConfigParams{TaskID: a2a.TaskID(task)})
	var out []*peer.Push
	for _, p := range all {
		out = append(out, fromPush(p))
	}
	return out, err
}

func (c *client) PushDelete(ctx context.Context, task, id string) error {
	return c.DeleteTaskPushConfig(c.in(ctx), &a2a.DeleteTaskPushConfigParams{TaskID: a2a.TaskID(task), ConfigID: id})
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
