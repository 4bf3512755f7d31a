package orchestrator

import (
	"context"
	"iter"

	"parley/a2a"
)

// Caller talks to remote agents. Ids, contexts and events are the agent's own; whoever receives an event owns it. Errors
// are *Fault, or *a2a.Error when the agent answered one. The context says on whose behalf a call is made: OriginOf.
type Caller interface {
	// Send sends a message. For an agent that streams it yields the events as they come; otherwise the one Task or
	// Message that was answered. The sequence ends when the agent ends the stream (after a terminal or interrupted
	// state), or with an error. A broken stream is mended inside, by get and subscribe, without loss or duplicates; what
	// could not be had again is reported by a *Gap error that ends nothing.
	Send(ctx context.Context, agent *Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error]

	// Await yields the events of a task until it ends or is interrupted: the task as it stands first, then by
	// subscription where the agent can, else by polling.
	Await(ctx context.Context, agent *Agent, task string) iter.Seq2[a2a.Event, error]

	Get(ctx context.Context, agent *Agent, r *a2a.GetRequest) (*a2a.Task, error)
	Cancel(ctx context.Context, agent *Agent, r *a2a.CancelRequest) (*a2a.Task, error)

	// Find looks for the task that a message started, where the agent can list tasks: by contextId and messageId. It
	// returns nil when there is none or the agent cannot say.
	Find(ctx context.Context, agent *Agent, contextID, messageID string) (*a2a.Task, error)
}

// Gap is yielded as an error between events when some may be missing; the sequence goes on after it.
type Gap struct{ Reason string }

func (g *Gap) Error() string { return "events may be missing: " + g.Reason }

// Origin says on whose behalf an agent is called: whether stored credentials may be used depends on it, and what is
// recorded of the exchange belongs to that run.
type Origin struct {
	Principal      string
	RunID          string
	ConversationID string // "" outside conversations
	Trace          Trace  // sent with each call
	Probe          bool   // it asks for a task that cannot be, to see whether the agent answers
}

type originKey struct{}

// WithOrigin returns a context that carries o.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin that ctx carries; the zero Origin when there is none.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
