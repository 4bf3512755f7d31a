package a2aserver

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"parley/a2a"
)

// NewMemoryLog returns a Log that keeps nothing beyond the process: for tests, and for programs that can do without. It
// is bounded: tasks that have ended are forgotten, the oldest first, when all entries together take about 64 MiB.
func NewMemoryLog() Log {
	return &memoryLog{tasks: map[string]*memoryTask{}, receipts: map[messageKey]Receipt{}}
}

const memoryLogBytes = 64 << 20

type memoryLog struct {
	mu       sync.RWMutex
	seq      int64
	size     int
	tasks    map[string]*memoryTask
	ended    []string // in the order in which they ended
	receipts map[messageKey]Receipt

	queueMu sync.Mutex
	queue   []memoryAppend
	working bool
}

type memoryTask struct {
	head     Head
	entries  []*a2a.Entry
	size     int
	receipts []messageKey
}

type memoryAppend struct {
	change *Change
	done   func([]*a2a.Entry, error)
}

func (m *memoryLog) Append(c *Change, done func([]*a2a.Entry, error)) {
	m.queueMu.Lock()
	defer m.queueMu.Unlock()
	m.queue = append(m.queue, memoryAppend{c, done})
	if !m.working {
		m.working = true
		go m.work()
	}
}

// work commits what is queued, and ends when there is nothing.
func (m *memoryLog) work() {
	for {
		m.queueMu.Lock()
		batch := m.queue
		m.queue = nil
		m.working = len(batch) > 0
		m.queueMu.Unlock()
		if len(batch) == 0 {
			return
		}
		entries := make([][]*a2a.Entry, len(batch))
		m.mu.Lock()
		for i, a := range batch {
			entries[i] = m.commit(a.change)
		}
		m.mu.Unlock()
		for i, a := range batch {
			a.done(entries[i], nil)
		}
	}
}

func (m *memoryLog) commit(c *Change) []*a2a.Entry {
	t := m.tasks[c.Head.ID]
	if t == nil {
		t = &memoryTask{}
		m.tasks[c.Head.ID] = t
	}
	n := len(t.entries)
	at := time.Now().UTC()
	for _, e := range c.Events {
		m.seq++
		t.entries = append(t.entries, a2a.NewEntry(m.seq, at, e.JSON, e.Event))
		size := 2*len(e.JSON) + 512 // its JSON, what was decoded from it, and the entry
		t.size += size
		m.size += size
	}
	was := n > 0 && over(t.head.State)
	t.head = c.Head
	t.head.Seq = m.seq
	if !was && over(t.head.State) {
		m.ended = append(m.ended, t.head.ID)
	}
	if c.Receipt != nil {
		key := messageKey{c.Head.Principal, c.Receipt.MessageID}
		m.receipts[key] = *c.Receipt
		t.receipts = append(t.receipts, key)
	}
	for m.size > memoryLogBytes && len(m.ended) > 0 && m.ended[0] != t.head.ID {
		old := m.tasks[m.ended[0]]
		m.ended = m.ended[1:]
		delete(m.tasks, old.head.ID)
		for _, key := range old.receipts {
			delete(m.receipts, key)
		}
		m.size -= old.size
	}
	return slices.Clip(t.entries[n:])
}

// over reports whether a row with that state will not change any more.
func over(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateUnspecified }

func (m *memoryLog) Head(_ context.Context, task string) (Head, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if t := m.tasks[task]; t != nil {
		return t.head, nil
	}
	return Head{}, a2a.ErrTaskNotFound
}

func (m *memoryLog) Received(_ context.Context, principal, messageID string) (Receipt, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.receipts[messageKey{principal, messageID}]
	return r, ok, nil
}

func (m *memoryLog) List(_ context.Context, principal string, r *a2a.ListRequest, before *Head, limit int) ([]Head, int, error) {
	m.mu.RLock()
	var heads []Head
	for _, t := range m.tasks {
		h := t.head
		if h.Principal == principal && h.State != a2a.TaskStateUnspecified &&
			(r.ContextID == "" || r.ContextID == h.ContextID) &&
			(r.Status == a2a.TaskStateUnspecified || r.Status == h.State) &&
			(r.StatusTimestampAfter.IsZero() || !h.Updated.Before(r.StatusTimestampAfter)) {
			heads = append(heads, h)
		}
	}
	m.mu.RUnlock()
	total := len(heads)
	newest := func(a, b Head) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID)) }
	slices.SortFunc(heads, newest)
	if before != nil {
		i, found := slices.BinarySearchFunc(heads, *before, newest)
		if found {
			i++
		}
		heads = heads[i:]
	}
	return heads[:min(limit, len(heads))], total, nil
}

func (m *memoryLog) Read(ctx context.Context, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		m.mu.RLock()
		var entries []*a2a.Entry
		if t := m.tasks[task]; t != nil {
			entries = slices.Clip(t.entries)
		}
		m.mu.RUnlock()
		i, _ := slices.BinarySearchFunc(entries, after+1, position)
		for page := range slices.Chunk(entries[i:], 256) {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

func (m *memoryLog) Open(context.Context) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		m.mu.RLock()
		var heads []Head
		for _, t := range m.tasks {
			if !over(t.head.State) {
				heads = append(heads, t.head)
			}
		}
		m.mu.RUnlock()
		for _, h := range heads {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (m *memoryLog) Healthy() error { return nil }
