package frontend

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// session is one that a test ends, and counts how often it was asked for.
type session struct {
	over  atomic.Bool
	asked atomic.Int64
}

func (s *session) valid(r *http.Request) bool {
	s.asked.Add(1)
	return !s.over.Load() && r.URL.Path == "/ws"
}

// isClosed waits until a window was told that its session has ended.
func (v *window) isClosed() {
	v.t.Helper()
	select {
	case <-v.done:
	case <-time.After(20 * time.Second):
		v.t.Fatal("the socket is open")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if websocket.CloseStatus(v.err) != websocket.StatusPolicyViolation {
		v.t.Errorf("it was closed for %v", v.err)
	}
}

// TestWindowOfEndedSession: a window goes with the session it was opened in, whether something happens in it or not.
func TestWindowOfEndedSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ping time.Duration
		busy bool
	}{{"silent", 10 * time.Millisecond, false}, {"busy", time.Hour, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &session{}
			w := newWorld(t, &Options{Valid: s.valid})
			w.ping = c.ping
			w.chatWith("c1")
			v := w.open("/c/c1")
			w.begin("c1", "r1", "go")
			v.until("Sent")
			said := 0
			happen := func() {
				if c.busy {
					said++
					w.tell("c1", "r1", chunk("r1", fmt.Sprintf("word%d ", said), said > 1), nil)
				}
			}
			eventually(t, func() error { // while it is good it is asked for, and nothing becomes of it
				happen()
				if n := s.asked.Load(); n < 3 {
					return fmt.Errorf("it was asked for %d times", n)
				}
				return nil
			})
			select {
			case <-v.done:
				t.Fatalf("the window of a good session was closed: %v", v.err)
			default:
			}
			s.over.Store(true)
			eventually(t, func() error {
				happen()
				select {
				case <-v.done:
					return nil
				default:
					return fmt.Errorf("the socket is open after %d words", said)
				}
			})
			v.isClosed()
		})
	}
}

// TestWindowAfterSession: one that says where it stands only after its session has ended is told nothing.
func TestWindowAfterSession(t *testing.T) {
	t.Parallel()
	s := &session{}
	w := newWorld(t, &Options{CheckOrigin: func(*http.Request) bool { return true }, Valid: s.valid})
	w.chatWith("c1")
	s.over.Store(true)
	v := &window{t: t, w: w}
	v.load("/c/c1")
	v.connect()
	t.Cleanup(v.close)
	v.isClosed()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.ops) > 0 || v.reload {
		t.Errorf("it was sent %q", v.ops)
	}
}
