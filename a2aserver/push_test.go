package a2aserver_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
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

// TestPushLimit: a task has so many configurations and no more.
func TestPushLimit(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold")
	set := func(id string) error {
		r := to(h.URL)
		r.Principal, r.Config.TaskID, r.Config.ID = "alice", task, id
		_, err := p.Set(t.Context(), r)
		return err
	}
	n := a2a.Limits.PushConfigs
	for i := range n { // n-1, n
		if err := set(strconv.Itoa(i)); err != nil {
			t.Fatalf("number %d: %v", i+1, err)
		}
	}
	if err := set("one more"); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("number %d: %v", n+1, err)
	}
	if err := set("3"); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	if err := p.Delete(t.Context(), "alice", &a2a.PushDeleteRequest{TaskID: task, ID: "5"}); err != nil {
		t.Fatal(err)
	}
	if err := set("one more"); err != nil {
		t.Errorf("after a delete: %v", err)
	}
	page, err := p.List(t.Context(), "alice", &a2a.PushListRequest{TaskID: task})
	if err != nil || len(page.Configs) != n || page.NextPageToken != "" {
		t.Errorf("%d configurations, %v", len(page.Configs), err)
	}
}

// TestCheck21Configs: what set, get, list and delete answer.
func TestCheck21Configs(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold")
	ctx := t.Context()
	set := func(d wire.Dialect, id, path string) *a2a.PushConfig {
		t.Helper()
		r := to(h.URL + path)
		r.Principal, r.Dialect, r.Config.TaskID, r.Config.ID, r.Config.Token = "alice", d, task, id, "tok"
		r.Config.Authentication = &a2a.PushAuthentication{Scheme: "Basic", Credentials: "YTpi", MoreSchemes: []string{"Bearer"}}
		c, err := p.Set(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	get := func(who, id string) (*a2a.PushConfig, error) {
		return p.Get(ctx, who, &a2a.PushGetRequest{TaskID: task, ID: id})
	}
	if _, err := get("alice", ""); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get without any: %v", err)
	}
	first := set(wire.MID, "", "/1")
	want(t, "default id", first.ID, task)
	want(t, "token", first.Token, "tok")
	want(t, "scheme", first.Authentication.Scheme, "Basic")
	want(t, "credentials", first.Authentication.Credentials, "")
	set(wire.MID, "", "/2") // takes its place
	second := set(wire.NEW, "", "/3")
	if second.ID == "" || second.ID == task {
		t.Errorf("made id %q", second.ID)
	}
	want(t, "same id again", set(wire.NEW, second.ID, "/4").ID, second.ID)
	got, err := get("alice", "")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "newest", got.URL, h.URL+"/4")
	want(t, "credentials of get", got.Authentication.Credentials, "")
	got, err = get("alice", task)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the other", got.URL, h.URL+"/2")
	for _, who := range []string{"", "bob"} {
		if _, err := get(who, task); a2a.KindOf(err) != a2a.KindTaskNotFound {
			t.Errorf("get by %q: %v", who, err)
		}
		page, err := p.List(ctx, who, &a2a.PushListRequest{TaskID: task})
		if err != nil || len(page.Configs) != 0 {
			t.Errorf("list by %q: %v, %v", who, page, err)
		}
		if err := p.Delete(ctx, who, &a2a.PushDeleteRequest{TaskID: task, ID: task}); err != nil {
			t.Errorf("delete by %q: %v", who, err)
		}
	}
	if _, err := p.For("other").Get(ctx, "alice", &a2a.PushGetRequest{TaskID: task}); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get in another scope: %v", err)
	}
	// A list in pages.
	page, err := p.List(ctx, "alice", &a2a.PushListRequest{TaskID: task, PageSize: 1})
	if err != nil || len(page.Configs) != 1 || page.NextPageToken == "" {
		t.Fatalf("first page: %v, %v", page, err)
	}
	want(t, "oldest first", page.Configs[0].ID, task)
	want(t, "credentials of list", page.Configs[0].Authentication.Credentials, "")
	page, err = p.List(ctx, "alice", &a2a.PushListRequest{TaskID: task, PageSize: 1, PageToken: page.NextPageToken})
	if err != nil || len(page.Configs) != 1 || page.NextPageToken != "" || page.Configs[0].ID != second.ID {
		t.Errorf("second page: %v, %v", page, err)
	}
	if _, err := p.List(ctx, "alice", &a2a.PushListRequest{TaskID: task, PageToken: "x"}); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("made-up page token: %v", err)
	}
	for range 2 { // the second time, too
		if err := p.Delete(ctx, "alice", &a2a.PushDeleteRequest{TaskID: task, ID: task}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := get("alice", task); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get after delete: %v", err)
	}
	// A v0.1 client takes its configuration back by setting none.
	old := &a2aserver.PushRegistration{Principal: "alice", Dialect: wire.OLD, Config: a2a.PushConfig{TaskID: task}}
	set(wire.MID, "", "/5")
	if _, err := p.Set(ctx, old); err != nil {
		t.Error(err)
	}
	if _, err := get("alice", task); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get after clear: %v", err)
	}
}

// TestCheck21Refusals: what a configuration may not say.
func TestCheck21Refusals(t *testing.T) {
	t.Parallel()
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold")
	try := func(c a2a.PushConfig) error {
		c.TaskID = task
		r := &a2aserver.PushRegistration{Principal: "alice", Config: c}
		err := p.Check(t.Context(), r)
		_, setErr := p.Set(t.Context(), r)
		if fmt.Sprint(err) != fmt.Sprint(setErr) {
			t.Errorf("%+v: check says %v, set says %v", c, err, setErr)
		}
		return err
	}
	for _, u := range []string{
		"", "/relative", "hooks.example/x", "https:///x", "ftp://hooks.example/", "https://user:pass@hooks.example/",
		"https://hooks.example/#part", "https://hooks.example/#", "http://hooks.example/", "https:opaque", "https://h.example/\x7f",
		"https://hooks.example/" + strings.Repeat("a", 2048-len("https://hooks.example/")+1),
	} {
		if err := try(a2a.PushConfig{URL: u}); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("url %.60q: %v", u, err)
		}
	}
	for _, u := range []string{
		"https://hooks.example/?a=b", "http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost:1/",
		"https://hooks.example/" + strings.Repeat("a", 2048-len("https://hooks.example/")),
	} {
		if err := try(a2a.PushConfig{URL: u}); err != nil {
			t.Errorf("url %.60q: %v", u, err)
		}
	}
	key := func(in, name, value string) *a2a.PushAuthentication {
		b, _ := json.Marshal(map[string]string{"in": in, "name": name, "value": value})
		return &a2a.PushAuthentication{Scheme: "apikey", Credentials: string(b)}
	}
	const good = "https://hooks.example/"
	for name, a := range map[string]*a2a.PushAuthentication{
		"unknown scheme":            {Scheme: "Digest", Credentials: "x"},
		"no scheme":                 {Credentials: "x"},
		"basic without credentials": {Scheme: "Basic"},
		"bearer without a key":      {Scheme: "Bearer"},
		"line break":                {Scheme: "Bearer", Credentials: "a\r\nX: y"},
		"api key in words":          {Scheme: "ApiKey", Credentials: "secret"},
		"api key in the query":      key("query", "k", "v"),
		"api key without a name":    key("header", "", "v"),
		"api key as host":           key("header", "host", "v"),
		"api key as cookie":         key("header", "Cookie", "v"),
		"api key as length":         key("header", "content-length", "v"),
		"api key as encoding":       key("header", "Transfer-Encoding", "v"),
		"api key as authorization":  key("header", "authorization", "v"),
		"api key as our id":         key("header", "Webhook-Id", "v"),
		"api key as the token":      key("header", "x-a2a-notification-token", "v"),
		"api key with a bad name":   key("header", "a b", "v"),
		"api key with a line break": key("header", "X-Key", "v\nw"),
	} {
		if err := try(a2a.PushConfig{URL: good, Authentication: a}); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, token := range []string{"a\nb", strings.Repeat("t", 4097)} {
		if err := try(a2a.PushConfig{URL: good, Token: token}); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("token %.10q: %v", token, err)
		}
	}
	if err := try(a2a.PushConfig{URL: good, Token: strings.Repeat("t", 4096)}); err != nil {
		t.Error(err)
	}
	if err := try(a2a.PushConfig{URL: good, ID: strings.Repeat("i", 257)}); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("long id: %v", err)
	}
}

// TestPushAuthentication: what goes out under each scheme.
func TestPushAuthentication(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		auth        a2a.PushAuthentication
		name, value string
	}{
		{a2a.PushAuthentication{Scheme: "Bearer", Credentials: "x"}, "Authorization", "Bearer x"},
		{a2a.PushAuthentication{Scheme: "BASIC", Credentials: "YTpi"}, "Authorization", "Basic YTpi"},
		{a2a.PushAuthentication{Scheme: "basic", Credentials: "a:b"}, "Authorization", "Basic YTpi"},
		{a2a.PushAuthentication{Scheme: "Digest", Credentials: "x", MoreSchemes: []string{"bearer"}}, "Authorization", "Bearer x"},
		{a2a.PushAuthentication{Scheme: "ApiKey", Credentials: `{"in":"header","name":"X-Key","value":"v"}`}, "X-Key", "v"},
		{a2a.PushAuthentication{}, "Authorization", ""},
	} {
		h := newHook(t, nil)
		p := newPusher(t, execFunc(obey), nil)
		r := to(h.URL)
		r.Config.Authentication = &c.auth
		p.begin("do it", r)
		want(t, c.auth.Scheme, h.await(1)[0].header.Get(c.name), c.value)
	}
}

// TestPushSigned: Bearer without credentials is a JWT of ours, for that webhook, that task and that body.
func TestPushSigned(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	var mu sync.Mutex
	var claims []map[string]any
	p := newPusher(t, execFunc(obey), &a2aserver.PushOptions{Sign: func(c map[string]any) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		claims = append(claims, c)
		return "h." + strconv.Itoa(len(claims)) + ".s", nil
	}})
	r := to(h.URL + "/hook")
	r.Config.Authentication = &a2a.PushAuthentication{Scheme: "Bearer"}
	task := p.begin("do it", r)
	posts := h.await(len(p.events(task)))
	mu.Lock()
	defer mu.Unlock()
	ids := map[any]bool{}
	for i, c := range claims {
		want(t, "header", posts[i].header.Get("Authorization"), "Bearer h."+strconv.Itoa(i+1)+".s")
		want(t, "aud", c["aud"], any(h.URL))
		want(t, "taskId", c["taskId"], any(task))
		want(t, "life", c["exp"].(int64)-c["iat"].(int64), 300)
		want(t, "body", c["request_body_sha256"], any(sha(posts[i].body)))
		ids[c["jti"]] = true
	}
	want(t, "jti", len(ids), len(posts))
}

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestPushDeleteAndReplace: nothing more comes once a configuration is deleted, and a changed one goes on where it stood.
func TestPushDeleteAndReplace(t *testing.T) {
	t.Parallel()
	down := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	well := newHook(t, nil)
	p := newPusher(t, counting(4), &a2aserver.PushOptions{Retries: a2aserver.PushRetries})
	r := to(down.URL)
	r.Config.ID = "c"
	task := p.begin("count", r)
	down.await(1)
	moved := to(well.URL)
	moved.Principal, moved.Config.TaskID, moved.Config.ID, moved.After = "alice", task, "c", 1<<40
	if _, err := p.Set(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	if got, want := bodies(well.all()), p.events(task); !slices.Equal(got, want) {
		t.Errorf("%d events came at the new address, of %d", len(got), len(want))
	}

	held := make(chan struct{})
	slow := newHook(t, func(int, http.ResponseWriter, *http.Request) { <-held })
	r = to(slow.URL)
	r.Config.ID = "d"
	task = p.begin("count", r)
	slow.await(1)
	if err := p.Delete(t.Context(), "alice", &a2a.PushDeleteRequest{TaskID: task, ID: "d"}); err != nil {
		t.Fatal(err)
	}
	close(held)
	want(t, "registrations in memory", p.Following(), 0)
	want(t, "posts", len(slow.all()), 1)
}

// TestPushEqualSet: a client that sends its configuration along with each message does not begin it anew.
func TestPushEqualSet(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold", to(h.URL))
	h.await(1)
	before := p.row(task)
	r := to(h.URL)
	r.Principal, r.Config = "alice", before.Config
	if _, err := p.Set(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want(t, "registration", p.row(task).UID, before.UID)
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

// TestPushHandshake: the webhook of a v0.1 client is asked first. What does not know the question is no objection, what
// refuses it is.
func TestPushHandshake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		ok     bool
	}{
		"echo":        {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Query().Get("validationToken")) }, true},
		"other text":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, true},
		"posts only":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, true},
		"not found":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, true},
		"forbidden":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, false},
		"gone":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, false},
		"broken":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, false},
		"elsewhere":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) }, false},
		"not serving": {nil, false},
	} {
		asked := 0
		var mu sync.Mutex
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet {
				asked++
				if r.URL.Path == "/there" || r.URL.Query().Get("keep") != "me" {
					t.Errorf("%s: asked at %s", name, r.URL)
				}
				c.answer(w, r)
			}
		}))
		if c.answer == nil {
			s.Close()
		}
		p := newPusher(t, execFunc(obey), nil)
		task := p.begin("hold")
		r := &a2aserver.PushRegistration{
			Principal: "alice", Dialect: wire.OLD, ClientTaskID: "theirs", Config: a2a.PushConfig{TaskID: task, URL: s.URL + "/hook?keep=me"},
		}
		err := p.Check(t.Context(), r)
		_, setErr := p.Set(t.Context(), r)
		if (err == nil) != c.ok || (setErr == nil) != c.ok || err != nil && a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("%s: check %v, set %v", name, err, setErr)
		}
		mu.Lock()
		if c.ok {
			want(t, name+": questions", asked, 1)
		}
		mu.Unlock()
		s.Close()
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
