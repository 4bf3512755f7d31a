// Package temporal has runs carried on by workers of a Temporal cluster: it is the local driver's Host.
//
//	node ── commit ──> store          Temporal                          worker
//	  └──── Wake(run) ──────────> workflow  …/run/<id> ── activity ──> Carry(run) ──> claims, reads, writes the store
//	                               │  ▲                                  │
//	                               └──┴── waits: signal, time <── Rest ──┘
//
// The store stays the one truth: what a run is, what comes next and what was said is there and nowhere else. Temporal owns
// who carries which run on, and when. Nothing private is in its histories: ids of runs and times.
//
// What it guarantees:
//   - a run that was woken is carried on by one worker at a time; one that takes over fences the one before off (the claims
//     of orchestrator.Shared), also when that one only seemed to be dead;
//   - a worker that is asked to stop lets go of its runs at once, and one that died is missed after Options.Heartbeat; in
//     both cases another worker goes on;
//   - a wake that was lost (a node died between commit and wake, Temporal was away) is made up for: a backstop wakes open
//     runs that stand still, once for each place they stand still at.
package temporal

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// Options are what nodes and workers agree on. The zero value of each means the default given with it.
type Options struct {
	Queue     string        // the task queue, and the start of the ids of workflows: "parley"
	Heartbeat time.Duration // a worker that was not heard of for so long is dead: 10 seconds
	Sweep     time.Duration // between looks at the open runs; one that stands still is woken after twice that at most: 30 seconds
	Carried   int           // how many runs a worker carries at a time: 2000
	Logger    *slog.Logger  // discard
}

func (o *Options) defaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	def(&d.Queue, "parley")
	def(&d.Heartbeat, 10*time.Second)
	def(&d.Sweep, 30*time.Second)
	def(&d.Carried, 2000)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// taskTimeout is how long a worker may take to say what comes next in a workflow, which costs it milliseconds. One that was
// given that to do as it died is missed as soon as its heartbeats are, not after the ten seconds of Temporal's own.
func (o *Options) taskTimeout() time.Duration {
	return min(max(o.Heartbeat, 2*time.Second), 10*time.Second)
}

func def[T comparable](v *T, standard T) {
	var zero T
	if *v == zero {
		*v = standard
	}
}

// Host is local.Host on a Temporal cluster.
type Host struct {
	client  client.Client
	options Options
}

// NewHost returns a host. The caller closes the client.
func NewHost(c client.Client, o *Options) *Host { return &Host{client: c, options: o.defaults()} }

// Wake signals the run's workflow, which is started where there is none.
func (h *Host) Wake(ctx context.Context, run string) error {
	_, err := h.client.SignalWithStartWorkflow(ctx, h.options.Queue+"/run/"+run, wakeSignal, nil, client.StartWorkflowOptions{
		TaskQueue:           h.options.Queue,
		WorkflowTaskTimeout: h.options.taskTimeout(),
		// One that has ended is no reason not to look at the run once more.
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, runWorkflow, run)
	return err
}

// Log makes a logger of the SDK's shape. What the SDK says at level info is of no interest to people.
func Log(l *slog.Logger) log.Logger {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return quiet{log.NewStructuredLogger(l)}
}

type quiet struct{ log.Logger }

func (q quiet) Info(msg string, keyvals ...any) { q.Debug(msg, keyvals...) }

// Identity names this process to Temporal, and nothing of the machine it is on.
func Identity() string { return "parley/" + uuid.NewString() }
