package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// reply is an answer to an ask, ready to be carried out.
type reply struct {
	message *a2a.Message // for the agent, when it is the agent that asks
	choice  string
	decline bool
	shown   string // for the receipt in the transcript
	receipt *orchestrator.Receipt
	early   bool // it was sent before the agent had answered the message before it

	root  string // the run that its caller named, when the ask is of one of its calls,
	after int64  // and its position
}

// Answer is orchestrator.Runner's.
func (d *Driver) Answer(ctx context.Context, id string, a *orchestrator.Answer) error {
	ask, err := d.store.Ask(ctx, id)
	if err != nil {
		return err
	}
	if ask.Principal != orchestrator.LocalPrincipal {
		return orchestrator.ErrNotFound
	}
	if ask.State != orchestrator.AskOpen {
		return askClosed
	}
	rep, err := replyTo(ask, a)
	if err != nil {
		return err
	}
	_, _, err = d.reply(ctx, ask.RunID, ask.ID, rep)
	return err
}

var askClosed = &orchestrator.Fault{
	Kind: "ask-closed", Where: orchestrator.WhereUs, What: "This question is closed already.",
}

// replyTo makes of what a person gave what the ask wants.
func replyTo(ask *orchestrator.Ask, a *orchestrator.Answer) (*reply, error) {
	rep := &reply{choice: a.Choice, decline: a.Decline}
	if a.Decline {
		return rep, nil
	}
	chosen := slices.IndexFunc(ask.Choices, func(c orchestrator.Choice) bool { return c.ID == a.Choice })
	if picked(ask.Kind) {
		if chosen < 0 {
			return nil, &orchestrator.Fault{Kind: "ask-choice", Where: orchestrator.WhereUs, What: "That is none of the choices.", Do: "Pick one of them."}
		}
		rep.shown = ask.Choices[chosen].Label
		return rep, nil
	}
	if ask.Kind == orchestrator.AskSignIn {
		// What a person types there may be a secret: it goes nowhere, and is kept nowhere. A credential has its own way.
		a = &orchestrator.Answer{}
	}
	text := a.Text
	if strings.TrimSpace(text) == "" && chosen >= 0 {
		text = ask.Choices[chosen].ID
	}
	if strings.TrimSpace(text) == "" && a.Data == nil && len(a.Parts) == 0 && ask.Kind == orchestrator.AskSignIn {
		text = signedIn
	}
	if a.Data != nil && !json.Valid(a.Data) {
		return nil, &orchestrator.Fault{Kind: "bad-json", Where: orchestrator.WhereUs, What: "The data is not valid JSON.", Do: "Correct it and send it again."}
	}
	rep.message = &a2a.Message{ID: newID(), Role: a2a.RoleUser, Parts: sayParts(text, a.Parts, a.Data)}
	if len(rep.message.Parts) == 0 {
		return nil, &orchestrator.Fault{Kind: "empty", Where: orchestrator.WhereUs, What: "There is no answer to send.", Do: "Write something first."}
	}
	rep.shown = shown(rep.message)
	return rep, nil
}

// picked reports whether an ask of the kind is answered by one of its choices.
func picked(k orchestrator.AskKind) bool {
	return k == orchestrator.AskChoice || k == orchestrator.AskResend || k == orchestrator.AskApproval
}

// shown is how an answer appears on its receipt.
func shown(m *a2a.Message) string {
	var lines []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case a2a.PartText:
			lines = append(lines, p.Text)
		case a2a.PartData:
			lines = append(lines, string(p.Data))
		case a2a.PartURL:
			lines = append(lines, cmp.Or(p.Filename, p.URL))
		default:
			lines = append(lines, cmp.Or(p.Filename, "a file"))
		}
	}
	return strings.Join(lines, "\n")
}

// reply closes an ask and lets the run go on: one commit with the intent to send, where something is sent. Without the
// id of an ask it is the next message of the run's caller, whatever the run is at. The position returned is that of the
// run's newest event before.
func (d *Driver) reply(ctx context.Context, id, ask string, a *reply) (run *orchestrator.Run, after int64, err error) {
	err = d.unmoved(ctx, func() (err error) {
		run, after, err = d.replyOnce(ctx, id, ask, a)
		return err
	})
	return run, after, err
}

func (d *Driver) replyOnce(ctx context.Context, id, ask string, a *reply) (*orchestrator.Run, int64, error) {
	r, err := d.open(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	defer d.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	var open *engine.Ask
	if ask != "" {
		if open = r.state.Open(ask); open == nil {
			return nil, 0, askClosed
		}
	} else if open, err = r.addressed(a); err != nil {
		return nil, 0, err
	}
	if r.flow != nil {
		if err := r.fits(open, a); err != nil {
			return nil, 0, err
		}
	}
	after, err := r.position(ctx)
	if err != nil {
		return nil, 0, err
	}
	c := r.change()
	if a.receipt != nil {
		c.batch.Receipt = a.receipt
		if a.receipt.RunID, a.receipt.After = id, after; a.root != "" {
			a.receipt.RunID, a.receipt.After = a.root, a.after
		}
	}
	if err := c.take(ctx, open, a); err != nil {
		r.kill(err)
		return nil, 0, err
	}
	if err := r.proceed(ctx, c); err != nil {
		return nil, 0, err
	}
	r.turn()
	row := r.row
	return &row, after, nil
}

// addressed finds what the next message of an A2A caller answers: the run's open ask, or, while its agent works, nothing
// (nil): then it is one more message for that agent.
func (r *run) addressed(a *reply) (*engine.Ask, error) {
	if r.state.Ended {
		return nil, a2a.ErrTaskTerminal
	}
	st := r.state.Active()
	if st != nil && r.row.Principal != orchestrator.LocalPrincipal &&
		r.state.TooOften(st.Agent, engine.Digest(partsOf(a.message)), r.d.now().UnixMilli()) {
		return nil, &a2a.Error{
			Kind: a2a.KindRateLimited, RetryAfter: engine.IdenticalWindow * time.Millisecond,
			Message: "the same message was sent to this task several times within a minute; this looks like a circle",
		}
	}
	if len(r.state.Asks) > 0 {
		open := &r.state.Asks[0]
		if open.Kind == orchestrator.AskChoice || open.Kind == orchestrator.AskResend {
			if a.early {
				return nil, unanswered() // it does not answer a question of ours that its sender had not seen
			}
			choice, ok := pick(r.asks[0].Choices, a.message)
			if !ok {
				return nil, &a2a.Error{
					Kind: a2a.KindInvalidParams, Field: "message.parts",
					Message: "that is none of the choices; name one by its id or its number",
				}
			}
			a.choice, a.shown = choice.ID, choice.Label
		}
		return open, nil
	}
	if st == nil || st.State != orchestrator.StepAwaiting || st.Task == "" {
		return nil, unanswered()
	}
	return nil, nil
}

var errUnanswered = errors.New("the agent has not answered yet")

// unanswered refuses a message for an agent that has not answered the one before it.
func unanswered() error {
	return &a2a.Error{
		Kind: a2a.KindUnsupportedOperation, Message: "the task takes no further message before its agent has answered the first", Err: errUnanswered,
	}
}

// take logs what a reply to an ask means.
func (c *change) take(ctx context.Context, ask *engine.Ask, a *reply) error {
	if ask == nil {
		st := *c.r.state.Active()
		next := &engine.Send{
			Step: st.ID, Agent: st.Agent, Turn: st.Turn + 1, Attempt: 1, Task: st.Task, Context: st.Context,
		}
		if err := c.intend(ctx, next, a.message); err != nil {
			return err
		}
		c.say(a2a.TaskStateWorking)
		return nil
	}
	if c.r.flow != nil {
		c.takeFlow(ask, a)
		return nil
	}
	kind := ask.Kind
	closed := &engine.Answered{Ask: ask.ID, State: orchestrator.AskAnswered, Choice: a.choice, Shown: a.shown}
	if a.decline {
		closed.State, closed.Choice = orchestrator.AskDeclined, ""
		c.close(closed)
		return nil
	}
	c.close(closed)
	message := a.message
	switch kind {
	case orchestrator.AskChoice:
		c.log(&engine.Planned{Agents: []string{a.choice}, Why: "It was chosen."})
		message = c.r.asked
	case orchestrator.AskResend:
		message = c.r.message
	}
	if cmd, ok := c.r.next().(*engine.Send); ok {
		if err := c.intend(ctx, cmd, message); err != nil {
			return err
		}
		c.say(a2a.TaskStateWorking)
	}
	return nil
}

// turn makes the worker leave what it reads for what the run wants now. r.mu is held.
func (r *run) turn() {
	if r.interrupt != nil {
		r.interrupt()
	}
}

// position returns the place of the run's newest event in the log.
func (r *run) position(ctx context.Context) (int64, error) {
	r.flush()
	row, err := r.d.store.Run(ctx, r.row.ID)
	if err != nil {
		return 0, err
	}
	return row.LastSeq, nil
}
