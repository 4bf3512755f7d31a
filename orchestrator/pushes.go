package orchestrator

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Pushes keeps the webhooks that callers registered for their tasks, and how far each has been told.
type Pushes interface {
	// PutPush stores p in place of the one of its task and id. It returns ErrTooMany, and stores nothing, when the task
	// would then have more than most.
	PutPush(ctx context.Context, p *StoredPush, most int) error
	Pushes(ctx context.Context, task string) ([]*StoredPush, error)
	DeletePush(ctx context.Context, task, id string) error // one that is not there is no error

	// MovePushes stores how far webhooks have been told; those that are not there are left out.
	MovePushes(ctx context.Context, all []PushMove) error

	// OpenPushes yields the webhooks that may still be told something, oldest first.
	OpenPushes(ctx context.Context) iter.Seq2[*StoredPush, error]
}

// StoredPush is a webhook that a caller registered for a task.
type StoredPush struct {
	PushMove
	Scope     string
	Principal string
	Task      string
	ID        string
	Body      []byte // the configuration; opaque to the store
	Created   time.Time
}

// PushMove is how far a webhook has been told.
type PushMove struct {
	UID      string
	Seq      int64
	State    string // PushDone, or another word
	Attempts int
	Next     time.Time
	Status   int
	Error    string
}

// PushDone is the state of a webhook that will be told nothing more: OpenPushes leaves it out.
const PushDone = "done"

// ErrTooMany says that a row would be one more than there may be.
var ErrTooMany = errors.New("there are too many of these already")
