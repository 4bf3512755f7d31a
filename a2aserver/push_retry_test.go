package a2aserver_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2aserver"
)

// TestCheck19Retries: whatever goes wrong, every event comes, in order, and each attempt has the id of the first.
func TestCheck19Retries(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	h := newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		what := random.IntN(10)
		mu.Unlock()
		switch what {
		case 0:
			w.WriteHeader(500)
		case 1:
			w.WriteHeader(404)
		case 2:
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case 3:
			panic(http.ErrAbortHandler) // a reset
		case 4:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case 5:
			w.WriteHeader(503)
		}
	})
	h.Config.ErrorLog = nil
	many := make([]time.Duration, 60)
	for i := range many {
		many[i] = time.Microsecond
	}
	p := newPusher(t, counting(40), &a2aserver.PushOptions{Retries: many})
	var tasks []string
	for i := range 5 {
		tasks = append(tasks, p.begin("count", to(h.URL+"/"+strconv.Itoa(i))))
	}
	for i, task := range tasks {
		events := p.events(task)
		path := "/" + strconv.Itoa(i)
		of := func() (out []told) {
			for _, p := range h.accepted() {
				if p.path == path {
					out = append(out, p)
				}
			}
			return out
		}
		eventually(t, "all events", func() bool { return len(of()) >= len(events) })
		if got := bodies(of()); !slices.Equal(got, events) {
			t.Errorf("task %d: %d events came, of %d", i, len(got), len(events))
		}
	}
	byID := map[string]string{}
	for _, p := range h.all() {
		if p.path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
		if was, ok := byID[p.id]; ok && was != string(p.body) {
			t.Errorf("two bodies under the id %s", p.id)
		}
		byID[p.id] = string(p.body)
	}
}

// TestPushGone: an answer of 410 is the last request.
func TestPushGone(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n >= 2 {
			w.WriteHeader(http.StatusGone)
		}
	})
	p := newPusher(t, counting(9), nil)
	task := p.begin("count", to(h.URL))
	rows := p.settled(1)
	want(t, "state", rows[0].State, a2aserver.PushGone)
	want(t, "status", rows[0].Status, 410)
	want(t, "posts", len(h.all()), 2)
	p.Crash()
	p.start()
	want(t, "registrations taken up", p.Following(), 0)
	_ = task
}

// settled waits until n registrations will not be tried again by themselves.
func (p *pusher) settled(n int) (rows []*a2aserver.PushRow) {
	p.t.Helper()
	eventually(p.t, "the deliveries to be given up", func() bool {
		all, err := p.Registrations(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		rows = slices.DeleteFunc(all, func(r *a2aserver.PushRow) bool { return r.State == a2aserver.PushLive })
		return len(rows) == n
	})
	return rows
}

// TestPushDeadAndReplay: at the end of the schedule a registration is dead, stays so over a restart, and a replay brings
// all that it still owed.
func TestPushDeadAndReplay(t *testing.T) {
	t.Parallel()
	var well sync.Map
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if _, ok := well.Load("yes"); !ok && n > 2 {
			w.WriteHeader(503)
		}
	})
	p := newPusher(t, counting(6), nil) // three attempts after the first
	task := p.begin("count", to(h.URL+"?key=secret"))
	rows := p.settled(1)
	want(t, "state", rows[0].State, a2aserver.PushDead)
	want(t, "attempts", rows[0].Attempts, 4)
	want(t, "posts", len(h.all()), 2+4)
	if !strings.Contains(rows[0].Error, "503") || strings.Contains(rows[0].Error, "secret") {
		t.Errorf("reason %q", rows[0].Error)
	}
	if err := p.PushSender.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.start()
	want(t, "registrations taken up", p.Following(), 0)
	if err := p.Replay(t.Context(), "nobody"); !errors.Is(err, a2aserver.ErrNoRegistration) {
		t.Errorf("of an unknown registration: %v", err)
	}
	well.Store("yes", true)
	if err := p.Replay(t.Context(), rows[0].UID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	if got, want := bodies(h.accepted()), p.events(task); !slices.Equal(got, want) {
		t.Errorf("%d events came, of %d", len(got), len(want))
	}
	if err := p.Replay(t.Context(), rows[0].UID); !errors.Is(err, a2aserver.ErrNoRegistration) {
		t.Errorf("of one that is done: %v", err)
	}
}

// TestPushRetryAfter: the next attempt does not come before the time that the webhook names.
func TestPushRetryAfter(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		h := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		p := newPusher(t, counting(3), nil)
		p.begin("count", to(h.URL))
		eventually(t, "the first failure", func() bool {
			rows, err := p.Registrations(t.Context())
			return err == nil && len(rows) == 1 && rows[0].Attempts == 1
		})
		rows, _ := p.Registrations(t.Context())
		if d := time.Until(rows[0].Next); d < 50*time.Minute || d > 70*time.Minute {
			t.Errorf("Retry-After %s: next attempt in %v", value, d)
		}
		want(t, "posts", len(h.all()), 1)
	}
}

// TestPushSchedule: the schedule is the one of Standard Webhooks, with jitter.
func TestPushSchedule(t *testing.T) {
	t.Parallel()
	var sum time.Duration
	for _, d := range a2aserver.PushRetries {
		sum += d
	}
	want(t, "attempts after the first", len(a2aserver.PushRetries), 9)
	want(t, "the last attempt", sum, 75*time.Hour+35*time.Minute+5*time.Second)

	h := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	p := newPusher(t, counting(1), &a2aserver.PushOptions{Retries: []time.Duration{time.Hour}})
	for range 8 {
		p.begin("count", to(h.URL))
	}
	var waits []time.Duration
	eventually(t, "the first failures", func() bool {
		rows, err := p.Registrations(t.Context())
		waits = nil
		for _, r := range rows {
			if r.Attempts == 1 {
				waits = append(waits, time.Until(r.Next))
			}
		}
		return err == nil && len(waits) == 8
	})
	slices.Sort(waits)
	if waits[0] < 47*time.Minute || waits[7] > 72*time.Minute || waits[7]-waits[0] < time.Second {
		t.Errorf("next attempts in %v", waits)
	}
}

// TestPushIsolation: a webhook that does not answer delays no task, no other webhook of the same task and none elsewhere.
func TestPushIsolation(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	slow := newHook(t, func(int, http.ResponseWriter, *http.Request) { <-stuck })
	t.Cleanup(func() { close(stuck) })
	fast := newHook(t, nil)
	p := newPusher(t, counting(20), &a2aserver.PushOptions{Target: func(u *url.URL) (a2aserver.PushTarget, error) {
		way, _ := openTarget(u)
		way.Connections = 2
		return way, nil
	}})
	all := 0
	for range 20 {
		task := p.begin("count", to(slow.URL), to(fast.URL))
		all += len(p.events(task)) // comes to its end
	}
	eventually(t, "everything at the fast one", func() bool { return len(fast.all()) == all })
	if n := len(slow.all()); n > 2 {
		t.Errorf("%d connections to the slow one", n)
	}
}

// TestPushRate: an origin gets no more requests a second than it may, whatever the number of registrations.
func TestPushRate(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, counting(3), &a2aserver.PushOptions{Target: func(u *url.URL) (a2aserver.PushTarget, error) {
		way, _ := openTarget(u)
		way.Rate = 20
		return way, nil
	}})
	began := time.Now()
	for i := range 10 {
		p.begin("count", to(h.URL+"/"+strconv.Itoa(i)))
	}
	h.await(40)
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("40 requests at 20 a second, with a burst of 20, took %v", took)
	}
}

// TestPushClose: what is being sent gets a moment, what is not sent is sent after the next start.
func TestPushClose(t *testing.T) {
	t.Parallel()
	held, entered := make(chan struct{}), make(chan struct{}, 64)
	h := newHook(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		if n == 3 {
			<-held
		}
	})
	p := newPusher(t, counting(5), nil)
	task := p.begin("count", to(h.URL))
	for range 3 {
		<-entered
	}
	over := make(chan error)
	go func() { over <- p.PushSender.Close(context.Background()) }()
	eventually(t, "the sender closes", p.Closing)
	close(held)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	want(t, "posts before the end", len(h.all()), 3)
	if err := p.PushSender.Close(t.Context()); err != nil {
		t.Errorf("the second time: %v", err)
	}
	p.start()
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	if got, want := bodies(h.all()), p.events(task); !slices.Equal(got, want) {
		t.Errorf("%d posts for %d events: some came twice", len(got), len(want))
	}
}

// TestPushParked: what waits for its next attempt is a timer: no goroutine, no connection, no task held in memory.
func TestPushParked(t *testing.T) { // not parallel: it counts goroutines
	h := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	p := newPusher(t, counting(3), &a2aserver.PushOptions{
		Retries: []time.Duration{time.Hour},
		Target: func(*url.URL) (a2aserver.PushTarget, error) {
			return a2aserver.PushTarget{HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Connections: 8}, nil
		},
	})
	before := runtime.NumGoroutine()
	const n = 400
	for i := range n {
		p.events(p.begin("count", to(h.URL+"/"+strconv.Itoa(i))))
	}
	h.await(n)
	eventually(t, "all are parked", func() bool { return runtime.NumGoroutine() < before+20 })
	want(t, "registrations in memory", p.Following(), n)
}
