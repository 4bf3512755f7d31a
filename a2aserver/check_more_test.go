package a2aserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

// echoing answers with the parts of the message as an artifact.
func echoing(_ context.Context, t *a2aserver.Turn, yield func(a2a.Event) bool) error {
	yield(&a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "back", Parts: t.Message.Parts}, LastChunk: true})
	return nil
}

func TestCheck11And12PartsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.DefaultInputModes, card.DefaultOutputModes = []string{"*/*"}, []string{"*/*"}
	s := serve(t, config{exec: execFunc(echoing), card: &card})
	files := []string{"hi", "\x00\xff\x80 bytes", "aGVsbG8gd29ybGQhISEh", strings.Repeat("AAAA", 8)} // two look like base64 themselves
	for _, file := range files {
		once := base64.StdEncoding.EncodeToString([]byte(file))
		twice := base64.StdEncoding.EncodeToString([]byte(once))
		for _, c := range []struct {
			name, method, path, body, got, want string
			headers                             []string
		}{
			{"NEW", "SendMessage", "", `{"message":{"messageId":"%d","role":"ROLE_USER","parts":[{"raw":"` + once + `","filename":"f.bin","mediaType":"application/octet-stream"}]}}`, "task.artifacts.0.parts.0.raw", once, nil},
			{"MID", "message/send", "", `{"message":{"kind":"message","messageId":"%d","role":"user","parts":[{"kind":"file","file":{"bytes":"` + once + `","name":"f.bin","mimeType":"application/octet-stream"}}]}}`, "artifacts.0.parts.0.file.bytes", once, nil},
			{"OLD", "tasks/send", "", `{"id":"t%d","message":{"role":"user","parts":[{"type":"file","file":{"bytes":"` + once + `","name":"f.bin","mimeType":"application/octet-stream"}}]}}`, "artifacts.0.parts.0.file.bytes", once, nil},
			{"NEW REST", "", "/message:send", `{"message":{"messageId":"%d","role":"ROLE_USER","parts":[{"raw":"` + once + `","filename":"f.bin"}]}}`, "task.artifacts.0.parts.0.raw", once, nil},
			{"PROTO", "", "/v1/message:send", `{"message":{"messageId":"%d","role":"ROLE_USER","content":[{"file":{"fileWithBytes":"` + twice + `","mimeType":"application/octet-stream"}}]}}`, "task.artifacts.0.parts.0.file.fileWithBytes", twice, nil},
			{"PROTO of JavaScript", "", "/v1/message:send", `{"message":{"messageId":"%d","role":"ROLE_USER","content":[{"file":{"fileWithBytes":"` + twice + `","mimeType":"application/octet-stream"}}]}}`, "task.artifacts.0.parts.0.file.fileWithBytes", once, []string{"User-Agent", "node"}},
		} {
			body := fmt.Sprintf(c.body, time.Now().UnixNano())
			var r *reply
			if c.path != "" {
				r = s.rest("POST", c.path, body, c.headers...)
			} else {
				r = s.call(c.method, body)
			}
			if got := r.get(c.got); got != c.want && got != "" || got == "" {
				t.Errorf("%s of %q: %q, want %q in %s", c.name, file, got, c.want, r.Body)
			}
		}
	}
	for _, data := range []string{`{"k":1}`, `[1,2]`, `"s"`, `7`, `9007199254740993`, `null`, `true`} {
		r := s.call("SendMessage", strings.Replace(say("x"), `{"text":"x"}`, `{"data":`+data+`}`, 1))
		if want := `"parts":[{"data":` + data + `}]`; !strings.Contains(string(r.Body), want) {
			t.Errorf("NEW: %s is not in %s", want, r.Body)
		}
		id := r.get("task.id")
		wrapped := data
		if data[0] != '{' {
			wrapped = `{"value":` + data + `}`
		}
		if mid := s.call("tasks/get", `{"id":"`+id+`"}`); !strings.Contains(string(mid.Body), `"data":`+wrapped) {
			t.Errorf("MID: %s is not in %s", wrapped, mid.Body)
		}
		m := s.call("message/send", `{"message":{"kind":"message","messageId":"m`+id+`","role":"user","parts":[{"kind":"data","data":`+wrapped+`,"metadata":{"data_part_compat":true}}]}}`)
		if m.Code != 0 {
			t.Fatalf("MID: %s", m.Body)
		}
		if back := s.call("GetTask", `{"id":"`+m.get("id")+`"}`); data[0] != '{' && !strings.Contains(string(back.Body), `"data":`+data) {
			t.Errorf("MID to NEW: %s is not in %s", data, back.Body)
		}
	}
}

func TestCheck21PushConfigurations(t *testing.T) {
	t.Parallel()
	s := serve(t, config{push: true, handler: as()})
	who := []string{"X-Who", "ann"}
	task := s.call("SendMessage", say("ask"), who...).get("task.id")
	secret := `"url":"https://c.example/","token":"tok","authentication":`

	// NEW: flat, with an id of ours; several at once.
	r := s.call("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`",`+secret+`{"scheme":"Bearer","credentials":"s3cret"}}`, who...)
	first := r.get("id")
	if first == "" || r.get("taskId") != task || r.get("token") != "tok" || r.get("authentication.scheme") != "Bearer" {
		t.Errorf("NEW: %s", r.Body)
	}
	s.call("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"mine",`+secret+`{"scheme":"Basic"}}`, who...)
	want(t, "get", s.call("GetTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"mine"}`, who...).get("authentication.scheme"), "Basic")
	want(t, "unknown", s.call("GetTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"no"}`, who...).Code, -32001)
	list := s.call("ListTaskPushNotificationConfigs", `{"taskId":"`+task+`"}`, who...)
	want(t, "list", list.get("configs.1.id"), "mine")
	if strings.Contains(string(list.Body)+string(r.Body), "s3cret") {
		t.Error("credentials are shown")
	}
	for range 2 { // twice is no error
		want(t, "delete", string(s.call("DeleteTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"mine"}`, who...).Body), `{"jsonrpc":"2.0","id":7,"result":{}}`)
	}
	want(t, "after the delete", s.call("ListTaskPushNotificationConfigs", `{"taskId":"`+task+`"}`, who...).get("configs.1.id"), "")
	want(t, "dialect", s.pushes.kept[0].Dialect, wire.NEW)
	if s.pushes.kept[0].After == 0 {
		t.Error("what its creator has seen already would be delivered")
	}
	want(t, "a bad address", s.call("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","url":"ftp://x"}`, who...).Code, -32602)
	want(t, "somebody else's", s.call("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","url":"https://c.example/"}`, "X-Who", "eve").Code, -32001)

	// MID: in a holder; without an id it is the task's.
	r = s.call("tasks/pushNotificationConfig/set", `{"taskId":"`+task+`","pushNotificationConfig":{`+secret+`{"schemes":["Bearer"],"credentials":"s3cret"}}}`, who...)
	if r.get("taskId") != task || r.get("pushNotificationConfig.id") != task || strings.Contains(string(r.Body), "s3cret") {
		t.Errorf("MID: %s", r.Body)
	}
	s.call("tasks/pushNotificationConfig/set", `{"taskId":"`+task+`","pushNotificationConfig":{"url":"https://d.example/"}}`, who...)
	want(t, "MID, set again", s.call("tasks/pushNotificationConfig/get", `{"id":"`+task+`"}`, who...).get("pushNotificationConfig.url"), "https://d.example/")
	want(t, "MID, unknown", s.call("tasks/pushNotificationConfig/get", `{"id":"`+task+`","pushNotificationConfigId":"no"}`, who...).Code, -32001)
	res := s.post(`{"jsonrpc":"2.0","id":7,"method":"tasks/pushNotificationConfig/list","params":{"id":"`+task+`"}}`, who...)
	b, _ := io.ReadAll(res.Body)
	res.Body.Close()
	var bare struct {
		Result []struct{ TaskID string }
	}
	if err := json.Unmarshal(b, &bare); err != nil || len(bare.Result) != 2 || bare.Result[0].TaskID != task {
		t.Errorf("MID list: %v %s", err, b)
	}
	want(t, "MID delete", string(s.call("tasks/pushNotificationConfig/delete", `{"id":"`+task+`","pushNotificationConfigId":"`+task+`"}`, who...).Body), `{"jsonrpc":"2.0","id":7,"result":null}`)

	// OLD: one a task, which goes by the client's name.
	s.call("tasks/send", `{"id":"mine","message":{"role":"user","parts":[{"type":"text","text":"ask"}]}}`, who...)
	r = s.call("tasks/pushNotification/set", `{"id":"mine","pushNotificationConfig":{`+secret+`{"schemes":["bearer"]}}}`, who...)
	if r.get("id") != "mine" || r.get("pushNotificationConfig.url") != "https://c.example/" {
		t.Errorf("OLD: %s", r.Body)
	}
	kept := s.pushes.kept[len(s.pushes.kept)-1]
	if kept.ClientTaskID != "mine" || kept.Dialect != wire.OLD || kept.Config.TaskID == "mine" {
		t.Errorf("OLD is kept as %+v", kept)
	}
	want(t, "OLD get", s.call("tasks/pushNotification/get", `{"id":"mine"}`, who...).get("pushNotificationConfig.token"), "tok")
	want(t, "OLD, somebody else's", s.call("tasks/pushNotification/get", `{"id":"mine"}`, "X-Who", "eve").Code, -32001)
	want(t, "OLD, cleared", s.call("tasks/pushNotification/set", `{"id":"mine","pushNotificationConfig":null}`, who...).Code, 0)
	want(t, "OLD, after it", s.call("tasks/pushNotification/get", `{"id":"mine"}`, who...).Code, -32001)

	// With a message: known before work begins, once however often the message comes.
	n := len(s.pushes.kept)
	msg := say("do it", `|"configuration":{"taskPushNotificationConfig":{"url":"https://e.example/"}}`)
	done := s.call("SendMessage", msg, who...).get("task.id")
	want(t, "again", s.call("SendMessage", msg, who...).get("task.id"), done)
	kept = s.pushes.kept[len(s.pushes.kept)-1]
	if len(s.pushes.kept) != n+1 || kept.Config.TaskID != done || kept.After != 0 || kept.Config.ID == "" {
		t.Errorf("%d configurations, the last is %+v", len(s.pushes.kept)-n, kept)
	}
	before := s.call("ListTasks", `{}`, who...).get("totalSize")
	want(t, "a bad one", s.call("SendMessage", say("do it", `|"configuration":{"taskPushNotificationConfig":{"url":"x"}}`), who...).Code, -32602)
	want(t, "began nothing", s.call("ListTasks", `{}`, who...).get("totalSize"), before)
	reply := say("blue", fmt.Sprintf(`"taskId":%q|`, task))
	reply = strings.Replace(reply, `|`, ``, 1)
	reply = strings.TrimSuffix(reply, "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"https://f.example/"}}}`
	want(t, "with a reply", s.call("SendMessage", reply, who...).get("task.status.state"), "TASK_STATE_COMPLETED")
	if kept = s.pushes.kept[len(s.pushes.kept)-1]; kept.Config.TaskID != task || kept.After == 0 {
		t.Errorf("of a reply: %+v", kept)
	}
}

func TestCheck21PushIsOff(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	inline := map[string]string{
		"OLD": `"pushNotification":{"url":"https://c.example/"}`, "MID": `"pushNotificationConfig":{"url":"https://c.example/"}`,
		"NEW": `"taskPushNotificationConfig":{"url":"https://c.example/"}`, "NEW REST": `"taskPushNotificationConfig":{"url":"https://c.example/"}`,
		"PROTO REST": `"pushNotification":{"url":"https://c.example/"}`,
	}
	for _, d := range dialects(s) {
		r := d.say("do it", "", "", inline[d.name])
		if r.Code != -32003 && r.Reason != "PUSH_NOTIFICATION_NOT_SUPPORTED" {
			t.Errorf("%s: %s", d.name, r.Raw)
		}
	}
	for method, params := range map[string]string{"tasks/pushNotification/set": `{"id":"x","pushNotificationConfig":{"url":"https://c.example/"}}`, "tasks/pushNotification/get": `{"id":"x"}`} {
		want(t, method, s.call(method, params).Code, -32003)
	}
	want(t, "nothing was begun", s.call("ListTasks", `{}`).get("totalSize"), "0")
}

func TestCheck22Versions(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, c := range []struct {
		version string
		ok      bool
	}{{"", true}, {"1", true}, {"1.0", true}, {"1.0.1", true}, {"1.7", false}, {"0.3", false}, {"2.0", false}, {"x", false}} {
		reason := ""
		if !c.ok {
			reason = "VERSION_NOT_SUPPORTED"
		}
		r := s.call("ListTasks", `{}`, "A2A-Version", c.version)
		want(t, "header "+c.version, r.Reason, reason)
		if !c.ok {
			want(t, "code", r.Code, -32009)
		}
		r = s.rest("GET", "/tasks", "", "A2A-Version", c.version)
		want(t, "REST "+c.version, r.Reason, reason)
		if c.version != "" {
			want(t, "REST query "+c.version, s.rest("GET", "/tasks?A2A-Version="+c.version, "").Reason, reason)
		}
		// Names of older methods, and their addresses, say enough.
		want(t, "MID "+c.version, (dialect{"MID", s}).say("do it", "", "", "", "A2A-Version", c.version).State, "completed")
		want(t, "OLD "+c.version, (dialect{"OLD", s}).say("do it", "", "", "", "A2A-Version", c.version).State, "completed")
		want(t, "PROTO "+c.version, (dialect{"PROTO REST", s}).say("do it", "", "", "", "A2A-Version", c.version).State, "completed")
	}
}

func TestCheck23Errors(t *testing.T) {
	t.Parallel()
	mapping := wire.Mapping101
	s := serve(t, config{handler: &a2aserver.HandlerOptions{ErrorMapping: func() wire.ErrorMapping { return mapping }}})
	r := s.call("GetTask", `{"id":"x"}`)
	if !regexp.MustCompile(`"data":\[\{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"`).Match(r.Body) {
		t.Errorf("JSON-RPC: %s", r.Body)
	}
	done := s.rest("POST", "/message:send", say("do it")).get("task.id")
	for _, c := range []struct {
		method, path, body string
		reason             string
		status101          int
		status100          int
	}{
		{"GET", "/tasks/x", "", "TASK_NOT_FOUND", 404, 404},
		{"POST", "/tasks/" + done + ":cancel", "", "TASK_NOT_CANCELABLE", 400, 409},
		{"GET", "/tasks/" + done + ":subscribe", "", "UNSUPPORTED_OPERATION", 400, 400},
		{"POST", "/message:send", strings.Replace(say("x"), `{"text":"x"}`, `{"raw":"aGk=","mediaType":"audio/ogg"}`, 1), "CONTENT_TYPE_NOT_SUPPORTED", 400, 415},
		{"GET", "/tasks/x/pushNotificationConfigs", "", "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, 400},
		{"GET", "/extendedAgentCard", "", "UNSUPPORTED_OPERATION", 400, 400},
		{"POST", "/message:send", `{"message":{}}`, "INVALID_PARAMS", 400, 400},
	} {
		for _, m := range []wire.ErrorMapping{wire.Mapping101, wire.Mapping100} {
			mapping = m
			status := c.status101
			if m == wire.Mapping100 {
				status = c.status100
			}
			r := s.rest(c.method, c.path, c.body)
			if r.Status != status || r.Reason != c.reason || r.get("error.code") != fmt.Sprint(status) || r.get("error.status") == "" ||
				r.Text == "" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s in %d: %d %s, want %d %s", c.method, c.path, m, r.Status, r.Body, status, c.reason)
			}
		}
	}
	mapping = wire.Mapping101
	bad := s.rest("GET", "/tasks?pageSize=1000", "")
	want(t, "the member at fault", dig(bad.Result, "error.details.1.fieldViolations.0.field"), "pageSize")
	if r := s.rest("GET", "/v1/tasks/x", ""); r.Code != -32001 || r.Text == "" || r.Reason != "TASK_NOT_FOUND" {
		t.Errorf("v0.3: %s", r.Body)
	}
	// An error within a stream is its last frame.
	broken := serve(t, config{front: func(a2aserver.Tasks) a2aserver.Tasks { return brokenTasks{} }})
	want(t, "which task", dig(broken.rest("GET", "/tasks/x", "").Result, "error.details.0.metadata.taskId"), "x")
	for _, d := range dialects(broken) {
		frames := d.stream("send", "x", "")
		want(t, d.name, frames[len(frames)-1], "error")
		if strings.Contains(d.name, "REST") {
			data, _, _ := broken.restStream("POST", map[bool]string{true: "", false: "/v1"}[d.name == "NEW REST"]+"/message:stream", d.params("x", "", "", ""))
			if strings.Contains(data[len(data)-1], "jsonrpc") || strings.Contains(data[len(data)-1], "secret") {
				t.Errorf("%s: %s", d.name, data[len(data)-1])
			}
		}
	}
}

// brokenTasks has a task that breaks after its first event.
type brokenTasks struct{ a2aserver.Tasks }

func (brokenTasks) Start(_ context.Context, _ string, r *a2a.SendRequest) (a2aserver.Started, error) {
	return a2aserver.Started{TaskID: "t"}, nil
}

func (brokenTasks) Task(context.Context, string, *a2a.GetRequest) (*a2a.Task, error) {
	return nil, a2a.ErrTaskNotFound
}

func (brokenTasks) Events(context.Context, string, string, int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		task := &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
		if yield([]*a2a.Entry{a2a.NewEntry(1, time.Now(), a2a.MarshalEvent(task), task)}, nil) {
			yield(nil, errors.New("secret reason"))
		}
	}
}

func TestCheck25JSONRPC(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	ok := `"method":"tasks/send","params":{"id":"t%s","message":{"role":"user","parts":[{"type":"text","text":"do it"}]}}`
	for _, id := range []string{`1`, `"a"`, `null`, `1.5`, `1e3`, `1152921504606846976`, `""`, `-0`} {
		r := s.raw(`{"jsonrpc":"2.0","id":` + id + `,` + fmt.Sprintf(ok, strings.Trim(id, `"`)) + `}`)
		if !strings.HasPrefix(string(r.Body), `{"jsonrpc":"2.0","id":`+id+`,"result"`) {
			t.Errorf("id %s: %s", id, r.Body)
		}
	}
	for body, code := range map[string]int{
		`{"jsonrpc":"2.0",` + fmt.Sprintf(ok, "n") + `}`:                                                                                              -32600, // a notification
		`{"jsonrpc":"2.0","id":{},` + fmt.Sprintf(ok, "n") + `}`:                                                                                      -32600,
		`{"jsonrpc":"2.0","id":true,` + fmt.Sprintf(ok, "n") + `}`:                                                                                    -32600,
		`{"id":1,` + fmt.Sprintf(ok, "n") + `}`:                                                                                                       -32600,
		`{"jsonrpc":2.0,"id":1,` + fmt.Sprintf(ok, "n") + `}`:                                                                                         -32600,
		`[{"jsonrpc":"2.0","id":1,` + fmt.Sprintf(ok, "n") + `}]`:                                                                                     -32600,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/nothing"}`:                                                                                           -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`:                                                                                              -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":[]}`:                                                                                  -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"message":{"role":"user","parts":[{"type":"text","text":"x"}]}}}`:                    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t","message":{"role":"user","parts":[]}}}`:                                     -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t","message":{"role":"user","parts":[{"type":"file","file":{"bytes":"%"}}]}}}`: -32602,
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","file":{}}]}}}`:   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{}}`:                                                                                   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":"x"}`:                                                                                  -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/send",}`:                                                                                             -32700,
	} {
		r := s.raw(body)
		if r.Code != code || r.Status != 200 {
			t.Errorf("%s: %d %s, want %d", body, r.Status, r.Body, code)
		}
		if code == -32700 && !strings.Contains(string(r.Body), `"id":null`) {
			t.Errorf("%s: %s", body, r.Body)
		}
	}
	res := s.send("GET", "/", "")
	res.Body.Close()
	want(t, "GET", res.StatusCode, 405)
	want(t, "Allow", res.Header.Get("Allow"), "POST")
}

func TestCheck26Cards(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.SecuritySchemes = map[string]a2a.SecurityScheme{"b": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"}}
	card.SecurityRequirements = []a2a.SecurityRequirement{{"b": nil}}
	s := serve(t, config{card: &card})
	get := func(path string, headers ...string) *reply {
		return s.rest("GET", "/.well-known/"+path, "", append([]string{"User-Agent", "reader"}, headers...)...)
	}
	has := func(r *reply, v10, v03, v01 bool) {
		t.Helper()
		if (r.Result["supportedInterfaces"] != nil) != v10 || (r.Result["protocolVersion"] != nil) != v03 || (r.Result["authentication"] != nil) != v01 {
			t.Errorf("not the card wanted: %s", r.Body)
		}
		if v03 && (r.get("preferredTransport") == "" || r.get("protocolVersion") != "0.3.0" || r.get("url") == "") {
			t.Errorf("v0.3 is not whole: %s", r.Body)
		}
		if v10 && r.get("supportedInterfaces.0.protocolVersion") != "1.0" {
			t.Errorf("v1.0 does not come first: %s", r.Body)
		}
		for _, name := range []string{"A2A-Version", "User-Agent"} {
			if !strings.Contains(r.Header.Get("Vary"), name) {
				t.Errorf("Vary is %q", r.Header.Get("Vary"))
			}
		}
	}
	both := get("agent-card.json")
	has(both, true, true, false)
	for _, v := range []string{"1.0", "1", "1.0.1"} {
		has(get("agent-card.json", "A2A-Version", v), true, false, false)
	}
	for _, v := range []string{"0.3", "0.3.0", "0.2"} {
		has(get("agent-card.json", "A2A-Version", v), false, true, false)
	}
	has(get("agent-card.json", "A2A-Version", "9.9"), true, true, false)
	old := get("agent.json")
	has(old, false, true, true)
	want(t, "authentication", old.get("authentication.schemes.0"), "Bearer")
	has(get("agent.json", "A2A-Version", "1.0"), false, true, true)

	tag := both.Header.Get("ETag")
	for _, match := range []string{tag, `"other", ` + tag, "W/" + tag, `W/"x",W/` + tag, "*"} {
		if r := get("agent-card.json", "If-None-Match", match); r.Status != 304 || len(r.Body) != 0 || r.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d %s", match, r.Status, r.Body)
		}
	}
	for _, match := range []string{`"other"`, old.Header.Get("ETag"), "W/" + strings.Trim(tag, `"`)} {
		want(t, "If-None-Match "+match, get("agent-card.json", "If-None-Match", match).Status, 200)
	}
	want(t, "Cache-Control", both.Header.Get("Cache-Control"), "public, max-age=60")
	head := s.rest("HEAD", "/.well-known/agent-card.json", "")
	want(t, "HEAD", fmt.Sprint(head.Status, len(head.Body)), "200 0")
}

func TestCheck27ExtendedCard(t *testing.T) {
	t.Parallel()
	offered := *testCard
	offered.Capabilities.ExtendedAgentCard = true
	more := offered
	more.Name = "more"
	auth := func(r *http.Request) (string, error) {
		who, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return "", a2a.ErrUnauthenticated
		}
		return who, nil
	}
	extended := func(_ context.Context, principal string) *a2a.AgentCard {
		if principal == "ann" {
			return &more
		}
		return nil
	}
	ways := map[string]func(s *server, headers ...string) *reply{
		"NEW": func(s *server, h ...string) *reply { return s.call("GetExtendedAgentCard", "{}", h...) },
		"NEW bare": func(s *server, h ...string) *reply {
			return s.raw(`{"jsonrpc":"2.0","id":7,"method":"GetExtendedAgentCard"}`, h...)
		},
		"NEW REST": func(s *server, h ...string) *reply { return s.rest("GET", "/extendedAgentCard", "", h...) },
		"MID":      func(s *server, h ...string) *reply { return s.call("agent/getAuthenticatedExtendedCard", "{}", h...) },
		"MID bare": func(s *server, h ...string) *reply {
			return s.raw(`{"jsonrpc":"2.0","id":7,"method":"agent/getAuthenticatedExtendedCard"}`, h...)
		},
		"PROTO": func(s *server, h ...string) *reply { return s.rest("GET", "/v1/card", "", h...) },
		"D2": func(s *server, h ...string) *reply {
			return s.rest("GET", "/agent/authenticatedExtendedCard", "", h...)
		},
	}
	o := &a2aserver.HandlerOptions{Authenticate: auth, ExtendedCard: extended}
	there, off := serve(t, config{card: &offered, handler: o}), serve(t, config{handler: o})
	for name, ask := range ways {
		r := ask(there, "Authorization", "Bearer ann")
		want(t, name, r.get("name"), "more")
		if cc := r.Header.Get("Cache-Control"); !strings.Contains(cc, "private") {
			t.Errorf("%s may be cached: %q", name, cc)
		}
		if pure := r.Result["supportedInterfaces"] != nil; pure != strings.HasPrefix(name, "NEW") || pure == (r.Result["preferredTransport"] != nil) {
			t.Errorf("%s is not of its version alone: %s", name, r.Body)
		}
		if r := ask(there); r.Status != 401 || r.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s, nobody: %d %s", name, r.Status, r.Body)
		}
		none, hidden := ask(there, "Authorization", "Bearer eve"), ask(off, "Authorization", "Bearer ann")
		switch name {
		case "NEW", "NEW bare":
			want(t, name+", none for eve", none.Code, -32007)
			want(t, name+", off", hidden.Code, -32004)
		case "NEW REST":
			want(t, name+", none for eve", none.Reason, "EXTENDED_AGENT_CARD_NOT_CONFIGURED")
			want(t, name+", off", hidden.Reason, "UNSUPPORTED_OPERATION")
		case "MID", "MID bare":
			want(t, name+", none for eve", none.Code, -32007)
			want(t, name+", off", hidden.Code, -32007)
		case "PROTO": // the public one
			want(t, name+", none for eve", none.get("name"), "test")
			want(t, name+", off", hidden.get("name"), "test")
		case "D2":
			want(t, name+", none for eve", none.Status, 404)
			want(t, name+", off", hidden.Status, 404)
		}
	}
}

func TestCheck28List(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: as()})
	who := []string{"X-Who", "ann"}
	var all []string
	for i := range 5 {
		all = append(all, s.call("SendMessage", say(fmt.Sprint("do ", i)), who...).get("task.id"))
	}
	var seen []string
	token := ""
	for range 10 {
		r := s.rest("GET", "/tasks?pageSize=2&pageToken="+token, "", who...)
		for i := range 2 {
			if id := r.get(fmt.Sprintf("tasks.%d.id", i)); id != "" {
				seen = append(seen, id)
			}
		}
		if r.get("pageSize") != "2" || r.Result["nextPageToken"] == nil || r.Result["tasks"] == nil || r.Result["totalSize"] == nil {
			t.Errorf("a page lacks what it must say: %s", r.Body)
		}
		s.call("SendMessage", say("do more"), who...) // meanwhile
		if token = r.get("nextPageToken"); token == "" {
			break
		}
	}
	slices.Sort(seen)
	slices.Sort(all)
	if !slices.Equal(seen, all) {
		t.Errorf("walked over %v, want %v", seen, all)
	}
	for query, status := range map[string]int{
		"": 200, "pageSize=1": 200, "pageSize=100": 200, "page_size=100": 200, "pageSize=0": 400, "pageSize=101": 400, "pageSize=-1": 400, "pageSize=x": 400,
		"pageToken=nonsense": 400, "status=TASK_STATE_COMPLETED": 200, "status=nonsense": 400, "status=3": 200, "status=0": 200, "status=9": 400, "status=03": 400, "historyLength=-1": 400, "historyLength=0": 200,
		"statusTimestampAfter=2026-01-02T03:04:05.678Z": 200, "statusTimestampAfter=yesterday": 400, "includeArtifacts=true": 200,
	} {
		want(t, query, s.rest("GET", "/tasks?"+query, "", who...).Status, status)
	}
	for status, total := range map[string]string{"3": "8", "4": "0", `"TASK_STATE_COMPLETED"`: "8", "0": "8", "9": "", "-1": ""} {
		want(t, "status "+status, s.call("ListTasks", `{"status":`+status+`}`, who...).get("totalSize"), total)
	}
	want(t, "a state by its number", s.rest("GET", "/tasks?status=4", "", who...).get("totalSize"), "0")
	r := s.rest("GET", "/tasks?status=TASK_STATE_FAILED", "", who...)
	want(t, "none", string(r.Body), `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`)
	if r := s.rest("GET", "/tasks", "", who...); strings.Contains(string(r.Body), "artifacts") {
		t.Errorf("artifacts that nobody asked for: %s", r.Body)
	}
	want(t, "others see none", s.rest("GET", "/tasks", "", "X-Who", "eve").get("totalSize"), "0")
}
