// Package tail is what a store keeps of its log in memory: the newest events, for all who follow it. A follower is a
// cursor. It never delays the writer or another follower, and what it holds is bounded: near the end of the log it shares
// the events with all others, further behind it reads pages from the store.
package tail

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"

	"parley/a2a"
	"parley/orchestrator"
)

// What is kept in memory of the newest events, of the whole log and of each stream that has followers.
const (
	tailEvents = 2048
	tailBytes  = 4 << 20
)

// keptChanges bounds the hints that wait for one reader of Changes; more are lost.
const keptChanges = 1024

// Stream names the events of a run, or of a conversation.
type Stream struct {
	Conversation bool
	ID           string
}

// Page reads the events of a stream with Seq > after from the store, oldest first; more says that there may be others
// behind them.
type Page func(ctx context.Context, s Stream, after int64) (page []*orchestrator.Event, more bool, err error)

// ErrClosed ends those who follow a store that is closed.
var ErrClosed = &a2a.Error{Kind: a2a.KindUnavailable, Message: "Parley is shutting down."}

// Hub hands committed events to those who follow, without ever waiting for one of them.
type Hub struct {
	mu       sync.Mutex
	closed   bool
	head     int64 // of the last group that was published
	recent   tail  // of the whole log, so that who starts to follow near its end need not read the file
	tails    map[Stream]*tail
	births   int64   // tails made so far
	grown    []*tail // since the last wake
	watchers map[*watcher]struct{}
}

// tail is the newest events of a stream: all with Seq > from.
type tail struct {
	events    []*orchestrator.Event
	from      int64
	bytes     int
	born      int64 // Hub.births
	followers []*follower
}

// follower is woken when its tail grew.
type follower struct {
	h    *Hub
	s    Stream
	t    *tail
	wake chan struct{}
}

// watcher is a reader of Changes.
type watcher struct {
	changes []orchestrator.Change
	known   map[orchestrator.Change]bool // changes, to merge what is the same
	wake    chan struct{}
}

// New makes a hub of a log whose newest event is head.
func New(head int64) *Hub {
	return &Hub{head: head, recent: tail{from: head}, tails: map[Stream]*tail{}, watchers: map[*watcher]struct{}{}}
}

// Head returns the Seq of the newest event that is published.
func (h *Hub) Head() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// add appends an event. The slices handed out before are not touched: they end before it.
func (t *tail) add(e *orchestrator.Event) {
	t.events = append(t.events, e)
	t.bytes += len(e.JSON)
	n := 0
	for len(t.events)-n > tailEvents || t.bytes > tailBytes {
		t.from = t.events[n].Seq
		t.bytes -= len(t.events[n].JSON)
		n++
	}
	if n > 0 {
		t.events = t.events[n:]
	}
}

// after returns the events with Seq > seq; ok is false when the tail does not reach back to there.
func (t *tail) after(seq int64) (events []*orchestrator.Event, ok bool) {
	if seq < t.from {
		return nil, false
	}
	i := sort.Search(len(t.events), func(i int) bool { return t.events[i].Seq > seq })
	return slices.Clip(t.events[i:]), true
}

// Publish makes committed events visible. Those who wait for them are woken later.
func (h *Hub) Publish(events []*orchestrator.Event, head int64) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = head
	for _, e := range events {
		h.recent.add(e)
		if len(h.tails) == 0 {
			continue
		}
		if t := h.tails[Stream{ID: e.RunID}]; t != nil {
			h.grow(t, e)
		}
		if e.ConversationID == "" {
			continue
		}
		if t := h.tails[Stream{true, e.ConversationID}]; t != nil {
			h.grow(t, e)
		}
	}
}

// Followed returns the streams that are followed now, and a mark of this moment for PublishFollowed.
func (h *Hub) Followed() (runs, conversations []string, mark int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.tails {
		if s.Conversation {
			conversations = append(conversations, s.ID)
		} else {
			runs = append(runs, s.ID)
		}
	}
	return runs, conversations, h.births
}

// PublishFollowed makes visible what others wrote up to head: events has those of the streams that were followed at the
// mark, and may be without all the rest. Who began to follow since reads up to head from the store.
func (h *Hub) PublishFollowed(mark int64, events []*orchestrator.Event, head int64) {
	h.Publish(events, head)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = max(h.head, head)
	h.recent.restart(head)
	for _, t := range h.tails {
		if t.born > mark {
			t.restart(head)
			if n := len(h.grown); n == 0 || h.grown[n-1] != t {
				h.grown = append(h.grown, t)
			}
		}
	}
}

// restart forgets all events: up to seq they are in the store.
func (t *tail) restart(seq int64) { t.events, t.bytes, t.from = nil, 0, seq }

func (h *Hub) grow(t *tail, e *orchestrator.Event) {
	t.add(e)
	if n := len(h.grown); n == 0 || h.grown[n-1] != t {
		h.grown = append(h.grown, t)
	}
}

// Wake wakes those whose events were published since the last time.
func (h *Hub) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.grown {
		t.notify()
	}
	clear(h.grown)
	h.grown = h.grown[:0]
}

func (t *tail) notify() {
	for _, f := range t.followers {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// follow begins to follow a stream, for a reader that has everything up to seq.
func (h *Hub) follow(s Stream, seq int64) *follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[s]
	if t == nil {
		t = &tail{from: max(min(seq, h.head), h.recent.from)} // a cursor may be ahead of the log
		recent, _ := h.recent.after(t.from)
		for _, e := range recent {
			if s.holds(e) {
				t.add(e)
			}
		}
		h.births++
		t.born = h.births
		h.tails[s] = t
	}
	f := &follower{h: h, s: s, t: t, wake: make(chan struct{}, 1)}
	t.followers = append(t.followers, f)
	return f
}

func (s Stream) holds(e *orchestrator.Event) bool {
	if s.Conversation {
		return e.ConversationID == s.ID
	}
	return e.RunID == s.ID
}

func (f *follower) leave() {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	f.t.followers = slices.DeleteFunc(f.t.followers, func(g *follower) bool { return g == f })
	if len(f.t.followers) == 0 {
		delete(f.h.tails, f.s)
	}
}

// next returns what the tail has after seq. When it does not reach back to there, ok is false and from is where it
// begins: everything up to from is in the file.
func (f *follower) next(seq int64) (events []*orchestrator.Event, from int64, ok, closed bool) {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	events, ok = f.t.after(seq)
	return events, f.t.from, ok, f.h.closed
}

// Erased drops the events of streams that are no more.
func (h *Hub) Erased(gone func(*orchestrator.Event) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range append(slices.Collect(maps.Values(h.tails)), &h.recent) {
		t.events = slices.DeleteFunc(slices.Clone(t.events), gone)
		t.bytes = 0
		for _, e := range t.events {
			t.bytes += len(e.JSON)
		}
	}
}

// Changed tells the readers of Changes.
func (h *Hub) Changed(changes []orchestrator.Change) {
	if len(changes) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		for _, c := range changes {
			if len(w.changes) < keptChanges && !w.known[c] {
				w.known[c] = true
				w.changes = append(w.changes, c)
			}
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Close ends all followers and watchers.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.tails {
		t.notify()
	}
	for w := range h.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Changes yields hints of what changed until ctx is done or the hub is closed.
func (h *Hub) Changes(ctx context.Context) iter.Seq[orchestrator.Change] {
	return func(yield func(orchestrator.Change) bool) {
		w := &watcher{known: map[orchestrator.Change]bool{}, wake: make(chan struct{}, 1)}
		h.mu.Lock()
		h.watchers[w] = struct{}{}
		h.mu.Unlock()
		defer func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.watchers, w)
		}()
		for {
			h.mu.Lock()
			changes, closed := w.changes, h.closed
			w.changes = nil
			clear(w.known)
			h.mu.Unlock()
			for _, c := range changes {
				if ctx.Err() != nil || !yield(c) {
					return
				}
			}
			if closed {
				return
			}
			select {
			case <-w.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}
