package sqlite

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// TestFollowersLeave: nothing is kept for those who no longer follow.
func TestFollowersLeave(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for range db.FollowRun(ctx, fmt.Sprint("r", i%5), 0) {
				t.Error("an event")
			}
		})
		wg.Go(func() {
			for range db.Changes(ctx) {
				t.Error("a change")
			}
		})
	}
	held := func() (tails, watchers int) {
		db.hub.mu.Lock()
		defer db.hub.mu.Unlock()
		return len(db.hub.tails), len(db.hub.watchers)
	}
	eventually(t, "all follow", func() bool {
		tails, watchers := held()
		return tails == 5 && watchers == 20
	})
	cancel()
	wg.Wait()
	if tails, watchers := held(); tails+watchers != 0 {
		t.Errorf("%d tails and %d watchers are left", tails, watchers)
	}
}

// TestTailBounds: a tail forgets the oldest events at its bounds, and says so.
func TestTailBounds(t *testing.T) {
	t.Parallel()
	event := func(seq int64, size int) *orchestrator.Event {
		return &orchestrator.Event{Entry: a2a.NewEntry(seq, time.Time{}, []byte(strings.Repeat("x", size)), nil)}
	}
	tl := &tail{from: 10}
	for i := range int64(tailEvents) {
		tl.add(event(11+i, 1))
	}
	if events, ok := tl.after(10); !ok || len(events) != tailEvents {
		t.Fatalf("%d events, %v", len(events), ok)
	}
	before, _ := tl.after(10)
	tl.add(event(11+tailEvents, 1))
	if _, ok := tl.after(10); ok {
		t.Error("the tail claims to reach back to what it has forgotten")
	}
	if events, ok := tl.after(11); !ok || len(events) != tailEvents || events[0].Seq != 12 {
		t.Errorf("%d events, %v", len(events), ok)
	}
	if len(before) != tailEvents || before[0].Seq != 11 || before[tailEvents-1].Seq != 10+tailEvents {
		t.Error("a slice that was handed out has changed")
	}

	tl = &tail{}
	for i, want := range []int{1, 2, 2, 1, 0} {
		// The fourth takes all the room, the fifth more than that.
		size := tailBytes / 2
		if i == 3 {
			size = tailBytes
		}
		if i == 4 {
			size = tailBytes + 1
		}
		tl.add(event(int64(i+1), size))
		if len(tl.events) != want || tl.from != int64(i+1-want) {
			t.Errorf("after event %d: %d events from %d, want %d", i+1, len(tl.events), tl.from, want)
		}
	}
}
