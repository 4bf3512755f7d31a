package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/orchestrator"
)

// hashes returns the digest of every file under dir, by its path.
func hashes(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// made makes a store with something in it and closes it.
func made(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	db := open(t, dir, nil)
	b := &orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: "c", Title: "kept"}}}
	for i := range 2000 {
		b.Events = append(b.Events, orchestrator.NewEvent{
			RunID: "r", Kind: orchestrator.EventFault, JSON: fmt.Appendf(nil, `"%d %s"`, i, strings.Repeat("x", 500)),
		})
	}
	write(t, db, b)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// alter runs SQL on the file of a store that is not open.
func alter(t *testing.T, dir string, queries ...string) {
	t.Helper()
	c, err := dial((*Options)(nil).defaults().dsn(filepath.Join(dir, fileName), forWriting))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries {
		if err := c.pragma(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

// refused checks that a store is not opened, that the error says so in the given words, and that no file has changed.
func refused(t *testing.T, dir string, words ...string) {
	t.Helper()
	before := hashes(t, dir)
	db, err := Open(t.Context(), dir, &Options{busy: 50 * time.Millisecond})
	if err == nil {
		db.Close()
		t.Fatal("the store was opened")
	}
	for _, w := range append(words, filepath.Join(dir, fileName)) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	after := hashes(t, dir)
	for _, name := range []string{lockName, fileName + "-shm"} { // they hold no data
		delete(before, "/"+name)
		delete(after, "/"+name)
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("files have changed (-before +after):\n%s", d)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dir := made(t)
	alter(t, dir, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`)
	refused(t, dir, "newer", "999")
}

func TestNotOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	alter(t, dir, `CREATE TABLE t (x)`)
	refused(t, dir, "none of Parley's")

	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("this is no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "is not a database")
}

// TestDamaged: damage is found when the last process did not close the file, told with the path, and left alone.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := made(t)
	path := filepath.Join(dir, fileName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) / 2; i < len(b)/2+3*4096; i++ {
		b[i] ^= 0x5a
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, openName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "damaged", backupDir)
}

func TestLockedAtOpen(t *testing.T) {
	t.Parallel()
	dir := made(t)
	other, err := dial((*Options)(nil).defaults().dsn(filepath.Join(dir, fileName), forWriting))
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	for _, q := range []string{`PRAGMA locking_mode = EXCLUSIVE`, `BEGIN EXCLUSIVE`, `DELETE FROM settings`} {
		if err := other.pragma(q); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Open(t.Context(), dir, &Options{busy: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "locked by another program") || !strings.Contains(err.Error(), fileName) {
		t.Errorf("error %v", err)
	}
}

// TestMigrate: an older schema is brought up to date, after a copy that can be opened was put aside; three are kept.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dir := made(t)
	steps := fstest.MapFS{}
	own, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	names, _ := fs.Glob(own, "*.sql")
	for _, name := range names {
		b, _ := fs.ReadFile(own, name)
		steps[name] = &fstest.MapFile{Data: b}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	migrate := func() error {
		o := (&Options{Now: func() time.Time { return now }}).defaults()
		db := &DB{dir: dir, path: filepath.Join(dir, fileName), options: o, log: o.Logger, now: o.Now}
		now = now.Add(time.Hour)
		return db.migrate(context.Background(), steps)
	}
	backups := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, backupDir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if err := migrate(); err != nil || len(backups()) != 0 {
		t.Fatalf("nothing to do: %v, %v", err, backups())
	}
	for i := range 5 {
		steps[fmt.Sprintf("%05d_more.sql", 100+i)] = &fstest.MapFile{
			Data: fmt.Appendf(nil, "-- +goose Up\nCREATE TABLE more%d (x);\nINSERT INTO more%d VALUES (1);", i, i),
		}
		if err := migrate(); err != nil {
			t.Fatal(err)
		}
		if got := len(backups()); got != min(i+1, keptBackups) {
			t.Errorf("%d backups after %d migrations", got, i+1)
		}
	}
	for _, path := range backups() {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	oldest := backups()[0]
	if !strings.Contains(oldest, "-v101.db") {
		t.Errorf("the oldest backup is %s", oldest)
	}
	p := pool((*Options)(nil).defaults().dsn(oldest, forLooking), 1)
	defer p.Close()
	var title string
	if err := p.QueryRow(`SELECT title FROM conversations, more1`).Scan(&title); err != nil || title != "kept" {
		t.Errorf("the backup has %q, %v", title, err)
	}

	// A step that fails leaves nothing of itself.
	steps["00200_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1);")}
	if err := migrate(); err == nil || !strings.Contains(err.Error(), fileName) {
		t.Errorf("a bad migration: %v", err)
	}
	q := pool((*Options)(nil).defaults().dsn(filepath.Join(dir, fileName), forLooking), 1)
	defer q.Close()
	var n int
	if err := q.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'half'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("half a migration is there: %d, %v", n, err)
	}
	delete(steps, "00200_bad.sql")
	if err := migrate(); err != nil {
		t.Error(err)
	}
	// This program knows none of that.
	refused(t, dir, "newer", "104")
}
