// Package wirelog is what a store does with wire records before it stores them: it masks their secrets, cuts their
// bodies, and holds them back until the store has time for them. Events come first: what does not fit into the queue is
// dropped.
package wirelog

import (
	"maps"
	"slices"
	"sync"
	"time"

	"parley/orchestrator"
)

// Bounds of what is kept of the wire.
const (
	MaxBytes = 256 << 20          // stored in all; the oldest records go first
	MaxAge   = 7 * 24 * time.Hour // of a record
	MaxBody  = 256 << 10          // of one body; the rest of a longer one is left out

	maxQueued = 128     // records waiting to be stored, and so the most that are taken at once
	maxWaits  = 8 << 20 // bytes waiting to be stored
	maxErased = 256     // erased runs that are remembered
	delay     = 100 * time.Millisecond
)

// Record is a record as it is stored: masked and cut.
type Record struct {
	*orchestrator.WireRecord
	Header []byte // JSON; nil for none
	Size   int    // about
}

// Queue holds records. They are masked a while after they came, all that came meanwhile at once and by nobody who is in
// a hurry.
type Queue struct {
	ready func()

	mu      sync.Mutex
	waiting []*orchestrator.WireRecord
	rows    []*Record
	bytes   int // of both
	queued  int // both, and what is being masked
	dropped int
	timer   *time.Timer
	stopped bool
	erased  []string // runs that were erased lately: nothing more is kept of them
	masking sync.Mutex
}

// NewQueue makes a queue that calls ready when there is something to Take. ready must not block.
func NewQueue(ready func()) *Queue { return &Queue{ready: ready} }

// Put queues a record, or drops it. The record is not to be changed afterwards.
func (q *Queue) Put(r *orchestrator.WireRecord) {
	size := len(r.Request) + len(r.Response)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	if q.queued >= maxQueued || q.bytes+size > maxWaits {
		q.dropped++
		return
	}
	if len(q.waiting) == 0 {
		if q.timer == nil {
			q.timer = time.AfterFunc(delay, func() {
				q.mask()
				q.ready()
			})
		} else {
			q.timer.Reset(delay)
		}
	}
	q.waiting = append(q.waiting, r)
	q.queued++
	q.bytes += size
}

// mask makes rows of the records that wait.
func (q *Queue) mask() {
	q.masking.Lock()
	defer q.masking.Unlock()
	q.mu.Lock()
	waiting := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	rows := make([]*Record, len(waiting))
	for i, r := range waiting {
		rows[i] = masking(r)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, r := range waiting {
		q.bytes -= len(r.Request) + len(r.Response)
		if r.RunID != "" && slices.Contains(q.erased, r.RunID) {
			q.queued--
			continue
		}
		q.bytes += rows[i].Size
		q.rows = append(q.rows, rows[i])
	}
}

// masking returns a record without its secrets.
func masking(of *orchestrator.WireRecord) *Record {
	r := *of
	header := maskHeader(r.Header)
	r.Header = nil
	r.Request, r.Response = cut(maskBody(r.Request)), cut(maskBody(r.Response))
	r.URL, r.Err = maskURL(r.URL), string(maskBody([]byte(r.Err)))
	return &Record{WireRecord: &r, Header: header, Size: len(header) + len(r.Request) + len(r.Response) + len(r.URL) + 256}
}

func cut(body []byte) []byte { return body[:min(len(body), MaxBody):min(len(body), MaxBody)] }

// Erase drops the records of runs that are being erased. An exchange may end, and be recorded, after its run is gone: it
// is remembered for a while which those are.
func (q *Queue) Erase(runs map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.erased = slices.AppendSeq(q.erased, maps.Keys(runs))
	q.erased = q.erased[max(0, len(q.erased)-maxErased):]
	q.rows = slices.DeleteFunc(q.rows, func(r *Record) bool {
		if runs[r.RunID] {
			q.bytes -= r.Size
			q.queued--
		}
		return runs[r.RunID]
	})
}

// Ready reports whether there are records to store.
func (q *Queue) Ready() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.rows) > 0
}

// Empty reports whether no record waits.
func (q *Queue) Empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued == 0
}

// Take returns the records to store, and how many were dropped since the last time.
func (q *Queue) Take() (rows []*Record, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rows, q.rows = q.rows, nil
	for _, r := range rows {
		q.bytes -= r.Size
	}
	q.queued -= len(rows)
	dropped, q.dropped = q.dropped, 0
	return rows, dropped
}

// Stop takes no more records; those that wait can be taken.
func (q *Queue) Stop() {
	q.mu.Lock()
	q.stopped = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	q.mask()
}
