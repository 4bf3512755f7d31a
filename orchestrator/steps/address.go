package steps

import (
	"slices"

	"parley/a2a"
)

// Address puts an agent's events under the ids of our run, so that nobody above sees an agent's own.
type Address struct {
	Run     string
	Context string
	Asked   *a2a.Message // the message the run is for, as its caller sent it
	SentID  string       // the id it went to the agent under
}

// Event rewrites e in place.
func (a *Address) Event(e a2a.Event) {
	switch e := e.(type) {
	case *a2a.Message:
		a.message(e)
		e.TaskID = ""
	case *a2a.StatusUpdate:
		e.TaskID, e.ContextID = a.Run, a.Context
		if e.Status.Message != nil {
			a.message(e.Status.Message)
		}
	case *a2a.ArtifactUpdate:
		e.TaskID, e.ContextID = a.Run, a.Context
	case *a2a.Task:
		a.task(e)
	}
}

func (a *Address) message(m *a2a.Message) {
	m.TaskID, m.ContextID, m.ReferenceTaskIDs = a.Run, a.Context, nil
}

// task rewrites a task; its history begins with, or holds, the message as our caller sent it.
func (a *Address) task(t *a2a.Task) {
	t.ID, t.ContextID = a.Run, a.Context
	if t.Status.Message != nil {
		a.message(t.Status.Message)
	}
	found := a.Asked == nil
	for i := range t.History {
		m := &t.History[i]
		if a.Asked != nil && (m.ID == a.SentID || m.ID == a.Asked.ID) {
			*m, found = a.asked(), true
			continue
		}
		a.message(m)
	}
	if !found {
		t.History = slices.Insert(t.History, 0, a.asked())
	}
}

// asked is the caller's message within the task: what it refers to it named itself, in ids of ours.
func (a *Address) asked() a2a.Message {
	m := *a.Asked
	m.TaskID, m.ContextID = a.Run, a.Context
	return m
}

// Task returns the run's task before its agent said anything.
func (a *Address) Task(s a2a.TaskStatus) *a2a.Task {
	t := &a2a.Task{Status: s}
	a.task(t)
	return t
}
