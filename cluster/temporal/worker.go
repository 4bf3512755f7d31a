package temporal

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"parley/orchestrator"
	"parley/orchestrator/local"
)

// Carrier is the part of the local driver that a worker calls.
type Carrier interface {
	Carry(ctx context.Context, run string) (local.Rest, error)
	OpenRuns(ctx context.Context) iter.Seq2[*orchestrator.Run, error]
}

// Worker carries runs on.
type Worker struct {
	carrier Carrier
	host    *Host
	worker  worker.Worker
	options Options
	log     *slog.Logger
	failed  chan error
}

// NewWorker returns a worker that carries runs on with carrier. The caller closes the client, after Stop.
func NewWorker(c client.Client, carrier Carrier, o *Options) *Worker {
	w := &Worker{carrier: carrier, host: NewHost(c, o), options: o.defaults(), failed: make(chan error, 1)}
	w.log = w.options.Logger
	w.worker = worker.New(c, w.options.Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: w.options.Carried,
		MaxHeartbeatThrottleInterval:       w.options.Heartbeat / 3,
		WorkerStopTimeout:                  10 * time.Second, // letting go takes much less
		OnFatalError: func(err error) {
			select {
			case w.failed <- err:
			default:
			}
		},
	})
	register(w.worker, w.options)
	w.worker.RegisterActivityWithOptions(w.carry, activity.RegisterOptions{Name: carryActivity})
	w.worker.RegisterActivityWithOptions(w.sweep, activity.RegisterOptions{Name: sweepActivity})
	return w
}

func register(r worker.WorkflowRegistry, o Options) {
	w := &workflows{o}
	r.RegisterWorkflowWithOptions(w.run, workflow.RegisterOptions{Name: runWorkflow})
	r.RegisterWorkflowWithOptions(w.backstop, workflow.RegisterOptions{Name: backstopWorkflow})
}

// Start begins to take runs.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.worker.Start(); err != nil {
		return err
	}
	_, err := w.host.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: w.options.Queue + "/backstop", TaskQueue: w.options.Queue, WorkflowTaskTimeout: w.options.taskTimeout(),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, backstopWorkflow)
	if err != nil {
		w.worker.Stop()
	}
	return err
}

// Failed yields the error that made the worker useless, should there be one.
func (w *Worker) Failed() <-chan error { return w.failed }

// Stop takes no more runs and lets go of those there are: other workers take them at once.
func (w *Worker) Stop() { w.worker.Stop() }

// letGo is the error of a run that another worker is to go on with, now. Errors are in the history: they say nothing.
func letGo() error {
	return temporal.NewApplicationErrorWithOptions("let go", "LetGo", temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
}

func standsStill() error {
	return temporal.NewApplicationError("the run stands still; the worker's log says why", "StandsStill")
}

// carry is the activity that carries a run on.
func (w *Worker) carry(ctx context.Context, run string) (rest local.Rest, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.log.Error("carrying a run on panicked", "run", run, "panic", v, "stack", string(debug.Stack()))
			err = standsStill()
		}
	}()
	ctx, done := w.beating(ctx)
	defer done()
	rest, err = w.carrier.Carry(ctx, run)
	switch {
	case err == nil:
		return rest, nil
	case ctx.Err() != nil:
		return local.Rest{}, letGo()
	}
	w.log.Error("a run could not be carried on", "run", run, "err", err)
	return local.Rest{}, standsStill()
}

// beating tells Temporal that the activity goes on, until done is called. The context ends with the worker, and when
// Temporal does not count on the activity any more.
func (w *Worker) beating(ctx context.Context) (_ context.Context, done func()) {
	stop := activity.GetWorkerStopChannel(ctx)
	beat := ctx
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(w.options.Heartbeat / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(beat)
			case <-stop:
				cancel()
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

// wakesPerSecond bounds what the backstop asks of Temporal.
const wakesPerSecond = 200

// sweep is the activity that wakes open runs that stand still: those whose newest event is the same as at the look before.
// Each is woken once for the same event: whoever waits for somebody waits on.
func (w *Worker) sweep(ctx context.Context) error {
	ctx, done := w.beating(ctx)
	defer done()
	tick := time.NewTicker(w.options.Sweep)
	defer tick.Stop()
	end := time.After(sweepTime)
	type place struct {
		seq   int64
		woken bool
	}
	before := map[string]place{}
	for {
		now := make(map[string]place, len(before))
		for row, err := range w.carrier.OpenRuns(ctx) {
			if err != nil {
				w.log.Warn("the open runs cannot be read", "err", err)
				break
			}
			p := place{seq: row.LastSeq}
			if last, ok := before[row.ID]; ok && last.seq == p.seq {
				if p.woken = last.woken; !p.woken {
					p.woken = w.wake(ctx, row.ID)
				}
			}
			now[row.ID] = p
		}
		before = now
		select {
		case <-tick.C:
		case <-end:
			return nil
		case <-ctx.Done():
			return letGo()
		}
	}
}

func (w *Worker) wake(ctx context.Context, run string) bool {
	if err := w.host.Wake(ctx, run); err != nil {
		if ctx.Err() == nil {
			w.log.Warn("a run that stands still could not be woken", "run", run, "err", err)
		}
		return false
	}
	select {
	case <-time.After(time.Second / wakesPerSecond):
	case <-ctx.Done():
	}
	return true
}

// Dial connects to a Temporal cluster.
func Dial(ctx context.Context, o client.Options) (client.Client, error) {
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("the Temporal cluster at %s does not answer: %w", o.HostPort, err)
	}
	return c, nil
}
