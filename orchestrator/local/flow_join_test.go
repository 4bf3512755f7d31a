package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// watched is a store that remembers what its batches hold, and refuses one of them.
type watched struct {
	*orchestratortest.MemoryStore
	mu      sync.Mutex
	batches []string // the kinds of the events of each, in order
	refuse  string   // the first that has it
	refused int
}

func (s *watched) see(b *orchestrator.Batch) error {
	var kinds strings.Builder
	for _, e := range b.Events {
		fmt.Fprint(&kinds, e.Kind, " ")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != "" && s.refused == 0 && strings.Contains(kinds.String(), s.refuse) {
		s.refused++
		return errors.New("disk full")
	}
	s.batches = append(s.batches, kinds.String())
	return nil
}

func (s *watched) Write(ctx context.Context, b *orchestrator.Batch) error {
	if err := s.see(b); err != nil {
		return err
	}
	return s.MemoryStore.Write(ctx, b)
}

func (s *watched) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	if err := s.see(b); err != nil {
		done(nil, err)
		return
	}
	s.MemoryStore.Enqueue(b, done)
}

// joining is, in a bubble of synctest, a driver with an agent that acts once on each message, and a plan of three steps that goes on there.
func joining(t *testing.T, refuse string) (*watched, *orchestratortest.Agent, *local.Driver, *orchestrator.Run) {
	t.Helper()
	store, agents := &watched{MemoryStore: orchestratortest.NewMemoryStore(), refuse: refuse}, orchestratortest.NewAgents()
	agent, row := agents.Add("one", func(x *orchestratortest.Turn) {
		time.Sleep(time.Second) // until nobody has the plan locked that began this
		x.Write("text", "("+a2a.Text(x.Message.Parts)+")")
		x.Status(a2a.TaskStateCompleted)
	})
	row.Idempotent = true
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, nil)
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		agents.Wait()
	})
	run, err := d.Launch(t.Context(), &orchestrator.Launch{Source: []byte(`
name: Three
steps:
  - {id: a, agent: one, message: go}
  - {id: b, needs: a, agent: one, message: "${{ steps.a.text }}"}
  - {id: c, needs: b, agent: one, message: "${{ steps.b.text }}"}
outputs: {all: "${{ steps.c.text }}"}
`)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for events, err := range store.FollowRun(ctx, run.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if !e.Kind.A2A() {
				continue
			}
			if ev, err := e.Event(); err != nil || a2a.EventState(ev).Terminal() {
				return store, agent, d, run
			}
		}
	}
	t.Fatal("it does not end")
	return nil, nil, nil, nil
}

func outcome(t *testing.T, d *local.Driver, run *orchestrator.Run, store orchestrator.Store) {
	t.Helper()
	p, err := d.Plan(t.Context(), run.ID)
	if err != nil || p.State != a2a.TaskStateCompleted || string(p.Outputs["all"]) != `"(((go)))"` {
		t.Errorf("%+v, %v", p, err)
	}
	chat, err := store.Conversation(t.Context(), run.ConversationID)
	if err != nil || chat.State != orchestrator.ConversationIdle {
		t.Errorf("%+v, %v", chat, err)
	}
	items, err := store.Items(t.Context(), run.ConversationID, 0, 100)
	said := ""
	for _, it := range items {
		said += string(it.Kind) + " "
	}
	if want := "user agent agent agent "; err != nil || said != want {
		t.Errorf("the transcript has %s(%v), want %s", said, err, want)
	}
}

// The end of a call, what its plan makes of it and the intent of the next call are one commit.
func TestStepIsOneCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, stepIsOneCommit)
}

func stepIsOneCommit(t *testing.T) {
	store, _, d, run := joining(t, "")
	outcome(t, d, run, store)
	store.mu.Lock()
	defer store.mu.Unlock()
	together, ends := 0, 0
	for _, kinds := range store.batches {
		if strings.Contains(kinds, "over ") {
			ends++
		}
		if strings.Contains(kinds, "status over ") && (strings.Contains(kinds, "begun ") && strings.Contains(kinds, "sending ") || strings.Contains(kinds, "artifact status ")) {
			together++
		}
	}
	if ends != 3 || together != 3 {
		t.Errorf("%d of %d ends of calls were stored with what follows:\n%s", together, ends, strings.Join(store.batches, "\n"))
	}
}

// When that commit fails nothing of it is known to anybody: the call is read to its end once more, and the plan goes on.
func TestStepCommitFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, stepCommitFails)
}

func stepCommitFails(t *testing.T) {
	store, agent, d, run := joining(t, "status over ")
	outcome(t, d, run, store)
	if store.refused != 1 {
		t.Fatal("no commit was refused")
	}
	if n := len(agent.Tasks()); n != 3 {
		t.Errorf("the agent has %d tasks of three messages", n)
	}
}
