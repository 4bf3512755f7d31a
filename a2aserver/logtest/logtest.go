// Package logtest is the test of every a2aserver.Log: what an Agent relies on, checked on a log of any make.
package logtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2aserver"
)

// Run tests the logs that open returns, each of them empty. A log that outlives its process comes with a reopen that
// closes it and opens what it kept; nil for a log that does not.
func Run(t *testing.T, open func(t *testing.T) (log a2aserver.Log, reopen func() a2aserver.Log)) {
	for name, test := range map[string]func(*testing.T, *suite){
		"Append":      testAppend,
		"AppendOrder": testAppendOrder,
		"Receipts":    testReceipts,
		"List":        testList,
		"Open":        testOpen,
		"Reopen":      testReopen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, reopen := open(t)
			test(t, &suite{t, log, reopen})
		})
	}
}

type suite struct {
	*testing.T
	log    a2aserver.Log
	reopen func() a2aserver.Log
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func head(id, principal string, s a2a.TaskState, at time.Time) a2aserver.Head {
	return a2aserver.Head{ID: id, ContextID: "context-" + id, Principal: principal, State: s, Updated: at}
}

func event(e a2a.Event) a2aserver.NewEvent {
	return a2aserver.NewEvent{Event: e, JSON: a2a.MarshalEvent(e)}
}

func status(id string, s a2a.TaskState) a2aserver.NewEvent {
	return event(&a2a.StatusUpdate{TaskID: id, ContextID: "context-" + id, Status: a2a.TaskStatus{State: s, Timestamp: start}})
}

func chunk(id, text string) a2aserver.NewEvent {
	return event(&a2a.ArtifactUpdate{
		TaskID: id, ContextID: "context-" + id, Append: true,
		Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart(text)}},
	})
}

// commit appends and waits for the commit.
func (s *suite) commit(c *a2aserver.Change) []*a2a.Entry {
	s.Helper()
	type result struct {
		entries []*a2a.Entry
		err     error
	}
	done := make(chan result, 1)
	s.log.Append(c, func(e []*a2a.Entry, err error) { done <- result{e, err} })
	select {
	case r := <-done:
		if r.err != nil {
			s.Fatalf("append: %v", r.err)
		}
		return r.entries
	case <-time.After(10 * time.Second):
		s.Fatal("done was never called")
	}
	return nil
}

func (s *suite) read(task string, after int64) (out []*a2a.Entry) {
	s.Helper()
	for page, err := range s.log.Read(s.Context(), task, after) {
		if err != nil {
			s.Fatalf("read: %v", err)
		}
		if len(page) == 0 {
			s.Error("read yielded an empty page")
		}
		out = append(out, page...)
	}
	return out
}

func texts(entries []*a2a.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, string(e.JSON))
	}
	return out
}

func testAppend(t *testing.T, s *suite) {
	if err := s.log.Healthy(); err != nil {
		t.Fatalf("a fresh log is not healthy: %v", err)
	}
	if _, err := s.log.Head(t.Context(), "t"); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("head of nothing: %v", err)
	}
	if got := s.read("t", 0); len(got) != 0 {
		t.Errorf("events of nothing: %v", texts(got))
	}
	large := chunk("t", strings.Repeat("長い ", 100_000))
	changes := []*a2aserver.Change{
		{Head: head("t", "p", a2a.TaskStateWorking, start), Events: []a2aserver.NewEvent{
			status("t", a2a.TaskStateSubmitted), status("t", a2a.TaskStateWorking), chunk("t", "one"),
		}},
		{Head: head("t", "p", a2a.TaskStateWorking, start.Add(time.Second)), Events: []a2aserver.NewEvent{large}},
		{Head: head("t", "p", a2a.TaskStateCompleted, start.Add(2*time.Second)), Events: []a2aserver.NewEvent{status("t", a2a.TaskStateCompleted)}},
	}
	var want []string
	var entries []*a2a.Entry
	for _, c := range changes {
		got := s.commit(c)
		if len(got) != len(c.Events) {
			t.Fatalf("%d entries for %d events", len(got), len(c.Events))
		}
		for i, e := range got {
			if len(entries) > 0 && e.Seq <= entries[len(entries)-1].Seq || e.Seq <= 0 {
				t.Errorf("seq %d does not rise", e.Seq)
			}
			if e.At.IsZero() {
				t.Error("an entry has no time")
			}
			want = append(want, string(c.Events[i].JSON))
			entries = append(entries, e)
		}
		h, err := s.log.Head(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		wantHead := c.Head
		wantHead.Seq = got[len(got)-1].Seq
		if diff := cmp.Diff(wantHead, h); diff != "" {
			t.Errorf("head (-want +got):\n%s", diff)
		}
	}
	s.commit(&a2aserver.Change{Head: head("other", "p", a2a.TaskStateWorking, start), Events: []a2aserver.NewEvent{chunk("other", "x")}})
	got := s.read("t", 0)
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	for i, e := range got {
		if e.Seq != entries[i].Seq {
			t.Errorf("entry %d is read with seq %d, was appended with %d", i, e.Seq, entries[i].Seq)
		}
		if ev, err := e.Event(); err != nil || string(a2a.MarshalEvent(ev)) != want[i] {
			t.Errorf("entry %d does not decode to itself: %v", i, err)
		}
	}
	if diff := cmp.Diff(want[2:], texts(s.read("t", entries[1].Seq))); diff != "" {
		t.Errorf("read after the second (-want +got):\n%s", diff)
	}
	if got := s.read("t", entries[4].Seq); len(got) != 0 {
		t.Errorf("read after the last: %v", texts(got))
	}
}

// testAppendOrder appends to many tasks at once, each next change from the done of the one before or right behind it.
func testAppendOrder(t *testing.T, s *suite) {
	const tasks, changes = 20, 50
	var all sync.WaitGroup
	for n := range tasks {
		id := fmt.Sprint("t", n)
		change := func(i int) *a2aserver.Change {
			return &a2aserver.Change{Head: head(id, "p", a2a.TaskStateWorking, start), Events: []a2aserver.NewEvent{chunk(id, fmt.Sprint(i))}}
		}
		var mu sync.Mutex
		var seen []int64
		note := func(e []*a2a.Entry, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("append: %v", err)
				return
			}
			seen = append(seen, e[0].Seq)
		}
		all.Go(func() {
			done := make(chan struct{})
			if n%2 == 0 { // pipelined
				for i := range changes {
					mu.Lock() // done must not be called from within Append
					s.log.Append(change(i), func(e []*a2a.Entry, err error) {
						if note(e, err); i == changes-1 {
							close(done)
						}
					})
					mu.Unlock()
				}
			} else { // one begets the next
				var next func(i int)
				next = func(i int) {
					s.log.Append(change(i), func(e []*a2a.Entry, err error) {
						if note(e, err); i == changes-1 {
							close(done)
						} else {
							next(i + 1)
						}
					})
				}
				next(0)
			}
			<-done
			var order []string
			for i := range changes {
				order = append(order, string(change(i).Events[0].JSON))
			}
			entries := s.read(id, 0)
			if diff := cmp.Diff(order, texts(entries)); diff != "" {
				t.Errorf("order of %s (-want +got):\n%s", id, diff)
			}
			for i, e := range entries {
				if e.Seq != seen[i] {
					t.Errorf("%s: done was called in another order than the log's", id)
				}
			}
		})
	}
	all.Wait()
}

func testReceipts(t *testing.T, s *suite) {
	want := a2aserver.Receipt{MessageID: "m", Digest: [32]byte{1, 2, 3}, TaskID: "t", After: 17}
	s.commit(&a2aserver.Change{
		Head: head("t", "p", a2a.TaskStateSubmitted, start), Events: []a2aserver.NewEvent{status("t", a2a.TaskStateSubmitted)}, Receipt: &want,
	})
	got, ok, err := s.log.Received(t.Context(), "p", "m")
	if err != nil || !ok {
		t.Fatalf("received: %v %v", ok, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	for _, k := range [][2]string{{"p", "n"}, {"q", "m"}, {"", "m"}} {
		if _, ok, err := s.log.Received(t.Context(), k[0], k[1]); ok || err != nil {
			t.Errorf("receipt of %v: %v %v", k, ok, err)
		}
	}
}

func testList(t *testing.T, s *suite) {
	states := []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}
	for i := range 10 { // t0 and t1 at the same time, then t2 and t3, …
		h := head(fmt.Sprint("t", i), "p", states[i%2], start.Add(time.Duration(i/2)*time.Minute))
		h.ContextID = fmt.Sprint("c", i%3)
		s.commit(&a2aserver.Change{Head: h, Events: []a2aserver.NewEvent{status(h.ID, h.State)}})
	}
	s.commit(&a2aserver.Change{Head: head("u", "q", a2a.TaskStateWorking, start), Events: []a2aserver.NewEvent{status("u", a2a.TaskStateWorking)}})
	answer := event(&a2a.Message{ID: "m", ContextID: "context-answer", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("hi")}})
	s.commit(&a2aserver.Change{Head: head("answer", "p", a2a.TaskStateUnspecified, start), Events: []a2aserver.NewEvent{answer}})

	list := func(principal string, r a2a.ListRequest, before *a2aserver.Head, limit int) string {
		t.Helper()
		heads, total, err := s.log.List(t.Context(), principal, &r, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range heads {
			ids = append(ids, h.ID)
		}
		return fmt.Sprint(total, " ", strings.Join(ids, " "))
	}
	for _, c := range []struct{ name, got, want string }{
		{"all", list("p", a2a.ListRequest{}, nil, 100), "10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0"},
		{"other principal", list("q", a2a.ListRequest{}, nil, 100), "1 u"},
		{"nobody", list("", a2a.ListRequest{}, nil, 100), "0 "},
		{"limit", list("p", a2a.ListRequest{}, nil, 3), "10 t9 t8 t7"},
		{"next page", list("p", a2a.ListRequest{}, &a2aserver.Head{ID: "t7", Updated: start.Add(3 * time.Minute)}, 3), "10 t6 t5 t4"},
		{"page within a tie", list("p", a2a.ListRequest{}, &a2aserver.Head{ID: "t1", Updated: start}, 3), "10 t0"},
		{"state", list("p", a2a.ListRequest{Status: a2a.TaskStateCompleted}, nil, 100), "5 t9 t7 t5 t3 t1"},
		{"context", list("p", a2a.ListRequest{ContextID: "c1"}, nil, 2), "3 t7 t4"},
		{"since", list("p", a2a.ListRequest{StatusTimestampAfter: start.Add(4 * time.Minute)}, nil, 100), "2 t9 t8"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

func openTasks(t *testing.T, log a2aserver.Log) string {
	t.Helper()
	var ids []string
	for h, err := range log.Open(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.ID+"="+strings.TrimPrefix(string(h.State), "TASK_STATE_"))
	}
	return strings.Join(slices.Sorted(slices.Values(ids)), " ")
}

func testOpen(t *testing.T, s *suite) {
	for i, state := range []a2a.TaskState{
		a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected,
	} {
		id := fmt.Sprint("t", i)
		s.commit(&a2aserver.Change{Head: head(id, "p", state, start), Events: []a2aserver.NewEvent{status(id, state)}})
	}
	if got, want := openTasks(t, s.log), "t0=SUBMITTED t1=WORKING t2=INPUT_REQUIRED t3=AUTH_REQUIRED"; got != want {
		t.Errorf("open tasks: %s, want %s", got, want)
	}
	// What is read may be written to meanwhile.
	for h, err := range s.log.Open(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		h.State = a2a.TaskStateFailed
		s.commit(&a2aserver.Change{Head: h, Events: []a2aserver.NewEvent{status(h.ID, h.State)}})
	}
	if got := openTasks(t, s.log); got != "" {
		t.Errorf("still open: %s", got)
	}
}

func testReopen(t *testing.T, s *suite) {
	if s.reopen == nil {
		t.Skip("this log does not outlive its process")
	}
	c := &a2aserver.Change{
		Head: head("t", "p", a2a.TaskStateWorking, start), Events: []a2aserver.NewEvent{status("t", a2a.TaskStateSubmitted), chunk("t", "x")},
		Receipt: &a2aserver.Receipt{MessageID: "m", TaskID: "t"},
	}
	before := s.commit(c)
	s.log = s.reopen()
	if diff := cmp.Diff(texts(before), texts(s.read("t", 0))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := openTasks(t, s.log); got != "t=WORKING" {
		t.Errorf("open tasks: %s", got)
	}
	if _, ok, err := s.log.Received(context.Background(), "p", "m"); !ok || err != nil {
		t.Errorf("the receipt is lost: %v", err)
	}
	c.Receipt = nil
	if after := s.commit(c); after[0].Seq <= before[1].Seq {
		t.Errorf("seq %d after %d", after[0].Seq, before[1].Seq)
	}
}
