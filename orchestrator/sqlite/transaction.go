package sqlite

import (
	"errors"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
)

// try runs one transaction. An op that was refused without a trace has its err set; any other failure is returned, and
// then nothing was stored.
func (w *writer) try(ops []*op) (err error) {
	w.events = nil
	if e := w.sick.Load(); e != nil && !ops[0].limps {
		for _, o := range ops {
			o.err = e
		}
		return nil
	}
	begun := w.seq
	if _, err := w.c.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		clear(w.pending)
		clear(w.rows)
		w.order, w.rows = w.order[:0], w.rows[:0]
		if err != nil {
			w.c.exec(`ROLLBACK`) // fails when SQLite has rolled back by itself
			w.seq = begun
			w.forget()
		}
	}()
	written := false
	for _, o := range ops {
		o.err, o.entries = nil, nil
		switch {
		case o.do != nil:
			err = o.do(w.c)
		default:
			if o.err = w.check(o); o.err != nil {
				break
			}
			if o.err = o.batch.fault; o.err != nil {
				w.note(o)
				break
			}
			err = w.write(o)
			if errors.Is(err, orchestrator.ErrDuplicate) {
				o.err, err = err, nil
				w.note(o)
			}
		}
		if err != nil {
			return err
		}
		if o.err == nil {
			written = true
			w.clear(o)
		}
	}
	if !written {
		_, err = w.c.exec(`ROLLBACK`)
		return err
	}
	if err := w.recordWire(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	_, err = w.c.exec(`COMMIT`)
	return err
}

// runs yields the runs that an op has events of.
func (o *op) runs(yield func(string) bool) {
	if o.batch == nil {
		return
	}
	for i := range o.batch.events {
		if !yield(o.batch.events[i].RunID) {
			return
		}
	}
}

// check refuses an op that follows one that failed. A caller that waits knows what failed and may go on.
func (w *writer) check(o *op) error {
	if o.wait || w.failed.Empty() {
		return nil
	}
	return w.failed.Check(o.runs)
}

// clear lets runs go on after a Write that succeeds.
func (w *writer) clear(o *op) {
	if o.wait && !w.failed.Empty() {
		w.failed.Clear(o.runs)
	}
}

// note remembers that an op failed. A duplicate that its caller waited for had nothing in flight behind it.
func (w *writer) note(o *op) {
	if o.err == nil || o.wait && errors.Is(o.err, orchestrator.ErrDuplicate) {
		return
	}
	w.failed.Note(o.runs, o.err)
}

// write carries out one batch. ErrDuplicate is returned before anything is written.
func (w *writer) write(o *op) error {
	b := o.batch
	b.given = b.given[:0]
	if b.receipt != nil {
		w.db.received.add(b.receipt[0].(string), b.receipt[1].(string), b.receipt[2].(string))
		switch n, err := w.c.changed(insertReceipt, b.receipt...); {
		case err != nil:
			return err
		case n == 0:
			return orchestrator.ErrDuplicate
		}
	}
	if len(b.events) > 0 {
		if err := w.append(o); err != nil {
			return err
		}
	}
	for i := range b.rows {
		s := &b.rows[i]
		if s.last != "" {
			if _, ok := w.pending[s.last]; !ok {
				w.order = append(w.order, s.last)
			}
			w.pending[s.last] = *s
			continue
		}
		if err := w.put(s); err != nil {
			return err
		}
	}
	return nil
}

// append gives the events of a batch their places.
func (w *writer) append(o *op) error {
	if o.done != nil && !o.wait {
		o.entries = make([]*a2a.Entry, 0, len(o.batch.events))
	}
	for i := range o.batch.events {
		e := &o.batch.events[i]
		run, err := w.key(runID(e.RunID))
		if err != nil {
			return err
		}
		conversation, err := w.key(conversationID(e.ConversationID))
		if err != nil {
			return err
		}
		w.seq++
		var body, blob any = e.JSON, nil
		if e.blob != nil {
			body, blob = nil, e.blob[:]
		}
		w.rows = append(w.rows, w.seq, run, conversation, string(e.Kind), e.at, body, blob)
		entry := a2a.NewEntry(w.seq, column.Time(e.at), e.JSON, e.Event)
		w.events = append(w.events, &orchestrator.Event{
			Entry: entry, RunID: e.RunID, ConversationID: e.ConversationID, Kind: e.Kind,
		})
		if o.entries != nil {
			o.entries = append(o.entries, entry)
		}
	}
	return nil
}

// insertEvents writes one event, two, four, eight or sixteen.
var insertEvents = func() (queries [5]string) {
	for i := range queries {
		queries[i] = `INSERT INTO events (seq, run, conversation, kind, at, body, blob) VALUES (?, ?, ?, ?, ?, ?, ?)` +
			strings.Repeat(`, (?, ?, ?, ?, ?, ?, ?)`, 1<<i-1)
	}
	return queries
}()

const eventColumns = 7

// store writes the events of the transaction.
func (w *writer) store() error {
	rows := w.rows
	for i := len(insertEvents) - 1; len(rows) > 0; {
		n := eventColumns << i
		if n > len(rows) {
			i--
			continue
		}
		if _, err := w.c.exec(insertEvents[i], rows[:n]...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// put runs one statement of a batch. Its arguments stay as they are: it may have to be run again.
func (w *writer) put(s *statement) error {
	w.args = append(w.args[:0], s.args...)
	for i, a := range w.args {
		switch a.(type) {
		case runID, conversationID:
			k, err := w.key(a)
			if err != nil {
				return err
			}
			w.args[i] = k
		}
	}
	r, err := w.c.exec(s.query, w.args...)
	if err != nil {
		return err
	}
	if s.then != nil {
		return s.then(w, r)
	}
	return nil
}

// flush writes the events, and the rows that waited for the end of the transaction.
func (w *writer) flush() error {
	if err := w.store(); err != nil {
		return err
	}
	for _, k := range w.order {
		s := w.pending[k]
		if err := w.put(&s); err != nil {
			return err
		}
	}
	for i := range w.keys {
		if err := w.keys[i].flush(w.c); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what is remembered of the rows of a transaction that is not to be.
func (w *writer) forget() {
	for i := range w.keys {
		w.keys[i].forget()
	}
	w.events = nil
}
