package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"trpc.group/trpc-go/trpc-a2a-go/client"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"

	"parley/interop/peer"
)

type caller struct {
	*client.A2AClient
	card *server.AgentCard
}

// bearer adds the token: the SDK of that time has no bearer tokens of its own.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dial(ctx context.Context, d *peer.Dial) (peer.Client, error) {
	hc := &http.Client{Transport: bearer(d.Token)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(d.URL, "/")+"/.well-known/agent.json", nil)
	if err != nil {
		return nil, err
	}
	resp, err := hc.Do(req) // the SDK reads no cards
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the card: %s", resp.Status)
	}
	card := &server.AgentCard{}
	if err := json.NewDecoder(resp.Body).Decode(card); err != nil {
		return nil, err
	}
	c, err := client.NewA2AClient(card.URL, client.WithHTTPClient(hc))
	if err != nil {
		return nil, err
	}
	return &caller{c, card}, nil
}

func (c *caller) Card(context.Context) (*peer.Card, error) {
	return &peer.Card{Name: c.card.Name, Skills: len(c.card.Skills), Streaming: c.card.Capabilities.Streaming, Push: c.card.Capabilities.PushNotifications, Security: peer.Raw(map[string]any{
		"authentication": c.card.Authentication,
	})}, nil
}

func (c *caller) Extended(context.Context) (*peer.Card, error) { return nil, peer.ErrNone }

func params(m *peer.Message) (protocol.SendTaskParams, error) {
	if m.NoWait || m.References != nil || m.Accept != nil { // v0.1 has none of them, or this SDK
		return protocol.SendTaskParams{}, peer.ErrNone
	}
	p := protocol.SendTaskParams{ID: m.Task, SessionID: some(m.Context), HistoryLength: m.History}
	if p.ID == "" {
		p.ID = peer.NewID() // v0.1: the client makes it
	}
	p.Message = protocol.NewMessage(protocol.MessageRoleUser, append([]protocol.Part{protocol.NewTextPart(m.Text)}, toParts(m.Parts)...))
	json.Unmarshal(m.Metadata, &p.Message.Metadata)
	if m.Push != nil {
		c := toPush(m.Push).PushNotificationConfig
		p.PushNotification = &c
	}
	return p, nil
}

func (c *caller) Send(ctx context.Context, m *peer.Message) (*peer.Event, error) {
	p, err := params(m)
	if err != nil {
		return nil, err
	}
	t, err := c.SendTasks(ctx, p)
	if err != nil {
		return nil, err
	}
	return task(t), nil
}

func (c *caller) Stream(ctx context.Context, m *peer.Message) iter.Seq2[*peer.Event, error] {
	p, err := params(m)
	if err != nil {
		return peer.Fail(err)
	}
	return func(yield func(*peer.Event, error) bool) {
		events, err := c.StreamTask(ctx, p)
		if err != nil {
			yield(nil, err)
			return
		}
		for e := range events {
			if !yield(event(e), nil) || e.IsFinal() && isStatus(e) {
				return
			}
		}
		if ctx.Err() == nil {
			yield(nil, errors.New("the stream ended without a final event"))
		}
	}
}

func isStatus(e protocol.TaskEvent) bool { _, ok := e.(protocol.TaskStatusUpdateEvent); return ok }

func (c *caller) Subscribe(context.Context, string) iter.Seq2[*peer.Event, error] {
	return peer.Fail(peer.ErrNone)
}

func (c *caller) Get(ctx context.Context, id string, history *int) (*peer.Event, error) {
	t, err := c.GetTasks(ctx, protocol.TaskQueryParams{ID: id, HistoryLength: history})
	if err != nil {
		return nil, err
	}
	return task(t), nil
}

func (c *caller) Cancel(ctx context.Context, id string) (*peer.Event, error) {
	t, err := c.CancelTasks(ctx, protocol.TaskIDParams{ID: id})
	if err != nil {
		return nil, err
	}
	return task(t), nil
}

func (c *caller) List(context.Context, string, int, string) ([]string, string, error) {
	return nil, "", peer.ErrNone
}

func toPush(p *peer.Push) protocol.TaskPushNotificationConfig {
	c := protocol.TaskPushNotificationConfig{ID: p.Task, PushNotificationConfig: protocol.PushNotificationConfig{URL: p.URL, Token: p.Token}}
	if p.Scheme != "" {
		c.PushNotificationConfig.Authentication = &protocol.AuthenticationInfo{Schemes: []string{p.Scheme}, Credentials: some(p.Credentials)}
	}
	return c
}

func fromPush(c *protocol.TaskPushNotificationConfig) *peer.Push {
	p := &peer.Push{Task: c.ID, URL: c.PushNotificationConfig.URL, Token: c.PushNotificationConfig.Token}
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
