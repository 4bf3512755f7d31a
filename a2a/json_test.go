package a2a_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)

// Nouns nested in other programs' values keep their form.
func TestMarshalJSON(t *testing.T) {
	t.Parallel()
	v := struct {
		Task     a2a.Task
		Parts    []a2a.Part
		Status   *a2a.TaskStatus
		Update   a2a.ArtifactUpdate
		Message  map[string]a2a.Message
		Artifact a2a.Artifact
		State    a2a.StatusUpdate
	}{
		Task:     a2a.Task{ID: "T", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: at}, Metadata: a2a.Metadata(`{"a": 1}`)},
		Parts:    []a2a.Part{a2a.TextPart("<&>"), a2a.DataPart(map[string]int{"k": 1}), {Kind: a2a.PartRaw, Raw: []byte("hi")}},
		Status:   &a2a.TaskStatus{},
		Update:   a2a.ArtifactUpdate{TaskID: "T", Artifact: a2a.Artifact{ID: "a"}, Append: true},
		Message:  map[string]a2a.Message{"m": {ID: "m", Role: a2a.RoleUser}},
		Artifact: a2a.Artifact{ID: "a", Name: "n", Description: "d"},
		State:    a2a.StatusUpdate{TaskID: "T", Status: a2a.TaskStatus{State: a2a.TaskStateFailed}},
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Task":{"id":"T","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"},"metadata":{"a":1}},` +
		`"Parts":[{"text":"\u003c\u0026\u003e"},{"data":{"k":1}},{"raw":"aGk="}],"Status":{},` +
		`"Update":{"taskId":"T","contextId":"","artifact":{"artifactId":"a","parts":[]},"append":true},` +
		`"Message":{"m":{"messageId":"m","role":"ROLE_USER","parts":[]}},` +
		`"Artifact":{"artifactId":"a","name":"n","description":"d","parts":[]},` +
		`"State":{"taskId":"T","contextId":"","status":{"state":"TASK_STATE_FAILED"}}}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Error(diff)
	}
	back := v
	back.Task, back.Parts = a2a.Task{History: []a2a.Message{{}}}, nil // what was there before must go
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	v.Task.Metadata = a2a.Metadata(`{"a":1}`)
	if diff := cmp.Diff(v, back); diff != "" {
		t.Error(diff)
	}
}

func TestUnmarshalEventRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		kind  a2a.ErrorKind
		field string
	}{
		``:                                      {a2a.KindParse, ""},
		`{"task":{}`:                            {a2a.KindParse, ""},
		`{"task":{"id":"T"}} {}`:                {a2a.KindParse, ""},
		`[]`:                                    {a2a.KindInvalidParams, ""},
		`{}`:                                    {a2a.KindInvalidParams, ""},
		`{"task":null}`:                         {a2a.KindInvalidParams, ""},
		`{"task":{"id":5}}`:                     {a2a.KindInvalidParams, "task.id"},
		`{"message":{"parts":[{}]}}`:            {a2a.KindInvalidParams, "message.parts[0]"},
		`{"task":{"history":[1]}}`:              {a2a.KindInvalidParams, "task.history[0]"},
		`{"statusUpdate":{"status":"working"}}`: {a2a.KindInvalidParams, "statusUpdate.status"},
		`{"artifactUpdate":{"artifact":{},"append":"yes"}}`:      {a2a.KindInvalidParams, "artifactUpdate.append"},
		`{"artifactUpdate":{"artifact":{"parts":[{"raw":1}]}}}`:  {a2a.KindInvalidParams, "artifactUpdate.artifact.parts[0].raw"},
		`{"message":{"parts":[{"text":"x","metadata":"none"}]}}`: {a2a.KindInvalidParams, "message.parts[0].metadata"},
	} {
		event, err := a2a.UnmarshalEvent([]byte(text))
		var e *a2a.Error
		if event != nil || !errors.As(err, &e) || e.Kind != want.kind || e.Field != want.field {
			t.Errorf("%s: %v, %v (%+v), want %v", text, event, err, e, want)
		}
		if err != nil && want.field != "" && !strings.HasPrefix(err.Error(), want.field+" ") {
			t.Errorf("%s: %v does not begin with the field", text, err)
		}
	}
}

func TestParseTaskState(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]a2a.TaskState{
		"TASK_STATE_SUBMITTED": a2a.TaskStateSubmitted, "working": a2a.TaskStateWorking, "WORKING": a2a.TaskStateWorking,
		"input-required": a2a.TaskStateInputRequired, "input_required": a2a.TaskStateInputRequired, "TASK_STATE_AUTH_REQUIRED": a2a.TaskStateAuthRequired,
		"auth-required": a2a.TaskStateAuthRequired, "completed": a2a.TaskStateCompleted, "canceled": a2a.TaskStateCanceled, "cancelled": a2a.TaskStateCanceled,
		"TASK_STATE_CANCELLED": a2a.TaskStateCanceled, "failed": a2a.TaskStateFailed, "rejected": a2a.TaskStateRejected,
		"": a2a.TaskStateUnspecified, "unknown": a2a.TaskStateUnspecified, "TASK_STATE_UNSPECIFIED": a2a.TaskStateUnspecified, "TASK_STATE_": a2a.TaskStateUnspecified, "done": a2a.TaskStateUnspecified,
	} {
		if got := a2a.ParseTaskState(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]a2a.Role{"ROLE_USER": a2a.RoleUser, "user": a2a.RoleUser, "agent": a2a.RoleAgent, "ROLE_AGENT": a2a.RoleAgent, "": "", "ROLE_UNSPECIFIED": "", "system": ""} {
		if got := a2a.ParseRole(text); got != want {
			t.Errorf("role %q is %q, want %q", text, got, want)
		}
	}
}

func ExampleMarshalEvent() {
	b := a2a.MarshalEvent(&a2a.ArtifactUpdate{
		TaskID: "T1", ContextID: "C1", Append: true,
		Artifact: a2a.Artifact{ID: "a-0", Parts: []a2a.Part{a2a.TextPart("Oslo")}},
	})
	fmt.Println(string(b))
	// Output: {"artifactUpdate":{"taskId":"T1","contextId":"C1","artifact":{"artifactId":"a-0","parts":[{"text":"Oslo"}]},"append":true}}
}
