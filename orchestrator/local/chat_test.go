package local_test

import (
	"context"
	"sync"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// lateDisk is a store whose queue, while it is held, waits.
type lateDisk struct {
	*orchestratortest.MemoryStore
	mu      sync.Mutex
	held    bool
	waiting []func()
}

func (s *lateDisk) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write := func() { s.MemoryStore.Enqueue(b, done) }
	if s.held {
		s.waiting = append(s.waiting, write)
		return
	}
	write()
}

func (s *lateDisk) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

func (s *lateDisk) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

func (s *lateDisk) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	for _, write := range s.waiting {
		write()
	}
	s.waiting = nil
}

// Runs of one conversation that end at once, while nothing is on the disk yet, do not undo what the other wrote of it.
func TestRunsShareAConversation(t *testing.T) {
	t.Parallel()
	store, agents := &lateDisk{MemoryStore: orchestratortest.NewMemoryStore()}, orchestratortest.NewAgents()
	var rows []*orchestrator.Agent
	ends := map[string]chan struct{}{}
	for _, id := range []string{"agent-1", "agent-2"} {
		end := make(chan struct{})
		_, row := agents.Add(id, func(x *orchestratortest.Turn) {
			x.Status(a2a.TaskStateWorking)
			<-end
			x.Say(a2a.TaskStateCompleted, "done by "+id)
		})
		ends[id], rows = end, append(rows, row)
	}
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: rows}); err != nil {
		t.Fatal(err)
	}
	d := local.New(store, agents, nil)
	defer agents.Wait()
	defer d.Close(context.Background())
	one := say(t, d, "hi")
	two, err := d.Say(t.Context(), &orchestrator.Say{ConversationID: one.ConversationID, To: "agent-2", Text: "hi you"})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []*orchestrator.Run{one, two} {
		waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateWorking })
	}
	store.hold()
	close(ends["agent-1"])
	waitFor(t, func() bool { return store.count() == 1 })
	close(ends["agent-2"])
	waitFor(t, func() bool { return store.count() == 2 })
	store.release()
	for _, run := range []*orchestrator.Run{one, two} {
		waitFor(t, func() bool { return state(t, store, run.ID) == a2a.TaskStateCompleted })
	}
	chat, err := store.Conversation(t.Context(), one.ConversationID)
	if err != nil {
		t.Fatal(err)
	}
	if chat.State != orchestrator.ConversationIdle || chat.LastText != "done by agent-2" || chat.Title != "hi" {
		t.Errorf("%+v", chat)
	}
}
