package sqlite

import (
	"strings"
	"testing"

	"parley/orchestrator"
	"parley/orchestrator/wirelog"
)

// TestWireBounds: old records make room for new ones, and what comes too fast is dropped.
func TestWireBounds(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	onWriter(t, db, func(*conn) error {
		db.writer.wireBytes = 1 << 20
		return nil
	})
	body := []byte(strings.Repeat("x", 4<<10))
	const n = 2000
	for i := range n {
		db.RecordWire(&orchestrator.WireRecord{Peer: "p", Request: body, Status: i})
		if i%100 == 99 {
			eventually(t, "the queue is empty", func() bool { return db.writer.wire.Empty() })
		}
	}
	onWriter(t, db, func(*conn) error { return nil }) // the last of them are committed
	all, err := db.WireRecords(t.Context(), orchestrator.WireQuery{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	if kept := len(all) * len(body); kept > 1<<20 || kept < 100<<10 || all[0].Status != n-1 {
		t.Errorf("%d bytes are kept, the newest is %d", kept, all[0].Status)
	}
	var counted, stored int64
	onWriter(t, db, func(c *conn) (err error) {
		counted, _, err = c.integer(`SELECT value FROM counters WHERE name = 'wire.bytes'`)
		if err == nil {
			stored, _, err = c.integer(`SELECT sum(size) FROM wire`)
		}
		return err
	})
	if counted != stored {
		t.Errorf("%d bytes are counted, %d are stored", counted, stored)
	}

	long := []byte(strings.Repeat("y", wirelog.MaxBody+1))
	eventually(t, "the queue is empty", func() bool { return db.writer.wire.Empty() })
	db.RecordWire(&orchestrator.WireRecord{Peer: "long", Request: long[:wirelog.MaxBody], Response: long})
	eventually(t, "the long one", func() bool {
		all, err = db.WireRecords(t.Context(), orchestrator.WireQuery{Peer: "long"})
		return err == nil && len(all) == 1
	})
	if len(all[0].Request) != wirelog.MaxBody || len(all[0].Response) != wirelog.MaxBody {
		t.Errorf("bodies of %d and %d bytes", len(all[0].Request), len(all[0].Response))
	}
}
