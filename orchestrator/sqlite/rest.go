package sqlite

import (
	"errors"
	"time"
)

// tidying is how far merging the index of search has come.
type tidying uint8

const (
	tidied  tidying = iota
	untidy          // an erase left words in the index
	merging         // begun
)

// mergePages is how much of the index one piece of merging writes.
const mergePages = 256

// rest does one piece of what has time until nothing is queued, and reports whether there may be more.
func (w *writer) rest() bool {
	switch {
	case w.sick.Load() != nil:
		return false
	case w.wire.Ready():
		return w.restWire()
	case w.index != tidied:
		w.merge()
		return true
	case !w.anchored && time.Since(w.began) >= ballastDelay:
		// Without the room there is no ballast.
		w.anchored = w.ballast.kept() || w.ballast.grow() != nil
		return true
	}
	return false
}

// merge does a piece of merging the index of search into one: that is when the words of erased items leave it.
func (w *writer) merge() {
	pages := int64(mergePages)
	if w.index == untidy {
		pages = -pages // takes all segments together, whatever their size
	}
	w.scrub("ON")
	defer w.scrub("OFF")
	before, _, err := w.c.integer(`SELECT total_changes()`)
	if err == nil {
		_, err = w.c.exec(`INSERT INTO items_fts (items_fts, rank) VALUES ('merge', ?)`, pages)
	}
	after, _, _ := w.c.integer(`SELECT total_changes()`)
	if w.index = merging; err != nil || after-before < 2 {
		w.index = tidied
		err = errors.Join(err, w.checkpoint())
	}
	if err != nil {
		w.db.log.Warn("tidy the index of search", "error", err)
	}
}
