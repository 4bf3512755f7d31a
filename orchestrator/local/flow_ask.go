package local

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/planner"
	"parley/orchestrator/workflow"
)

// hasPlan reports whether a run carries out a plan.
func hasPlan(row *orchestrator.Run) bool {
	var s stored
	return json.Unmarshal(row.Engine, &s) == nil && s.Plan
}

// takeFlow logs what a reply to an ask of a plan means.
func (c *change) takeFlow(ask *engine.Ask, a *reply) {
	closed := &engine.Answered{Ask: ask.ID, State: orchestrator.AskAnswered, Choice: a.choice, Shown: a.shown, At: c.at.UnixMilli()}
	switch {
	case a.decline, ask.Kind == orchestrator.AskApproval && a.choice != approveYes:
		closed.State, closed.Choice = orchestrator.AskDeclined, ""
	case ask.Kind == orchestrator.AskApproval:
	case ask.Kind == orchestrator.AskChoice:
		closed.Message = (&a2a.Message{ID: newID(), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(a.choice)}}).AppendJSON(nil)
	default:
		closed.Message = a.message.AppendJSON(nil)
	}
	c.close(closed)
}

// fits checks an answer against the form that a plan asked for. r.mu is held.
func (r *run) fits(ask *engine.Ask, a *reply) error {
	i := slices.IndexFunc(r.asks, func(a *orchestrator.Ask) bool { return a.ID == ask.ID })
	m := a.message
	if i < 0 || r.asks[i].Schema == nil || a.decline || m == nil {
		return nil
	}
	var data json.RawMessage
	for j := range m.Parts {
		if m.Parts[j].Kind == a2a.PartData {
			data = m.Parts[j].Data
		}
	}
	if data == nil { // words that are what the form wants become that
		text := a2a.Text(m.Parts)
		if data = workflow.Worded(r.asks[i].Schema, text); data == nil {
			data = mustJSON(text)
		}
		m.Parts = []a2a.Part{{Kind: a2a.PartData, Data: data}}
	}
	if err := workflow.Fits(r.asks[i].Schema, data); err != nil {
		return &orchestrator.Fault{
			Kind: "ask-form", Where: orchestrator.WhereUs, What: "The answer does not fit what is asked: " + err.Error() + ".", Do: "Correct it and send it again.",
		}
	}
	return nil
}

// replyPlan takes the next message of an A2A caller to a task that carries out a plan: the answer to the ask that it
// names, or to the only open one. When that is not clear, the caller is asked which one it means.
func (d *Driver) replyPlan(ctx context.Context, id, _ string, a *reply) (run *orchestrator.Run, after int64, err error) {
	err = d.unmoved(ctx, func() (err error) {
		run, after, err = d.replyPlanOnce(ctx, id, a)
		return err
	})
	return run, after, err
}

func (d *Driver) replyPlanOnce(ctx context.Context, id string, a *reply) (*orchestrator.Run, int64, error) {
	r, err := d.open(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	defer d.release(r)
	r.mu.Lock()
	ended := r.state.Ended
	asks, err := r.openAsks(ctx)
	var after int64
	if err == nil {
		after, err = r.position(ctx)
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		return nil, 0, err
	case ended:
		return nil, 0, a2a.ErrTaskTerminal
	}
	named := a.named()
	i := slices.IndexFunc(asks, func(ask *orchestrator.Ask) bool { return ask.ID == named })
	switch {
	case named != "" && i < 0:
		return nil, 0, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.parts", Message: "the ask that is named is not open; see the task's status"}
	case len(asks) == 0:
		return nil, 0, &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "the task asks nothing now, and takes no further message"}
	case named == "" && len(asks) > 1:
		err := d.which(ctx, r, asks, a.receipt)
		return nil, after, err
	case named == "":
		i = 0
	}
	ask := asks[i]
	if err := a.fit(ask); err != nil {
		return nil, 0, err
	}
	a.root, a.after = id, after
	run, _, err := d.reply(ctx, ask.RunID, ask.ID, a)
	return run, after, err
}

// which asks an A2A caller which of several open asks its message answers.
func (d *Driver) which(ctx context.Context, r *run, asks []*orchestrator.Ask, receipt *orchestrator.Receipt) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	parts, err := r.askedParts(ctx, asks)
	if err != nil {
		return err
	}
	c := r.change()
	after, err := r.position(ctx)
	if err != nil {
		return err
	}
	if c.batch.Receipt = receipt; receipt != nil {
		receipt.RunID, receipt.After = r.row.ID, after
	}
	parts[0].Text = "Several questions are open. Name the one that you answer: send a data part {\"ask\": \"its id\"} beside the answer.\n\n" + parts[0].Text
	c.say(r.row.State, parts...)
	return r.proceed(ctx, c)
}

// named takes the id of the ask out of a message that names one: a data part {"ask": …}, which may hold a choice, data, or
// a decline beside it, or a member of the message's metadata.
func (a *reply) named() string {
	m := a.message
	var meta struct {
		Ask string `json:"urn:parley:ask"`
	}
	if len(m.Metadata) > 0 && json.Unmarshal(m.Metadata, &meta) == nil && meta.Ask != "" {
		return meta.Ask
	}
	for i := range m.Parts {
		var v struct {
			Ask     string          `json:"ask"`
			Choice  string          `json:"choice"`
			Text    string          `json:"text"`
			Data    json.RawMessage `json:"data"`
			Decline bool            `json:"decline"`
		}
		if m.Parts[i].Kind != a2a.PartData || json.Unmarshal(m.Parts[i].Data, &v) != nil || v.Ask == "" {
			continue
		}
		again := *m
		again.Parts = slices.Delete(slices.Clone(m.Parts), i, i+1)
		switch {
		case v.Choice != "":
			again.Parts = append(again.Parts, a2a.TextPart(v.Choice))
		case v.Text != "":
			again.Parts = append(again.Parts, a2a.TextPart(v.Text))
		}
		if v.Data != nil {
			again.Parts = append(again.Parts, a2a.Part{Kind: a2a.PartData, Data: v.Data})
		}
		a.message, a.decline, a.shown = &again, v.Decline, shown(&again)
		return v.Ask
	}
	return ""
}

// fit makes of a message what the ask wants.
func (a *reply) fit(ask *orchestrator.Ask) error {
	switch {
	case a.decline:
	case picked(ask.Kind):
		id, ok := planner.Pick(ask.Choices, a2a.Text(a.message.Parts))
		if c, said := pick(ask.Choices, a.message); !ok && said {
			id, ok = c.ID, true
		}
		if !ok {
			return &a2a.Error{
				Kind: a2a.KindInvalidParams, Field: "message.parts", Message: "that is none of the choices; name one by its id or its number",
			}
		}
		a.choice = id
		for _, c := range ask.Choices {
			if c.ID == id {
				a.shown = c.Label
			}
		}
	case ask.Kind == orchestrator.AskSignIn: // words there may be a secret
		said := *a.message
		said.Parts = []a2a.Part{a2a.TextPart(signedIn)}
		a.message, a.shown = &said, signedIn
	case len(a.message.Parts) == 0:
		return &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.parts", Message: "there is no answer beside the name of the ask"}
	}
	return nil
}

const signedIn = "I have signed in."

// untilEnd returns a channel that is closed when a run that is being stopped has ended, or is given no more time. r.mu is
// held.
func (r *run) untilEnd() chan struct{} {
	if r.ended == nil {
		r.ended = make(chan struct{})
	}
	ended, through := r.ended, make(chan struct{})
	r.background(func() {
		defer close(through)
		select {
		case <-ended:
		case <-time.After(r.d.ports.CancelWait + r.d.grace):
		case <-r.ctx.Done():
		}
	})
	return through
}
