package guard

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"
)

// failures counts different wrong secrets per source. Ten within a minute lock the source out for a minute. What people chose,
// a passphrase or the token of the environment, is refused then also when it is right, so that guessing teaches nothing. What
// was drawn, the token of a caller or a one-time link, is good all the same, since nobody guesses 256 bits.
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
		if len(f.from) >= maxSources {
			f.forget(now)
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

// forget makes room for another source. One that is locked out stays so while there is any that is not, and of those the one
// gives way whose time is up first: an attacker who has a few addresses cannot free them. One who has thousands can, which is
// why passphrases have a least length and are looked at one at a time.
func (f *failures) forget(now time.Time) {
	var first string
	var until time.Time
	for from, s := range f.from {
		if !s.locked.After(now) {
			first = from
			break
		}
		if until.IsZero() || s.locked.Before(until) {
			first, until = from, s.locked
		}
	}
	delete(f.from, first)
}
