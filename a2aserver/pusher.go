package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

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

// push answers the calls about push configurations.
func (a *asked) push(ctx context.Context) (result any, err error) {
	if a.o.Push == nil {
		return nil, a2a.ErrPushNotSupported
	}
	c, client := a.call, a.call.TaskID()
	var after int64
	look := func(id string) (err error) {
		_, after, err = a.snapshotOf(ctx, id, 0)
		return err
	}
	if c.Dialect == wire.OLD {
		err = a.find(look)
	} else {
		a.task = client
		err = look(client)
	}
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case wire.OpPushSet:
		r := a.registration(c.Push, client)
		r.After = after
		result, err = a.setPush(ctx, r)
	case wire.OpPushGet:
		result, err = a.o.Push.Get(ctx, a.principal, c.PushGet)
	case wire.OpPushList:
		result, err = a.o.Push.List(ctx, a.principal, c.PushList)
	default:
		err = a.o.Push.Delete(ctx, a.principal, c.PushDelete)
	}
	return result, err
}

// inlinePush returns what is to be stored of a configuration that came with a message, once it has begun its work, or why
// nothing is to begin. One of v1.0 without an id gets one that the same message has again when it is repeated.
func (a *asked) inlinePush(ctx context.Context, config *a2a.PushConfig, client string) (*PushRegistration, error) {
	if a.o.Push == nil {
		return nil, a2a.ErrPushNotSupported
	}
	m := &a.call.Send.Message
	r := a.registration(config, client)
	r.Config.TaskID = m.TaskID
	if r.Config.ID == "" && a.call.Dialect == wire.NEW {
		sum := sha256.Sum256([]byte(m.ID))
		r.Config.ID = hex.EncodeToString(sum[:16])
	}
	return r, a.o.Push.Check(ctx, r)
}

func (a *asked) registration(config *a2a.PushConfig, client string) *PushRegistration {
	r := &PushRegistration{Principal: a.principal, Config: *config, Dialect: a.call.Dialect}
	if a.call.Dialect == wire.OLD {
		r.ClientTaskID = client
	}
	return r
}

// setPush stores a configuration for the task that the call is about. Before v1.0 one without an id is the task's only one.
func (a *asked) setPush(ctx context.Context, r *PushRegistration) (*a2a.PushConfig, error) {
	r.Config.TaskID = a.task
	if r.Config.ID == "" && r.Dialect != wire.NEW {
		r.Config.ID = a.task
	}
	return a.o.Push.Set(ctx, r)
}
