package wiretest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

// TestPushPayloads writes what webhooks are told in the dialect of whoever asked for it, and reads it.
func TestPushPayloads(t *testing.T) {
	t.Parallel()
	var files []txtar.File
	for _, d := range []wire.Dialect{wire.NEW, wire.MID, wire.PROTO, wire.OLD} {
		for _, tt := range []struct {
			name    string
			payload wire.PushPayload
			want    a2a.Event // before v1.0
		}{
			{"task", wire.PushPayload{Task: &task}, &task},
			{"status", wire.PushPayload{Task: &task, Event: state(a2a.TaskStateInputRequired)}, &task},
			{"artifact", wire.PushPayload{Task: &task, Event: chunk("x", true, false)}, &task},
			{"answer", wire.PushPayload{Event: &message}, &message},
		} {
			b := wire.AppendPush(nil, d, &tt.payload)
			name := fmt.Sprintf("%s %s", d, tt.name)
			if d == wire.PROTO {
				name += " over HTTP+JSON"
			}
			files = append(files, file(name, append([]byte(nil), b...)))
			note, err := wire.DecodePush(b)
			if err != nil {
				if tt.name == "answer" && d != wire.OLD && a2a.KindOf(err) == a2a.KindInvalidParams {
					continue // about no task
				}
				t.Fatalf("%s: %v\n%s", name, err, b)
			}
			want, read := tt.want, d
			switch {
			case d == wire.NEW && tt.payload.Event != nil:
				want = tt.payload.Event
			case d == wire.PROTO:
				read = wire.MID
			}
			want = wiretest.Said(read, want)
			if diff := cmp.Diff(want, way{Dialect: d}.nameless(t, note.Event), same); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
	}
	named := wire.AppendPush(nil, wire.OLD, &wire.PushPayload{Task: &a2a.Task{ID: "ours", ContextID: "s", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}, ClientTaskID: "mine"})
	files = append(files, file("v0.1 by the client's name", named))
	golden(t, "push.txtar", files)
}

// TestPushForms reads bodies as agents of every age send them.
func TestPushForms(t *testing.T) {
	t.Parallel()
	done := a2a.TaskStatus{State: a2a.TaskStateCompleted}
	answer := []a2a.Part{a2a.TextPart("4")}
	for _, tt := range []struct {
		name, body string
		want       wire.PushNote
	}{
		{"v1.0", `{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_COMPLETED"}}}`, wire.PushNote{
			TaskID: "T", ContextID: "C", Event: &a2a.StatusUpdate{TaskID: "T", ContextID: "C", Status: done},
		}},
		{"v1.0 message", `{"message":{"messageId":"m","taskId":"T","role":"ROLE_AGENT","parts":[{"text":"4"}]}}`, wire.PushNote{
			TaskID: "T", Event: &a2a.Message{ID: "m", TaskID: "T", Role: a2a.RoleAgent, Parts: answer},
		}},
		{"ProtoJSON", `{"artifactUpdate":{"taskId":"T","artifact":{"artifactId":"a","parts":[{"file":{"fileWithUri":"u"}}]}}}`, wire.PushNote{
			TaskID: "T", Event: &a2a.ArtifactUpdate{TaskID: "T", Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{{Kind: a2a.PartURL, URL: "u"}}}},
		}},
		{"v0.3", `{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"}}`, wire.PushNote{TaskID: "T", ContextID: "C", Event: &a2a.Task{ID: "T", ContextID: "C", Status: done}}},
		{"v0.3 without kind", `{"id":"T","contextId":"C","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"4"}]}]}`, wire.PushNote{
			TaskID: "T", ContextID: "C", Event: &a2a.Task{ID: "T", ContextID: "C", Status: done, Artifacts: []a2a.Artifact{{ID: "a", Parts: answer}}},
		}},
		{"v0.3 update", `{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"completed"},"final":true}`, wire.PushNote{
			TaskID: "T", ContextID: "C", Event: &a2a.StatusUpdate{TaskID: "T", ContextID: "C", Status: done},
		}},
		{"v0.3 update without kind", `{"taskId":"T","artifact":{"artifactId":"a","parts":[]},"append":true}`, wire.PushNote{
			TaskID: "T", Event: &a2a.ArtifactUpdate{TaskID: "T", Artifact: a2a.Artifact{ID: "a"}, Append: true},
		}},
		{"v0.3 reply", `{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"}}}`, wire.PushNote{
			TaskID: "T", ContextID: "C", Event: &a2a.Task{ID: "T", ContextID: "C", Status: done},
		}},
		{"v0.1", `{"id":"T","sessionId":"S","status":{"state":"completed"},"artifacts":[{"parts":[{"type":"text","text":"4"}],"index":0}]}`, wire.PushNote{
			TaskID: "T", ContextID: "S", Event: &a2a.Task{ID: "T", ContextID: "S", Status: done, Artifacts: []a2a.Artifact{{ID: "artifact-0", Parts: answer}}},
		}},
		{"v0.1 with taskId", `{"taskId":"T","id":"T","sessionId":"S","status":{"state":"completed"}}`, wire.PushNote{TaskID: "T", ContextID: "S", Event: &a2a.Task{ID: "T", ContextID: "S", Status: done}}},
		{"v0.1 task that says little", `{"id":"T","status":{"state":"completed"}}`, wire.PushNote{TaskID: "T", Event: &a2a.StatusUpdate{TaskID: "T", Status: done}}},
		{"trpc", `{"jsonrpc":"2.0","method":"tasks/notifyEvent","params":{"id":"T","eventType":"task_status_update","event":{"id":"T","status":{"state":"completed"},"final":true}}}`, wire.PushNote{
			TaskID: "T", Event: &a2a.StatusUpdate{TaskID: "T", Status: done},
		}},
		{"trpc artifact", `{"jsonrpc":"2.0","method":"tasks/notifyEvent","params":{"id":"T","eventType":"task_artifact_update","event":{"id":"T","artifact":{"index":1,"parts":[{"type":"text","text":"4"}]}}}}`, wire.PushNote{
			TaskID: "T", Event: &a2a.ArtifactUpdate{TaskID: "T", Artifact: a2a.Artifact{ID: "artifact-1", Parts: answer}},
		}},
		{"hint", `{"eventType":"STATUS","taskId":"T","status":"completed","summary":"The report is ready."}`, wire.PushNote{TaskID: "T", Summary: "The report is ready."}},
		{"hint with a status", `{"eventType":"STATUS","taskId":"T","status":{"state":"completed"},"summary":"Ready."}`, wire.PushNote{
			TaskID: "T", Summary: "Ready.", Event: &a2a.StatusUpdate{TaskID: "T", Status: done},
		}},
	} {
		got, err := wire.DecodePush([]byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(&tt.want, got, same); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	for _, body := range []string{
		``, `{`, `[]`, `null`, `"T"`, `{}`, `{"task":{}}`, `{"task":{"status":{}}}`, `{"kind":"task"}`, `{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`, `{"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","params":{"jsonrpc":"2.0","params":{"params":{"params":{"id":"T","status":{}}}}}}`, `{"id":"T","status":{"state":"completed"},"artifacts":5}`, `{"summary":"no task"}`,
		`{"id":"T","status":{"state":"completed"},}`,
	} {
		if note, err := wire.DecodePush([]byte(body)); err == nil {
			t.Errorf("%s was read as %+v", body, note)
		} else if k := a2a.KindOf(err); k != a2a.KindParse && k != a2a.KindInvalidParams {
			t.Errorf("%s: %s", body, k)
		}
	}
}

// TestPushSurvives: a webhook hears of any task what its dialect can say.
func TestPushSurvives(t *testing.T) {
	t.Parallel()
	for _, d := range []wire.Dialect{wire.NEW, wire.MID, wire.OLD} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				task, ok := wiretest.Event().Draw(t, "task").(*a2a.Task)
				if !ok {
					return
				}
				b := wire.AppendPush(nil, d, &wire.PushPayload{Task: task})
				note, err := wire.DecodePush(b)
				if err != nil {
					t.Fatalf("%v\n%s", err, b)
				}
				if diff := cmp.Diff(wiretest.Said(d, task), way{Dialect: d}.nameless(t, note.Event), same); diff != "" {
					t.Fatalf("%s\n%s", b, diff)
				}
			})
		})
	}
}
