package a2aserver

import (
	"slices"

	"parley/a2a"
)

// fold brings a task from one event to the next. Unlike a2a.Task.Apply it knows the caller's replies, and it never
// writes into what an event holds: events are shared, tasks are not.
func fold(t *a2a.Task, e a2a.Event) {
	switch e := e.(type) {
	case *a2a.Task:
		t.Apply(e)
		t.History = slices.Clip(t.History)
		t.Artifacts = slices.Clone(t.Artifacts)
		for i := range t.Artifacts {
			t.Artifacts[i].Parts = slices.Clip(t.Artifacts[i].Parts)
		}
	case *a2a.ArtifactUpdate:
		if parts := e.Artifact.Parts; !e.Append && len(parts) < cap(parts) {
			c := *e
			c.Artifact.Parts = slices.Clip(parts)
			e = &c
		}
		t.Apply(e)
	case *a2a.Message:
		if e.Role != a2a.RoleUser {
			return
		}
		if q := t.Status.Message; q != nil { // the question comes before its answer
			t.History = append(t.History, *q)
			t.Status.Message = nil
		}
		t.History = append(t.History, *e)
	default:
		t.Apply(e)
	}
}

// copyTask returns a copy that later events of t do not change.
func copyTask(t *a2a.Task) *a2a.Task {
	c := *t
	c.History = slices.Clip(c.History)
	c.Artifacts = slices.Clone(c.Artifacts)
	return &c
}

// trimHistory leaves the newest n messages of a task, and never more than a2a.Limits.History. It does not write into the
// messages.
func trimHistory(t *a2a.Task, n *int) {
	keep := a2a.Limits.History
	if n != nil {
		keep = min(keep, max(*n, 0))
	}
	if over := len(t.History) - keep; over > 0 {
		t.History = t.History[over:]
	}
	if len(t.History) == 0 {
		t.History = nil
	}
}

// isReply reports whether e is the caller's own reply, which streams leave out.
func isReply(e a2a.Event) bool {
	m, ok := e.(*a2a.Message)
	return ok && m.Role == a2a.RoleUser
}
