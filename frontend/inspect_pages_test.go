package frontend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// idsIn returns the ids of the children of an element.
func idsIn(doc *html.Node, of string) []string {
	var out []string
	if n := byID(doc, of); n != nil {
		for c := range n.ChildNodes() {
			if id := attr(c, "id"); id != "" {
				out = append(out, id)
			}
		}
	}
	return out
}

func TestBoardDifference(t *testing.T) {
	t.Parallel()
	// apply does what a window does with the changes it is sent.
	apply := func(had [][2]string, ops []op) []string {
		var list []string
		for _, h := range had {
			list = append(list, h[0]+h[1])
		}
		at := func(id string) int {
			return slices.IndexFunc(list, func(s string) bool { return s[:1] == id })
		}
		for _, o := range ops {
			switch o[0] {
			case "x":
				list = slices.Delete(list, at(o[1]), at(o[1])+1)
			case "r":
				list[at(o[1])] = o[2]
			case "b":
				list = slices.Insert(list, at(o[1]), o[2])
			case "a":
				list = append(list, o[2])
			}
		}
		return list
	}
	rows := func(s string) (out []row) {
		for _, r := range strings.Fields(s) {
			out = append(out, row{id: r[:1], v: r[1:], html: r})
		}
		return out
	}
	for _, tt := range []struct {
		had, want string
		ops       int
	}{
		{"", "", 0},
		{"a1 b1", "a1 b1", 0},
		{"", "a1 b1 c1", 3},
		{"a1 b1 c1", "", 3},
		{"a1 b1 c1", "a1 b2 c1", 1},
		{"a1 b1 c1", "n1 a1 b1 c1", 1},
		{"a1 b1 c1", "c2 a1 b1", 2}, // the newest goes to the top: taken out, put in
		{"a1 b1 c1", "b1 n1 a1", 4}, // out with two, in with two
		{"a1 b1 c1 d1", "d1 c1 b1 a1", 6},
		{"a1 b1", "c1 b1 d1", 3},
	} {
		var had [][2]string
		for _, r := range rows(tt.had) {
			had = append(had, [2]string{r.id, r.v})
		}
		ops := section{id: "s", rows: rows(tt.want)}.since(had)
		if got := strings.Join(apply(had, ops), " "); got != tt.want || len(ops) != tt.ops {
			t.Errorf("%q became %q by %d changes, want %q by %d: %v", tt.had, got, len(ops), tt.want, tt.ops, ops)
		}
	}
}

func TestInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	inspected(w)
	r := w.get("/inbox")
	if d := cmp.Diff([]string{"g-c1", "in-q1", "lately", "in-q0"}, idsIn(r.doc, "inbox-rows")); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	form := byID(r.doc, "ask-q1")
	if form == nil || attr(form, "action") != "/asks/q1" {
		t.Fatal("the question is not to be answered in place")
	}
	for _, want := range []string{"Atlas Research", "Edge log store", "step 1, attempt 2", "<title>(1) Inbox"} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if textOf(byID(r.doc, "asking")) != "1" || textOf(byID(r.doc, "asking-tab")) != "1" {
		t.Error("the navigation does not count the question")
	}
	answered := w.get("/inbox?view=answered")
	if d := cmp.Diff([]string{"day-2026-11-20", "in-q0"}, idsIn(answered.doc, "inbox-rows")); d != "" || !strings.Contains(answered.body, "v0.41.2") {
		t.Errorf("answered (-want +got):\n%s", d)
	}
	if one := w.get("/inbox?ask=q0"); byID(one.doc, "ask-q0") != nil || !strings.Contains(one.body, "You answered") {
		t.Error("a closed question can be answered again")
	}
	if r := w.get("/inbox?view=answered&before=gone"); r.StatusCode != http.StatusNotFound {
		t.Errorf("after a question that is not there: %d", r.StatusCode)
	}

	// A question of an outside caller is not the person's.
	w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{ID: "theirs", RunID: "in1", Principal: "kestrel", Kind: orchestrator.AskInput, Prompt: "Secret?", State: orchestrator.AskOpen}}})
	if r := w.get("/inbox?ask=theirs"); strings.Contains(r.body, "Secret?") {
		t.Error("another's question is shown")
	}
}

func TestInboxPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for i := range closedAsks + 1 {
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{ID: fmt.Sprintf("k%03d", i), RunID: "r", Principal: orchestrator.LocalPrincipal, Kind: orchestrator.AskInput, State: orchestrator.AskGone, Closed: clock}}})
	}
	first := w.get("/inbox?view=answered")
	if n := len(idsIn(first.doc, "inbox-rows")); n != closedAsks+1 { // and the day
		t.Errorf("%d rows", n)
	}
	second := w.get("/inbox?view=answered&before=k001")
	if d := cmp.Diff([]string{"day-2026-11-20", "in-k000"}, idsIn(second.doc, "inbox-rows")); d != "" {
		t.Errorf("the second page (-want +got):\n%s", d)
	}
	if !strings.Contains(first.body, "before=k001") || strings.Contains(second.body, "before=") {
		t.Error("the pages do not lead on as they should")
	}
}

func TestTasksPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := inspected(w)
	for path, want := range map[string][]string{
		"/tasks":                    {"t-r1", "t-in1", "t-bad"},
		"/tasks?state=open":         {"t-r1", "t-in1"},
		"/tasks?state=you":          {"t-r1"},
		"/tasks?state=failed":       {"t-bad"},
		"/tasks?agent=quill":        {"t-in1", "t-bad"},
		"/tasks?caller=*":           {"t-in1"},
		"/tasks?caller=local":       {"t-r1", "t-bad"},
		"/tasks?agent=quill&days=1": {"t-in1", "t-bad"},
		"/tasks?before=r1":          {"t-in1", "t-bad"},
		"/tasks?caller=nobody":      {"task-none"},
	} {
		if d := cmp.Diff(want, idsIn(w.get(path).doc, "task-rows")); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
	r := w.get("/tasks")
	for _, want := range []string{"Compare three stores", "Summarise the minutes", "From outside"} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}

	// Several are stopped at once. What cannot be is said, and the others are stopped all the same.
	if r := w.post("/tasks/cancel", url.Values{"run": {"r1", "in1"}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("stop: %d", r.StatusCode)
	}
	if d := cmp.Diff([]string{"r1", "in1"}, l.canceled); d != "" {
		t.Errorf("stopped (-want +got):\n%s", d)
	}
	l.refuses["r1"] = &a2a.Error{Kind: a2a.KindTaskNotCancelable, Message: "it has ended"}
	l.canceled = nil
	if r := w.post("/tasks/cancel", url.Values{"run": {"r1", "in1"}}); r.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(r.body, "1 task could not be stopped.") {
		t.Errorf("one that cannot be stopped: %d", r.StatusCode)
	}
	if d := cmp.Diff([]string{"in1"}, l.canceled); d != "" {
		t.Errorf("stopped beside it (-want +got):\n%s", d)
	}
	if r := w.post("/tasks/cancel", nil); r.StatusCode != http.StatusBadRequest {
		t.Errorf("nothing chosen: %d", r.StatusCode)
	}
}

func TestTaskPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := inspected(w)
	r := w.get("/tasks/r1")
	for _, want := range []string{
		"Compare three stores", "Needs your answer", "Which board is closest to the fleet?", "Sent to Atlas Research, attempt 2", "Events may be missing here", "the line broke",
		"plan.md", "/runs/r1/artifacts/art/0", "/tasks/at/atlas/far", "/wire?run=r1", "/c/c1", "the webhook answered 503", "POST webhook",
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if r := w.get("/tasks/none"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a task that is not there: %d", r.StatusCode)
	}
	if r := w.post("/tasks/r1/push/p1/test", nil); r.StatusCode != http.StatusSeeOther || !slices.Equal(l.tested, []string{"r1 p1"}) {
		t.Errorf("test delivery: %d, %v", r.StatusCode, l.tested)
	}

	// A task that only the agent knows of is asked for, followed and canceled there.
	if r := w.get("/tasks/at/atlas"); !strings.Contains(r.body, "Begun elsewhere") || !strings.Contains(r.body, "/tasks/at/atlas/far") {
		t.Error("the agent's own list is not shown")
	}
	if r := w.get("/tasks/at/atlas/far"); !strings.Contains(r.body, "Begun elsewhere") || !strings.Contains(r.body, "Working") {
		t.Error("the task at the agent is not shown")
	}
	if r := w.post("/tasks/at/atlas/far/watch", nil); r.StatusCode != http.StatusSeeOther {
		t.Errorf("subscribe: %d", r.StatusCode)
	}
	l.events <- &a2a.StatusUpdate{TaskID: "far", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Message: &a2a.Message{ID: "n", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Half of it")}}}}
	eventually(t, func() error {
		if r := w.get("/tasks/at/atlas/far"); !strings.Contains(r.body, "Half of it") || !strings.Contains(r.body, "Parley follows it") {
			return fmt.Errorf("what it said is not shown")
		}
		return nil
	})
	l.events <- &a2a.StatusUpdate{TaskID: "far", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
	close(l.events)
	eventually(t, func() error {
		if r := w.get("/tasks/at/atlas/far"); strings.Contains(r.body, "/watch") {
			return fmt.Errorf("a task that has ended can be subscribed to")
		}
		return nil
	})
	if r := w.get("/tasks/at/nobody/far"); r.StatusCode != http.StatusNotFound {
		t.Errorf("an agent that is not there: %d", r.StatusCode)
	}
}

func TestWirePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	inspected(w)
	for path, want := range map[string][]string{
		"/wire":                     {"w4", "w3", "w2", "w1"},
		"/wire?way=out":             {"w3", "w1"},
		"/wire?way=in":              {"w4", "w2"},
		"/wire?way=push":            {"w4"},
		"/wire?way=failed":          {"w4", "w3"}, // 204 is none to the log in memory
		"/wire?run=r1":              {"w4", "w1"},
		"/wire?task=far":            {"w4", "w1"},
		"/wire?agent=kestrel":       {"w2"},
		"/wire?method=GetTask":      {"w3"},
		"/wire?text=mine":           {"w1"},
		"/wire?before=3":            {"w2", "w1"},
		"/wire?text=nowhere-at-all": {"wire-none"},
	} {
		if d := cmp.Diff(want, idsIn(w.get(path).doc, "wire-rows")); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
	// What an agent or a caller wrote is text, in every view of it.
	for _, show := range []string{"", "raw", "headers"} {
		r := w.get("/wire?run=r1&id=1&show=" + show)
		if byID(r.doc, "wire-panel") == nil || strings.Contains(r.body, "<b>mine") {
			t.Errorf("show=%q is not as it should be", show)
		}
		if show != "raw" && !strings.Contains(r.body, `class="mask"`) {
			t.Errorf("show=%q does not say that a secret was masked", show)
		}
	}
	r := w.get("/wire?id=1")
	for _, want := range []string{"/tasks/at/atlas/far", "/tasks/r1", "/c/c1", "TaskStatusUpdate input_required", "TaskArtifactUpdate", "/wire/1/replay"} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the record does not lead to %q", want)
		}
	}
	if r := w.get("/wire?id=2"); strings.Contains(r.body, "/replay") {
		t.Error("what came in can be sent again")
	}
	if r := w.get("/wire?id=99"); r.StatusCode != http.StatusOK || byID(r.doc, "wire-panel") != nil {
		t.Errorf("a record that is gone: %d", r.StatusCode)
	}
}

func TestWireCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := inspected(w)
	rec := func(id int64) *orchestrator.WireRecord {
		r, err := l.wire.WireRecord(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := `curl -sSN -X POST 'https://atlas.example/a2a' \
  -H 'A2a-Version: 1.0' \
  -H "Authorization: $AUTHORIZATION" \
  -H 'Content-Type: application/json' \
  --data-binary '{"jsonrpc":"2.0","id":1,"params":{"message":{"messageId":"m1","parts":[{"text":"It'\''s <b>mine</b>"}]},"token":"[masked]"}}'`
	if d := cmp.Diff(want, curl(rec(1), view.SecretKind{Kind: "bearer"})); d != "" {
		t.Errorf("curl (-want +got):\n%s", d)
	}
	bare := *rec(1)
	bare.Header = nil
	for in, want := range map[view.SecretKind]string{
		{}:               "-X POST 'https://atlas.example/a2a' \\\n  -H 'Content-Type",
		{Kind: "bearer"}: `-H "Authorization: Bearer $TOKEN"`,
		{Kind: "basic"}:  `-u "$USER_AND_PASSWORD"`,
		{Kind: "key", Header: "X-Key", Location: "header"}: `-H 'X-Key: '"$API_KEY"`,
	} {
		if c := curl(&bare, in); !strings.Contains(c, want) {
			t.Errorf("curl with %+v: %s, want %s in it", in, c, want)
		}
	}
	if c := curl(rec(2), view.SecretKind{}); !strings.HasPrefix(c, "curl -sS -X POST 'http://127.0.0.1:7421/rpc'") {
		t.Errorf("curl of what came in: %s", c)
	}
	for id, want := range map[int64]string{
		1: `parley send --to 'atlas' 'It'\''s <b>mine</b>'`, 2: "", 3: "parley task get --agent 'quill' 'x'", 4: "",
	} {
		if got := w.commandLine(rec(id)); got != want {
			t.Errorf("record %d: %s, want %s", id, got, want)
		}
	}
}

func TestWireReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := inspected(w)
	if r := w.post("/wire/1/replay", url.Values{"body": {`{"a":1}`}}); r.StatusCode != http.StatusBadRequest || len(l.replayed) != 0 {
		t.Errorf("without being sure: %d, %v", r.StatusCode, l.replayed)
	}
	r := w.post("/wire/1/replay", url.Values{"body": {"{\r\n\"a\":1}"}, "sure": {"1"}})
	if to := r.Header.Get("Location"); r.StatusCode != http.StatusSeeOther || to != "/wire?id=5&agent=atlas" {
		t.Errorf("%d to %s", r.StatusCode, to)
	}
	if d := cmp.Diff([]string{"{\n\"a\":1}"}, l.replayed); d != "" {
		t.Errorf("sent (-want +got):\n%s", d)
	}
	l.err = &orchestrator.Fault{Kind: "not-granted", Where: orchestrator.WhereUs, What: "This agent may not be reached there any more."}
	if r := w.post("/wire/1/replay", url.Values{"body": {"{}"}, "sure": {"1"}}); r.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(r.body, "may not be reached") {
		t.Errorf("refused: %d", r.StatusCode)
	}
	if r := w.post("/wire/77/replay", url.Values{"body": {"{}"}, "sure": {"1"}}); r.StatusCode != http.StatusNotFound {
		t.Errorf("a record that is gone: %d", r.StatusCode)
	}
}

func TestWireExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	inspected(w)
	var all []struct {
		ID      int64
		Method  string
		Request json.RawMessage
	}
	r := w.get("/wire/export.json?run=r1")
	if err := json.Unmarshal([]byte(r.body), &all); err != nil || len(all) != 2 || all[0].ID != 1 || !strings.Contains(string(all[0].Request), "m1") {
		t.Errorf("JSON: %v, %+v", err, all)
	}
	if d := r.Header.Get("Content-Disposition"); !strings.Contains(d, "parley-wire.json") {
		t.Errorf("it is called %q", d)
	}
	var har struct {
		Log struct {
			Version string
			Entries []struct {
				StartedDateTime time.Time
				Request         struct {
					Method, URL string
					Headers     []struct{ Name, Value string }
				}
				Response struct{ Status int }
			}
		}
	}
	r = w.get("/wire/export.har")
	if err := json.Unmarshal([]byte(r.body), &har); err != nil || har.Log.Version != "1.2" || len(har.Log.Entries) != 4 {
		t.Fatalf("HAR: %v, %s", err, r.body)
	}
	first := har.Log.Entries[0]
	if first.Request.Method != http.MethodPost || first.Request.URL != "https://atlas.example/a2a" || first.Response.Status != 200 || !first.StartedDateTime.Equal(clock) {
		t.Errorf("the first entry: %+v", first)
	}
	if !slices.ContainsFunc(first.Request.Headers, func(h struct{ Name, Value string }) bool {
		return h.Name == "Authorization" && h.Value == "[masked]"
	}) {
		t.Error("the masked header is not there")
	}
}
