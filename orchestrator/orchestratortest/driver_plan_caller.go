package orchestratortest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
)

// starter is what serves A2A callers of a planner.
type starter interface {
	Launch(ctx ctx, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (task string, after int64, repeated bool, err error)
}

func (w *world) call(principal, id, steps string) string {
	w.Helper()
	s, ok := w.driver.Tasks("").(starter)
	if !ok {
		w.Skip("the driver lets no A2A caller launch workflows")
	}
	task, _, repeated, err := s.Launch(w.ctx, principal, message(id, "please"), launch(steps))
	w.must(err)
	if repeated {
		w.Errorf("message %s counts as repeated", id)
	}
	again, _, repeated, err := s.Launch(w.ctx, principal, message(id, "please"), launch(steps))
	if err != nil || !repeated || again != task {
		w.Errorf("the same message again: %s, %v, %v", again, repeated, err)
	}
	return task
}

func planCaller(w *world) {
	w.add("a", func(x *Turn) {
		x.Give("f", a2a.Part{Kind: a2a.PartRaw, Filename: "x", Raw: []byte("bytes")})
		x.Say(a2a.TaskStateCompleted, "done it")
	})
	task := w.call("ann", "m1", "\n  - {id: a, name: Do it, agent: a, message: go}\n")
	events := w.until("", "ann", task, 0, ends)
	w.fold(task)
	var told []string
	for _, e := range events {
		if u, ok := e.(*a2a.StatusUpdate); ok && u.Status.Message != nil {
			var v struct {
				Step struct{ ID, State, AgentID string } `json:"urn:parley:step"`
			}
			if json.Unmarshal(u.Status.Message.Metadata, &v) == nil && v.Step.ID != "" {
				told = append(told, v.Step.ID+" "+v.Step.State+" "+v.Step.AgentID)
			}
		}
	}
	if !slices.Equal(told, []string{"a running a", "a done a"}) {
		w.Errorf("the caller was told %q", told)
	}
	t, err := w.driver.Tasks("").Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
	w.must(err)
	if t.Status.State != a2a.TaskStateCompleted || a2a.Text(t.Status.Message.Parts) != "done it" || len(t.Artifacts) != 1 || string(t.Artifacts[0].Parts[0].Raw) != "bytes" {
		w.Errorf("%+v", t)
	}
	page, err := w.driver.Tasks("").List(w.ctx, "ann", &a2a.ListRequest{})
	w.must(err)
	if len(page.Tasks) != 1 {
		w.Errorf("%d tasks are listed", len(page.Tasks))
	}
	slow := w.add("slow", waits(nil))
	task = w.call("ann", "m2", "\n  - {id: a, agent: slow, message: go}\n")
	w.eventually("it goes on", func() bool { return len(slow.Tasks()) == 1 })
	t, err = w.driver.Tasks("").Cancel(w.ctx, "ann", &a2a.CancelRequest{ID: task})
	w.must(err)
	if t.Status.State != a2a.TaskStateCanceled || slow.Cancels() != 1 {
		w.Errorf("%+v", t)
	}
}

func planCallerAsks(w *world) {
	w.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
	w.add("vault", asks(a2a.TaskStateAuthRequired, "Please sign in."))
	task := w.call("ann", "m1", "\n  - {id: a, agent: asker, message: first}\n  - {id: b, agent: asker, message: second}\n")
	asked := func(n int) []struct{ ID, Agent, Origin string } {
		var v struct {
			Asks []struct{ ID, Agent, Origin string }
		}
		w.eventually(fmt.Sprint(n, " asks are told"), func() bool {
			t, err := w.driver.Tasks("").Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
			w.must(err)
			if t.Status.Message == nil || !t.Status.State.Interrupted() {
				return false
			}
			for _, p := range t.Status.Message.Parts {
				if p.Kind == a2a.PartData {
					v.Asks = nil
					w.must(json.Unmarshal(p.Data, &v))
				}
			}
			return len(v.Asks) == n
		})
		return v.Asks
	}
	open := asked(2)
	if open[0].Agent != "asker" || open[0].Origin != "http://asker.invalid" {
		w.Errorf("%+v", open)
	}
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", reply(task, "m2", "which one is meant?")))
	if open := asked(2); len(open) != 2 {
		w.Errorf("%+v", open)
	}
	named := reply(task, "m3", "for the second")
	named.Message.Parts = append(named.Message.Parts, a2a.DataPart(map[string]any{"ask": open[1].ID}))
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", named))
	left := asked(1)
	if left[0].ID != open[0].ID {
		w.Errorf("%+v is left of %+v", left, open)
	}
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", reply(task, "m4", "the only one")))
	w.until("", "ann", task, 0, ends)
	w.fold(task)
	texts := w.step(task, "a").Text + w.step(task, "b").Text
	if !strings.Contains(texts, "for the second") || !strings.Contains(texts, "the only one") {
		w.Errorf("%q", texts)
	}

	task = w.call("ann", "m5", "\n  - {id: s, agent: vault, message: open}\n")
	w.eventually("a sign-in is asked for", func() bool { return w.run(task).State == a2a.TaskStateAuthRequired })
	if open := asked(1); open[0].Origin != "http://vault.invalid" {
		w.Errorf("%+v", open)
	}
	w.must1(w.driver.Tasks("").Start(w.ctx, "ann", reply(task, "m6", "hunter2")))
	w.until("", "ann", task, 0, ends)
	for _, e := range w.events(task) {
		if strings.Contains(string(e.JSON), "hunter2") {
			w.Errorf("event %d holds what was typed", e.Seq)
		}
	}
}

func (w *world) must1(_ string, _ int64, _ bool, err error) {
	w.Helper()
	w.must(err)
}
