package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// history draws events of a run, mostly such as a driver would log at that moment, some of them out of place.
type history struct {
	t      *rapid.T
	state  engine.State
	events []engine.Body
	asks   int
	now    int64
}

var states = []a2a.TaskState{
	a2a.TaskStateUnspecified, a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired,
	a2a.TaskStateAuthRequired, a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected,
}

func report(s a2a.TaskState) *engine.Report {
	return engine.ReportOf(&a2a.StatusUpdate{Status: a2a.TaskStatus{State: s}})
}

func (h *history) apply(b engine.Body) {
	h.events = append(h.events, b)
	h.state.Apply(b)
}

// step logs what a driver would log for a command, or what somebody else does meanwhile.
func (h *history) step() {
	h.now += rapid.Int64Range(0, 40_000).Draw(h.t, "later")
	cmds := h.state.Next()
	meanwhile := rapid.IntRange(0, 5).Draw(h.t, "meanwhile")
	if len(cmds) == 0 || meanwhile == 0 {
		h.meanwhile()
		return
	}
	switch c := rapid.SampledFrom(cmds).Draw(h.t, "command").(type) {
	case *engine.Plan:
		switch rapid.IntRange(0, 2).Draw(h.t, "plan") {
		case 0:
			h.ask("", orchestrator.AskChoice)
		case 1:
			h.apply(&engine.Faulted{Class: engine.Refused, Fault: fault})
		default:
			h.apply(&engine.Planned{Agents: []string{"a"}})
		}
	case *engine.Send:
		if !c.Known {
			h.apply(&engine.Sending{Step: c.Step, Agent: c.Agent, Turn: c.Turn, Attempt: c.Attempt, Repeat: c.Repeat, Digest: "d", At: h.now})
			return
		}
		switch rapid.IntRange(0, 3).Draw(h.t, "send") {
		case 0:
			h.apply(&engine.Sent{Step: c.Step, Context: "c"})
			h.apply(engine.ReportOf(&a2a.Message{}))
		case 1:
			classes := []engine.Class{engine.Unsent, engine.Refused, engine.Lost, engine.Repeat, engine.Ignored, engine.Silent, engine.Noted}
			h.apply(&engine.Faulted{Step: c.Step, Class: rapid.SampledFrom(classes).Draw(h.t, "class"), Fault: fault})
		default:
			h.apply(&engine.Sent{Step: c.Step, Task: "t", Context: "c"})
		}
	case *engine.Await:
		h.report()
	case *engine.Open:
		h.ask(c.Step, c.Kind)
	case *engine.Stop:
		if rapid.Bool().Draw(h.t, "obeyed") {
			h.apply(report(a2a.TaskStateCanceled))
		} else {
			h.apply(&engine.Faulted{Step: c.Step, Class: engine.Cancel, Fault: fault})
		}
	case *engine.Finish:
		h.apply(report(c.State))
	}
}

func (h *history) meanwhile() {
	switch rapid.IntRange(0, 6).Draw(h.t, "event") {
	case 0:
		h.apply(&engine.Stopping{})
	case 1, 2:
		if n := len(h.state.Asks); n > 0 {
			a := h.state.Asks[rapid.IntRange(0, n-1).Draw(h.t, "ask")]
			state := rapid.SampledFrom([]orchestrator.AskState{orchestrator.AskAnswered, orchestrator.AskAnswered, orchestrator.AskDeclined}).Draw(h.t, "answer")
			h.apply(&engine.Answered{Ask: a.ID, State: state, Choice: rapid.SampledFrom([]string{"again", "leave", "b"}).Draw(h.t, "choice")})
		}
	case 3:
		h.apply(&engine.Gap{Reason: "r"})
	case 4: // something seen before
		if n := len(h.events); n > 0 {
			h.apply(h.events[rapid.IntRange(0, n-1).Draw(h.t, "again")])
		}
	case 5:
		if s := h.state.Active(); s != nil && s.State == orchestrator.StepAwaiting { // one more message for a task at work
			h.apply(&engine.Sending{Step: s.ID, Agent: s.Agent, Turn: s.Turn + 1, Attempt: 1, Digest: "e", At: h.now})
		}
	default:
		h.report()
	}
}

func (h *history) report() {
	r := report(rapid.SampledFrom(states).Draw(h.t, "state"))
	for _, b := range h.state.Before(r) {
		h.apply(b)
	}
	h.apply(r)
}

func (h *history) ask(step string, kind orchestrator.AskKind) {
	h.asks++
	h.apply(&engine.Asked{Ask: fmt.Sprint("ask", h.asks), Step: step, AskKind: kind})
}

var fault = &orchestrator.Fault{Kind: "k", What: "It broke."}

func begin(t *rapid.T) engine.State {
	return engine.New(engine.Start{
		To: rapid.SampledFrom([]string{"a", orchestrator.Auto}).Draw(t, "to"), Person: rapid.Bool().Draw(t, "person"),
	})
}

func ids(cmds []engine.Command) []string {
	var out []string
	for _, c := range cmds {
		out = append(out, c.ID())
	}
	return out
}

// The state is a function of the events, also when it was stored and read again anywhere on the way.
func TestReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := begin(t)
		h := &history{t: t, state: copied(t, first)}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			h.step()
		}
		cut := rapid.IntRange(0, len(h.events)).Draw(t, "cut")
		again := copied(t, first)
		for i, b := range h.events {
			if i == cut {
				again = copied(t, again)
			}
			again.Apply(b)
		}
		if diff := cmp.Diff(copied(t, h.state), copied(t, again)); diff != "" {
			t.Fatalf("replayed differently (-first +again):\n%s", diff)
		}
		if diff := cmp.Diff(ids(h.state.Next()), ids(again.Next())); diff != "" {
			t.Fatalf("other commands (-first +again):\n%s", diff)
		}
		if again.Events != len(h.events) {
			t.Fatalf("%d events are in the state, %d were applied", again.Events, len(h.events))
		}
	})
}

// copied is the state as it is stored and read again.
func copied(t *rapid.T, s engine.State) engine.State {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var c engine.State
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Once a command is no longer named it is never named again, and none is named twice at once.
func TestNoCommandTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, state: begin(t)}
		done := map[string]bool{}
		var named []string
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			before := len(h.events)
			h.step()
			// Look after every single event, not only after each step.
			replay := begunLike(h, before)
			for _, b := range h.events[before:] {
				replay.Apply(b)
				now := ids(replay.Next())
				if slices.Sort(now); len(slices.Compact(slices.Clone(now))) != len(now) {
					t.Fatalf("named twice at once: %v", now)
				}
				for _, id := range named {
					done[id] = done[id] || !slices.Contains(now, id)
				}
				for _, id := range now {
					if done[id] {
						t.Fatalf("%s was done and is named again, after %d events", id, replay.Events)
					}
				}
				named = now
			}
		}
	})
}

// begunLike returns the state of a history after its first n events.
func begunLike(h *history, n int) engine.State {
	s := engine.New(engine.Start{To: h.state.To, Person: h.state.Person})
	for _, b := range h.events[:n] {
		s.Apply(b)
	}
	return s
}

// A run that has ended stays as it ended.
func TestTerminalIsFinal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, state: begin(t)}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			h.step()
		}
		end := rapid.SampledFrom([]a2a.TaskState{a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected}).Draw(t, "end")
		h.apply(report(end))
		ended := copied(t, h.state)
		for range rapid.IntRange(1, 20).Draw(t, "late") {
			h.step()
		}
		now := copied(t, h.state)
		now.Events = ended.Events
		if diff := cmp.Diff(ended, now); diff != "" || len(h.state.Next()) != 0 {
			t.Fatalf("changed after its end (-then +now):\n%s", diff)
		}
		if len(ended.Asks) != 0 || !ended.Ended {
			t.Fatalf("ended as %+v", ended)
		}
	})
}

// Every run that can end does: a driver that carries out what it is told, with an agent that completes, comes to an end.
func TestComesToAnEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, state: begin(t)}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			h.step()
		}
		for i := 0; !h.state.Ended; i++ {
			if i > 50 {
				t.Fatalf("does not end: %+v, %v", h.state, ids(h.state.Next()))
			}
			cmds := h.state.Next()
			if len(cmds) == 0 {
				if len(h.state.Asks) == 0 {
					t.Fatalf("waits for nobody: %+v", h.state)
				}
				h.apply(&engine.Answered{Ask: h.state.Asks[0].ID, State: orchestrator.AskAnswered, Choice: "b"})
				continue
			}
			switch c := cmds[0].(type) {
			case *engine.Plan:
				h.apply(&engine.Planned{Agents: []string{"a"}})
			case *engine.Send:
				if c.Known {
					h.apply(&engine.Sent{Step: c.Step, Task: "t"})
				} else {
					h.apply(&engine.Sending{Step: c.Step, Agent: c.Agent, Turn: c.Turn, Attempt: c.Attempt, Repeat: c.Repeat})
				}
			case *engine.Await:
				h.apply(report(a2a.TaskStateCompleted))
			case *engine.Open:
				h.ask(c.Step, c.Kind)
			case *engine.Stop:
				h.apply(&engine.Faulted{Step: c.Step, Class: engine.Cancel, Fault: fault})
			case *engine.Finish:
				h.apply(report(c.State))
			}
		}
	})
}

func TestBodiesRoundTrip(t *testing.T) {
	t.Parallel()
	bodies := []engine.Body{
		&engine.Planned{Agents: []string{"a"}, Why: "w"},
		&engine.Sending{
			Step: "s1", Agent: "a", Turn: 2, Attempt: 1, Repeat: 1, MessageID: "m", ContextID: "c", TaskID: "t", References: []string{"r"},
			Digest: "d", At: 5, Hops: 1, Message: json.RawMessage(`{"messageId":"x"}`), Config: &engine.Config{OutputModes: []string{"text/plain"}, Immediately: true},
		},
		&engine.Sent{Step: "s1", Task: "t", Context: "c"},
		&engine.Asked{
			Ask: "x", Step: "s1", AskKind: orchestrator.AskInput, Agent: "a", Prompt: "p", Schema: json.RawMessage(`{}`),
			Choices: []orchestrator.Choice{{ID: "1", Label: "l"}}, Links: []orchestrator.Link{{Label: "l", URL: "https://e.com"}},
		},
		&engine.Answered{Ask: "x", State: orchestrator.AskAnswered, Choice: "c", Shown: "s"},
		&engine.Stopping{},
		&engine.Gap{Reason: "r"},
		&engine.Faulted{Step: "s1", Class: engine.Lost, Fault: fault},
	}
	for _, b := range bodies {
		got, err := engine.Decode(&orchestrator.Event{Entry: &a2a.Entry{JSON: engine.Marshal(b)}, Kind: b.Kind()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", b.Kind(), diff)
		}
	}
	if _, err := engine.Decode(&orchestrator.Event{Entry: &a2a.Entry{JSON: []byte(`{}`)}, Kind: "other"}); err == nil {
		t.Error("an unknown kind was read")
	}
	if _, err := engine.Decode(&orchestrator.Event{Entry: &a2a.Entry{JSON: []byte(`[`)}, Kind: orchestrator.EventGap}); err == nil {
		t.Error("a broken body was read")
	}
}

func TestTooOften(t *testing.T) {
	t.Parallel()
	s := engine.New(engine.Start{To: "a"})
	for i := range int64(engine.MaxIdentical) {
		if s.TooOften("a", "d", i) {
			t.Fatalf("request %d is too much", i+1)
		}
		s.Apply(&engine.Sending{Step: engine.FirstStep, Agent: "a", Turn: int(i) + 2, Attempt: 1, Digest: "d", At: i})
	}
	at := int64(engine.MaxIdentical)
	if !s.TooOften("a", "d", at) {
		t.Error("one more is not too much")
	}
	if s.TooOften("a", "e", at) || s.TooOften("b", "d", at) {
		t.Error("another request, or another agent, is too much")
	}
	if !s.TooOften("a", "d", engine.IdenticalWindow-1) || s.TooOften("a", "d", engine.IdenticalWindow) {
		t.Error("the window ends elsewhere")
	}
}

func TestMessageID(t *testing.T) {
	t.Parallel()
	a := engine.MessageID("r", "s1", 1, 1)
	for _, b := range []string{engine.MessageID("r", "s1", 1, 2), engine.MessageID("r", "s1", 2, 1), engine.MessageID("q", "s1", 1, 1)} {
		if a == b {
			t.Error("two messages share an id")
		}
	}
	if a != engine.MessageID("r", "s1", 1, 1) || len(a) != 32 {
		t.Errorf("the id is %q", a)
	}
}
