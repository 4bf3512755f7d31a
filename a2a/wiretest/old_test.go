package wiretest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2a/wire"
)

func decodeOld(t *testing.T, op wire.Op, result string) a2a.Event {
	t.Helper()
	v, err := wire.DecodeReply(wire.OLD, op, []byte(`{"jsonrpc":"2.0","id":1,"result":`+result+`}`))
	if err != nil {
		t.Fatalf("%s: %v", result, err)
	}
	e, _ := v.(a2a.Event)
	return e
}

// TestOldReplies reads what agents of v0.1 and the drafts say in the ways they do.
func TestOldReplies(t *testing.T) {
	t.Parallel()
	working := a2a.TaskStatus{State: a2a.TaskStateWorking}
	text := func(s string) []a2a.Part { return []a2a.Part{a2a.TextPart(s)} }
	for _, tt := range []struct {
		name, result string
		want         a2a.Event
	}{
		{"artifacts that share an index", `{"id":"t","status":{"state":"working"},"artifacts":[{"index":0,"parts":[{"type":"text","text":"a"}]},{"index":1,"parts":[]},{"index":0,"parts":[]},{"parts":[]},{"index":-5,"parts":[]}]}`, &a2a.Task{
			ID: "t", Status: working, Artifacts: []a2a.Artifact{
				{ID: "artifact-0", Parts: text("a")}, {ID: "artifact-1"}, {ID: "artifact-0.2"}, {ID: "artifact-0.3"}, {ID: "artifact-0.4"},
			},
		}},
		{"nulls", `{"id":"t","sessionId":null,"status":{"state":"working","message":null,"timestamp":null},"artifacts":null,"history":null,"metadata":null}`, &a2a.StatusUpdate{TaskID: "t", Status: working}},
		{"a task in a stream", `{"id":"t","sessionId":"s","status":{"state":"working"}}`, &a2a.Task{ID: "t", ContextID: "s", Status: working}},
		{"a piece", `{"id":"t","artifact":{"index":2,"append":true,"lastChunk":true,"parts":[{"text":"x"}]}}`, &a2a.ArtifactUpdate{
			TaskID: "t", Artifact: a2a.Artifact{ID: "artifact-2", Parts: text("x")}, Append: true, LastChunk: true,
		}},
		{"an artifact that ends it", `{"id":"t","artifact":{"name":"n","parts":[]},"final":true}`, &a2a.ArtifactUpdate{TaskID: "t", Artifact: a2a.Artifact{ID: "artifact-0", Name: "n"}}},
		{"unknown", `{"id":"t","status":{"state":"unknown","timestamp":"2026-01-02T03:04:05.678901"},"final":false}`, &a2a.StatusUpdate{TaskID: "t", Status: a2a.TaskStatus{Timestamp: at}}},
		{"a state that v0.1 does not have", `{"id":"t","status":{"state":"input-required"},"final":true,"metadata":{"urn:parley:state":"auth-required","a":1}}`, &a2a.StatusUpdate{
			TaskID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateAuthRequired}, Metadata: a2a.Metadata(`{"a":1}`),
		}},
		{"a mark that contradicts", `{"id":"t","status":{"state":"completed"},"final":true,"metadata":{"urn:parley:state":"rejected"}}`, &a2a.StatusUpdate{
			TaskID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Metadata: a2a.Metadata(`{"urn:parley:state":"rejected"}`),
		}},
		{"no event", `{"taskId":"t","reason":"task completed"}`, nil},
	} {
		if diff := cmp.Diff(tt.want, decodeOld(t, wire.OpStream, tt.result), same); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	if _, err := wire.DecodeReply(wire.OLD, wire.OpGet, []byte(`{"result":{"taskId":"t","reason":"task completed"}}`)); a2a.KindOf(err) != a2a.KindInvalidAgentResponse {
		t.Errorf("no task: %v", err)
	}
}

// TestOldMessageIDs: what v0.1 does not name has the same id whenever it is read, alone or in a history of any length.
func TestOldMessageIDs(t *testing.T) {
	t.Parallel()
	const (
		yes  = `{"role":"user","parts":[{"type":"text","text":"yes"}]}`
		city = `{"role":"agent","parts":[{"type":"text","text":"Which city?"}],"metadata":null}`
	)
	read := func(task, history string) *a2a.Task {
		return decodeOld(t, wire.OpGet, `{"id":"`+task+`","sessionId":"s","status":{"state":"input-required","message":`+city+`},"history":[`+history+`]}`).(*a2a.Task)
	}
	whole := read("t", yes+","+yes+","+city)
	if diff := cmp.Diff(whole, read("t", yes+","+yes+","+city)); diff != "" {
		t.Errorf("read again:\n%s", diff)
	}
	ids := map[string]bool{}
	for _, m := range whole.History {
		if ids[m.ID] = true; m.TaskID != "t" || m.ContextID != "s" || len(m.ID) != 36 || m.ID[14] != '8' {
			t.Errorf("%+v", m)
		}
	}
	if len(ids) != 3 {
		t.Errorf("%d ids of 3 messages", len(ids))
	}
	if a, b := whole.History[2].ID, whole.Status.Message.ID; a != b {
		t.Errorf("one message is %s in the history and %s in the status", a, b)
	}
	event := decodeOld(t, wire.OpStream, `{"id":"t","status":{"state":"input-required","message":`+city+`},"final":true}`).(*a2a.StatusUpdate)
	if event.Status.Message.ID != whole.Status.Message.ID {
		t.Errorf("one message is %s in a stream and %s in the task", event.Status.Message.ID, whole.Status.Message.ID)
	}
	if last := read("t", city); last.History[0].ID != whole.History[2].ID {
		t.Errorf("a shorter history names its message %s, not %s", last.History[0].ID, whole.History[2].ID)
	}
	if other := read("u", yes); other.History[0].ID == whole.History[0].ID {
		t.Error("messages of two tasks have the same id")
	}
}

// TestOldErrors: codes that later versions gave other meanings.
func TestOldErrors(t *testing.T) {
	t.Parallel()
	for code, kinds := range map[string][2]a2a.ErrorKind{
		"-32006": {a2a.KindUnsupportedOperation, a2a.KindInvalidAgentResponse}, "-32007": {a2a.KindUnauthenticated, a2a.KindExtendedCardNotSet},
		"-32008": {a2a.KindForbidden, a2a.KindExtensionRequired}, "-32009": {a2a.KindTaskTerminal, a2a.KindVersionNotSupported},
		"-32010": {a2a.KindRateLimited, a2a.KindInternal}, "-32011": {a2a.KindUnavailable, a2a.KindInternal}, "-32001": {a2a.KindTaskNotFound, a2a.KindTaskNotFound},
	} {
		for i, d := range []wire.Dialect{wire.OLD, wire.MID} {
			_, err := wire.DecodeReply(d, wire.OpGet, []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":`+code+`,"message":"no","data":null}}`))
			var e *a2a.Error
			if !errors.As(err, &e) || e.Kind != kinds[i] {
				t.Errorf("%s %s: %s", d, code, a2a.KindOf(err))
			}
		}
	}
}

// TestOldCalls: the methods that OLD and MID share are turned to OLD, and the client sees its own name of the task.
func TestOldCalls(t *testing.T) {
	t.Parallel()
	call := func(body string) *wire.Call {
		t.Helper()
		c, err := wire.DecodeCall([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return c
	}
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/resubscribe"} {
		c := call(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"id":"mine"}}`)
		if !c.Shared() || c.Dialect != wire.MID {
			t.Fatalf("%s is %s", method, c.Dialect)
		}
		c.AsOLD("ours")
		if c.Shared() || c.Dialect != wire.OLD || c.TaskID() != "ours" {
			t.Errorf("%s: %s %q", method, c.Dialect, c.TaskID())
		}
		if c.Get != nil && (c.Get.HistoryLength == nil || *c.Get.HistoryLength != 0) {
			t.Errorf("%s asks for a history of %v", method, c.Get.HistoryLength)
		}
		if b := string(wire.AppendResult(nil, c, &a2a.Task{ID: "ours"})); !strings.Contains(b, `"id":"mine"`) || strings.Contains(b, "ours") {
			t.Errorf("%s: %s", method, b)
		}
	}
	send := call(`{"jsonrpc":"2.0","id":1,"method":"tasks/sendSubscribe","params":{"id":"mine","sessionId":"s","acceptedOutputModes":["text","data","file","image/png"],"historyLength":-1,"message":{"parts":[{"text":"hi"}]},"pushNotification":{"url":"u","authentication":{"schemes":["Bearer"],"credentials":{"in":"header"}}}}}`)
	want := &a2a.SendRequest{
		NewTask: true, Message: a2a.Message{TaskID: "mine", ContextID: "s", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}, ID: send.Send.Message.ID},
		Configuration: a2a.SendConfiguration{
			AcceptedOutputModes: []string{"text/plain", "application/json", "*/*", "image/png"}, HistoryLength: new(int),
			Push: &a2a.PushConfig{URL: "u", Authentication: &a2a.PushAuthentication{Scheme: "Bearer", Credentials: `{"in":"header"}`}},
		},
	}
	if diff := cmp.Diff(want, send.Send, same); diff != "" || send.Send.Message.ID == "" {
		t.Errorf("id %q:\n%s", send.Send.Message.ID, diff)
	}
	clear := call(`{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotification/set","params":{"pushNotificationConfig":null,"id":"mine"}}`)
	if clear.AsOLD("ours"); clear.Op != wire.OpPushDelete || clear.Push != nil || *clear.PushDelete != (a2a.PushDeleteRequest{TaskID: "ours", ID: "ours"}) {
		t.Errorf("cleared: %d %+v", clear.Op, clear.PushDelete)
	}
	if b := string(wire.AppendResult(nil, clear, nil)); b != `{"jsonrpc":"2.0","id":1,"result":{"id":"mine","pushNotificationConfig":null}}` {
		t.Errorf("cleared: %s", b)
	}
	for body, field := range map[string]string{
		`"tasks/send","params":{"message":{"parts":[{"text":"hi"}]}}`:            "id",
		`"tasks/send","params":{"id":"t","message":{"parts":[]}}`:                "message.parts",
		`"tasks/pushNotification/set","params":{"id":"t"}`:                       "url",
		`"tasks/pushNotification/set","params":{"pushNotificationConfig":null}`:  "id",
		`"tasks/pushNotification/get","params":{}`:                               "id",
		`"tasks/send","params":{"id":5,"message":{"parts":[{"text":"hi"}]}}`:     "id",
		`"tasks/send","params":{"id":"t","message":{"parts":[{"type":"text"}]}}`: "message.parts[0]",
	} {
		_, err := wire.DecodeCall([]byte(`{"jsonrpc":"2.0","id":1,"method":` + body + `}`))
		var e *a2a.Error
		if !errors.As(err, &e) || e.Kind != a2a.KindInvalidParams || e.Field != field {
			t.Errorf("%s: %v at %q", body, err, e.Field)
		}
	}
	if _, err := wire.AppendCall(nil, wire.OLD, wire.OpSend, "1", &a2a.SendRequest{Message: a2a.Message{Parts: []a2a.Part{a2a.TextPart("hi")}}}); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("a message without a task: %v", err)
	}
}

// TestOldStream: the numbers of artifacts are those of the task, whoever sees it from where, and frames have names only for
// those who need them.
func TestOldStream(t *testing.T) {
	t.Parallel()
	piece := func(id string) *a2a.ArtifactUpdate {
		return &a2a.ArtifactUpdate{TaskID: "ours", Artifact: a2a.Artifact{ID: id, Parts: []a2a.Part{a2a.TextPart("x")}}}
	}
	frame := func(c *wire.Call, e a2a.Event) string {
		t.Helper()
		b, err := wire.AppendFrame(nil, c, a2a.NewEntry(5, at, a2a.MarshalEvent(e), e))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := &a2a.Task{ID: "ours", Artifacts: []a2a.Artifact{{ID: "a"}, {ID: "b"}}}
	fresh := &wire.Call{ID: []byte("1"), Dialect: wire.OLD, Op: wire.OpStream, Index: wire.NewIndex("mine")}
	for i, id := range []string{"a", "b", "a", "c"} {
		if got, want := frame(fresh, piece(id)), []string{`"index":0`, `"index":1`, `"index":0`, `"index":2`}[i]; !strings.Contains(got, want) || !strings.Contains(got, `"id":"mine"`) {
			t.Errorf("%s: %s", id, got)
		}
	}
	later := &wire.Call{ID: []byte("1"), Dialect: wire.OLD, Op: wire.OpSubscribe, Index: wire.NewIndex("mine"), Named: true}
	later.Index.Seen(before)
	got := frame(later, piece("c"))
	if !strings.Contains(got, `"index":2`) || !strings.HasPrefix(got, "event: task_artifact_update\ndata: {") {
		t.Errorf("after a restart: %s", got)
	}
	follower := wire.NewIndex("")
	for _, e := range []a2a.Event{before, piece("b"), &a2a.StatusUpdate{}, piece("c")} {
		follower.SeenEvent(e)
	}
	pushed := wire.AppendPush(nil, wire.OLD, &wire.PushPayload{Task: &a2a.Task{ID: "ours", Artifacts: []a2a.Artifact{{ID: "c"}}}, Index: follower})
	if !strings.Contains(string(pushed), `"index":2`) {
		t.Errorf("by its events: %s", pushed)
	}
	got = frame(later, &a2a.Task{ID: "ours", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Artifacts: before.Artifacts})
	if n := strings.Count(got, "event: task_artifact_update\n"); n != 2 || strings.Count(got, "\n\n") != 3 || !strings.Contains(got[strings.LastIndex(got, "event: "):], `"final":true`) {
		t.Errorf("a whole task: %s", got)
	}
}

func TestFinal(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"working"},"final":true}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{"id":"t","artifact":{"parts":[]},"final":true}}`:      true,
		`{"result":{"kind":"status-update","final":false}}`:                                      false,
		`{"statusUpdate":{"final":true}}`:                                                        true,
		`{"status_update":{"final":true}}`:                                                       true,
		`{"result":{"metadata":{"final":true},"status":{"final":true}}}`:                         false,
		`{"result":{"statusUpdate":{"metadata":{"final":true}}}}`:                                false,
		`{"final":"true"}`:    false,
		`{"result":[true]}`:   false,
		`{"final":true`:       false,
		``:                    false,
		`{"result":{"a":1}} `: false,
	} {
		if got := wire.Final([]byte(frame)); got != want {
			t.Errorf("%s: %t", frame, got)
		}
	}
}
