package a2aclient

import (
	"hash/maphash"
	"reflect"

	"parley/a2a"
)

// ended reports whether nothing more comes by itself: the task is over, or waits for an answer. A task that waits for a
// sign-in goes on by itself.
func ended(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }

// first is the task that an event is the beginning of.
func first(e a2a.Event) *a2a.Task {
	switch e := e.(type) {
	case *a2a.Task:
		return e
	case *a2a.StatusUpdate:
		return &a2a.Task{ID: e.TaskID, ContextID: e.ContextID, Status: e.Status}
	case *a2a.ArtifactUpdate:
		t := &a2a.Task{ID: e.TaskID, ContextID: e.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
		t.Apply(e)
		return t
	}
	return nil
}

// progress is what a follower of a task has been told so far: enough to recognise what a later snapshot holds beyond it,
// without keeping the task. Of each artifact it keeps the length and a running hash of its content.
type progress struct {
	seed      maphash.Seed
	status    a2a.TaskStatus
	artifacts []artifactProgress
	places    map[string]int // of artifacts, by id
}

type artifactProgress struct {
	id      string
	length  int
	hash    maphash.Hash
	partial bool // it began before we listened
}

func newProgress() progress { return progress{seed: maphash.MakeSeed(), places: map[string]int{}} }

// reset makes p what t says.
func (p *progress) reset(t *a2a.Task) {
	p.status = t.Status
	p.artifacts = p.artifacts[:0]
	clear(p.places)
	for i := range t.Artifacts {
		p.artifact(&a2a.ArtifactUpdate{Artifact: t.Artifacts[i]})
	}
}

// artifact takes an update into account.
func (p *progress) artifact(e *a2a.ArtifactUpdate) {
	a := p.find(e.Artifact.ID)
	if a == nil {
		p.places[e.Artifact.ID] = len(p.artifacts)
		p.artifacts = append(p.artifacts, artifactProgress{id: e.Artifact.ID, partial: e.Append})
		a = &p.artifacts[len(p.artifacts)-1]
		a.hash.SetSeed(p.seed)
	} else if !e.Append {
		a.length, a.partial = 0, false
		a.hash.Reset()
	}
	for i := range e.Artifact.Parts {
		a.length += content(&a.hash, &e.Artifact.Parts[i])
	}
}

// find looks at the newest first: chunks come for it.
func (p *progress) find(id string) *artifactProgress {
	if n := len(p.artifacts); n > 0 && p.artifacts[n-1].id == id {
		return &p.artifacts[n-1]
	}
	if i, ok := p.places[id]; ok {
		return &p.artifacts[i]
	}
	return nil
}

// content adds a part to h and returns how long it is. The text of parts that follow one another is the same content
// whether an agent keeps it as many parts or as one; anything else is marked off.
func content(h *maphash.Hash, p *a2a.Part) int {
	if p.Kind == a2a.PartText {
		h.WriteString(p.Text)
		return len(p.Text)
	}
	h.WriteByte(0)
	h.WriteByte(byte(p.Kind))
	n := 2
	switch p.Kind {
	case a2a.PartRaw:
		h.Write(p.Raw)
		n += len(p.Raw)
	case a2a.PartURL:
		h.WriteString(p.URL)
		n += len(p.URL)
	case a2a.PartData:
		h.Write(p.Data)
		n += len(p.Data)
	}
	h.WriteString(p.Filename)
	h.WriteByte(0)
	return n + len(p.Filename) + 1
}

// missing returns the events that turn what p knows into t, and takes them into account. The status comes last.
func (p *progress) missing(t *a2a.Task) []a2a.Event {
	if p.status.State.Terminal() {
		return nil
	}
	if !t.Status.State.Terminal() && older(&t.Status, &p.status) {
		return nil // a copy that lags behind
	}
	var out []a2a.Event
	for i := range t.Artifacts {
		if e := p.missingOf(t, &t.Artifacts[i]); e != nil {
			p.artifact(e)
			out = append(out, e)
		}
	}
	if !p.repeats(&t.Status) {
		p.status = t.Status
		out = append(out, &a2a.StatusUpdate{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status})
	}
	return out
}

// missingOf returns the update by which a grew since, or its replacement when it changed otherwise; nil when nothing did.
func (p *progress) missingOf(t *a2a.Task, a *a2a.Artifact) *a2a.ArtifactUpdate {
	e := &a2a.ArtifactUpdate{TaskID: t.ID, ContextID: t.ContextID, Artifact: *a}
	known := p.find(a.ID)
	if known == nil {
		return e
	}
	var h maphash.Hash
	h.SetSeed(p.seed)
	at := 0
	for i := range a.Parts {
		part := &a.Parts[i]
		if at == known.length && h.Sum64() == known.hash.Sum64() && !known.partial {
			return grown(e, a.Parts[i:])
		}
		if left := known.length - at; part.Kind == a2a.PartText && left > 0 && len(part.Text) > left {
			half := h
			half.WriteString(part.Text[:left])
			if half.Sum64() == known.hash.Sum64() && !known.partial {
				rest := append([]a2a.Part{*part}, a.Parts[i+1:]...)
				rest[0].Text = part.Text[left:]
				return grown(e, rest)
			}
		}
		at += content(&h, part)
	}
	switch {
	case at == known.length && h.Sum64() == known.hash.Sum64():
		return nil
	case at < known.length && !t.Status.State.Terminal():
		return nil // a copy that lags behind
	}
	return e
}

func grown(e *a2a.ArtifactUpdate, parts []a2a.Part) *a2a.ArtifactUpdate {
	e.Append, e.Artifact.Parts = true, parts
	return e
}

// older reports whether a was reached before b, as far as their times tell.
func older(a, b *a2a.TaskStatus) bool {
	return !a.Timestamp.IsZero() && !b.Timestamp.IsZero() && a.Timestamp.Before(b.Timestamp)
}

// repeats reports whether s says nothing that is not known: the same state, of the same time, with the same message.
func (p *progress) repeats(s *a2a.TaskStatus) bool {
	k := &p.status
	if s.State != k.State && s.State != a2a.TaskStateUnspecified || !s.Timestamp.Equal(k.Timestamp) {
		return false
	}
	if (s.Message == nil) != (k.Message == nil) {
		return false
	}
	return s.Message == nil || s.Message.ID == k.Message.ID && reflect.DeepEqual(s.Message.Parts, k.Message.Parts)
}
