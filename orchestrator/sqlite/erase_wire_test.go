package sqlite

import (
	"testing"

	"parley/a2a"
	"parley/orchestrator"
)

// TestEraseTakesWhatIsQueued: a record that waits to be stored goes with its run, and one that comes when the run is gone
// is not stored at all.
func TestEraseTakesWhatIsQueued(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	if err := db.Write(t.Context(), &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: "c"}},
		Runs:          []*orchestrator.Run{{ID: "r", Scope: "agent", ConversationID: "c", State: a2a.TaskStateWorking}},
	}); err != nil {
		t.Fatal(err)
	}
	db.RecordWire(&orchestrator.WireRecord{Peer: "p", RunID: "r", Request: []byte("queued")})
	if err := db.Erase(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	db.RecordWire(&orchestrator.WireRecord{Peer: "p", RunID: "r", Request: []byte("late")})
	db.RecordWire(&orchestrator.WireRecord{Peer: "p", Request: []byte("other")})
	eventually(t, "the other record", func() bool {
		all, err := db.WireRecords(t.Context(), orchestrator.WireQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if string(r.Request) != "other" {
				t.Fatalf("%q was stored", r.Request)
			}
		}
		return len(all) == 1
	})
	if _, err := db.Run(t.Context(), "r"); err == nil {
		t.Error("the run is back")
	}
}
