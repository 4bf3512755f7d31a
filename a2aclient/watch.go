package a2aclient

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
)

// watchdog looks after a stream that says nothing: it tells Options.Idle, asks for the task in passing, and ends the
// stream when the task moved without it or cannot be asked for. The follower then mends what was missed.
type watchdog struct {
	f      *follower
	x      answer
	ctx    context.Context // ended by stop
	cancel context.CancelFunc
	task   atomic.Pointer[string]
	beats  atomic.Int64

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	beaten  int64 // as of the last look
	bytes   int64
	told    bool
	mark    uint64 // of the task as it was at the last look; 0 = not looked
}

func (f *follower) watch(ctx context.Context, x answer) *watchdog {
	w := &watchdog{f: f, x: x}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(f.c.o.IdleTime, w.look)
	return w
}

// beat says that an event came. It is called from the reading goroutine, for each event.
func (w *watchdog) beat() { w.beats.Add(1) }

// knows says which task it is.
func (w *watchdog) knows(task string) {
	if task == "" || w.task.Load() != nil {
		return
	}
	kept := task // only this copy lives on the heap
	w.task.Store(&kept)
}

// soon ends the stream shortly.
func (w *watchdog) soon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		w.timer.Stop()
		w.timer = time.AfterFunc(w.f.c.o.PollMin, func() { w.x.kill(io.EOF) })
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
	w.cancel()
}

// errStale ends a stream that fell behind its task.
var errStale = errors.New("the stream fell silent while the task went on")

func (w *watchdog) look() {
	beats, bytes := w.beats.Load(), w.x.heard()
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return
	}
	silent, dead := beats == w.beaten, bytes == w.bytes
	if !silent {
		w.told, w.mark = false, 0
	}
	w.beaten, w.bytes = beats, bytes
	tell := silent && !w.told
	w.told = w.told || silent
	mark := w.mark
	w.mu.Unlock()

	task := ""
	if p := w.task.Load(); p != nil {
		task = *p
	}
	c := w.f.c
	if tell && c.o.Idle != nil {
		c.o.Idle(task, c.o.IdleTime)
	}
	if silent && task != "" && !w.f.plain {
		mark = w.ask(task, mark, dead)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.mark = mark
		w.timer.Reset(c.o.IdleTime)
	}
}

// ask looks at the task and ends the stream when the two have parted. It returns the mark of the task as it is now.
func (w *watchdog) ask(task string, before uint64, dead bool) uint64 {
	none := 0
	t, err := w.f.c.Get(w.ctx, &a2a.GetRequest{ID: task, HistoryLength: &none})
	if err != nil {
		if dead && passing(err) {
			w.x.kill(errStale) // neither the stream nor the agent gives a sign of life
		}
		return before
	}
	now := markOf(w.f.seen.seed, t)
	if ended(t.Status.State) || before != 0 && now != before {
		w.x.kill(errStale)
	}
	return now
}

// markOf is a number that changes when the task does.
func markOf(seed maphash.Seed, t *a2a.Task) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(string(t.Status.State))
	h.WriteString(t.Status.Timestamp.String())
	for i := range t.Artifacts {
		h.WriteString(t.Artifacts[i].ID)
		for j := range t.Artifacts[i].Parts {
			content(&h, &t.Artifacts[i].Parts[j])
		}
	}
	return h.Sum64() | 1
}
