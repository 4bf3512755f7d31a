package local_test

import (
	"context"
	"fmt"
	"testing"
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
