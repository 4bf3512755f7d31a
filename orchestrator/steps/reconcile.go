package steps

import (
	"bytes"

	"parley/a2a"
)

// Missing compares a task as it was logged with the task as its agent shows it now, both under our ids, and returns the
// events that are missing from the log. What the agent no longer shows stays as it was logged. A text that the agent
// joined from pieces counts as the same text. The status comes last.
func Missing(have, got *a2a.Task) []a2a.Event {
	var es []a2a.Event
	for i := range got.Artifacts {
		if e := missingParts(find(have.Artifacts, got.Artifacts[i].ID), &got.Artifacts[i]); e != nil {
			e.TaskID, e.ContextID = have.ID, have.ContextID
			es = append(es, e)
		}
	}
	if got.Status.State != a2a.TaskStateUnspecified && !sameStatus(have, &got.Status) {
		es = append(es, &a2a.StatusUpdate{TaskID: have.ID, ContextID: have.ContextID, Status: got.Status})
	}
	return es
}

func find(as []a2a.Artifact, id string) *a2a.Artifact {
	for i := range as {
		if as[i].ID == id {
			return &as[i]
		}
	}
	return nil
}

// missingParts returns what has to be appended to have, or put in its place, to make it got; nil when nothing.
func missingParts(have, got *a2a.Artifact) *a2a.ArtifactUpdate {
	if have == nil {
		return &a2a.ArtifactUpdate{Artifact: *got}
	}
	a, b := joined(have.Parts), joined(got.Parts)
	n := 0
	for n < len(a) && n < len(b) && samePart(&a[n], &b[n]) {
		n++
	}
	rest := b[n:]
	if n < len(a) { // the last logged part may be the start of the next
		if n != len(a)-1 || n >= len(b) || !startOf(&a[n], &b[n]) {
			if len(b) == 0 || prefixOf(b, a) {
				return nil // the agent shows less than it said
			}
			return &a2a.ArtifactUpdate{Artifact: *got}
		}
		rest[0].Text = rest[0].Text[len(a[n].Text):]
	}
	if len(rest) == 0 {
		return nil
	}
	more := *got
	more.Parts = rest
	return &a2a.ArtifactUpdate{Artifact: more, Append: true}
}

// prefixOf reports whether b is the beginning of a.
func prefixOf(b, a []a2a.Part) bool {
	if len(b) > len(a) {
		return false
	}
	for i := range b {
		if !samePart(&b[i], &a[i]) && (i != len(b)-1 || !startOf(&b[i], &a[i])) {
			return false
		}
	}
	return true
}

// joined returns parts with neighbouring plain texts of one kind made one.
func joined(ps []a2a.Part) []a2a.Part {
	out := make([]a2a.Part, 0, len(ps))
	var text []byte
	flush := func() {
		if text != nil {
			out[len(out)-1].Text = string(text)
			text = nil
		}
	}
	for i := range ps {
		p := ps[i]
		if n := len(out); p.Kind == a2a.PartText && n > 0 && out[n-1].Kind == a2a.PartText && sameKind(&out[n-1], &p) {
			if text == nil {
				text = []byte(out[n-1].Text)
			}
			text = append(text, p.Text...)
			continue
		}
		flush()
		out = append(out, p)
	}
	flush()
	return out
}

func sameKind(a, b *a2a.Part) bool {
	return a.Kind == b.Kind && a.Filename == b.Filename && a.MediaType == b.MediaType && bytes.Equal(a.Metadata, b.Metadata)
}

func samePart(a, b *a2a.Part) bool {
	return sameKind(a, b) && a.Text == b.Text && a.URL == b.URL && bytes.Equal(a.Raw, b.Raw) && bytes.Equal(a.Data, b.Data)
}

// startOf reports whether text part a is the beginning of text part b.
func startOf(a, b *a2a.Part) bool {
	return a.Kind == a2a.PartText && sameKind(a, b) && len(a.Text) <= len(b.Text) && b.Text[:len(a.Text)] == a.Text
}

// sameStatus reports whether t already stands at s.
func sameStatus(t *a2a.Task, s *a2a.TaskStatus) bool {
	if t.Status.State != s.State {
		return false
	}
	if s.Message == nil {
		return true
	}
	if m := t.Status.Message; m != nil && sameMessage(m, s.Message) {
		return true
	}
	for i := len(t.History) - 1; i >= 0; i-- {
		if t.History[i].Role == a2a.RoleAgent && sameMessage(&t.History[i], s.Message) {
			return true
		}
	}
	return false
}

func sameMessage(a, b *a2a.Message) bool {
	if a.ID != "" && a.ID == b.ID {
		return true
	}
	if len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		if !samePart(&a.Parts[i], &b.Parts[i]) {
			return false
		}
	}
	return true
}
