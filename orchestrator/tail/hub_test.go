package tail

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// TestFollowersLeave: nothing is kept for those who no longer follow.
func TestFollowersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := New(0)
		none := func(context.Context, Stream, int64) ([]*orchestrator.Event, bool, error) { return nil, false, nil }
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for range h.Follow(ctx, Stream{ID: fmt.Sprint("r", i%5)}, 0, none) {
					t.Error("an event")
				}
			})
			wg.Go(func() {
				for range h.Changes(ctx) {
					t.Error("a change")
				}
			})
		}
		synctest.Wait()
		if len(h.tails) != 5 || len(h.watchers) != 20 {
			t.Errorf("%d tails and %d watchers", len(h.tails), len(h.watchers))
		}
		cancel()
		wg.Wait()
		if len(h.tails)+len(h.watchers) != 0 {
			t.Errorf("%d tails and %d watchers are left", len(h.tails), len(h.watchers))
		}
	})
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

// TestFollowOthers: who follows sees what others wrote, each event once, whether he followed before it was read or began
// while it was.
func TestFollowOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := New(0)
		var stored []*orchestrator.Event
		page := func(_ context.Context, s Stream, after int64) (page []*orchestrator.Event, more bool, err error) {
			for _, e := range stored {
				if e.Seq > after && s.holds(e) {
					page = append(page, e)
				}
			}
			return page, false, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		seen := map[string][]int64{}
		var mu sync.Mutex
		follow := func(name string, s Stream) {
			wg.Go(func() {
				for events, err := range h.Follow(ctx, s, 0, page) {
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, e := range events {
						seen[name] = append(seen[name], e.Seq)
					}
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		event := func(seq int64, run string) *orchestrator.Event {
			return &orchestrator.Event{Entry: a2a.NewEntry(seq, time.Time{}, nil, nil), RunID: run, ConversationID: "c"}
		}
		follow("early", Stream{ID: "a"})
		runs, conversations, mark := h.Followed()
		if fmt.Sprint(runs, conversations) != "[a] []" {
			t.Fatalf("followed: %v %v", runs, conversations)
		}
		stored = []*orchestrator.Event{event(1, "a"), event(2, "b"), event(3, "a")}
		follow("late", Stream{true, "c"}) // its page has the three; the hub is told of them later
		h.PublishFollowed(mark, []*orchestrator.Event{stored[0], stored[2]}, 3)
		h.Wake()
		synctest.Wait()
		own := []*orchestrator.Event{event(4, "b"), event(5, "a")}
		stored = append(stored, own...)
		h.Publish(own, 5)
		h.Wake()
		follow("last", Stream{ID: "b"})
		cancel()
		wg.Wait()
		if got := fmt.Sprint(seen["early"], seen["late"], seen["last"], h.Head()); got != "[1 3 5] [1 2 3 4 5] [2 4] 5" {
			t.Errorf("seen %s", got)
		}
	})
}
