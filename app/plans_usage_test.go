package app

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/sqlite"
)

// costs is a caller whose agents report what they took, in the metadata of a status update.
type costs struct{ orchestrator.Caller }

func (costs) Send(context.Context, *orchestrator.Agent, *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(&a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil) &&
			yield(&a2a.StatusUpdate{
				TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
				Metadata: json.RawMessage(`{"usage":{"prompt_tokens":12,"completion_tokens":3,"cost":0.5,"currency":"EUR"}}`),
			}, nil)
	}
}

// What agents report stands with their calls, and bounds the plan.
func TestPlanUsage(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, row := orchestratortest.NewAgents().Add("a0", nil)
	if err := db.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := local.New(newStore(db), costs{}, nil)
	defer d.Close(context.Background())
	for budget, want := range map[string]a2a.TaskState{"0.9": a2a.TaskStateFailed, "1.1": a2a.TaskStateCompleted} {
		const steps = "\nsteps:\n  - {id: a, agent: a0, message: go}\n  - {id: b, needs: a, agent: a0, message: go}\n  - {id: c, needs: b, message: go, agent: a0}\n"
		run, err := d.Launch(t.Context(), &orchestrator.Launch{Source: []byte("name: Costs\nbudget: {cost: " + budget + "}" + steps)})
		if err != nil {
			t.Fatal(err)
		}
		var last *orchestrator.Plan
		for p, err := range d.FollowPlan(t.Context(), run.ID) {
			if err != nil {
				t.Fatal(err)
			}
			last = p
		}
		want, calls := want, 2
		if budget == "1.1" {
			calls = 3
		}
		made := 0
		for _, n := range last.Nodes {
			for _, c := range n.Calls {
				made++
				if c.Usage == nil || *c.Usage != (orchestrator.Usage{InputTokens: 12, OutputTokens: 3, Cost: 0.5, Currency: "EUR"}) {
					t.Errorf("%s: %+v", n.ID, c.Usage)
				}
			}
		}
		if last.State != want || made != calls {
			t.Errorf("with a budget of %s: %s after %d calls, %+v", budget, last.State, made, last.Fault)
		}
	}
}
