package a2aserver

import (
	"context"
	"iter"

	"parley/a2a"
)

// Tasks carries tasks out for callers. A principal is the id of an authenticated caller ("" where the server allows
// anonymous callers); a task is visible to the principal that started it and to nobody else: for all others every
// method answers a2a.ErrTaskNotFound. Errors are *a2a.Error wherever the caller is at fault.
type Tasks interface {
	// Start accepts a message: the first of a new task, or the next turn of the task it names; with NewTask, whichever of
	// the two it is, and of several at once one begins the task, under exactly that name. It returns before the work is
	// done and possibly before anything is stored; what Events then yields is stored. The same message id with the same
	// content from the same principal is answered with what it started the first time.
	Start(ctx context.Context, principal string, r *a2a.SendRequest) (Started, error)

	// Task returns a task as it stands.
	Task(ctx context.Context, principal string, r *a2a.GetRequest) (*a2a.Task, error)

	// List returns a page of the principal's tasks, newest status first.
	List(ctx context.Context, principal string, r *a2a.ListRequest) (*a2a.TaskPage, error)

	// Cancel asks for the task to stop and returns it as it stands after that, canceled or still on its way there. A
	// canceled task is returned as it is; any other ended one is a2a.ErrTaskNotCancelable.
	Cancel(ctx context.Context, principal string, r *a2a.CancelRequest) (*a2a.Task, error)

	// Events yields the committed events of a task with Seq > after, oldest first, and then follows it: each item is
	// what was ready at that moment, never empty. It ends with ctx (yielding no error), with an error, or after the
	// event that ends the task. The entries are shared: do not change them. A *a2a.Message with RoleUser among them is
	// a reply of the caller to the running task: part of the task's history, and never sent to a client as an event.
	Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error]
}

// Started says what a message began.
type Started struct {
	TaskID   string // also where the answer is a Message: then the id only serves Events
	After    int64  // Events(…, TaskID, After) begins with the first event that answers this message
	Repeated bool   // this message had been received before
}

// Snapshotter is what a Tasks may also implement, so that a stream which begins in the middle of a task need not read it
// from its start.
type Snapshotter interface {
	// Snapshot returns the task as it stood at the position seq (0: as it stands), and that position. Events(…, position)
	// goes on from there.
	Snapshot(ctx context.Context, principal, task string, seq int64) (*a2a.Task, int64, error)
}
