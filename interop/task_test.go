//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/interop/peer"
)

func (r *round) get(ctx context.Context) error {
	f, err := r.streamed(ctx)
	if err != nil {
		return err
	}
	e, err := r.c.Get(ctx, f.task, nil)
	if err != nil {
		return err
	}
	if e.State != "completed" || answer(e) != f.answer() || e.Context != f.context && !r.old() {
		return fmt.Errorf("got %s; streamed %s", show(e), f)
	}
	return nil
}

// asked brings a task to input-required.
func (r *round) asked(ctx context.Context) (*peer.Event, error) {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Ask})
	if err == nil && (e.State != "input-required" || len(e.Said) == 0) {
		err = fmt.Errorf("answered %s", show(e))
	}
	return e, err
}

func (r *round) history(ctx context.Context) error {
	e, err := r.asked(ctx)
	if err != nil {
		return err
	}
	for i, answer := range r.Answers {
		if e, err = r.c.Send(ctx, &peer.Message{Text: answer, Task: e.Task, Context: e.Context}); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
	}
	zero, one := 0, 1
	for _, length := range []*int{nil, &zero, &one} {
		got, err := r.c.Get(ctx, e.Task, length)
		if err != nil {
			return err
		}
		bad := false
		switch {
		case length == nil: // before v1.0 it is for the agent to say
			bad = r.version == "1.0" && got.History < 2
		case length == &one:
			bad = got.History != 1
		case r.old() || r.version == "1.0": // what 0 means in between, the versions do not say
			bad = got.History != 0
		}
		if bad {
			return fmt.Errorf("asked for %s messages, got %d", must(json.Marshal(length)), got.History)
		}
	}
	return nil
}

func (r *round) list(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	var seen []string
	for token := ""; ; {
		page, next, err := r.c.List(ctx, "", 2, token)
		if err != nil {
			return err
		}
		for _, id := range page {
			if slices.Contains(seen, id) {
				return fmt.Errorf("task %s is listed twice", id)
			}
		}
		if len(page) > 2 {
			return fmt.Errorf("%d tasks on a page of 2", len(page))
		}
		seen = append(seen, page...)
		if slices.Contains(seen, e.Task) { // the newest come first
			return nil
		}
		if token = next; token == "" {
			return fmt.Errorf("task %s is not among %d", e.Task, len(seen))
		}
	}
}

// cancel cancels a task that streams, and wants its stream to end so.
func (r *round) cancel(ctx context.Context) error {
	f := newFold()
	asked := false
	for e, err := range r.c.Stream(ctx, &peer.Message{Text: r.Slow}) {
		if err != nil {
			return err
		}
		if f.add(e); !asked && f.task != "" && f.state == "working" {
			asked = true
			if _, err := r.c.Cancel(ctx, f.task); err != nil {
				return err
			}
		}
	}
	if f.state != "canceled" {
		return fmt.Errorf("asked %t; %s", asked, f)
	}
	return nil
}

func (r *round) ask(ctx context.Context) error {
	e, err := r.asked(ctx)
	if err != nil {
		return err
	}
	id, talk := e.Task, e.Context
	for i, text := range r.Answers {
		if e, err = r.c.Send(ctx, &peer.Message{Text: text, Task: id, Context: talk}); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
		if e.Task != id || e.Context != talk {
			return fmt.Errorf("task %s in %s became %s in %s", id, talk, e.Task, e.Context)
		}
	}
	if e.State != "completed" || len(e.Artifacts) == 0 {
		return fmt.Errorf("answered %s", show(e))
	}
	return nil
}

func (r *round) askStreaming(ctx context.Context) error {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Ask})); err != nil {
		return err
	}
	id, talk := f.task, f.context
	for i, text := range r.Answers {
		if f.state != "input-required" {
			return fmt.Errorf("before answer %d: %s", i+1, f)
		}
		f.state = ""
		if err := f.all(r.c.Stream(ctx, &peer.Message{Text: text, Task: id, Context: talk})); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
		if f.task != id || f.context != talk {
			return fmt.Errorf("task %s in %s became %s in %s", id, talk, f.task, f.context)
		}
	}
	if f.state != "completed" {
		return fmt.Errorf("%s", f)
	}
	return nil
}

func (r *round) auth(ctx context.Context) error {
	want := "auth-required"
	if r.old() || r.oldAgent {
		want = "input-required"
	}
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Auth})
	if err != nil {
		return err
	}
	if e.State != want || len(e.Said) == 0 {
		return fmt.Errorf("answered %s", show(e))
	}
	if e, err = r.c.Send(ctx, &peer.Message{Text: "signed in", Task: e.Task, Context: e.Context}); err != nil {
		return err
	}
	return r.completed(e, "signed in")
}

func (r *round) fail(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Fail})
	if err == nil && (e.State != "failed" || !strings.Contains(peer.Text(e.Said), "I do not know")) {
		err = fmt.Errorf("answered %s", show(e))
	}
	return err
}
