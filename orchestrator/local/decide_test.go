package local_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/planner"
)

// scripted is a Decider that follows a script, and remembers what it was told.
type scripted struct {
	mu     sync.Mutex
	briefs []*planner.Brief
	decide func(b *planner.Brief) (*planner.Decision, error)
	reply  func(q *planner.Question) *planner.Answer
	off    bool
}

func (s *scripted) On() bool { return !s.off }

func (s *scripted) Decide(_ context.Context, b *planner.Brief) (*planner.Decision, error) {
	s.mu.Lock()
	s.briefs = append(s.briefs, b)
	s.mu.Unlock()
	return s.decide(b)
}

func (s *scripted) Reply(_ context.Context, _ *planner.Brief, q *planner.Question) (*planner.Answer, error) {
	return s.reply(q), nil
}

func (s *scripted) asked() []*planner.Brief {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.briefs
}

// stage is a driver over a memory store, with agents that can be restarted.
type stage struct {
	*testing.T
	store   *orchestratortest.MemoryStore
	agents  *orchestratortest.Agents
	options *local.Options
	d       *local.Driver
}

func newStage(t *testing.T, decider planner.Decider) *stage {
	s := &stage{T: t, store: orchestratortest.NewMemoryStore(), agents: orchestratortest.NewAgents(), options: &local.Options{
		Decider: decider, StopGrace: 100 * time.Millisecond, PollMin: 2 * time.Millisecond, PollMax: 20 * time.Millisecond,
	}}
	s.d = local.New(s.store, s.agents, s.options)
	t.Cleanup(func() {
		s.must(s.d.Close(context.Background()))
		s.agents.Wait()
	})
	return s
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) restart() {
	s.Helper()
	s.must(s.d.Close(s.Context()))
	s.d = local.New(s.store, s.agents, s.options)
	s.must(s.d.Resume(s.Context()))
}

func (s *stage) add(id string, script orchestratortest.Script) *orchestratortest.Agent {
	s.Helper()
	a, row := s.agents.Add(id, script)
	s.must(s.store.Write(s.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}))
	return a
}

func (s *stage) say(conversation, text string) *orchestrator.Run {
	s.Helper()
	run, err := s.d.Say(s.Context(), &orchestrator.Say{ConversationID: conversation, To: orchestrator.Auto, Text: text})
	s.must(err)
	return run
}

func (s *stage) reaches(run string, want a2a.TaskState) {
	s.Helper()
	var now a2a.TaskState
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now = state(s.T, s.store, run); now == want {
			return
		}
		if now.Terminal() {
			break
		}
	}
	p, _ := s.d.Plan(s.Context(), run)
	s.Fatalf("the run is %s, want %s: %+v", now, want, p)
}

func (s *stage) items(conversation string) []string {
	s.Helper()
	items, err := s.store.Items(s.Context(), conversation, 0, 100)
	s.must(err)
	var out []string
	for _, it := range items {
		out = append(out, fmt.Sprintf("%s %s: %s", it.Kind, it.AgentID, it.Text))
	}
	return out
}

func (s *stage) ask() *orchestrator.Ask {
	s.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		open, err := s.store.OpenAsks(s.Context(), "")
		s.must(err)
		if len(open) > 0 {
			return open[0]
		}
	}
	s.Fatal("nothing is asked")
	return nil
}

func answering(text string) orchestratortest.Script {
	return func(x *orchestratortest.Turn) {
		x.Write("text", text+" "+a2a.Text(x.Message.Parts))
		x.Status(a2a.TaskStateCompleted)
	}
}

func finish(text string) *planner.Decision {
	return &planner.Decision{Finish: &planner.Finish{Text: text}}
}

// A plan that is made as it goes: two agents at once, a question, and what they made passed on; not asked again after a
// restart.
func TestDecide(t *testing.T) {
	t.Parallel()
	script := &scripted{decide: func(b *planner.Brief) (*planner.Decision, error) {
		switch len(b.Rounds) {
		case 0:
			return &planner.Decision{Why: "Both are needed.", Delegate: []planner.Delegation{
				{ID: "r1-1", Agent: "one", Message: "${{ inputs.x }}"}, {ID: "r1-2", Agent: "two", Message: "second"},
			}}, nil
		case 1:
			return &planner.Decision{Ask: &planner.Question{Prompt: "Which?", Choices: []orchestrator.Choice{{ID: "red", Label: "Red"}, {ID: "blue", Label: "Blue"}}}}, nil
		case 2:
			return &planner.Decision{Delegate: []planner.Delegation{{
				ID: "r3-1", Agent: "one", Message: b.Rounds[1].Answer, Artifacts: []planner.ArtifactRef{{Delegation: "r1-2", Artifact: "text"}},
			}}}, nil
		}
		return finish("All of it: " + b.Rounds[2].Results[0].Text), nil
	}}
	s := newStage(t, script)
	one, two := s.add("one", answering("1")), s.add("two", answering("2"))
	s.add("three", answering("3"))
	run := s.say("", "do it")
	s.reaches(run.ID, a2a.TaskStateInputRequired)
	s.restart()
	if n := len(script.asked()); n != 2 {
		t.Errorf("asked %d times before the answer", n)
	}
	s.must(s.d.Answer(t.Context(), s.ask().ID, &orchestrator.Answer{Choice: "blue"}))
	s.reaches(run.ID, a2a.TaskStateCompleted)
	if n := len(script.asked()); n != 4 {
		t.Errorf("asked %d times", n)
	}
	if got := a2a.Text(one.Sent()[0].Message.Parts); got != "${{ inputs.x }}" {
		t.Errorf("what the planner says was read as an expression: %q", got)
	}
	if m := one.Sent()[1].Message; len(m.Parts) != 2 || m.Parts[0].Text != "blue" || m.Parts[1].Text != "2 second" || len(two.Sent()) != 1 {
		t.Errorf("%+v", m)
	}
	second := script.asked()[1]
	if r := second.Rounds[0].Results; len(r) != 2 || r[1].Text != "2 second" || r[1].Artifacts[0].ArtifactID != "text" || second.Left != 11 || len(second.Agents) != 3 {
		t.Errorf("%+v", second)
	}
	items := s.items(run.ConversationID)
	if last := items[len(items)-1]; !strings.HasPrefix(last, "agent agent: All of it: 1 blue") {
		t.Errorf("%q", items)
	}
	p, err := s.d.Plan(t.Context(), run.ID)
	s.must(err)
	var nodes []string
	for _, n := range p.Nodes {
		nodes = append(nodes, n.ID+" "+n.Kind+" "+n.State)
	}
	if got := strings.Join(nodes, ", "); got != "p1 plan done, r1-1 call done, r1-2 call done, p2 plan done, q2 ask done, p3 plan done, r3-1 call done, p4 plan done" {
		t.Error(got)
	}
}

// One agent that is asked and whose answer is the answer leaves what a chat with it would; it knows the chat.
func TestDecideDirect(t *testing.T) {
	t.Parallel()
	script := &scripted{decide: func(b *planner.Brief) (*planner.Decision, error) {
		if len(b.Rounds) == 0 {
			return &planner.Decision{Delegate: []planner.Delegation{{ID: "r1-1", Agent: "one", Message: a2a.Text(b.Request)}}}, nil
		}
		return finish(b.Rounds[0].Results[0].Text), nil
	}}
	s := newStage(t, script)
	one := s.add("one", answering("yes"))
	run := s.say("", "hello")
	s.reaches(run.ID, a2a.TaskStateCompleted)
	again := s.say(run.ConversationID, "and?")
	s.reaches(again.ID, a2a.TaskStateCompleted)
	if got := strings.Join(s.items(run.ConversationID), "; "); got != "user : hello; agent one: yes hello; user : and?; agent one: yes and?" {
		t.Error(got)
	}
	sent := one.Sent()
	if sent[1].Message.ContextID == "" || sent[1].Message.ContextID != "one-context-1" {
		t.Errorf("the second message came in context %q", sent[1].Message.ContextID)
	}
	if e := script.asked()[2].Earlier; len(e) != 2 || e[0].AgentID != "" || e[1].AgentID != "one" || e[1].Text != "yes hello" {
		t.Errorf("%+v", e)
	}
}

// What a planner must not decide is refused, whoever it is; a failure is told to it, and its rounds are bounded.
func TestDecideBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decision *planner.Decision
		kind     string
	}{
		"nothing":      {&planner.Decision{}, "plan"},
		"two things":   {&planner.Decision{Finish: &planner.Finish{}, Ask: &planner.Question{}}, "plan"},
		"nobody":       {&planner.Decision{Delegate: []planner.Delegation{{ID: "x", Agent: "nobody"}}}, "plan"},
		"not approved": {&planner.Decision{Delegate: []planner.Delegation{{ID: "x", Agent: "pending", Message: "go"}}}, "plan"},
		"twice":        {&planner.Decision{Delegate: []planner.Delegation{{ID: "x", Agent: "one"}, {ID: "x", Agent: "one"}}}, "plan"},
		"no artifact":  {&planner.Decision{Finish: &planner.Finish{Artifacts: []planner.ArtifactRef{{Delegation: "x", Artifact: "y"}}}}, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, &scripted{decide: func(*planner.Brief) (*planner.Decision, error) { return tt.decision, nil }})
			one, pending := s.add("one", answering("1")), s.add("pending", answering("2"))
			row, err := s.store.Agent(t.Context(), "pending")
			s.must(err)
			row.Trust = orchestrator.TrustPending
			s.must(s.store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}))
			run := s.say("", "do it")
			s.reaches(run.ID, a2a.TaskStateFailed)
			p, err := s.d.Plan(t.Context(), run.ID)
			s.must(err)
			if p.Fault == nil || p.Fault.Kind != tt.kind || len(one.Sent())+len(pending.Sent()) != 0 {
				t.Errorf("%+v", p.Fault)
			}
		})
	}
	t.Run("rounds", func(t *testing.T) {
		t.Parallel()
		script := &scripted{}
		script.decide = func(b *planner.Brief) (*planner.Decision, error) {
			return &planner.Decision{Delegate: []planner.Delegation{{ID: fmt.Sprint("d", len(b.Rounds)), Agent: "one", Message: fmt.Sprint(len(b.Rounds))}}}, nil
		}
		s := newStage(t, script)
		s.add("one", answering("1"))
		run := s.say("", "do it")
		s.reaches(run.ID, a2a.TaskStateFailed)
		if n := len(script.asked()); n != 12 {
			t.Errorf("asked %d times", n)
		}
		p, err := s.d.Plan(t.Context(), run.ID)
		s.must(err)
		if p.Fault == nil || p.Fault.Kind != "rounds" {
			t.Errorf("%+v", p.Fault)
		}
	})
	t.Run("declined", func(t *testing.T) {
		t.Parallel()
		script := &scripted{decide: func(b *planner.Brief) (*planner.Decision, error) {
			switch {
			case len(b.Rounds) == 0:
				return &planner.Decision{Delegate: []planner.Delegation{{ID: "a", Agent: "one", Message: "go"}, {ID: "b", Agent: "two", Message: "go"}}}, nil
			case b.Decline["one"] != "Not me.":
				return nil, fmt.Errorf("it was declined: %v", b.Decline)
			case b.Rounds[0].Results[1].Fault == nil:
				return nil, fmt.Errorf("it failed")
			}
			return finish("nobody wants to"), nil
		}}
		s := newStage(t, script)
		s.add("one", func(x *orchestratortest.Turn) { x.Say(a2a.TaskStateRejected, "Not me.") })
		s.add("two", func(x *orchestratortest.Turn) { x.Say(a2a.TaskStateFailed, "Broken.") })
		run := s.say("", "do it")
		s.reaches(run.ID, a2a.TaskStateCompleted)
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		script := &scripted{off: true}
		s := newStage(t, script)
		s.add("one", answering("1"))
		run := s.say("", "do it")
		s.reaches(run.ID, a2a.TaskStateInputRequired) // the cards cannot tell either
		if _, err := s.d.Plan(t.Context(), run.ID); err == nil || len(script.asked()) != 0 {
			t.Error("a planner that is off was asked")
		}
	})
}

// The model answers what an agent asks only where the step allows it; what it leaves is asked a person.
func TestModelAnswers(t *testing.T) {
	t.Parallel()
	script := &scripted{reply: func(q *planner.Question) *planner.Answer {
		if q.Prompt == "Which city?" {
			return &planner.Answer{Text: "Rome"}
		}
		return nil
	}}
	s := newStage(t, script)
	asker := func(question string) orchestratortest.Script {
		return func(x *orchestratortest.Turn) {
			if x.Message.TaskID == "" {
				x.Say(a2a.TaskStateInputRequired, question)
				return
			}
			answering("told")(x)
		}
	}
	s.add("city", asker("Which city?"))
	s.add("name", asker("Whose name?"))
	run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: []byte(`
name: Ask the model
steps:
  - {id: a, agent: city, message: go, answer: model}
  - {id: b, agent: name, message: go, answer: model}
  - {id: c, needs: [a, b], agent: city, message: go}
`)})
	s.must(err)
	s.reaches(run.ID, a2a.TaskStateInputRequired)
	ask := s.ask()
	if ask.Prompt != "Whose name?" {
		t.Errorf("a person is asked %q", ask.Prompt)
	}
	s.must(s.d.Answer(t.Context(), ask.ID, &orchestrator.Answer{Text: "Ann"}))
	s.reaches(run.ID, a2a.TaskStateInputRequired)
	for ask.Prompt != "Which city?" {
		ask = s.ask()
	}
	s.must(s.d.Answer(t.Context(), ask.ID, &orchestrator.Answer{Text: "Oslo"}))
	s.reaches(run.ID, a2a.TaskStateCompleted)
	p, err := s.d.Plan(t.Context(), run.ID)
	s.must(err)
	if p.Nodes[0].Text != "told Rome" || p.Nodes[1].Text != "told Ann" || p.Nodes[2].Text != "told Oslo" {
		t.Errorf("%+v", p.Nodes)
	}
}
