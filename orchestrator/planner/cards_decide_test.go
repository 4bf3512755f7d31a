package planner_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/planner"
	"parley/orchestrator/planner/modeltest"
)

func TestCardsDecide(t *testing.T) {
	t.Parallel()
	says := func(b *planner.Brief, text string) *planner.Brief {
		b.Request = []a2a.Part{{Kind: a2a.PartText, Text: text}}
		return b
	}
	chosen := says(brief(), "Hmm")
	chosen.Rounds = []planner.Round{{
		Decision: &planner.Decision{Ask: &planner.Question{Choices: []orchestrator.Choice{{ID: "writer", Label: "Writer"}}}}, Answer: "writer",
	}}
	toldMore := says(brief(), "Hmm")
	toldMore.Rounds = []planner.Round{{Decision: &planner.Decision{Ask: &planner.Question{Prompt: "Which?"}}, Answer: "Travel desk, please"}}
	declined := failedOnce()
	declined.Decline = map[string]string{"travel": "no"}
	says(declined, "Writer: the trains to Lyon")
	none := brief()
	none.Agents = nil
	out := brief()
	out.Left = 1
	two := asked()
	two.Rounds[0].Results[1].State = a2a.TaskStateUnspecified
	later := asked()
	later.Rounds = append(later.Rounds, planner.Round{
		Decision: &planner.Decision{Delegate: []planner.Delegation{{ID: "r2-1", Agent: "writer", Message: "x"}}},
		Results:  []planner.Result{{ID: "r2-1", AgentID: "writer", State: a2a.TaskStateCompleted, Text: "All of it."}},
	})
	for name, c := range map[string]struct {
		brief *planner.Brief
		agent string // it delegates to
		text  string // it finishes with
		kind  string // it fails with
	}{
		"an agent that is named":  {brief: says(brief(), "Travel desk: trains to Lyon"), agent: "travel"},
		"nobody in particular":    {brief: says(brief(), "xyzzy")},
		"the one that was chosen": {brief: chosen, agent: "writer"},
		"by what was said since":  {brief: toldMore, agent: "travel"},
		"another after a decline": {brief: declined, agent: "writer"},
		"what came back":          {brief: asked(), text: "Friday 18:00, 45 EUR each."},
		"what came back from two": {brief: two, text: "**Travel desk**\n\nFriday 18:00, 45 EUR each.\n\n**Weather**\n\nI know only Norway."},
		"what came back at last":  {brief: later, text: "All of it."},
		"a failure":               {brief: failedOnce(), kind: "agent"},
		"no agents":               {brief: none, kind: "no-agents"},
		"no rounds":               {brief: out, kind: "rounds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := new(planner.Switch).Decide(t.Context(), c.brief)
			var f *orchestrator.Fault
			switch {
			case c.kind != "":
				if !errors.As(err, &f) || f.Kind != c.kind {
					t.Errorf("%+v, %v", d, err)
				}
			case err != nil:
				t.Error(err)
			case c.agent != "":
				if len(d.Delegate) != 1 || d.Delegate[0].Agent != c.agent || d.Fallback != nil {
					t.Errorf("%+v", d)
				}
			case c.text != "":
				if d.Finish == nil || d.Finish.Text != c.text {
					t.Errorf("%+v", d.Finish)
				}
			default:
				if d.Ask == nil || len(d.Ask.Choices) != 3 {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	d, _ := new(planner.Cards).Decide(t.Context(), asked())
	if diff := cmp.Diff([]planner.ArtifactRef{{Delegation: "r1-1", Artifact: "x/9 \"t\""}}, d.Finish.Artifacts); diff != "" {
		t.Error(diff)
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	var s planner.Switch
	if s.On() {
		t.Error("on before anything was set")
	}
	if a, err := s.Reply(t.Context(), brief(), &planner.Question{Prompt: "How many?"}); a != nil || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
	e := modeltest.New(t, modeltest.Finish("By the model."))
	s.Set(newModel(t, e, nil))
	if d, err := s.Decide(t.Context(), brief()); err != nil || d.Finish.Text != "By the model." || !s.On() {
		t.Errorf("%+v, %v", d, err)
	}
	s.Set(nil)
	if d, err := s.Decide(t.Context(), asked()); err != nil || d.Model != "" || s.On() {
		t.Errorf("%+v, %v", d, err)
	}
}
