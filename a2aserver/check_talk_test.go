package a2aserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

func TestCheck29HistoryLength(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, d := range dialects(s) {
		all := 3 // what was said, the question, and the answer
		unset := map[string]int{"OLD": 0}
		for _, c := range []struct {
			value string
			want  map[string]int // by dialect; none: any
		}{
			{"", map[string]int{"NEW": all, "NEW REST": all, "MID": all, "PROTO REST": all, "OLD": 0}},
			{"0", map[string]int{"NEW": 0, "NEW REST": 0, "MID": 0, "PROTO REST": all, "OLD": 0}},
			{"1", map[string]int{"NEW": 1, "NEW REST": 1, "MID": 1, "PROTO REST": 1, "OLD": 1}},
			{"2", map[string]int{"NEW": 2, "NEW REST": 2, "MID": 2, "PROTO REST": 2, "OLD": 2}},
			{"-1", map[string]int{"NEW": -1, "NEW REST": -1, "MID": all, "PROTO REST": all, "OLD": unset["OLD"]}},
		} {
			member := ""
			if c.value != "" {
				member = `"historyLength":` + c.value
			}
			asked := d.say("ask", "", "", "")
			sent := d.say("blue", asked.Task, "", member)
			got := d.do("get", asked.Task, member)
			if c.want[d.name] < 0 {
				if sent.Code != -32602 && sent.Reason != "INVALID_PARAMS" || got.Code != -32602 && got.Reason != "INVALID_PARAMS" {
					t.Errorf("%s with %s: %s, %s", d.name, c.value, sent.Raw, got.Raw)
				}
				d.say("blue", asked.Task, "", "")
				continue
			}
			want(t, d.name+" send with "+c.value, sent.History, c.want[d.name])
			want(t, d.name+" get with "+c.value, got.History, c.want[d.name])
		}
	}
	for n, want := range map[string]int{"0": 0, "1": 1} {
		r := s.rest("GET", "/tasks?historyLength="+n, "")
		for i := 0; r.get(fmt.Sprintf("tasks.%d.id", i)) != ""; i++ {
			if got := strings.Count(r.get(fmt.Sprintf("tasks.%d.history", i)), "messageId"); got > want {
				t.Errorf("a list with %s shows %d messages", n, got)
			}
		}
	}
}

func TestCheck30Blocking(t *testing.T) {
	t.Parallel()
	const patience = 3 * time.Second
	s := serve(t, config{push: true, handler: &a2aserver.HandlerOptions{BlockingTimeout: patience}, exec: execFunc(func(ctx context.Context, turn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateWorking))
		if a2a.Text(turn.Message.Parts) != "slow" {
			return nil
		}
		<-ctx.Done()
		return nil
	})})
	dialects := map[string]dialect{}
	for _, d := range []string{"OLD", "MID", "NEW", "NEW REST", "PROTO REST"} {
		dialects[d] = dialect{d, s}
	}
	url := `{"url":"https://c.example/"}`
	var all sync.WaitGroup
	for _, c := range []struct {
		dialect, config string
		waits           bool
	}{
		{"OLD", "", true},
		{"OLD", `"pushNotification":` + url, true},
		{"MID", "", true},
		{"MID", `"acceptedOutputModes":[]`, true},
		{"MID", `"blocking":true`, true},
		{"MID", `"blocking":false`, false},
		{"MID", `"pushNotificationConfig":` + url, true},
		{"PROTO REST", "", true},
		{"PROTO REST", `"acceptedOutputModes":[]`, false}, // unset cannot be told from false
		{"PROTO REST", `"blocking":true`, true},
		{"PROTO REST", `"pushNotification":` + url, false},
		{"PROTO REST", `"pushNotification":` + url + `,"blocking":true`, true},
		{"NEW", "", true},
		{"NEW", `"returnImmediately":false`, true},
		{"NEW", `"returnImmediately":true`, false},
		{"NEW", `"taskPushNotificationConfig":` + url, true},
		{"NEW REST", "", true},
		{"NEW REST", `"returnImmediately":true`, false},
	} {
		all.Go(func() {
			d := dialects[c.dialect]
			if r := d.say("fast", "", "", c.config); c.waits && r.State != "completed" || r.State == "" {
				t.Errorf("%s with %s: %+v", c.dialect, c.config, r)
			}
			// One that takes longer than the server waits is answered as it stands.
			began := time.Now()
			r := d.say("slow", "", "", c.config)
			if took := time.Since(began); (took >= patience) != c.waits || r.State != "working" && r.State != "submitted" {
				t.Errorf("%s with %s: after %s it is %+v", c.dialect, c.config, took, r)
			}
		})
	}
	all.Wait()
}

func TestCheck31StreamFraming(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	old := dialect{"OLD", s}
	res := old.open("send", "do it", "")
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n\n"), "\n\n") {
		if !strings.HasPrefix(block, "data: {") || strings.Contains(block, "\n") { // what the first JavaScript client reads
			t.Errorf("a block of v0.1 is %q", block)
		}
	}
	trpc := []string{"User-Agent", "trpc-a2a-go-client/0.1"}
	_, names, ids := readFrames(t, old.open("send", "do it", "", trpc...))
	want(t, "events for trpc", strings.Join(names, " "), "task_status_update task_status_update task_artifact_update task_status_update")
	want(t, "no ids", strings.Join(ids, ""), "")
	mid := dialect{"MID", s}
	frames := mid.stream("send", "do it", "", trpc...)
	want(t, "MID for trpc", frames[len(frames)-1], "status completed final")
	// Every frame of JSON-RPC repeats the id of the call.
	data, _, _ := readFrames(t, mid.open("send", "do it", ""))
	for _, f := range data {
		if !strings.HasPrefix(f, `{"jsonrpc":"2.0","id":"s","result":`) {
			t.Errorf("a frame is %s", f)
		}
	}
	// A refusal is no stream, but for those who read nothing else.
	for _, d := range dialects(s) {
		res := d.open("subscribe", "", "nothing")
		if d.name == "MID" || d.name == "OLD" {
			want(t, d.name, strings.Join(d.frames(res), ", "), "error")
			continue
		}
		want(t, d.name, res.Header.Get("Content-Type"), "application/json")
		res.Body.Close()
	}
	r := s.call("message/stream", say("hi"), "Content-Type", "text/plain")
	want(t, "not read at all", fmt.Sprint(r.Status, " ", r.Header.Get("Content-Type")), "415 application/json")
}

func TestCheck32AuthRequired(t *testing.T) {
	t.Parallel()
	signed := make(chan struct{})
	s := serve(t, config{exec: execFunc(func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(says(a2a.TaskStateAuthRequired, "sign in"))
		select {
		case <-signed:
			yield(status(a2a.TaskStateWorking))
			yield(chunk("done"))
		case <-ctx.Done():
		}
		return nil
	})})
	for _, d := range dialects(s) {
		if d.name == "OLD" { // which has no such state: its stream ends with the question
			want(t, d.name, strings.Join(d.stream("send", "go", "mine"), ", "), "status submitted, status input-required final")
			if got := d.do("get", "mine", ""); !strings.Contains(got.Raw, "auth-required") {
				t.Errorf("v0.1 does not learn what is meant: %s", got.Raw)
			}
			want(t, d.name+" follow", strings.Join(d.stream("subscribe", "", "mine"), ", "), "status input-required final")
			signed <- struct{}{}
			eventually(t, d.name, func() bool { return d.do("get", "mine", "").State == "completed" })
			continue
		}
		res := d.open("send", "go", "")
		id := firstID(t, res)
		eventually(t, d.name+" asks", func() bool { return d.do("get", id, "").State == "auth-required" })
		signed <- struct{}{}
		frames := d.frames(res) // it was not at its end
		if last := frames[len(frames)-1]; !strings.HasPrefix(last, "status completed") {
			t.Errorf("%s: %v", d.name, frames)
		}
	}
}

func TestCheck33Artifacts(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	piece := func(id, text string, more, last bool) *a2a.ArtifactUpdate {
		return &a2a.ArtifactUpdate{Append: more, LastChunk: last, Artifact: a2a.Artifact{ID: id, Name: "n-" + id, Parts: []a2a.Part{a2a.TextPart(text)}}}
	}
	exec := execFunc(func(_ context.Context, turn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		if turn.Task != nil {
			yield(piece("z", "3", false, true))
			yield(piece("b", "+", true, true))
			return nil
		}
		yield(piece("b", "1", true, false)) // appended to what is not there
		yield(piece("a", "2", false, true))
		yield(piece("b", "1'", true, false))
		yield(piece("a", "2'", false, true)) // in its place
		yield(says(a2a.TaskStateInputRequired, "more?"))
		return nil
	})
	s := serve(t, config{log: log, exec: exec})
	d := dialect{"OLD", s}
	type artifact struct {
		Name      string
		Index     int
		Append    bool
		LastChunk bool
		Parts     []struct{ Text string }
		Metadata  map[string]any
	}
	read := func(data []string) (out []string) {
		for _, f := range data {
			var v struct{ Result struct{ Artifact *artifact } }
			if err := json.Unmarshal([]byte(f), &v); err != nil {
				t.Fatal(err)
			}
			if a := v.Result.Artifact; a != nil {
				out = append(out, fmt.Sprintf("%d %s %s %v %v", a.Index, a.Name, a.Parts[0].Text, a.Append, a.LastChunk))
			}
		}
		return out
	}
	data, _, _ := readFrames(t, d.open("send", "go", "mine"))
	want(t, "the stream", strings.Join(read(data), "; "), "0 n-b 1 true false; 1 n-a 2 false true; 0 n-b 1' true false; 1 n-a 2' false true")
	numbers := func(what, want string) {
		t.Helper()
		r := s.call("tasks/get", `{"id":"mine"}`)
		var v struct{ Artifacts []artifact }
		b, _ := json.Marshal(r.Result)
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range v.Artifacts {
			text := ""
			for _, p := range a.Parts {
				text += p.Text
			}
			got = append(got, fmt.Sprintf("%d %s %s", a.Index, a.Name, text))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: %s, want %s", what, s, want)
		}
	}
	numbers("before the restart", "0 n-b 11'; 1 n-a 2'")
	s = serve(t, config{log: log, exec: exec})
	d = dialect{"OLD", s}
	numbers("after the restart", "0 n-b 11'; 1 n-a 2'")
	data, _, _ = readFrames(t, d.open("send", "go on", "mine"))
	got := read(data)
	want(t, "the next turn goes on with the numbers", strings.Join(got[len(got)-2:], "; "), "2 n-z 3 false true; 0 n-b + true true")
	numbers("at the end", "0 n-b 11'+; 1 n-a 2'; 2 n-z 3")
}

func TestCheck34Timestamps(t *testing.T) {
	t.Parallel()
	s := serve(t, config{exec: execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		u := status(a2a.TaskStateCompleted)
		u.Status.Timestamp = time.Date(2026, 1, 2, 3, 4, 5, 678912345, time.FixedZone("x", 3600))
		yield(u)
		return nil
	})})
	for _, d := range dialects(s) {
		r := d.say("go", "", "", "")
		if !strings.Contains(r.Raw, `"timestamp":"2026-01-02T02:04:05.678Z"`) {
			t.Errorf("%s: %s", d.name, r.Raw)
		}
		data, _, _ := readFrames(t, d.open("send", "go", ""))
		for _, f := range data {
			for _, ts := range regexp.MustCompile(`"timestamp":"([^"]*)"`).FindAllStringSubmatch(f, -1) {
				if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(ts[1]) {
					t.Errorf("%s: %s", d.name, ts[1])
				}
			}
		}
	}
}

func TestCheck38OthersTasks(t *testing.T) {
	t.Parallel()
	s := serve(t, config{push: true, handler: as()})
	ann, eve := []string{"X-Who", "ann"}, []string{"X-Who", "eve"}
	for _, d := range dialects(s) {
		id := d.say("ask", "", "", "", ann...).Task
		missing := func(what string, r result) {
			t.Helper()
			if r.Code != -32001 && r.Reason != "TASK_NOT_FOUND" {
				t.Errorf("%s, %s: %s", d.name, what, r.Raw)
			}
		}
		missing("get", d.do("get", id, "", eve...))
		missing("cancel", d.do("cancel", id, "", eve...))
		if d.name != "OLD" { // where it is the name of a task of eve's own
			missing("send", d.say("x", id, "", "", eve...))
		}
		res := d.open("subscribe", "", id, eve...)
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if s := string(b); !strings.Contains(s, "-32001") && !strings.Contains(s, "TASK_NOT_FOUND") {
			t.Errorf("%s, subscribe: %s", d.name, b)
		}
		if got := d.do("get", id, "", ann...); got.State != "input-required" {
			t.Errorf("%s: ann's task is %+v", d.name, got)
		}
	}
	id := s.call("SendMessage", say("ask"), ann...).get("task.id")
	for method, params := range map[string]string{
		"CreateTaskPushNotificationConfig":    `{"taskId":"` + id + `","url":"https://c.example/"}`,
		"GetTaskPushNotificationConfig":       `{"taskId":"` + id + `","id":"x"}`,
		"ListTaskPushNotificationConfigs":     `{"taskId":"` + id + `"}`,
		"DeleteTaskPushNotificationConfig":    `{"taskId":"` + id + `","id":"x"}`,
		"tasks/pushNotificationConfig/list":   `{"id":"` + id + `"}`,
		"tasks/pushNotificationConfig/delete": `{"id":"` + id + `","pushNotificationConfigId":"x"}`,
		"tasks/pushNotification/get":          `{"id":"` + id + `"}`,
	} {
		want(t, method, s.call(method, params, eve...).Code, -32001)
	}
	for _, route := range [][2]string{
		{"GET", "/tasks/" + id + "/pushNotificationConfigs"},
		{"DELETE", "/v1/tasks/" + id + "/pushNotificationConfigs/x"},
		{"GET", "/v1/tasks/" + id + "/pushNotificationConfigs/x"},
	} {
		want(t, route[1], s.rest(route[0], route[1], "", eve...).Status, http.StatusNotFound)
	}
}

func TestExtensionsOfEveryBinding(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://e.example/must", Required: true}, {URI: "https://e.example/may"}}
	s := serve(t, config{card: &card})
	for _, d := range dialects(s) {
		r := d.say("hi", "", "", "")
		if r.Code != -32600 && r.Reason != "EXTENSION_SUPPORT_REQUIRED" {
			t.Errorf("%s without: %s", d.name, r.Raw)
		}
		for _, name := range []string{"A2A-Extensions", "X-A2A-Extensions"} { // both are read
			if r := d.say("hi", "", "", "", name, "https://e.example/must,https://e.example/unknown"); r.Text != "echo: hi" {
				t.Errorf("%s with %s: %s", d.name, name, r.Raw)
			}
		}
	}
	for path, name := range map[string]string{"/message:send": "A2A-Extensions", "/v1/message:send": "X-A2A-Extensions"} {
		d := dialect{"NEW REST", s}
		if name[0] == 'X' {
			d.name = "PROTO REST"
		}
		r := s.rest("POST", path, d.params("hi", "", "", ""), "A2A-Extensions", "https://e.example/must", "X-A2A-Extensions", "https://e.example/may")
		want(t, path, r.Header.Get(name), "https://e.example/must, https://e.example/may")
	}
}

func TestModesOfV01(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.DefaultInputModes, card.DefaultOutputModes = []string{"text"}, []string{"text", "data"} // words of the first drafts
	s := serve(t, config{card: &card})
	d := dialect{"OLD", s}
	for modes, code := range map[string]int{`["text"]`: 0, `["data"]`: 0, `["file"]`: 0, `[]`: 0, `["image/png"]`: -32005, `["text/plain"]`: 0} {
		want(t, modes, d.say("hi", "", "", `"acceptedOutputModes":`+modes).Code, code)
	}
	r := s.call("tasks/send", `{"id":"t","message":{"role":"user","parts":[{"type":"data","data":{}}]}}`)
	want(t, "data is not taken", r.Code, -32005)
}

func TestTenants(t *testing.T) {
	t.Parallel()
	asked := ""
	s := serve(t, config{handler: &a2aserver.HandlerOptions{Tenant: func(_ context.Context, principal, tenant string) bool {
		asked = principal + "/" + tenant
		return tenant == "acme" || tenant == "tasks"
	}}})
	for tenant, code := range map[string]int{"": 0, "acme": 0, "other": -32602, "tasks": -32602, "v1": -32602, "message:x": -32602, "a/b": -32602, "extendedAgentCard": -32602, ".well-known": -32602} {
		want(t, tenant, s.call("ListTasks", fmt.Sprintf(`{"tenant":%q}`, tenant)).Code, code)
		want(t, tenant, s.call("SendMessage", say("hi", fmt.Sprintf(`|"tenant":%q`, tenant))).Code, code)
	}
	s.rest("GET", "/acme/tasks", "")
	want(t, "asked", asked, "/acme")
	want(t, "by the query", s.rest("GET", "/tasks?tenant=other", "").Status, 400)
	want(t, "v0.3 in the address", s.rest("GET", "/other/v1/tasks/x", "").Status, 422)
	want(t, "v0.3 in the address", s.rest("GET", "/acme/v1/tasks/x", "").Status, 404)
}
