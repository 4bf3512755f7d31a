package steps_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/steps"
)

func brief(items []orchestrator.Item) []string {
	var out []string
	for _, it := range items {
		s := string(it.Kind) + " " + it.Text
		if it.Data != nil {
			s += " " + string(it.Data)
		}
		out = append(out, s)
	}
	return out
}

func TestItems(t *testing.T) {
	t.Parallel()
	said := func(s string) *a2a.Message {
		return &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(s)}}
	}
	end := func(state a2a.TaskState, m *a2a.Message, as ...a2a.Artifact) *a2a.Task {
		t := task(state, as...)
		t.Status.Message = m
		return t
	}
	const completed, failed, canceled = a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled
	history := end(completed, nil)
	history.History = []a2a.Message{*said("first"), *said("last"), {Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("thanks")}}}
	tests := []struct {
		name  string
		task  *a2a.Task
		fault *orchestrator.Fault
		want  []string
	}{
		{"text in pieces", end(completed, nil, artifact("a", a2a.TextPart("Hel"), a2a.TextPart("lo"))), nil, []string{"agent Hello"}},
		{"text and the same as status", end(completed, said("Hello\n"), artifact("a", a2a.TextPart("Hello"))), nil, []string{"agent Hello"}},
		{"text and another status", end(completed, said("Done."), artifact("a", a2a.TextPart("Hello"))), nil, []string{"agent Hello", "agent Done."}},
		{"the same artifact twice", end(completed, nil, artifact("a", a2a.TextPart("x")), artifact("b", a2a.TextPart("x"))), nil, []string{"agent x"}},
		{"only said on the way", history, nil, []string{"agent last"}},
		{"nothing", end(completed, nil), nil, []string{`end  {"state":"TASK_STATE_COMPLETED","tookMs":2000}`}},
		{"an empty artifact", end(completed, nil, artifact("a")), nil, []string{`end  {"state":"TASK_STATE_COMPLETED","tookMs":2000}`}},
		{"canceled", end(canceled, said("Stopped."), artifact("a", a2a.TextPart("half"))), nil, []string{"agent half", `end  {"state":"TASK_STATE_CANCELED","tookMs":2000}`}},
		{"failed by us", end(failed, said("x")), &orchestrator.Fault{Kind: "dns", Where: orchestrator.WhereNetwork, What: "No such host."}, []string{
			`end No such host. {"state":"TASK_STATE_FAILED","fault":{"kind":"dns","where":"network","what":"No such host."},"tookMs":2000}`,
		}},
		{"mixed", end(completed, nil, a2a.Artifact{ID: "a", Name: "Report", Parts: []a2a.Part{a2a.TextPart("See "), a2a.TextPart("this:"), {Kind: a2a.PartRaw, Raw: []byte("abc"), MediaType: "image/png"}}}), nil, []string{
			`artifact See this: {"artifactId":"a","name":"Report","parts":[{"kind":"text","size":9},{"kind":"raw","mediaType":"image/png","size":3}]}`,
		}},
		{"a text of another kind", end(completed, nil, artifact("a", a2a.Part{Text: "a,b", MediaType: "text/csv"})), nil, []string{
			`artifact  {"artifactId":"a","parts":[{"kind":"text","mediaType":"text/csv","size":3}]}`,
		}},
		{"named like a file", end(completed, nil, a2a.Artifact{ID: "a", Name: "notes.md", Parts: []a2a.Part{a2a.TextPart("# x")}}), nil, []string{
			`artifact  {"artifactId":"a","name":"notes.md","parts":[{"kind":"text","size":3}]}`,
		}},
		{"a file that was not sent", end(completed, nil, artifact("a", a2a.Part{Kind: a2a.PartNoContent, Filename: "f"})), nil, []string{
			`artifact  {"artifactId":"a","parts":[{"kind":"none","filename":"f","size":0}]}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, brief(steps.Items("a", tt.task, tt.fault, 2*time.Second))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestItemsLongText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]orchestrator.ItemKind{32<<10 - 1: orchestrator.ItemAgent, 32 << 10: orchestrator.ItemArtifact, 32<<10 + 1: orchestrator.ItemArtifact} {
		items := steps.Items("a", task(a2a.TaskStateCompleted, artifact("a", a2a.TextPart(strings.Repeat("x", n)))), nil, 0)
		if len(items) != 1 || items[0].Kind != want || items[0].AgentID != "a" {
			t.Errorf("%d bytes: %v", n, items[0].Kind)
		}
	}
}

func TestMessageItems(t *testing.T) {
	t.Parallel()
	m := &a2a.Message{ID: "m", Parts: []a2a.Part{a2a.TextPart("hi"), {Kind: a2a.PartURL, URL: "https://e.com/x"}}}
	want := []string{`artifact hi {"artifactId":"m","parts":[{"kind":"text","size":2},{"kind":"url","url":"https://e.com/x","size":0}]}`}
	if diff := cmp.Diff(want, brief(steps.MessageItems("a", m, 0))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := brief(steps.MessageItems("a", &a2a.Message{}, 0)); len(got) != 1 || !strings.HasPrefix(got[0], "end") {
		t.Errorf("an empty answer leaves %v", got)
	}
}

func TestUserItem(t *testing.T) {
	t.Parallel()
	it := steps.UserItem(&a2a.Message{Parts: []a2a.Part{a2a.TextPart("look"), {Kind: a2a.PartRaw, Raw: []byte("abc"), Filename: "f"}}})
	if diff := cmp.Diff([]string{`user look {"files":[{"kind":"raw","filename":"f","size":3}]}`}, brief([]orchestrator.Item{it})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
