package frontend

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/frontend/view"
	"parley/orchestrator"
)

const (
	flushEvery = 40 * time.Millisecond // how often at most a window is told anything
	retryAfter = time.Second           // after a read of the store that failed
)

// rooms are the conversations that somebody looks at.
type rooms struct {
	site *Site
	mu   sync.Mutex
	open map[string]*room
}

// room follows one conversation and turns what happens into frames, once for all of its windows.
type room struct {
	*feed
	site  *Site
	conv  string
	name  string // of this fold; frames of another one do not continue it
	users int
	timer *time.Timer
	ctx   context.Context // of this room; what windows are shown never depends on who asked first
	stop  context.CancelFunc
	ready chan struct{} // closed when it has been folded
	err   error         // why it could not be

	dirty chan struct{}

	state     sync.Mutex // of what follows
	runs      []*running
	past      map[string]bool // runs that have ended while this was open
	id        func() string
	tr        transcript
	title     string
	spoken    []string // the agents whose flags are beside it
	pinned    bool
	queued    string // HTML of what waits to be said
	itemDirty bool
	metaDirty bool
	pulseKey  string
	lost      bool // windows must load the page again
}

// get returns the room of a conversation, folded; the caller calls put.
func (rs *rooms) get(ctx context.Context, conversation string) (*room, error) {
	rs.mu.Lock()
	r := rs.open[conversation]
	if r == nil {
		if !rs.site.enter() {
			rs.mu.Unlock()
			return nil, context.Cause(rs.site.ctx)
		}
		r = &room{
			feed: newFeed(), site: rs.site, conv: conversation, name: newID(),
			ready: make(chan struct{}), dirty: make(chan struct{}, 1), id: ids(), past: map[string]bool{}, tr: transcript{site: rs.site},
		}
		rs.open[conversation] = r
		r.ctx, r.stop = context.WithCancel(rs.site.ctx)
		go func() {
			defer rs.site.wg.Done()
			r.run(r.ctx)
		}()
	}
	r.users++
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	rs.mu.Unlock()
	select {
	case <-r.ready:
		if r.err != nil {
			rs.put(r)
			return nil, r.err
		}
		return r, nil
	case <-ctx.Done():
		rs.put(r)
		return nil, ctx.Err()
	}
}

// put gives a room back. The last one out leaves it open for a while: the next page comes soon.
func (rs *rooms) put(r *room) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.users--
	if r.users > 0 {
		return
	}
	linger := rs.site.opts.Linger
	if r.err != nil {
		linger = 0
	}
	r.timer = time.AfterFunc(linger, func() {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		if r.users == 0 && rs.open[r.conv] == r {
			delete(rs.open, r.conv)
			r.stop()
		}
	})
}

// touch tells a room that something other than its events changed.
func (rs *rooms) touch(conversation string) {
	rs.mu.Lock()
	r := rs.open[conversation]
	rs.mu.Unlock()
	if r == nil {
		return
	}
	r.state.Lock()
	r.itemDirty, r.metaDirty = true, true
	r.state.Unlock()
	r.mark()
}

func (r *room) mark() {
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// run folds the conversation as it stands and follows it until ctx ends.
func (r *room) run(ctx context.Context) {
	head, err := r.load(ctx)
	r.err = err
	close(r.ready)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.flushes(ctx) })
	defer wg.Wait()
	for ctx.Err() == nil {
		err := r.follow(ctx, &head)
		if ctx.Err() != nil {
			return
		}
		r.site.log.ErrorContext(ctx, "conversation not followed", "conversation", r.conv, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// follow folds the events after head, which it moves on.
func (r *room) follow(ctx context.Context, head *int64) error {
	for es, err := range r.site.store.FollowConversation(ctx, r.conv, *head) {
		if err != nil {
			return err
		}
		r.state.Lock()
		for _, e := range es {
			r.fold(ctx, e)
			*head = e.Seq
		}
		r.state.Unlock()
		r.mark()
	}
	return errors.New("the log ended")
}

// load folds the conversation as it stands. The room can be touched already.
func (r *room) load(ctx context.Context) (head int64, err error) {
	ctx = r.site.spoken(ctx)
	r.state.Lock()
	defer r.state.Unlock()
	st := r.site.store
	c, err := st.Conversation(ctx, r.conv)
	if err != nil {
		return 0, err
	}
	r.title, r.pinned = titleOf(ctx, c), c.Pinned
	r.queued = draw(ctx, view.QueueList(r.site.queueView(ctx, r.conv)))
	if head, err = st.Head(ctx); err != nil {
		return 0, err
	}
	runs, err := st.RunsOf(ctx, r.conv)
	if err != nil {
		return 0, err
	}
	for _, row := range runs {
		if err := r.add(ctx, row); err != nil {
			return 0, err
		}
	}
	items, err := st.Items(ctx, r.conv, 0, pageItems)
	if err != nil {
		return 0, err
	}
	for _, it := range items {
		r.settle(it)
	}
	r.tr.items(ctx, items)
	r.spoken = spoken(nil, items)
	r.flush(ctx)
	return head, nil
}

// add folds an open run from its events.
func (r *room) add(ctx context.Context, row *orchestrator.Run) error {
	run := newRunning(row)
	for es, err := range r.site.store.ReadRun(ctx, row.ID, 0) {
		if err != nil {
			return err
		}
		for _, e := range es {
			if err := run.apply(e, r.site.md, r.id); err != nil {
				return err
			}
		}
	}
	if run.ended {
		r.past[run.id] = true
		return nil
	}
	r.runs = append(r.runs, run)
	return nil
}

func (r *room) find(id string) *running {
	for _, run := range r.runs {
		if run.id == id {
			return run
		}
	}
	return nil
}

// fold takes in one event. A run that is not known yet is read whole; one that has ended is left alone.
func (r *room) fold(ctx context.Context, e *orchestrator.Event) {
	if r.past[e.RunID] {
		return
	}
	run := r.find(e.RunID)
	if run == nil {
		r.itemDirty = true
		row, err := r.site.store.Run(ctx, e.RunID)
		if err == nil {
			err = r.add(ctx, row)
		}
		if err != nil {
			r.site.log.ErrorContext(ctx, "run not read", "run", e.RunID, "error", err)
		}
		return
	}
	if err := run.apply(e, r.site.md, r.id); err != nil {
		r.site.log.WarnContext(ctx, "event not understood", "run", e.RunID, "seq", e.Seq, "error", err)
	}
	// Items come with what ends something; words and progress alone bring none.
	if !e.Kind.A2A() || run.ended || run.state.Interrupted() {
		r.itemDirty = true
	}
}

func (r *room) settle(it *orchestrator.Item) *piece {
	if run := r.find(it.RunID); run != nil {
		return run.settle(it)
	}
	return nil
}
