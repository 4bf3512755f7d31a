package local

import (
	"context"
	"unicode/utf8"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
)

// converse completes the change with what it means for the transcript: the items of a run that ended, and the
// conversation's row.
func (c *change) converse(ctx context.Context) error {
	r := c.r
	if r.state.Ended {
		c.endItems()
	}
	chat := c.chat
	if chat == nil {
		var err error
		if chat, err = r.d.store.Conversation(ctx, r.row.ConversationID); err != nil {
			return err
		}
	}
	row := *chat
	for _, it := range c.batch.Items {
		row.Updated = it.At
		if it.Text != "" {
			row.LastText = start(it.Text)
		}
		if row.Title == "" && it.Kind == orchestrator.ItemUser {
			row.Title = steps.Title(it.Text)
		}
	}
	var err error
	if row.State, err = r.chatState(ctx); err != nil {
		return err
	}
	c.batch.Conversations = append(c.batch.Conversations, &row)
	return nil
}

// endItems adds what the ended run leaves in the transcript.
func (c *change) endItems() {
	r := c.r
	agent := r.row.To
	if st := r.state.Step(engine.FirstStep); st != nil {
		agent = st.Agent
	}
	took := c.at.Sub(r.row.Created)
	var items []orchestrator.Item
	if m := c.answer(); m != nil {
		items = steps.MessageItems(agent, m, took)
	} else {
		items = steps.Items(agent, r.fold, r.state.Fault, took)
	}
	for _, it := range items {
		c.item(it)
	}
}

// answer returns the message that is the run's whole answer, when it is one.
func (c *change) answer() *a2a.Message {
	if n := len(c.batch.Events); n > 0 {
		m, _ := c.batch.Events[n-1].Event.(*a2a.Message)
		return m
	}
	return nil
}

// chatState says what the list shows beside the conversation: what needs somebody first, then what is going on.
func (r *run) chatState(ctx context.Context) (orchestrator.ConversationState, error) {
	if len(r.asks) > 0 {
		return orchestrator.ConversationAsking, nil
	}
	state := orchestrator.ConversationWorking
	if r.state.Ended {
		state = orchestrator.ConversationIdle
		if r.row.State == a2a.TaskStateFailed || r.row.State == a2a.TaskStateRejected {
			state = orchestrator.ConversationFailed
		}
	}
	others, err := r.d.store.RunsOf(ctx, r.row.ConversationID)
	if err != nil {
		return "", err
	}
	for _, o := range others {
		switch {
		case o.ID == r.row.ID:
		case o.State.Interrupted():
			return orchestrator.ConversationAsking, nil
		default:
			state = orchestrator.ConversationWorking
		}
	}
	return state, nil
}

// start returns the start of a text for the list.
func start(s string) string {
	const max = 200
	if len(s) <= max {
		return s
	}
	s = s[:max]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
