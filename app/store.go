package app

import (
	"context"
	"sync"
	"sync/atomic"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/orchestrator"
	"parley/orchestrator/sqlite"
)

// store is the store with the agents in memory: which agent is meant, and whether it is approved, is asked at every
// request of the gateway and at every message.
type store struct {
	*sqlite.DB

	// erasing lets go of what goes on in a conversation, before it is erased.
	erasing func(ctx context.Context, conversation string) error

	old atomic.Bool // the statuses of errors are those of v1.0.0

	mu     sync.RWMutex
	agents map[string]*orchestrator.Agent // by id; the agents are never changed
}

func newStore(db *sqlite.DB) *store {
	return &store{DB: db, agents: map[string]*orchestrator.Agent{}}
}

// load reads the settings that are kept in memory.
func (s *store) load(ctx context.Context) error {
	edition, err := s.Setting(ctx, orchestrator.ErrorMapping)
	s.old.Store(edition == "1.0.0")
	return err
}

// errorMapping is what the setting of that name says.
func (s *store) errorMapping() wire.ErrorMapping {
	if s.old.Load() {
		return wire.Mapping100
	}
	return wire.Mapping101
}

// Agent returns an agent. It is shared: do not change it.
func (s *store) Agent(ctx context.Context, id string) (*orchestrator.Agent, error) {
	s.mu.RLock()
	g := s.agents[id]
	s.mu.RUnlock()
	if g != nil {
		return g, nil
	}
	s.mu.Lock() // held while reading, so that no older row takes the place of one that is being written
	defer s.mu.Unlock()
	g, err := s.DB.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	s.agents[id] = g
	return g, nil
}

func (s *store) Write(ctx context.Context, b *orchestrator.Batch) error {
	err := s.DB.Write(ctx, b)
	s.forget(b)
	if edition, set := b.Settings[orchestrator.ErrorMapping]; set && err == nil {
		s.old.Store(edition == "1.0.0")
	}
	return err
}

func (s *store) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	if len(b.Agents) == 0 {
		s.DB.Enqueue(b, done)
		return
	}
	s.DB.Enqueue(b, func(entries []*a2a.Entry, err error) {
		s.forget(b)
		if done != nil {
			done(entries, err)
		}
	})
}

// Erase removes a conversation once nothing more of it is being written.
func (s *store) Erase(ctx context.Context, conversation string) error {
	if s.erasing != nil {
		if err := s.erasing(ctx, conversation); err != nil {
			return err
		}
	}
	return s.DB.Erase(ctx, conversation)
}

// forget reads the agents of a batch anew when they are next asked for.
func (s *store) forget(b *orchestrator.Batch) {
	if len(b.Agents) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range b.Agents {
		delete(s.agents, g.ID)
	}
}
