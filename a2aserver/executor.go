package a2aserver

import (
	"context"
	"errors"
	"iter"

	"parley/a2a"
)

// Executor is an agent's own work: one turn of one task.
type Executor interface {
	// Execute carries out one turn and yields what happens. The events' task and context ids are filled in, as are
	// missing message and artifact ids and timestamps. A turn is either exactly one *a2a.Message and nothing else, or
	// any number of *a2a.StatusUpdate and *a2a.ArtifactUpdate.
	//
	// An event may be yielded before the one before it is stored; a false return of yield means stop now. A turn that
	// ends in no terminal or interrupted state ends COMPLETED; one that ends with an error ends FAILED with the
	// message of an *a2a.Error, or a plain sentence for any other error and for a panic. After INPUT_REQUIRED the
	// iterator returns, and the user's reply is the next turn. After AUTH_REQUIRED it may wait and go on by itself.
	//
	// When ctx is done the task was canceled, or the server is closing: context.Cause(ctx) is ErrCanceled for the
	// first; then the task becomes CANCELED unless the turn still yields another terminal state. When the server is
	// closing (ErrClosing) the task stays as it is stored, for Resume.
	Execute(ctx context.Context, turn *Turn) iter.Seq2[a2a.Event, error]
}

// The causes of a turn's context, see Executor.
var (
	ErrCanceled = errors.New("the task was canceled")
	ErrClosing  = errors.New("the agent is shutting down")
)

// Resumer is what an Executor implements to go on with a task after a restart; its turns are then stopped at once when the
// agent closes. Without it such a task ends FAILED, keeping its artifacts.
type Resumer interface {
	Resume(ctx context.Context, turn *Turn) iter.Seq2[a2a.Event, error]
}

// Turn is one message for an executor, and what came before it.
type Turn struct {
	Principal string
	TaskID    string
	ContextID string
	Message   *a2a.Message           // the message to act on; nil in Resume
	Request   *a2a.SendConfiguration // how the caller wants the answer; nil in Resume
	Metadata  a2a.Metadata           // of the request
	Task      *a2a.Task              // the task before this turn; nil on the first. Not to be changed
}
