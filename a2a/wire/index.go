package wire

import "parley/a2a"

// Index numbers the artifacts of a task as OLD needs it: in the order in which they were first seen. Built from the
// task's own events or from the task as it stands, it is the same after a restart. It also knows what the client calls
// the task. An Index belongs to one exchange and is not safe for concurrent use.
type Index struct {
	client  string
	numbers map[string]int
}

// NewIndex returns an index of a task that has no artifacts yet and that the client calls clientTaskID; with "", it
// goes by its own id.
func NewIndex(clientTaskID string) *Index { return &Index{client: clientTaskID} }

// Seen takes note of the artifacts a task has.
func (x *Index) Seen(t *a2a.Task) {
	for i := range t.Artifacts {
		x.number(t.Artifacts[i].ID)
	}
}

// SeenEvent takes note of the artifacts an event brings.
func (x *Index) SeenEvent(e a2a.Event) {
	switch e := e.(type) {
	case *a2a.Task:
		x.Seen(e)
	case *a2a.ArtifactUpdate:
		x.number(e.Artifact.ID)
	}
}

// number returns the number of an artifact, a new one for one that was not seen before.
func (x *Index) number(artifact string) int {
	n, ok := x.numbers[artifact]
	if !ok {
		if x.numbers == nil {
			x.numbers = map[string]int{}
		}
		n = len(x.numbers)
		x.numbers[artifact] = n
	}
	return n
}

// task is what the client calls the task of an id.
func (x *Index) task(id string) string {
	if x.client != "" {
		return x.client
	}
	return id
}
