package a2aserver

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
)

// AgentOptions are the choices of an Agent; the zero value is good.
type AgentOptions struct {
	Logger *slog.Logger // nil = discard

	// RunningTasks and InterruptedTasks bound what one principal may have at a time; 0 = as a2a.Limits says. A message
	// that would begin one more task is refused with a2a.KindRateLimited.
	RunningTasks     int
	InterruptedTasks int
}

// Agent carries tasks out with an Executor and keeps them in a Log. It implements Tasks.
type Agent struct {
	exec   Executor
	log    Log
	logger *slog.Logger

	maxRunning, maxInterrupted int

	base   context.Context // of every turn; done, with ErrClosing, when the agent closes
	stop   context.CancelCauseFunc
	closed chan struct{} // nothing runs any more

	mu          sync.Mutex
	closing     bool
	tasks       map[string]*live // all that are in memory
	idle        list.List        // of *live: nobody uses them now, most recent first
	idleSize    int64
	claims      map[messageKey]*claim
	running     map[string]int // turns, by principal
	interrupted map[string]int // tasks, by principal
	turns       int
	waiting     int           // of turns: those whose task is interrupted
	quiet       chan struct{} // a turn began to wait or ended; capacity 1
}

// NewAgent returns an agent. Call Resume before it is served when the log may hold tasks of an earlier process.
func NewAgent(exec Executor, log Log, o *AgentOptions) *Agent {
	if o == nil {
		o = &AgentOptions{}
	}
	a := &Agent{
		exec: exec, log: log, logger: o.Logger,
		maxRunning:     cmp.Or(o.RunningTasks, a2a.Limits.RunningTasks),
		maxInterrupted: cmp.Or(o.InterruptedTasks, a2a.Limits.InterruptedTasks),
		closed:         make(chan struct{}),
		tasks:          map[string]*live{},
		claims:         map[messageKey]*claim{},
		running:        map[string]int{},
		interrupted:    map[string]int{},
		quiet:          make(chan struct{}, 1),
	}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.base, a.stop = context.WithCancelCause(context.Background())
	return a
}

// messageKey is what makes a message the same message.
type messageKey struct{ principal, message string }

// claim is a message between its arrival and the commit of its receipt.
type claim struct {
	digest  [32]byte
	ready   chan struct{} // closed once started and err are set
	started Started
	err     error
}

// Start implements Tasks.
func (a *Agent) Start(ctx context.Context, principal string, r *a2a.SendRequest) (Started, error) {
	switch {
	case r.Message.ID == "":
		return Started{}, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.messageId", Message: "the message needs an id"}
	case len(r.Message.Parts) == 0:
		return Started{}, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.parts", Message: "the message has no parts"}
	}
	if err := a.log.Healthy(); err != nil {
		return Started{}, err
	}
	key := messageKey{principal, r.Message.ID}
	c := &claim{digest: sha256.Sum256(a2a.MarshalEvent(&r.Message)), ready: make(chan struct{})}
	a.mu.Lock()
	earlier := a.claims[key]
	if earlier == nil {
		a.claims[key] = c
	}
	a.mu.Unlock()
	if earlier != nil {
		select {
		case <-earlier.ready:
		case <-ctx.Done():
			return Started{}, ctx.Err()
		}
		if earlier.err != nil {
			return Started{}, earlier.err
		}
		return repeated(earlier.started, earlier.digest, c.digest)
	}

	receipt, known, err := a.log.Received(ctx, principal, r.Message.ID)
	switch {
	case err != nil:
		c.err = err
	case known:
		c.digest = receipt.Digest
		c.started = Started{TaskID: receipt.TaskID, After: receipt.After}
	default:
		c.started, c.err = a.begin(ctx, principal, r, c.digest)
	}
	close(c.ready)
	if c.err != nil || known {
		a.forget(key)
	}
	if known {
		return repeated(c.started, receipt.Digest, sha256.Sum256(a2a.MarshalEvent(&r.Message)))
	}
	return c.started, c.err
}

// repeated answers a message that was received before.
func repeated(s Started, was, is [32]byte) (Started, error) {
	if was != is {
		return Started{}, &a2a.Error{
			Kind: a2a.KindInvalidParams, Field: "message.messageId",
			Message: "this message id was used before, for another message",
		}
	}
	s.Repeated = true
	return s, nil
}

// forget ends the claim on a message.
func (a *Agent) forget(key messageKey) {
	a.mu.Lock()
	delete(a.claims, key)
	a.mu.Unlock()
}

// begin starts a task, or the next turn of one, with a message that is new.
func (a *Agent) begin(ctx context.Context, principal string, r *a2a.SendRequest, digest [32]byte) (Started, error) {
	m := r.Message
	w := &work{message: &m, request: &r.Configuration, metadata: r.Metadata}
	w.receipt = &Receipt{MessageID: m.ID, Digest: digest}
	switch {
	case r.NewTask && m.TaskID != "":
		return a.named(ctx, principal, w)
	case m.TaskID != "":
		return a.reply(ctx, principal, w)
	}
	m.TaskID = newID()
	l, err := a.add(principal, w, nil)
	if err != nil {
		return Started{}, err
	}
	return Started{TaskID: l.id}, nil
}

// add begins the new task that w's message names, in the place of what is known of that id. It returns nil when something
// else is by now.
func (a *Agent) add(principal string, w *work, known *live) (*live, error) {
	if err := a.admit(principal, newTask); err != nil {
		return nil, err
	}
	m := w.message
	l := a.newLive(m.TaskID)
	l.once.Do(func() {})
	l.head = Head{ID: m.TaskID, ContextID: cmp.Or(m.ContextID, newID()), Principal: principal}
	l.running = true
	w.receipt.TaskID = l.id
	a.mu.Lock()
	was := a.tasks[l.id]
	if was == nil || was == known {
		a.tasks[l.id] = l
	}
	a.mu.Unlock()
	if was != nil && was != known {
		a.ended(principal)
		return nil, nil
	}
	m.ContextID = l.head.ContextID
	go l.run(w)
	return l, nil
}

// reply starts the next turn of the task that w's message names, or queues it behind the running one.
func (a *Agent) reply(ctx context.Context, principal string, w *work) (Started, error) {
	l, err := a.get(ctx, principal, w.message.TaskID)
	if err != nil {
		return Started{}, err
	}
	defer a.put(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.stored():
		return Started{}, notFound(l.id)
	case w.message.ContextID != "" && w.message.ContextID != l.head.ContextID:
		return Started{}, &a2a.Error{
			Kind: a2a.KindInvalidParams, Field: "message.contextId", Message: "the task belongs to another context",
		}
	case l.head.State.Terminal():
		return Started{}, terminal(l.id)
	case l.err != nil:
		return Started{}, l.err
	case len(l.queue) >= queuedTurns:
		return Started{}, &a2a.Error{
			Kind: a2a.KindRateLimited, Message: "too many messages wait for this task already", RetryAfter: time.Second,
		}
	}
	kind := nextTurn
	if l.running {
		kind = queuedTurn
	}
	if err := a.admit(principal, kind); err != nil {
		return Started{}, err
	}
	w.message.ContextID = l.head.ContextID
	w.receipt.TaskID, w.receipt.After = l.id, l.seq
	if l.running {
		if !l.ending { // one that ends now records it when its own turn comes
			l.add(w.message, w.receipt)
			l.flush()
			w.recorded = true
		}
		l.queue = append(l.queue, w)
		if l.ending {
			l.idles(false)
		}
	} else {
		l.running, l.ending = true, false
		a.hold(l)
		go l.run(w)
	}
	return Started{TaskID: l.id, After: w.receipt.After}, nil
}

// queuedTurns is how many messages may wait behind a running turn.
const queuedTurns = 64

// admission says what a message would begin.
type admission int

const (
	newTask    admission = iota
	nextTurn             // of a task that waits for it
	queuedTurn           // behind a turn that is counted already
)

// admit counts one more turn of a principal, or says why there cannot be one.
func (a *Agent) admit(principal string, what admission) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closing:
		return closingError()
	case what == queuedTurn:
		return nil
	case a.running[principal] >= a.maxRunning:
		return &a2a.Error{
			Kind: a2a.KindRateLimited, Message: "too many of your tasks are running; wait for one to end", RetryAfter: time.Second,
		}
	case what == newTask && a.interrupted[principal] >= a.maxInterrupted:
		return &a2a.Error{
			Kind:       a2a.KindRateLimited,
			Message:    "too many of your tasks wait for an answer; answer or cancel one",
			RetryAfter: time.Minute,
		}
	}
	a.running[principal]++
	a.turns++
	return nil
}

// ended takes back what admit counted.
func (a *Agent) ended(principal string) {
	a.mu.Lock()
	if a.running[principal]--; a.running[principal] == 0 {
		delete(a.running, principal)
	}
	a.turns--
	a.mu.Unlock()
	a.stir()
}

// wait counts turns whose task waits for somebody else; Close does not wait for those.
func (a *Agent) wait(n int) {
	a.mu.Lock()
	a.waiting += n
	a.mu.Unlock()
	a.stir()
}

func (a *Agent) stir() {
	select {
	case a.quiet <- struct{}{}:
	default:
	}
}

// count follows a principal's tasks into and out of the interrupted states.
func (a *Agent) count(principal string, was, is a2a.TaskState) {
	if was.Interrupted() == is.Interrupted() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if is.Interrupted() {
		a.interrupted[principal]++
	} else if a.interrupted[principal]--; a.interrupted[principal] <= 0 {
		delete(a.interrupted, principal)
	}
}

// Task implements Tasks.
func (a *Agent) Task(ctx context.Context, principal string, r *a2a.GetRequest) (*a2a.Task, error) {
	t, _, err := a.Snapshot(ctx, principal, r.ID, 0)
	if err != nil {
		return nil, err
	}
	trimHistory(t, r.HistoryLength)
	return t, nil
}

// Snapshot implements Snapshotter.
func (a *Agent) Snapshot(ctx context.Context, principal, task string, seq int64) (*a2a.Task, int64, error) {
	l, err := a.get(ctx, principal, task)
	if err != nil {
		return nil, 0, err
	}
	defer a.put(l)
	return l.snapshot(ctx, seq)
}

// Cancel implements Tasks.
func (a *Agent) Cancel(ctx context.Context, principal string, r *a2a.CancelRequest) (*a2a.Task, error) {
	l, err := a.get(ctx, principal, r.ID)
	if err != nil {
		return nil, err
	}
	defer a.put(l)
	if err := a.log.Healthy(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	switch state := l.head.State; {
	case !l.stored():
		err = notFound(r.ID)
	case state == a2a.TaskStateCanceled:
	case state.Terminal():
		err = notCancelable(l.id)
	case l.running:
		l.cancel(ErrCanceled)
	default:
		l.status(a2a.TaskStateCanceled, nil)
		l.flush()
	}
	seq := l.seq
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	// The turn may take its time to stop, or not stop at all: then the caller gets the task as it stands.
	wait, done := context.WithTimeout(ctx, cancelWait)
	defer done()
	for _, err := range l.follow(wait, seq) {
		if err != nil {
			return nil, err
		}
	}
	t, _, err := l.snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	trimHistory(t, nil)
	return t, nil
}

// cancelWait is how long Cancel waits for a turn to stop.
const cancelWait = 5 * time.Second

// Resume takes up what an earlier process left: a task that was at work goes to the executor's Resume, and so does one
// in AUTH_REQUIRED; without a Resumer the first ends FAILED. It returns when that is stored; the resumed turns go on.
func (a *Agent) Resume(ctx context.Context) error {
	var heads []Head
	for h, err := range a.log.Open(ctx) {
		if err != nil {
			return err
		}
		if !h.State.Terminal() && h.State != a2a.TaskStateUnspecified {
			heads = append(heads, h)
		}
	}
	resumer, _ := a.exec.(Resumer)
	for _, h := range heads {
		a.count(h.Principal, a2a.TaskStateUnspecified, h.State)
		if h.State == a2a.TaskStateInputRequired || h.State == a2a.TaskStateAuthRequired && resumer == nil {
			continue
		}
		l, err := a.get(ctx, h.Principal, h.ID)
		if err != nil {
			return err
		}
		if resumer == nil {
			err = l.abandon(ctx)
		} else {
			l.resume()
		}
		a.put(l)
		if err != nil {
			return err
		}
	}
	return nil
}

// Close ends the agent: no message is accepted any more, and what runs is stopped and stays as it is stored, for Resume.
// With a Resumer that is at once, for nothing is lost; without one, turns get until ctx is done, but 10 seconds at most, to
// come to their end first. It may be called twice.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	first := !a.closing
	a.closing = true
	a.mu.Unlock()
	if !first {
		<-a.closed
		return nil
	}
	if _, ok := a.exec.(Resumer); !ok {
		grace, done := context.WithTimeout(ctx, drainTime)
		defer done()
		a.await(grace, func() bool { return a.turns-a.waiting <= 0 })
	}
	a.stop(ErrClosing)
	last, done := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer done()
	stopped := a.await(last, func() bool { return a.turns == 0 })
	a.settle(last)
	close(a.closed)
	if !stopped {
		return errors.New("some turns did not stop when they were asked to")
	}
	return nil
}

// settle waits until what the last turns said is stored.
func (a *Agent) settle(ctx context.Context) {
	a.mu.Lock()
	all := make([]*live, 0, len(a.tasks))
	for _, l := range a.tasks {
		l.refs++
		a.unpark(l)
		all = append(all, l)
	}
	a.mu.Unlock()
	for _, l := range all {
		l.settle(ctx)
		a.put(l)
	}
}

const (
	drainTime = 10 * time.Second // what a running turn that nobody can resume gets to come to its end
	stopTime  = 2 * time.Second  // what it gets to notice that it was stopped
)

// await returns true once ok is; ok runs under a.mu.
func (a *Agent) await(ctx context.Context, ok func() bool) bool {
	for {
		a.mu.Lock()
		done := ok()
		a.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-a.quiet:
		case <-ctx.Done():
			return false
		}
	}
}

func notFound(task string) error {
	return &a2a.Error{
		Kind: a2a.KindTaskNotFound, Message: a2a.ErrTaskNotFound.Message, Metadata: map[string]string{"taskId": task},
	}
}

func terminal(task string) error {
	return &a2a.Error{
		Kind: a2a.KindTaskTerminal, Message: a2a.ErrTaskTerminal.Message, Metadata: map[string]string{"taskId": task},
	}
}

func notCancelable(task string) error {
	return &a2a.Error{
		Kind: a2a.KindTaskNotCancelable, Message: a2a.ErrTaskNotCancelable.Message, Metadata: map[string]string{"taskId": task},
	}
}

func closingError() error {
	return &a2a.Error{Kind: a2a.KindUnavailable, Message: "the agent is shutting down", RetryAfter: time.Second, Err: ErrClosing}
}

// newID returns a fresh id; later ones sort after earlier ones.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
