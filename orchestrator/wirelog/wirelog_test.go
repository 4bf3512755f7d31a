package wirelog

import (
	"strings"
	"testing"

	"parley/orchestrator"
)

// TestBounds: what comes while nobody takes it is bounded, and long bodies are cut.
func TestBounds(t *testing.T) {
	t.Parallel()
	q := NewQueue(func() {})
	body := []byte(strings.Repeat("x", 4<<10))
	for range 10_000 {
		q.Put(&orchestrator.WireRecord{Peer: "p", Request: body})
	}
	q.mu.Lock()
	if q.bytes > maxWaits || q.queued != maxQueued || q.dropped != 10_000-maxQueued {
		t.Errorf("%d records of %d bytes wait, %d were dropped", q.queued, q.bytes, q.dropped)
	}
	q.mu.Unlock()
	q.mask()
	if rows, dropped := q.Take(); len(rows) != maxQueued || dropped != 10_000-maxQueued || !q.Empty() {
		t.Errorf("took %d records, %d were dropped", len(rows), dropped)
	}

	long := []byte(strings.Repeat("y", MaxBody+1))
	q.Put(&orchestrator.WireRecord{Request: long[:MaxBody-1], Response: long[:MaxBody]})
	q.Put(&orchestrator.WireRecord{Request: long})
	q.Stop()
	q.Put(&orchestrator.WireRecord{})
	rows, _ := q.Take()
	if len(rows) != 2 || len(rows[0].Request) != MaxBody-1 || len(rows[0].Response) != MaxBody || len(rows[1].Request) != MaxBody {
		t.Errorf("took %v", rows)
	}
}
