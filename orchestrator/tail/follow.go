package tail

import (
	"context"
	"iter"

	"parley/a2a"
	"parley/orchestrator"
)

// Read yields the events of a stream so far.
func Read(ctx context.Context, s Stream, after int64, read Page) iter.Seq2[[]*orchestrator.Event, error] {
	return func(yield func([]*orchestrator.Event, error) bool) {
		for more := true; more; {
			var page []*orchestrator.Event
			var err error
			if page, more, err = read(ctx, s, after); err != nil {
				yield(nil, err)
				return
			}
			if len(page) == 0 {
				return
			}
			if !yield(page, nil) {
				return
			}
			after = page[len(page)-1].Seq
		}
	}
}

// Follow yields the events of a stream so far and those to come, until ctx is done or the hub is closed.
func (h *Hub) Follow(ctx context.Context, s Stream, after int64, read Page) iter.Seq2[[]*orchestrator.Event, error] {
	return func(yield func([]*orchestrator.Event, error) bool) {
		f := h.follow(s, after)
		defer f.leave()
		for ctx.Err() == nil {
			events, from, ok, closed := f.next(after)
			if !ok {
				page, more, err := read(ctx, s, after)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					yield(nil, err)
					return
				}
				if events = page; len(page) > 0 {
					after = page[len(page)-1].Seq
				}
				if !more {
					after = max(after, from)
				}
			}
			if len(events) > 0 {
				after = max(after, events[len(events)-1].Seq)
				if !yield(events, nil) {
					return
				}
				continue
			}
			if !ok {
				continue
			}
			if closed {
				yield(nil, ErrClosed)
				return
			}
			select {
			case <-f.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Artifact returns an artifact as the events of its run have it so far.
func Artifact(run iter.Seq2[[]*orchestrator.Event, error], artifact string) (*a2a.Artifact, error) {
	var task a2a.Task
	for events, err := range run {
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Kind != orchestrator.EventArtifact && e.Kind != orchestrator.EventTask {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				return nil, err
			}
			if u, ok := ev.(*a2a.ArtifactUpdate); ok && u.Artifact.ID != artifact {
				continue
			}
			task.Apply(ev)
		}
	}
	for i := range task.Artifacts {
		if task.Artifacts[i].ID == artifact {
			return &task.Artifacts[i], nil
		}
	}
	return nil, orchestrator.ErrNotFound
}
