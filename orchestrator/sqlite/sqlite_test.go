package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// open opens a store in dir and closes it with the test.
func open(t testing.TB, dir string, o *Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func write(t testing.TB, db *DB, b *orchestrator.Batch) {
	t.Helper()
	if err := db.Write(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	db := open(t, dir, nil)
	write(t, db, &orchestrator.Batch{
		Events: []orchestrator.NewEvent{{RunID: "r", ConversationID: "c", Kind: orchestrator.EventStatus, JSON: []byte(`{}`)}},
		Runs:   []*orchestrator.Run{{ID: "r", Scope: "agent", Principal: "p", State: "TASK_STATE_WORKING", Updated: time.UnixMilli(5)}},
	})
	for name, want := range map[string]os.FileMode{
		"": 0o700 | os.ModeDir, fileName: 0o600, fileName + "-wal": 0o600, fileName + "-shm": 0o600, lockName: 0o600,
		openName: 0o600, "blobs": 0o700 | os.ModeDir,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%q has mode %v, want %v", name, info.Mode(), want)
		}
	}
	r, err := db.Run(t.Context(), "r")
	if err != nil || r.LastSeq != 1 {
		t.Fatalf("Run = %+v, %v", r, err)
	}
	if _, err := Open(t.Context(), dir, nil); err == nil {
		t.Fatal("a second Open of the directory succeeded")
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, openName)); err == nil {
		t.Error("the mark of an open database is there after Close")
	}
	db = open(t, dir, nil)
	var n int
	for events, err := range db.ReadConversation(t.Context(), "c", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(events)
	}
	if n != 1 {
		t.Fatalf("%d events after reopening, want 1", n)
	}
}

// TestFailsAlone: of those that share a transaction, the one at fault fails alone, and all hear of it in order.
func TestFailsAlone(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	busy, goOn := make(chan struct{}), make(chan struct{})
	go db.writer.waitFor(context.Background(), &op{do: func(*conn) error {
		close(busy)
		<-goOn
		return nil
	}})
	<-busy
	// Two tokens with one hash cannot be: that shows in the middle of the transaction, after events were written.
	token := func(id string) []*orchestrator.Token { return []*orchestrator.Token{{ID: id, Hash: [32]byte{1}}} }
	event := func(run string) []orchestrator.NewEvent {
		return []orchestrator.NewEvent{{RunID: run, ConversationID: "c", Kind: orchestrator.EventFault, JSON: []byte(`1`)}}
	}
	var ended []string
	done := make(chan struct{})
	for _, b := range []*orchestrator.Batch{
		{Events: event("a"), Tokens: token("1")},
		{Events: event("b"), Tokens: token("2")},
		{Events: event("c"), Items: []*orchestrator.Item{{ConversationID: "c", Text: "hello"}}},
		{Events: event("b")},
		{Settings: map[string]string{"x": "y"}},
	} {
		db.Enqueue(b, func(entries []*a2a.Entry, err error) {
			s := fmt.Sprint(len(entries), err == nil)
			if len(b.Items) > 0 {
				s += fmt.Sprint(b.Items[0].ID)
			}
			if ended = append(ended, s); b.Settings != nil {
				close(done)
			}
		})
	}
	close(goOn)
	<-done
	if got, want := fmt.Sprint(ended), "[1 true 0 false 1 true1 0 false 0 true]"; got != want {
		t.Errorf("ended %s, want %s", got, want)
	}
	var got []string
	for events, err := range db.ReadConversation(t.Context(), "c", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got = append(got, fmt.Sprint(e.RunID, e.Seq))
		}
	}
	if want := "[a1 c2]"; fmt.Sprint(got) != want {
		t.Errorf("stored %v, want %s", got, want)
	}
}
