package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"parley/a2a"
)

// probeEvery is how often the writer tries whether writing is possible again.
const probeEvery = time.Second

// ballastSize is the room that is kept aside, so that a full disk leaves some for erasing what is not needed.
const ballastSize = 16 << 20

// ballastPiece is how much of it is written at a time.
const ballastPiece = 1 << 20

// ballastDelay keeps the writing of the ballast out of the way of the start.
const ballastDelay = time.Second

// fatal reports whether an error of SQLite concerns the file, and so everybody, rather than one statement.
func fatal(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrError, sqlite3.ErrConstraint, sqlite3.ErrMismatch, sqlite3.ErrTooBig, sqlite3.ErrRange, sqlite3.ErrMisuse:
		return false
	}
	return true
}

// explain says in plain words why the file takes no writes. Other errors are returned as they are.
func explain(err error) error {
	sick := func(message string) error {
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: message, Err: err}
	}
	const reads = " What is stored can still be read."
	switch {
	case full(err):
		return sick("The disk is full. Nothing more is stored until there is room again." + reads)
	case !fatal(err):
		return err
	}
	var e sqlite3.Error
	errors.As(err, &e)
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return sick("Another program has locked the database. Nothing is stored until it lets go." + reads)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return sick("The database is damaged. Nothing more is stored, so that it does not get worse.")
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrAuth, sqlite3.ErrCantOpen:
		return sick("The database file may not be written. Nothing is stored until it may." + reads)
	}
	return sick("The disk reported an error. Nothing is stored until writing works again." + reads)
}

func full(err error) bool {
	var e sqlite3.Error
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.As(err, &e) && e.Code == sqlite3.ErrFull
}

// fail puts the store into read-only mode.
func (w *writer) fail(err error) {
	var sick *a2a.Error
	if !errors.As(explain(err), &sick) {
		return
	}
	if w.sick.Swap(sick) == nil {
		w.db.log.Error("the store takes no more writes", "error", err)
	}
	if full(err) {
		w.ballast.drop()
	}
}

// probe tries whether writing is possible again. After a full disk that means: with the ballast in its place.
func (w *writer) probe() {
	sick := w.sick.Load()
	var e sqlite3.Error
	if sick == nil || errors.As(sick.Err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB) {
		return
	}
	if !w.ballast.keep() || w.trial() != nil {
		if full(sick.Err) {
			w.ballast.drop()
		}
		return
	}
	w.sick.Store(nil)
	w.db.log.Info("the store takes writes again")
}

// trial writes something larger than what may happen to fit, and takes it back.
func (w *writer) trial() (err error) {
	for _, q := range []string{
		`BEGIN IMMEDIATE`,
		`INSERT OR REPLACE INTO settings (name, value) VALUES ('trial', CAST(zeroblob(262144) AS TEXT))`,
		`DELETE FROM settings WHERE name = 'trial'`,
		`COMMIT`,
	} {
		if _, err = w.c.exec(q); err != nil {
			w.c.exec(`ROLLBACK`)
			return err
		}
	}
	return nil
}

// ballast is a file that holds room on the disk.
type ballast struct{ path string }

func newBallast(dir string) ballast { return ballast{filepath.Join(dir, ballastName)} }

func (b ballast) drop() { os.Remove(b.path) }

// kept reports whether the file is there and whole.
func (b ballast) kept() bool {
	info, err := os.Stat(b.path)
	return err == nil && info.Size() >= ballastSize
}

// keep makes the file whole, and reports whether it is.
func (b ballast) keep() bool {
	for !b.kept() {
		if err := b.grow(); err != nil {
			return false
		}
	}
	return true
}

// grow writes a piece of the file. Zeros would do for most file systems, but some store none.
func (b ballast) grow() error {
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	piece := make([]byte, 64<<10)
	for i := range piece {
		piece[i] = byte(i*7 + i>>8)
	}
	for n := 0; n < ballastPiece && err == nil; n += len(piece) {
		_, err = f.Write(piece)
	}
	return errors.Join(err, f.Sync(), f.Close())
}
