//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley/interop/peer"
)

func (r *round) send(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	return r.completed(e, "hello")
}

// completed wants a completed task whose answer holds text.
func (r *round) completed(e *peer.Event, text string) error {
	if e.Kind != "task" || e.State != "completed" || !strings.Contains(answer(e), text) || e.Task == "" || e.Context == "" && !r.old() {
		return fmt.Errorf("answered %s; want a completed task that says %q", show(e), text)
	}
	return nil
}

func (r *round) sendInContext(ctx context.Context) error {
	first, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	if first.Context == "" && r.old() {
		return peer.ErrNone
	}
	next, err := r.c.Send(ctx, &peer.Message{Text: r.Task, Context: first.Context})
	if err != nil {
		return err
	}
	if next.Context != first.Context || next.Task == first.Task {
		return fmt.Errorf("context %q became %q, task %q became %q", first.Context, next.Context, first.Task, next.Task)
	}
	return nil
}

func (r *round) scripts(ctx context.Context) error {
	const text = "hello 東京 여행 é 🚢 <b>&amp;</b> \" \\ \u2028"
	e, err := r.c.Send(ctx, &peer.Message{Text: strings.Replace(r.Task, "hello", text, 1)})
	if err != nil {
		return err
	}
	return r.completed(e, text)
}

func (r *round) echo(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Echo})
	if err != nil {
		return err
	}
	if r.old() { // has no such answer: a completed task that says it
		return r.completed(e, "hello")
	}
	if e.Kind != "message" || !strings.Contains(answer(e), "hello") || e.Context == "" {
		return fmt.Errorf("answered %s", show(e))
	}
	return nil
}

func (r *round) echoStreaming(ctx context.Context) error {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Echo})); err != nil {
		return err
	}
	if !strings.Contains(f.answer(), "hello") || !r.old() && (f.n != 1 || f.first != "message") || r.old() && f.state != "completed" {
		return fmt.Errorf("%s", f)
	}
	return nil
}

func (r *round) noWait(ctx context.Context) error {
	began := time.Now()
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Slow, NoWait: true})
	if err != nil {
		return err
	}
	if e.Kind != "task" || e.State != "submitted" && e.State != "working" || time.Since(began) > 10*time.Second {
		return fmt.Errorf("answered %s after %s", show(e), time.Since(began))
	}
	_, err = r.c.Cancel(ctx, e.Task)
	return err
}

func (r *round) refer(ctx context.Context) error {
	if r.proto {
		return peer.ErrNone // a2a.v1 has no such field
	}
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	next, err := r.c.Send(ctx, &peer.Message{Text: r.Refer, Context: e.Context, References: []string{e.Task}})
	if err != nil {
		return err
	}
	if r.hop {
		e.Task = "-" // as the agent knows it
	}
	return r.completed(next, e.Task)
}

func (r *round) metadata(ctx context.Context) error {
	const meta = `{"urn:test:key":{"list":[1,null,"x"],"deep":{"y":true}}}`
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Metadata, Metadata: json.RawMessage(meta)})
	if err != nil {
		return err
	}
	for _, p := range flat(e) {
		if p.Data != nil && same(without(p.Data, r.hop), []byte(meta)) {
			return nil
		}
	}
	return fmt.Errorf("answered %s", show(e))
}

// without takes out what a Parley in between adds.
func without(data []byte, hop bool) []byte {
	var all map[string]any
	if !hop || json.Unmarshal(data, &all) != nil {
		return data
	}
	for k := range all {
		if strings.HasPrefix(k, "urn:parley:") {
			delete(all, k)
		}
	}
	return must(json.Marshal(all))
}

func (r *round) extensions(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Extends})
	if err != nil {
		return err
	}
	if e.State == "failed" && strings.Contains(peer.Text(e.Said), "I do not know") { // its SDK does not tell an agent
		return peer.ErrNone
	}
	return r.completed(e, peer.Extension)
}
