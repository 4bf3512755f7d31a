package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"parley/a2a"
	"parley/orchestrator"
)

// eventually polls until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// onWriter runs f on the writer's connection.
func onWriter(t *testing.T, db *DB, f func(c *conn) error) {
	t.Helper()
	if err := db.writer.waitFor(context.Background(), &op{limps: true, do: f}); err != nil {
		t.Fatal(err)
	}
}

// unavailable checks an error that people get to read.
func unavailable(t *testing.T, err error, words string) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Kind != a2a.KindUnavailable || !strings.Contains(e.Message, words) {
		t.Errorf("error %v, want one of kind %s with %q", err, a2a.KindUnavailable, words)
	}
	if e != nil && (strings.Contains(e.Message, "/") || strings.Contains(strings.ToLower(e.Message), "sqlite")) {
		t.Errorf("the message %q is not for people", e.Message)
	}
}

func count(t *testing.T, db *DB, run string) (n int) {
	t.Helper()
	for events, err := range db.ReadRun(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(events)
	}
	return n
}

// TestFull: on a full disk nothing is acknowledged that was not stored, reads go on, there is room to erase, and writing
// goes on by itself once there is room.
func TestFull(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	eventually(t, "the ballast", db.writer.ballast.kept)
	body := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 2000)...), '"')
	event := func(run, conversation string) orchestrator.NewEvent {
		return orchestrator.NewEvent{RunID: run, ConversationID: conversation, Kind: orchestrator.EventFault, JSON: body}
	}
	old := &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: "old", Title: "old"}},
		Runs:          []*orchestrator.Run{{ID: "old", Scope: "agent", ConversationID: "old", State: a2a.TaskStateCompleted}},
	}
	for range 500 {
		old.Events = append(old.Events, event("old", "old"))
	}
	write(t, db, old)
	onWriter(t, db, func(c *conn) error {
		pages, _, err := c.integer(`PRAGMA page_count`)
		if err != nil {
			return err
		}
		return c.pragma(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+100))
	})

	var seen atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var follower sync.WaitGroup
	defer follower.Wait()
	defer cancel()
	follower.Go(func() {
		for events, err := range db.FollowRun(ctx, "r", 0) {
			if err != nil {
				t.Error(err)
			}
			seen.Add(int64(len(events)))
		}
	})

	var acked, refused int
	var failure error
	done := make(chan struct{})
	const n = 1000
	for i := range n {
		db.Enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{event("r", "")}}, func(_ []*a2a.Entry, err error) {
			if err == nil {
				acked++
				if refused > 0 {
					t.Error("an event was stored after one of its run was not")
				}
			} else {
				refused, failure = refused+1, err
			}
			if i == n-1 {
				close(done)
			}
		})
		if i%50 == 0 {
			// In several groups, so that some are stored.
			if err := db.Write(t.Context(), &orchestrator.Batch{}); err != nil {
				unavailable(t, err, "disk is full")
			}
		}
	}
	<-done
	if acked == 0 || refused == 0 {
		t.Fatalf("%d stored, %d refused", acked, refused)
	}
	unavailable(t, failure, "disk is full")
	unavailable(t, db.Healthy(), "disk is full")
	unavailable(t, db.Write(t.Context(), &orchestrator.Batch{Events: []orchestrator.NewEvent{event("s", "")}}), "disk is full")
	if got := count(t, db, "r"); got != acked {
		t.Errorf("%d events are stored, %d were acknowledged", got, acked)
	}
	if head, err := db.Head(t.Context()); err != nil || head != int64(500+acked) {
		t.Errorf("Head = %d, %v", head, err)
	}

	// Erasing makes room.
	if err := db.Erase(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "writing goes on", func() bool { return db.Healthy() == nil })
	if !db.writer.ballast.kept() {
		t.Error("the ballast is not back")
	}
	write(t, db, &orchestrator.Batch{Events: []orchestrator.NewEvent{event("s", "")}})

	// The run with a hole goes on only when somebody who waits says so.
	fails := make(chan error, 1)
	try := func() error {
		db.Enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{event("r", "")}}, func(_ []*a2a.Entry, err error) { fails <- err })
		return <-fails
	}
	if try() == nil {
		t.Error("the run goes on with a hole in its log")
	}
	write(t, db, &orchestrator.Batch{Events: []orchestrator.NewEvent{event("r", "")}})
	if err := try(); err != nil {
		t.Error(err)
	}
	if got := count(t, db, "r"); got != acked+2 {
		t.Errorf("%d events are stored, want %d", got, acked+2)
	}
	eventually(t, "the follower has all", func() bool { return seen.Load() >= int64(acked+2) })
	if got := seen.Load(); got != int64(acked+2) {
		t.Errorf("a follower was shown %d events, %d are stored", got, acked+2)
	}
}

// TestLocked: while another program holds the file, writes fail in time and reads go on; then writing goes on.
func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir, &Options{busy: 50 * time.Millisecond})
	eventually(t, "the ballast", db.writer.ballast.kept)
	event := &orchestrator.Batch{Events: []orchestrator.NewEvent{{RunID: "r", Kind: orchestrator.EventFault, JSON: []byte(`1`)}}}
	write(t, db, event)
	other, err := dial(db.options.dsn(filepath.Join(dir, fileName), forWriting))
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if _, err := other.exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	unavailable(t, db.Write(t.Context(), event), "locked")
	unavailable(t, db.Healthy(), "locked")
	if n := count(t, db, "r"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	if _, err := other.exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "writing goes on", func() bool { return db.Healthy() == nil })
	write(t, db, event)
}

// TestDamagedWhileOpen: damage that a write meets ends writing until the next start, and the file is checked then.
func TestDamagedWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.writer.waitFor(t.Context(), &op{do: func(*conn) error { return sqlite3.Error{Code: sqlite3.ErrCorrupt} }})
	unavailable(t, err, "damaged")
	unavailable(t, db.Healthy(), "damaged")
	db.writer.probe()
	unavailable(t, db.Healthy(), "damaged")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, openName)); err != nil {
		t.Error("the next start will not check the file")
	}
}

// TestClosed: what comes after Close is refused, and followers end with a reason.
func TestClosed(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	write(t, db, &orchestrator.Batch{Events: []orchestrator.NewEvent{{RunID: "r", Kind: orchestrator.EventFault, JSON: []byte(`1`)}}})
	var last error
	for _, err := range db.FollowRun(t.Context(), "r", 0) {
		if err == nil {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	unavailable(t, last, "shutting down")
	for range db.Changes(t.Context()) {
		t.Error("a change")
	}
	unavailable(t, db.Write(t.Context(), &orchestrator.Batch{}), "shutting down")
	db.Enqueue(&orchestrator.Batch{}, func(_ []*a2a.Entry, err error) { unavailable(t, err, "shutting down") })
	db.RecordWire(&orchestrator.WireRecord{})
}
