package a2a

// Event is what an agent answers and streams: exactly one of *Task, *Message, *StatusUpdate and *ArtifactUpdate (the
// oneof of v1.0's StreamResponse and SendMessageResponse).
type Event interface{ event() }

func (*Task) event()           {}
func (*Message) event()        {}
func (*StatusUpdate) event()   {}
func (*ArtifactUpdate) event() {}

// StatusUpdate says that a task changed its state (v1.0 section 4.2.1).
type StatusUpdate struct {
	TaskID    string
	ContextID string
	Status    TaskStatus
	Metadata  Metadata
}

// ArtifactUpdate carries an artifact or a piece of one (v1.0 section 4.2.2). Append adds the parts to the artifact of
// that id, otherwise it takes that artifact's place; LastChunk says that nothing follows for it.
type ArtifactUpdate struct {
	TaskID    string
	ContextID string
	Artifact  Artifact
	Append    bool
	LastChunk bool
	Metadata  Metadata
}

// EventState returns the task state an event carries, TaskStateUnspecified when it carries none.
func EventState(e Event) TaskState {
	switch e := e.(type) {
	case *Task:
		return e.Status.State
	case *StatusUpdate:
		return e.Status.State
	}
	return TaskStateUnspecified
}

// Apply folds e into t, which becomes the task as it stands after e. The cost depends on e alone, never on how much t
// already holds. A status message moves into the history when the next status takes its place, so that History stays
// the whole conversation. Events of other tasks and messages leave t as it is.
func (t *Task) Apply(e Event) {
	switch e := e.(type) {
	case *Task:
		*t = *e
	case *StatusUpdate:
		if t.Status.Message != nil {
			t.History = append(t.History, *t.Status.Message)
		}
		prev := t.Status.State
		t.Status = e.Status
		if t.Status.State == TaskStateUnspecified {
			t.Status.State = prev
		}
	case *ArtifactUpdate:
		for i := len(t.Artifacts) - 1; i >= 0; i-- {
			if t.Artifacts[i].ID != e.Artifact.ID {
				continue
			}
			if !e.Append {
				t.Artifacts[i] = e.Artifact
				return
			}
			a := &t.Artifacts[i]
			a.Parts = append(a.Parts, e.Artifact.Parts...)
			if e.Artifact.Name != "" {
				a.Name = e.Artifact.Name
			}
			if e.Artifact.Metadata != nil {
				a.Metadata = e.Artifact.Metadata
			}
			return
		}
		a := e.Artifact
		a.Parts = append([]Part(nil), a.Parts...)
		t.Artifacts = append(t.Artifacts, a)
	}
}
