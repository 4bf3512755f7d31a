package local

import (
	"context"
	"maps"
	"sync"
	"unicode/utf8"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
)

// chat is a conversation of which something is being written. Its row is written whole by each of its runs, so they take
// turns: each begins with the row as the one before left it, on the disk or on its way there.
type chat struct {
	id   string
	turn sync.Mutex // held from the reading of the row until what became of it is queued or written

	// Guarded by d.mu.
	users  int                        // who hold it or wait for it, and what is on its way
	queued int                        // changes on their way
	row    *orchestrator.Conversation // as on its way; nil when the store has it
	runs   map[string]a2a.TaskState   // the runs as on their way
}

// enter waits for the turn at a conversation.
func (d *Driver) enter(id string) *chat {
	d.mu.Lock()
	t := d.chats[id]
	if t == nil {
		t = &chat{id: id, runs: map[string]a2a.TaskState{}}
		d.chats[id] = t
	}
	t.users++
	d.mu.Unlock()
	t.turn.Lock()
	return t
}

// leave ends the change's turn at its conversation, if it has it.
func (c *change) leave() {
	t := c.talk
	if t == nil {
		return
	}
	c.talk = nil
	t.turn.Unlock()
	c.r.d.mu.Lock()
	defer c.r.d.mu.Unlock()
	c.r.d.drop(t)
}

// drop forgets a conversation that nobody uses. d.mu is held.
func (d *Driver) drop(t *chat) {
	if t.users--; t.users == 0 {
		delete(d.chats, t.id)
	}
}

// under makes the change's rows those to go on from while they are on their way. The function returned is told how they
// fared; it does not block.
func (c *change) under() func(error) {
	d, t := c.r.d, c.talk
	d.mu.Lock()
	defer d.mu.Unlock()
	t.users++
	t.queued++
	c.ahead()
	return func(err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.queued--; t.queued == 0 || err != nil {
			t.row = nil
			clear(t.runs)
		}
		d.drop(t)
	}
}

// ahead remembers the change's rows. d.mu is held.
func (c *change) ahead() {
	row := *c.batch.Conversations[0]
	c.talk.row = &row
	c.talk.runs[c.r.row.ID] = c.r.row.State
}

// stored is told that the change was written at once: what others have on their way was written before it.
func (c *change) stored() {
	if c.talk == nil {
		return
	}
	c.r.d.mu.Lock()
	defer c.r.d.mu.Unlock()
	if c.talk.queued > 0 {
		c.ahead()
	}
}

// converse completes the change with what it means for the transcript: the items of a run that ended, and the
// conversation's row. From here on it is the change's turn, until it leaves.
func (c *change) converse(ctx context.Context) error {
	r := c.r
	if r.state.Ended && !c.left {
		c.endItems()
	}
	c.talk = r.d.enter(r.row.ConversationID)
	row, err := c.newest(ctx)
	if err != nil {
		return err
	}
	for _, it := range c.batch.Items {
		row.Updated = it.At
		if it.Text != "" {
			row.LastText = start(it.Text)
		}
		if row.Title == "" && it.Kind == orchestrator.ItemUser {
			row.Title = orchestrator.TitleOf(it.Text)
		}
	}
	switch {
	case r.parent == "":
		if row.State, err = c.chatState(ctx); err != nil {
			return err
		}
	case len(r.asks) > 0: // otherwise the plan says how the conversation stands
		row.State = orchestrator.ConversationAsking
	}
	c.batch.Conversations = append(c.batch.Conversations, row)
	return nil
}

// newest returns a copy of the conversation's row as it will be before the change.
func (c *change) newest(ctx context.Context) (*orchestrator.Conversation, error) {
	d := c.r.d
	d.mu.Lock()
	row := c.talk.row
	d.mu.Unlock()
	if row == nil {
		row = c.chat
	}
	if row == nil {
		var err error
		if row, err = d.store.Conversation(ctx, c.r.row.ConversationID); err != nil {
			return nil, err
		}
	}
	again := *row
	return &again, nil
}

// endItems adds what the ended run leaves in the transcript.
func (c *change) endItems() {
	r := c.r
	c.left = true
	if r.flow != nil {
		c.flowItems()
		return
	}
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
func (c *change) chatState(ctx context.Context) (orchestrator.ConversationState, error) {
	r := c.r
	if len(r.asks) > 0 || r.flow != nil && r.flow.asking() {
		return orchestrator.ConversationAsking, nil
	}
	state := orchestrator.ConversationWorking
	if r.state.Ended {
		state = orchestrator.ConversationIdle
		if (r.row.State == a2a.TaskStateFailed || r.row.State == a2a.TaskStateRejected) && !r.state.Fault.Wanted() {
			state = orchestrator.ConversationFailed
		}
	}
	r.d.mu.Lock()
	coming := maps.Clone(c.talk.runs) // before the store is read: what is on its way then is in one of them
	r.d.mu.Unlock()
	others, err := r.d.store.RunsOf(ctx, r.row.ConversationID)
	if err != nil {
		return "", err
	}
	for _, o := range others {
		at, ok := coming[o.ID]
		if !ok {
			at = o.State
		}
		switch {
		case o.ID == r.row.ID || c.over != nil && o.ID == c.over.r.row.ID || at.Terminal() || at == a2a.TaskStateUnspecified:
		case at.Interrupted():
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
