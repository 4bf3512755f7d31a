package local_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// heldUp is a store that reads many runs at once only when it is let.
type heldUp struct {
	*orchestratortest.MemoryStore
	let  chan struct{}
	fail error
}

func (s *heldUp) ReadRuns(ctx context.Context, runs []string) (map[string][]*orchestrator.Event, error) {
	select {
	case <-s.let:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fail != nil {
		return nil, s.fail
	}
	all, err := s.MemoryStore.ReadRuns(ctx, runs)
	for i, run := range runs {
		if i%3 == 0 {
			delete(all, run) // much
		}
	}
	return all, err
}

// restarted is a driver that has begun on runs whose agent was at work when the one before it ended, and the runs: more than
// are read at once.
func restarted(t *testing.T, fail error) (*heldUp, *orchestratortest.Agents, *local.Driver, []string, chan struct{}) {
	t.Helper()
	store, agents := &heldUp{orchestratortest.NewMemoryStore(), make(chan struct{}), fail}, orchestratortest.NewAgents()
	end := make(chan struct{})
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-end
		x.Status(a2a.TaskStateCompleted)
	})
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	first := local.New(store, agents, nil)
	ids := make([]string, 150)
	for i := range ids {
		s, err := first.Tasks("agent-1").Start(t.Context(), fmt.Sprint("caller", i%10), &a2a.SendRequest{Message: a2a.Message{
			ID: fmt.Sprint("m", i), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = s.TaskID
	}
	for _, id := range ids {
		waitFor(t, func() bool { return state(t, store, id) == a2a.TaskStateWorking })
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, nil)
	if err := d.Resume(t.Context()); err != nil { // it does not wait for what is read
		t.Fatal(err)
	}
	return store, agents, d, ids, end
}

// Runs are taken up after the start, whether they are read with others or by themselves, and whether that fails at first.
func TestTakenUp(t *testing.T) {
	t.Parallel()
	for _, fail := range []error{nil, orchestrator.ErrNotFound} {
		t.Run(fmt.Sprint("fail=", fail), func(t *testing.T) {
			t.Parallel()
			store, agents, d, ids, end := restarted(t, fail)
			defer agents.Wait()
			defer d.Close(context.Background())
			close(store.let)
			close(end)
			for _, id := range ids {
				waitFor(t, func() bool { return state(t, store, id) == a2a.TaskStateCompleted })
			}
		})
	}
}

// A driver that is closed while runs are being read ends at once, and the runs stay as they are.
func TestClosedWhileTakingUp(t *testing.T) {
	t.Parallel()
	store, agents, d, ids, end := restarted(t, nil)
	defer agents.Wait()
	defer close(end)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if at := state(t, store, id); at != a2a.TaskStateWorking {
			t.Errorf("%s: %s", id, at)
		}
	}
}

// asked is a caller whose agents are at work for good, and say where they are only when they are let.
type asked struct {
	orchestrator.Caller
	let chan struct{}

	mu    sync.Mutex
	tasks []string // that were asked about
}

func (a *asked) Send(ctx context.Context, _ *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if yield(&a2a.Task{ID: a2a.Text(r.Message.Parts), ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil) {
			<-ctx.Done()
		}
	}
}

func (a *asked) Await(ctx context.Context, _ *orchestrator.Agent, task string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a.mu.Lock()
		a.tasks = append(a.tasks, task)
		a.mu.Unlock()
		select {
		case <-a.let:
			if yield(&a2a.Task{ID: task, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil) {
				<-ctx.Done()
			}
		case <-ctx.Done():
		}
	}
}

func (a *asked) Cancel(_ context.Context, _ *orchestrator.Agent, r *a2a.CancelRequest) (*a2a.Task, error) {
	return &a2a.Task{ID: r.ID, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}}, nil
}

func (a *asked) so() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tasks)
}

// After a start so many agents are asked at a time, and no more: the next when one has answered or takes its time. Somebody
// who wants something of a run does not stand in that line.
func TestAskedInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, caller := orchestratortest.NewMemoryStore(), &asked{let: make(chan struct{})}
		_, row := orchestratortest.NewAgents().Add("agent-1", nil)
		if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
			t.Fatal(err)
		}
		first := local.New(store, caller, nil)
		runs := map[string]string{} // by task
		for i := range 6 {
			run := say(t, first, fmt.Sprint("task ", i))
			runs[fmt.Sprint("task ", i)] = run.ID
			waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
		}
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}

		d := local.New(store, caller, nil)
		d.BoundAsking(2)
		defer d.Close(context.Background())
		if err := d.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := func(n int, when string) {
			t.Helper()
			if synctest.Wait(); len(caller.so()) != n {
				t.Fatalf("%s, %d agents were asked, want %d", when, len(caller.so()), n)
			}
		}
		want(2, "at the start")
		caller.let <- struct{}{}
		want(3, "once one had answered")
		time.Sleep(local.AskingTime - time.Millisecond)
		want(3, "before those were slow")
		time.Sleep(time.Millisecond)
		want(5, "once those were slow")
		for task, run := range runs {
			if slices.Contains(caller.so(), task) {
				continue
			}
			if err := d.Stop(t.Context(), run); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if got := state(t, store, run); got != a2a.TaskStateCanceled {
				t.Errorf("the one in line that was stopped is %s", got)
			}
		}
		want(5, "once the last was stopped")
	})
}
