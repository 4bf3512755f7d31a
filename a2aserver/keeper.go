package a2aserver

import (
	"net/http"
	"sync"
	"time"
)

// streams are the open replies of a handler that are streams. One goroutine, which lives while there are any, keeps the
// silent ones alive and ends those whose client does not read.
type streams struct {
	keepAlive time.Duration
	patience  time.Duration // how long a write may take

	mu      sync.Mutex
	open    map[*stream]struct{}
	keeping bool
}

func (k *streams) add(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		k.open = map[*stream]struct{}{}
	}
	s.last.Store(time.Now().UnixNano())
	k.open[s] = struct{}{}
	if !k.keeping {
		k.keeping = true
		go k.keep()
	}
}

func (k *streams) remove(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, s)
}

// keep looks after the streams until there are none.
func (k *streams) keep() {
	tick := time.NewTicker(max(min(k.keepAlive, k.patience, 8*time.Second)/8, time.Millisecond))
	defer tick.Stop()
	for range tick.C {
		now := time.Now()
		var silent []*stream
		k.mu.Lock()
		if len(k.open) == 0 {
			k.keeping = false
			k.mu.Unlock()
			return
		}
		for s := range k.open {
			if since := s.since.Load(); since != 0 && now.Sub(time.Unix(0, since)) > k.patience {
				http.NewResponseController(s.w).SetWriteDeadline(now) // ends the write; remove waits for k.mu
			} else if since == 0 && now.Sub(time.Unix(0, s.last.Load())) >= k.keepAlive {
				silent = append(silent, s)
			}
		}
		k.mu.Unlock()
		for _, s := range silent {
			s.comment()
		}
	}
}

// comment writes a line that means nothing, so that proxies and clients see that the stream lives, though its agent may
// have said nothing yet.
func (s *stream) comment() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.begun()
	rc := http.NewResponseController(s.w)
	rc.SetWriteDeadline(time.Now().Add(time.Second)) // a client that does not read holds up the others no longer
	if !s.send([]byte(": \n\n")) {
		s.stop()
	}
	rc.SetWriteDeadline(time.Time{})
}
