package local_test

import (
	"fmt"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
)

// A v0.1 client names its task by itself, in every message of it. One that asks for a workflow again, in a task that there
// is, says something in that task: it does not begin a second one in its place.
func TestLaunchInNamedTask(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	launch := &orchestrator.Launch{Source: []byte(`
name: n
steps:
  - {id: which, ask: {prompt: "Which?"}}
outputs: {said: "${{ steps.which.text }}"}
`)}
	send := func(n int, text string) (local.Started, error) {
		return s.d.Tasks("").Launch(t.Context(), "ann", &a2a.SendRequest{NewTask: true, Message: a2a.Message{
			ID: fmt.Sprint("m", n), TaskID: "mine", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)},
		}}, launch)
	}
	first, err := send(1, "begin")
	s.must(err)
	before, err := s.store.Run(t.Context(), "mine")
	s.must(err)
	second, err := send(2, "that one")
	s.must(err)
	if first.TaskID != "mine" || second.TaskID != "mine" || second.After < before.LastSeq {
		t.Errorf("%+v, then %+v", first, second)
	}
	task, err := s.d.Tasks("").Task(t.Context(), "ann", &a2a.GetRequest{ID: "mine"})
	s.must(err)
	if task.Status.State != a2a.TaskStateCompleted || a2a.Text(task.Status.Message.Parts) != "that one" {
		t.Errorf("the task is %+v", task.Status)
	}
	if _, err := send(3, "again"); err == nil {
		t.Error("a task that has ended began once more")
	}
	now, err := s.store.Run(t.Context(), "mine")
	s.must(err)
	if now.State != a2a.TaskStateCompleted || !now.Created.Equal(before.Created) {
		t.Errorf("%+v", now)
	}
	if _, err := s.d.Tasks("").Launch(t.Context(), "bob", &a2a.SendRequest{NewTask: true, Message: a2a.Message{
		ID: "m1", TaskID: "mine", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("mine, too")},
	}}, launch); err == nil {
		t.Error("the task of another caller was taken")
	}
}
