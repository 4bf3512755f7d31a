package app

import (
	"context"
	"errors"
	"iter"
	"time"

	"parley/a2a"
	"parley/a2aserver"
	"parley/orchestrator"
)

// agentLog keeps the tasks of an a2aserver.Agent in the store, as runs of one scope.
type agentLog struct {
	store orchestrator.Store
	scope string
	now   func() time.Time
}

// NewAgentLog returns the part of the store that holds the tasks of one agent; scope names it, e.g. "demo/echo".
func NewAgentLog(store orchestrator.Store, scope string) a2aserver.Log {
	return &agentLog{store: store, scope: scope, now: time.Now}
}

func (l *agentLog) Append(c *a2aserver.Change, done func([]*a2a.Entry, error)) {
	now := l.now()
	b := &orchestrator.Batch{
		Events: make([]orchestrator.NewEvent, len(c.Events)),
		Runs: []*orchestrator.Run{{
			ID: c.Head.ID, Scope: l.scope, Principal: c.Head.Principal, ContextID: c.Head.ContextID,
			To: l.scope, State: c.Head.State, Updated: c.Head.Updated, Created: now,
		}},
	}
	for i, e := range c.Events {
		b.Events[i] = orchestrator.NewEvent{
			RunID: c.Head.ID, Kind: orchestrator.KindOfEvent(e.Event), At: now, JSON: e.JSON, Event: e.Event,
		}
	}
	if r := c.Receipt; r != nil {
		b.Receipt = &orchestrator.Receipt{
			Scope: l.scope, Principal: c.Head.Principal, MessageID: r.MessageID, Digest: r.Digest,
			RunID: r.TaskID, After: r.After, At: now,
		}
	}
	l.store.Enqueue(b, done)
}

func (l *agentLog) head(r *orchestrator.Run) a2aserver.Head {
	return a2aserver.Head{
		ID: r.ID, ContextID: r.ContextID, Principal: r.Principal, State: r.State, Updated: r.Updated, Seq: r.LastSeq,
	}
}

func (l *agentLog) Head(ctx context.Context, task string) (a2aserver.Head, error) {
	r, err := l.store.Run(ctx, task)
	if errors.Is(err, orchestrator.ErrNotFound) || err == nil && r.Scope != l.scope {
		return a2aserver.Head{}, a2a.ErrTaskNotFound
	}
	if err != nil {
		return a2aserver.Head{}, err
	}
	return l.head(r), nil
}

func (l *agentLog) Received(ctx context.Context, principal, messageID string) (a2aserver.Receipt, bool, error) {
	r, err := l.store.Received(ctx, l.scope, principal, messageID)
	if errors.Is(err, orchestrator.ErrNotFound) {
		return a2aserver.Receipt{}, false, nil
	}
	if err != nil {
		return a2aserver.Receipt{}, false, err
	}
	return a2aserver.Receipt{MessageID: messageID, Digest: r.Digest, TaskID: r.RunID, After: r.After}, true, nil
}

func (l *agentLog) List(ctx context.Context, principal string, q *a2a.ListRequest, before *a2aserver.Head, limit int) ([]a2aserver.Head, int, error) {
	var from *orchestrator.Run
	if before != nil {
		from = &orchestrator.Run{ID: before.ID, Updated: before.Updated}
	}
	runs, total, err := l.store.ListRuns(ctx, l.scope, principal, q, from, limit)
	if err != nil {
		return nil, 0, err
	}
	heads := make([]a2aserver.Head, len(runs))
	for i, r := range runs {
		heads[i] = l.head(r)
	}
	return heads, total, nil
}

func (l *agentLog) Read(ctx context.Context, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return entries(l.store.ReadRun(ctx, task, after))
}

// entries takes the A2A events out of a run's events.
func entries(events iter.Seq2[[]*orchestrator.Event, error]) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		var out []*a2a.Entry
		for batch, err := range events {
			if err != nil {
				yield(nil, err)
				return
			}
			out = out[:0]
			for _, e := range batch {
				if e.Kind.A2A() {
					out = append(out, e.Entry)
				}
			}
			if len(out) > 0 && !yield(out, nil) {
				return
			}
		}
	}
}

func (l *agentLog) Open(ctx context.Context) iter.Seq2[a2aserver.Head, error] {
	return func(yield func(a2aserver.Head, error) bool) {
		for r, err := range l.store.OpenRuns(ctx, l.scope) {
			if err != nil {
				yield(a2aserver.Head{}, err)
				return
			}
			if !yield(l.head(r), nil) {
				return
			}
		}
	}
}

func (l *agentLog) Healthy() error { return l.store.Healthy() }
