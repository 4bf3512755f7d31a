package app

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/orchestrator"
)

// Storage is what the program keeps everything in.
type Storage interface {
	orchestrator.Store
	orchestrator.WireLog
	orchestrator.Pushes
	orchestrator.Ledger
	io.Closer
	Version() string // of the database, with its name
}

// store is the store with the agents in memory: which agent is meant, and whether it is approved, is asked at every
// request of the gateway and at every message.
type store struct {
	Storage

	// forget lets go of what goes on in a conversation, and has erase remove it.
	forget func(ctx context.Context, conversation string, erase func() error) error

	// changed hears of what other processes changed; the zero Change: there may be anything.
	changed func(ctx context.Context, c orchestrator.Change)

	old atomic.Bool // the statuses of errors are those of v1.0.0

	mu     sync.RWMutex
	agents map[string]*orchestrator.Agent // by id; the agents are never changed
}

func newStore(s Storage) *store {
	return &store{Storage: s, agents: map[string]*orchestrator.Agent{}}
}

// shared is a store that other processes write, too.
type shared struct {
	*store
	orchestrator.Shared
}

// ofDriver is the store as the driver gets it.
func (s *store) ofDriver() orchestrator.Store {
	if others, ok := s.Storage.(orchestrator.Shared); ok {
		return shared{s, others}
	}
	return s
}

// refreshEvery is how often all is read anew that other processes may have changed: a hint of it may be lost.
const refreshEvery = time.Minute

// watch reads anew, until ctx is done, what other processes change. Where there are none it returns at once.
func (s *store) watch(ctx context.Context) {
	if _, ok := s.Storage.(orchestrator.Shared); !ok {
		return
	}
	go func() {
		tick := time.NewTicker(refreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.refresh(ctx, orchestrator.Change{})
			case <-ctx.Done():
				return
			}
		}
	}()
	for c := range s.Changes(ctx) {
		s.refresh(ctx, c)
	}
}

// refresh takes in what changed; the zero Change: there may be anything.
func (s *store) refresh(ctx context.Context, c orchestrator.Change) {
	all := c == orchestrator.Change{}
	s.mu.Lock()
	if all {
		clear(s.agents)
	} else {
		delete(s.agents, c.AgentID)
	}
	s.mu.Unlock()
	if all || c.Setting == orchestrator.ErrorMapping {
		_ = s.load(ctx) // what was known stays
	}
	if s.changed != nil {
		s.changed(ctx, c)
	}
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
	g, err := s.Storage.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	s.agents[id] = g
	return g, nil
}

func (s *store) Write(ctx context.Context, b *orchestrator.Batch) error {
	err := s.Storage.Write(ctx, b)
	s.stale(b)
	if edition, set := b.Settings[orchestrator.ErrorMapping]; set && err == nil {
		s.old.Store(edition == "1.0.0")
	}
	return err
}

func (s *store) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	if len(b.Agents) == 0 {
		s.Storage.Enqueue(b, done)
		return
	}
	s.Storage.Enqueue(b, func(entries []*a2a.Entry, err error) {
		s.stale(b)
		if done != nil {
			done(entries, err)
		}
	})
}

// Erase removes a conversation once nothing more of it is being written. Whoever asked for it and left does not keep it from
// being removed: by then its agents were told to stop.
func (s *store) Erase(ctx context.Context, conversation string) error {
	erase := func() error { return s.Storage.Erase(context.WithoutCancel(ctx), conversation) }
	if s.forget == nil {
		return erase()
	}
	return s.forget(ctx, conversation, erase)
}

// stale reads the agents of a batch anew when they are next asked for.
func (s *store) stale(b *orchestrator.Batch) {
	if len(b.Agents) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range b.Agents {
		delete(s.agents, g.ID)
	}
}
