package a2aserver

import (
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// stream is a reply that is a text/event-stream. Only its own goroutine writes events; the keeper of all streams writes
// comments into silent ones.
type stream struct {
	*exchange
	buf  []byte  // the frames to be sent
	lent *[]byte // what buf is given back to; nil while there is nothing to send

	mu      sync.Mutex   // of w
	started bool         // the reply is a stream
	done    bool         // nothing more is written, or the reply is not a stream
	last    atomic.Int64 // when the last write ended, in Unix nanoseconds
	since   atomic.Int64 // when the write under way began; 0 = none
}

// stream replies with events, or returns why it cannot, nothing written.
func (x *exchange) stream(events iter.Seq2[[]*a2a.Entry, error]) error {
	s := &stream{exchange: x}
	x.streams.add(s)
	defer s.close()
	for entries, err := range events {
		if err != nil {
			return s.end(err)
		}
		for _, e := range entries {
			if err := s.append(e); err != nil {
				return s.end(err)
			}
			if len(s.buf) >= maxBuffer && !s.flush() {
				return nil
			}
		}
		if !s.flush() {
			return nil
		}
	}
	s.start()
	return nil
}

func (s *stream) close() {
	s.streams.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.started && s.record != nil {
		s.record.Status = http.StatusOK
	}
}

// append adds the frame of an entry to buf.
func (s *stream) append(e *a2a.Entry) (err error) {
	s.borrow()
	if e.JSON == nil { // not in the log
		event, err := e.Event()
		if err != nil {
			return err
		}
		s.buf = wire.AppendEventFrame(s.buf, s.call, e.Seq, event)
	} else if s.buf, err = wire.AppendFrame(s.buf, s.call, e); err != nil {
		return err
	}
	s.note(e.Seq)
	return nil
}

// end tells the client why the stream cannot go on: with a last frame, or, when the reply is not a stream yet, by handing
// err back for a plain reply. From then on it cannot become one.
func (s *stream) end(err error) error {
	s.mu.Lock()
	started := s.started
	s.done = !started
	s.mu.Unlock()
	if !started {
		return err
	}
	if a2a.KindOf(err) == a2a.KindInternal && s.r.Context().Err() == nil {
		s.o.Logger.Error("stream failed", "task", s.task, "error", err)
	}
	s.borrow()
	s.buf = wire.AppendErrorFrame(s.buf, s.call, err, s.mapping())
	s.flush()
	if s.record != nil {
		s.record.Err = err.Error()
	}
	return nil
}

// note keeps the range of events for the tap.
func (s *stream) note(seq int64) {
	if s.record == nil {
		return
	}
	if s.record.Events[0] == 0 {
		s.record.Events[0] = seq
	}
	s.record.Events[1] = seq
}

// borrow takes a buffer for the next frames: a silent stream keeps none.
func (s *stream) borrow() {
	if s.lent == nil {
		s.lent = buffers.Get().(*[]byte)
		s.buf = (*s.lent)[:0]
	}
}

// flush sends everything in buf with one write and reports whether the client still takes it.
func (s *stream) flush() bool {
	if len(s.buf) == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun()
	ok := s.send(s.buf)
	*s.lent = s.buf
	putBuffer(s.lent)
	s.buf, s.lent = nil, nil
	return ok
}

// start makes the reply a stream.
func (s *stream) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun()
}

// begun is start with s.mu held.
func (s *stream) begun() {
	if s.started {
		return
	}
	s.started = true
	setStreamHeader(s.w.Header())
}

func setStreamHeader(header http.Header) {
	header["Content-Type"] = streamType
	header["Cache-Control"] = noCache
	header["X-Accel-Buffering"] = noBuffering
}

var (
	streamType  = []string{"text/event-stream"}
	noCache     = []string{"no-cache"}
	noBuffering = []string{"no"}
)

// send writes b; s.mu is held.
func (s *stream) send(b []byte) bool {
	s.since.Store(time.Now().UnixNano())
	_, err := s.w.Write(b)
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	s.since.Store(0)
	s.last.Store(time.Now().UnixNano())
	return err == nil
}
