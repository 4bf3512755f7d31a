package app_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/app"
)

const (
	completed = "TASK_STATE_COMPLETED"
	inputNeed = "TASK_STATE_INPUT_REQUIRED"
	authNeed  = "TASK_STATE_AUTH_REQUIRED"
	canceled  = "TASK_STATE_CANCELED"
)

// What an agent behind the gateway answers comes through as it is: a Message stays a Message, a question its question.
func TestGateway(t *testing.T) {
	t.Parallel()
	p := start(t)
	r := p.call("agents/echo", envToken, "SendMessage", say("m1", "hello"))
	if r.result(t, "message.parts.0.text") != "hello" || r.get("result.task") != "" {
		t.Errorf("echo: %s", r.body)
	}
	if all := p.call("agents/echo", envToken, "ListTasks", "{}"); all.result(t, "totalSize") != "0" {
		t.Errorf("a Message is listed as a task: %s", all.body)
	}

	r = p.call("agents/travel", envToken, "SendMessage", say("t1", "Plan a trip to Bergen"))
	task, context := r.result(t, "task.id"), r.result(t, "task.contextId")
	if r.get("result.task.status.state") != inputNeed || r.get("result.task.status.message.parts.1.data") == "" {
		t.Fatalf("travel: %s", r.body)
	}
	more := fmt.Sprintf(`,"taskId":%q,"contextId":%q`, task, context)
	r = p.call("agents/travel", envToken, "SendMessage", say("t2", "from Oslo, 2026-12-01 until 2026-12-05", more))
	if r.result(t, "task.id") != task || r.get("result.task.status.state") != completed || !strings.Contains(r.get("result.task.artifacts"), "Oslo") {
		t.Errorf("the next turn: %s", r.body)
	}
	r = p.call("agents/travel", envToken, "SendMessage", say("t3", "again", more))
	if r.get("error.code") != "-32004" && r.get("error.code") != "-32602" || r.StatusCode != 200 {
		t.Errorf("a turn of an ended task: %d %s", r.StatusCode, r.body)
	}
}

// The address on the older card answers with a slash at its end, too: there are clients that end every address in one.
func TestGatewayAddresses(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, path := range []string{"agents/echo", "agents/echo/", "agents/echo/rpc", "agents/echo/rpc/"} {
		if r := p.call(path, envToken, "SendMessage", say("m-"+path, "hello")); r.get("result.message.parts.0.text") != "hello" {
			t.Errorf("/%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	for _, path := range []string{"", "rpc", "rpc/"} {
		if r := p.call(path, envToken, "ListTasks", "{}"); r.get("result.totalSize") != "0" {
			t.Errorf("/%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// A sign-in goes past the caller; then the same task goes on by itself.
func TestGatewaySignIn(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.stream("agents/vault", envToken, "SendStreamingMessage", say("m", "Open the vault"))
	asked := s.until(authNeed)
	page := regexp.MustCompile(regexp.QuoteMeta(p.ready.Demo) + `vault/sign-in/[0-9a-zA-Z-]+`).Find(asked.data)
	if page == nil {
		t.Fatalf("no sign-in page in %s", asked.data)
	}
	if r := p.do("POST", string(page), url.Values{"decision": {"yes"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded"); r.StatusCode != 200 {
		t.Fatalf("the sign-in page: %d", r.StatusCode)
	}
	s.until("Design notes")
	s.until(completed)
	if rest := s.rest(); len(rest) != 0 {
		t.Errorf("the stream goes on after its end: %s", rest[0].data)
	}
}

// A task that runs can be followed from any event of it, and be stopped.
func TestGatewayFollowAndCancel(t *testing.T) {
	t.Parallel()
	p := start(t)
	first := p.stream("agents/slow", envToken, "SendStreamingMessage", say("m", "#slow 60s"))
	begun, _ := first.next()
	task := get(begun.data, "result.task.id")
	if task == "" || begun.id == "" {
		t.Fatalf("the first event: %q %s", begun.id, begun.data)
	}
	progress := first.until("0 of 60")
	snapshot := p.stream("agents/slow", envToken, "SubscribeToTask", about(task))
	if e, _ := snapshot.next(); get(e.data, "result.task.id") != task || !strings.Contains(string(e.data), "0 of 60") {
		t.Errorf("a subscription begins with %s", e.data)
	}
	resumed := p.stream("agents/slow", envToken, "SubscribeToTask", about(task), "Last-Event-ID", begun.id)
	if e, _ := resumed.next(); e.id == begun.id || get(e.data, "result.task") != "" {
		t.Errorf("a subscription after %s begins with %s %s", begun.id, e.id, e.data)
	}
	again := p.stream("agents/slow", envToken, "SendStreamingMessage", say("m", "#slow 60s"), "Last-Event-ID", begun.id)
	if e, _ := again.next(); get(e.data, "result.task") != "" {
		t.Errorf("the same message sent again begins with %s", e.data)
	}
	_ = progress
	r := p.call("agents/slow", envToken, "CancelTask", about(task))
	if r.result(t, "id") != task || r.get("result.status.state") != canceled {
		t.Errorf("cancel: %s", r.body)
	}
	for name, s := range map[string]*frames{"first": first, "snapshot": snapshot, "resumed": resumed, "again": again} {
		s.until(canceled)
		if len(s.rest()) != 0 {
			t.Errorf("%s goes on after its end", name)
		}
	}
	if r := p.call("agents/slow", envToken, "CancelTask", about(task)); r.get("result.status.state") != canceled {
		t.Errorf("cancel again: %s", r.body)
	}
	late := p.call("agents/slow", envToken, "SubscribeToTask", about(task))
	if late.get("error.code") == "" {
		t.Errorf("a subscription to an ended task: %s", late.body)
	}
}

// A task is its caller's: for another token, and at another agent, it does not exist.
func TestForeignTasks(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.token(app.TokenInfo{Name: "a", Agents: []string{"*"}})
	b := p.token(app.TokenInfo{Name: "b", Agents: []string{"*"}})
	task := p.call("agents/bench", a, "SendMessage", say("m", "#bench task")).result(t, "task.id")
	context := p.call("agents/bench", a, "GetTask", about(task)).result(t, "contextId")
	for token, want := range map[string]string{a: "1", b: "0", envToken: "0"} {
		if r := p.call("agents/bench", token, "ListTasks", "{}"); r.result(t, "totalSize") != want {
			t.Errorf("%s tasks, want %s", r.body, want)
		}
	}
	foreign := strings.ReplaceAll
	unknown := "11111111-2222-7333-8444-555555555555"
	for _, c := range [][2]string{
		{"GetTask", about(task)},
		{"CancelTask", about(task)},
		{"SubscribeToTask", about(task)},
		{"tasks/get", about(task)},
		{"tasks/resubscribe", about(task)},
		{"SendMessage", say("x", "hi", fmt.Sprintf(`,"taskId":%q`, task))},
	} {
		for path, token := range map[string]string{"agents/bench": b, "agents/echo": a, "": a} {
			r := p.call(path, token, c[0], c[1])
			none := p.call(path, token, c[0], foreign(c[1], task, unknown))
			if r.StatusCode != 200 || !strings.Contains(string(r.body), `"error":{"code":-32001,`) || foreign(string(r.body), task, unknown) != string(none.body) {
				t.Errorf("%s at /%s: %d %s\nan unknown one: %s", c[0], path, r.StatusCode, r.body, none.body)
			}
		}
	}
	// The context of another caller is a context of one's own.
	r := p.call("agents/bench", b, "SendMessage", say("m", "#bench task", fmt.Sprintf(`,"contextId":%q`, context)))
	if r.result(t, "task.id") == task {
		t.Errorf("another caller's task: %s", r.body)
	}
	if all := p.call("agents/bench", a, "ListTasks", fmt.Sprintf(`{"contextId":%q}`, context)); all.result(t, "totalSize") != "1" {
		t.Errorf("the contexts of two callers were merged: %s", all.body)
	}
}

// The card of an agent behind the gateway is the agent's, with our addresses and our sign-in.
func TestGatewayCard(t *testing.T) {
	t.Parallel()
	p := start(t)
	auth := []string{"Authorization", "Bearer " + envToken}
	for _, path := range []string{cardPath, oldCardPath} {
		r := p.do("GET", p.a2a("agents/travel/"+path), "", auth...)
		if r.StatusCode != 200 || r.get("name") != "Travel desk" || strings.Contains(string(r.body), p.ready.Demo+"travel") {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
		if !strings.Contains(string(r.body), p.a2a("agents/travel/")) || r.get("securitySchemes.bearer") == "" {
			t.Errorf("%s names another address or sign-in: %s", path, r.body)
		}
		if !strings.Contains(r.Header.Get("Cache-Control"), "private") {
			t.Errorf("%s may be kept by others: %v", path, r.Header)
		}
	}
	var card struct {
		SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion, Tenant string }
	}
	r := p.do("GET", p.a2a("agents/travel/"+cardPath), "", auth...)
	if err := json.Unmarshal(r.body, &card); err != nil || len(card.SupportedInterfaces) < 2 {
		t.Fatalf("%v %s", err, r.body)
	}
	for _, i := range card.SupportedInterfaces {
		switch i.ProtocolBinding + " " + i.ProtocolVersion {
		case "JSONRPC 1.0", "JSONRPC 0.3":
			if r := p.do("POST", i.URL, request("ListTasks", "{}"), authorized(envToken, nil)...); r.StatusCode != 200 {
				t.Errorf("%s: %d", i.URL, r.StatusCode)
			}
		case "HTTP+JSON 1.0":
			if r := p.do("GET", i.URL+"/tasks", "", append(auth, "A2A-Version", "1.0")...); r.StatusCode != 200 || r.get("totalSize") != "0" {
				t.Errorf("%s: %d %s", i.URL, r.StatusCode, r.body)
			}
		case "HTTP+JSON 0.3":
			if r := p.do("GET", i.URL+"/v1/tasks/none", "", auth...); r.StatusCode != 404 || r.get("code") != "-32001" {
				t.Errorf("%s: %d %s", i.URL, r.StatusCode, r.body)
			}
		case "GRPC 1.0":
			if i.URL != p.ready.GRPC || i.Tenant != "travel" {
				t.Errorf("over gRPC: %+v, and it is served at %s", i, p.ready.GRPC)
			}
		default:
			t.Errorf("the card names %+v", i)
		}
	}
}

// Both families of JSON are spoken at one address, about the same tasks.
func TestBothDialects(t *testing.T) {
	t.Parallel()
	p := start(t)
	old := `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"#bench task"}]},"configuration":{"blocking":true}}`
	r := p.call("agents/bench", envToken, "message/send", old)
	task := r.result(t, "id")
	if r.get("result.kind") != "task" || r.get("result.status.state") != "completed" {
		t.Fatalf("%s", r.body)
	}
	if r := p.call("agents/bench", envToken, "GetTask", about(task)); r.result(t, "status.state") != completed || r.get("result.kind") != "" {
		t.Errorf("%s", r.body)
	}
	if r := p.call("agents/bench/rpc", envToken, "tasks/get", about(task)); r.result(t, "status.state") != "completed" {
		t.Errorf("%s", r.body)
	}
	s := p.stream("agents/bench", envToken, "message/stream", strings.Replace(old, `"m"`, `"m2"`, 1))
	all := s.rest()
	if len(all) < 3 || get(all[0].data, "result.kind") != "task" || get(all[len(all)-1].data, "result.final") != "true" {
		t.Errorf("%d events, the last %s", len(all), all[len(all)-1].data)
	}
	if r := p.call("agents/bench", envToken, "ListTasks", "{}"); r.result(t, "totalSize") != "2" {
		t.Errorf("%s", r.body)
	}
}

// A message is acted on once, also over a restart; with other content it is refused.
func TestRepeatedMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	first := p.call("agents/bench", envToken, "SendMessage", say("same", "#bench task")).result(t, "task.id")
	own := p.call("", envToken, "SendMessage", say("same", "hi", `,"metadata":{"urn:parley:agent":"bench"}`))
	if own.StatusCode != 200 || own.get("error") != "" {
		t.Fatalf("%s", own.body)
	}
	p.stop()
	p = startIn(t, dir)
	if r := p.call("agents/bench", envToken, "SendMessage", say("same", "#bench task")); r.result(t, "task.id") != first {
		t.Errorf("%s, want %s", r.body, first)
	}
	if r := p.call("agents/bench", envToken, "SendMessage", say("same", "#bench other")); r.get("error.code") != "-32602" {
		t.Errorf("other content: %s", r.body)
	}
	other := p.token(app.TokenInfo{Name: "o", Agents: []string{"bench"}})
	if r := p.call("agents/bench", other, "SendMessage", say("same", "#bench task")); r.result(t, "task.id") == first {
		t.Error("another caller has the same task")
	}
	if r := p.call("agents/bench", envToken, "ListTasks", "{}"); r.result(t, "totalSize") != "1" {
		t.Errorf("%s", r.body)
	}
}

// Our own agent hands a request to the agent that fits, and asks where none clearly does.
func TestOwnAgent(t *testing.T) {
	t.Parallel()
	p := start(t)
	r := p.call("", envToken, "SendMessage", say("m1", "Plan a trip to Bergen"))
	if r.result(t, "task.status.state") != inputNeed || !strings.Contains(r.get("result.task.status.message"), "depart") {
		t.Fatalf("a request that one agent fits: %s", r.body)
	}
	r = p.call("", envToken, "SendMessage", say("m2", "from Oslo, 2026-12-01 until 2026-12-05", fmt.Sprintf(`,"taskId":%q`, r.get("result.task.id"))))
	if r.result(t, "task.status.state") != completed {
		t.Errorf("the answer: %s", r.body)
	}

	r = p.call("", envToken, "SendMessage", say("m3", "qwertz"))
	if r.result(t, "task.status.state") != inputNeed || !strings.Contains(r.get("result.task.status.message"), "Echo") || !strings.Contains(r.get("result.task.status.message"), "Vault") {
		t.Fatalf("a request that no agent fits: %s", r.body)
	}
	task := r.get("result.task.id")
	again := p.call("", envToken, "SendMessage", say("m4", "nonsense", fmt.Sprintf(`,"taskId":%q`, task)))
	if again.get("error") == "" && again.get("result.task.status.state") != inputNeed {
		t.Errorf("an answer that chooses none: %s", again.body)
	}
	r = p.call("", envToken, "SendMessage", say("m5", "echo", fmt.Sprintf(`,"taskId":%q`, task)))
	if r.result(t, "task.status.state") != completed || !strings.Contains(string(r.body), "qwertz") {
		t.Errorf("the choice: %s", r.body)
	}
}

// Credentials that are stored here go along for those who may use them, and to stop a task as well.
func TestStoredCredentials(t *testing.T) {
	t.Parallel()
	p := start(t)
	outside := newPeer(t)
	outside.wants("the-secret-of-the-agent")
	p.connect(outside, "outside", &app.Credential{Kind: "bearer", Secret: "the-secret-of-the-agent"})
	without := p.token(app.TokenInfo{Name: "without", Agents: []string{"outside"}})
	with := p.token(app.TokenInfo{Name: "with", Agents: []string{"outside"}, Credentials: true})

	r := p.call("agents/outside", without, "SendMessage", say("m", "hello"))
	if strings.Contains(r.get("result.message"), "hello") || r.StatusCode >= 500 && r.StatusCode != 503 {
		t.Errorf("a caller who may not: %d %s", r.StatusCode, r.body)
	}
	for name, token := range map[string]string{"with": with, "env": envToken} {
		if r := p.call("agents/outside", token, "SendMessage", say("m", "hello")); r.result(t, "message.parts.0.text") != "hello" {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	if outside.sent("Bearer "+with) || outside.sent("Bearer "+envToken) || outside.sent("Bearer "+without) {
		t.Error("a caller's token was passed on")
	}
	r = p.call("agents/outside", with, "SendMessage", `{"message":{"messageId":"w","role":"ROLE_USER","parts":[{"text":"wait"}]},"configuration":{"returnImmediately":true}}`)
	task := r.result(t, "task.id")
	began := time.Now()
	if r := p.call("agents/outside", with, "CancelTask", about(task)); r.result(t, "status.state") != canceled {
		t.Errorf("stopping: %s", r.body)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("stopping took %v", d)
	}
}
