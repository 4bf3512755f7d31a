package steps_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/orchestrator/steps"
)

func artifact(id string, parts ...a2a.Part) a2a.Artifact { return a2a.Artifact{ID: id, Parts: parts} }

func task(state a2a.TaskState, as ...a2a.Artifact) *a2a.Task {
	return &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: state}, Artifacts: as}
}

func update(more bool, a a2a.Artifact) a2a.Event {
	return &a2a.ArtifactUpdate{TaskID: "t", ContextID: "c", Artifact: a, Append: more}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	const working, completed = a2a.TaskStateWorking, a2a.TaskStateCompleted
	text := a2a.TextPart
	file := a2a.Part{Kind: a2a.PartRaw, Raw: []byte{1}, Filename: "f"}
	done := &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: completed}}
	tests := []struct {
		name      string
		have, got *a2a.Task
		want      []a2a.Event
	}{
		{"nothing", task(working), task(working), nil},
		{"the status", task(working), task(completed), []a2a.Event{done}},
		{"an unknown status says nothing", task(working), task(""), nil},
		{"an artifact", task(working), task(working, artifact("a", text("x"))), []a2a.Event{update(false, artifact("a", text("x")))}},
		{"the same", task(working, artifact("a", text("x"), file)), task(working, artifact("a", text("x"), file)), nil},
		{"the same, joined", task(working, artifact("a", text("x"), text("y"), text("z"))), task(working, artifact("a", text("xyz"))), nil},
		{"the same, in other pieces", task(working, artifact("a", text("xy"), text("z"))), task(working, artifact("a", text("x"), text("yz"))), nil},
		{"the rest of a text", task(working, artifact("a", text("x"), text("y"))), task(working, artifact("a", text("xyz"))), []a2a.Event{update(true, artifact("a", text("z")))}},
		{"the next pieces", task(working, artifact("a", text("x"))), task(working, artifact("a", text("x"), text("y"), file)), []a2a.Event{update(true, artifact("a", text("y"), file))}},
		{"the next part", task(working, artifact("a", file)), task(working, artifact("a", file, text("y"))), []a2a.Event{update(true, artifact("a", text("y")))}},
		{"something else", task(working, artifact("a", text("x"))), task(working, artifact("a", text("other"))), []a2a.Event{update(false, artifact("a", text("other")))}},
		{"less than was said", task(working, artifact("a", text("xyz"))), task(working, artifact("a", text("x"))), nil},
		{"nothing of what was said", task(working, artifact("a", text("xyz"))), task(working, artifact("a")), nil},
		{"an artifact that is no longer shown", task(working, artifact("a", text("x"))), task(working), nil},
		{"parts that differ by their kind only", task(working, artifact("a", text("x"))), task(working, artifact("a", a2a.Part{Text: "x", MediaType: "text/html"})), []a2a.Event{update(false, artifact("a", a2a.Part{Text: "x", MediaType: "text/html"}))}},
		{"artifacts before the status", task(working), task(completed, artifact("a", text("x"))), []a2a.Event{update(false, artifact("a", text("x"))), done}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, steps.Missing(tt.have, tt.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingStatusMessage(t *testing.T) {
	t.Parallel()
	said := func(id, text string) *a2a.Message {
		return &a2a.Message{ID: id, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}
	}
	have, got := task(a2a.TaskStateWorking), task(a2a.TaskStateWorking)
	have.Status.Message, got.Status.Message = said("1", "a"), said("1", "a")
	if es := steps.Missing(have, got); es != nil {
		t.Errorf("the same message is missing: %v", es)
	}
	got.Status.Message = said("2", "a") // an agent that makes a new id at each look
	if es := steps.Missing(have, got); es != nil {
		t.Errorf("the same words are missing: %v", es)
	}
	got.Status.Message = said("2", "b")
	if es := steps.Missing(have, got); len(es) != 1 {
		t.Errorf("another message is not missing: %v", es)
	}
	have.History = []a2a.Message{*said("2", "b")}
	if es := steps.Missing(have, got); es != nil {
		t.Errorf("a message of the history is missing: %v", es)
	}
	got.Status.Message = nil
	if es := steps.Missing(have, got); es != nil {
		t.Errorf("no message at all is missing: %v", es)
	}
}

// Whatever beginning of a stream was logged, what is missing makes it the whole, and then nothing is missing.
func TestMissingCompletes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *a2a.ArtifactUpdate {
			part := a2a.TextPart(rapid.SampledFrom([]string{"a", "b", "ab", ""}).Draw(t, "text"))
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				part = a2a.Part{Kind: a2a.PartURL, URL: rapid.SampledFrom([]string{"u", "v"}).Draw(t, "url")}
			}
			return &a2a.ArtifactUpdate{
				TaskID: "t", ContextID: "c", Append: true, Artifact: artifact(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "id"), part),
			}
		}), 0, 12).Draw(t, "events")
		cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
		whole, have := task(a2a.TaskStateWorking), task(a2a.TaskStateWorking)
		for i, e := range events {
			whole.Apply(e)
			if i < cut {
				have.Apply(e)
			}
		}
		if rapid.Bool().Draw(t, "joined") {
			for i := range whole.Artifacts {
				whole.Artifacts[i].Parts = joined(whole.Artifacts[i].Parts)
			}
		}
		for _, e := range steps.Missing(have, whole) {
			have.Apply(e)
		}
		if diff := cmp.Diff(shown(whole), shown(have)); diff != "" {
			t.Fatalf("after reconciling (-agent +log):\n%s", diff)
		}
		if es := steps.Missing(have, whole); len(es) != 0 {
			t.Fatalf("still missing: %v", es)
		}
	})
}

func joined(ps []a2a.Part) []a2a.Part {
	var out []a2a.Part
	for _, p := range ps {
		if n := len(out); n > 0 && p.Kind == a2a.PartText && out[n-1].Kind == a2a.PartText {
			out[n-1].Text += p.Text
			continue
		}
		out = append(out, p)
	}
	return out
}

// shown is what a person sees of a task's artifacts.
func shown(t *a2a.Task) map[string]string {
	m := map[string]string{}
	for _, a := range t.Artifacts {
		var b strings.Builder
		for _, p := range a.Parts {
			b.WriteString(p.Text)
			if p.URL != "" {
				b.WriteString("<" + p.URL + ">")
			}
		}
		if b.Len() > 0 {
			m[a.ID] = b.String()
		}
	}
	return m
}
