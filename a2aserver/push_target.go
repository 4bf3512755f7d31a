package a2aserver

import (
	"context"

	"golang.org/x/time/rate"
)

// target bounds what one origin gets: connections at a time, and requests a second where there is a limit.
type target struct {
	origin string
	slots  chan struct{}
	limit  *rate.Limiter // nil = none
	users  int           // followers; guarded by PushSender.mu
}

// targetConnections is the default of PushTarget.Connections.
const targetConnections = 2

func newTarget(origin string, way PushTarget) *target {
	n := way.Connections
	if n <= 0 {
		n = targetConnections
	}
	t := &target{origin: origin, slots: make(chan struct{}, n)}
	if way.Rate > 0 {
		t.limit = rate.NewLimiter(way.Rate, max(1, int(way.Rate)))
	}
	return t
}

// enter waits for its turn; leave must follow when it returns nil.
func (t *target) enter(ctx context.Context) error {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.pace(ctx); err != nil {
		t.leave()
		return err
	}
	return nil
}

// pace waits until the limit lets another request through.
func (t *target) pace(ctx context.Context) error {
	if t.limit == nil {
		return nil
	}
	return t.limit.Wait(ctx)
}

func (t *target) leave() { <-t.slots }
