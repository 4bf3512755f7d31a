package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const file = `
name: letters
steps:
  - {id: one, agent: %[1]s, message: "%[2]s one"}
  - {id: two, agent: %[1]s, message: "%[2]s two"}
  - {id: both, needs: [one, two], agent: %[1]s, message: "%[2]s ${{ len(steps.one.text) }} ${{ len(steps.two.text) }}"}
outputs:
  text: ${{ steps.both.text }}
`

// Two nodes and two workers share what is to be done. One of each is killed in the midst of it: every run ends as if
// nothing had happened, and every message was acted on once.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	p := newPeer(t, "Writer")
	one, two := w.node("node-1"), w.node("node-2")
	doomed, _ := w.worker("worker-1"), w.worker("worker-2")
	agent := w.add("cluster", "node-1", p)
	w.idempotent(agent)

	began := time.Now()
	const plain, plans = 24, 6
	ids := map[string]string{} // by message
	send := func(i int, at *process) error {
		id := fmt.Sprintf("m%d", i)
		var err error
		if i < plain {
			ids[id], err = w.send(at, id, map[string]any{"urn:parley:agent": agent}, map[string]any{"text": "letter " + id})
		} else {
			source := fmt.Sprintf(file, agent, id)
			ids[id], err = w.send(at, id, nil, map[string]any{"data": map[string]any{"workflow": source}})
		}
		return err
	}
	for i := range plain + plans {
		at := one
		if i%2 == 1 {
			at = two
		}
		if i == plain-4 { // in the midst of the first
			w.eventually("agents are at work", func() bool { return len(p.counts()) > plain/2 })
			w.kill(doomed)
			w.kill(one)
		}
		err := send(i, at)
		if err != nil && at == one { // who was answered by nobody asks the other node
			err = send(i, two)
		}
		w.must(err)
	}
	for i := range plain + plans {
		id := fmt.Sprintf("m%d", i)
		got := w.until(two, ids[id])
		if got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("%s ended as %+v", id, got.Status)
			continue
		}
		if i < plain {
			if len(got.Artifacts) != 1 || text(got.Artifacts[0].Parts) != whole("letter "+id) {
				t.Errorf("%s made %+v", id, got.Artifacts)
			}
			continue
		}
		n := len(whole(id + " one"))
		var out struct{ Text string }
		i := slices.IndexFunc(got.Artifacts, func(a struct {
			Name  string
			Parts []struct {
				Text string
				Data json.RawMessage
			}
		},
		) bool {
			return a.Name == "Outputs"
		})
		if i < 0 || json.Unmarshal(got.Artifacts[i].Parts[0].Data, &out) != nil || out.Text != whole(fmt.Sprintf("%s %d %d", id, n, n)) {
			t.Errorf("%s made %+v", id, got.Artifacts)
		}
	}
	counts := p.counts()
	if want := plain + 3*plans; len(counts) != want {
		t.Errorf("the agent was told %d things, want %d", len(counts), want)
	}
	for said, n := range counts {
		if n != 1 {
			t.Errorf("the agent acted %d times on %q", n, said)
		}
	}
	t.Logf("%d tasks and %d plans, one node and one worker killed: done after %s", plain, plans, time.Since(began).Round(time.Millisecond))
}

// outputs returns what a plan made.
func (t *task) outputs() string {
	for _, a := range t.Artifacts {
		if a.Name == "Outputs" {
			return string(a.Parts[0].Data)
		}
	}
	return ""
}

// The same workflow has the same result on one machine and on several, and a worker that is asked to end leaves its runs to
// another at once.
func TestSameResult(t *testing.T) {
	w := newWorld(t)
	p := newPeer(t, "Writer")
	single := w.start("single", "single", "serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "off")
	node := w.node("node")
	first := w.worker("worker-1")
	want, got := &task{}, &task{}
	for _, at := range []struct {
		program, data, word string
		p                   *process
		t                   *task
	}{{"single", "single", "single", single, want}, {"cluster", "node", "shared", node, got}} {
		agent := w.add(at.program, at.data, p)
		id, err := w.send(at.p, "m", nil, map[string]any{"data": map[string]any{"workflow": fmt.Sprintf(file, agent, at.word)}})
		w.must(err)
		if at.p == node {
			w.eventually("it is being carried on", func() bool { return p.counts()["shared one"] == 1 })
			w.worker("worker-2")
			w.stop(first)
		}
		*at.t = *w.until(at.p, id)
	}
	if want.Status.State != "TASK_STATE_COMPLETED" || got.Status.State != want.Status.State {
		t.Errorf("ended as %+v, and as %+v", want.Status, got.Status)
	}
	if a, b := want.outputs(), strings.ReplaceAll(got.outputs(), "shared", "single"); a == "" || a != b {
		t.Errorf("made %s, and %s", want.outputs(), got.outputs())
	}
	for said, n := range p.counts() {
		if n != 1 {
			t.Errorf("the agent acted %d times on %q", n, said)
		}
	}
}

// What one node is asked, another one may answer; a node that Temporal does not answer takes messages all the same, and what
// it took is done when Temporal is back.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	p := newPeer(t, "Writer")
	one, two := w.node("node-1"), w.node("node-2")
	w.worker("worker")
	agent := w.add("cluster", "node-1", p)
	named := map[string]any{"urn:parley:agent": agent}
	id, err := w.send(one, "m1", named, map[string]any{"text": "ask me"})
	w.must(err)
	w.eventually("it asks", func() bool { return w.get(two, id).Status.State == "TASK_STATE_INPUT_REQUIRED" })

	w.must(engine.Pause())
	resumed := false
	resume := func() {
		if !resumed {
			resumed = true
			w.must(engine.Continue())
		}
	}
	t.Cleanup(resume)
	var answered struct{ Task task }
	w.must(w.call(two, "SendMessage", map[string]any{
		"message": map[string]any{
			"messageId": "m2", "role": "ROLE_USER", "taskId": id, "parts": []any{map[string]any{"text": "the other"}},
		},
		"configuration": map[string]any{"returnImmediately": true},
	}, &answered))
	begun := make(chan string, 1)
	go func() { // it is answered with the agent's first word
		other, err := w.send(one, "m3", named, map[string]any{"text": "more"})
		if err != nil {
			t.Error(err)
		}
		begun <- other
	}()
	var page struct{ Tasks []task }
	w.eventually("the message is taken", func() bool {
		w.must(w.call(two, "ListTasks", map[string]any{}, &page))
		return len(page.Tasks) == 2
	})
	resume()
	for _, id := range []string{id, <-begun} {
		if s := w.until(two, id).Status; s.State != "TASK_STATE_COMPLETED" {
			t.Errorf("ended as %+v", s)
		}
	}
	if c := p.counts(); c["the other"] != 1 || c["more"] != 1 || c["ask me"] != 1 {
		t.Errorf("the agent acted on %v", c)
	}

	// A stop at one node reaches the run that a worker carries on for another.
	id, err = w.send(one, "m4", named, map[string]any{"text": "long"})
	w.must(err)
	w.eventually("the agent is at work", func() bool { return w.get(one, id).Status.State == "TASK_STATE_WORKING" })
	stopped := &task{}
	w.must(w.call(two, "CancelTask", map[string]any{"id": id}, stopped))
	if stopped.Status.State != "TASK_STATE_CANCELED" {
		t.Errorf("stopped as %+v", stopped.Status)
	}
}
