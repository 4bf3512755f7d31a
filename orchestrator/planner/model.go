package planner

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/planner/completions"
)

// Model is a Decider that asks a language model. What the model answers is checked by code: it can name agents that are
// approved, pass on artifacts that exist, ask the person, and finish, within bounds; nothing else comes of it, whatever
// agents wrote into what it reads. It is given no credential, and none is within its reach.
//
// An answer that cannot be carried out is given back to the model once, with what is wrong. Where that does not help, or
// the model cannot be asked, the cards decide, and Decision.Fallback says why. It is safe for concurrent use.
type Model struct {
	client *completions.Client
	name   string
	o      ModelOptions
	cards  Cards

	written atomic.Bool // the endpoint calls no tools: the model is told to write them
	fault   atomic.Pointer[orchestrator.Fault]
}

// ModelOptions are those of NewModel. The zero value of a field means the default that its comment gives.
type ModelOptions struct {
	Logger *slog.Logger  // discard
	Time   time.Duration // of a decision, with all its attempts: 5 min

	// Fits says whether data is what the JSON Schema of a question wants. Nil: questions with a schema are left to the person.
	Fits func(schema, data json.RawMessage) error
}

// NewModel returns a Decider that asks the model of that name.
func NewModel(c *completions.Client, name string, o *ModelOptions) *Model {
	m := &Model{client: c, name: name}
	if o != nil {
		m.o = *o
	}
	if m.o.Logger == nil {
		m.o.Logger = slog.New(slog.DiscardHandler)
	}
	if m.o.Time == 0 {
		m.o.Time = 5 * time.Minute
	}
	return m
}

var _ Decider = (*Model)(nil)

// Fault is what the last decision or reply met with; nil when the model gave it.
func (m *Model) Fault() *orchestrator.Fault { return m.fault.Load() }

// Decide asks the model. The error is ctx's, or a *orchestrator.Fault when the cards, too, do not know how to go on.
func (m *Model) Decide(ctx context.Context, b *Brief) (*Decision, error) {
	if b.Left < 1 || len(b.usable()) == 0 && len(b.Rounds) == 0 {
		return m.cards.Decide(ctx, b)
	}
	t := m.newTalk()
	d, err := m.decide(ctx, b, t)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		m.fault.Store(nil)
		d.Usage, d.Model = t.used(), m.name
		return d, nil
	}
	f := faultOf(err, m.name)
	m.fault.Store(f)
	m.o.Logger.WarnContext(ctx, "the model did not decide", "run", b.RunID, "model", m.name, "err", err)
	if d, err = m.cards.Decide(ctx, b); err != nil {
		var known *orchestrator.Fault
		if errors.As(err, &known) {
			both := *known
			both.Raw = f.What
			return nil, &both
		}
		return nil, err
	}
	d.Fallback, d.Usage = f, t.used()
	return d, nil
}

// talk is one question to the model with all it takes to have it answered.
type talk struct {
	written  bool
	size     int // of sizes
	repaired bool
	more     []completions.Message
	usage    completions.Usage
}

func (m *Model) newTalk() *talk { return &talk{written: m.written.Load()} }

func (t *talk) used() *orchestrator.Usage {
	if t.usage == (completions.Usage{}) {
		return nil
	}
	return &orchestrator.Usage{InputTokens: t.usage.Input, OutputTokens: t.usage.Output}
}

func (m *Model) decide(ctx context.Context, b *Brief, t *talk) (*Decision, error) {
	order, _ := b.handles()
	offered := tools(b.usable(), order, b.Left)
	var d *Decision
	err := m.ask(ctx, t, offered, func() []completions.Message { return conversation(b, sizes[t.size], t.written) },
		func(reply *completions.Reply) (err error) {
			calls := reply.Calls
			content := spoken(reply.Content)
			if len(calls) == 0 {
				calls = writtenCalls(content, offered, t.written || t.repaired)
			}
			if len(calls) == 0 && !reply.Length && content != "" && !t.written && (b.Left == 1 || len(b.completed()) > 0) {
				d = &Decision{} // it just says the answer
				return b.finished(d, content, nil)
			}
			d, err = b.decision(calls, offered)
			return err
		})
	return d, err
}

// ask asks until read takes the answer: again without tools where there are none, with less where it was too much, and once
// with what is wrong where read says so.
func (m *Model) ask(ctx context.Context, t *talk, offered []completions.Tool, messages func() []completions.Message, read func(*completions.Reply) error) error {
	ctx, stop := context.WithTimeout(ctx, m.o.Time)
	defer stop()
	for {
		r := &completions.Request{Model: m.name, Messages: append(messages(), t.more...)}
		if !t.written {
			r.Tools, r.Must = offered, true
		}
		reply, err := m.client.Complete(ctx, r)
		var e *completions.Error
		switch {
		case err == nil:
			t.usage.Input += reply.Usage.Input
			t.usage.Output += reply.Usage.Output
			err = read(reply)
			if err != nil && reply.Length {
				err = problemf("The answer was cut off before its end, for it was too long. Answer shorter. (%s)", err)
			}
		case !errors.As(err, &e):
		case e.Kind == completions.NoTools && !t.written:
			t.written, t.more = true, nil
			m.written.Store(true)
			continue
		case e.Kind == completions.TooLong && t.size+1 < len(sizes):
			t.size++
			continue
		case e.Kind == completions.Garbage && e.Status != 0: // it, not the endpoint, wrote what could not be read
			reply, err = &completions.Reply{}, problemf("The call could not be read: %s", e.Said)
		}
		var wrong problem
		if !errors.As(err, &wrong) || t.repaired {
			return err
		}
		t.repaired = true
		t.more = []completions.Message{
			{Role: completions.Assistant, Content: wrote(reply)},
			{Role: completions.User, Content: prompt("repair", struct {
				Problem, Tools string
				Text           bool
			}{clean(string(wrong)), names(offered), t.written})},
		}
	}
}

// wrote is what a model answered, as text: what is wrong with a call may be that no server can read it.
func wrote(r *completions.Reply) string {
	s := spoken(r.Content)
	for _, c := range r.Calls {
		s += "\n" + c.Name + " " + c.Arguments
	}
	if s = shorten(clean(s), 4000); s == "" {
		return "(nothing)"
	}
	return s
}
