package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// stream answers SendStreamingMessage. A repeated message with a Last-Event-ID gets exactly the events after that one.
func (x *exchange) stream(ctx context.Context) error {
	started, err := x.tasks.Start(ctx, x.principal, x.call.Send)
	if err != nil {
		return err
	}
	x.about(started.TaskID)
	s, err := x.open(ctx, started.TaskID)
	if err != nil {
		return err
	}
	defer s.close()
	if last := lastEventID(x.r); started.Repeated && last > 0 && last >= started.After {
		task, seq, err := x.snapshot(s.ctx, started.TaskID, 0)
		if err == nil && last <= seq { // a position of ours
			s.opened = true
			if state := task.Status.State; last == seq && (state.Terminal() || state == a2a.TaskStateInputRequired) {
				s.start()
				return nil
			}
			return s.follow(last)
		}
	}
	return lost(s.follow(started.After))
}

// lost turns the answer that there is no such task, right after it was started, into what it means.
func lost(err error) error {
	if errors.Is(err, a2a.ErrTaskNotFound) {
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: "the message could not be stored; send it again", Err: err}
	}
	return err
}

// subscribe answers SubscribeToTask: the task as it stands and then its events; with a Last-Event-ID, exactly the events
// after that one.
func (x *exchange) subscribe(ctx context.Context) error {
	id := x.call.Subscribe.ID
	x.about(id)
	s, err := x.open(ctx, id)
	if err != nil {
		return err
	}
	defer s.close()
	task, seq, err := x.snapshot(s.ctx, id, 0)
	if err != nil {
		return err
	}
	last := lastEventID(x.r)
	resumed := last > 0 && (last < seq || last == seq && !task.Status.State.Terminal())
	if task.Status.State.Terminal() && !resumed && x.call.Dialect == wire.NEW {
		return &a2a.Error{
			Kind: a2a.KindUnsupportedOperation, Message: "the task has ended; read it with GetTask",
			Metadata: map[string]string{"taskId": id},
		}
	}
	s.opened = true
	if resumed {
		return s.follow(last)
	}
	trimHistory(task, nil)
	s.buf = wire.AppendEventFrame(s.buf, x.call, seq, task)
	if task.Status.State.Terminal() { // an older client expects a last status update
		s.buf = wire.AppendEventFrame(s.buf, x.call, seq, &a2a.StatusUpdate{
			TaskID: task.ID, ContextID: task.ContextID, Status: task.Status,
		})
	}
	s.note(seq)
	s.flush()
	if task.Status.State.Terminal() {
		return nil
	}
	return s.follow(seq)
}

// lastEventID is the position up to which the client has the stream; 0 when it does not say.
func lastEventID(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// snapshot returns the task as it stood at seq (0: now, or not long ago), and the position from where its events go on.
func (x *exchange) snapshot(ctx context.Context, id string, seq int64) (*a2a.Task, int64, error) {
	if s, ok := x.tasks.(Snapshotter); ok {
		return s.Snapshot(ctx, x.principal, id, seq)
	}
	t, at := &a2a.Task{}, int64(0)
	for entries, err := range x.tasks.Events(ctx, x.principal, id, 0) {
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			if seq > 0 && e.Seq > seq {
				break
			}
			event, err := e.Event()
			if err != nil {
				return nil, 0, err
			}
			fold(t, event)
			at = e.Seq
		}
		if seq == 0 || entries[len(entries)-1].Seq >= seq {
			break
		}
	}
	if t.ID == "" {
		return nil, 0, notFound(id)
	}
	return t, at, nil
}

// stream is an open text/event-stream. Only its own goroutine writes events; the keeper of all streams writes comments
// into silent ones.
type stream struct {
	*exchange
	ctx    context.Context // done when the client has gone, or the handler drains
	cancel context.CancelFunc
	task   string
	opened bool // the first event, a Task or a Message, is out, or not wanted
	buf    []byte

	mu      sync.Mutex // of w
	started bool       // the header is out
	done    bool
	last    atomic.Int64 // when the last write ended, in Unix nanoseconds
	since   atomic.Int64 // when the write under way began; 0 = none
}

// open registers a stream.
func (x *exchange) open(ctx context.Context, task string) (*stream, error) {
	s := &stream{exchange: x, task: task}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := x.streams.add(s); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

func (s *stream) close() {
	s.cancel()
	s.streams.remove(s)
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	if s.started && s.record != nil {
		s.record.Status = http.StatusOK
	}
}

// follow writes the task's events after a position until one that ends the stream. An error is returned only when nothing
// was written.
func (s *stream) follow(after int64) error {
	for entries, err := range s.tasks.Events(s.ctx, s.principal, s.task, after) {
		if err != nil {
			return s.broken(err)
		}
		if !s.opened {
			s.opened = true
			if entries, err = s.begin(after, entries); err != nil {
				return s.broken(err)
			}
		}
		for _, e := range entries {
			event, err := e.Event()
			if err != nil {
				return s.broken(err)
			}
			if isReply(event) {
				continue
			}
			if s.buf, err = wire.AppendFrame(s.buf, s.call, e); err != nil {
				return s.broken(err)
			}
			s.note(e.Seq)
			if endsStream(event) {
				s.flush()
				return nil
			}
			if len(s.buf) >= maxBuffer && !s.flush() {
				return nil
			}
		}
		if !s.flush() {
			return nil
		}
	}
	if !s.started && s.ctx.Err() != nil { // nothing came before the client left, or before the drain
		return closingError()
	}
	return nil
}

// endsStream reports whether nothing follows e on this stream. At AUTH_REQUIRED the agent may go on by itself.
func endsStream(e a2a.Event) bool {
	if _, ok := e.(*a2a.Message); ok {
		return true
	}
	s := a2a.EventState(e)
	return s.Terminal() || s == a2a.TaskStateInputRequired
}

// begin writes the first event and returns the entries that are left. A stream that begins in the middle of a task begins
// with the task as it stands after the caller's reply.
func (s *stream) begin(after int64, entries []*a2a.Entry) ([]*a2a.Entry, error) {
	event, err := entries[0].Event()
	if err != nil {
		return nil, err
	}
	var history *int
	if s.call.Send != nil {
		history = s.call.Send.Configuration.HistoryLength
	}
	if t, ok := event.(*a2a.Task); ok {
		if history == nil {
			return entries, nil
		}
		t = copyTask(t)
		trimHistory(t, history)
		s.buf = wire.AppendEventFrame(s.buf, s.call, entries[0].Seq, t)
		s.note(entries[0].Seq)
		return entries[1:], nil
	}
	if _, ok := event.(*a2a.Message); ok && !isReply(event) {
		return entries, nil
	}
	t, seq, err := s.snapshot(s.ctx, s.task, after)
	if err != nil {
		return nil, err
	}
	replied := false
	for len(entries) > 0 && entries[0].Seq > seq {
		event, err := entries[0].Event()
		if err != nil {
			return nil, err
		}
		_, status := event.(*a2a.StatusUpdate)
		if !isReply(event) && !(replied && status && !endsStream(event)) {
			break
		}
		fold(t, event)
		seq = entries[0].Seq
		entries = entries[1:]
		if replied = isReply(event); !replied {
			break
		}
	}
	trimHistory(t, history)
	s.buf = wire.AppendEventFrame(s.buf, s.call, seq, t)
	s.note(seq)
	return entries, nil
}

// broken tells the client that the stream cannot go on: as a plain reply when it has not begun.
func (s *stream) broken(err error) error {
	if !s.started {
		return err
	}
	if a2a.KindOf(err) == a2a.KindInternal {
		s.o.Logger.Error("stream failed", "task", s.task, "error", err)
	}
	s.buf = wire.AppendErrorFrame(s.buf, s.call, err)
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

// flush sends everything in buf with one write and reports whether the client still takes it.
func (s *stream) flush() bool {
	if len(s.buf) == 0 {
		return true
	}
	s.start()
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := s.send(s.buf)
	if s.buf = s.buf[:0]; cap(s.buf) > maxIdleBuffer {
		s.buf = nil
	}
	return ok
}

// start makes the reply a stream.
func (s *stream) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return
	}
	s.started = true
	header := s.w.Header()
	header["Content-Type"] = streamType
	header["Cache-Control"] = noCache
	header["X-Accel-Buffering"] = noBuffering
}

// maxIdleBuffer is what a silent stream may keep for its next event.
const maxIdleBuffer = 2 << 10

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
