package local

import (
	"bytes"
	"errors"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/planner"
	"parley/orchestrator/workflow"
)

// kickReplies gives what agents ask to the planner's model, where the steps of the plan allow that. r.mu is held.
func (r *run) kickReplies() {
	for call := range r.flow.calls {
		if r.forModel(call) {
			r.flow.replying[call] = true
			if !r.background(func() { r.replyFor(call) }) {
				r.flow.replying[call] = false
			}
		}
	}
}

// forModel reports whether what a call asks is to be given to the model, and was not yet.
func (r *run) forModel(call string) bool {
	f := r.flow
	if _, given := f.replying[call]; given || f.calls[call] != a2a.TaskStateInputRequired || !r.d.planning() {
		return false
	}
	return f.answersItself(f.stepOf(call))
}

// answersItself reports whether the model may answer what the agent of a node asks.
func (f *flow) answersItself(node string) bool {
	n, _ := f.Node(node)
	return n != nil && bytes.Contains(n.Spec, []byte(`"answer":"`+workflow.AnswerModel+`"`))
}

// replyFor has the model answer what a call asks. What it cannot tell is left to a person, as is every sign-in.
func (r *run) replyFor(call string) {
	err := r.answerFor(call)
	var f *orchestrator.Fault
	if err != nil && !errors.As(err, &f) && r.ctx.Err() == nil {
		r.d.log.Warn("a question could not be given to the model; a person has to answer it", "run", call, "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flow.replying[call] = false
	if r.ctx.Err() == nil && !r.state.Ended {
		_ = r.advance(r.ctx, r.change()) // a failure ends r.ctx
	}
}

func (r *run) answerFor(call string) error {
	asks, err := r.d.store.OpenAsks(r.ctx, call)
	if err != nil {
		return err
	}
	r.mu.Lock()
	b, err := r.brief(r.ctx)
	ctx := r.calling()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	for _, ask := range asks {
		if ask.Kind != orchestrator.AskInput {
			continue
		}
		q := &planner.Question{AgentID: ask.AgentID, Prompt: ask.Prompt, Choices: ask.Choices, Schema: ask.Schema}
		a, err := r.d.decider.Reply(ctx, b, q)
		if err != nil || a == nil {
			return err
		}
		rep, err := replyTo(ask, &orchestrator.Answer{Text: a.Text, Data: a.Data})
		if err != nil {
			return err
		}
		if _, _, err := r.d.reply(ctx, ask.RunID, ask.ID, rep); err != nil {
			return err
		}
	}
	return nil
}
