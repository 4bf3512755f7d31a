package a2aserver

import (
	"context"

	"parley/a2a"
	"parley/a2a/wire"
)

// Pusher reports what happens to tasks to the webhooks of their callers. The Handler has made sure, before it asks, that
// the task is there and the principal's. Errors are *a2a.Error wherever the caller is at fault; an address that is not
// allowed, an authentication scheme that nobody knows and one configuration too many are a2a.KindInvalidParams.
type Pusher interface {
	// Check returns the error that Set would return for what the configuration says. It is asked before a message that
	// carries a configuration begins any work; the task may be "" then.
	Check(ctx context.Context, r *PushRegistration) error

	// Set stores a configuration, in place of the one of the same id, and returns it as it may be shown: without
	// credentials. Once it returns, every event of the task behind After will be delivered.
	Set(ctx context.Context, r *PushRegistration) (*a2a.PushConfig, error)

	// Get returns one configuration; the newest when the request names none. One that is not there is
	// a2a.ErrTaskNotFound.
	Get(ctx context.Context, principal string, r *a2a.PushGetRequest) (*a2a.PushConfig, error)

	// List returns the configurations of a task, oldest first.
	List(ctx context.Context, principal string, r *a2a.PushListRequest) (*a2a.PushConfigPage, error)

	// Delete forgets a configuration. One that is not there is no error.
	Delete(ctx context.Context, principal string, r *a2a.PushDeleteRequest) error
}

// PushRegistration is a push configuration with what its creator was when it was made.
type PushRegistration struct {
	Principal    string
	Config       a2a.PushConfig // TaskID is our id of the task; the Pusher makes an ID where there is none
	Dialect      wire.Dialect   // of the creator: what is sent to the webhook is written in it
	ClientTaskID string         // what a v0.1 client calls the task; "" for all others
	After        int64          // the position in the log up to which the creator knows the task
}
