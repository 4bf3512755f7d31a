package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// restoreName is a copy that takes the place of the database at the next start.
const restoreName = "parley.db.restore"

// Backup writes a checked copy of the database, as it is now, into the backup directory and returns its path. It is kept
// until somebody removes it. Writing goes on meanwhile. Large parts are files beside the database and not in it.
func (db *DB) Backup(ctx context.Context) (path string, err error) {
	dir := filepath.Join(db.dir, backupDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "saved-"+db.now().UTC().Format("20060102T150405.000")+".db")
	p := pool(db.options.dsn(db.path, forLooking), 1)
	defer p.Close()
	return path, db.copyTo(ctx, p, path)
}

// Restore checks a copy and sees to it that it takes the place of the database at the next start; what is there then is
// kept in the backup directory. "" changes nothing at the next start after all.
func (db *DB) Restore(ctx context.Context, path string) error {
	to := filepath.Join(db.dir, restoreName)
	if path == "" {
		if err := os.Remove(to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	steps, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	known, err := newest(steps)
	if err != nil {
		return err
	}
	copied := &DB{dir: filepath.Dir(path), path: path, options: db.options, log: db.log, now: db.now}
	have, err := copied.look(ctx)
	if err != nil {
		return err
	}
	if have == 0 || have > known {
		return fmt.Errorf("%s is no copy that this Parley can use", path)
	}
	p := pool(db.options.dsn(path, forLooking), 1)
	defer p.Close()
	if err := quickCheck(ctx, p); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return copyFile(path, to)
}

// Restoring reports whether a copy waits to take the place of the database.
func (db *DB) Restoring() bool {
	_, err := os.Stat(filepath.Join(db.dir, restoreName))
	return err == nil
}

// restore puts a copy that waits in the place of the database. It is called before the database is opened, and may be cut
// off anywhere: the copy goes away last of all.
func (db *DB) restore(ctx context.Context) error {
	from := filepath.Join(db.dir, restoreName)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if info, err := os.Stat(db.path); err == nil && info.Size() > 0 {
		dir := filepath.Join(db.dir, backupDir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		kept := filepath.Join(dir, "saved-"+db.now().UTC().Format("20060102T150405.000")+"-before-restore.db")
		p := pool(db.options.dsn(db.path, forLooking), 1)
		err := db.copyTo(ctx, p, kept)
		p.Close()
		if err != nil {
			return fmt.Errorf("what is there could not be kept, so nothing was restored: %w", err)
		}
		db.log.Info("a backup takes the place of the database", "kept", kept)
	}
	for _, ending := range []string{"-wal", "-shm"} { // they belong to what was there
		if err := os.Remove(db.path + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(from, db.path); err != nil {
		return err
	}
	return syncDir(db.dir)
}

// copyFile copies a file so that it is there whole or not at all.
func copyFile(from, to string) (err error) {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	part := to + ".part"
	w, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	if _, err = io.Copy(w, r); err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err = os.Rename(part, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}
