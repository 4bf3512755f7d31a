package wiretest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

// The same exchange in every dialect, as the reference of the dialects prints it: whatever it says is read as the same value,
// and the value is written as it says. texts are those of OLD, MID, PROTO and NEW over JSON-RPC and over HTTP+JSON; "" where
// there is none.
type said struct {
	name  string
	op    wire.Op
	value any // what it means in NEW
	texts map[way]string
}

var (
	old       = way{wire.OLD, false}
	mid       = way{wire.MID, false}
	proto     = way{wire.PROTO, true}
	newer     = way{wire.NEW, false}
	rest      = way{wire.NEW, true}
	user      = func(text string) []a2a.Part { return []a2a.Part{a2a.TextPart(text)} }
	completed = a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: at}
)

func rpc(id int, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)
}

var saidRequests = []said{
	{
		"send", wire.OpSend,
		&a2a.SendRequest{
			Message:       a2a.Message{ID: "m-1", Role: a2a.RoleUser, Parts: user("2+2?")},
			Configuration: a2a.SendConfiguration{AcceptedOutputModes: []string{"text/plain"}},
		},
		map[way]string{
			mid:   `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m-1","parts":[{"kind":"text","text":"2+2?"}]},"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true}}}`,
			proto: `{"message":{"messageId":"m-1","role":"ROLE_USER","content":[{"text":"2+2?"}]},"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true}}`,
			newer: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"2+2?"}]},"configuration":{"acceptedOutputModes":["text/plain"]}}}`,
			rest:  `{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"2+2?"}]},"configuration":{"acceptedOutputModes":["text/plain"]}}`,
		},
	},
	{
		"send in v0.1", wire.OpSend,
		&a2a.SendRequest{Message: a2a.Message{TaskID: "t-1", ContextID: "s-1", Role: a2a.RoleUser, Parts: user("2+2?")}, Configuration: a2a.SendConfiguration{HistoryLength: new(int)}},
		map[way]string{
			old: `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t-1","sessionId":"s-1","message":{"role":"user","parts":[{"type":"text","text":"2+2?"}]},"historyLength":0}}`,
		},
	},
	{
		"next turn", wire.OpSend, &a2a.SendRequest{Message: a2a.Message{ID: "m-4", TaskID: "T1", ContextID: "C1", Role: a2a.RoleUser, Parts: user("Oslo")}},
		map[way]string{
			mid:  `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m-4","taskId":"T1","contextId":"C1","parts":[{"kind":"text","text":"Oslo"}]},"configuration":{"acceptedOutputModes":[],"blocking":true}}}`,
			rest: `{"message":{"messageId":"m-4","taskId":"T1","contextId":"C1","role":"ROLE_USER","parts":[{"text":"Oslo"}]}}`,
		},
	},
	{
		"files and data", wire.OpSend,
		&a2a.SendRequest{Message: a2a.Message{ID: "m", TaskID: "t", Role: a2a.RoleUser, Parts: []a2a.Part{
			{Kind: a2a.PartRaw, Raw: []byte("hi"), Filename: "a.txt", MediaType: "text/plain"},
			{Kind: a2a.PartURL, URL: "https://e.example/b.png", MediaType: "image/png"},
			{Kind: a2a.PartData, Data: json.RawMessage(`{"k":1}`)},
			{Kind: a2a.PartData, Data: json.RawMessage(`[1,2]`)},
			{Kind: a2a.PartData, Data: json.RawMessage(`"s"`)},
			{Kind: a2a.PartData, Data: json.RawMessage(`1152921504606846976`)},
			{Kind: a2a.PartData, Data: json.RawMessage(`null`)},
		}}, Configuration: a2a.SendConfiguration{HistoryLength: new(int)}},
		map[way]string{
			old: `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t","historyLength":0,"message":{"role":"user","parts":[{"type":"file","file":{"name":"a.txt","mimeType":"text/plain","bytes":"aGk="}},{"type":"file","file":{"uri":"https://e.example/b.png","mimeType":"image/png"}},{"type":"data","data":{"k":1}},{"type":"data","data":[1,2]},
				{"type":"data","data":{"value":"s"},"metadata":{"data_part_compat":true}},{"type":"data","data":{"value":1152921504606846976},"metadata":{"data_part_compat":true}},{"type":"data","data":{"value":null},"metadata":{"data_part_compat":true}}]}}}`,
			mid: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"configuration":{"acceptedOutputModes":[],"blocking":true,"historyLength":0},"message":{"kind":"message","role":"user","messageId":"m","taskId":"t","parts":[{"kind":"file","file":{"name":"a.txt","mimeType":"text/plain","bytes":"aGk="}},{"kind":"file","file":{"uri":"https://e.example/b.png","mimeType":"image/png"}},{"kind":"data","data":{"k":1}},{"kind":"data","data":{"value":[1,2]},"metadata":{"data_part_compat":true}},
				{"kind":"data","data":{"value":"s"},"metadata":{"data_part_compat":true}},{"kind":"data","data":{"value":1152921504606846976},"metadata":{"data_part_compat":true}},{"kind":"data","data":{"value":null},"metadata":{"data_part_compat":true}}]}}}`,
			proto: `{"configuration":{"acceptedOutputModes":[],"blocking":true},"message":{"messageId":"m","taskId":"t","role":"ROLE_USER","content":[{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain","name":"a.txt"}},{"file":{"fileWithUri":"https://e.example/b.png","mimeType":"image/png"}},{"data":{"data":{"k":1}}},{"data":{"data":{"value":[1,2]}},"metadata":{"data_part_compat":true}},
				{"data":{"data":{"value":"s"}},"metadata":{"data_part_compat":true}},{"data":{"data":{"value":1152921504606846976}},"metadata":{"data_part_compat":true}},{"data":{"data":{"value":null}},"metadata":{"data_part_compat":true}}]}}`,
			rest: `{"configuration":{"historyLength":0},"message":{"messageId":"m","taskId":"t","role":"ROLE_USER","parts":[{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain"},{"url":"https://e.example/b.png","mediaType":"image/png"},{"data":{"k":1}},{"data":[1,2]},{"data":"s"},{"data":1152921504606846976},{"data":null}]}}`,
		},
	},
	{
		"push set", wire.OpPushSet, &a2a.PushConfig{ID: "p-1", TaskID: "T1", URL: "https://c.example/hook", Token: "tok", Authentication: &a2a.PushAuthentication{Scheme: "Bearer", Credentials: "abc"}},
		map[way]string{
			mid:   `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"T1","pushNotificationConfig":{"id":"p-1","url":"https://c.example/hook","token":"tok","authentication":{"schemes":["Bearer"],"credentials":"abc"}}}}`,
			proto: `{"parent":"tasks/T1","configId":"p-1","config":{"name":"tasks/T1/pushNotificationConfigs/p-1","pushNotificationConfig":{"id":"p-1","url":"https://c.example/hook","token":"tok","authentication":{"schemes":["Bearer"],"credentials":"abc"}}}}`,
			rest:  `{"id":"p-1","taskId":"T1","url":"https://c.example/hook","token":"tok","authentication":{"scheme":"Bearer","credentials":"abc"}}`,
		},
	},
	{
		"push set in v0.1", wire.OpPushSet, &a2a.PushConfig{TaskID: "t-1", URL: "https://c.example/hook", Token: "tok", Authentication: &a2a.PushAuthentication{Scheme: "bearer"}},
		map[way]string{
			old:  `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotification/set","params":{"id":"t-1","pushNotificationConfig":{"url":"https://c.example/hook","token":"tok","authentication":{"schemes":["bearer"]}}}}`,
			rest: `{"taskId":"t-1","url":"https://c.example/hook","token":"tok","authentication":{"scheme":"bearer"}}`,
		},
	},
	{
		"push get", wire.OpPushGet, &a2a.PushGetRequest{TaskID: "T1", ID: "p-1"},
		map[way]string{mid: `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/get","params":{"id":"T1","pushNotificationConfigId":"p-1"}}`},
	},
	{
		"push delete", wire.OpPushDelete, &a2a.PushDeleteRequest{TaskID: "T1", ID: "p-1"},
		map[way]string{mid: `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/delete","params":{"id":"T1","pushNotificationConfigId":"p-1"}}`},
	},
}

var saidReplies = []said{
	{
		"task", wire.OpSend,
		&a2a.Task{ID: "T1", ContextID: "C1", Status: completed, Artifacts: []a2a.Artifact{{ID: "a-0", Name: "answer", Parts: user("4")}}},
		map[way]string{
			mid:   rpc(1, `{"kind":"task","id":"T1","contextId":"C1","status":{"state":"completed","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"a-0","name":"answer","parts":[{"kind":"text","text":"4"}]}]}`),
			proto: `{"task":{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"a-0","name":"answer","parts":[{"text":"4"}]}]}}`,
			newer: rpc(1, `{"task":{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"a-0","name":"answer","parts":[{"text":"4"}]}]}}`),
		},
	},
	{
		"task in v0.1", wire.OpSend, &a2a.Task{ID: "t-1", ContextID: "s-1", Status: completed, Artifacts: []a2a.Artifact{{ID: "artifact-0", Name: "answer", Parts: user("4")}}},
		map[way]string{
			old: rpc(1, `{"id":"t-1","sessionId":"s-1","status":{"state":"completed","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"name":"answer","parts":[{"type":"text","text":"4"}],"index":0}]}`),
		},
	},
	{
		"message", wire.OpSend, &a2a.Message{ID: "m-2", ContextID: "C1", Role: a2a.RoleAgent, Parts: user("4")},
		map[way]string{mid: rpc(1, `{"kind":"message","role":"agent","messageId":"m-2","contextId":"C1","parts":[{"kind":"text","text":"4"}]}`)},
	},
	{
		"a question", wire.OpSend,
		&a2a.Task{ID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired, Message: &a2a.Message{ID: "m-3", TaskID: "T1", ContextID: "C1", Role: a2a.RoleAgent, Parts: user("Which city?")}}},
		map[way]string{
			old:  rpc(1, `{"id":"T1","sessionId":"C1","status":{"state":"input-required","message":{"role":"agent","parts":[{"type":"text","text":"Which city?"}]}}}`),
			mid:  rpc(1, `{"kind":"task","id":"T1","contextId":"C1","status":{"state":"input-required","message":{"kind":"message","role":"agent","messageId":"m-3","taskId":"T1","contextId":"C1","parts":[{"kind":"text","text":"Which city?"}]}}}`),
			rest: `{"task":{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m-3","taskId":"T1","contextId":"C1","role":"ROLE_AGENT","parts":[{"text":"Which city?"}]}}}}`,
		},
	},
	{
		"page", wire.OpList, &a2a.TaskPage{Tasks: []a2a.Task{{ID: "T1", ContextID: "C1", Status: completed}}, PageSize: 50, TotalSize: 1},
		map[way]string{rest: `{"tasks":[{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}],"nextPageToken":"","pageSize":50,"totalSize":1}`},
	},
	{
		"first frame", wire.OpStream, &a2a.Task{ID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}},
		map[way]string{
			mid:   rpc(1, `{"kind":"task","id":"T1","contextId":"C1","status":{"state":"submitted"}}`),
			proto: `{"task":{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
			newer: rpc(1, `{"task":{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_SUBMITTED"}}}`),
			rest:  `{"task":{"id":"T1","contextId":"C1","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
		},
	},
	{
		"working", wire.OpStream, &a2a.StatusUpdate{TaskID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}},
		map[way]string{
			old:   rpc(1, `{"id":"T1","status":{"state":"working"},"final":false}`),
			mid:   rpc(1, `{"kind":"status-update","taskId":"T1","contextId":"C1","status":{"state":"working"},"final":false}`),
			proto: `{"statusUpdate":{"taskId":"T1","contextId":"C1","status":{"state":"TASK_STATE_WORKING"},"final":false}}`,
			rest:  `{"statusUpdate":{"taskId":"T1","contextId":"C1","status":{"state":"TASK_STATE_WORKING"}}}`,
		},
	},
	{
		"chunk", wire.OpStream, &a2a.ArtifactUpdate{TaskID: "T1", ContextID: "C1", Artifact: a2a.Artifact{ID: "artifact-0", Name: "answer", Parts: user("chunk-1 ")}},
		map[way]string{
			old:   rpc(1, `{"id":"T1","artifact":{"name":"answer","index":0,"append":false,"lastChunk":false,"parts":[{"type":"text","text":"chunk-1 "}]}}`),
			mid:   rpc(1, `{"kind":"artifact-update","taskId":"T1","contextId":"C1","artifact":{"artifactId":"artifact-0","name":"answer","parts":[{"kind":"text","text":"chunk-1 "}]},"append":false,"lastChunk":false}`),
			proto: `{"artifactUpdate":{"taskId":"T1","contextId":"C1","artifact":{"artifactId":"artifact-0","name":"answer","parts":[{"text":"chunk-1 "}]},"append":false,"lastChunk":false}}`,
			rest:  `{"artifactUpdate":{"taskId":"T1","contextId":"C1","artifact":{"artifactId":"artifact-0","name":"answer","parts":[{"text":"chunk-1 "}]}}}`,
		},
	},
	{
		"last chunk", wire.OpStream, &a2a.ArtifactUpdate{TaskID: "T1", ContextID: "C1", Artifact: a2a.Artifact{ID: "artifact-0", Parts: user("chunk-2")}, Append: true, LastChunk: true},
		map[way]string{
			old:  rpc(1, `{"id":"T1","artifact":{"index":0,"append":true,"lastChunk":true,"parts":[{"type":"text","text":"chunk-2"}]}}`),
			mid:  rpc(1, `{"kind":"artifact-update","taskId":"T1","contextId":"C1","artifact":{"artifactId":"artifact-0","parts":[{"kind":"text","text":"chunk-2"}]},"append":true,"lastChunk":true}`),
			rest: `{"artifactUpdate":{"taskId":"T1","contextId":"C1","artifact":{"artifactId":"artifact-0","parts":[{"text":"chunk-2"}]},"append":true,"lastChunk":true}}`,
		},
	},
	{
		"end", wire.OpStream, &a2a.StatusUpdate{TaskID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}},
		map[way]string{
			old:   rpc(1, `{"id":"T1","status":{"state":"canceled"},"final":true}`),
			mid:   rpc(1, `{"kind":"status-update","taskId":"T1","contextId":"C1","status":{"state":"canceled"},"final":true}`),
			proto: `{"statusUpdate":{"taskId":"T1","contextId":"C1","status":{"state":"TASK_STATE_CANCELLED"},"final":true}}`,
			rest:  `{"statusUpdate":{"taskId":"T1","contextId":"C1","status":{"state":"TASK_STATE_CANCELED"}}}`,
		},
	},
}

func TestSameRequests(t *testing.T) {
	t.Parallel()
	for _, s := range saidRequests {
		for w, text := range s.texts {
			name := s.name + " in " + w.String()
			written, _, err := w.send(s.op, s.value)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			address, body, _ := strings.Cut(string(written), "\n")
			if !w.rest {
				body = strings.Replace(string(written), `"id":"c-1"`, `"id":1`, 1)
			}
			if diff := cmp.Diff(meant(text), meant(body)); diff != "" {
				t.Errorf("%s is written otherwise:\n%s", name, diff)
			}
			var call *wire.Call
			if w.rest {
				method, path, _ := strings.Cut(address, " ")
				path, _, _ = strings.Cut(path, "?")
				call, err = wire.DecodeREST(method, path, nil, []byte(text))
			} else if call, err = wire.DecodeCall([]byte(text)); err == nil && w.Dialect == wire.OLD {
				call.AsOLD(call.TaskID())
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			x := exchanges{T: t, way: w}
			if diff := cmp.Diff(x.said(s.value), w.nameless(t, asked(call)), same); diff != "" {
				t.Errorf("%s is read otherwise:\n%s", name, diff)
			}
		}
	}
}

func TestSameReplies(t *testing.T) {
	t.Parallel()
	for _, s := range saidReplies {
		for w, text := range s.texts {
			name := s.name + " in " + w.String()
			got, err := w.decode(s.op, []byte(text))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := s.value
			if e, ok := want.(a2a.Event); ok {
				want = wiretest.Said(w.Dialect, e)
			}
			if diff := cmp.Diff(want, w.nameless(t, got), same); diff != "" {
				t.Errorf("%s is read otherwise:\n%s", name, diff)
			}
			call := w.call(s.op)
			written := wire.AppendResult(nil, call, s.value)
			if s.op == wire.OpStream {
				written = bytes.TrimSpace(bytes.TrimPrefix(wire.AppendEventFrame(nil, call, 0, s.value.(a2a.Event)), []byte("data: ")))
			}
			if diff := cmp.Diff(meant(text), meant(string(written))); diff != "" {
				t.Errorf("%s is written otherwise:\n%s", name, diff)
			}
		}
	}
}

// meant is a JSON text without the members that say what their absence says as well.
func meant(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error() + " in " + text
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, m := range v {
				if m == false && (k == "append" || k == "lastChunk") {
					delete(v, k)
				}
				strip(m)
			}
		case []any:
			for _, m := range v {
				strip(m)
			}
		}
	}
	strip(v)
	return v
}
