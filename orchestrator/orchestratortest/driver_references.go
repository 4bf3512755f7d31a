package orchestratortest

import (
	"slices"

	"parley/a2a"
)

// A message that refers to tasks reaches the agent with its own names for those that are its and the sender's.
func driverGatewayReferences(w *world) {
	writer := w.add("writer", writes("a"))
	w.add("other", writes("b"))
	first, after := w.send("writer", "ann", "m1", "one")
	w.until("writer", "ann", first, after, ends)
	foreign, after := w.send("writer", "bob", "m2", "two")
	w.until("writer", "bob", foreign, after, ends)
	elsewhere, after := w.send("other", "ann", "m3", "three")
	w.until("other", "ann", elsewhere, after, ends)

	r := message("m4", "like the first")
	r.Message.ReferenceTaskIDs = []string{first, foreign, elsewhere, "nothing", first}
	task, after, _, err := w.driver.Tasks("writer").Start(w.ctx, "ann", r)
	w.must(err)
	w.until("writer", "ann", task, after, ends)

	sent := writer.Sent()
	m := sent[len(sent)-1].Message
	if m.ContextID != "" || !slices.Equal(m.ReferenceTaskIDs, []string{"writer-task-1"}) {
		w.Errorf("the message went out in context %q with references %v", m.ContextID, m.ReferenceTaskIDs)
	}
	got, err := w.driver.Tasks("writer").Task(w.ctx, "ann", &a2a.GetRequest{ID: task})
	w.must(err)
	if h := got.History; len(h) == 0 || !slices.Equal(h[0].ReferenceTaskIDs, r.Message.ReferenceTaskIDs) {
		w.Errorf("the history says %+v", h)
	}
}
