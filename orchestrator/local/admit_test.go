package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// gatedStore is a store at which, once it is shut, every beginning waits.
type gatedStore struct {
	*orchestratortest.MemoryStore
	shut atomic.Bool
	open chan struct{}
	err  error
}

func (s *gatedStore) Head(ctx context.Context) (int64, error) {
	if s.shut.Load() {
		<-s.open
		if s.err != nil {
			return 0, s.err
		}
	}
	return s.MemoryStore.Head(ctx)
}

// Tasks that are started at the same time are not counted as none by each other, and those that fail not at all.
func TestAdmissionCountsAtOnce(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("fails=", fails), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { admission(t, fails) })
		})
	}
}

func admission(t *testing.T, fails bool) {
	store := &gatedStore{MemoryStore: orchestratortest.NewMemoryStore(), open: make(chan struct{})}
	if fails {
		store.err = errors.New("disk I/O error")
	}
	agents, stop := orchestratortest.NewAgents(), make(chan struct{})
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-stop
	})
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, nil)
	defer agents.Wait()
	defer d.Close(context.Background())
	defer close(stop)
	const left = 3
	start := func(n int) error {
		_, err := d.Tasks("agent-1").Start(context.Background(), "ann", &a2a.SendRequest{Message: a2a.Message{
			ID: fmt.Sprint("m", n), Parts: []a2a.Part{a2a.TextPart("x")},
		}})
		return err
	}
	n := 0
	for ; n < a2a.Limits.RunningTasks-left; n++ {
		if err := start(n); err != nil {
			t.Fatal(err)
		}
	}
	store.shut.Store(true)
	var began, refused, failed atomic.Int32
	var all sync.WaitGroup
	for i := range 2 * left {
		all.Go(func() {
			switch err := start(n + i); {
			case err == nil:
				began.Add(1)
			case a2a.KindOf(err) == a2a.KindRateLimited:
				refused.Add(1)
			default:
				failed.Add(1)
			}
		})
	}
	synctest.Wait()
	if refused.Load() != left {
		t.Errorf("%d refused while %d wait, want %d", refused.Load(), 2*left-refused.Load(), left)
	}
	close(store.open)
	all.Wait()
	if store.shut.Store(false); !fails {
		if began.Load() != left {
			t.Errorf("%d began, want %d", began.Load(), left)
		}
		return
	}
	if failed.Load() != left {
		t.Errorf("%d failed, want %d", failed.Load(), left)
	}
	for i := range left + 1 {
		if err := start(2*n + i); (err == nil) != (i < left) {
			t.Errorf("after the failures, task %d of %d: %v", i+1, left, err)
		}
	}
}
