package engine

import (
	"testing"

	"parley/a2a"
	"parley/orchestrator"
)

// again is a plan whose first step has failed, and whose second, and the third with it, came to nothing for that; a fourth
// did something all the same.
func again(t *testing.T, rules int) *flowWorld {
	t.Helper()
	a := call("a")
	a.OnError = OnErrorSkip
	slow := call("slow")
	w := newFlowWorld(t, &Graph{Nodes: []Node{a, call("b", "a"), call("c", "b"), call("d", "a"), call("e", "d"), slow}})
	w.f.Rules = rules
	over := func(node string, state a2a.TaskState) {
		w.apply(&Over{Run: w.f.Nodes[w.f.nodes().at[node]].Items[0].Run, State: state})
	}
	for _, id := range []string{"slow", "a"} {
		w.do(w.find("resolve/" + id + "/1/0"))
		w.do(w.find("begin/" + id + "/1/0/1"))
	}
	over("a", a2a.TaskStateFailed)
	w.apply(&Resolved{Node: "b", Round: 1, Skip: true}) // its condition asks for a to be done
	w.do(w.find("resolve/d/1/0"))
	w.do(w.find("begin/d/1/0/1"))
	over("d", a2a.TaskStateCompleted)
	w.do(w.find("resolve/e/1/0"))
	if w.state("a") != NodeFailed || w.state("b") != NodeSkipped || w.state("c") != NodeSkipped || w.state("d") != NodeDone {
		t.Fatalf("%+v", w.f.Nodes)
	}
	w.apply(&Steered{Node: "a", Again: true})
	return w
}

// A step that is tried again has those wait for it again that came to nothing because of it, and no others.
func TestFlowAgain(t *testing.T) {
	w := again(t, 2)
	if w.state("a") != NodeReady || w.state("b") != NodeWaiting || w.state("c") != NodeWaiting || w.state("d") != NodeDone || w.state("e") != NodeRunning {
		t.Fatalf("%+v", w.f.Nodes)
	}
	for _, id := range []string{"slow", "a", "b", "c", "e"} {
		w.settle()
		if w.state(id) != NodeRunning {
			t.Fatalf("%s: %+v", id, w.f.Nodes)
		}
		w.end(id, 0, a2a.TaskStateCompleted)
	}
	begun := map[string]bool{}
	for _, b := range w.log {
		if b, ok := b.(*Begun); ok {
			if begun[b.Run] {
				t.Errorf("%s was begun twice", b.Run)
			}
			begun[b.Run] = true
		}
	}
	if !w.f.Final || w.f.Closing != a2a.TaskStateCompleted {
		t.Errorf("%+v", w.f)
	}
}

// A run that began under the first rules goes on under them.
func TestFlowAgainBefore(t *testing.T) {
	w := again(t, 1)
	if w.state("b") != NodeSkipped || w.state("c") != NodeSkipped {
		t.Errorf("%+v", w.f.Nodes)
	}
}

// A step that nobody needs any more is not spared when a person has it tried again.
func TestFlowAgainUnneeded(t *testing.T) {
	a := call("a")
	a.OnError = OnErrorSkip
	w := newFlowWorld(t, &Graph{Nodes: []Node{a, call("b", "a"), call("slow")}})
	w.settle()
	w.end("a", 0, a2a.TaskStateFailed)
	w.settle()
	w.end("b", 0, a2a.TaskStateCompleted)
	w.apply(&Steered{Node: "a", Again: true})
	if w.state("a") != NodeReady {
		t.Errorf("%+v", w.f.Nodes)
	}
}

// Stored rules are restored as they are; those of another program are not understood.
func TestRestoreRules(t *testing.T) {
	for rules, ok := range map[string]bool{"0": false, "1": true, "2": true, "3": true, "4": true, "5": false} {
		s, err := Restore([]byte(`{"rules":`+rules+`}`), Start{To: "a"})
		if (err == nil) != ok || ok && string(s.Stored()) != `{"rules":`+rules+`}` {
			t.Errorf("rules %s: %+v, %v", rules, s, err)
		}
	}
}

// What the calls of a plan took is added up; costs in different currencies are in none.
func TestFlowUsed(t *testing.T) {
	w := newFlowWorld(t, &Graph{Nodes: []Node{call("a"), call("b"), call("c")}})
	w.settle()
	for i, u := range []*orchestrator.Usage{{InputTokens: 3, OutputTokens: 1, Cost: 0.5, Currency: "EUR"}, {InputTokens: 4, Cost: 0.25, Currency: "EUR"}, {Cost: 1, Currency: "USD"}} {
		w.apply(&Over{Run: w.f.Nodes[i].Items[0].Run, State: a2a.TaskStateCompleted, Usage: u})
		want := []orchestrator.Usage{
			{InputTokens: 3, OutputTokens: 1, Cost: 0.5, Currency: "EUR"},
			{InputTokens: 7, OutputTokens: 1, Cost: 0.75, Currency: "EUR"},
			{InputTokens: 7, OutputTokens: 1, Cost: 1.75},
		}[i]
		if w.f.Used != want {
			t.Errorf("after %d: %+v, want %+v", i+1, w.f.Used, want)
		}
	}
}
