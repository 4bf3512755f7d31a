package app

import (
	"context"
	"iter"

	"google.golang.org/grpc/metadata"

	"parley/a2a"
	"parley/a2aserver"
	"parley/orchestrator"
	"parley/orchestrator/local"
)

// runTasks lets the A2A server serve a driver's runs: the same port, but for one type of its own.
type runTasks struct{ *local.Tasks }

func (t runTasks) Start(ctx context.Context, principal string, r *a2a.SendRequest) (a2aserver.Started, error) {
	s, err := t.Tasks.Start(ctx, principal, r)
	return a2aserver.Started(s), err
}

// allowed wraps Tasks with what a caller's token may do.
type allowed struct {
	runTasks
	readOnly func(principal string) bool
	revoked  func(principal string) bool

	// pass returns nil once a caller may begin tasks at all; nil: every one may.
	pass func(ctx context.Context, principal string) error

	// launch reads what workflow a message asks for; nil where the agent is not our own.
	launch func(ctx context.Context, principal string, r *a2a.SendRequest) (*orchestrator.Launch, error)
}

func (a allowed) Start(ctx context.Context, principal string, r *a2a.SendRequest) (a2aserver.Started, error) {
	if a.readOnly(principal) {
		return a2aserver.Started{}, errReadOnlyToken
	}
	if a.pass != nil {
		if err := a.pass(ctx, principal); err != nil {
			return a2aserver.Started{}, err
		}
	}
	if t := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(t) == 1 { // over gRPC; over HTTP it is read from the header
		ctx = orchestrator.WithTrace(ctx, orchestrator.ReadTrace(t[0]))
	}
	if a.launch != nil {
		switch l, err := a.launch(ctx, principal, r); {
		case err != nil:
			return a2aserver.Started{}, err
		case l != nil:
			s, err := a.runTasks.Launch(ctx, principal, r, l)
			return a2aserver.Started(s), err
		}
	}
	return a.runTasks.Start(ctx, principal, r)
}

func (a allowed) Cancel(ctx context.Context, principal string, r *a2a.CancelRequest) (*a2a.Task, error) {
	if a.readOnly(principal) {
		return nil, errReadOnlyToken
	}
	return a.runTasks.Cancel(ctx, principal, r)
}

// Events ends where the caller's token is revoked: a stream lives longer than the request that opened it was looked at.
func (a allowed) Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		for entries, err := range a.runTasks.Events(ctx, principal, task, after) {
			if a.revoked(principal) {
				yield(nil, a2a.ErrUnauthenticated)
				return
			}
			if !yield(entries, err) || err != nil {
				return
			}
		}
	}
}

var errReadOnlyToken = &a2a.Error{Kind: a2a.KindForbidden, Message: "this token may only read: get, list and subscribe"}

var (
	_ a2aserver.Tasks = runTasks{}
	_ a2aserver.Tasks = allowed{}
)
