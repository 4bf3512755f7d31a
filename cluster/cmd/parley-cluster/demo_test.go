package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

// demos are the workflows of the demo agents, with what they are given.
var demos = map[string]string{
	"digest":  `{"topics": ["tea", "bees", "tides"], "limit": 4000}`,
	"publish": `{"topic": "tide tables", "words": 300}`,
	"trip":    `{"from": "Oslo", "to": "Bergen", "travellers": ["Ada", "Bob"]}`,
}

// answers are what a person says to each kind of question of theirs; to a sign-in he says nothing.
var answers = map[orchestrator.AskKind]string{
	orchestrator.AskApproval: "yes", orchestrator.AskChoice: "book it", orchestrator.AskInput: "2026-06-01 until 2026-06-05",
}

// ran is what `workflow run --json` prints of a run, without its id.
type ran struct {
	State   a2a.TaskState
	Outputs json.RawMessage
	Steps   []struct {
		ID, AgentID, State, Text string
		Data                     json.RawMessage
	}
}

// booked names the booking of a trip as every other one is named. The agent makes the reference of the task it was booked by.
func (r *ran) booked(t *testing.T) {
	t.Helper()
	var out struct{ Reference string }
	if err := json.Unmarshal(r.Outputs, &out); err != nil || len(out.Reference) != 6 {
		t.Fatalf("the trip is booked as %q: %v\n%s", out.Reference, err, r.Outputs)
	}
	every := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(out.Reference), []byte("BOOKED")) }
	r.Outputs = every(r.Outputs)
	for i := range r.Steps {
		r.Steps[i].Text, r.Steps[i].Data = string(every([]byte(r.Steps[i].Text))), every(r.Steps[i].Data)
	}
}

// carriedOut has the demo workflows carried out at a program, all at once, and answers what they ask.
func (w *world) carriedOut(program, data string) map[string]ran {
	w.Helper()
	type end struct {
		name string
		ran
		err error
	}
	ends := make(chan end, len(demos))
	for name, inputs := range demos {
		file := filepath.Join(w.dir, data+"-"+name+".json")
		w.must(os.WriteFile(file, []byte(inputs), 0o600))
		cmd := w.command(program, data, "workflow", "run", filepath.Join("../../../app/demo/workflows", name+".yaml"), "--input-file", file, "--wait", "--json")
		go func() {
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			e := end{name: name, err: err}
			if err == nil {
				e.err = json.Unmarshal(out.Bytes(), &e.ran)
			} else {
				w.Logf("%s at %s: %s", name, data, &errs)
			}
			ends <- e
		}()
	}
	ctl, err := app.Dial(w.ctx, filepath.Join(w.dir, data))
	w.must(err)
	done, answered := map[string]ran{}, map[string]bool{}
	w.eventually("the demo workflows ended", func() bool {
		select {
		case e := <-ends:
			if e.err != nil {
				w.Fatalf("%s at %s: %v", e.name, data, e.err)
			}
			done[e.name] = e.ran
		default:
		}
		var asks []app.AskInfo
		w.must(ctl.Call(w.ctx, "asks.list", struct{}{}, &asks))
		for _, a := range asks {
			if answered[a.ID] {
				continue
			}
			answered[a.ID] = true
			if a.Kind != orchestrator.AskSignIn {
				w.run(program, data, "asks", "answer", a.ID, answers[a.Kind])
				continue
			}
			r, err := http.PostForm(a.Links[0].URL, url.Values{"decision": {"yes"}})
			w.must(err)
			r.Body.Close()
		}
		return len(done) == len(demos)
	})
	return done
}

// The workflows of the demo agents come to the same on one machine and on several.
func TestDemoWorkflows(t *testing.T) {
	w := newWorld(t)
	agents := w.start("single", "demo", "demo", "--addr", "127.0.0.1:0")
	w.start("single", "single", "serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "off")
	w.node("node")
	w.worker("worker-1")
	w.worker("worker-2")
	for _, name := range []string{"writer", "files", "travel", "echo", "vault"} {
		for _, at := range [][2]string{{"single", "single"}, {"cluster", "node"}} {
			w.run(at[0], at[1], "agents", "add", agents.a2a+name, "--id", name, "--yes")
		}
	}
	want := w.carriedOut("single", "single")
	got := w.carriedOut("cluster", "node")
	for name := range demos {
		a, b := want[name], got[name]
		if a.State != a2a.TaskStateCompleted || b.State != a.State {
			t.Errorf("%s ended as %s on one machine, as %s on several", name, a.State, b.State)
		}
		if name == "trip" {
			a.booked(t)
			b.booked(t)
		}
		if len(a.Outputs) < 50 || !bytes.Equal(a.Outputs, b.Outputs) {
			t.Errorf("%s made on one machine\n%s\nand on several\n%s", name, a.Outputs, b.Outputs)
		}
		as, err := json.Marshal(a.Steps)
		w.must(err)
		bs, err := json.Marshal(b.Steps)
		w.must(err)
		if len(a.Steps) == 0 || !slices.Equal(as, bs) {
			t.Errorf("the steps of %s on one machine\n%s\nand on several\n%s", name, as, bs)
		}
	}
}
