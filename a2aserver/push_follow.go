package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// follower delivers what one registration is owed, one event after the other. While it waits for its next attempt it is
// parked: a timer and no goroutine.
type follower struct {
	s   *PushSender
	row *PushRow // never changed; where it stands is at
	url *url.URL

	ctx   context.Context // ends when nothing more is to be delivered
	leave context.CancelFunc
	sends context.Context // ends when what is being sent is given up, too
	kill  context.CancelFunc

	mu      sync.Mutex
	timer   *time.Timer
	ended   bool
	working chan struct{} // not nil: closed when run is over

	at PushProgress // belongs to run, and to whoever waited for its end
}

func newFollower(s *PushSender, r *PushRow) *follower {
	f := &follower{s: s, row: r, at: r.PushProgress}
	f.url, _ = url.Parse(r.Config.URL) // was checked when it was set
	f.sends, f.kill = context.WithCancel(s.base)
	f.ctx, f.leave = context.WithCancel(f.sends)
	return f
}

// park lets run follow after d.
func (f *follower) park(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.timer = time.AfterFunc(d, f.run)
	}
}

// end stops the follower and returns where it stopped.
func (f *follower) end() PushProgress {
	f.kill()
	f.mu.Lock()
	f.ended = true
	if f.timer != nil {
		f.timer.Stop()
	}
	working := f.working
	f.mu.Unlock()
	if working != nil {
		<-working
	}
	return f.at
}

// enter counts a run, unless there is to be none.
func (f *follower) enter() bool {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.closing {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.working = make(chan struct{})
	f.s.running.Add(1)
	return true
}

// run delivers until there is nothing more, or until an attempt fails.
func (f *follower) run() {
	if !f.enter() {
		return
	}
	wait, again := f.follow()
	f.mu.Lock()
	close(f.working)
	f.working = nil
	f.mu.Unlock()
	if again && f.ctx.Err() == nil {
		f.park(wait)
	} else {
		f.s.ended(f)
		f.kill()
	}
	f.s.running.Done()
}

// lookAgain is when a follower looks again whose events could not be read.
const lookAgain = time.Second

// follow delivers what comes behind the cursor. again says that it is to be called once more, after wait.
func (f *follower) follow() (wait time.Duration, again bool) {
	tasks := f.s.o.Tasks(f.row.Scope)
	if tasks == nil {
		f.forget()
		return 0, false
	}
	t, way, err := f.s.target(f.url)
	if err != nil {
		return f.failed(attempt{err: err})
	}
	defer f.s.release(t)
	client := *way.HTTP
	client.CheckRedirect = stay
	d := delivery{f: f, target: t, http: &client}
	from, err := d.begin(f.ctx, tasks)
	if err == nil {
		for entries, err := range tasks.Events(f.ctx, f.row.Principal, f.row.Config.TaskID, from) {
			if err != nil {
				return f.unread(err)
			}
			for _, e := range entries {
				if f.ctx.Err() != nil {
					return 0, false
				}
				if a, err := d.event(e); err != nil {
					return f.unread(err)
				} else if a.err != nil || a.status != 0 && !a.ok() {
					return f.failed(a)
				}
			}
		}
	}
	switch {
	case f.ctx.Err() != nil:
		return 0, false
	case err != nil:
		return f.unread(err)
	}
	f.at.State = PushDone
	f.s.keeper.note(f.at)
	return 0, false
}

// unread is what follows when the task's events could not be read.
func (f *follower) unread(err error) (time.Duration, bool) {
	switch {
	case f.ctx.Err() != nil:
		return 0, false
	case errors.Is(err, a2a.ErrTaskNotFound): // it was erased, or never stored
		f.forget()
		return 0, false
	case !errors.Is(err, ErrClosing):
		f.s.log.Warn("the events for a webhook could not be read", "task", f.row.Config.TaskID, "error", err)
	}
	return lookAgain, true
}

// forget removes the registration.
func (f *follower) forget() {
	if err := f.s.o.Store.Delete(f.sends, f.row.Config.TaskID, f.row.Config.ID); err != nil && f.ctx.Err() == nil {
		f.s.log.Warn("a webhook of a task that is not there any more could not be forgotten", "task", f.row.Config.TaskID, "error", err)
	}
}

// failed is what follows a failed attempt.
func (f *follower) failed(a attempt) (time.Duration, bool) {
	if f.sends.Err() != nil { // it was given up, not refused
		return 0, false
	}
	f.at.Attempts++
	f.at.Status, f.at.Error = a.status, a.reason()
	wait, again := f.s.retryDelay(f.at.Attempts, a.retryAfter)
	switch {
	case a.gone():
		again, f.at.State = false, PushGone
	case !again:
		f.at.State = PushDead
	default:
		f.at.Next = time.Now().Add(wait)
	}
	f.s.keeper.note(f.at)
	if !again {
		f.s.log.Warn("a webhook gets nothing more", "registration", f.row.UID, "task", f.row.Config.TaskID,
			"host", f.url.Host, "state", f.at.State, "reason", f.at.Error)
	}
	return wait, again
}

// delivery turns events into posts.
type delivery struct {
	f      *follower
	target *target
	http   *http.Client

	// A bare Task is what dialects before v1.0 send: the task as it stands after the event.
	task  *a2a.Task
	index *wire.Index
}

// begin makes ready for the events behind the cursor and returns from where they are to be read.
func (d *delivery) begin(ctx context.Context, tasks Tasks) (from int64, err error) {
	seq := d.f.at.Seq
	if d.f.row.Dialect == wire.NEW {
		return seq, nil
	}
	if d.f.row.Dialect == wire.OLD {
		d.index = wire.NewIndex(d.f.row.ClientTaskID)
	}
	d.task = &a2a.Task{}
	snap, ok := tasks.(Snapshotter)
	if seq == 0 || !ok {
		return 0, nil
	}
	if d.task, seq, err = snap.Snapshot(ctx, d.f.row.Principal, d.f.row.Config.TaskID, seq); err != nil {
		return 0, err
	}
	if d.index != nil {
		d.index.Seen(d.task)
	}
	return seq, nil
}

// event delivers one event. The attempt is the zero one where nothing was to be sent.
func (d *delivery) event(e *a2a.Entry) (a attempt, err error) {
	f := d.f
	event, err := e.Event()
	if err != nil {
		return a, err
	}
	if d.task != nil {
		fold(d.task, event)
		if d.index != nil {
			d.index.SeenEvent(event)
		}
	}
	if e.Seq <= f.at.Seq {
		return a, nil
	}
	if !f.says(event) {
		f.at.Seq = e.Seq // read again after a crash, which costs nothing
		return a, nil
	}
	if d.target.enter(f.ctx) != nil {
		return a, nil // it was told to leave
	}
	defer d.target.leave()
	a = f.post(d.http, e.Seq, d.body(e, event))
	if a.ok() {
		f.at = PushProgress{UID: f.row.UID, Seq: e.Seq}
		f.s.keeper.note(f.at)
	}
	return a, nil
}

// says reports whether an event is told to the webhook: never the caller's own reply; to one of v1.0 everything else; to
// older ones, which get the task as a whole, each change of its state.
func (f *follower) says(e a2a.Event) bool {
	if _, ok := e.(*a2a.ArtifactUpdate); ok {
		return f.row.Dialect == wire.NEW
	}
	return !isReply(e)
}

// body is what the webhook gets of an event.
func (d *delivery) body(e *a2a.Entry, event a2a.Event) []byte {
	if d.task == nil {
		return e.JSON
	}
	p := wire.PushPayload{Event: event, ClientTaskID: d.f.row.ClientTaskID, Index: d.index}
	if _, ok := event.(*a2a.Message); !ok { // one that is the whole answer: there is no task
		p.Task = copyTask(d.task)
		trimHistory(p.Task, nil)
	}
	return wire.AppendPush(nil, d.f.row.Dialect, &p)
}
