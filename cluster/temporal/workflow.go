package temporal

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"parley/orchestrator/local"
)

// The names under which all of it is known to Temporal. They are in the histories of open runs: a name is never changed.
const (
	runWorkflow      = "Run"
	backstopWorkflow = "Backstop"
	carryActivity    = "Carry"
	sweepActivity    = "Sweep"
	wakeSignal       = "wake"
)

// movedWait is how long a run that somebody claimed is left to him: he wakes it once he has stored what he wanted. Who died
// in the middle of that does not.
const movedWait = 2 * time.Second

// rounds is how often a run is carried before its history is begun anew. It is the same for all histories there are: not an
// option.
const rounds = 50

// sweepTime is how long one history of the backstop lasts.
const sweepTime = 12 * time.Hour

// workflows are the workflows as the options have them. What is decided here is replayed from histories that older programs
// wrote: a change of the order of what is asked for goes behind workflow.GetVersion. TestReplay holds histories against it.
type workflows struct{ options Options }

// run looks after one run: it has it carried on, waits until there is a reason to, and again, until it has ended. Each time
// the run is read from the store, so nothing has to be known here but its id.
func (w *workflows) run(ctx workflow.Context, run string) error {
	woken := workflow.GetSignalChannel(ctx, wakeSignal)
	carry := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour, // then it is begun again, like after any other interruption
		HeartbeatTimeout:    w.options.Heartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	})
	for round := 0; ; round++ {
		// What is signaled from here on until Carry reads the run may be nothing new; then it is carried once more in vain.
		for woken.ReceiveAsync(nil) {
		}
		if round == rounds || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, runWorkflow, run)
		}
		var rest local.Rest
		if err := workflow.ExecuteActivity(carry, carryActivity, run).Get(ctx, &rest); err != nil {
			return err // it was canceled or terminated by somebody; the backstop begins it anew
		}
		if rest.Ended {
			for woken.ReceiveAsync(nil) { // nothing follows from them
			}
			return nil
		}
		wait := time.Duration(0)
		switch {
		case rest.Moved:
			wait = movedWait
		case !rest.Wake.IsZero():
			wait = max(rest.Wake.Sub(workflow.Now(ctx)), time.Millisecond)
		}
		timed, cancel := workflow.WithCancel(ctx)
		s := workflow.NewSelector(ctx).AddReceive(woken, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) })
		s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
		if wait > 0 {
			s.AddFuture(workflow.NewTimer(timed, wait), func(workflow.Future) {})
		}
		s.Select(ctx)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// backstop keeps one sweeper going in the whole cluster.
func (w *workflows) backstop(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * sweepTime,
		HeartbeatTimeout:    max(w.options.Heartbeat, time.Second),
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	})
	if err := workflow.ExecuteActivity(ctx, sweepActivity).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, backstopWorkflow)
}
