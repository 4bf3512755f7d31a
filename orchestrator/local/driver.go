// Package local carries runs out on one machine: one process, one Store, a goroutine for each run that has something to
// do. It decides nothing itself (package engine does) and calls no agent itself (package steps does); it keeps the order:
//
//	decide ─▶ write ─▶ commit ─▶ act ─▶ what the agent says ─▶ append ─▶ decide …
//
// Promises:
//   - nothing goes to an agent before the intent to send it is committed, and nothing an agent says is shown before it
//     is committed;
//   - what an agent says is appended in its order, at most 64 events of one run on their way to the disk at a time; the
//     agent's task id is committed with its first event;
//   - a run whose process died is carried on by reading: nothing is sent a second time unless the agent is known to act
//     once on it, or somebody said so;
//   - a run waiting for somebody costs no goroutine and no memory, unless the agent may go on by itself.
//
// Driver serves the local person (orchestrator.Runner). Tasks serves A2A callers: our own agent, and each approved agent
// behind the gateway.
package local

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/steps"
	"parley/orchestrator/workflow"
)

// Options are the driver's settings. The zero value of each means the default given with it.
type Options struct {
	Log *slog.Logger     // discard
	Now func() time.Time // time.Now

	// Host, when there is one, says which process carries a run on. The store has to be an orchestrator.Shared then.
	// nil = this one, each of its runs, at once.
	Host Host

	// Decider makes plans as they go for messages that name no agent. nil, or one whose method On() bool says false: the
	// agent is found by the cards.
	Decider planner.Decider

	// MayName reports whether a message of an A2A caller to our own agent may name the agent it is for; nil = always.
	MayName func(ctx context.Context, principal, agent string) bool

	FirstReply   time.Duration // how long an agent may take to say anything at all to a message: 10 minutes
	Turn         time.Duration // how long one turn of a task may take: 24 hours
	CancelWait   time.Duration // how long an agent may take to answer a cancel: 15 seconds
	StopGrace    time.Duration // how long a stop waits for what the agent says beside that: 10 seconds
	FollowUpWait time.Duration // how long a message for a task waits until its agent has answered the one before: 30 seconds
	PollMin      time.Duration // between looks at a task that cannot be followed, at first: 1 second
	PollMax      time.Duration // and at last: 30 seconds
	PollFailures int           // looks in a row that may fail: 10
}

// window is how many events of one run may be on their way to the disk.
const window = 64

// Driver carries out runs. Create it with New, call Resume before anything is served, and Close at the end.
type Driver struct {
	store    orchestrator.Store
	ports    steps.Ports
	now      func() time.Time
	log      *slog.Logger
	grace    time.Duration
	followUp time.Duration

	decider planner.Decider
	mayName func(ctx context.Context, principal, agent string) bool

	host   Host                // nil on one machine, and then
	shared orchestrator.Shared // so is this

	ctx   context.Context // of all work; done when closing
	close context.CancelFunc
	work  sync.WaitGroup

	mu     sync.Mutex
	live   map[string]*run          // runs somebody holds
	chats  map[string]*chat         // conversations somebody writes
	counts map[string]*count        // by principal
	where  map[string]counted       // by run: where it counts
	naming map[string]chan struct{} // runs whose caller made the id, being begun
	waking map[string]*bool         // runs being woken; true: once more

	unstored map[string]bool // runs of which something could not be stored, when they were carried last
	recent   recent
	files    files
	specs    workflow.Specs

	news   news          // of calls, for the runs they belong to
	timers timers        // of runs that wait for a time
	kept   []*run        // runs with plans that were used last
	asking chan struct{} // holds one for each agent that is asked about a run that was taken up at the start

	calls    map[string]int // that go on, by principal
	maxCalls int
}

// New returns a driver over store that calls agents through caller.
func New(store orchestrator.Store, caller orchestrator.Caller, o *Options) *Driver {
	var opts Options
	if o != nil {
		opts = *o
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.PollFailures == 0 {
		opts.PollFailures = 10
	}
	def(&opts.FirstReply, 10*time.Minute)
	def(&opts.Turn, 24*time.Hour)
	def(&opts.CancelWait, 15*time.Second)
	def(&opts.StopGrace, 10*time.Second)
	def(&opts.FollowUpWait, 30*time.Second)
	def(&opts.PollMin, time.Second)
	def(&opts.PollMax, 30*time.Second)
	d := &Driver{
		store: store,
		ports: steps.Ports{
			Agents: store, Caller: caller, Log: opts.Log,
			FirstReply: opts.FirstReply, Turn: opts.Turn, CancelWait: opts.CancelWait,
			PollMin: opts.PollMin, PollMax: opts.PollMax, PollFailures: opts.PollFailures,
		},
		now: opts.Now, log: opts.Log, grace: opts.StopGrace, followUp: opts.FollowUpWait, mayName: opts.MayName, decider: opts.Decider,
		live: map[string]*run{}, chats: map[string]*chat{}, counts: map[string]*count{}, where: map[string]counted{},
		naming: map[string]chan struct{}{}, calls: map[string]int{}, maxCalls: maxCalls,
		asking: make(chan struct{}, askedAtOnce),
	}
	if d.host = opts.Host; d.host != nil {
		d.shared = store.(orchestrator.Shared)
		d.waking, d.unstored = map[string]*bool{}, map[string]bool{}
	}
	d.ctx, d.close = context.WithCancel(context.Background())
	if d.host != nil {
		d.start(d.watch)
	}
	return d
}

var _ orchestrator.Runner = (*Driver)(nil)

// Close stops reading from agents and returns when everything read so far is stored, or with ctx. The runs stay as they
// are; a driver on the same store resumes them.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.close()
	d.mu.Unlock()
	done := make(chan struct{})
	go func() {
		d.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start runs f unless the driver is closing, and makes Close wait for it.
func (d *Driver) start(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return false
	}
	d.work.Add(1)
	go func() {
		defer d.work.Done()
		f()
	}()
	return true
}

// revive takes up a run whose events could not be stored or read, once they can be again.
func (d *Driver) revive(id string, cause error) {
	if d.news.forgot(id) {
		return
	}
	d.log.Error("a run stands still until its events can be stored and read", "run", id, "err", cause)
	d.start(func() {
		for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
			select {
			case <-d.ctx.Done():
				return
			case <-time.After(pause):
			}
			if d.store.Healthy() != nil {
				continue
			}
			err := d.resume(d.ctx, id, notStored)
			if err == nil || errors.Is(err, orchestrator.ErrNotFound) {
				return
			}
		}
	})
}

// panicked ends a run whose worker panicked: it is read again, and failed.
func (d *Driver) panicked(r *run, v any) {
	defer func() {
		if again := recover(); again != nil {
			d.log.Error("a run that panicked cannot be ended", "run", r.row.ID, "panic", again)
		}
	}()
	d.log.Error("a run panicked", "run", r.row.ID, "panic", v, "stack", string(debug.Stack()))
	r.kill(errPanicked)
	d.evict(r)
	fresh, err := d.open(d.ctx, r.row.ID)
	if err != nil {
		return
	}
	defer d.release(fresh)
	fresh.mu.Lock()
	defer fresh.mu.Unlock()
	if fresh.state.Ended {
		return
	}
	c := fresh.change()
	c.log(&engine.Faulted{Step: engine.FirstStep, Class: engine.Refused, Fault: &orchestrator.Fault{
		Kind: "internal", Where: orchestrator.WhereUs, What: "Something went wrong inside Parley.", Do: "Try again; if it stays so, report it.",
	}})
	_ = fresh.proceed(d.ctx, c) // nothing better can be done
}

var errPanicked = errors.New("the run panicked")

var notStored = &orchestrator.Fault{
	Kind: "not-stored", Where: orchestrator.WhereUs,
	What: "For a while nothing could be stored. Parley is catching up with the agent.",
}

// open returns the run of that id, from memory when somebody holds it. The caller releases it.
func (d *Driver) open(ctx context.Context, id string) (*run, error) {
	if d.host != nil {
		return d.claim(ctx, id)
	}
	d.mu.Lock()
	if r := d.live[id]; r != nil {
		r.holders++
		d.mu.Unlock()
		r.mu.Lock()
		err := r.broken()
		r.mu.Unlock()
		if err != nil {
			d.release(r)
			return nil, err
		}
		return r, nil
	}
	r := d.newRun(id)
	r.mu.Lock()
	d.live[id] = r
	d.mu.Unlock()
	err := r.load(ctx, nil, nil)
	if err != nil {
		r.kill(err)
	}
	r.mu.Unlock()
	if err != nil {
		d.release(r)
		return nil, err
	}
	return r, nil
}

// release gives back what open, newRun or hold gave.
func (d *Driver) release(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.holders--; r.holders > 0 {
		if r.holders == 1 && r.alone != nil {
			select {
			case r.alone <- struct{}{}:
			default:
			}
		}
		return
	}
	if turn := d.naming[r.turnAt]; turn != nil {
		delete(d.naming, r.turnAt)
		close(turn)
	}
	if d.live[r.row.ID] == r {
		delete(d.live, r.row.ID)
	}
	d.uncalled(r)
	r.kill(nil)
}

func (d *Driver) hold(r *run) {
	d.mu.Lock()
	r.holders++
	d.mu.Unlock()
}

// evict makes the next open read the run from the store.
func (d *Driver) evict(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[r.row.ID] == r {
		delete(d.live, r.row.ID)
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// count is how many runs of one principal are going on.
type count struct {
	running, interrupted int
	at                   time.Time // with a host: when the store was asked
}

// Where a run counts.
type counted uint8

const (
	countsNot counted = iota
	countsRunning
	countsInterrupted
)

// recount puts a run where it counts now. A run counts whether it is in memory or not.
func (d *Driver) recount(run, principal string, to counted) {
	if d.host != nil {
		return // the store counts
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.move(run, principal, to)
}

// move is recount with d.mu held.
func (d *Driver) move(run, principal string, to counted) {
	from := d.where[run]
	if from == to {
		return
	}
	if d.where[run] = to; to == countsNot {
		delete(d.where, run)
	}
	c := d.counts[principal]
	if c == nil {
		c = &count{}
		d.counts[principal] = c
	}
	c.add(from, -1)
	c.add(to, 1)
	if *c == (count{}) {
		delete(d.counts, principal)
	}
}

func (c *count) add(where counted, n int) {
	switch where {
	case countsRunning:
		c.running += n
	case countsInterrupted:
		c.interrupted += n
	}
}

// admit counts one more run of a principal as running, unless that is too many.
func (d *Driver) admit(run, principal string) error {
	if d.host != nil {
		if err := d.recounted(principal); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := a2a.Limits.InterruptedTasks
	if principal == orchestrator.LocalPrincipal {
		waiting = a2a.Limits.InterruptedLocal
	}
	switch c := d.counts[principal]; {
	case c == nil:
	case c.running >= a2a.Limits.RunningTasks:
		return &a2a.Error{Kind: a2a.KindRateLimited, RetryAfter: 5 * time.Second, Message: "too many tasks are running; wait until some have ended"}
	case c.interrupted >= waiting:
		return &a2a.Error{Kind: a2a.KindRateLimited, RetryAfter: time.Minute, Message: "too many tasks wait for an answer; answer or cancel some first"}
	}
	if d.host != nil {
		d.counts[principal].running++
		return nil
	}
	d.move(run, principal, countsRunning)
	return nil
}
