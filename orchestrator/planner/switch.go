package planner

import (
	"context"
	"sync/atomic"
)

// Switch is a Decider that can be another one from one moment to the next: the model that a person set up, or none. The
// zero value has none. It is safe for concurrent use.
type Switch struct {
	now   atomic.Pointer[Decider]
	cards Cards
}

// Set makes d the Decider, from the next question on; nil: there is none.
func (s *Switch) Set(d Decider) {
	if d == nil {
		s.now.Store(nil)
		return
	}
	s.now.Store(&d)
}

// On reports whether there is a Decider. Without one a message for no agent in particular is better given to the one
// that Cards finds, as a run of one step; Decide works all the same, for runs that had one when they began.
func (s *Switch) On() bool { return s.now.Load() != nil }

// Decide asks the Decider; without one the cards decide.
func (s *Switch) Decide(ctx context.Context, b *Brief) (*Decision, error) {
	if d := s.now.Load(); d != nil {
		return (*d).Decide(ctx, b)
	}
	return s.cards.Decide(ctx, b)
}

// Reply asks the Decider; without one nobody but a person answers.
func (s *Switch) Reply(ctx context.Context, b *Brief, q *Question) (*Answer, error) {
	if d := s.now.Load(); d != nil {
		return (*d).Reply(ctx, b, q)
	}
	return nil, nil
}
