package a2aserver_test

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// TestPushShare: of two senders of one store one sends, also what is registered with the other, and hears of what the
// other deleted. When it pauses, the other goes on from there.
func TestPushShare(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	h := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(500)
		}
	})
	p := newPusher(t, counting(4), &a2aserver.PushOptions{Retries: slices.Repeat([]time.Duration{time.Millisecond}, 10_000)})
	first := p.PushSender
	p.PushSender = a2aserver.NewPushSender(&p.o) // the second, which does not send
	p.Pusher = p.For("s")
	resume := func(s *a2aserver.PushSender) {
		t.Helper()
		if err := s.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = first.Close(t.Context()) })

	task := p.begin("count", to(h.URL))
	want(t, "registrations in the memory of one that does not send", p.Following(), 0)
	resume(first)
	h.await(3)
	want(t, "registrations in the memory of the one that sends", first.Following(), 1)
	resume(first) // again: all is as it was
	want(t, "registrations in its memory after that", first.Following(), 1)

	gone := p.begin("count", to(h.URL+"/gone"))
	resume(first)
	eventually(t, "a post of the second", func() bool {
		return slices.ContainsFunc(h.all(), func(p told) bool { return p.path == "/gone" })
	})
	if err := p.Delete(t.Context(), "alice", &a2a.PushDeleteRequest{TaskID: gone, ID: p.row(gone).Config.ID}); err != nil {
		t.Fatal(err)
	}
	resume(first)
	want(t, "registrations in its memory without the one that was deleted", first.Following(), 1)

	first.Pause()
	want(t, "registrations in the memory of one that pauses", first.Following(), 0)
	up.Store(true)
	resume(p.PushSender)
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	var got []told
	for _, post := range h.accepted() {
		if post.path != "/gone" {
			got = append(got, post)
		}
	}
	if events := p.events(task); !slices.Equal(bodies(got), events) {
		t.Errorf("%d events were delivered, of %d", len(got), len(events))
	}
}
