package guard

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Drain is the state of a program that is coming to its end. Once it has begun, new requests get 503 with Retry-After,
// and streams that are open are told to end with a reason that their clients can come back from.
type Drain struct {
	mu     sync.Mutex
	reason string
	begun  chan struct{}
	hooks  map[int]func(reason string)
	next   int
}

// NewDrain returns a Drain that has not begun.
func NewDrain() *Drain {
	return &Drain{begun: make(chan struct{}), hooks: map[int]func(string){}}
}

// Begun is closed when draining begins; a handler that streams selects on it.
func (d *Drain) Begun() <-chan struct{} { return d.begun }

// Reason says why the program ends, "" before draining has begun.
func (d *Drain) Reason() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reason
}

// OnBegin calls hook when draining begins, or at once when it has. Remove takes it back, for a stream that ended before.
func (d *Drain) OnBegin(hook func(reason string)) (remove func()) {
	d.mu.Lock()
	select {
	case <-d.begun:
		reason := d.reason
		d.mu.Unlock()
		hook(reason)
		return func() {}
	default:
	}
	id := d.next
	d.next++
	d.hooks[id] = hook
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.hooks, id)
	}
}

// Begin starts draining and calls the hooks, each in its own goroutine; it returns when all have. Only the first call
// counts.
func (d *Drain) Begin(reason string) {
	d.mu.Lock()
	select {
	case <-d.begun:
		d.mu.Unlock()
		return
	default:
	}
	d.reason = reason
	close(d.begun)
	hooks := d.hooks
	d.hooks = nil
	d.mu.Unlock()
	var wg sync.WaitGroup
	for _, hook := range hooks {
		wg.Go(func() { hook(reason) })
	}
	wg.Wait()
}

// retryAfter is how long a client should wait for a program that restarts.
const retryAfter = 5 * time.Second

// Refuse answers 503 once draining has begun.
func (d *Drain) Refuse(next http.Handler) http.Handler { return d.refuse(next, refuse) }

func (d *Drain) refuse(next http.Handler, refuse Refusal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-d.begun:
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
			refuse(w, r, http.StatusServiceUnavailable, "The program is shutting down. Try again in a moment.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Shutdown ends servers in order: new requests are refused and open streams told to end, then every server waits for its
// requests until ctx is over, then what is left is cut off. It returns the first error of a server that was cut off.
func (d *Drain) Shutdown(ctx context.Context, reason string, servers ...*http.Server) error {
	told := make(chan struct{})
	go func() {
		defer close(told)
		d.Begin(reason)
	}()
	select {
	case <-told:
	case <-ctx.Done():
	}
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			if errs[i] = s.Shutdown(ctx); errs[i] != nil {
				_ = s.Close() // what it would say is that connections were cut, which is what we ask for
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
