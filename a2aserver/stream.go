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
			return s.end(s.resume(task, seq, last))
		}
	}
	return s.end(lost(s.follow(started.After)))
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
	return s.end(s.subscribe())
}

// subscribe writes what subscribe of the exchange promises.
func (s *stream) subscribe() error {
	task, seq, err := s.snapshot(s.ctx, s.task, 0)
	if err != nil {
		return err
	}
	state, last := task.Status.State, lastEventID(s.r)
	if last > 0 && (last < seq || last == seq && !state.Terminal()) {
		return s.resume(task, seq, last)
	}
	if state.Terminal() && s.call.Dialect == wire.NEW {
		return &a2a.Error{
			Kind: a2a.KindUnsupportedOperation, Message: "the task has ended; read it with GetTask",
			Metadata: map[string]string{"taskId": s.task},
		}
	}
	s.opened = true
	trimHistory(task, nil)
	s.buf = wire.AppendEventFrame(s.buf, s.call, seq, task)
	over := endsAt(state)
	if over && s.call.Dialect != wire.NEW { // an older client expects a last status update
		s.buf = wire.AppendEventFrame(s.buf, s.call, seq, &a2a.StatusUpdate{
			TaskID: task.ID, ContextID: task.ContextID, Status: task.Status,
		})
	}
	s.note(seq)
	if !s.flush() || over {
		return nil
	}
	return s.follow(seq)
}

// resume goes on behind the position last of a task that stands at seq.
func (s *stream) resume(task *a2a.Task, seq, last int64) error {
	s.opened = true
	if last == seq && endsAt(task.Status.State) {
		s.start()
		return nil
	}
	return s.follow(last)
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
	wrote  bool // at least one event
	buf    []byte

	mu      sync.Mutex   // of w
	started bool         // the reply is a stream
	done    bool         // nothing more is written, or the reply is not a stream
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
	defer s.mu.Unlock()
	s.done = true
	if s.started && s.record != nil {
		s.record.Status = http.StatusOK
	}
}

// follow writes the task's events after a position until one that ends the stream, or returns why it cannot go on.
func (s *stream) follow(after int64) error {
	for entries, err := range s.tasks.Events(s.ctx, s.principal, s.task, after) {
		if err != nil {
			return err
		}
		if !s.opened {
			s.opened = true
			if entries, err = s.begin(after, entries); err != nil {
				return err
			}
		}
		for _, e := range entries {
			event, err := e.Event()
			if err != nil {
				return err
			}
			if isReply(event) {
				continue
			}
			if s.buf, err = wire.AppendFrame(s.buf, s.call, e); err != nil {
				return err
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
	if !s.wrote && s.ctx.Err() != nil { // nothing came before the client left, or before the drain
		return closingError()
	}
	return nil
}

// endsStream reports whether nothing follows e on this stream. At AUTH_REQUIRED the agent may go on by itself.
func endsStream(e a2a.Event) bool {
	if _, ok := e.(*a2a.Message); ok {
		return true
	}
	return endsAt(a2a.EventState(e))
}

// endsAt reports whether a stream ends at a state.
func endsAt(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }

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

// end tells the client why the stream cannot go on: with a last frame, or, when the reply is not a stream yet, by handing
// err back for a plain reply. From then on it cannot become one.
func (s *stream) end(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	started := s.started
	s.done = !started
	s.mu.Unlock()
	if !started {
		return err
	}
	if a2a.KindOf(err) == a2a.KindInternal && s.ctx.Err() == nil {
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
	s.wrote = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun()
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
	s.begun()
}

// begun is start with s.mu held.
func (s *stream) begun() {
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
