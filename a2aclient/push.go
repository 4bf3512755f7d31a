package a2aclient

import (
	"context"
	"errors"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// SetPush asks the agent to report a task, p.TaskID, to a webhook, and returns what it keeps of that: the id, where it made
// one; credentials only as far as it shows them.
func (c *Client) SetPush(ctx context.Context, p *a2a.PushConfig) (*a2a.PushConfig, error) {
	return c.push(ctx, wire.OpPushSet, p, p.TaskID)
}

// GetPush returns a push configuration of a task. Before v1.0 an empty id means the newest.
func (c *Client) GetPush(ctx context.Context, r *a2a.PushGetRequest) (*a2a.PushConfig, error) {
	return c.push(ctx, wire.OpPushGet, r, r.TaskID)
}

func (c *Client) push(ctx context.Context, op wire.Op, params any, task string) (*a2a.PushConfig, error) {
	v, err := c.call(ctx, op, params)
	if err != nil {
		return nil, err
	}
	p, ok := v.(*a2a.PushConfig)
	if !ok || p == nil {
		return nil, c.garbage(op, "the answer is no push configuration")
	}
	if p.TaskID == "" {
		p.TaskID = task
	}
	return p, nil
}

// ListPush returns the push configurations of a task. Agents of v0.1 have one at most and no list: theirs is asked for.
func (c *Client) ListPush(ctx context.Context, r *a2a.PushListRequest) (*a2a.PushConfigPage, error) {
	if c.Dialect() == wire.OLD {
		p, err := c.GetPush(ctx, &a2a.PushGetRequest{TaskID: r.TaskID})
		if e := (*Error)(nil); errors.As(err, &e) && e.Kind == card.KindTaskNotFound {
			return &a2a.PushConfigPage{}, nil
		}
		if err != nil || p.URL == "" {
			return &a2a.PushConfigPage{}, err
		}
		return &a2a.PushConfigPage{Configs: []a2a.PushConfig{*p}}, nil
	}
	v, err := c.call(ctx, wire.OpPushList, r)
	if err != nil {
		return nil, err
	}
	page, ok := v.(*a2a.PushConfigPage)
	if !ok || page == nil {
		return nil, c.garbage(wire.OpPushList, "the answer is no list of push configurations")
	}
	return page, nil
}

// DeletePush asks the agent to forget a push configuration. Agents of v0.1 cannot.
func (c *Client) DeletePush(ctx context.Context, r *a2a.PushDeleteRequest) error {
	_, err := c.call(ctx, wire.OpPushDelete, r)
	return err
}

// hook is a webhook for one task that is followed. The zero hook never wakes anybody.
type hook struct {
	config *a2a.PushConfig
	woken  <-chan struct{}
	done   func()
}

// hook makes a webhook when the agent reports by push and does not stream.
func (c *Client) hook(ctx context.Context, task string) (h hook) {
	if c.o.Hook == nil || c.Streams() || !c.card.Capabilities.PushNotifications || c.noPush.Load() {
		return h
	}
	if config, woken, done, ok := c.o.Hook(ctx, task); ok && config != nil {
		h = hook{config: config, woken: woken, done: done}
	} else if done != nil {
		done()
	}
	return h
}

func (h *hook) end() {
	if h.done != nil {
		h.done()
	}
	*h = hook{}
}

// register lets the agent report a task that there is. Without success the task is polled, as without a webhook.
func (f *follower) register(ctx context.Context) {
	if f.hook.config != nil {
		return
	}
	if f.hook = f.c.hook(ctx, f.task); f.hook.config == nil {
		return
	}
	p := *f.hook.config
	p.TaskID = f.task
	if _, err := f.c.SetPush(ctx, &p); err != nil {
		f.c.unpushed(err)
		f.hook.end()
	}
}

// unpushed reports whether err is the agent's refusal to push anything, and remembers it.
func (c *Client) unpushed(err error) bool {
	if ae, ok := protocol(err); ok && ae.Kind == a2a.KindPushNotSupported {
		c.log.Info("an agent does not push though its card says so", "agent", c.o.Peer)
		c.noPush.Store(true)
		return true
	}
	if err != nil {
		c.log.Info("an agent did not take a webhook", "agent", c.o.Peer, "err", err)
	}
	return false
}
