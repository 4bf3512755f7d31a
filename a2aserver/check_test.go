package a2aserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
)

// The numbers in the names of these tests are those of the list of conformance checks that servers of A2A are held to.

func TestCheck01And02SendAndStream(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, d := range dialects(s) {
		r := d.say("do it", "", "", "")
		if r.State != "completed" || r.Text != "it" || r.Message || r.Context == "" {
			t.Errorf("%s: %+v", d.name, r)
		}
		r = d.say("hi", "", "", "")
		if r.Text != "echo: hi" || r.Context == "" || r.Message != (d.name != "OLD") || d.name == "OLD" && r.State != "completed" {
			t.Errorf("%s, a Message: %+v", d.name, r)
		}
		stream, said := "task submitted, status working, artifact, status completed", "message"
		switch d.name {
		case "MID", "PROTO REST":
			stream += " final"
		case "OLD":
			stream, said = "status submitted, status working, artifact, status completed final", "artifact, status completed final"
		}
		want(t, d.name, strings.Join(d.stream("send", "do it", ""), ", "), stream)
		want(t, d.name+", a Message", strings.Join(d.stream("send", "hi", ""), ", "), said)
	}
}

func TestCheck03InputRequired(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, d := range dialects(s) {
		r := d.say("ask", "", "", "")
		want(t, d.name, r.State, "input-required")
		next := d.say("blue", r.Task, "", "")
		if next.Task != r.Task || next.Context != r.Context || next.State != "completed" || next.Text != "answer blue" {
			t.Errorf("%s: %+v after %+v", d.name, next, r)
		}
		// The same as a stream: it does not end with the question that was answered.
		r = d.say("ask", "", "", "")
		frames := d.stream("send", "red", r.Task)
		if last := frames[len(frames)-1]; !strings.HasPrefix(last, "status completed") || slices.ContainsFunc(frames, func(f string) bool {
			return strings.Contains(f, "input-required")
		}) {
			t.Errorf("%s: the stream of the answer is %v", d.name, frames)
		}
	}
}

func TestCheck05OneEndpoint(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: as()})
	var all sync.WaitGroup
	for i := range 12 {
		for _, d := range dialects(s) {
			all.Go(func() {
				who := fmt.Sprint("p", i%3)
				name := ""
				if d.name == "OLD" {
					name = fmt.Sprint("t ", i/3)
				}
				r := d.say("do it", name, "", "", "X-Who", who)
				if r.State != "completed" || r.Text != "it" {
					t.Errorf("%s: %+v", d.name, r)
					return
				}
				got := d.do("get", r.Task, "", "X-Who", who)
				if got.State != "completed" || got.Task != r.Task || got.Text != "it" {
					t.Errorf("%s: get %+v", d.name, got)
				}
			})
		}
	}
	all.Wait()
	// The shared names answer in the dialect in which the task was named.
	old, mid := dialect{"OLD", s}, dialect{"MID", s}
	r := old.say("do it", "mine", "", "", "X-Who", "ann")
	if got := old.do("get", "mine", "", "X-Who", "ann"); strings.Contains(got.Raw, `"kind"`) || !strings.Contains(got.Raw, `"sessionId"`) {
		t.Errorf("what v0.1 began is read as %s", got.Raw)
	}
	r = mid.say("do it", "", "", "", "X-Who", "ann")
	if got := mid.do("get", r.Task, "", "X-Who", "ann"); !strings.Contains(got.Raw, `"kind":"task"`) {
		t.Errorf("what v0.3 began is read as %s", got.Raw)
	}
	// A v0.1 client may also go on with a task that it did not name.
	r = mid.say("ask", "", "", "", "X-Who", "ann")
	next := old.say("green", r.Task, "", "", "X-Who", "ann")
	if next.Task != r.Task || next.State != "completed" || next.Text != "answer green" {
		t.Errorf("v0.1 goes on with a task of v0.3: %+v", next)
	}
	want(t, "no task was begun for it", (dialect{"NEW", s}).do("get", r.Task, "", "X-Who", "ann").State, "completed")
}

func TestCheck07MIDBodiesAreWhole(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	d := dialect{"MID", s}
	data, _, _ := readFrames(t, d.open("send", "ask", ""))
	r := s.call("message/send", d.params("do it", "", "", ""))
	m := s.call("message/send", d.params("hi", "", "", ""))
	var task map[string]any
	if err := json.Unmarshal([]byte(data[0]), &task); err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]map[string]any{"task": r.Result, "message": m.Result, "first frame": task["result"].(map[string]any)} {
		members := []string{"kind", "contextId"}
		switch dig(v, "kind") {
		case "task":
			members = append(members, "id", "status.state")
		case "message":
			members = append(members, "messageId", "role", "parts.0.kind")
		}
		for _, name := range members {
			if dig(v, name) == "" {
				t.Errorf("%s has no %s: %v", what, name, v)
			}
		}
	}
	want(t, "artifact id", r.get("artifacts.0.artifactId"), "out")
	for _, f := range data[1:] {
		var v map[string]any
		json.Unmarshal([]byte(f), &v)
		for _, name := range []string{"result.kind", "result.taskId", "result.contextId", "result.status.state", "result.final"} {
			if dig(v, name) == "" {
				t.Errorf("a frame has no %s: %s", name, f)
			}
		}
		for _, name := range []string{"kind", "messageId", "contextId"} { // every message that is sent belongs to a context
			if dig(v, "result.status.message") != "" && dig(v, "result.status.message."+name) == "" {
				t.Errorf("a status message has no %s: %s", name, f)
			}
		}
	}
}

func TestCheck09RESTOfV03(t *testing.T) {
	t.Parallel()
	s := serve(t, config{push: true})
	r := s.rest("POST", "/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"do it"}]},"configuration":{"blocking":true}}`)
	want(t, "state", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	if strings.Contains(string(r.Body), `"kind"`) {
		t.Errorf("the reply has the form of JSON-RPC: %s", r.Body)
	}
	// Both forms of a message are read, and parts for content.
	for _, m := range []string{
		`{"message":{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
		`{"message":{"messageId":"m3","kind":"message","role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
	} {
		want(t, m, s.rest("POST", "/v1/message:send", m).get("message.content.0.text"), "echo: hi")
	}
	id := r.get("task.id")
	want(t, "get", s.rest("GET", "/v1/tasks/"+id, "").get("status.state"), "TASK_STATE_COMPLETED")
	held := s.rest("POST", "/v1/message:send", `{"message":{"messageId":"m4","role":"ROLE_USER","content":[{"text":"hold"}]},"configuration":{"blocking":false}}`)
	want(t, "canceled is spelled as a2a.v1 has it", s.rest("POST", "/v1/tasks/"+held.get("task.id")+":cancel", "").get("status.state"), "TASK_STATE_CANCELLED")
	for path, status := range map[string]int{"/v1/tasks": 404, "/v1/nothing": 404, "/v1": 404, "/v1/tasks/x/y": 404} {
		want(t, path, s.rest("GET", path, "").Status, status)
	}
	want(t, "GET a send", s.rest("GET", "/v1/message:send", "").Status, 405)
	bad := s.rest("GET", "/v1/tasks/nothing", "")
	if bad.Status != 404 || bad.Code != -32001 || bad.Text == "" || bad.Header.Get("Content-Type") != "application/json" {
		t.Errorf("no such task: %d %s", bad.Status, bad.Body)
	}
	// Push configurations, in every form that clients send.
	config := `{"id":"c","url":"https://c.example/hook"}`
	for i, body := range []string{
		fmt.Sprintf(`{"parent":"tasks/%s","configId":"c0","config":{"name":"tasks/%s/pushNotificationConfigs/c0","pushNotificationConfig":{"id":"c0","url":"https://c.example/hook"}}}`, id, id),
		fmt.Sprintf(`{"name":"tasks/%s/pushNotificationConfigs/c1","pushNotificationConfig":{"id":"c1","url":"https://c.example/hook"}}`, id),
		`{"pushNotificationConfig":{"id":"c2","url":"https://c.example/hook"}}`,
		strings.Replace(config, `"c"`, `"c3"`, 1),
	} {
		r := s.rest("POST", "/v1/tasks/"+id+"/pushNotificationConfigs", body)
		want(t, body, r.get("name"), fmt.Sprintf("tasks/%s/pushNotificationConfigs/c%d", id, i))
		want(t, body, r.get("pushNotificationConfig.url"), "https://c.example/hook")
	}
}

func TestCheck10RESTOfV10(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.Interfaces = append(slices.Clone(card.Interfaces), a2a.AgentInterface{URL: "http://127.0.0.1/", Binding: a2a.BindingREST, Version: "1.0", Tenant: "acme"})
	card.Capabilities.ExtendedAgentCard = true
	extended := card
	extended.Name = "more"
	s := serve(t, config{card: &card, push: true, handler: &a2aserver.HandlerOptions{
		ExtendedCard: func(context.Context, string) *a2a.AgentCard { return &extended },
	}})
	for _, at := range []string{"", "/acme"} {
		r := s.rest("POST", at+"/message:send", say("do it"), "Content-Type", "application/a2a+json", "A2A-Version", "1.0")
		want(t, at+" send", r.get("task.status.state"), "TASK_STATE_COMPLETED")
		id := r.get("task.id")
		task := at + "/tasks/" + id
		want(t, at+" get", s.rest("GET", task+"?historyLength=0&A2A-Version=1.0", "").get("id"), id)
		want(t, at+" list", s.rest("GET", at+"/tasks?page_size=1&includeArtifacts=true&contextId="+r.get("task.contextId"), "").get("tasks.0.artifacts.0.artifactId"), "out")
		data, names, ids := s.restStream("POST", at+"/message:stream", say("do it"))
		if len(data) != 4 || !strings.HasPrefix(data[0], `{"task":`) || !strings.HasPrefix(data[3], `{"statusUpdate":`) || ids[0] == "" || names[0] != "" {
			t.Errorf("%s stream: %v %v %v", at, data, names, ids)
		}
		configs := task + "/pushNotificationConfigs"
		c := s.rest("POST", configs, `{"url":"https://c.example/hook"}`)
		cfg := c.get("id")
		if c.Status != 200 || cfg == "" || c.get("taskId") != id {
			t.Errorf("%s push create: %d %s", at, c.Status, c.Body)
		}
		want(t, at+" push get", s.rest("GET", configs+"/"+cfg, "").get("url"), "https://c.example/hook")
		want(t, at+" push list", s.rest("GET", configs, "").get("configs.0.id"), cfg)
		gone := s.rest("DELETE", configs+"/"+cfg, "")
		want(t, at+" push delete", fmt.Sprint(gone.Status, string(gone.Body)), "200{}")
		want(t, at+" push get after it", s.rest("GET", configs+"/"+cfg, "").Status, 404)
		want(t, at+" card", s.rest("GET", at+"/extendedAgentCard", "").get("name"), "more")
		hold := s.rest("POST", at+"/message:send", say("hold", `|"configuration":{"returnImmediately":true}`)).get("task.id")
		want(t, at+" cancel", s.rest("POST", at+"/tasks/"+hold+":cancel", "{}").get("status.state"), "TASK_STATE_CANCELED")
	}
	for path, status := range map[string]int{"/nobody/tasks": 400, "/v1/tasks": 404, "/tasks/": 400, "/a/b/c/d/e": 404, "/agent": 404, "/.well-known/x": 404, "/%zz": 400} {
		res := s.raw1("GET " + path)
		want(t, path, res, status)
	}
	for _, wrong := range [][2]string{{"GET", "/message:send"}, {"DELETE", "/tasks"}, {"PUT", "/tasks/x"}, {"POST", "/extendedAgentCard"}, {"GET", "/tasks/x:cancel"}} {
		r := s.rest(wrong[0], wrong[1], "")
		if r.Status != 405 || r.Header.Get("Allow") == "" || r.get("error.code") != "405" || r.get("error.status") == "" {
			t.Errorf("%v: %d, Allow %q, %s", wrong, r.Status, r.Header.Get("Allow"), r.Body)
		}
	}
	// A tenant in two places must be the same; ids may hold what has a meaning in an address.
	want(t, "tenants", s.rest("POST", "/acme/message:send", say("hi", `|"tenant":"other"`)).Status, 400)
	want(t, "tenants", s.rest("POST", "/acme/message:send", say("hi", `|"tenant":"acme"`)).Status, 200)
	want(t, "ids", s.rest("GET", "/tasks/a%2Fb%3Acancel", "").Status, 404)
	// What the client takes decides the type.
	for accept, ct := range map[string]string{
		"": "application/json", "*/*": "application/json", "application/a2a+json": "application/a2a+json",
		"application/a2a+json;q=1": "application/a2a+json", "application/json, application/a2a+json": "application/json",
	} {
		want(t, accept, s.rest("GET", "/tasks", "", "Accept", accept).Header.Get("Content-Type"), ct)
		want(t, accept+", an error", s.rest("GET", "/tasks/x", "", "Accept", accept).Header.Get("Content-Type"), "application/json")
	}
	want(t, "no type", s.rest("POST", "/message:send", say("hi"), "Content-Type", "").Status, 415)
	r := s.rest("POST", "/message:send", say("hi"), "Content-Type", "text/plain")
	want(t, "a form", r.Status, 415)
	if !strings.Contains(string(r.Body), `"code":415,`) {
		t.Errorf("the body says another status: %s", r.Body)
	}
	want(t, "nothing, from a page", s.rest("POST", "/tasks/x:cancel", "", "Origin", "https://evil.example").Status, 415)
	want(t, "too much", s.rest("POST", "/message:send", strings.Repeat(" ", a2a.Limits.RequestBody+1)).Status, 413)
}

// raw1 makes a request whose line is not checked by a client, and returns the status.
func (s *server) raw1(line string) int {
	s.t.Helper()
	method, path, _ := strings.Cut(line, " ")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.0\r\nHost: x\r\n\r\n", method, path)
	var proto string
	var status int
	if _, err := fmt.Fscan(conn, &proto, &status); err != nil {
		s.t.Fatal(err)
	}
	return status
}

func TestCheck13Cancel(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, d := range dialects(s) {
		code := func(what string, r result, code int, reason string) {
			t.Helper()
			if strings.Contains(d.name, "NEW") {
				want(t, d.name+" "+what, r.Reason, reason)
			} else {
				want(t, d.name+" "+what, r.Code, code)
			}
		}
		res := d.open("send", "hold", "")
		var first [4096]byte
		n, _ := res.Body.Read(first[:])
		id := ids.FindStringSubmatch(string(first[:n]))
		if id == nil {
			t.Fatalf("%s: the stream begins with %s", d.name, first[:n])
		}
		r := d.do("cancel", id[1], "")
		want(t, d.name+" working", r.State, "canceled")
		res.Body.Close()
		if r = d.do("cancel", id[1], ""); strings.Contains(d.name, "NEW") {
			want(t, d.name+" canceled", r.State, "canceled")
		} else {
			code("canceled", r, -32002, "")
		}
		done := d.say("do it", "", "", "")
		code("completed", d.do("cancel", done.Task, ""), -32002, "TASK_NOT_CANCELABLE")
		code("unknown", d.do("cancel", "nothing", ""), -32001, "TASK_NOT_FOUND")
		asked := d.say("ask", "", "", "")
		want(t, d.name+" waiting", d.do("cancel", asked.Task, "").State, "canceled")
		if d.name == "OLD" {
			said := d.say("hi", "", "", "")
			code("a Message", d.do("cancel", said.Task, ""), -32002, "")
		}
	}
}

// ids finds the id of a task in a frame.
var ids = regexp.MustCompile(`"(?:id|taskId)":"([^"]{5,})"`)

func TestCheck14Terminal(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, d := range dialects(s) {
		done := d.say("do it", "", "", "")
		r := d.say("more", done.Task, "", "")
		switch d.name {
		case "NEW":
			want(t, d.name, r.Code, -32004)
			want(t, d.name, r.Reason, "UNSUPPORTED_OPERATION")
		case "NEW REST":
			want(t, d.name, r.Reason, "UNSUPPORTED_OPERATION")
			want(t, d.name, r.Status, 400)
		default:
			want(t, d.name, r.Code, -32602)
		}
		if !strings.Contains(r.Raw, "terminal state") {
			t.Errorf("%s: %s", d.name, r.Raw)
		}
		if d.name == "OLD" {
			said := d.say("hi", "", "", "")
			want(t, d.name+" after a Message", d.say("more", said.Task, "", "").Code, -32602)
			continue // an unknown id is a new task there
		}
		r = d.say("more", "nothing", "", "")
		if r.Code != -32001 && r.Reason != "TASK_NOT_FOUND" {
			t.Errorf("%s, unknown: %s", d.name, r.Raw)
		}
		asked := d.say("ask", "", "", "")
		r = d.say("more", asked.Task, "elsewhere", "")
		if r.Code != -32602 && r.Status != 400 && r.Status != 422 {
			t.Errorf("%s, another context: %s", d.name, r.Raw)
		}
	}
	d := dialect{"OLD", s}
	asked := d.say("ask", "", "", "")
	want(t, "OLD, another session", d.say("more", asked.Task, "elsewhere", "").Code, -32602)
}

func TestCheck15ClientMadeIDs(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	start := func() *server { return serve(t, config{log: log, handler: as()}) }
	s := start()
	d := dialect{"OLD", s}
	const name = "the client's/own: id"
	r := d.say("ask", name, "my session", "", "X-Who", "ann")
	if r.Task != name || r.Context != "my session" || r.State != "input-required" {
		t.Errorf("%+v", r)
	}
	if other := d.say("do it", name, "", "", "X-Who", "bob"); other.Task != name || other.State != "completed" {
		t.Errorf("another caller's of the same name: %+v", other)
	}
	s = start() // another process, the same log
	d = dialect{"OLD", s}
	if got := d.do("get", name, "", "X-Who", "ann"); got.Task != name || got.State != "input-required" || got.Context != "my session" {
		t.Errorf("after a restart: %+v", got)
	}
	if next := d.say("blue", name, "", "", "X-Who", "ann"); next.Task != name || next.State != "completed" || next.Text != "answer blue" {
		t.Errorf("the next turn: %+v", next)
	}
	want(t, "somebody else's", d.do("get", name, "", "X-Who", "eve").Code, -32001)
	list := s.call("ListTasks", `{}`, "X-Who", "ann")
	want(t, "tasks", list.get("totalSize"), "1")
	if id := list.get("tasks.0.id"); id == name || strings.ContainsAny(id, "/:% ") {
		t.Errorf("v1.0 sees the task as %q", id)
	}
	// A Message is what v0.1 saw as a completed task, also later.
	said := d.say("hi", "short", "", "", "X-Who", "ann")
	if got := d.do("get", "short", "", "X-Who", "ann"); got.State != "completed" || got.Text != said.Text || got.Task != "short" {
		t.Errorf("a Message, read later: %+v", got)
	}
	want(t, "follow it", strings.Join(d.stream("subscribe", "", "short", "X-Who", "ann"), ", "), "artifact, status completed final")

	// Several at once make one task, and every message is answered.
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r := d.say("ask", "race", "", "", "X-Who", "ann")
			if r.Code != -32602 && (r.Task != "race" || r.State != "input-required" && r.State != "completed") {
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	want(t, "tasks", s.call("ListTasks", `{}`, "X-Who", "ann").get("totalSize"), "2")
}

func TestCheck15AgentsAreApart(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	a := serve(t, config{log: log, handler: &a2aserver.HandlerOptions{Agent: "a"}})
	b := serve(t, config{log: log, handler: &a2aserver.HandlerOptions{Agent: "b"}})
	want(t, "a", dialect{"OLD", a}.say("ask", "t-1", "", "").State, "input-required")
	want(t, "b, the same name", dialect{"OLD", b}.say("do it", "t-1", "", "").State, "completed")
}

func TestCheck16Subscribe(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	s := serve(t, config{handler: as(), exec: execFunc(func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateWorking))
		yield(chunk("one "))
		select {
		case <-step:
		case <-ctx.Done():
		}
		yield(chunk("two"))
		return nil
	})})
	for _, d := range dialects(s) {
		res := d.open("send", "go", "", "X-Who", "p")
		id := firstID(t, res)
		eventually(t, "the first piece is there", func() bool { return d.do("get", id, "", "X-Who", "p").Text == "one " })
		a, b, gone := d.open("subscribe", "", id, "X-Who", "p"), d.open("subscribe", "", id, "X-Who", "p"), d.open("subscribe", "", id, "X-Who", "p")
		gone.Body.Close()
		step <- struct{}{}
		first, second := d.frames(a), d.frames(b)
		begins := "task working"
		if d.name == "OLD" {
			begins = "artifact" // and the status behind it
		}
		want(t, d.name+" in all", d.do("get", id, "", "X-Who", "p").Text, "one two")
		if !slices.Equal(first, second) || first[0] != begins || !strings.HasPrefix(first[len(first)-1], "status completed") {
			t.Errorf("%s: %v and %v", d.name, first, second)
		}
		res.Body.Close()
		// One that has ended.
		switch d.name {
		case "NEW":
			r := readReply(t, d.open("subscribe", "", id, "X-Who", "p"))
			want(t, d.name, r.Code, -32004)
		case "NEW REST":
			want(t, d.name, s.rest("GET", "/tasks/"+id+":subscribe", "", "X-Who", "p").Reason, "UNSUPPORTED_OPERATION")
		case "OLD":
			want(t, d.name, strings.Join(d.stream("subscribe", "", id, "X-Who", "p"), ", "), "artifact, status completed final")
		default:
			want(t, d.name, strings.Join(d.stream("subscribe", "", id, "X-Who", "p"), ", "), "task completed, status completed final")
		}
		// One that there is not, and somebody else's.
		for _, who := range []string{"p", "eve"} {
			task := id
			if who == "p" {
				task = "nothing"
			}
			res := d.open("subscribe", "", task, "X-Who", who)
			if strings.Contains(d.name, "REST") {
				want(t, d.name+" unknown", res.StatusCode, 404)
				res.Body.Close()
				continue
			}
			want(t, d.name+" unknown", readReply(t, res).Code, -32001)
		}
	}
}

func TestCheck17VerbsOfSubscribe(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, at := range []string{"", "/v1"} {
		id := s.rest("POST", "/message:send", say("ask")).get("task.id")
		for _, c := range [][2]string{{"GET", ""}, {"POST", ""}, {"POST", "{}"}} {
			data, _, ids := s.restStream(c[0], at+"/tasks/"+id+":subscribe", c[1])
			if len(data) == 0 || !strings.HasPrefix(data[0], `{"task":{"id":"`+id) || ids[0] == "" {
				t.Errorf("%s %v: %v", at, c, data)
			}
		}
		want(t, at+" DELETE", s.rest("DELETE", at+"/tasks/"+id+":subscribe", "").Status, 405)
	}
	// A position in the stream is gone on from, also here.
	for _, at := range []string{"", "/v1"} {
		body := dialect{map[string]string{"": "NEW REST", "/v1": "PROTO REST"}[at], s}.params("count 5", "", "", "")
		data, _, ids := s.restStream("POST", at+"/message:stream", body)
		task := taskOf(t, data[0])
		rest, _, _ := s.restStream("GET", at+"/tasks/"+task+":subscribe", "", "Last-Event-ID", ids[2])
		want(t, at+" after the third", strings.Join(rest, "\n"), strings.Join(data[3:], "\n"))
		again, _, _ := s.restStream("POST", at+"/message:stream", body, "Last-Event-ID", ids[4])
		want(t, at+" the same message again", strings.Join(again, "\n"), strings.Join(data[5:], "\n"))
	}
}

func taskOf(t *testing.T, frame string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(frame), &v); err != nil {
		t.Fatal(err)
	}
	return dig(v, "task.id")
}

// firstID reads the first of an open stream and returns the id that its task has there.
func firstID(t *testing.T, res *http.Response) string {
	t.Helper()
	var b [4096]byte
	n, _ := res.Body.Read(b[:])
	id := ids.FindStringSubmatch(string(b[:n]))
	if id == nil {
		t.Fatalf("the stream begins with %s", b[:n])
	}
	return id[1]
}
