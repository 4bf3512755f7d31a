package guard

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"
)

// failures counts different wrong secrets per source. Ten within a minute lock the source out for a minute, right ones
// included, so that guessing teaches nothing.
type failures struct {
	now func() time.Time

	mu   sync.Mutex
	from map[string]*failed
}

type failed struct {
	hashes [][sha256.Size]byte // of the secrets that count
	since  time.Time           // of the first of them
	locked time.Time           // until when
}

const (
	maxFailures   = 10
	failureWindow = time.Minute
	lockTime      = time.Minute
	maxSources    = 4096 // remembered at a time
)

func newFailures(now func() time.Time) *failures {
	if now == nil {
		now = time.Now
	}
	return &failures{now: now, from: map[string]*failed{}}
}

// locked turns the request away with 429 when the source of the request is locked out, and reports whether it did.
func (f *failures) locked(w http.ResponseWriter, r *http.Request, refuse Refusal) bool {
	d := f.denial(source(r))
	if d == nil {
		return false
	}
	d.answer(w, r, refuse)
	return true
}

// denial is what a source that is locked out is told, nil for any other.
func (f *failures) denial(from string) *Denied {
	f.mu.Lock()
	var left time.Duration
	if s := f.from[from]; s != nil {
		left = s.locked.Sub(f.now())
	}
	f.mu.Unlock()
	if left <= 0 {
		return nil
	}
	return &Denied{Status: http.StatusTooManyRequests, Sentence: "Too many wrong attempts. Try again in a minute.", RetryAfter: left}
}

// add counts a wrong secret from a source.
func (f *failures) add(from string, hash [sha256.Size]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	s := f.from[from]
	if s == nil {
		// No more are remembered than this; which of them gives way does not matter, for what is guessed at cannot be.
		for other := range f.from {
			if len(f.from) < maxSources {
				break
			}
			delete(f.from, other)
		}
		s = &failed{}
		f.from[from] = s
	}
	if now.Sub(s.since) >= failureWindow {
		s.hashes, s.since = nil, now
	}
	if slices.Contains(s.hashes, hash) {
		return
	}
	if s.hashes = append(s.hashes, hash); len(s.hashes) >= maxFailures {
		s.hashes, s.locked = nil, now.Add(lockTime)
	}
}
