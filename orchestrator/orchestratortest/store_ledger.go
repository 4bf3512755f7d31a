package orchestratortest

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

// storeLedger runs where the store is a Ledger too.
func storeLedger(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	ledger, ok := s.(orchestrator.Ledger)
	if !ok {
		t.Skip("this store has no pages of tasks")
	}
	// Tasks of three owners in two scopes, beside what is not to be listed.
	var all []*orchestrator.Run
	owners := []struct{ scope, principal, to string }{
		{orchestrator.OwnAgent, orchestrator.LocalPrincipal, "atlas"},
		{orchestrator.OwnAgent, "tok", orchestrator.Auto},
		{"agents/quill", "tok", "quill"},
		{"demo/echo", orchestrator.LocalPrincipal, "echo"},
	}
	states := []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateFailed}
	for i := range 40 {
		o := owners[i%4]
		r := &orchestrator.Run{
			ID: fmt.Sprintf("r%02d", i), Scope: o.scope, Principal: o.principal, To: o.to, State: states[i%3],
			Updated: storeTime(i / 2), Created: storeTime(0), // two of each time, told apart by their ids
		}
		all = append(all, r)
	}
	all = append(all, &orchestrator.Run{ID: "answered", Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal, Updated: storeTime(99)})
	storeWrite(t, s, &orchestrator.Batch{Runs: all, Steps: []*orchestrator.Step{{ID: "1", RunID: "r01", AgentID: "atlas"}}})

	list := func(q orchestrator.TaskQuery) string {
		t.Helper()
		var ids []string
		for {
			page, err := ledger.ListTasks(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			if len(page) == 0 || q.Limit == 0 {
				return strings.Join(ids, " ")
			}
			q.Before = page[len(page)-1]
		}
	}
	want := func(keep func(i int, r *orchestrator.Run) bool) string {
		var ids []string
		for i := 39; i >= 0; i-- {
			if r := all[i]; r.Scope != "demo/echo" && keep(i, r) {
				ids = append(ids, r.ID)
			}
		}
		return strings.Join(ids, " ")
	}
	for _, tt := range []struct {
		name string
		q    orchestrator.TaskQuery
		keep func(i int, r *orchestrator.Run) bool
	}{
		{"all", orchestrator.TaskQuery{}, func(int, *orchestrator.Run) bool { return true }},
		{"state", orchestrator.TaskQuery{States: states[1:]}, func(i int, _ *orchestrator.Run) bool { return i%3 != 0 }},
		{"agent", orchestrator.TaskQuery{AgentID: "atlas"}, func(i int, _ *orchestrator.Run) bool { return i%4 == 0 || i == 1 }},
		{"gateway", orchestrator.TaskQuery{AgentID: "quill"}, func(i int, _ *orchestrator.Run) bool { return i%4 == 2 }},
		{"caller", orchestrator.TaskQuery{Principal: "tok"}, func(_ int, r *orchestrator.Run) bool { return r.Principal == "tok" }},
		{"outside", orchestrator.TaskQuery{Outside: true}, func(_ int, r *orchestrator.Run) bool { return r.Principal == "tok" }},
		{"date", orchestrator.TaskQuery{From: storeTime(5), To: storeTime(10)}, func(i int, _ *orchestrator.Run) bool { return i/2 >= 5 && i/2 < 10 }},
		{"nothing", orchestrator.TaskQuery{Principal: "nobody"}, func(int, *orchestrator.Run) bool { return false }},
	} {
		if d := gocmp.Diff(want(tt.keep), list(tt.q)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		for _, n := range []int{1, 7} { // pages meet without a gap and without a task twice
			tt.q.Limit = n
			if d := gocmp.Diff(want(tt.keep), list(tt.q)); d != "" {
				t.Errorf("%s in pages of %d (-want +got):\n%s", tt.name, n, d)
			}
		}
	}
	callers, err := ledger.Callers(t.Context())
	if d := gocmp.Diff([]string{orchestrator.LocalPrincipal, "tok"}, callers); d != "" || err != nil {
		t.Errorf("callers: %v (-want +got):\n%s", err, d)
	}
}

func storeClosedAsks(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	ledger, ok := s.(orchestrator.Ledger)
	if !ok {
		t.Skip("this store has no pages of asks")
	}
	var asks []*orchestrator.Ask
	for i := range 9 {
		asks = append(asks, &orchestrator.Ask{
			ID: fmt.Sprint("k", i), RunID: "r", Principal: orchestrator.LocalPrincipal, State: orchestrator.AskAnswered,
			Kind: orchestrator.AskInput, Opened: storeTime(0), Closed: storeTime(i / 2),
		})
	}
	asks[3].State, asks[4].State, asks[5].Principal = orchestrator.AskOpen, orchestrator.AskGone, "tok"
	storeWrite(t, s, &orchestrator.Batch{Asks: asks})
	for _, n := range []int{1, 3, 20} {
		var got []string
		for before := (*orchestrator.Ask)(nil); ; {
			page, err := ledger.ClosedAsks(t.Context(), before, n)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				got = append(got, a.ID)
			}
			before = page[len(page)-1]
		}
		if d := gocmp.Diff("k8 k7 k6 k4 k2 k1 k0", strings.Join(got, " ")); d != "" {
			t.Errorf("closed asks by %d (-want +got):\n%s", n, d)
		}
	}
}
