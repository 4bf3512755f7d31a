package a2aserver_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// hook is a webhook that remembers what it was told.
type hook struct {
	*httptest.Server
	t      testing.TB
	answer func(n int, w http.ResponseWriter, r *http.Request) // may be nil; n counts the posts from 1

	mu  sync.Mutex
	got []told
}

// told is one post.
type told struct {
	id, path string
	header   http.Header
	body     []byte
	ok       bool // was answered with 2xx
}

func newHook(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *hook {
	h := &hook{t: t, answer: answer}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) { w.code = code; w.ResponseWriter.WriteHeader(code) }

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost { // the v0.1 handshake is not known here
		return
	}
	sw := &statusWriter{w, 200}
	h.mu.Lock()
	n := len(h.got)
	h.got = append(h.got, told{id: r.Header.Get("webhook-id"), path: r.URL.Path, header: r.Header, body: body})
	h.mu.Unlock()
	if h.answer != nil {
		h.answer(n+1, sw, r)
	}
	h.mu.Lock()
	h.got[n].ok = sw.code < 300
	h.mu.Unlock()
}

func (h *hook) all() []told {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// accepted are the posts that were answered with 2xx, without those of an id that came before.
func (h *hook) accepted() (out []told) {
	seen := map[string]bool{}
	for _, p := range h.all() {
		if p.ok && !seen[p.id] {
			seen[p.id] = true
			out = append(out, p)
		}
	}
	return out
}

// await waits until n posts are there.
func (h *hook) await(n int) []told {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("%d posts", n), func() bool { return len(h.all()) >= n })
	return h.all()
}

// pusher is a sender over an agent.
type pusher struct {
	*a2aserver.PushSender
	a2aserver.Pusher
	t     testing.TB
	agent *a2aserver.Agent
	o     a2aserver.PushOptions
}

// openTarget lets everything through.
func openTarget(*url.URL) (a2aserver.PushTarget, error) {
	return a2aserver.PushTarget{HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, Connections: 16}, nil
}

func newPusher(t testing.TB, exec a2aserver.Executor, o *a2aserver.PushOptions) *pusher {
	p := &pusher{t: t, agent: a2aserver.NewAgent(exec, a2aserver.NewMemoryLog(), nil)}
	t.Cleanup(func() { _ = p.agent.Close(closed()) })
	if o != nil {
		p.o = *o
	}
	p.o.Tasks = func(scope string) a2aserver.Tasks {
		if scope != "s" {
			return nil
		}
		return p.agent
	}
	if p.o.Target == nil {
		p.o.Target = openTarget
	}
	if p.o.Store == nil {
		p.o.Store = a2aserver.NewMemoryPushStore()
	}
	if p.o.Retries == nil {
		p.o.Retries = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	}
	p.start()
	t.Cleanup(func() { _ = p.PushSender.Close(context.Background()) })
	return p
}

// start makes a sender of the same store, as a new process does.
func (p *pusher) start() {
	p.PushSender = a2aserver.NewPushSender(&p.o)
	p.Pusher = p.For("s")
	if err := p.Resume(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// begin starts a task and registers webhooks for it.
func (p *pusher) begin(text string, all ...*a2aserver.PushRegistration) string {
	p.t.Helper()
	s, err := p.agent.Start(p.t.Context(), "alice", request("m-"+text+strconv.Itoa(rand.Int()), text))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range all {
		r.Principal, r.Config.TaskID, r.After = "alice", s.TaskID, s.After
		if _, err := p.Set(p.t.Context(), r); err != nil {
			p.t.Fatal(err)
		}
	}
	return s.TaskID
}

func to(url string) *a2aserver.PushRegistration {
	return &a2aserver.PushRegistration{Config: a2a.PushConfig{URL: url}}
}

// row returns the only registration in the store.
func (p *pusher) row(task string) *a2aserver.PushRow {
	p.t.Helper()
	rows, err := p.o.Store.Rows(p.t.Context(), task)
	if err != nil || len(rows) != 1 {
		p.t.Fatalf("%d registrations, %v", len(rows), err)
	}
	return rows[0]
}

// events are the canonical events of a task that has ended.
func (p *pusher) events(task string) (out []string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Second)
	defer cancel()
	for entries, err := range p.agent.Events(ctx, "alice", task, 0) {
		if err != nil {
			p.t.Fatal(err)
		}
		for _, e := range entries {
			if ev, _ := e.Event(); ev != nil {
				if m, ok := ev.(*a2a.Message); ok && m.Role == a2a.RoleUser {
					continue
				}
			}
			out = append(out, string(e.JSON))
		}
	}
	return out
}

func bodies(posts []told) (out []string) {
	for _, p := range posts {
		out = append(out, string(p.body))
	}
	return out
}

// counting says working n times.
func counting(n int) execFunc {
	return func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for i := range n {
			if !yield(says(a2a.TaskStateWorking, strconv.Itoa(i))) {
				return nil
			}
		}
		return nil
	}
}

// TestCheck19NewDelivery: a webhook of a v1.0 client gets every event of its task, once and in order, as a StreamResponse,
// with its token in both headers, its credentials, and an id of its own each.
func TestCheck19NewDelivery(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	r := to(h.URL + "/a?b=c")
	r.Config.Token = "tok"
	r.Config.Authentication = &a2a.PushAuthentication{Scheme: "bearer", Credentials: "cred"}
	task := p.begin("do it", r)
	events := p.events(task)
	h.await(len(events))
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	posts := h.all()
	if got := bodies(posts); !slices.Equal(got, events) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(events, "\n"))
	}
	ids := map[string]bool{}
	for _, p := range posts {
		ids[p.id] = true
		for name, v := range map[string]string{
			"X-A2A-Notification-Token": "tok", "A2A-Notification-Token": "tok", "Authorization": "Bearer cred",
			"Content-Type": "application/json",
		} {
			want(t, name, p.header.Get(name), v)
		}
		if at, err := strconv.ParseInt(p.header.Get("webhook-timestamp"), 10, 64); err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Minute {
			t.Errorf("webhook-timestamp %q", p.header.Get("webhook-timestamp"))
		}
	}
	if len(ids) != len(posts) || ids[""] {
		t.Errorf("%d ids for %d posts", len(ids), len(posts))
	}
	want(t, "registrations in memory", p.Following(), 0)
}

// TestCheck19Crash: a sender that is killed at any moment loses nothing: what the next one sends again has the same id.
func TestCheck19Crash(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n%7 == 0 {
			w.WriteHeader(500)
		}
	})
	many := slices.Repeat([]time.Duration{time.Millisecond}, 50)
	p := newPusher(t, counting(60), &a2aserver.PushOptions{Retries: many})
	tasks := map[string]string{}
	for i := range 4 {
		path := "/" + strconv.Itoa(i)
		tasks[path] = p.begin("count", to(h.URL+path))
	}
	for i := range 12 {
		h.await((i + 1) * 10)
		p.Crash()
		p.start()
	}
	for path, task := range tasks {
		events := p.events(task)
		eventually(t, "the end of "+path, func() bool { return p.row(task).State == a2aserver.PushDone })
		var got []string
		for _, post := range h.accepted() {
			if post.path == path {
				got = append(got, string(post.body))
			}
		}
		if !slices.Equal(got, events) {
			t.Errorf("%s: %d events came, of %d", path, len(got), len(events))
		}
	}
}

// TestPushCursor: a registration made when the task has gone on delivers what came behind its cursor and no more.
func TestPushCursor(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, counting(5), nil)
	task := p.begin("count")
	events := p.events(task)
	var seqs []int64
	for entries, err := range p.agent.Events(t.Context(), "alice", task, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			seqs = append(seqs, e.Seq)
		}
	}
	r := to(h.URL)
	r.Principal, r.Config.TaskID, r.After = "alice", task, seqs[len(seqs)-3]
	if _, err := p.Set(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	if got, want := bodies(h.all()), events[len(events)-2:]; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPushOfNothing: a registration whose task, or whose scope, is gone is forgotten.
func TestPushOfNothing(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	for _, scope := range []string{"s", "gone"} {
		r := to(h.URL)
		r.Principal, r.Config.TaskID = "alice", "no-such-task-"+scope
		if _, err := p.For(scope).Set(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both to be forgotten", func() bool {
		all, err := p.Registrations(t.Context())
		return err == nil && len(all) == 0 && p.Following() == 0
	})
	want(t, "posts", len(h.all()), 0)
}
