package guard

import (
	"crypto/sha256"
	"strconv"
	"testing"
	"time"
)

// TestForgottenSources fills the memory for sources to one less than it holds, as many, and one more: who is locked out gives way
// only to make room where everybody is, and then the one whose time is up first.
func TestForgottenSources(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFailures(func() time.Time { return now })
	n := 0
	guess := func(from string) {
		n++
		f.add(from, sha256.Sum256([]byte(strconv.Itoa(n))))
	}
	lock := func(from string) {
		t.Helper()
		for range maxFailures {
			guess(from)
		}
		if f.denial(from) == nil {
			t.Fatalf("%s is not locked out", from)
		}
	}
	lock("first")
	now = now.Add(time.Second)
	lock("second")
	for i := 2; i < maxSources-1; i++ {
		guess(strconv.Itoa(i))
	}
	for _, c := range []struct {
		from string
		want int
	}{
		{"at the limit", maxSources}, {"above it", maxSources}, {"above it", maxSources}, {"far above it", maxSources},
	} {
		guess(c.from)
		if len(f.from) != c.want {
			t.Fatalf("with %s %d are remembered, want %d", c.from, len(f.from), c.want)
		}
	}
	// Thousands more guess once: those that are locked out stay so, and each newcomer is remembered.
	for i := range 2 * maxSources {
		from := "other " + strconv.Itoa(i)
		if guess(from); f.from[from] == nil {
			t.Fatalf("%s is not remembered", from)
		}
	}
	if len(f.from) != maxSources || f.denial("first") == nil || f.denial("second") == nil {
		t.Fatalf("of %d, first %v, second %v", len(f.from), f.denial("first"), f.denial("second"))
	}
	// Now all are locked out. The next takes the place of the first.
	for i := range maxSources - 2 {
		now = now.Add(time.Millisecond)
		lock("locked " + strconv.Itoa(i))
	}
	if f.denial("first") == nil {
		t.Fatal("the first is free before there is need")
	}
	guess("newcomer")
	if len(f.from) != maxSources || f.from["first"] != nil || f.denial("second") == nil || f.from["newcomer"] == nil {
		t.Errorf("of %d, first %v, second %v", len(f.from), f.denial("first"), f.denial("second"))
	}
	// A lock whose time is up is none.
	now = now.Add(lockTime - time.Millisecond*(maxSources-2))
	if f.denial("second") != nil || f.denial("locked 0") == nil {
		t.Fatal("the clock is not where this test wants it")
	}
	f.from["newcomer"].locked = now.Add(lockTime)
	guess("the last")
	if f.from["second"] != nil || f.denial("locked 0") == nil {
		t.Error("one that was locked out gave way to one that was not")
	}
}
