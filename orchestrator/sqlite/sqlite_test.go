package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

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
