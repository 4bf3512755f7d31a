package frontend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/frontend/view"
	"parley/orchestrator"
)

// flushes publishes what changed, at most every flushEvery.
func (r *room) flushes(ctx context.Context) {
	timer := time.NewTimer(0)
	<-timer.C
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
		}
		r.state.Lock()
		r.flush(ctx)
		r.state.Unlock()
		timer.Reset(flushEvery)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// flush publishes one frame of what the windows do not show yet, if there is anything. r.state is held.
func (r *room) flush(ctx context.Context) {
	ctx = r.site.spoken(ctx)
	var ops []op
	if r.metaDirty {
		r.metaDirty = false
		ops = r.flushMeta(ctx, ops)
	}
	last := r.tr.last
	if r.itemDirty {
		r.itemDirty = false
		ops = r.flushItems(ctx, ops)
	}
	for _, plan := range r.outline(ctx).plan {
		if run := r.find(plan); run != nil {
			run.planned = true
		}
	}
	for _, run := range r.runs {
		ops = r.flushRun(ctx, run, ops)
	}
	r.runs = slices.DeleteFunc(r.runs, func(run *running) bool {
		if run.ended {
			r.past[run.id] = true
		}
		return run.ended
	})
	if html, key := r.pulses(ctx); key != r.pulseKey {
		r.pulseKey = key
		ops = append(ops, op{"i", "pulse", html})
	}
	if len(ops) == 0 && r.tr.last == last && !r.lost {
		return
	}
	lost := r.lost
	r.lost = false
	r.publish(&frame{Room: r.name, Last: r.tr.last, Ops: ops, Reload: lost})
}

// titled names the chat wherever its page does.
func (r *room) titled(ctx context.Context) []op {
	return []op{{"r", "title", draw(ctx, view.Title(r.title))}, {"r", "delete-chat-what", draw(ctx, view.DeleteWords(r.title))}}
}

func (r *room) flags(ctx context.Context) op {
	return op{"r", "flags", draw(ctx, view.ChatFlags(r.site.links(ctx, r.spoken)))}
}

func (r *room) flushMeta(ctx context.Context, ops []op) []op {
	c, err := r.site.store.Conversation(ctx, r.conv)
	if errors.Is(err, orchestrator.ErrNotFound) {
		r.lost = true
		return ops
	}
	if err == nil && titleOf(ctx, c) != r.title {
		r.title = titleOf(ctx, c)
		ops = append(ops, r.titled(ctx)...)
	}
	if err == nil && c.Pinned != r.pinned {
		r.pinned = c.Pinned
		ops = append(ops, op{"r", "pin", draw(ctx, view.PinButton(r.conv, r.pinned))})
	}
	if html := draw(ctx, view.QueueList(r.site.queueView(ctx, r.conv))); html != r.queued {
		r.queued = html
		ops = append(ops, op{"i", "queue", html})
	}
	return ops
}

// flushItems draws the items that were finished since, and takes out of the open runs what they show.
func (r *room) flushItems(ctx context.Context, ops []op) []op {
	items, err := r.since(ctx, r.tr.last)
	if err != nil {
		if ctx.Err() == nil {
			r.site.log.ErrorContext(ctx, "items not read", "conversation", r.conv, "error", err)
			r.itemDirty = true
			time.AfterFunc(retryAfter, r.mark)
		}
		return ops
	}
	if items == nil {
		return ops
	}
	for _, it := range items {
		if p := r.settle(it); p != nil && p.placed {
			ops = append(ops, op{"x", p.id})
		}
	}
	if now := spoken(r.spoken, items); len(now) > len(r.spoken) {
		r.spoken = now
		ops = append(ops, r.flags(ctx))
	}
	return append(ops, op{"a", "items", r.tr.items(ctx, items)})
}

// since returns the items after last, oldest first.
func (r *room) since(ctx context.Context, last int64) ([]*orchestrator.Item, error) {
	return itemsSince(ctx, r.site.store, r.conv, last, 10*pageItems)
}

// itemsSince returns at most n items after last, oldest first.
func itemsSince(ctx context.Context, st orchestrator.Store, conversation string, last int64, n int) ([]*orchestrator.Item, error) {
	var all []*orchestrator.Item
	before := int64(0)
	for len(all) < n {
		items, err := st.Items(ctx, conversation, before, pageItems)
		if err != nil {
			return nil, err
		}
		i, _ := slices.BinarySearchFunc(items, last+1, func(it *orchestrator.Item, id int64) int { return int(it.ID - id) })
		all = append(slices.Clone(items[i:]), all...)
		if i > 0 || len(items) < pageItems {
			break
		}
		before = items[0].ID
	}
	return all, nil
}

// flushRun adds what changed about one run.
func (r *room) flushRun(ctx context.Context, run *running, ops []op) []op {
	r.refresh(ctx, run)
	s := r.site
	if run.ended {
		if !run.hidden {
			ops = append(ops, op{"x", "run-" + run.id})
		}
		return append(ops, op{"s", "", view.T(ctx, "%s: %s", s.speaker(ctx, run.agent).Name, view.EndState(ctx, run.state, run.fault).Word)})
	}
	if run.quiet() {
		if !run.hidden {
			run.hidden = true
			ops = append(ops, op{"x", "run-" + run.id})
		}
		return ops
	}
	if run.hidden {
		ops = append(ops, op{"a", "open", r.drawRun(ctx, run)})
		run.hidden, run.headDirty, run.markDirty, run.noteDirty = false, false, false, false
		return r.announce(ctx, run, ops)
	}
	o := s.openRun(ctx, run)
	if run.markDirty {
		run.markDirty = false
		ops = append(ops, op{"r", "run-" + run.id + "-mark", draw(ctx, view.RunningMark(o))})
		run.headDirty = true
	}
	if run.headDirty {
		run.headDirty = false
		ops = append(ops, op{"r", "run-" + run.id + "-head", draw(ctx, view.RunningHead(o, s.now()))})
		ops = r.announce(ctx, run, ops)
	}
	for _, p := range run.pieces {
		ops = r.flushPiece(ctx, run, p, ops)
	}
	if run.noteDirty {
		run.noteDirty = false
		ops = append(ops, op{"i", "run-" + run.id + "-note", s.md.HTML(run.note)})
	}
	return r.flushAsks(ctx, run, ops)
}

// quiet reports whether a run has nothing to show but that its steps go on, which they say themselves.
func (run *running) quiet() bool {
	return run.planned && len(run.asks) == 0 && run.note == "" && !slices.ContainsFunc(run.pieces, func(p *piece) bool { return !p.gone })
}

func (r *room) announce(ctx context.Context, run *running, ops []op) []op {
	o := r.site.openRun(ctx, run)
	return append(ops, op{"s", "", view.T(ctx, "%s: %s", o.Speaker.Name, o.State.Word)})
}

// refresh reads the rows that events pointed at.
func (r *room) refresh(ctx context.Context, run *running) {
	if run.stepDirty {
		run.stepDirty = false
		if steps, err := r.site.store.Steps(ctx, run.id); err == nil && len(steps) > 0 {
			if a := steps[len(steps)-1].AgentID; a != "" && a != run.agent {
				run.agent, run.markDirty = a, true
			}
		}
	}
	if run.askDirty {
		run.askDirty = false
		if asks, err := r.site.store.OpenAsks(ctx, run.id); err == nil {
			run.asks = asks
			run.headDirty = true
		}
	}
}

func (r *room) flushPiece(ctx context.Context, run *running, p *piece, ops []op) []op {
	s := r.site
	if p.gone {
		return ops
	}
	if !p.placed || p.redraw {
		for _, g := range p.segs {
			if g.stream != nil {
				g.stream.flush()
			}
			g.placed = true
		}
		html := s.drawPiece(ctx, run, p)
		if p.placed {
			ops = append(ops, op{"r", p.id, html})
		} else {
			ops = append(ops, op{"a", "run-" + run.id + "-body", html})
		}
		p.placed, p.redraw = true, false
		return ops
	}
	for _, g := range p.segs {
		if g.stream == nil || !g.placed {
			if !g.placed {
				if g.stream != nil {
					g.stream.flush()
				}
				g.placed = true
				ops = append(ops, op{"a", p.id, draw(ctx, view.BlockView(s.segBlock(ctx, run, p, g)))})
			}
			continue
		}
		c := g.stream.flush()
		if c.blocks != "" {
			ops = append(ops, op{"b", g.id + "-t", c.blocks})
		}
		if c.newTail {
			ops = append(ops, op{"i", g.id + "-t", c.tail})
		}
		if c.text != "" {
			ops = append(ops, op{"t", g.id + "-f", c.text})
		}
	}
	return ops
}

func (r *room) flushAsks(ctx context.Context, run *running, ops []op) []op {
	open := map[string]bool{}
	for _, a := range run.asks {
		open[a.ID] = true
		if !run.shown[a.ID] {
			run.shown[a.ID] = true
			ops = append(ops, op{"a", "run-" + run.id + "-asks", draw(ctx, view.AskCard(r.site.askView(ctx, a), r.site.now()))})
		}
	}
	for id := range run.shown {
		if !open[id] {
			delete(run.shown, id)
			ops = append(ops, op{"x", "ask-" + id})
		}
	}
	return ops
}

// drawRun draws a run whole, as far as it was flushed; what it draws counts as shown.
func (r *room) drawRun(ctx context.Context, run *running) string {
	s := r.site
	o := s.openRun(ctx, run)
	var body strings.Builder
	for _, p := range run.pieces {
		if p.gone {
			continue
		}
		for _, g := range p.segs {
			if g.stream != nil {
				g.stream.flush()
			}
			g.placed = true
		}
		p.placed, p.redraw = true, false
		body.WriteString(s.drawPiece(ctx, run, p))
	}
	o.Body, o.Note = body.String(), s.md.HTML(run.note)
	for _, a := range run.asks {
		run.shown[a.ID] = true
		o.Asks = append(o.Asks, s.askView(ctx, a))
	}
	return draw(ctx, view.Running(o, s.now()))
}

// outline says which of the open runs are steps of others of them.
type outline struct {
	plan  map[string]string // by the run of a step: the run that has it in its plan
	title map[string]string // of the step
}

func (r *room) outline(ctx context.Context) outline {
	o := outline{map[string]string{}, map[string]string{}}
	for _, run := range r.runs {
		if _, plan, title := r.site.partOf(ctx, run.id); r.find(plan) != nil {
			o.plan[run.id], o.title[run.id] = plan, title
		}
	}
	return o
}

// top returns the run that a run is a step of, over as many plans as there are in one another; "" for one that is no step.
func (o outline) top(run string) string {
	top := o.plan[run]
	for range planDepth {
		if o.plan[top] == "" {
			break
		}
		top = o.plan[top]
	}
	return top
}

// pulses draws the strips above the composer. The key tells when they changed: their clocks go on in the page. What a step
// does or waits for, its plan does: that is one strip, the plan's, which names the steps.
func (r *room) pulses(ctx context.Context) (html, key string) {
	o := r.outline(ctx)
	steps := map[string][]*running{} // by the run at their top
	for _, run := range r.runs {
		if top := o.top(run.id); top != "" {
			steps[top] = append(steps[top], run)
		}
	}
	var b, k strings.Builder
	for _, run := range r.runs {
		if o.plan[run.id] != "" {
			continue
		}
		u := r.pulse(ctx, run, steps[run.id], o)
		b.WriteString(draw(ctx, view.PulseRow(u, r.site.now())))
		u.Last = time.Time{}
		fmt.Fprintf(&k, "%+v\n", u)
	}
	return b.String(), k.String()
}

// pulse is the strip of a run with what its steps do.
func (r *room) pulse(ctx context.Context, run *running, steps []*running, o outline) view.Pulse {
	u := r.site.pulse(ctx, run)
	for _, step := range steps {
		v := r.site.pulse(ctx, step)
		if v.Last.After(u.Last) {
			u.Last = v.Last
		}
		if u.AskID == "" && v.AskID != "" {
			u.State, u.Since, u.AskID, u.Agent = v.State, v.Since, v.AskID, v.Agent
		}
		u.Refused = cmp.Or(u.Refused, v.Refused)
		if title := o.title[step.id]; o.plan[step.id] == run.id && title != "" && !slices.Contains(u.Steps, title) {
			u.Steps = append(u.Steps, title)
		}
	}
	if len(u.Steps) > 0 {
		u.Panel = panelOf(r.conv, run.id)
	}
	return u
}

// snapshot is the whole of what goes on, and the frame it stands at.
type snapshot struct {
	open, pulse string
	last, seq   int64
}

// shot flushes and returns a snapshot, so that frames after its seq continue it exactly.
func (r *room) shot() snapshot {
	ctx := r.site.spoken(r.ctx)
	r.state.Lock()
	defer r.state.Unlock()
	r.flush(ctx)
	var b strings.Builder
	for _, run := range r.runs {
		if !run.hidden { // flush left it out
			b.WriteString(r.drawRun(ctx, run))
		}
	}
	pulse, _ := r.pulses(ctx)
	return snapshot{open: b.String(), pulse: pulse, last: r.tr.last, seq: r.head()}
}

// catchUp returns the frame that brings a window whose newest item is last to where the room stands.
func (r *room) catchUp(last int64) (*frame, error) {
	ctx := r.site.spoken(r.ctx)
	r.state.Lock()
	defer r.state.Unlock()
	r.flush(ctx)
	f := &frame{Room: r.name, Seq: r.head(), Last: r.tr.last}
	if last < r.tr.last {
		items, err := itemsSince(ctx, r.site.store, r.conv, last, pageItems+1)
		if err != nil {
			return nil, err
		}
		if len(items) > pageItems {
			f.Reload = true
			return f, nil
		}
		tr := transcript{site: r.site}
		f.Ops = append(f.Ops, op{"a", "items", tr.items(ctx, items)})
	}
	var b strings.Builder
	for _, run := range r.runs {
		if !run.hidden { // flush left it out
			b.WriteString(r.drawRun(ctx, run))
		}
	}
	pulse, _ := r.pulses(ctx)
	f.Ops = append(f.Ops, op{"i", "open", b.String()}, op{"i", "pulse", pulse}, op{"i", "queue", r.queued}, r.flags(ctx))
	f.Ops = append(f.Ops, r.titled(ctx)...)
	return f, nil
}
