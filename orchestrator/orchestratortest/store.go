// Package orchestratortest says in tests what the ports of package orchestrator promise: TestStore runs against every
// Store, RunDriver against every driver. It brings along what they need: agents that follow a script, and a Store in
// memory. The suites use nothing but the ports, so that a new implementation has only to be handed to them.
package orchestratortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

// OpenStore opens the store that is kept at a place: a directory that belongs to the test. Opened there again after it
// was closed (a store that has to be closed is an io.Closer), it has what was stored.
type OpenStore func(t testing.TB, place string) orchestrator.Store

// TestStore checks what every Store promises.
func TestStore(t *testing.T, open OpenStore) {
	tests := []struct {
		name string
		test func(*testing.T, OpenStore)
	}{
		{"Append", storeAppend},
		{"Order", storeOrder},
		{"Writers", storeWriters},
		{"Durable", storeDurable},
		{"Blobs", storeBlobs},
		{"Failure", storeFailure},
		{"Read", storeRead},
		{"ReadRuns", storeReadRuns},
		{"Follow", storeFollow},
		{"FollowFromAnywhere", storeFollowFromAnywhere},
		{"FollowShares", storeFollowShares},
		{"SlowFollower", storeSlowFollower},
		{"FollowEnds", storeFollowEnds},
		{"Receipts", storeReceipts},
		{"Changes", storeChanges},
		{"Runs", storeRuns},
		{"ListRuns", storeListRuns},
		{"ListRunsWhileWriting", storeListRunsWhileWriting},
		{"OpenRuns", storeOpenRuns},
		{"Steps", storeSteps},
		{"Contexts", storeContexts},
		{"Asks", storeAsks},
		{"Agents", storeAgents},
		{"Grants", storeGrants},
		{"Tokens", storeTokens},
		{"Workflows", storeWorkflows},
		{"WorkflowRuns", storeWorkflowRuns},
		{"Settings", storeSettings},
		{"Conversations", storeConversations},
		{"ChatMarks", storeChatMarks},
		{"Items", storeItems},
		{"Artifact", storeArtifact},
		{"Search", storeSearch},
		{"SearchPages", storeSearchPages},
		{"Erase", storeErase},
		{"Expire", storeExpire},
		{"WireRecords", storeWireRecords},
		{"Pushes", storePushes},
		{"PushPages", storePushPages},
		{"ErasePush", storeErasePush},
		{"WireQueries", storeWireQueries},
		{"Ledger", storeLedger},
		{"ClosedAsks", storeClosedAsks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open)
		})
	}
}

// storeAt opens a new store.
func newStore(t *testing.T, open OpenStore) orchestrator.Store {
	return openStore(t, open, t.TempDir())
}

func openStore(t *testing.T, open OpenStore, place string) orchestrator.Store {
	t.Helper()
	s := open(t, place)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t *testing.T, s orchestrator.Store) {
	t.Helper()
	if c, ok := s.(io.Closer); ok {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// storeWrite writes b and fails the test when that fails.
func storeWrite(t testing.TB, s orchestrator.Log, b *orchestrator.Batch) {
	t.Helper()
	if err := s.Write(t.Context(), b); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

// storeEvent is the nth event of a run, a status update that says so.
func storeEvent(run, conversation string, n int) orchestrator.NewEvent {
	e := &a2a.StatusUpdate{TaskID: run, ContextID: "x", Status: a2a.TaskStatus{
		State:     a2a.TaskStateWorking,
		Timestamp: storeTime(n),
		Message:   &a2a.Message{ID: fmt.Sprintf("%s-%d", run, n), Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(fmt.Sprint(n))}},
	}}
	return orchestrator.NewEvent{
		RunID: run, ConversationID: conversation, Kind: orchestrator.EventStatus, At: storeTime(n), JSON: a2a.MarshalEvent(e),
	}
}

// storeTime is the nth millisecond of a day.
func storeTime(n int) time.Time {
	return time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC).Add(time.Duration(n) * time.Millisecond)
}

// storeCollect reads all that a sequence of pages has.
func storeCollect(t testing.TB, seq iter.Seq2[[]*orchestrator.Event, error]) []*orchestrator.Event {
	t.Helper()
	var all []*orchestrator.Event
	for page, err := range seq {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if len(page) == 0 {
			t.Fatal("an empty page")
		}
		all = append(all, page...)
	}
	return all
}

// storeTake follows until it has n events.
func storeTake(t testing.TB, n int, follow func(context.Context) iter.Seq2[[]*orchestrator.Event, error]) []*orchestrator.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []*orchestrator.Event
	for page, err := range follow(ctx) {
		if err != nil {
			t.Fatalf("follow: %v", err)
		}
		if len(page) == 0 {
			t.Fatal("an empty page")
		}
		if all = append(all, page...); len(all) >= n {
			return all
		}
	}
	t.Fatalf("follow ended with %d events, want %d", len(all), n)
	return nil
}

// storeRising checks that events are in the order of their numbers, each number once.
func storeRising(t testing.TB, events []*orchestrator.Event) {
	t.Helper()
	for i := 1; i < len(events); i++ {
		if events[i].Seq <= events[i-1].Seq {
			t.Fatalf("event %d has Seq %d after %d", i, events[i].Seq, events[i-1].Seq)
		}
	}
}

// storeSame compares the events with what was written.
func storeSame(t testing.TB, got []*orchestrator.Event, want []orchestrator.NewEvent) {
	t.Helper()
	type row struct {
		Run, Conversation string
		Kind              orchestrator.EventKind
		At                time.Time
		JSON              string
	}
	var g, w []row
	for _, e := range got {
		g = append(g, row{e.RunID, e.ConversationID, e.Kind, e.At, string(e.JSON)})
	}
	for _, e := range want {
		w = append(w, row{e.RunID, e.ConversationID, e.Kind, e.At, string(e.JSON)})
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Fatalf("events (-want +got):\n%s", d)
	}
}

// storeEventually polls until ok.
func storeEventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// storeNotFound checks an error of a read of one row.
func storeNotFound(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, orchestrator.ErrNotFound) {
		t.Errorf("%s: error %v, want ErrNotFound", what, err)
	}
}
