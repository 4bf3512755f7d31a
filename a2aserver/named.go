package a2aserver

import (
	"context"
	"errors"

	"parley/a2a"
)

// named begins a task of the id that its caller made, or continues it when the caller has one of that id.
func (a *Agent) named(ctx context.Context, principal string, w *work) (Started, error) {
	for {
		l := a.acquire(ctx, w.message.TaskID)
		if l.gone == nil {
			mine, err := l.head.Principal == principal, l.emerged(ctx)
			a.put(l)
			if err != nil {
				return Started{}, err
			}
			s, err := a.reply(ctx, principal, w)
			if mine && errors.Is(err, a2a.ErrTaskNotFound) { // its answer was a Message: nothing follows that
				err = terminal(w.message.TaskID)
			}
			return s, err
		}
		if !errors.Is(l.gone, a2a.ErrTaskNotFound) {
			a.put(l)
			return Started{}, l.gone
		}
		begun, err := a.add(principal, w, l)
		a.put(l)
		if begun != nil || err != nil {
			return Started{TaskID: w.message.TaskID}, err
		}
	}
}

// emerged waits until something of a task that is being begun is stored.
func (l *live) emerged(ctx context.Context) error {
	l.mu.Lock()
	stored := l.seq > 0
	l.mu.Unlock()
	if stored {
		return nil
	}
	for _, err := range l.follow(ctx, 0) {
		return err
	}
	return ctx.Err()
}
