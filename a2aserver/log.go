package a2aserver

import (
	"context"
	"iter"
	"time"

	"parley/a2a"
)

// Log keeps the tasks of one agent. Appends are ordered: an entry is visible to readers only after its commit, and
// after every earlier entry of its task.
type Log interface {
	// Append queues c and returns at once. done is called after the commit (or its failure), in the order of the
	// appends, from the log's own goroutine: it must not block. After an error the later appends of that task fail too.
	Append(c Change, done func(*a2a.Entry, error))

	// Head returns the row of a task; a2a.ErrTaskNotFound when there is none.
	Head(ctx context.Context, task string) (Head, error)

	// Received returns what a message of that principal began; ok is false when it is unknown (or forgotten: message
	// ids are kept at least seven days).
	Received(ctx context.Context, principal, messageID string) (r Receipt, ok bool, err error)

	// List returns a principal's task rows in the order (Updated, ID) descending, at most limit, that match the
	// request's ContextID, Status and StatusTimestampAfter and come after the row (before.Updated, before.ID) when
	// before is given; and how many match in all.
	List(ctx context.Context, principal string, r *a2a.ListRequest, before *Head, limit int) ([]Head, int, error)

	// Read yields the entries of a task so far, with Seq > after. Follow does the same and then waits for more,
	// until ctx is done; each item is what was ready, never empty.
	Read(ctx context.Context, task string, after int64) iter.Seq2[[]*a2a.Entry, error]
	Follow(ctx context.Context, task string, after int64) iter.Seq2[[]*a2a.Entry, error]

	// Open yields the rows of all tasks that have not ended.
	Open(ctx context.Context) iter.Seq2[Head, error]

	// Healthy returns nil, or an *a2a.Error of kind a2a.KindUnavailable that says why nothing can be stored.
	Healthy() error
}

// Head is the row of a task: what lists and checks need without its events.
type Head struct {
	ID        string
	ContextID string
	Principal string
	State     a2a.TaskState // TaskStateUnspecified: the answer was a Message, there is no task
	Updated   time.Time     // of the status
	Seq       int64         // of the newest entry
}

// Change is one event of a task together with the row as it stands after it.
type Change struct {
	Head    Head // Seq is ignored
	Event   a2a.Event
	JSON    []byte   // a2a.MarshalEvent(Event)
	Receipt *Receipt // on the first event that answers a message: committed with it
}

// Receipt remembers a received message, so that it is acted on once.
type Receipt struct {
	MessageID string
	Digest    [32]byte // of the message's canonical JSON
	TaskID    string
	After     int64 // see Started.After
}
