package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/orchestrator"
)

// A copy that was made while the store is open takes its place at the next start, and what was there is kept.
func TestBackupRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *DB {
		t.Helper()
		db, err := Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	set := func(db *DB, value string) {
		t.Helper()
		if err := db.Write(t.Context(), &orchestrator.Batch{Settings: map[string]string{"x": value}}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(db *DB, want string) {
		t.Helper()
		if got, err := db.Setting(t.Context(), "x"); got != want || err != nil {
			t.Fatalf("it is %q (%v), want %q", got, err, want)
		}
	}
	db := open()
	set(db, "before")
	path, err := db.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set(db, "after")
	wrong := filepath.Join(dir, "wrong.db")
	if err := os.WriteFile(wrong, []byte("this is no database at all, only words"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Restore(t.Context(), wrong); err == nil || db.Restoring() {
		t.Error("anything is taken for a copy")
	}
	if err := db.Restore(t.Context(), path); err != nil || !db.Restoring() {
		t.Fatal(err)
	}
	is(db, "after") // until the next start
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	is(db, "before")
	if db.Restoring() {
		t.Error("it would be restored again")
	}
	kept, err := filepath.Glob(filepath.Join(dir, backupDir, "*-before-restore.db"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	if err := db.Restore(t.Context(), kept[0]); err != nil {
		t.Fatal(err)
	}
	if err := db.Restore(t.Context(), ""); err != nil || db.Restoring() {
		t.Error("it cannot be called off")
	}
	if err := db.Restore(t.Context(), kept[0]); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	is(db, "after")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		if strings.HasSuffix(e.Name(), ".part") || strings.Contains(e.Name(), "restore") {
			t.Errorf("%s is left", e.Name())
		}
	}
}
