package local

import (
	"maps"
	"testing"

	"parley/orchestrator"
)

// A run is left alone at a start only if its row, and for a plan those of its calls, say that it waits for answers alone.
func TestResting(t *testing.T) {
	row := func(id, scope string, r rest) *orchestrator.Run {
		return &orchestrator.Run{ID: id, Scope: scope, Engine: mustJSON(stored{Rules: 1, Rest: r})}
	}
	own, plan := orchestrator.OwnAgent, stepScope+"p"
	for name, c := range map[string]struct {
		rows []*orchestrator.Run
		want map[string]bool
	}{
		"a run that asks":                          {[]*orchestrator.Run{row("r", own, rest{"q ", 1})}, map[string]bool{"r": true}},
		"a run that works":                         {[]*orchestrator.Run{row("r", own, rest{})}, map[string]bool{"r": false}},
		"a plan and its call that ask":             {[]*orchestrator.Run{row("p", own, rest{"a b ", 1}), row("k", plan, rest{"b ", 1})}, map[string]bool{"p": true, "k": true}},
		"a call ended, and the plan has not heard": {[]*orchestrator.Run{row("p", own, rest{"a b ", 0}), row("k", plan, rest{"b ", 1})}, map[string]bool{"p": false, "k": true}},
		"a call asks something else by now":        {[]*orchestrator.Run{row("p", own, rest{"b ", 0}), row("k", plan, rest{"c ", 1})}, map[string]bool{"p": false, "k": true}},
		"a call was answered":                      {[]*orchestrator.Run{row("p", own, rest{"b ", 0}), row("k", plan, rest{})}, map[string]bool{"p": false, "k": false}},
		"a plan in a plan": {
			[]*orchestrator.Run{row("p", own, rest{"c ", 0}), row("n", plan, rest{"c ", 0}), row("k", stepScope+"n", rest{"c ", 1})},
			map[string]bool{"p": true, "n": true, "k": true},
		},
		"an older program wrote the row": {[]*orchestrator.Run{{ID: "r", Scope: own, Engine: []byte(`{"rules":1}`)}}, map[string]bool{"r": false}},
	} {
		if got := resting(c.rows); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
