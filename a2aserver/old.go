package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2a/wire"
)

// In v0.1 the client makes a task's id, and two clients may make the same. Ours is derived from it, so that it need not
// be remembered: whoever asks later, also after a restart, finds the task by the name it gave it.

// oldTaskID is our id of what a v0.1 client of an agent calls client.
func oldTaskID(agent, principal, client string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + principal + "\x00" + client))
	return oldPrefix + hex.EncodeToString(sum[:16])
}

const oldPrefix = "old-"

// ours reports whether an id looks like one that we make.
func ours(id string) bool {
	if strings.HasPrefix(id, oldPrefix) {
		return true
	}
	u, err := uuid.Parse(id)
	return err == nil && u.Version() == 7
}

// old reports whether the call names a task as v0.1 does, or may.
func (a *asked) old() bool { return a.call.Dialect == wire.OLD || a.call.Shared() }

// find does what the call asks for with the task it names, under whichever of our ids it is: that of a v0.1 client's own
// name, or the name itself. The first makes a call with a shared method one of v0.1.
func (a *asked) find(do func(id string) error) error {
	given := a.call.TaskID()
	named := oldTaskID(a.o.Agent, a.principal, given)
	first, second := named, given
	if ours(given) { // more likely than not
		first, second = given, named
	}
	found := first
	err := do(first)
	if errors.Is(err, a2a.ErrTaskNotFound) {
		found = given
		if e := do(second); !errors.Is(e, a2a.ErrTaskNotFound) {
			found, err = second, e
		}
	}
	if a.task = found; found == named || a.call.Dialect == wire.OLD {
		a.call.AsOLD(found)
	}
	return err
}

// nameTask puts our id in the place of the one that a v0.1 client gave its message: of a task that it knows by our id
// already, or of one that begins when there is none.
func (a *asked) nameTask(ctx context.Context) error {
	given := a.call.TaskID()
	if ours(given) {
		_, err := a.tasks.Task(ctx, a.principal, &a2a.GetRequest{ID: given, HistoryLength: new(int)})
		if err == nil {
			a.call.AsOLD(given)
			a.call.Send.NewTask = false
		}
		if !errors.Is(err, a2a.ErrTaskNotFound) {
			return err
		}
	}
	a.call.AsOLD(oldTaskID(a.o.Agent, a.principal, given))
	a.call.Send.NewTask = true
	return nil
}

// oldGet answers tasks/get of v0.1, or of whoever of the two it is.
func (a *asked) oldGet(ctx context.Context) (task *a2a.Task, err error) {
	err = a.find(func(id string) (err error) {
		r := *a.call.Get
		r.ID = id
		if task, err = a.tasks.Task(ctx, a.principal, &r); errors.Is(err, a2a.ErrTaskNotFound) {
			task, err = a.answered(ctx, id, err)
		}
		return err
	})
	if err == nil && a.call.Dialect == wire.OLD {
		trimHistory(task, a.call.Get.HistoryLength)
	}
	return task, err
}

// oldCancel answers tasks/cancel in the same way.
func (a *asked) oldCancel(ctx context.Context) (task *a2a.Task, err error) {
	err = a.find(func(id string) (err error) {
		r := *a.call.Cancel
		r.ID = id
		if task, err = a.cancel(ctx, &r); errors.Is(err, a2a.ErrTaskNotFound) {
			if _, e := a.answered(ctx, id, err); e == nil {
				err = notCancelable(id)
			}
		}
		return err
	})
	if err == nil && a.call.Dialect == wire.OLD {
		trimHistory(task, new(int))
	}
	return task, err
}

// oldSubscribe answers tasks/resubscribe in the same way. One that has ended is the task, or what v0.1 has for it, and the
// end.
func (a *asked) oldSubscribe(ctx context.Context) (iter.Seq2[[]*a2a.Entry, error], error) {
	var task *a2a.Task
	var seq int64
	err := a.find(func(id string) (err error) {
		if task, seq, err = a.snapshotOf(ctx, id, 0); errors.Is(err, a2a.ErrTaskNotFound) {
			task, err = a.answered(ctx, id, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.feed(ctx, func(f *feed) error { return f.subscribe(task, seq) }), nil
}

// answered returns the task that a Message is to a v0.1 client, who saw it as one that is completed: what began under a
// derived id and was answered by nothing else. When there is none it returns missing.
func (a *asked) answered(ctx context.Context, id string, missing error) (*a2a.Task, error) {
	if !strings.HasPrefix(id, oldPrefix) {
		return nil, missing
	}
	ctx, done := context.WithTimeout(ctx, answerWait)
	defer done()
	for entries, err := range a.tasks.Events(ctx, a.principal, id, 0) {
		if err != nil {
			return nil, missing
		}
		event, err := entries[0].Event()
		if m, ok := event.(*a2a.Message); err == nil && ok && !isReply(m) {
			return messageTask(id, m, entries[0].At), nil
		}
		break
	}
	return nil, missing
}

// answerWait is how long the first event of a task that is just beginning may take to be stored.
const answerWait = time.Second

// messageTask is the task that an answer is where there are tasks only.
func messageTask(id string, m *a2a.Message, at time.Time) *a2a.Task {
	return &a2a.Task{
		ID: id, ContextID: m.ContextID,
		Status:    a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: m, Timestamp: at.UTC().Truncate(time.Millisecond)},
		Artifacts: []a2a.Artifact{{ID: "artifact-0", Parts: m.Parts}},
	}
}
