package local_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup returns a driver, its store, and an agent that plays a script.
func setup(t *testing.T, o *local.Options, script orchestratortest.Script) (*local.Driver, *orchestratortest.MemoryStore, *orchestratortest.Agent) {
	t.Helper()
	store, agents := orchestratortest.NewMemoryStore(), orchestratortest.NewAgents()
	agent, row := agents.Add("agent-1", script)
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, o)
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		agents.Wait()
	})
	return d, store, agent
}

func say(t *testing.T, d *local.Driver, text string) *orchestrator.Run {
	t.Helper()
	run, err := d.Say(t.Context(), &orchestrator.Say{To: "agent-1", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func state(t *testing.T, s orchestrator.Store, id string) a2a.TaskState {
	t.Helper()
	run, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run.State
}

// An agent that takes the message and never says anything is given up, and a stop does not wait for that.
func TestHangingAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		d, store, agent := setup(t, nil, func(*orchestratortest.Turn) { <-release })
		agent.Blind()
		given := say(t, d, "one")
		stopped := say(t, d, "two")
		synctest.Wait()
		if err := d.Stop(t.Context(), stopped.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		if s := state(t, store, stopped.ID); s != a2a.TaskStateSubmitted {
			t.Errorf("before the grace is over the stopped run is %s", s)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if s := state(t, store, stopped.ID); s != a2a.TaskStateCanceled {
			t.Errorf("the stopped run is %s", s)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		asks, err := store.OpenAsks(t.Context(), given.ID)
		if err != nil || len(asks) != 1 || asks[0].Kind != orchestrator.AskResend {
			t.Errorf("after ten minutes: %s, asks %v, %v", state(t, store, given.ID), asks, err)
		}
	})
}

// Attempts that certainly reached nobody are made again within about a second, and then given up.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, store, agent := setup(t, nil, nil)
		agent.Down(orchestratortest.ErrRefused)
		began := time.Now()
		run := say(t, d, "hi")
		for state(t, store, run.ID) != a2a.TaskStateFailed {
			time.Sleep(10 * time.Millisecond)
			if time.Since(began) > time.Minute {
				t.Fatal("does not give up")
			}
		}
		if took := time.Since(began); took < 500*time.Millisecond || took > 2*time.Second {
			t.Errorf("gave up after %s", took)
		}
	})
}

// An agent that cannot be reached for a while is looked for until it is back.
func TestAgentGoneForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		more := make(chan struct{})
		d, store, agent := setup(t, nil, func(x *orchestratortest.Turn) {
			x.Status(a2a.TaskStateWorking)
			<-more
			x.Status(a2a.TaskStateCompleted)
		})
		run := say(t, d, "hi")
		synctest.Wait()
		agent.Down(orchestratortest.ErrRefused)
		time.Sleep(30 * time.Second)
		if s := state(t, store, run.ID); s != a2a.TaskStateWorking {
			t.Errorf("after half a minute without its agent the run is %s", s)
		}
		agent.Down(nil)
		close(more)
		time.Sleep(time.Minute)
		if s := state(t, store, run.ID); s != a2a.TaskStateCompleted {
			t.Errorf("with its agent back the run is %s", s)
		}
	})
}

// An agent that never comes back ends the run, some minutes later.
func TestAgentGoneForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		d, store, agent := setup(t, nil, func(x *orchestratortest.Turn) {
			x.Status(a2a.TaskStateWorking)
			<-stop
		})
		run := say(t, d, "hi")
		synctest.Wait()
		agent.Down(orchestratortest.ErrRefused)
		time.Sleep(10 * time.Minute)
		if s := state(t, store, run.ID); s != a2a.TaskStateFailed {
			t.Errorf("the run is %s", s)
		}
	})
}

// What one principal may have going on is bounded, each limit tested on both sides.
func TestLimits(t *testing.T) {
	t.Parallel()
	start := func(d *local.Driver, who string, n int) error {
		_, err := d.Tasks("agent-1").Start(context.Background(), who, &a2a.SendRequest{Message: a2a.Message{
			ID: fmt.Sprint("m", n), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")},
		}})
		return err
	}
	full := func(t *testing.T, err error) {
		t.Helper()
		var e *a2a.Error
		if !errors.As(err, &e) || e.Kind != a2a.KindRateLimited || e.RetryAfter <= 0 {
			t.Errorf("one more: %v", err)
		}
	}
	t.Run("running", func(t *testing.T) {
		t.Parallel()
		stop := make(chan struct{})
		d, _, _ := setup(t, nil, func(x *orchestratortest.Turn) {
			x.Status(a2a.TaskStateWorking)
			<-stop
		})
		defer close(stop)
		for n := range a2a.Limits.RunningTasks {
			if err := start(d, "ann", n); err != nil {
				t.Fatalf("task %d: %v", n+1, err)
			}
		}
		full(t, start(d, "ann", -1))
		if err := start(d, "ann", 0); err != nil {
			t.Errorf("a repeated message counts: %v", err)
		}
		if err := start(d, "bob", 0); err != nil {
			t.Errorf("another caller: %v", err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		d, store, _ := setup(t, nil, func(x *orchestratortest.Turn) {
			if x.Message.TaskID != "" {
				x.Status(a2a.TaskStateCompleted)
				return
			}
			x.Say(a2a.TaskStateInputRequired, "?")
		})
		for n := range a2a.Limits.InterruptedTasks {
			if err := start(d, "ann", n); err != nil {
				t.Fatalf("task %d: %v", n+1, err)
			}
			waitFor(t, func() bool {
				page, err := d.Tasks("agent-1").List(t.Context(), "ann", &a2a.ListRequest{Status: a2a.TaskStateInputRequired, PageSize: 1})
				if err != nil {
					t.Fatal(err)
				}
				return page.TotalSize == n+1
			})
		}
		full(t, start(d, "ann", -1))

		// An answered one makes room for one more, and only one.
		tasks := d.Tasks("agent-1")
		page, err := tasks.List(t.Context(), "ann", &a2a.ListRequest{PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		answered := page.Tasks[0].ID
		if _, err := tasks.Start(t.Context(), "ann", &a2a.SendRequest{Message: a2a.Message{ID: "answer", TaskID: answered, Parts: []a2a.Part{a2a.TextPart("x")}}}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return state(t, store, answered) == a2a.TaskStateCompleted })
		if err := start(d, "ann", 1000); err != nil {
			t.Errorf("after an answer: %v", err)
		}
		waitFor(t, func() bool {
			page, err := tasks.List(t.Context(), "ann", &a2a.ListRequest{Status: a2a.TaskStateInputRequired, PageSize: 1})
			return err == nil && page.TotalSize == a2a.Limits.InterruptedTasks
		})
		full(t, start(d, "ann", -1))

		// A restart counts them again.
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		d2 := local.New(store, orchestratortest.NewAgents(), nil)
		defer d2.Close(context.Background())
		if err := d2.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		full(t, start(d2, "ann", -1))
	})
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// A message that an agent refuses for a task it works on does not end that task.
func TestWorkingAgentRefusesMore(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	d, store, _ := setup(t, &local.Options{PollMin: time.Millisecond}, func(x *orchestratortest.Turn) {
		if x.Message.TaskID != "" {
			x.Fail(&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Message: "not now"})
			return
		}
		x.Status(a2a.TaskStateWorking)
		<-more
		x.Status(a2a.TaskStateCompleted)
	})
	tasks := d.Tasks("agent-1")
	send := func(id, task string) local.Started {
		s, err := tasks.Start(t.Context(), "ann", &a2a.SendRequest{Message: a2a.Message{ID: id, TaskID: task, Parts: []a2a.Part{a2a.TextPart("x")}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := send("m1", "")
	waitFor(t, func() bool { return state(t, store, s.TaskID) == a2a.TaskStateWorking })
	send("m2", s.TaskID)
	waitFor(t, func() bool {
		for es, err := range store.ReadRun(t.Context(), s.TaskID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range es {
				if e.Kind == orchestrator.EventFault {
					return true
				}
			}
		}
		return false
	})
	close(more)
	waitFor(t, func() bool { return state(t, store, s.TaskID) == a2a.TaskStateCompleted })
}

// A message for a task waits for the agent's first answer only so long, and no longer than its sender and the driver.
func TestFollowUpWaits(t *testing.T) {
	t.Parallel()
	const wait = 20 * time.Second
	full := errors.New("the disk is full")
	for name, c := range map[string]struct {
		ends func(*testing.T, *local.Driver, *unfollowed, context.CancelFunc)
		want func(error) bool
	}{
		"too long": {
			func(*testing.T, *local.Driver, *unfollowed, context.CancelFunc) { time.Sleep(time.Millisecond) },
			func(err error) bool { return a2a.KindOf(err) == a2a.KindUnsupportedOperation },
		},
		"until the sender leaves": {
			func(_ *testing.T, _ *local.Driver, _ *unfollowed, leave context.CancelFunc) { leave() },
			func(err error) bool { return errors.Is(err, context.Canceled) },
		},
		"until the end": {
			func(t *testing.T, d *local.Driver, _ *unfollowed, _ context.CancelFunc) {
				if err := d.Close(t.Context()); err != nil {
					t.Error(err)
				}
			},
			func(err error) bool { return a2a.KindOf(err) == a2a.KindUnavailable },
		},
		"until the store fails": {
			func(_ *testing.T, _ *local.Driver, s *unfollowed, _ context.CancelFunc) { s.fail(full) },
			func(err error) bool { return a2a.KindOf(err) == a2a.KindInternal && errors.Is(err, full) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan struct{})
				store, agents := &unfollowed{MemoryStore: orchestratortest.NewMemoryStore()}, orchestratortest.NewAgents()
				_, row := agents.Add("agent-1", func(*orchestratortest.Turn) { <-answer })
				if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
					t.Fatal(err)
				}
				d := local.New(store, agents, &local.Options{FollowUpWait: wait})
				defer agents.Wait()
				defer d.Close(context.Background())
				defer close(answer)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				start := func(id, task string) (local.Started, error) {
					return d.Tasks("agent-1").Start(ctx, "ann", &a2a.SendRequest{Message: a2a.Message{ID: id, TaskID: task, Parts: []a2a.Part{a2a.TextPart("x")}}})
				}
				s, err := start("m1", "")
				if err != nil {
					t.Fatal(err)
				}
				refused := make(chan error, 1)
				go func() {
					_, err := start("m2", s.TaskID)
					refused <- err
				}()
				time.Sleep(wait - time.Millisecond)
				synctest.Wait()
				if len(refused) > 0 || store.followed.Load() != 1 {
					t.Fatalf("it does not wait: %d refusals, followed %d times", len(refused), store.followed.Load())
				}
				c.ends(t, d, store, leave)
				synctest.Wait()
				select {
				case err := <-refused:
					if !c.want(err) {
						t.Errorf("%v", err)
					}
				default:
					t.Error("it still waits")
				}
			})
		})
	}
}

// unfollowed is a store that can stop following a run.
type unfollowed struct {
	*orchestratortest.MemoryStore
	followed atomic.Int32            // times
	fail     context.CancelCauseFunc // what is followed
}

func (s *unfollowed) FollowRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	s.followed.Add(1)
	of, fail := context.WithCancelCause(ctx)
	s.fail = fail
	return func(yield func([]*orchestrator.Event, error) bool) {
		defer fail(nil)
		for events, err := range s.MemoryStore.FollowRun(of, run, after) {
			if !yield(events, err) {
				return
			}
		}
		if ctx.Err() == nil {
			yield(nil, context.Cause(of))
		}
	}
}

// A conversation can be erased while its agent works: the agent is told to stop, and nothing comes back.
func TestForget(t *testing.T) {
	t.Parallel()
	d, store, agent := setup(t, nil, func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-x.Canceled()
		x.Write("late", "more")
	})
	run := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
	var head int64
	err := d.Forget(t.Context(), run.ConversationID, func() (err error) {
		if head, err = store.Head(t.Context()); err != nil {
			return err
		}
		return store.Erase(t.Context(), run.ConversationID)
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return agent.Cancels() == 1 })
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := store.Head(t.Context()); err != nil || now != head {
		t.Errorf("%d events came after the run was forgotten, %v", now-head, err)
	}
	if _, err := store.Run(t.Context(), run.ID); !errors.Is(err, orchestrator.ErrNotFound) {
		t.Errorf("the run is back: %v", err)
	}
	if n := d.Forgotten(); n != 0 {
		t.Errorf("%d runs that are there no more are remembered", n)
	}
}

// A conversation that could not be erased is still looked after: what its agents said to the cancel is read.
func TestForgetInVain(t *testing.T) {
	t.Parallel()
	d, store, agent := setup(t, nil, func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-x.Canceled()
		x.Status(a2a.TaskStateCanceled)
	})
	run := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
	full := errors.New("the disk is full")
	if err := d.Forget(t.Context(), run.ConversationID, func() error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateCanceled })
	if n := agent.Cancels(); n != 1 {
		t.Errorf("%d cancels", n)
	}
}

// panics is a caller with a bug.
type panics struct{ orchestrator.Caller }

func (panics) Send(context.Context, *orchestrator.Agent, *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) { panic("a bug") }
}

// A bug that shows in one run fails that run and nothing else.
func TestPanic(t *testing.T) {
	t.Parallel()
	store := orchestratortest.NewMemoryStore()
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{{ID: "agent-1", Trust: orchestrator.TrustApproved}}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, panics{}, nil)
	defer d.Close(context.Background())
	run := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateFailed })
}

// Options that are not given work, and Close may be called twice.
func TestZeroOptions(t *testing.T) {
	t.Parallel()
	d := local.New(orchestratortest.NewMemoryStore(), orchestratortest.NewAgents(), nil)
	for range 2 {
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A caller cannot choose a context id that leads to what another caller has with an agent.
func TestContextsOfCallersAreApart(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	d, _, _ := setup(t, nil, func(x *orchestratortest.Turn) {
		got <- x.Message.ContextID
		x.Status(a2a.TaskStateWorking)
		x.Status(a2a.TaskStateCompleted)
	})
	begin := func(principal, contextID, message string) string {
		t.Helper()
		_, err := d.Tasks("agent-1").Start(t.Context(), principal, &a2a.SendRequest{Message: a2a.Message{
			ID: message, ContextID: contextID, Parts: []a2a.Part{a2a.TextPart("x")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		at := <-got
		waitFor(t, func() bool {
			page, err := d.Tasks("agent-1").List(t.Context(), principal, &a2a.ListRequest{Status: a2a.TaskStateCompleted})
			return err == nil && page.TotalSize > 0
		})
		return at
	}
	first := begin("ann", "b/c", "m1")
	if again := begin("ann", "b/c", "m2"); again == "" || again == first {
		t.Errorf("the caller's own context is %q", again)
	}
	if other := begin("ann/b", "c", "m3"); other != first {
		t.Errorf("another caller was led into the context %q", other)
	}
}
