package main

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"

	"parley/interop/peer"
)

type caller struct {
	*client.A2AClient
	card *server.AgentCard
}

// bearer adds the token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dial(ctx context.Context, d *peer.Dial) (peer.Client, error) {
	hc := client.WithHTTPClient(&http.Client{Transport: bearer(d.Token)})
	c, err := client.NewA2AClient(d.URL, hc)
	if err != nil {
		return nil, err
	}
	card, err := c.GetAgentCard(ctx, "")
	if err != nil {
		return nil, err
	}
	if c, err = client.NewA2AClient(card.URL, hc); err != nil {
		return nil, err
	}
	return &caller{c, card}, nil
}

func (c *caller) Card(context.Context) (*peer.Card, error) { return card(c.card), nil }

func card(c *server.AgentCard) *peer.Card {
	return &peer.Card{Name: c.Name, Skills: len(c.Skills), Streaming: yes(c.Capabilities.Streaming), Push: yes(c.Capabilities.PushNotifications), Security: peer.Raw(map[string]any{
		"securitySchemes": c.SecuritySchemes, "security": c.Security,
	})}
}

func (c *caller) Extended(ctx context.Context) (*peer.Card, error) {
	got, err := c.GetAuthenticatedExtendedCard(ctx)
	if err != nil {
		return nil, err
	}
	return card(got), nil
}

func params(m *peer.Message) protocol.SendMessageParams {
	block := !m.NoWait
	p := protocol.SendMessageParams{Configuration: &protocol.SendMessageConfiguration{
		AcceptedOutputModes: []string{}, HistoryLength: m.History, Blocking: &block,
	}}
	p.Message = protocol.NewMessageWithContext(protocol.MessageRoleUser,
		append([]protocol.Part{&protocol.TextPart{Kind: protocol.KindText, Text: m.Text}}, toParts(m.Parts)...), some(m.Task), some(m.Context))
	p.Message.ReferenceTaskIDs = m.References
	json.Unmarshal(m.Metadata, &p.Message.Metadata)
	if m.Push != nil {
		c := toPush(m.Push).PushNotificationConfig
		p.Configuration.PushNotificationConfig = &c
	}
	if m.Accept != nil {
		p.Configuration.AcceptedOutputModes = m.Accept
	}
	return p
}

func (c *caller) Send(ctx context.Context, m *peer.Message) (*peer.Event, error) {
	r, err := c.SendMessage(ctx, params(m))
	if err != nil {
		return nil, err
	}
	return event(r.Result), nil
}

func (c *caller) Stream(ctx context.Context, m *peer.Message) iter.Seq2[*peer.Event, error] {
	return events(c.StreamMessage(ctx, params(m)))
}

func (c *caller) Subscribe(ctx context.Context, task string) iter.Seq2[*peer.Event, error] {
	return events(c.ResubscribeTask(ctx, protocol.TaskIDParams{ID: task}))
}

func events(from <-chan protocol.StreamingMessageEvent, err error) iter.Seq2[*peer.Event, error] {
	if err != nil {
		return peer.Fail(err)
	}
	return func(yield func(*peer.Event, error) bool) {
		for e := range from {
			if !yield(event(e.Result), nil) {
				return
			}
		}
	}
}

func (c *caller) Get(ctx context.Context, id string, history *int) (*peer.Event, error) {
	t, err := c.GetTasks(ctx, protocol.TaskQueryParams{ID: id, HistoryLength: history})
	if err != nil {
		return nil, err
	}
	return event(t), nil
}

func (c *caller) Cancel(ctx context.Context, id string) (*peer.Event, error) {
	t, err := c.CancelTasks(ctx, protocol.TaskIDParams{ID: id})
	if err != nil {
		return nil, err
	}
	return event(t), nil
}

func (c *caller) List(context.Context, string, int, string) ([]string, string, error) {
	return nil, "", peer.ErrNone
}

func toPush(p *peer.Push) protocol.TaskPushNotificationConfig {
	c := protocol.TaskPushNotificationConfig{TaskID: p.Task, PushNotificationConfig: protocol.PushNotificationConfig{ID: p.ID, URL: p.URL, Token: p.Token}}
	if p.Scheme != "" {
		c.PushNotificationConfig.Authentication = &protocol.AuthenticationInfo{Schemes: []string{p.Scheme}, Credentials: some(p.Credentials)}
	}
	return c
}

func fromPush(c *protocol.TaskPushNotificationConfig) *peer.Push {
	p := &peer.Push{Task: c.TaskID, ID: c.PushNotificationConfig.ID, URL: c.PushNotificationConfig.URL, Token: c.PushNotificationConfig.Token}
	if a := c.PushNotificationConfig.Authentication; a != nil && len(a.Schemes) > 0 {
		p.Scheme, p.Credentials = a.Schemes[0], is(a.Credentials)
	}
	return p
}

func (c *caller) PushSet(ctx context.Context, p *peer.Push) (*peer.Push, error) {
	got, err := c.SetPushNotification(ctx, toPush(p))
	if err != nil {
		return nil, err
	}
	return fromPush(got), nil
}

func (c *caller) PushGet(ctx context.Context, id, _ string) (*peer.Push, error) {
	got, err := c.GetPushNotification(ctx, protocol.TaskIDParams{ID: id})
	if err != nil {
		return nil, err
	}
	return fromPush(got), nil
}

func (c *caller) PushList(context.Context, string) ([]*peer.Push, error) { return nil, peer.ErrNone }

func (c *caller) PushDelete(context.Context, string, string) error { return peer.ErrNone }
