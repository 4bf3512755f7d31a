package a2aserver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// moody does something else in each turn.
func moody(ctx context.Context, t *a2aserver.Turn, yield func(a2a.Event) bool) error {
	switch rand.IntN(8) {
	case 0:
		yield(message("hi"))
	case 1:
		yield(says(a2a.TaskStateInputRequired, "?"))
	case 2:
		yield(status(a2a.TaskStateAuthRequired))
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	case 3:
		for range rand.IntN(300) {
			if !yield(chunk("x")) {
				return nil
			}
		}
		yield(says(a2a.TaskStateInputRequired, "?"))
	case 4:
		return errors.New("bad luck")
	case 5:
		panic("worse luck")
	case 6:
		yield(status(a2a.TaskStateWorking))
		time.Sleep(2 * time.Millisecond)
		yield(says(a2a.TaskStateInputRequired, "?"))
	default:
		yield(status(a2a.TaskStateWorking))
		yield(chunk("y"))
	}
	return nil
}

// TestManyAtOnce lets callers start, reply to, cancel, read and follow the same tasks at the same time, and then checks
// that every task's events make sense.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	a := a2aserver.NewAgent(execFunc(moody), log, nil)
	var mu sync.Mutex
	var tasks []string
	pick := func() string {
		mu.Lock()
		defer mu.Unlock()
		if len(tasks) == 0 {
			return ""
		}
		return tasks[len(tasks)-1-rand.IntN(min(len(tasks), 6))]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				r := request(fmt.Sprint(worker, "-", i/2), "x") // each id is used twice
				switch rand.IntN(5) {
				case 0:
					r.Configuration.ReturnImmediately = rand.IntN(2) == 0
					s, err := a.Start(ctx, "p", r)
					if err == nil {
						mu.Lock()
						tasks = append(tasks, s.TaskID)
						mu.Unlock()
					}
				case 1:
					if r.Message.TaskID = pick(); r.Message.TaskID != "" {
						if _, err := a.Start(ctx, "p", r); err != nil && a2a.KindOf(err) == a2a.KindInternal && ctx.Err() == nil {
							t.Errorf("reply: %v", err)
						}
					}
				case 2:
					if rand.IntN(4) == 0 {
						a.Cancel(ctx, "p", &a2a.CancelRequest{ID: pick()})
					}
				case 3:
					a.Task(ctx, "p", &a2a.GetRequest{ID: pick()})
				default:
					soon, stop := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
					last := int64(0)
					for entries, err := range a.Events(soon, "p", pick(), 0) {
						if err != nil {
							break
						}
						for _, e := range entries {
							if e.Seq <= last {
								t.Errorf("event %d after %d", e.Seq, last)
							}
							last = e.Seq
						}
					}
					stop()
				}
			}
		})
	}
	wg.Wait()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(tasks) < 10 {
		t.Fatalf("only %d tasks", len(tasks))
	}
	eventually(t, "no message is left half taken", func() bool { _, claims := a.Held(); return claims == 0 })
	for _, id := range tasks {
		ended, first := false, true
		for entries, err := range log.Read(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				ev, err := e.Event()
				if err != nil {
					t.Fatal(err)
				}
				_, isTask := ev.(*a2a.Task)
				m, isMessage := ev.(*a2a.Message)
				if first && !isTask && !isMessage || !first && (isTask || isMessage && m.Role != a2a.RoleUser) {
					t.Errorf("task %s: %s is out of place", id, e.JSON)
				}
				if ended {
					t.Errorf("task %s: %s follows its end", id, e.JSON)
				}
				first = false
				ended = a2a.EventState(ev).Terminal() || isMessage && m.Role == a2a.RoleAgent
			}
		}
		h, err := log.Head(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if !ended && !h.State.Interrupted() {
			t.Errorf("task %s was left %s", id, h.State)
		}
	}
}
