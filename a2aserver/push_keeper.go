package a2aserver

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// pushKeeper stores how far deliveries have come: many at a time, a moment later. What a crash takes away is delivered
// once more, under the same id.
type pushKeeper struct {
	store PushStore
	log   *slog.Logger

	moving sync.Mutex // held while anything is written

	mu    sync.Mutex
	dirty map[string]PushProgress // by registration
	timer *time.Timer             // not nil: it will flush
}

const (
	keepEvery = 100 * time.Millisecond
	keepAgain = time.Second // after a failure
)

func (k *pushKeeper) init(store PushStore, log *slog.Logger) {
	k.store, k.log, k.dirty = store, log, map[string]PushProgress{}
}

// note keeps where a registration stands.
func (k *pushKeeper) note(p PushProgress) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dirty[p.UID] = p
	k.arm(keepEvery)
}

// arm lets flush follow; k.mu is held.
func (k *pushKeeper) arm(after time.Duration) {
	if k.timer == nil {
		k.timer = time.AfterFunc(after, func() { _ = k.flush() })
	}
}

// drop forgets what is not stored yet of a registration.
func (k *pushKeeper) drop(registration string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.dirty, registration)
}

// write stores one registration's progress at once, behind all that was noted before.
func (k *pushKeeper) write(ctx context.Context, p PushProgress) error {
	k.moving.Lock()
	defer k.moving.Unlock()
	return k.store.Move(ctx, []PushProgress{p})
}

// flush stores what was noted.
func (k *pushKeeper) flush() error {
	k.moving.Lock()
	defer k.moving.Unlock()
	k.mu.Lock()
	all := make([]PushProgress, 0, len(k.dirty))
	for _, p := range k.dirty {
		all = append(all, p)
	}
	clear(k.dirty)
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	k.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	err := k.store.Move(context.Background(), all)
	if err == nil {
		return nil
	}
	k.log.Warn("how far webhooks were delivered could not be stored yet", "error", err)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range all {
		if _, newer := k.dirty[p.UID]; !newer {
			k.dirty[p.UID] = p
		}
	}
	k.arm(keepAgain)
	return err
}

// close stores what is left; nothing is noted after it.
func (k *pushKeeper) close() error {
	err := k.flush()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
	}
	return err
}
