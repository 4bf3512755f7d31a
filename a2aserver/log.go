package a2aserver

import (
	"context"
	"iter"
	"time"

	"parley/a2a"
)

// Log keeps the tasks of one agent. The Agent is the only one who appends, so it knows of every commit: a Log need not
// tell anybody else.
type Log interface {
	// Append queues c and returns at once; it commits c whole or not at all. done is called after the commit (or its
	// failure) with the entries of c.Events, in the order of the appends, from the log's own goroutine and never from
	// within Append. It does not block and may call Append. After an error the later appends of that task fail too.
	Append(c *Change, done func([]*a2a.Entry, error))

	// Head returns the row of a task; a2a.ErrTaskNotFound when there is none.
	Head(ctx context.Context, task string) (Head, error)

	// Received returns what a message of that principal began; ok is false when it is unknown (or forgotten: message
	// ids are kept at least seven days).
	Received(ctx context.Context, principal, messageID string) (r Receipt, ok bool, err error)

	// List returns a principal's task rows in the order (Updated, ID) descending, at most limit, that match the
	// request's ContextID, Status and StatusTimestampAfter and come after the row (before.Updated, before.ID) when
	// before is given; and how many match in all. Rows whose answer was a Message are left out.
	List(ctx context.Context, principal string, r *a2a.ListRequest, before *Head, limit int) ([]Head, int, error)

	// Read yields the committed entries of a task with Seq > after, oldest first, in pages that are never empty. The
	// entries are shared; the slice is the caller's until the next page only.
	Read(ctx context.Context, task string, after int64) iter.Seq2[[]*a2a.Entry, error]

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

// Change is some events of one task, in order, together with the row as it stands after them.
type Change struct {
	Head    Head       // Seq is ignored
	Events  []NewEvent // at least one
	Receipt *Receipt   // when the first event of an answer is among Events: committed with it
}

// NewEvent is an event before it has its place in the log.
type NewEvent struct {
	Event a2a.Event
	JSON  []byte // a2a.MarshalEvent(Event)
}

// Receipt remembers a received message, so that it is acted on once.
type Receipt struct {
	MessageID string
	Digest    [32]byte // of the message's canonical JSON
	TaskID    string
	After     int64 // see Started.After
}
