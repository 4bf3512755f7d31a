package orchestratortest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

func storeWorkflows(t *testing.T, open OpenStore) {
	place := t.TempDir()
	s := openStore(t, open, place)
	_, err := s.Workflow(t.Context(), "publish")
	storeNotFound(t, "Workflow", err)
	publish := &orchestrator.Workflow{
		ID: "publish", Name: "research and publish", Description: "Writes, and publishes.", Source: []byte("name: Publish\n# ü\n"),
		Exposed: true, Demo: true, Added: storeTime(1), Updated: storeTime(2),
	}
	trip := &orchestrator.Workflow{ID: "trip", Name: "Plan a trip", Source: []byte("name: Plan a trip"), Added: storeTime(3), Updated: storeTime(3)}
	storeWrite(t, s, &orchestrator.Batch{Workflows: []*orchestrator.Workflow{publish, trip}})
	check := func(want ...*orchestrator.Workflow) {
		t.Helper()
		for _, w := range want {
			got, err := s.Workflow(t.Context(), w.ID)
			if d := cmp.Diff(w, got); d != "" || err != nil {
				t.Fatalf("workflow: %v (-want +got):\n%s", err, d)
			}
		}
		got, err := s.ListWorkflows(t.Context())
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("workflows: %v (-want +got):\n%s", err, d)
		}
	}
	check(trip, publish) // by name, whatever the case of its letters
	publish.Name, publish.Description, publish.Source = "A digest", "", []byte("name: A digest")
	publish.Exposed, publish.Demo, publish.Updated = false, false, storeTime(4)
	storeWrite(t, s, &orchestrator.Batch{Workflows: []*orchestrator.Workflow{publish}})
	check(publish, trip)
	for range 2 {
		if err := s.RemoveWorkflow(t.Context(), "trip"); err != nil {
			t.Fatal(err)
		}
		check(publish)
	}
	_, err = s.Workflow(t.Context(), "trip")
	storeNotFound(t, "Workflow", err)
	closeStore(t, s)
	s = openStore(t, open, place)
	check(publish)
}

func storeWorkflowRuns(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	b := &orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: "c", Title: "A chat"}}}
	for i := range 7 {
		b.Runs = append(b.Runs, &orchestrator.Run{
			ID: fmt.Sprintf("r%d", 9-i), Scope: "agent", Principal: "p", State: a2a.TaskStateWorking, Created: storeTime(i), Updated: storeTime(9 - i),
			Workflow: []string{"publish", "publish", "trip", ""}[i%4],
		})
	}
	b.Runs[1].ConversationID = "c"
	storeWrite(t, s, b)
	page := func(workflow, after string, n int, want string) {
		t.Helper()
		runs, err := s.WorkflowRuns(t.Context(), workflow, after, n)
		if got := storeRunIDs(runs); err != nil || got != want {
			t.Errorf("WorkflowRuns(%q, %q, %d) = %q, %v; want %q", workflow, after, n, got, err, want)
		}
		for _, r := range runs {
			if r.Workflow != workflow {
				t.Errorf("run %s carries out %q", r.ID, r.Workflow)
			}
		}
	}
	page("publish", "", 10, "r4 r5 r8 r9")
	page("publish", "", 2, "r4 r5")
	page("publish", "r5", 2, "r8 r9")
	page("publish", "r9", 2, "")
	page("trip", "", 10, "r3 r7")
	page("", "", 10, "")
	page("none", "", 10, "")
	// It stays the run of its workflow, whatever becomes of both.
	b.Runs[0].State = a2a.TaskStateCompleted
	storeWrite(t, s, &orchestrator.Batch{Runs: []*orchestrator.Run{b.Runs[0]}})
	if err := s.RemoveWorkflow(t.Context(), "publish"); err != nil {
		t.Fatal(err)
	}
	page("publish", "", 10, "r4 r5 r8 r9")
	if err := s.Erase(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	page("publish", "", 10, "r4 r5 r9")
}
