package a2aserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// wrapLog lets a test look at, hold up and break a log.
type wrapLog struct {
	a2aserver.Log
	broken  atomic.Bool // appends fail from now on
	sick    atomic.Bool // Healthy says so
	changes atomic.Int32
	events  atomic.Int32

	mu     sync.Mutex
	held   []func() // appends that wait for release, when holding
	holds  bool
	flying atomic.Int32
	most   atomic.Int32
}

var errFull = &a2a.Error{Kind: a2a.KindUnavailable, Message: "the disk is full"}

func (l *wrapLog) Healthy() error {
	if l.sick.Load() {
		return errFull
	}
	return nil
}

func (l *wrapLog) Append(c *a2aserver.Change, done func([]*a2a.Entry, error)) {
	l.changes.Add(1)
	l.events.Add(int32(len(c.Events)))
	if l.broken.Load() {
		go done(nil, errFull)
		return
	}
	if n := l.flying.Add(int32(len(c.Events))); n > l.most.Load() {
		l.most.Store(n)
	}
	do := func() {
		l.Log.Append(c, func(e []*a2a.Entry, err error) {
			l.flying.Add(-int32(len(c.Events)))
			done(e, err)
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds {
		l.held = append(l.held, do)
		return
	}
	do()
}

func (l *wrapLog) hold(b bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = b
	if !b {
		for _, do := range l.held {
			do()
		}
		l.held = nil
	}
}

// next lets the oldest of the appends that wait go on.
func (l *wrapLog) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[0]()
	l.held = l.held[1:]
}

func newWrapLog() *wrapLog { return &wrapLog{Log: a2aserver.NewMemoryLog()} }

func request(id, text string) *a2a.SendRequest {
	return &a2a.SendRequest{Message: a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}}
}

// run starts a message and follows it to the end of its task.
func run(t *testing.T, a *a2aserver.Agent, id, text string) string {
	t.Helper()
	s, err := a.Start(t.Context(), "p", request(id, text))
	if err != nil {
		t.Fatal(err)
	}
	for entries, err := range a.Events(t.Context(), "p", s.TaskID, s.After) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if ev, _ := e.Event(); a2a.EventState(ev).Interrupted() {
				return s.TaskID
			}
		}
	}
	return s.TaskID
}

func state(t *testing.T, a *a2aserver.Agent, id string) a2a.TaskState {
	t.Helper()
	tk, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return tk.Status.State
}

func closed() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestShortTurnIsOneCommit: the answer to a short blocking send costs one append.
func TestShortTurnIsOneCommit(t *testing.T) {
	t.Parallel()
	log := newWrapLog()
	a := a2aserver.NewAgent(execFunc(obey), log, nil)
	defer a.Close(closed())
	for i := range 20 {
		run(t, a, fmt.Sprint("m", i), "do it")
	}
	want(t, "events", log.events.Load(), 80)
	if n := log.changes.Load(); n > 22 { // a scheduler's whim may split one
		t.Errorf("%d changes for 20 turns", n)
	}
}

// TestFastTurnFillsItsChanges: an executor that is faster than the log does not commit every other event alone.
func TestFastTurnFillsItsChanges(t *testing.T) {
	t.Parallel()
	log := newWrapLog()
	var said atomic.Int32
	a := a2aserver.NewAgent(execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for yield(chunk("x")) {
			said.Add(1)
		}
		return nil
	}), log, nil)
	defer a.Close(closed())
	log.hold(true)
	if _, err := a.Start(t.Context(), "p", request("m", "x")); err != nil {
		t.Fatal(err)
	}
	stored := int32(0)
	for round := range int32(10) { // what is said while a commit is under way shares the next
		eventually(t, "as much is said ahead as may be", func() bool { return said.Load() >= stored+a2aserver.MaxUncommitted-2 })
		if n := log.changes.Load(); n != round+1 {
			t.Fatalf("%d changes for %d events, %d of them stored", n, said.Load(), stored)
		}
		stored = log.events.Load()
		log.next()
		eventually(t, "the next change", func() bool { return log.changes.Load() == round+2 })
	}
	log.broken.Store(true)
	log.hold(false)
}

// TestEventsArePipelined: the executor does not wait for commits, but never has more than 64 events under way; and nobody
// sees what is not committed.
func TestEventsArePipelined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, eventsArePipelined)
}

func eventsArePipelined(t *testing.T) {
	log := newWrapLog()
	var emitted atomic.Int32
	a := a2aserver.NewAgent(execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for range 1000 {
			yield(chunk("x"))
			emitted.Add(1)
		}
		return nil
	}), log, nil)
	defer a.Close(closed())
	log.hold(true)
	s, err := a.Start(t.Context(), "p", request("m", "x"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if n := emitted.Load(); n < a2aserver.MaxUncommitted-2 || n > a2aserver.MaxUncommitted {
		t.Errorf("%d events were taken while none was committed", n)
	}
	if _, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: s.TaskID}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("an uncommitted task is visible: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for e := range a.Events(soon, "p", s.TaskID, 0) {
		t.Errorf("an uncommitted event is visible: %s", e[0].JSON)
	}
	log.hold(false)
	n := 0
	for entries, err := range a.Events(t.Context(), "p", s.TaskID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(entries)
	}
	want(t, "events", n, 1002)
	if most := log.most.Load(); most > a2aserver.MaxUncommitted+1 {
		t.Errorf("%d events were under way", most)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	auth := func(ctx context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		if a2a.Text(tn.Message.Parts) == "auth" {
			yield(says(a2a.TaskStateAuthRequired, "sign in"))
			<-ctx.Done()
			return ctx.Err()
		}
		yield(chunk("half"))
		return obey(ctx, tn, yield)
	}
	a := a2aserver.NewAgent(execFunc(auth), log, nil)
	started, err := a.Start(t.Context(), "p", request("hold", "hold"))
	if err != nil {
		t.Fatal(err)
	}
	hold := started.TaskID
	for e := range a.Events(t.Context(), "p", hold, 0) {
		if ev, _ := e[len(e)-1].Event(); a2a.EventState(ev) == a2a.TaskStateWorking {
			break
		}
	}
	ask, signIn, done := run(t, a, "ask", "ask"), run(t, a, "auth", "auth"), run(t, a, "done", "do it")
	if err := a.Close(closed()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(t.Context(), "p", request("x", "x")); a2a.KindOf(err) != a2a.KindUnavailable {
		t.Errorf("after Close: %v", err)
	}
	want(t, "what remains stays as it is stored", state(t, a, hold), a2a.TaskStateWorking)

	// Without a Resumer what was at work has failed, and the rest stays.
	b := a2aserver.NewAgent(execFunc(auth), copyLog(t, log, hold, ask, signIn, done), nil)
	if err := b.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	tk, err := b.Task(t.Context(), "p", &a2a.GetRequest{ID: hold})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "state", tk.Status.State, a2a.TaskStateFailed)
	want(t, "text", a2a.Text(tk.Status.Message.Parts), "the agent was restarted")
	want(t, "artifact", a2a.Text(tk.Artifacts[0].Parts), "half")
	want(t, "one that asks", state(t, b, ask), a2a.TaskStateInputRequired)
	want(t, "one that waits for a sign-in", state(t, b, signIn), a2a.TaskStateAuthRequired)
	want(t, "one that is done", state(t, b, done), a2a.TaskStateCompleted)
	again, err := b.Start(t.Context(), "p", request("done", "do it"))
	want(t, "a message of before", fmt.Sprint(again, err), fmt.Sprint(a2aserver.Started{TaskID: done, Repeated: true}, nil))
	b.Close(closed())

	// With one they go on.
	var mu sync.Mutex
	resumed := map[string]a2a.TaskState{}
	c := a2aserver.NewAgent(resumeFunc{execFunc(auth), func(_ context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		mu.Lock()
		resumed[tn.TaskID] = tn.Task.Status.State
		mu.Unlock()
		if tn.Message != nil || tn.Principal != "p" || tn.Task.History[0].ID == "" {
			t.Errorf("turn %+v", tn)
		}
		yield(chunk(" whole"))
		yield(status(a2a.TaskStateCompleted))
		return nil
	}}, log, nil)
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Close(closed())
	for _, id := range []string{hold, signIn} {
		eventually(t, "it goes on", func() bool { return state(t, c, id) == a2a.TaskStateCompleted })
	}
	mu.Lock()
	want(t, "resumed", fmt.Sprint(resumed), fmt.Sprint(map[string]a2a.TaskState{hold: a2a.TaskStateWorking, signIn: a2a.TaskStateAuthRequired}))
	mu.Unlock()
	tk, _ = c.Task(t.Context(), "p", &a2a.GetRequest{ID: hold})
	want(t, "artifact", a2a.Text(tk.Artifacts[0].Parts), "half whole")
	want(t, "one that asks", state(t, c, ask), a2a.TaskStateInputRequired)
}

// copyLog makes another log with the same tasks.
func copyLog(t *testing.T, from a2aserver.Log, tasks ...string) a2aserver.Log {
	to := a2aserver.NewMemoryLog()
	for _, id := range tasks {
		h, err := from.Head(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		c := &a2aserver.Change{Head: h}
		for page := range from.Read(t.Context(), id, 0) {
			for _, e := range page {
				ev, _ := e.Event()
				c.Events = append(c.Events, a2aserver.NewEvent{Event: ev, JSON: e.JSON})
			}
		}
		if r, ok, _ := from.Received(t.Context(), "p", "done"); ok && r.TaskID == id {
			c.Receipt = &r
		}
		done := make(chan struct{})
		to.Append(c, func([]*a2a.Entry, error) { close(done) })
		<-done
	}
	return to
}

func TestRunningTasksAreBounded(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3} {
		s := serve(t, config{handler: as(), agent: &a2aserver.AgentOptions{RunningTasks: limit}})
		var ids []string
		for range limit {
			r := s.call("SendMessage", say("hold", `|"configuration":{"returnImmediately":true}`))
			want(t, "up to the limit", r.Status, 200)
			ids = append(ids, r.get("task.id"))
		}
		r := s.call("SendMessage", sayID("m", "hello"))
		want(t, "one more", r.Status, 429)
		if r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		want(t, "another principal", s.call("SendMessage", say("hello"), "X-Who", "b").Status, 200)
		s.call("CancelTask", fmt.Sprintf(`{"id":%q}`, ids[0]))
		eventually(t, "there is room again, for the same message", func() bool {
			return s.call("SendMessage", sayID("m", "hello")).Status == 200
		})
	}
	if a2a.Limits.RunningTasks != 2000 || a2a.Limits.InterruptedTasks != 200 {
		t.Error("the limits that are the default have changed")
	}
}

func TestInterruptedTasksAreBounded(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	o := &a2aserver.AgentOptions{InterruptedTasks: 3}
	s := serve(t, config{log: log, agent: o, handler: as()})
	var ids []string
	for range 3 {
		ids = append(ids, s.call("SendMessage", say("ask")).get("task.id"))
	}
	r := s.call("SendMessage", say("hello"))
	want(t, "one more", r.Status, 429)
	want(t, "one more, streamed", s.call("SendStreamingMessage", say("hello")).Status, 429)
	want(t, "another principal", s.call("SendMessage", say("hello"), "X-Who", "b").Status, 200)

	// They count after a restart, too.
	s = serve(t, config{log: log, agent: o, handler: as()})
	want(t, "after a restart", s.call("SendMessage", say("hello")).Status, 429)
	want(t, "one is canceled", s.call("CancelTask", fmt.Sprintf(`{"id":%q}`, ids[0])).get("status.state"), "TASK_STATE_CANCELED")
	want(t, "then", s.call("SendMessage", say("hello")).Status, 200)
}

// TestAnswersAreNotRefused: whoever has too many open questions may answer them.
func TestAnswersAreNotRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, config{agent: &a2aserver.AgentOptions{InterruptedTasks: 1}})
	id := s.call("SendMessage", say("ask")).get("task.id")
	want(t, "a new one", s.call("SendMessage", say("hello")).Status, 429)
	r := s.call("SendMessage", say("blue", fmt.Sprintf(`"taskId":%q`, id)))
	want(t, "the answer", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "a new one then", s.call("SendMessage", say("hello")).Status, 200)
}

// TestIdleTasksLeaveMemory: ended tasks are forgotten after a while, and read from the log when they are asked for.
func TestIdleTasksLeaveMemory(t *testing.T) {
	t.Parallel()
	a := a2aserver.NewAgent(execFunc(obey), a2aserver.NewMemoryLog(), nil)
	defer a.Close(closed())
	first := run(t, a, "first", "do it")
	for i := range a2aserver.IdleTasks + 50 {
		run(t, a, fmt.Sprint(i), "do it")
	}
	eventually(t, "they are evicted", func() bool {
		n, claims := a.Held()
		return n == a2aserver.IdleTasks && a.Idle() == n && claims == 0
	})
	tk, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: first})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "an evicted one", a2a.Text(tk.Artifacts[0].Parts), "it")
	if _, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: "unknown"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Error(err)
	}
	if n, _ := a.Held(); n != a2aserver.IdleTasks {
		t.Errorf("%d in memory", n)
	}
}

// TestSnapshotsAreApart: what a caller got does not change under its hands.
func TestSnapshotsAreApart(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	a := a2aserver.NewAgent(execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for range step {
			yield(chunk("x"))
		}
		return nil
	}), a2aserver.NewMemoryLog(), nil)
	s, err := a.Start(t.Context(), "p", request("m", "x"))
	if err != nil {
		t.Fatal(err)
	}
	var snapshots []*a2a.Task
	for i := range 300 {
		step <- struct{}{}
		eventually(t, "the chunk is there", func() bool {
			tk, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: s.TaskID})
			if err != nil || len(tk.Artifacts) == 0 || len(tk.Artifacts[0].Parts) != i+1 {
				return false
			}
			snapshots = append(snapshots, tk)
			return true
		})
	}
	close(step)
	for i, tk := range snapshots {
		if n := len(tk.Artifacts[0].Parts); n != i+1 {
			t.Fatalf("snapshot %d has %d parts now", i, n)
		}
	}
	a.Close(t.Context())
}

func TestStartNeedsAMessage(t *testing.T) {
	t.Parallel()
	a := a2aserver.NewAgent(execFunc(obey), a2aserver.NewMemoryLog(), nil)
	defer a.Close(closed())
	for _, r := range []*a2a.SendRequest{request("", "x"), {Message: a2a.Message{ID: "m"}}} {
		if _, err := a.Start(t.Context(), "p", r); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	a := a2aserver.NewAgent(execFunc(obey), a2aserver.NewMemoryLog(), nil)
	defer a.Close(closed())
	first := request("first", "hold")
	first.Configuration.ReturnImmediately = true
	s, err := a.Start(t.Context(), "p", first)
	if err != nil {
		t.Fatal(err)
	}
	for range a.Events(t.Context(), "p", s.TaskID, 0) {
		break
	}
	for i := range a2aserver.QueuedTurns + 1 {
		r := request(fmt.Sprint("m", i), "x")
		r.Message.TaskID = s.TaskID
		_, err := a.Start(t.Context(), "p", r)
		if full := a2a.KindOf(err) == a2a.KindRateLimited; full != (i == a2aserver.QueuedTurns) {
			t.Errorf("message %d: %v", i, err)
		}
	}
}

// TestLargeEvents has events that are each larger than what a task keeps in memory of the newest ones.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	large := strings.Repeat("x", a2a.Limits.TextPart-len("do "))
	task := s.call("SendMessage", say("do "+large))
	want(t, "state", task.get("task.status.state"), "TASK_STATE_COMPLETED")
	read := s.call("GetTask", fmt.Sprintf(`{"id":%q}`, task.get("task.id")))
	want(t, "artifact", read.get("artifacts.0.parts.0.text") == large, true)
	want(t, "events", len(s.stream("SendStreamingMessage", say("do "+large))), 4)
}
