package frontend

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// running is one run that is going on, folded from its events. What it shows is taken over by items when it ends, or
// earlier, piece by piece.
type running struct {
	id       string
	agent    string
	state    a2a.TaskState
	since    time.Time
	last     time.Time // of its newest event
	seq      int64     // of its newest event
	stopping bool
	refused  string // why the agent would not stop
	note     string // what it said last while working
	ended    bool
	planned  bool                // it has a plan, whose steps are runs of their own
	fault    *orchestrator.Fault // why it failed, once its end stands in the transcript
	pieces   []*piece
	asks     []*orchestrator.Ask

	// What a window does not show yet.
	hidden    bool // nothing at all: its element is not there
	headDirty bool
	markDirty bool
	noteDirty bool
	askDirty  bool // asks must be read again
	stepDirty bool // its steps must be read again
	shown     map[string]bool
}

// piece is a message or an artifact of a run. Its text streams; anything else is drawn when it comes.
type piece struct {
	id       string // of its element
	artifact a2a.Artifact
	message  bool
	segs     []*seg
	placed   bool // the page has its element
	redraw   bool // its element must be drawn again
	gone     bool // an item took its place
}

// seg is a run of text, or one part that is no text.
type seg struct {
	id     string
	part   int // of the artifact
	stream *mdStream
	text   *a2a.Part
	placed bool
}

func newRunning(r *orchestrator.Run) *running {
	run := &running{id: r.ID, agent: r.To, state: r.State, since: r.Created, last: r.Updated, hidden: true, askDirty: true, stepDirty: true, shown: map[string]bool{}}
	if run.state == a2a.TaskStateUnspecified {
		run.state = a2a.TaskStateSubmitted
	}
	return run
}

// apply folds one event in.
func (r *running) apply(e *orchestrator.Event, m *markdown, id func() string) error {
	if e.Seq <= r.seq || r.ended {
		return nil
	}
	r.seq, r.last = e.Seq, e.At
	switch e.Kind {
	case orchestrator.EventTask, orchestrator.EventMessage, orchestrator.EventStatus, orchestrator.EventArtifact:
		ev, err := e.Event()
		if err != nil {
			return err
		}
		r.applyA2A(ev, m, id)
	case orchestrator.EventPlanned, orchestrator.EventSending, orchestrator.EventSent:
		r.stepDirty = true
	case orchestrator.EventAsked, orchestrator.EventAnswered:
		r.askDirty = true
	case orchestrator.EventStopping:
		r.stopping, r.refused, r.headDirty = true, "", true
	case orchestrator.EventFault:
		r.applyFault(e.JSON)
	}
	return nil
}

func (r *running) applyA2A(ev a2a.Event, m *markdown, id func() string) {
	switch ev := ev.(type) {
	case *a2a.Task:
		for i := range ev.Artifacts {
			r.artifact(&ev.Artifacts[i], false, m, id)
		}
		r.status(&ev.Status)
	case *a2a.StatusUpdate:
		r.status(&ev.Status)
	case *a2a.ArtifactUpdate:
		r.artifact(&ev.Artifact, ev.Append, m, id)
	case *a2a.Message:
		if ev.Role == a2a.RoleUser {
			return
		}
		r.artifact(&a2a.Artifact{ID: "message " + ev.ID, Parts: ev.Parts}, false, m, id)
		r.pieces[len(r.pieces)-1].message = true
		r.state, r.ended = a2a.TaskStateCompleted, true
	}
}

func (r *running) status(st *a2a.TaskStatus) {
	if st.State != a2a.TaskStateUnspecified && st.State != r.state {
		r.state, r.headDirty = st.State, true
		if st.State.Terminal() {
			r.ended, r.stopping = true, false
		}
		if st.State.Interrupted() {
			r.askDirty = true
		}
	}
	note := ""
	if st.Message != nil && !st.State.Interrupted() && !st.State.Terminal() {
		note = strings.TrimSpace(a2a.Text(st.Message.Parts))
	}
	if note != r.note && (note != "" || st.State.Interrupted() || st.State.Terminal()) {
		r.note, r.noteDirty = note, true
	}
}

// applyFault reads what an agent said to our cancelling; other faults are shown by what follows from them.
func (r *running) applyFault(body []byte) {
	var f struct {
		Class string              `json:"class"`
		Fault *orchestrator.Fault `json:"fault"`
	}
	if json.Unmarshal(body, &f) != nil || f.Fault == nil {
		return
	}
	if f.Class == "cancel" || r.stopping {
		r.stopping, r.refused, r.headDirty = false, f.Fault.What, true
	}
}

// artifact puts an artifact, or more of one, among the pieces.
func (r *running) artifact(a *a2a.Artifact, more bool, m *markdown, id func() string) {
	var p *piece
	for _, q := range r.pieces {
		if q.artifact.ID == a.ID {
			p = q
		}
	}
	switch {
	case p == nil:
		p = &piece{id: id(), artifact: a2a.Artifact{ID: a.ID}}
		r.pieces = append(r.pieces, p)
	case !more:
		p.artifact = a2a.Artifact{ID: a.ID}
		p.segs, p.redraw = nil, p.placed
	}
	if a.Name != "" {
		p.artifact.Name = a.Name
	}
	for i := range a.Parts {
		p.add(&a.Parts[i], m, id)
	}
}

func (p *piece) add(part *a2a.Part, m *markdown, id func() string) {
	p.artifact.Parts = append(p.artifact.Parts, *part)
	if n := len(p.segs); n > 0 && p.segs[n-1].text != nil && joins(p.segs[n-1].text, part) {
		p.segs[n-1].stream.write(part.Text)
		return
	}
	g := &seg{id: id(), part: len(p.artifact.Parts) - 1}
	if part.Kind == a2a.PartText && prose(part) {
		g.text, g.stream = part, &mdStream{m: m, id: g.id}
		g.stream.write(part.Text)
	}
	p.segs = append(p.segs, g)
}

// prose reports whether a text part is Markdown as far as it says.
func prose(p *a2a.Part) bool {
	switch mediaType(p.MediaType) {
	case "", "text/plain", "text/markdown":
		return p.Filename == "" || strings.HasSuffix(strings.ToLower(p.Filename), ".md")
	}
	return false
}

// settle takes out what an item now shows. It reports whether the item took the place of something.
func (r *running) settle(it *orchestrator.Item) *piece {
	switch it.Kind {
	case orchestrator.ItemArtifact:
		var d orchestrator.ArtifactData
		_ = json.Unmarshal(it.Data, &d)
		for _, p := range r.pieces {
			if !p.gone && p.artifact.ID == d.ArtifactID {
				p.gone = true
				return p
			}
		}
	case orchestrator.ItemEnd:
		var d orchestrator.EndData
		_ = json.Unmarshal(it.Data, &d)
		r.fault = d.Fault
	case orchestrator.ItemAgent:
		text := strings.TrimSpace(it.Text)
		for _, p := range r.pieces {
			if !p.gone && strings.TrimSpace(a2a.Text(p.artifact.Parts)) == text {
				p.gone = true
				return p
			}
		}
	}
	return nil
}

// block draws a segment as it stands now.
func (s *Site) segBlock(ctx context.Context, r *running, p *piece, g *seg) view.Block {
	if g.stream != nil {
		blocks, tail := g.stream.html()
		return view.Block{Kind: view.BlockStream, ID: g.id, HTML: blocks, Tail: tail}
	}
	one := a2a.Artifact{ID: p.artifact.ID, Name: p.artifact.Name, Parts: p.artifact.Parts[g.part : g.part+1]}
	bs := s.blocks(ctx, &one, func(int) string { return partHref(r.id, p.artifact.ID)(g.part) })
	if len(bs) == 0 {
		return view.Block{Kind: view.BlockPlain}
	}
	return bs[0]
}

// drawPiece draws a piece whole.
func (s *Site) drawPiece(ctx context.Context, r *running, p *piece) string {
	var b strings.Builder
	b.WriteString(`<div class="pass" id="` + p.id + `">`)
	for _, g := range p.segs {
		b.WriteString(draw(ctx, view.BlockView(s.segBlock(ctx, r, p, g))))
	}
	b.WriteString("</div>")
	return b.String()
}

func (s *Site) openRun(ctx context.Context, r *running) view.OpenRun {
	st := view.TaskState(ctx, r.state)
	if r.stopping {
		st = view.Stopping(ctx)
	}
	return view.OpenRun{ID: r.id, Speaker: s.speaker(ctx, r.agent), State: st, Since: r.clock(), Step: s.stepOf(ctx, r.id)}
}

// clock is since when the run has been going on; zero while it waits for a person.
func (r *running) clock() time.Time {
	if r.state.Interrupted() || r.state.Terminal() {
		return time.Time{}
	}
	return r.since
}

func (s *Site) pulse(ctx context.Context, r *running) view.Pulse {
	o := s.openRun(ctx, r)
	u := view.Pulse{
		RunID: r.id, State: o.State, Agent: o.Speaker.Name, Since: r.clock(), Last: r.last, Stopping: r.stopping, Refused: r.refused,
	}
	if len(r.asks) > 0 {
		u.AskID = r.asks[0].ID
	}
	return u
}

// ids hands out element ids within a room.
func ids() func() string {
	n := 0
	return func() string { n++; return "p" + strconv.Itoa(n) }
}
