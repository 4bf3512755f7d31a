package orchestratortest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

func storeRuns(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	_, err := s.Run(t.Context(), "r")
	storeNotFound(t, "Run", err)
	want := &orchestrator.Run{
		ID: "r", Scope: "agents/x", Principal: "p", ConversationID: "c", ContextID: "k", To: orchestrator.Auto,
		State: a2a.TaskStateSubmitted, Updated: storeTime(1), Created: storeTime(0), Engine: []byte(`{"v":1}`),
	}
	storeWrite(t, s, &orchestrator.Batch{Runs: []*orchestrator.Run{want}})
	check := func() {
		t.Helper()
		got, err := s.Run(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("run (-want +got):\n%s", d)
		}
	}
	check()
	// Of several in one batch the last one counts, and LastSeq is the store's own.
	older := *want
	older.State, older.LastSeq = a2a.TaskStateFailed, 77
	want.State, want.Updated, want.Created, want.Engine = a2a.TaskStateWorking, storeTime(2), storeTime(1), nil
	storeWrite(t, s, &orchestrator.Batch{
		Events: []orchestrator.NewEvent{storeEvent("r", "c", 1), storeEvent("r", "c", 2)},
		Runs:   []*orchestrator.Run{&older, want},
	})
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want.LastSeq = head
	check()
	// A run that only events name is none yet.
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("later", "later", 1)}})
	_, err = s.Run(t.Context(), "later")
	storeNotFound(t, "Run", err)
	_, err = s.Conversation(t.Context(), "later")
	storeNotFound(t, "Conversation", err)
	storeWrite(t, s, &orchestrator.Batch{Runs: []*orchestrator.Run{{ID: "later", ConversationID: "later"}}})
	if r, err := s.Run(t.Context(), "later"); err != nil || r.LastSeq != head+1 {
		t.Errorf("Run = %+v, %v", r, err)
	}
}

// storeListed is the list as the contract describes it, made the slow way.
func storeListed(all []*orchestrator.Run, scope, principal string, r *a2a.ListRequest, before *orchestrator.Run) []*orchestrator.Run {
	order := func(a, b *orchestrator.Run) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(b.ID, a.ID))
	}
	var page []*orchestrator.Run
	for _, run := range all {
		if run.Scope == scope && run.Principal == principal && run.State != a2a.TaskStateUnspecified &&
			(r.ContextID == "" || run.ContextID == r.ContextID) && (r.Status == "" || run.State == r.Status) &&
			!run.Updated.Before(r.StatusTimestampAfter) && (before == nil || order(before, run) < 0) {
			page = append(page, run)
		}
	}
	slices.SortFunc(page, order)
	return page
}

func storeRunIDs(runs []*orchestrator.Run) string {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

func storeListRuns(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	states := []a2a.TaskState{
		a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateUnspecified, a2a.TaskStateInputRequired, a2a.TaskStateFailed,
	}
	var all []*orchestrator.Run
	b := &orchestrator.Batch{}
	for i := range 120 {
		r := &orchestrator.Run{
			ID: fmt.Sprintf("r%03d", i*37%120), Scope: []string{"agent", "agents/x"}[i%7/5], Principal: []string{"p", "q"}[i%5/4],
			ContextID: fmt.Sprint("k", i%4), State: states[i%len(states)], Updated: storeTime(i / 3 * 37 % 40),
		}
		all, b.Runs = append(all, r), append(b.Runs, r)
	}
	storeWrite(t, s, b)
	for _, req := range []a2a.ListRequest{
		{},
		{ContextID: "k1"},
		{ContextID: "none"},
		{Status: a2a.TaskStateFailed},
		{StatusTimestampAfter: storeTime(20)},
		{StatusTimestampAfter: storeTime(20).Add(time.Microsecond)},
		{StatusTimestampAfter: storeTime(1000)},
		{ContextID: "k2", Status: a2a.TaskStateCompleted, StatusTimestampAfter: storeTime(5)},
	} {
		for _, scope := range []string{"agent", "agents/x", "agents/"} {
			want := storeListed(all, scope, "p", &req, nil)
			for _, limit := range []int{1, 7, 100} {
				var got []*orchestrator.Run
				var before *orchestrator.Run
				for {
					page, total, err := s.ListRuns(t.Context(), scope, "p", &req, before, limit)
					if err != nil {
						t.Fatal(err)
					}
					if total != len(want) {
						t.Fatalf("%+v: total %d, want %d", req, total, len(want))
					}
					if len(page) > limit {
						t.Fatalf("%d rows, limit %d", len(page), limit)
					}
					if len(page) == 0 {
						break
					}
					got = append(got, page...)
					before = page[len(page)-1]
				}
				if g, w := storeRunIDs(got), storeRunIDs(want); g != w {
					t.Errorf("%+v in %s by %d:\n got %s\nwant %s", req, scope, limit, g, w)
				}
			}
		}
	}
	// A cursor may name a row that has moved, or one that never was.
	for _, before := range []*orchestrator.Run{
		{ID: "r050", Updated: storeTime(17)}, {ID: "", Updated: storeTime(17)}, {ID: "zzz", Updated: storeTime(17)},
	} {
		got, _, err := s.ListRuns(t.Context(), "agent", "p", &a2a.ListRequest{}, before, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := storeRunIDs(got), storeRunIDs(storeListed(all, "agent", "p", &a2a.ListRequest{}, before)); g != w {
			t.Errorf("before %+v:\n got %s\nwant %s", before, g, w)
		}
	}
}

// storeListRunsWhileWriting: paging while runs begin and move on yields every run that stood still, once.
func storeListRunsWhileWriting(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	run := func(id string, at int) *orchestrator.Run {
		return &orchestrator.Run{ID: id, Scope: "agent", Principal: "p", State: a2a.TaskStateWorking, Updated: storeTime(at)}
	}
	b := &orchestrator.Batch{}
	still := map[string]int{}
	for i := range 100 {
		b.Runs = append(b.Runs, run(fmt.Sprint("still", i), i), run(fmt.Sprint("moving", i), i))
		still[fmt.Sprint("still", i)] = 0
	}
	storeWrite(t, s, b)
	var before *orchestrator.Run
	for i := 0; ; i++ {
		page, _, err := s.ListRuns(t.Context(), "agent", "p", &a2a.ListRequest{}, before, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if _, ok := still[r.ID]; ok {
				still[r.ID]++
			}
		}
		before = page[len(page)-1]
		if i > 20 {
			continue
		}
		storeWrite(t, s, &orchestrator.Batch{Runs: []*orchestrator.Run{
			run(fmt.Sprint("moving", i), 1000+i), run(fmt.Sprint("new", i), 2000+i), run(fmt.Sprint("old", i), -i),
		}})
	}
	for id, n := range still {
		if n != 1 {
			t.Errorf("%s was listed %d times", id, n)
		}
	}
}

func storeOpenRuns(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	b := &orchestrator.Batch{}
	add := func(id, scope, conversation string, state a2a.TaskState) {
		b.Runs = append(b.Runs, &orchestrator.Run{ID: id, Scope: scope, ConversationID: conversation, Principal: "p", State: state})
	}
	add("a", "agent", "c", a2a.TaskStateSubmitted)
	add("b", "agents/x", "", a2a.TaskStateWorking)
	add("c", "agents/y", "", a2a.TaskStateInputRequired)
	add("d", "agent", "c", a2a.TaskStateAuthRequired)
	add("e", "agent", "c", a2a.TaskStateUnspecified)
	add("f", "agent", "c", a2a.TaskStateCompleted)
	add("g", "agent", "c", a2a.TaskStateFailed)
	add("h", "agent", "d", a2a.TaskStateCanceled)
	add("i", "agent", "d", a2a.TaskStateRejected)
	for i := range 600 {
		add(fmt.Sprint("m", i), "demo/many", "", a2a.TaskStateWorking)
	}
	storeWrite(t, s, b)
	for scope, want := range map[string]string{
		"agent": "a d", "agents/": "b c", "agents/x": "b", "agents/%": "", "nobody": "", "agents": "",
	} {
		if got := storeRunIDs(storeOpen(t, s, scope)); got != want {
			t.Errorf("OpenRuns(%q) = %q, want %q", scope, got, want)
		}
	}
	if got := storeOpen(t, s, "demo/many"); len(got) != 600 {
		t.Errorf("%d open runs, want 600", len(got))
	}
	for conversation, want := range map[string]string{"c": "a d", "d": "", "": "", "none": ""} {
		got, err := s.RunsOf(t.Context(), conversation)
		if err != nil || storeRunIDs(got) != want {
			t.Errorf("RunsOf(%q) = %q, %v; want %q", conversation, storeRunIDs(got), err, want)
		}
	}
	// The store may be written while its rows are yielded.
	for r, err := range s.OpenRuns(t.Context(), "demo/many") {
		if err != nil {
			t.Fatal(err)
		}
		r.State = a2a.TaskStateFailed
		storeWrite(t, s, &orchestrator.Batch{Runs: []*orchestrator.Run{r}})
	}
	if got := storeOpen(t, s, "demo/many"); len(got) != 0 {
		t.Errorf("%d open runs after all failed", len(got))
	}
}

func storeOpen(t *testing.T, s orchestrator.Runs, scope string) (all []*orchestrator.Run) {
	t.Helper()
	for r, err := range s.OpenRuns(t.Context(), scope) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func storeSteps(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	step := func(run, id string, state orchestrator.StepState) *orchestrator.Step {
		return &orchestrator.Step{
			ID: id, RunID: run, AgentID: "a", Attempt: 2, MessageID: "m" + id, State: state, ChildTask: "t", ChildContext: "k",
			Updated: storeTime(3),
		}
	}
	storeWrite(t, s, &orchestrator.Batch{Steps: []*orchestrator.Step{
		step("r", "z", orchestrator.StepPlanned), step("r", "a", orchestrator.StepPlanned), step("q", "z", orchestrator.StepLost),
	}})
	storeWrite(t, s, &orchestrator.Batch{Steps: []*orchestrator.Step{step("r", "z", orchestrator.StepDone)}})
	got, err := s.Steps(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	want := []*orchestrator.Step{step("r", "z", orchestrator.StepDone), step("r", "a", orchestrator.StepPlanned)}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	if got, err := s.Steps(t.Context(), "none"); len(got) != 0 || err != nil {
		t.Errorf("Steps of none = %v, %v", got, err)
	}
}

func storeContexts(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	_, err := s.Context(t.Context(), "c", "a")
	storeNotFound(t, "Context", err)
	for i := range 2 {
		want := &orchestrator.ChildContext{Key: "c", AgentID: "a", ContextID: fmt.Sprint("k", i), TaskID: "t", LastTask: "l"}
		storeWrite(t, s, &orchestrator.Batch{Contexts: []*orchestrator.ChildContext{want}})
		got, err := s.Context(t.Context(), "c", "a")
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("context (-want +got):\n%s", d)
		}
	}
}

func storeAsks(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	_, err := s.Ask(t.Context(), "k")
	storeNotFound(t, "Ask", err)
	want := &orchestrator.Ask{
		ID: "k", RunID: "r", StepID: "s", ConversationID: "c", Principal: orchestrator.LocalPrincipal, AgentID: "a",
		Kind: orchestrator.AskChoice, Prompt: "Which?", Schema: []byte(`{"type":"object"}`),
		Choices: []orchestrator.Choice{{ID: "1", Label: "One", Detail: "the first"}},
		Links:   []orchestrator.Link{{Label: "Sign in", URL: "https://example.test/"}},
		State:   orchestrator.AskOpen, Opened: storeTime(1),
	}
	outside := &orchestrator.Ask{ID: "o", RunID: "q", Principal: "p", Kind: orchestrator.AskInput, State: orchestrator.AskOpen}
	storeWrite(t, s, &orchestrator.Batch{Asks: []*orchestrator.Ask{want, outside}})
	check := func(run string, want ...*orchestrator.Ask) {
		t.Helper()
		got, err := s.OpenAsks(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("open asks of %q (-want +got):\n%s", run, d)
		}
	}
	check("", want)
	check("r", want)
	check("q", outside)
	check("none")
	want.State, want.Answer, want.Closed = orchestrator.AskAnswered, []byte(`"1"`), storeTime(2)
	storeWrite(t, s, &orchestrator.Batch{Asks: []*orchestrator.Ask{want}})
	check("")
	check("r")
	got, err := s.Ask(t.Context(), "k")
	if d := gocmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("ask: %v (-want +got):\n%s", err, d)
	}
}

func storeSettings(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	for _, want := range []string{"", "1", "2", ""} {
		if want != "" {
			storeWrite(t, s, &orchestrator.Batch{Settings: map[string]string{"a": want, "b": "x"}})
		} else {
			storeWrite(t, s, &orchestrator.Batch{Settings: map[string]string{"a": ""}})
		}
		if got, err := s.Setting(t.Context(), "a"); got != want || err != nil {
			t.Errorf("Setting = %q, %v; want %q", got, err, want)
		}
	}
	if got, err := s.Setting(context.Background(), "unset"); got != "" || err != nil {
		t.Errorf("an unset setting is %q, %v", got, err)
	}
}
