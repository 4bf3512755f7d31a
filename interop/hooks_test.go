//go:build interop

package interop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/interop/peer"
)

// hooks is a receiver of webhooks.
type hooks struct {
	url string

	mu    sync.Mutex
	calls map[string]chan *delivery // by path
}

type delivery struct {
	header http.Header
	body   []byte
}

func receive(t *testing.T) *hooks {
	h := &hooks{calls: map[string]chan *delivery{}}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *hooks) at(path string) chan *delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls[path] == nil {
		h.calls[path] = make(chan *delivery, 100)
	}
	return h.calls[path]
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if v := r.URL.Query().Get("validationToken"); v != "" { // the handshake of v0.1
		fmt.Fprint(w, v)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	select {
	case h.at(r.URL.Path) <- &delivery{r.Header, body}:
	default:
	}
}

const pushToken = "push-token-of-the-harness"

// pushCRUD keeps a configuration on a task that waits, and reads it back.
func (r *round) pushCRUD(ctx context.Context) error {
	_, _, err := r.pushed(ctx, r.deaf())
	return err
}

// deaf is the address of a webhook that nobody waits for. It answers all the same: v0.1 asks it beforehand.
func (r *round) deaf() string {
	if r.hooks == nil {
		return "http://127.0.0.1:9/hook"
	}
	return r.hooks.url + "/deaf"
}

// pushed brings a task to input-required and sets a webhook for it.
func (r *round) pushed(ctx context.Context, url string) (*peer.Event, *peer.Push, error) {
	e, err := r.asked(ctx)
	if err != nil {
		return nil, nil, err
	}
	set, err := r.c.PushSet(ctx, &peer.Push{Task: e.Task, ID: "hook-1", URL: url, Token: pushToken, Scheme: "Bearer", Credentials: "hush"})
	if err != nil {
		return nil, nil, fmt.Errorf("set: %w", err)
	}
	if set.URL != url || set.Task != e.Task {
		return nil, nil, fmt.Errorf("set %s", show(set))
	}
	got, err := r.c.PushGet(ctx, e.Task, set.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("get: %w", err)
	}
	if got.URL != url || got.ID != set.ID {
		return nil, nil, fmt.Errorf("set %s, got %s", show(set), show(got))
	}
	return e, set, nil
}

func (r *round) pushList(ctx context.Context) error {
	e, set, err := r.pushed(ctx, r.deaf())
	if err != nil {
		return err
	}
	all, err := r.c.PushList(ctx, e.Task)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if len(all) != 1 || all[0].ID != set.ID || all[0].URL != set.URL {
		return fmt.Errorf("listed %s", show(all))
	}
	if err := r.c.PushDelete(ctx, e.Task, set.ID); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if all, err = r.c.PushList(ctx, e.Task); err == nil && len(all) != 0 {
		err = fmt.Errorf("after deleting it: %s", show(all))
	}
	return err
}

// pushDelivery sets a webhook on a task that waits, lets the task end, and wants to hear of it in the form of the
// dialect, with the token.
func (r *round) pushDelivery(ctx context.Context) error {
	if r.hooks == nil {
		return peer.ErrNone
	}
	path := "/" + peer.NewID()
	e, _, err := r.pushed(ctx, r.hooks.url+path)
	if err != nil {
		return err
	}
	return r.heard(ctx, e, path)
}

// pushWithMessage asks for a webhook with the message that begins the task.
func (r *round) pushWithMessage(ctx context.Context) error {
	if r.hooks == nil {
		return peer.ErrNone
	}
	path := "/" + peer.NewID()
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Ask, Push: &peer.Push{ID: "hook-1", URL: r.hooks.url + path, Token: pushToken, Scheme: "Bearer", Credentials: "hush"}})
	if err != nil {
		return err
	}
	if e.State != "input-required" {
		return fmt.Errorf("answered %s", show(e))
	}
	return r.heard(ctx, e, path)
}

// heard lets a task end that waits, and wants the webhook to be told.
func (r *round) heard(ctx context.Context, e *peer.Event, path string) error {
	for i, text := range r.Answers {
		if _, err := r.c.Send(ctx, &peer.Message{Text: text, Task: e.Task, Context: e.Context}); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
	}
	heard := r.hooks.at(path)
	for n := 0; ; n++ {
		select {
		case d := <-heard:
			done, err := r.delivered(e.Task, d)
			if err != nil || done {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%d deliveries, none that says the task is completed", n)
		}
	}
}

// delivered reads a delivery, and tells whether it says that the task is completed.
func (r *round) delivered(task string, d *delivery) (bool, error) {
	note, err := wire.DecodePush(d.body)
	if err != nil {
		return false, fmt.Errorf("%w: %s", err, d.body)
	}
	if note.TaskID != task {
		return false, fmt.Errorf("a delivery for task %q, not %q: %s", note.TaskID, task, d.body)
	}
	if got := d.header.Get("X-A2A-Notification-Token") + d.header.Get("A2A-Notification-Token"); !strings.Contains(got, pushToken) &&
		d.header.Get("Authorization") == "" {
		return false, fmt.Errorf("neither token nor credentials in %v", d.header)
	}
	switch e := note.Event.(type) {
	case *a2a.Task:
		return e.Status.State == a2a.TaskStateCompleted, nil
	case *a2a.StatusUpdate:
		return e.Status.State == a2a.TaskStateCompleted, nil
	}
	return false, nil
}
