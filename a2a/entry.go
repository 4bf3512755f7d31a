package a2a

import (
	"sync/atomic"
	"time"
)

// Entry is one committed event of a task: its place in the log and its canonical (v1.0) JSON. Entries are immutable
// and shared by every reader, so whatever several derive from one is derived once and kept.
type Entry struct {
	Seq  int64 // position in the whole log, rising; a valid SSE id
	At   time.Time
	JSON []byte // a StreamResponse object: {"task":…}, {"message":…}, {"statusUpdate":…} or {"artifactUpdate":…}

	event atomic.Pointer[Event]
	forms [8]atomic.Pointer[[]byte]
}

// NewEntry returns an entry whose event is already decoded; event may be nil.
func NewEntry(seq int64, at time.Time, json []byte, event Event) *Entry {
	e := &Entry{Seq: seq, At: at, JSON: json}
	if event != nil {
		e.event.Store(&event)
	}
	return e
}

// Event decodes the entry, once.
func (e *Entry) Event() (Event, error) {
	if p := e.event.Load(); p != nil {
		return *p, nil
	}
	ev, err := UnmarshalEvent(e.JSON)
	if err != nil {
		return nil, err
	}
	e.event.Store(&ev)
	return ev, nil
}

// Form returns the entry in another form, made by f on first use and shared from then on. Forms are numbered by
// package wire (one a dialect), from 0 to 7.
func (e *Entry) Form(n int, f func(*Entry) ([]byte, error)) ([]byte, error) {
	if p := e.forms[n].Load(); p != nil && p != &wanted {
		return *p, nil
	}
	b, err := f(e)
	if err != nil {
		return nil, err
	}
	e.forms[n].Store(&b)
	return b, nil
}

// First reports, once, that nobody has asked for a form yet. Most entries have one reader, who then makes the form where
// it is needed; from the second on it is Form that is asked.
func (e *Entry) First(n int) bool { return e.forms[n].CompareAndSwap(nil, &wanted) }

// wanted stands for a form that was asked for and is not kept.
var wanted []byte
