package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/steps"
)

// Say is orchestrator.Runner's. What is said into a conversation where exactly one question is open answers it.
func (d *Driver) Say(ctx context.Context, s *orchestrator.Say) (*orchestrator.Run, error) {
	m := &a2a.Message{ID: s.MessageID, Role: a2a.RoleUser, Parts: sayParts(s.Text, s.Files, s.Data)}
	if m.ID == "" {
		m.ID = newID()
	}
	if len(m.Parts) == 0 {
		return nil, &orchestrator.Fault{Kind: "empty", Where: orchestrator.WhereUs, What: "There is nothing to send.", Do: "Write something first."}
	}
	chat := &orchestrator.Conversation{ID: newID(), To: s.To, Created: d.now()}
	if chat.To == "" {
		chat.To = orchestrator.Auto
	}
	to := chat.To
	if s.ConversationID != "" {
		var err error
		if chat, err = d.store.Conversation(ctx, s.ConversationID); err != nil {
			return nil, err
		}
		if to = s.To; to == "" {
			to = chat.To
		}
		if s.MessageID != "" {
			receipt := d.receipt(orchestrator.OwnAgent, orchestrator.LocalPrincipal, m)
			if old, err := d.received(ctx, receipt); old != nil || err != nil {
				return d.runOf(ctx, old, err)
			}
		}
		if run, err := d.answerBySaying(ctx, chat.ID, m); run != nil || err != nil {
			return run, err
		}
	}
	b := &beginning{
		scope: orchestrator.OwnAgent, principal: orchestrator.LocalPrincipal, chat: chat, contextID: chat.ID,
		fresh: s.ConversationID == "", to: to, message: m,
	}
	if to == orchestrator.Auto && d.planning() {
		b.plan, b.key = decides(), chat.ID // its agents are those of the conversation
	}
	return d.beginLocal(ctx, b)
}

func sayParts(text string, files []a2a.Part, data []byte) []a2a.Part {
	var ps []a2a.Part
	if strings.TrimSpace(text) != "" {
		ps = append(ps, a2a.TextPart(text))
	}
	ps = append(ps, files...)
	if data != nil {
		ps = append(ps, a2a.Part{Kind: a2a.PartData, Data: data})
	}
	return ps
}

// Retry is orchestrator.Runner's.
func (d *Driver) Retry(ctx context.Context, id string) (*orchestrator.Run, error) {
	row, err := d.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if row.ConversationID == "" || row.Principal != orchestrator.LocalPrincipal {
		return nil, orchestrator.ErrNotFound
	}
	if run, err := d.retryCall(ctx, row); run != nil || err != nil {
		return run, err
	}
	return d.retryRun(ctx, row, "")
}

// retryRun begins an ended run anew. With a node of its plan, what was done is kept, but by that node and those that need
// it; what was stopped may be undone, and what is decided as it goes is decided anew: of those nothing is kept.
func (d *Driver) retryRun(ctx context.Context, row *orchestrator.Run, node string) (*orchestrator.Run, error) {
	r, err := d.peek(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	defer d.release(r)
	r.mu.Lock()
	ended, m := r.state.Ended, *r.asked
	r.mu.Unlock()
	if !ended {
		return nil, &orchestrator.Fault{Kind: "still-running", Where: orchestrator.WhereUs, What: "This is still going on.", Do: "Stop it first."}
	}
	chat, err := d.store.Conversation(ctx, row.ConversationID)
	if err != nil {
		return nil, err
	}
	m.ID, m.TaskID, m.ContextID = newID(), "", ""
	if r.flow != nil {
		var done []engine.Body
		if node != "" {
			if done, err = d.doneWithout(ctx, r, node); err != nil {
				return nil, err
			}
		}
		return d.relaunch(ctx, r, chat, &m, done)
	}
	return d.beginLocal(ctx, &beginning{
		scope: orchestrator.OwnAgent, principal: orchestrator.LocalPrincipal, chat: chat, contextID: chat.ID,
		to: row.To, message: &m,
	})
}

// beginLocal begins a run, or returns the one that the same message began before.
func (d *Driver) beginLocal(ctx context.Context, b *beginning) (*orchestrator.Run, error) {
	run, receipt, _, err := d.begin(ctx, b)
	if run != nil {
		return run, nil
	}
	return d.runOf(ctx, receipt, err)
}

func (d *Driver) runOf(ctx context.Context, r *orchestrator.Receipt, err error) (*orchestrator.Run, error) {
	if err != nil {
		return nil, err
	}
	return d.store.Run(ctx, r.RunID)
}

// beginning is what a run starts from.
type beginning struct {
	id        string // made by the caller; "" = a new one
	scope     string
	principal string
	chat      *orchestrator.Conversation // nil outside conversations
	contextID string
	fresh     bool // the context is new
	to        string
	message   *a2a.Message
	config    *engine.Config
	hops      int // before us

	plan     *engine.Planned // what is carried out; nil: the message goes to one agent
	done     []engine.Body   // what of the plan is done already
	workflow string          // the kept workflow that this is
	key      string          // what the contexts of its agents are kept under; "" = the run's own
}

// begin stores a new run with its receipt and, where the agent is known, the intent to send to it: one commit. It returns
// the receipt, or, when the message was received before, the run and receipt from then, and stores nothing.
func (d *Driver) begin(ctx context.Context, b *beginning) (run *orchestrator.Run, receipt *orchestrator.Receipt, repeated bool, err error) {
	if b.to != orchestrator.Auto && b.plan == nil {
		if _, err := d.ports.Agent(ctx, b.to); err != nil {
			return nil, nil, false, err
		}
	}
	receipt = d.receipt(b.scope, b.principal, b.message)
	id := cmp.Or(b.id, newID())
	b.message.TaskID = "" // what the agent calls the task, it will say
	if err := d.admit(id, b.principal); err != nil {
		if old, e := d.received(ctx, receipt); old != nil || e != nil {
			return nil, old, true, e
		}
		return nil, nil, false, err
	}
	defer func() {
		if run == nil {
			d.recount(id, b.principal, countsNot)
		}
	}()
	// Every event of the run will be behind the newest there is now. A reader that begins there, and not at the start of
	// the log, finds what it wants among the newest events, which a store has at hand.
	if receipt.After, err = d.store.Head(ctx); err != nil {
		return nil, nil, false, err
	}
	r := d.newRun(id)
	defer d.release(r)
	if err := r.broken(); err != nil {
		return nil, nil, false, err
	}
	now := d.now()
	r.counted = countsRunning
	r.row = orchestrator.Run{
		ID: r.row.ID, Scope: b.scope, Principal: b.principal, ContextID: b.contextID, To: b.to,
		State: a2a.TaskStateSubmitted, Created: now, Updated: now,
	}
	person := b.principal == orchestrator.LocalPrincipal
	r.state = engine.New(engine.Start{To: b.to, Person: person})
	r.row.Engine, r.row.Workflow = r.state.Stored(), b.workflow
	r.asked, r.config, r.hops, r.fresh = b.message, b.config, b.hops+1, b.fresh
	r.owner = owner(b.principal, b.scope)
	if r.trace = orchestrator.TraceOf(ctx); r.trace != "" {
		r.row.Engine = r.stored()
	}
	receipt.RunID = r.row.ID

	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.change()
	c.batch.Receipt = receipt
	if b.chat != nil {
		r.row.ConversationID = b.chat.ID
		r.fold = &a2a.Task{ID: r.row.ID, ContextID: r.row.ContextID}
		if b.fresh {
			c.chat = b.chat
		}
		c.item(steps.UserItem(b.message))
	}
	if b.plan != nil {
		r.flow, r.key = newFlow(r.hops), b.key
		r.row.Engine = r.stored()
		plan := *b.plan
		plan.At = c.at.UnixMilli()
		c.tell(r.address().Task(a2a.TaskStatus{State: a2a.TaskStateSubmitted}))
		c.log(&plan)
		for _, b := range b.done {
			c.log(b)
		}
	} else if b.to == orchestrator.Auto {
		c.tell(r.address().Task(a2a.TaskStatus{State: a2a.TaskStateSubmitted}))
		c.decided = true
	} else if err := c.send(ctx); err != nil {
		return nil, nil, false, err
	}
	if d.host == nil {
		d.mu.Lock()
		d.live[r.row.ID] = r
		d.mu.Unlock()
	}
	if err := r.proceed(ctx, c); err != nil {
		if errors.Is(err, orchestrator.ErrDuplicate) {
			old, err := d.received(ctx, receipt)
			return nil, old, true, err
		}
		return nil, nil, false, err
	}
	row := r.row
	return &row, receipt, false, nil
}

// receipt returns the receipt of a message as it comes in; the run is not known yet.
func (d *Driver) receipt(scope, principal string, m *a2a.Message) *orchestrator.Receipt {
	return &orchestrator.Receipt{
		Scope: scope, Principal: principal, MessageID: m.ID, Digest: sha256.Sum256(m.AppendJSON(make([]byte, 0, 512))), At: d.now(),
	}
}

// received returns the receipt of a message that came before, or nil. The same id with another content is refused.
func (d *Driver) received(ctx context.Context, now *orchestrator.Receipt) (*orchestrator.Receipt, error) {
	old, err := d.store.Received(ctx, now.Scope, now.Principal, now.MessageID)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case old.Digest != now.Digest:
		return nil, &a2a.Error{
			Kind: a2a.KindInvalidParams, Field: "message.messageId",
			Message: "this message id was used before, for another message",
		}
	}
	return old, nil
}

// answerBySaying takes what was said as the answer to the one question that is open in the conversation. It returns nil
// when none is.
func (d *Driver) answerBySaying(ctx context.Context, chat string, m *a2a.Message) (*orchestrator.Run, error) {
	runs, err := d.store.RunsOf(ctx, chat)
	if err != nil {
		return nil, err
	}
	var open []*orchestrator.Ask
	for _, run := range runs {
		asks, err := d.store.OpenAsks(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		for _, a := range asks {
			if a.Kind != orchestrator.AskSignIn {
				open = append(open, a)
			}
		}
	}
	switch {
	case len(open) == 0:
		return nil, nil
	case len(open) > 1:
		return nil, &orchestrator.Fault{
			Kind: "ask-which", Where: orchestrator.WhereUs,
			What: "More than one question is open here.", Do: "Answer in the box of the one you mean.",
		}
	}
	ask := open[0]
	a := &reply{message: m, shown: shown(m), receipt: d.receipt(orchestrator.OwnAgent, orchestrator.LocalPrincipal, m)}
	if picked(ask.Kind) {
		var ok bool
		if a.choice, ok = planner.Pick(ask.Choices, a2a.Text(m.Parts)); !ok {
			return nil, &orchestrator.Fault{
				Kind: "ask-choice", Where: orchestrator.WhereUs,
				What: "A choice is open here first.", Do: "Pick one of the choices above.",
			}
		}
	}
	run, _, err := d.reply(ctx, ask.RunID, ask.ID, a)
	return run, err
}
