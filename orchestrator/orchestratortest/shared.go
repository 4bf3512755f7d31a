package orchestratortest

import (
	"context"
	"iter"
	"sync"

	"parley/a2a"
	"parley/orchestrator"
)

// Share makes of a store of one process one that several drivers in this process may write at the same time.
func Share(store orchestrator.Store) orchestrator.Store {
	s := &sharedStore{Store: store, runs: map[string]*sharedRun{}, watchers: map[chan orchestrator.Change]struct{}{}}
	if f, ok := store.(failing); ok {
		return struct {
			*sharedStore
			failing
		}{s, f}
	}
	return s
}

// sharedStore refuses batches that go by an old claim before the store sees them.
type sharedStore struct {
	orchestrator.Store
	mu       sync.Mutex
	runs     map[string]*sharedRun
	watchers map[chan orchestrator.Change]struct{}
}

var _ orchestrator.Shared = (*sharedStore)(nil)

type sharedRun struct {
	mu     sync.Mutex // held while a batch of the run is checked and given to the store
	claim  int64
	flying sync.WaitGroup
}

func (s *sharedStore) run(id string) *sharedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		r = &sharedRun{}
		s.runs[id] = r
	}
	return r
}

// Claim is orchestrator.Shared's.
func (s *sharedStore) Claim(_ context.Context, id string) (int64, error) {
	r := s.run(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying.Wait()
	r.claim++
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		select {
		case w <- orchestrator.Change{RunID: id}:
		default:
		}
	}
	return r.claim, nil
}

// Claimed is orchestrator.Shared's.
func (s *sharedStore) Claimed(_ context.Context, id string) (int64, error) {
	r := s.run(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claim, nil
}

// OpenCount is orchestrator.Shared's.
func (s *sharedStore) OpenCount(ctx context.Context, principal string) (running, interrupted int, err error) {
	for _, scope := range []string{orchestrator.OwnAgent, "agents/"} {
		for row, err := range s.OpenRuns(ctx, scope) {
			switch {
			case err != nil:
				return 0, 0, err
			case row.Principal != principal:
			case row.State.Interrupted():
				interrupted++
			default:
				running++
			}
		}
	}
	return running, interrupted, nil
}

// under calls f while no claim of the batch's runs can change, if all of them are the newest.
func (s *sharedStore) under(b *orchestrator.Batch, f func([]*sharedRun)) error {
	var held []*sharedRun
	defer func() {
		for _, r := range held {
			r.mu.Unlock()
		}
	}()
	for id, claim := range b.Claims {
		r := s.run(id)
		r.mu.Lock()
		held = append(held, r)
		if r.claim != claim {
			return orchestrator.ErrMoved
		}
	}
	f(held)
	return nil
}

// Write is orchestrator.Log's.
func (s *sharedStore) Write(ctx context.Context, b *orchestrator.Batch) (err error) {
	if moved := s.under(b, func([]*sharedRun) { err = s.Store.Write(ctx, b) }); moved != nil {
		return moved
	}
	return err
}

// Enqueue is orchestrator.Log's.
func (s *sharedStore) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	moved := s.under(b, func(runs []*sharedRun) {
		for _, r := range runs {
			r.flying.Add(1)
		}
		s.Store.Enqueue(b, func(entries []*a2a.Entry, err error) {
			if done != nil {
				done(entries, err)
			}
			for _, r := range runs {
				r.flying.Done()
			}
		})
	})
	if moved != nil && done != nil {
		go done(nil, moved)
	}
}

// Changes is orchestrator.Store's, with the claims.
func (s *sharedStore) Changes(ctx context.Context) iter.Seq[orchestrator.Change] {
	return func(yield func(orchestrator.Change) bool) {
		ctx, cancel := context.WithCancel(ctx)
		mine, store := make(chan orchestrator.Change, 1024), make(chan orchestrator.Change)
		s.mu.Lock()
		s.watchers[mine] = struct{}{}
		s.mu.Unlock()
		var reading sync.WaitGroup
		defer reading.Wait()
		defer func() {
			cancel()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.watchers, mine)
		}()
		reading.Go(func() {
			defer close(store)
			for c := range s.Store.Changes(ctx) {
				select {
				case store <- c:
				case <-ctx.Done():
				}
			}
		})
		for {
			var c orchestrator.Change
			var ok bool
			select {
			case c = <-mine:
			case c, ok = <-store:
				if !ok {
					return
				}
			}
			if !yield(c) {
				return
			}
		}
	}
}

// A process of the suite shares what its store shares.

func (p *process) shared() (orchestrator.Shared, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return nil, errKilled
	}
	return p.Store.(orchestrator.Shared), nil
}

func (p *process) Claim(ctx context.Context, run string) (int64, error) {
	s, err := p.shared()
	if err != nil {
		return 0, err
	}
	return s.Claim(ctx, run)
}

func (p *process) Claimed(ctx context.Context, run string) (int64, error) {
	s, err := p.shared()
	if err != nil {
		return 0, err
	}
	return s.Claimed(ctx, run)
}

func (p *process) OpenCount(ctx context.Context, principal string) (running, interrupted int, err error) {
	s, err := p.shared()
	if err != nil {
		return 0, 0, err
	}
	return s.OpenCount(ctx, principal)
}
