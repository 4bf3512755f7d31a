package orchestrator

import (
	"context"
	"iter"
	"time"

	"parley/a2a"
)

// Ledger reads what a person wants to see of everybody's tasks, across conversations, agents and callers. A Store that
// is one too has the pages of tasks and of answered asks.
type Ledger interface {
	// ListTasks returns the runs that are tasks, the local person's and those of outside callers, in the order
	// (Updated, ID) descending. Runs answered by a Message and the runs of demo agents are left out.
	ListTasks(ctx context.Context, q TaskQuery) ([]*Run, error)

	// Callers returns the principals that have tasks here, by name.
	Callers(ctx context.Context) ([]string, error)

	// ClosedAsks returns the asks of the local person that are not open any more, in the order (Closed, ID) descending,
	// at most limit, that come after the row before when it is given.
	ClosedAsks(ctx context.Context, before *Ask, limit int) ([]*Ask, error)
}

// TaskQuery selects tasks. Empty fields select all.
type TaskQuery struct {
	States    []a2a.TaskState
	AgentID   string    // whom it was sent to, or who worked on a step of it
	Principal string    // whose task it is
	Outside   bool      // only those of outside callers
	From, To  time.Time // of Updated: not before From, before To
	Before    *Run      // to go on from: its Updated and ID; nil = the newest
	Limit     int       // 0 = 50, at most 500
}

// StatesOf is a filter of the list of tasks, by its name: open, you (they need the person), failed or done; nil for any other.
func StatesOf(filter string) []a2a.TaskState {
	switch filter {
	case "open":
		return []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired}
	case "you":
		return []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired}
	case "failed":
		return []a2a.TaskState{a2a.TaskStateFailed, a2a.TaskStateRejected}
	case "done":
		return []a2a.TaskState{a2a.TaskStateCompleted, a2a.TaskStateCanceled}
	}
	return nil
}

// Wanted returns what a task was begun for: the first text of its messages, "" where there is none. events are those of its
// run, from the beginning.
func Wanted(events iter.Seq2[[]*Event, error]) string {
	for batch, err := range events {
		if err != nil {
			return ""
		}
		for _, e := range batch {
			if e.Kind != EventTask {
				continue
			}
			ev, err := e.Event()
			t, ok := ev.(*a2a.Task)
			if err != nil || !ok {
				return ""
			}
			for _, m := range t.History {
				for i := range m.Parts {
					if p := &m.Parts[i]; p.Kind == a2a.PartText && p.Text != "" {
						return p.Text
					}
				}
			}
			return ""
		}
		break // what begins a task stands at its beginning
	}
	return ""
}

// DemoScope begins the scopes of the demo agents' own runs.
const DemoScope = "demo/"

// Inspector is what a person may do, beside what a Runner offers, who looks at tasks and at the wire.
type Inspector interface {
	// CancelTask asks for the end of a run, whosever it is.
	CancelTask(ctx context.Context, run string) error

	// TasksAt returns the newest tasks that an agent says are ours; TaskAt one of them. They are called by the agent's ids.
	TasksAt(ctx context.Context, agent string) ([]a2a.Task, error)
	TaskAt(ctx context.Context, agent, task string) (*a2a.Task, error)

	// CancelAt cancels a task at an agent, AwaitAt follows it as Caller.Await does.
	CancelAt(ctx context.Context, agent, task string) (*a2a.Task, error)
	AwaitAt(ctx context.Context, agent, task string) iter.Seq2[a2a.Event, error]

	// Pushes returns the webhooks that a run is reported to, and those of ours that its agents report to.
	Pushes(ctx context.Context, run string) ([]*Push, error)

	// TestPush delivers the task as it stands to a webhook, once, whatever else it is owed, and returns what it answered
	// (an HTTP status). An error is a *Fault.
	TestPush(ctx context.Context, run, push string) (status int, err error)

	// Replay sends a recorded request of ours once more: to the same agent, at the same origin, which must still be
	// granted, with the agent's own credentials. body takes the place of the recorded one; a message in it that still
	// has the recorded id gets a new one. What came of it is recorded, and returned; nothing of it becomes a run.
	Replay(ctx context.Context, r *WireRecord, body []byte) (*WireRecord, error)
}

// Push is one webhook registration.
type Push struct {
	ID       string
	Ours     bool   // our own webhook, registered at an agent; otherwise a caller's, registered with us
	Who      string // the agent, or the caller
	Task     string // as the registering side calls it
	URL      string // without its query, and without what is secret in its path
	State    string // live, waiting, done, dead, gone
	Seq      int64  // the last event that was delivered
	Attempts int
	Next     time.Time // attempt; zero when none is due
	Status   int       // of the last failure
	Error    string
	Created  time.Time
}
