package local

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// mirror makes the status of a run with a plan say where its calls stand: that it works, or, once nothing goes on but what
// waits for somebody, all that is asked.
func (c *change) mirror(ctx context.Context) error {
	r, f := c.r, c.r.flow
	want, shown := a2a.TaskStateWorking, ""
	var asks []*orchestrator.Ask
	if f.Preview == engine.PreviewAsked || f.Waits(r.waits) {
		var err error
		if asks, err = r.openAsks(ctx); err != nil {
			return err
		}
		for _, a := range asks {
			if shown += a.ID + " "; want != a2a.TaskStateAuthRequired {
				want = a2a.TaskStateInputRequired
			}
			if a.Kind == orchestrator.AskSignIn {
				want = a2a.TaskStateAuthRequired
			}
		}
	}
	if want == r.row.State && shown == f.shown {
		return nil
	}
	f.shown = shown
	if want == a2a.TaskStateWorking {
		c.say(want)
		return nil
	}
	parts, err := r.askedParts(ctx, asks)
	if err != nil {
		return err
	}
	c.say(want, parts...)
	return nil
}

// waits reports whether a call waits for a person.
func (r *run) waits(call string) bool {
	return r.flow.calls[call].Interrupted() && !r.flow.replying[call] && !r.forModel(call)
}

// openAsks returns all that is asked in a run with a plan: by the plan itself, by its calls, and by theirs.
func (r *run) openAsks(ctx context.Context) ([]*orchestrator.Ask, error) {
	asks := slices.Clone(r.asks)
	var calls []string
	for call, state := range r.flow.calls {
		if state.Interrupted() || r.flow.unknown {
			calls = append(calls, call)
		}
	}
	slices.Sort(calls)
	for _, call := range calls {
		more, err := r.d.asksOf(ctx, call)
		if err != nil {
			return nil, err
		}
		asks = append(asks, more...)
	}
	slices.SortStableFunc(asks, func(a, b *orchestrator.Ask) int { return a.Opened.Compare(b.Opened) })
	return asks, nil
}

// asksOf returns the open asks of a run and of all that goes on for it.
func (d *Driver) asksOf(ctx context.Context, run string) ([]*orchestrator.Ask, error) {
	asks, err := d.store.OpenAsks(ctx, run)
	if err != nil {
		return nil, err
	}
	for k, err := range d.store.OpenRuns(ctx, stepScope+run) {
		if err != nil {
			return nil, err
		}
		more, err := d.asksOf(ctx, k.ID)
		if err != nil {
			return nil, err
		}
		asks = append(asks, more...)
	}
	return asks, nil
}

// toldAsk is an ask as an A2A caller is told of it. Beside what is asked it says who asks, through whom, and where the
// agent is that a sign-in is for: what is given goes there and nowhere else.
type toldAsk struct {
	ID      string                `json:"id"`
	Kind    orchestrator.AskKind  `json:"kind"`
	Prompt  string                `json:"prompt"`
	Choices []orchestrator.Choice `json:"choices,omitempty"`
	Schema  json.RawMessage       `json:"schema,omitempty"`
	Links   []orchestrator.Link   `json:"links,omitempty"`
	Agent   string                `json:"agent,omitempty"`   // who asks; "": the plan itself
	Through []string              `json:"through,omitempty"` // the steps that lead there, the outermost first
	Origin  string                `json:"origin,omitempty"`  // of the agent
}

// askedParts tells asks: in words, and as data with their ids.
func (r *run) askedParts(ctx context.Context, asks []*orchestrator.Ask) ([]a2a.Part, error) {
	told := make([]toldAsk, len(asks))
	var text strings.Builder
	for i, a := range asks {
		t := toldAsk{ID: a.ID, Kind: a.Kind, Prompt: a.Prompt, Choices: a.Choices, Schema: a.Schema, Links: a.Links, Agent: a.AgentID}
		name := ""
		if a.AgentID != "" {
			if g, err := r.d.store.Agent(ctx, a.AgentID); err == nil {
				name = cmp.Or(g.Name, g.ID)
				if u, err := url.Parse(g.Interface.URL); err == nil && u.Host != "" {
					t.Origin = u.Scheme + "://" + u.Host
				}
			}
		}
		t.Through = r.way(ctx, a)
		told[i] = t
		if i > 0 {
			text.WriteString("\n\n")
		}
		if name != "" {
			text.WriteString(name + ": ")
		}
		text.WriteString(a2a.Text(askParts(&engine.Asked{Ask: a.ID, AskKind: a.Kind, Prompt: a.Prompt, Choices: a.Choices})[:1]))
	}
	return []a2a.Part{a2a.TextPart(text.String()), a2a.DataPart(map[string]any{"asks": told})}, nil
}

// way returns the steps that lead from the run to an ask.
func (r *run) way(ctx context.Context, a *orchestrator.Ask) []string {
	if a.RunID == r.row.ID {
		if a.StepID == "" {
			return nil
		}
		return []string{a.StepID}
	}
	if step := r.flow.stepOf(a.RunID); step != "" {
		return []string{step}
	}
	// In a plan within: which of our calls it belongs to is found by going up.
	for id, depth := a.RunID, 0; depth <= engine.MaxDepth; depth++ {
		row, err := r.d.store.Run(ctx, id)
		if err != nil {
			break
		}
		up, ok := strings.CutPrefix(row.Scope, stepScope)
		if !ok {
			break
		}
		if up == r.row.ID {
			return []string{r.flow.stepOf(id), a.RunID}
		}
		id = up
	}
	return nil
}

// stepOf returns the node that a call is of.
func (f *flow) stepOf(call string) string {
	for i := range f.Nodes {
		st := &f.Nodes[i]
		for j := range st.Items {
			if st.Items[j].Run == call {
				return f.Graph.Nodes[i].ID
			}
		}
		if st.Undo != nil && st.Undo.Run == call {
			return f.Graph.Nodes[i].ID
		}
	}
	return ""
}

// askIDs returns the asks that a status names, as mirror remembers them.
func askIDs(s *a2a.TaskStatus) string {
	if s.Message == nil {
		return ""
	}
	shown := ""
	for i := range s.Message.Parts {
		var v struct {
			Asks []struct {
				ID string `json:"id"`
			} `json:"asks"`
		}
		if p := &s.Message.Parts[i]; p.Kind != a2a.PartData || json.Unmarshal(p.Data, &v) != nil {
			continue
		}
		for _, a := range v.Asks {
			shown += a.ID + " "
		}
	}
	return shown
}

// progress tells an A2A caller, who sees nothing else of the plan, where its steps stand.
func (c *change) progress() {
	r, f := c.r, c.r.flow
	if r.conversation() || r.parent != "" {
		return
	}
	for i := range f.Nodes {
		n, st := &f.Graph.Nodes[i], &f.Nodes[i]
		if st.State == engine.NodeReady || f.said[n.ID] == st.State {
			continue
		}
		f.said[n.ID] = st.State
		name, state := r.d.title(n), stateOf(st.State)
		told := struct {
			ID    string `json:"id"`
			Title string `json:"title"`
			State string `json:"state"`
			Agent string `json:"agentId,omitempty"`
		}{ID: n.ID, Title: name, State: state}
		if len(st.Items) == 1 {
			told.Agent = f.caller[st.Items[0].Run]
		}
		c.tell(&a2a.StatusUpdate{TaskID: r.row.ID, ContextID: r.row.ContextID, Status: a2a.TaskStatus{
			State: a2a.TaskStateWorking, Timestamp: c.stamp(), Message: &a2a.Message{
				ID: newID(), TaskID: r.row.ID, ContextID: r.row.ContextID, Role: a2a.RoleAgent,
				Parts:    []a2a.Part{a2a.TextPart(name + ": " + state)},
				Metadata: append(append([]byte(`{"urn:parley:step":`), mustJSON(told)...), '}'),
			},
		}})
		f.shown = ""
	}
}

// stateOf names the state of a node.
func stateOf(s engine.NodeState) string {
	if s == engine.NodeWaiting {
		return "waiting"
	}
	return string(s)
}
