package guard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"
)

// NewToken returns a fresh secret of 256 bits, fit for URLs and headers, and the hash to keep of it.
func NewToken() (token string, hash [sha256.Size]byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	return token, sha256.Sum256([]byte(token))
}

// launchTokens are the one-time secrets of links that were given out. Only hashes are kept, and only in memory.
type launchTokens struct {
	now func() time.Time

	mu   sync.Mutex
	live []launchToken // oldest first
}

type launchToken struct {
	hash    [sha256.Size]byte
	expires time.Time // zero: with the program
}

const maxLaunchTokens = 64 // unused links at a time; the oldest gives way

func (l *launchTokens) add(ttl time.Duration) (string, time.Time) {
	token, hash := NewToken()
	var expires time.Time
	if ttl > 0 {
		expires = l.now().Add(ttl)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.live) >= maxLaunchTokens {
		l.live = l.live[1:]
	}
	l.live = append(l.live, launchToken{hash, expires})
	return token, expires
}

// take uses a token up and reports whether it was good. It compares with every token there is, whatever it finds.
func (l *launchTokens) take(token string) bool {
	hash := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	now, found := l.now(), -1
	for i, t := range l.live {
		if subtle.ConstantTimeCompare(t.hash[:], hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	t := l.live[found]
	l.live = append(l.live[:found:found], l.live[found+1:]...)
	return t.expires.IsZero() || now.Before(t.expires)
}
