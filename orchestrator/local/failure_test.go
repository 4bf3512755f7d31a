package local_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// slowDisk is a store whose queue, while it is broken, takes its time to fail, though what is waited for succeeds.
type slowDisk struct {
	*orchestratortest.MemoryStore
	broken  atomic.Bool
	queued  chan struct{} // a batch is on its way
	release chan struct{} // lets it fail
}

func (s *slowDisk) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	if !s.broken.Load() {
		s.MemoryStore.Enqueue(b, done)
		return
	}
	go func() {
		s.queued <- struct{}{}
		<-s.release
		done(nil, errors.New("disk full"))
	}()
}

// Nothing is written on top of an event that then was not stored: whoever wanted it is told, and the run goes on from
// what the log has.
func TestWriteBehindFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, writeBehindFailure)
}

func writeBehindFailure(t *testing.T) {
	store := &slowDisk{MemoryStore: orchestratortest.NewMemoryStore(), queued: make(chan struct{}), release: make(chan struct{})}
	more, end := make(chan struct{}), make(chan struct{})
	agents := orchestratortest.NewAgents()
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-more
		x.Write("text", "one")
		<-end
		x.Status(a2a.TaskStateCompleted)
	})
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, nil)
	defer agents.Wait()
	defer d.Close(context.Background())
	run := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
	store.broken.Store(true)
	close(more)
	<-store.queued
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(context.Background(), run.ID) }()
	synctest.Wait()
	select {
	case err := <-stopped:
		t.Errorf("the stop was answered while an event before it was on its way: %v", err)
		store.release <- struct{}{}
	default:
		store.release <- struct{}{}
		if err := <-stopped; a2a.KindOf(err) != a2a.KindUnavailable {
			t.Errorf("stopping a run that lost an event: %v", err)
		}
	}
	store.broken.Store(false)
	close(end)
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateCompleted })
	text := ""
	for events, err := range store.ReadRun(t.Context(), run.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == orchestrator.EventStopping {
				t.Error("the stop that failed is in the log")
			}
			if e.Kind != orchestrator.EventArtifact {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				t.Fatal(err)
			}
			text += a2a.Text(ev.(*a2a.ArtifactUpdate).Artifact.Parts)
		}
	}
	if text != "one" {
		t.Errorf("the run holds %q", text)
	}
}

// A run that is to be taken up later, because something of it could not be stored, may have ended until then: nothing
// follows its end, in its log or in the transcript.
func TestEndedBeforeItIsTakenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowDisk{MemoryStore: orchestratortest.NewMemoryStore(), queued: make(chan struct{}), release: make(chan struct{})}
		more := make(chan struct{})
		agents := orchestratortest.NewAgents()
		_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) {
			x.Status(a2a.TaskStateWorking)
			<-more
			x.Write("text", "one")
			<-x.Canceled()
			x.Status(a2a.TaskStateCanceled)
		})
		if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
			t.Fatal(err)
		}
		d := local.New(store, agents, nil)
		defer agents.Wait()
		defer d.Close(context.Background())
		run := say(t, d, "hi")
		waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
		store.broken.Store(true)
		close(more)
		<-store.queued
		store.release <- struct{}{}
		store.broken.Store(false)
		synctest.Wait()
		if err := d.Stop(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		said := func() (kinds []orchestrator.EventKind, items int) {
			for events, err := range store.ReadRun(t.Context(), run.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					kinds = append(kinds, e.Kind)
				}
			}
			all, err := store.Items(t.Context(), run.ConversationID, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			return kinds, len(all)
		}
		waitFor(t, func() bool { return state(t, store, run.ID).Terminal() })
		kinds, items := said()
		time.Sleep(time.Minute)
		if now, more := said(); !slices.Equal(now, kinds) || more != items {
			t.Errorf("after the end: %v with %d items, then %v with %d", kinds, items, now, more)
		}
	})
}

// A run that cannot be read keeps no other from being taken up, nor its conversation from being erased.
func TestUnreadableRun(t *testing.T) {
	t.Parallel()
	store, agents := orchestratortest.NewMemoryStore(), orchestratortest.NewAgents()
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) { x.Say(a2a.TaskStateInputRequired, "?") })
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, nil)
	good := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, good.ID) == a2a.TaskStateInputRequired })
	if err := store.Write(t.Context(), &orchestrator.Batch{Runs: []*orchestrator.Run{{
		ID: "bad", Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal, ConversationID: good.ConversationID,
		To: "agent-1", State: a2a.TaskStateWorking, Engine: []byte(`{"rules":99}`),
	}}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := local.New(store, agents, nil)
	defer agents.Wait()
	defer again.Close(context.Background())
	if err := again.Resume(t.Context()); err != nil {
		t.Errorf("taking up: %v", err)
	}
	if err := again.Stop(t.Context(), good.ID); err != nil {
		t.Errorf("the other run: %v", err)
	}
	if err := again.Forget(t.Context(), good.ConversationID, nothing); err != nil {
		t.Errorf("erasing: %v", err)
	}
}

// nothing is an erase that removes nothing.
func nothing() error { return nil }

// origins notes on whose behalf tasks are canceled.
type origins struct {
	orchestrator.Caller
	seen chan orchestrator.Origin
}

func (o origins) Cancel(ctx context.Context, g *orchestrator.Agent, r *a2a.CancelRequest) (*a2a.Task, error) {
	o.seen <- orchestrator.OriginOf(ctx)
	return o.Caller.Cancel(ctx, g, r)
}

// The agent of a forgotten run is called as for the run itself, also when whoever erased it has gone.
func TestForgetCancelsForTheRun(t *testing.T) {
	t.Parallel()
	store, agents := orchestratortest.NewMemoryStore(), orchestratortest.NewAgents()
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-x.Canceled()
	})
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	seen := make(chan orchestrator.Origin, 1)
	d := local.New(store, origins{agents, seen}, nil)
	defer agents.Wait()
	defer d.Close(context.Background())
	run := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
	ctx, gone := context.WithCancel(t.Context())
	if err := d.Forget(ctx, run.ConversationID, nothing); err != nil {
		t.Fatal(err)
	}
	gone()
	want := orchestrator.Origin{
		Principal: orchestrator.LocalPrincipal, RunID: run.ID, ConversationID: run.ConversationID, Trace: orchestrator.TraceOfRun(run.ID),
	}
	if got := <-seen; got != want {
		t.Errorf("canceled on behalf of %+v, want %+v", got, want)
	}
}

// panicking panics when it is asked to cancel.
type panicking struct {
	orchestrator.Caller
	asked chan struct{}
}

func (p panicking) Cancel(context.Context, *orchestrator.Agent, *a2a.CancelRequest) (*a2a.Task, error) {
	close(p.asked)
	panic("cancel")
}

// Canceling for a forgotten run that panics costs nothing but the cancel.
func TestForgetSurvivesAPanic(t *testing.T) {
	t.Parallel()
	store, agents, stop := orchestratortest.NewMemoryStore(), orchestratortest.NewAgents(), make(chan struct{})
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) {
		x.Status(a2a.TaskStateWorking)
		<-stop
	})
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	d := local.New(store, panicking{agents, asked}, nil)
	run := say(t, d, "hi")
	waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
	if err := d.Forget(t.Context(), run.ConversationID, nothing); err != nil {
		t.Fatal(err)
	}
	<-asked
	close(stop)
	agents.Wait()
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
