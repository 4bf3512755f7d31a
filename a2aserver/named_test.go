package a2aserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
)

// TestNamedTasks: a task of an id that its caller made begins once, goes on, and is nobody else's.
func TestNamedTasks(t *testing.T) {
	t.Parallel()
	var turns atomic.Int32
	log := a2aserver.NewMemoryLog()
	a := a2aserver.NewAgent(execFunc(func(ctx context.Context, turn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		if turn.Task == nil {
			turns.Add(1)
		}
		if a2a.Text(turn.Message.Parts) == "say" {
			yield(message("said"))
			return nil
		}
		yield(says(a2a.TaskStateInputRequired, "?"))
		return nil
	}), log, nil)
	defer a.Close(closed())
	start := func(who, task, id, text string) error {
		r := request(id, text)
		r.NewTask, r.Message.TaskID = true, task
		s, err := a.Start(t.Context(), who, r)
		if err == nil && s.TaskID != task {
			t.Errorf("%s began as %s", task, s.TaskID)
		}
		return err
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := start("p", "mine", fmt.Sprint("m", i), "x"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	want(t, "tasks begun", turns.Load(), 1)
	eventually(t, "every message is in the history", func() bool {
		task, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: "mine"})
		n := 0
		if err == nil {
			for _, m := range task.History {
				if m.Role == a2a.RoleUser {
					n++
				}
			}
		}
		return n == 16
	})
	if err := start("q", "mine", "m", "x"); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("another caller's: %v", err)
	}
	if err := start("p", "short", "s1", "say"); err != nil {
		t.Fatal(err)
	}
	if err := start("p", "short", "s2", "say"); !errors.Is(err, a2a.ErrTaskTerminal) {
		t.Errorf("after a Message: %v", err)
	}
	if tasks, _ := a.Held(); tasks > 2 {
		t.Errorf("%d tasks are held", tasks)
	}
}

// TestCloseWaitsForTheLog: what the last turn said is stored when Close returns, however slow the log is.
func TestCloseWaitsForTheLog(t *testing.T) {
	t.Parallel()
	log := newWrapLog()
	said := make(chan struct{})
	a := a2aserver.NewAgent(execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateWorking))
		close(said)
		return nil
	}), log, nil)
	log.hold(true)
	r := request("m", "x")
	r.Configuration.ReturnImmediately = true
	s, err := a.Start(t.Context(), "p", r)
	if err != nil {
		t.Fatal(err)
	}
	<-said
	over := make(chan error)
	go func() { over <- a.Close(context.Background()) }()
	eventually(t, "Close waits", func() bool {
		select {
		case <-over:
			t.Fatal("Close did not wait")
		default:
		}
		return a.Readers(s.TaskID) == 1 // the only one there can be
	})
	log.hold(false)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	h, err := log.Head(t.Context(), s.TaskID)
	if err != nil || h.State != a2a.TaskStateCompleted {
		t.Errorf("the task is stored as %s, %v", h.State, err)
	}
}
