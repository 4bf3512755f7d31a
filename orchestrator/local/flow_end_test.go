package local_test

import (
	"strings"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

// What a plan gives stands in the transcript, and once: also what a plan within it gives, and what is long.
func TestWhatPlansSay(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40<<10)
	for name, c := range map[string]struct {
		file, inner string
		want        []string
	}{
		"by itself": {
			file: "steps:\n  - {id: a, agent: one, message: go}\n",
			want: []string{"Plan", "(go)"},
		},
		"as its step": {
			file: "steps:\n  - {id: a, agent: one, message: go}\noutputs: {all: '${{ steps.a.text }}'}\n",
			want: []string{"Plan", "(go)"},
		},
		"in its own words": {
			file: "steps:\n  - {id: a, agent: one, message: go}\noutputs: {all: 'So: ${{ steps.a.text }}'}\n",
			want: []string{"Plan", "(go)", "So: (go)"},
		},
		"as a step far back": {
			file: "steps:\n  - {id: a, agent: one, message: go}\n  - {id: b, needs: a, agent: one, message: on}\noutputs: {all: '${{ steps.a.text }}'}\n",
			want: []string{"Plan", "(go)", "(on)"},
		},
		"at length": {
			file: "steps:\n  - {id: a, agent: one, message: long}\noutputs: {all: '${{ steps.a.text }}'}\n",
			want: []string{"Plan", "a document"},
		},
		"within": {
			file:  "steps:\n  - {id: a, use: inner}\n",
			inner: "steps:\n  - {id: x, agent: one, message: go}\noutputs: {all: 'So: ${{ steps.x.text }}'}\n",
			want:  []string{"Plan", "(go)", "So: (go)"},
		},
		"within and without": {
			file:  "steps:\n  - {id: a, use: inner}\noutputs: {all: '${{ steps.a.text }}'}\n",
			inner: "steps:\n  - {id: x, agent: one, message: go}\noutputs: {all: 'So: ${{ steps.x.text }}'}\n",
			want:  []string{"Plan", "(go)", "So: (go)"},
		},
		"within by itself": {
			file:  "steps:\n  - {id: a, use: inner}\noutputs: {all: '${{ steps.a.text }}'}\n",
			inner: "steps:\n  - {id: x, agent: one, message: go}\n",
			want:  []string{"Plan", "(go)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.add("one", func(x *orchestratortest.Turn) {
				text := "(" + a2a.Text(x.Message.Parts) + ")"
				if text == "(long)" {
					text = long
				}
				x.Write("text", text)
				x.Status(a2a.TaskStateCompleted)
			})
			if c.inner != "" {
				s.must(s.store.Write(t.Context(), &orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "inner", Name: "Inner", Source: []byte("name: Inner\n" + c.inner)}}}))
			}
			run, err := s.d.Launch(t.Context(), &orchestrator.Launch{Source: []byte("name: Plan\n" + c.file)})
			s.must(err)
			s.reaches(run.ID, a2a.TaskStateCompleted)
			items, err := s.store.Items(t.Context(), run.ConversationID, 0, 100)
			s.must(err)
			var said []string
			for _, it := range items {
				text := it.Text
				if it.Kind == orchestrator.ItemArtifact {
					text = "a document"
				}
				said = append(said, text)
			}
			if got, want := strings.Join(said, " | "), strings.Join(c.want, " | "); got != want {
				t.Errorf("the transcript is\n%s, want\n%s", got, want)
			}
		})
	}
}
