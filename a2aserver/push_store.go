package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// PushRow is a registration: a webhook that one caller wants told of one task, and how far that has come.
type PushRow struct {
	PushProgress
	Scope        string
	Principal    string
	Config       a2a.PushConfig // with credentials; TaskID and ID are set
	Dialect      wire.Dialect
	ClientTaskID string
	Created      time.Time
}

// PushProgress is what changes of a registration.
type PushProgress struct {
	UID      string // of the registration; never used twice
	Seq      int64  // every event up to here was delivered
	State    PushState
	Attempts int       // that failed, of the next delivery
	Next     time.Time // not before this time; zero = at once
	Status   int       // HTTP status of the last failed attempt; 0 = no answer
	Error    string    // why the last attempt failed, for people
}

// PushState says whether anything will still be delivered.
type PushState string

const (
	PushLive PushState = ""     // what comes is delivered
	PushDone PushState = "done" // the task has ended and all was delivered
	PushDead PushState = "dead" // its schedule of attempts is at its end; Replay goes on
	PushGone PushState = "gone" // the webhook answered 410; Replay goes on
)

// PushStore keeps registrations. What it returns is the caller's.
type PushStore interface {
	// Put stores a registration, in place of the one of the same task and id. It returns ErrPushConfigs, and stores
	// nothing, when the task would then have more than most. When it returns nil the row is on the disk.
	Put(ctx context.Context, r *PushRow, most int) error

	// Rows returns the registrations of a task.
	Rows(ctx context.Context, task string) ([]*PushRow, error)

	// Delete forgets a registration of a task. One that is not there is no error.
	Delete(ctx context.Context, task, id string) error

	// Move stores progress. Registrations that are not there are left out.
	Move(ctx context.Context, p []PushProgress) error

	// Open yields all registrations but those that are done.
	Open(ctx context.Context) iter.Seq2[*PushRow, error]
}

// ErrPushConfigs says that a task has as many registrations as it may.
var ErrPushConfigs = errors.New("the task has too many push configurations")

// olderRow orders registrations by age.
func olderRow(a, b *PushRow) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
}

// NewMemoryPushStore returns a PushStore that keeps nothing beyond the process. Registrations that are done are forgotten
// when there are many.
func NewMemoryPushStore() PushStore { return &memoryPush{tasks: map[string][]*PushRow{}} }

// memoryPushDone is how many registrations that are done a memoryPush keeps.
const memoryPushDone = 4096

type memoryPush struct {
	mu    sync.Mutex
	tasks map[string][]*PushRow
	byUID map[string]*PushRow
	done  []*PushRow // oldest first
}

func (m *memoryPush) Put(_ context.Context, r *PushRow, most int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := m.tasks[r.Config.TaskID]
	kept := *r
	i := slices.IndexFunc(rows, func(k *PushRow) bool { return k.Config.ID == r.Config.ID })
	switch {
	case i >= 0:
		delete(m.byUID, rows[i].UID)
		rows[i] = &kept
	case len(rows) >= most:
		return ErrPushConfigs
	default:
		m.tasks[r.Config.TaskID] = append(rows, &kept)
	}
	if m.byUID == nil {
		m.byUID = map[string]*PushRow{}
	}
	m.byUID[r.UID] = &kept
	return nil
}

func (m *memoryPush) Rows(_ context.Context, task string) ([]*PushRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*PushRow, 0, len(m.tasks[task]))
	for _, r := range m.tasks[task] {
		c := *r
		out = append(out, &c)
	}
	return out, nil
}

func (m *memoryPush) Delete(_ context.Context, task, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(task, func(r *PushRow) bool { return r.Config.ID == id })
	return nil
}

func (m *memoryPush) remove(task string, which func(*PushRow) bool) {
	kept := slices.DeleteFunc(m.tasks[task], func(r *PushRow) bool {
		if which(r) {
			delete(m.byUID, r.UID)
			return true
		}
		return false
	})
	if m.tasks[task] = kept; len(kept) == 0 {
		delete(m.tasks, task)
	}
}

func (m *memoryPush) Move(_ context.Context, all []PushProgress) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range all {
		r := m.byUID[p.UID]
		if r == nil {
			continue
		}
		if p.State == PushDone && r.State != PushDone {
			m.done = append(m.done, r)
		}
		r.PushProgress = p
	}
	for len(m.done) > memoryPushDone {
		old := m.done[0]
		m.done = m.done[1:]
		m.remove(old.Config.TaskID, func(r *PushRow) bool { return r == old })
	}
	return nil
}

func (m *memoryPush) Open(context.Context) iter.Seq2[*PushRow, error] {
	m.mu.Lock()
	var open []*PushRow
	for _, r := range m.byUID {
		if r.State != PushDone {
			c := *r
			open = append(open, &c)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(open, olderRow)
	return func(yield func(*PushRow, error) bool) {
		for _, r := range open {
			if !yield(r, nil) {
				return
			}
		}
	}
}
