package app

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
	"parley/a2aserver"
	"parley/orchestrator"
)

// hooks are the webhooks of ours: an agent that does not stream is told of one, where it can reach us, and reports to it
// that a task of ours moved. That is a hint and no more: the report is recorded and answered, and the task is read from
// the agent. A webhook lives as long as somebody follows its task. After a restart the task is followed again, and the
// agent is told of another webhook in place of the one before.
type hooks struct {
	receiver http.Handler

	mu     sync.RWMutex
	local  string // where agents on this machine reach us, with a trailing slash; "" = nowhere
	public string // where all others do
	byID   map[string]*ourHook
}

// ourHook is one webhook.
type ourHook struct {
	a2aserver.Webhook
	run    string // whose task it is for
	url    string
	token  string
	made   time.Time
	called atomic.Bool
	wake   chan struct{}
}

const (
	hooksPath   = "/hooks/"
	hookConfig  = "parley"        // the id of our configuration at every task: a new one takes the place of the old
	hookPending = 2 * time.Minute // an agent that wants to ask us about a webhook does it within this time
)

func newHooks() *hooks {
	h := &hooks{byID: map[string]*ourHook{}}
	h.receiver = http.StripPrefix(hooksPath, a2aserver.NewWebhooks(&a2aserver.WebhookOptions{Find: h.find, Note: h.note}))
	return h
}

// listen says where we are reached: bound is our own address, public the one in front of it, "" without one.
func (h *hooks) listen(bound, public string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.public = public
	// Our certificate names the public host. Plain http is for this machine.
	if u, err := url.Parse(bound); err == nil && u.Scheme == "http" && loopback(u.Hostname()) {
		h.local = bound
	}
}

// base is where the agent at an address can reach us, "" when it cannot.
func (h *hooks) base(address string) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.local != "" && onThisMachine(address) {
		return h.local
	}
	return h.public
}

func onThisMachine(address string) bool {
	if !strings.Contains(address, "://") { // of gRPC: host:port
		address = "//" + address
	}
	u, err := url.Parse(address)
	return err == nil && loopback(u.Hostname())
}

// of makes webhooks for the tasks of an agent (a2aclient.Options.Hook). record keeps what comes, for a run.
func (h *hooks) of(agent, address string, record func(run string, x *wire.Exchange)) func(context.Context, string) (*a2a.PushConfig, <-chan struct{}, func(), bool) {
	return func(ctx context.Context, task string) (*a2a.PushConfig, <-chan struct{}, func(), bool) {
		base := h.base(address)
		if base == "" {
			return nil, nil, nil, false
		}
		id, token, run := newSecret(), newSecret(), orchestrator.OriginOf(ctx).RunID
		k := &ourHook{Webhook: *a2aserver.NewWebhook(id, agent, task, token), run: run, token: token, made: time.Now(), wake: make(chan struct{}, 1)}
		k.url = base + strings.TrimPrefix(hooksPath, "/") + id
		k.Tap = func(_ context.Context, x *wire.Exchange) { record(run, x) }
		h.mu.Lock()
		h.byID[id] = k
		h.mu.Unlock()
		done := func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.byID, id)
		}
		return &a2a.PushConfig{ID: hookConfig, URL: k.url, Token: token}, k.wake, done, true
	}
}

// hook makes webhooks for the tasks of an agent.
func (c *caller) hook(g *orchestrator.Agent) func(context.Context, string) (*a2a.PushConfig, <-chan struct{}, func(), bool) {
	if c.hooks == nil {
		return nil
	}
	return c.hooks.of(g.ID, g.Interface.URL, c.reported)
}

// find returns a webhook as it stands now.
func (h *hooks) find(id string) *a2aserver.Webhook {
	h.mu.RLock()
	k := h.byID[id]
	h.mu.RUnlock()
	if k == nil {
		return nil
	}
	w := k.Webhook
	w.Pending = !k.called.Load() && time.Since(k.made) < hookPending
	return &w
}

// note wakes whoever follows the task.
func (h *hooks) note(_ context.Context, w *a2aserver.Webhook, _ *wire.PushNote) {
	h.mu.RLock()
	k := h.byID[w.ID]
	h.mu.RUnlock()
	if k == nil {
		return
	}
	k.called.Store(true)
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// remark says how the tasks of an agent are followed where that is not as good as it could be, "" otherwise.
func (h *hooks) remark(c *a2a.AgentCard, address string) string {
	switch {
	case c == nil || c.Capabilities.Streaming:
		return ""
	case !c.Capabilities.PushNotifications:
		return "It neither streams nor reports: Parley looks at its tasks from time to time."
	case h.base(address) == "" && !onThisMachine(address):
		return "It could report by itself, but cannot reach Parley: Parley looks at its tasks from time to time. " +
			"Start Parley with --public-url to be told at once."
	}
	return ""
}

// notes are what a person is to know of an agent besides its card.
func (r *registry) notes(f *card.Found) []a2a.Note {
	if remark := r.hooks.remark(f.Card, f.Interface.URL); remark != "" {
		return append(slices.Clone(f.Notes), a2a.Note{Text: remark})
	}
	return f.Notes
}

// recordHook keeps what an agent reported, for the run that its task belongs to.
func (a *App) recordHook(run string, x *wire.Exchange) {
	r := wireRecord(x)
	r.RunID = run
	a.store.RecordWire(r)
}
