package wiretest_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2a/wire"
)

const (
	newBody   = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	protoBody = `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}`
	pushBody  = `{"url":"https://c.example"}`
)

// The editions of v0.2 with HTTP+JSON call the message request.
func TestMessageCalledRequest(t *testing.T) {
	t.Parallel()
	body := strings.Replace(protoBody, "message", "request", 1)
	call, err := wire.DecodeREST("POST", "/v1/message:send", nil, []byte(body))
	if err != nil || a2a.Text(call.Send.Message.Parts) != "hi" {
		t.Errorf("%+v, %v", call.Send, err)
	}
	if _, err := wire.DecodeREST("POST", "/message:send", nil, []byte(body)); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("v1.0: %v", err)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, path, body string
		dialect            wire.Dialect
		op                 wire.Op
		pattern            string
		tenant, task, id   string
	}{
		{"POST", "/message:send", newBody, wire.NEW, wire.OpSend, "/message:send", "", "", ""},
		{"POST", "/message%3Asend", newBody, wire.NEW, wire.OpSend, "/message:send", "", "", ""},
		{"POST", "/message:stream", newBody, wire.NEW, wire.OpStream, "/message:stream", "", "", ""},
		{"POST", "/acme/message:stream", newBody, wire.NEW, wire.OpStream, "/message:stream", "acme", "", ""},
		{"POST", "/a%2Fb%3A/message:send", newBody, wire.NEW, wire.OpSend, "/message:send", "a/b:", "", ""},
		{"GET", "/tasks", "", wire.NEW, wire.OpList, "/tasks", "", "", ""},
		{"GET", "/acme/tasks", "", wire.NEW, wire.OpList, "/tasks", "acme", "", ""},
		{"GET", "/tasks/T1", "", wire.NEW, wire.OpGet, "/tasks/{id}", "", "T1", ""},
		{"GET", "/acme/tasks/T1", "", wire.NEW, wire.OpGet, "/tasks/{id}", "acme", "T1", ""},
		{"GET", "/tasks/a%2Fb", "", wire.NEW, wire.OpGet, "/tasks/{id}", "", "a/b", ""},
		{"GET", "/tasks/a:b", "", wire.NEW, wire.OpGet, "/tasks/{id}", "", "a:b", ""},
		{"GET", "/tasks/a%3Acancel", "", wire.NEW, wire.OpGet, "/tasks/{id}", "", "a:cancel", ""},
		{"GET", "/tasks/tasks", "", wire.NEW, wire.OpGet, "/tasks/{id}", "", "tasks", ""},
		{"POST", "/tasks/T1:cancel", "", wire.NEW, wire.OpCancel, "/tasks/{id}:cancel", "", "T1", ""},
		{"POST", "/tasks/a%3Acancel:cancel", "{}", wire.NEW, wire.OpCancel, "/tasks/{id}:cancel", "", "a:cancel", ""},
		{"POST", "/tasks/a:b:cancel", `{"id":"other","metadata":{}}`, wire.NEW, wire.OpCancel, "/tasks/{id}:cancel", "", "a:b", ""},
		{"POST", "/tasks/T1:subscribe", "", wire.NEW, wire.OpSubscribe, "/tasks/{id}:subscribe", "", "T1", ""},
		{"GET", "/tasks/T1:subscribe", "", wire.NEW, wire.OpSubscribe, "/tasks/{id}:subscribe", "", "T1", ""},
		{"POST", "/tasks/T1/pushNotificationConfigs", pushBody, wire.NEW, wire.OpPushSet, "/tasks/{id}/pushNotificationConfigs", "", "T1", ""},
		{"GET", "/acme/tasks/T1/pushNotificationConfigs", "", wire.NEW, wire.OpPushList, "/tasks/{id}/pushNotificationConfigs", "acme", "T1", ""},
		{"GET", "/tasks/T1/pushNotificationConfigs/p%3A1", "", wire.NEW, wire.OpPushGet, "/tasks/{id}/pushNotificationConfigs/{config}", "", "T1", "p:1"},
		{"DELETE", "/tasks/T1/pushNotificationConfigs/p", "", wire.NEW, wire.OpPushDelete, "/tasks/{id}/pushNotificationConfigs/{config}", "", "T1", "p"},
		{"GET", "/extendedAgentCard", "", wire.NEW, wire.OpExtendedCard, "/extendedAgentCard", "", "", ""},
		{"GET", "/acme/extendedAgentCard", "", wire.NEW, wire.OpExtendedCard, "/extendedAgentCard", "acme", "", ""},
		{"GET", "/agent/authenticatedExtendedCard", "", wire.MID, wire.OpExtendedCard, "/agent/authenticatedExtendedCard", "", "", ""},
		{"POST", "/agent/message:send", newBody, wire.NEW, wire.OpSend, "/message:send", "agent", "", ""},

		{"POST", "/v1/message:send", protoBody, wire.PROTO, wire.OpSend, "/v1/message:send", "", "", ""},
		{"POST", "/v1/message:stream", protoBody, wire.PROTO, wire.OpStream, "/v1/message:stream", "", "", ""},
		{"POST", "/acme/v1/message:send", protoBody, wire.PROTO, wire.OpSend, "/v1/message:send", "acme", "", ""},
		{"GET", "/v1/tasks/T1", "", wire.PROTO, wire.OpGet, "/v1/tasks/{id}", "", "T1", ""},
		{"POST", "/v1/tasks/T1:cancel", `{"name":"tasks/T1"}`, wire.PROTO, wire.OpCancel, "/v1/tasks/{id}:cancel", "", "T1", ""},
		{"GET", "/v1/tasks/T1:subscribe", "", wire.PROTO, wire.OpSubscribe, "/v1/tasks/{id}:subscribe", "", "T1", ""},
		{"POST", "/v1/tasks/T1:subscribe", "", wire.PROTO, wire.OpSubscribe, "/v1/tasks/{id}:subscribe", "", "T1", ""},
		{"POST", "/v1/tasks/T1/pushNotificationConfigs", pushBody, wire.PROTO, wire.OpPushSet, "/v1/tasks/{id}/pushNotificationConfigs", "", "T1", ""},
		{"POST", "/v1/task/T1/pushNotificationConfigs", pushBody, wire.PROTO, wire.OpPushSet, "/v1/tasks/{id}/pushNotificationConfigs", "", "T1", ""},
		{"GET", "/v1/tasks/T1/pushNotificationConfigs", "", wire.PROTO, wire.OpPushList, "/v1/tasks/{id}/pushNotificationConfigs", "", "T1", ""},
		{"GET", "/v1/tasks/T1/pushNotificationConfigs/p", "", wire.PROTO, wire.OpPushGet, "/v1/tasks/{id}/pushNotificationConfigs/{config}", "", "T1", "p"},
		{"DELETE", "/v1/tasks/T1/pushNotificationConfigs/p", "", wire.PROTO, wire.OpPushDelete, "/v1/tasks/{id}/pushNotificationConfigs/{config}", "", "T1", "p"},
		{"GET", "/v1/card", "", wire.PROTO, wire.OpExtendedCard, "/v1/card", "", "", ""},
	} {
		call, err := wire.DecodeREST(tt.method, tt.path, nil, []byte(tt.body))
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		id := ""
		switch {
		case call.PushGet != nil:
			id = call.PushGet.ID
		case call.PushDelete != nil:
			id = call.PushDelete.ID
		}
		if call.Dialect != tt.dialect || call.Op != tt.op || !call.REST || call.Method != tt.method+" "+tt.pattern {
			t.Errorf("%s %s was read as %s %d %q", tt.method, tt.path, call.Dialect, call.Op, call.Method)
		}
		if call.Tenant() != tt.tenant || call.TaskID() != tt.task || id != tt.id {
			t.Errorf("%s %s: tenant %q, task %q, id %q", tt.method, tt.path, call.Tenant(), call.TaskID(), id)
		}
	}
}

func TestNoRoute(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "/", "//", "/v1", "/v1/", "/v1/tasks", "/v1/extendedAgentCard", "/card", "/v1/v1/message:send", "/message:sing", "/a/b/message:send", "/tasks/a/b", "/tasks/a/pushNotificationConfigs/b/c",
		"/task/T1/pushNotificationConfigs", "/.well-known/agent-card.json", "/tasks/%zz", "/tasks/%ff", "/message:send/tasks/T1", "/acme", "/acme/", "/acme/v1", "/v1/agent/authenticatedExtendedCard",
	} {
		for _, method := range []string{"GET", "POST"} {
			call, err := wire.DecodeREST(method, path, nil, []byte("{}"))
			if a2a.KindOf(err) != a2a.KindMethodNotFound || errors.As(err, new(*wire.MethodError)) {
				t.Errorf("%s %q: %v", method, path, err)
			}
			if status := wire.Status(call, err, wire.Mapping101); status != http.StatusNotFound {
				t.Errorf("%s %q: status %d", method, path, status)
			}
		}
	}
	for path, allow := range map[string]string{
		"/message:send": "POST", "/tasks": "GET", "/tasks/x": "GET", "/tasks/x:cancel": "POST", "/tasks/x:subscribe": "GET, POST",
		"/v1/tasks/x/pushNotificationConfigs": "GET, POST", "/tasks/x/pushNotificationConfigs/y": "GET, DELETE", "/v1/card": "GET",
	} {
		call, err := wire.DecodeREST("PUT", path, nil, nil)
		var wrong *wire.MethodError
		if !errors.As(err, &wrong) || wrong.Allow != allow {
			t.Errorf("%s: %v", path, err)
		}
		if status := wire.Status(call, err, wire.Mapping101); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

// TestRESTParams reads what is in queries and bodies, and refuses what contradicts itself.
func TestRESTParams(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	for _, tt := range []struct {
		name, request, body string
		want                any
		kind                a2a.ErrorKind
		field               string
	}{
		{"history", "GET /tasks/T?historyLength=0", "", &a2a.GetRequest{ID: "T", HistoryLength: n(0)}, "", ""},
		{"snake case", "GET /tasks/T?history_length=5&id=other", "", &a2a.GetRequest{ID: "T", HistoryLength: n(5)}, "", ""},
		{"empty value", "GET /tasks/T?historyLength=", "", &a2a.GetRequest{ID: "T"}, "", ""},
		{"version is not ours", "GET /tasks/T?A2A-Version=1.0&historyLength=1", "", &a2a.GetRequest{ID: "T", HistoryLength: n(1)}, "", ""},
		{"no number", "GET /tasks/T?historyLength=many", "", nil, a2a.KindInvalidParams, "historyLength"},
		{"negative", "GET /tasks/T?historyLength=-1", "", nil, a2a.KindInvalidParams, "historyLength"},
		{"negative before v1.0", "GET /v1/tasks/T?historyLength=-1", "", &a2a.GetRequest{ID: "T"}, "", ""},
		{"zero before v1.0", "GET /v1/tasks/T?historyLength=0", "", &a2a.GetRequest{ID: "T"}, "", ""},
		{
			"list", "GET /tasks?context_id=C&status=working&pageSize=7&page_token=p&includeArtifacts=true&statusTimestampAfter=2026-01-02T03:04:05.678Z", "",
			&a2a.ListRequest{ContextID: "C", Status: a2a.TaskStateWorking, PageSize: 7, PageToken: "p", IncludeArtifacts: true, StatusTimestampAfter: at}, "", "",
		},
		{"a list of a tenant", "GET /tasks?tenant=acme&include_artifacts=1", "", &a2a.ListRequest{Tenant: "acme", IncludeArtifacts: true}, "", ""},
		{"the same in two spellings", "GET /tasks?pageSize=1&page_size=1", "", nil, a2a.KindInvalidParams, "pageSize"},
		{"the same twice", "GET /tasks?status=working&status=working", "", nil, a2a.KindInvalidParams, "status"},
		{"a page too large", "GET /tasks?pageSize=101", "", nil, a2a.KindInvalidParams, "pageSize"},
		{"neither true nor false", "GET /tasks?includeArtifacts=maybe", "", nil, a2a.KindInvalidParams, "includeArtifacts"},
		{"no UTF-8", "GET /tasks?contextId=%ff", "", nil, a2a.KindInvalidParams, "the query"},
		{"tenants that agree", "GET /acme/tasks?tenant=acme", "", &a2a.ListRequest{Tenant: "acme"}, "", ""},
		{"tenants that do not", "GET /acme/tasks?tenant=other", "", nil, a2a.KindInvalidParams, "tenant"},
		{"tenants in path and body", "POST /acme/message:send", `{"tenant":"other","message":{"messageId":"m","parts":[{"text":"x"}]}}`, nil, a2a.KindInvalidParams, "tenant"},
		{"no task", "GET /tasks/", "", nil, a2a.KindInvalidParams, "id"},
		{"no body", "POST /message:send", "", nil, a2a.KindParse, ""},
		{"a body that is a list", "POST /message:send", "[]", nil, a2a.KindInvalidRequest, ""},
		{"a body that is no JSON", "POST /tasks/T:cancel", "{", nil, a2a.KindParse, ""},
		{"why to cancel", "POST /tasks/T:cancel", `{"metadata":{"why":"late"}}`, &a2a.CancelRequest{ID: "T", Metadata: a2a.Metadata(`{"why":"late"}`)}, "", ""},
		{"configs", "GET /tasks/T/pushNotificationConfigs?page_size=3&pageToken=p", "", &a2a.PushListRequest{TaskID: "T", PageSize: 3, PageToken: "p"}, "", ""},
		{"a config without url", "POST /tasks/T/pushNotificationConfigs", `{"id":"p"}`, nil, a2a.KindInvalidParams, "url"},
		{"a config of another task", "POST /tasks/T/pushNotificationConfigs", `{"taskId":"U","url":"u"}`, nil, a2a.KindInvalidParams, "taskId"},
		{"flat config", "POST /v1/tasks/T/pushNotificationConfigs", `{"url":"u","token":"t"}`, &a2a.PushConfig{TaskID: "T", URL: "u", Token: "t"}, "", ""},
		{"held config", "POST /v1/tasks/T/pushNotificationConfigs", `{"pushNotificationConfig":{"id":"p","url":"u"}}`, &a2a.PushConfig{TaskID: "T", ID: "p", URL: "u"}, "", ""},
		{"bare config", "POST /v1/tasks/T/pushNotificationConfigs?configId=q", `{"name":"tasks/T/pushNotificationConfigs/p","pushNotificationConfig":{"url":"u"}}`, &a2a.PushConfig{TaskID: "T", ID: "p", URL: "u"}, "", ""},
		{"id of a config in the query", "POST /v1/tasks/T/pushNotificationConfigs?config_id=q&tenant=acme", `{"pushNotificationConfig":{"url":"u"}}`, &a2a.PushConfig{Tenant: "acme", TaskID: "T", ID: "q", URL: "u"}, "", ""},
		{
			"whole config", "POST /v1/tasks/T/pushNotificationConfigs",
			`{"parent":"tasks/T","configId":"p","config":{"name":"tasks/T/pushNotificationConfigs/p","pushNotificationConfig":{"url":"u","authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}}}`,
			&a2a.PushConfig{TaskID: "T", ID: "p", URL: "u", Authentication: &a2a.PushAuthentication{Scheme: "Bearer", MoreSchemes: []string{"Basic"}, Credentials: "c"}}, "", "",
		},
		{"whole config of another task", "POST /v1/tasks/T/pushNotificationConfigs", `{"parent":"tasks/U","config":{"pushNotificationConfig":{"url":"u"}}}`, nil, a2a.KindInvalidParams, "taskId"},
	} {
		method, target, _ := strings.Cut(tt.request, " ")
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		call, err := wire.DecodeREST(method, u.EscapedPath(), u.Query(), []byte(tt.body))
		if tt.kind != "" {
			var e *a2a.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.Field != tt.field {
				t.Errorf("%s: %v, want %s at %q", tt.name, err, tt.kind, tt.field)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, asked(call), same); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// TestBlocking: in ProtoJSON an absent blocking is false, and not written by those who do not want to wait; only without any
// configuration is nothing said.
func TestBlocking(t *testing.T) {
	t.Parallel()
	for configuration, immediately := range map[string]bool{
		``: false, `,"configuration":null`: false, `,"configuration":{}`: true, `,"configuration":{"acceptedOutputModes":[]}`: true, `,"configuration":{"blocking":null}`: true, `,"configuration":{"blocking":true}`: false, `,"configuration":{"blocking":false}`: true,
		`,"configuration":{"pushNotification":{"url":"u"}}`: true, `,"configuration":{"blocking":true,"pushNotification":{"url":"u"}}`: false,
	} {
		call, err := wire.DecodeREST("POST", "/v1/message:send", nil, []byte(strings.TrimSuffix(protoBody, "}")+configuration+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := call.Send.Configuration.ReturnImmediately; got != immediately {
			t.Errorf("%s: returns immediately: %t", configuration, got)
		}
	}
}

// TestForeignErrors reads errors as the implementations write them.
func TestForeignErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect wire.Dialect
		op      wire.Op
		status  int
		body    string
		kind    a2a.ErrorKind
		message string
	}{
		{wire.NEW, wire.OpGet, 404, `{"error":{"code":404,"status":"NOT_FOUND","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`, a2a.KindTaskNotFound, "gone"},
		{wire.NEW, wire.OpCancel, 400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"no"}}`, a2a.KindTaskNotCancelable, "no"},
		{wire.NEW, wire.OpPushSet, 400, `{"error":{"code":400,"status":"UNIMPLEMENTED","message":"no"}}`, a2a.KindPushNotSupported, "no"},
		{wire.NEW, wire.OpSend, 400, `{"code":3,"message":"bad","details":[]}`, a2a.KindInvalidParams, "bad"},
		{wire.PROTO, wire.OpGet, 404, `{"code":5,"message":"no such task"}`, a2a.KindTaskNotFound, "no such task"},
		{wire.NEW, wire.OpCancel, 409, `{"type":"https://a2a-protocol.org/errors/task-not-cancelable","title":"Task Not Cancelable","status":409,"detail":"it is over"}`, a2a.KindTaskNotCancelable, "it is over"},
		{wire.NEW, wire.OpGet, 404, `{"type":"https://a2a-protocol.org/errors/task-not-found-error","title":"Task Not Found"}`, a2a.KindTaskNotFound, "Task Not Found"},
		{wire.PROTO, wire.OpSend, 422, `{"message":"Parameter error"}`, a2a.KindInvalidParams, "Parameter error"},
		{wire.PROTO, wire.OpSend, 422, `{"message":"Task T is in terminal state: completed"}`, a2a.KindTaskTerminal, "Task T is in terminal state: completed"},
		{wire.PROTO, wire.OpCancel, 409, `{"message":"no"}`, a2a.KindTaskNotCancelable, "no"},
		{wire.PROTO, wire.OpStream, 501, `{"message":"no streams"}`, a2a.KindUnsupportedOperation, "no streams"},
		{wire.PROTO, wire.OpPushGet, 501, `{"message":"no push"}`, a2a.KindPushNotSupported, "no push"},
		{wire.PROTO, wire.OpExtendedCard, 404, `{"message":"none"}`, a2a.KindExtendedCardNotSet, "none"},
		{wire.PROTO, wire.OpGet, 400, `{"code":-32001,"message":"not found","data":{"a":1}}`, a2a.KindTaskNotFound, "not found"},
		{wire.PROTO, wire.OpGet, 404, `{"error":"io.a2a.spec.TaskNotFoundError","message":"nope"}`, a2a.KindTaskNotFound, "nope"},
		{wire.PROTO, wire.OpSend, 500, `{"error":"UnsupportedOperationError"}`, a2a.KindUnsupportedOperation, "the agent answered with HTTP status 500: UnsupportedOperationError"},
		{wire.PROTO, wire.OpSend, 500, `{"message":"InvalidParamsError: parts"}`, a2a.KindInvalidParams, "InvalidParamsError: parts"},
		{wire.NEW, wire.OpGet, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"lost"}}`, a2a.KindTaskNotFound, "lost"},
		{wire.NEW, wire.OpStream, 200, `{"error":{"code":500,"status":"INTERNAL","message":"broke"}}`, a2a.KindInternal, "broke"},
		{wire.PROTO, wire.OpStream, 200, `{"code":-32603,"message":"broke"}`, a2a.KindInternal, "broke"},
		{wire.NEW, wire.OpSend, 404, `{"detail":"Not Found"}`, a2a.KindMethodNotFound, "Not Found"},
		{wire.NEW, wire.OpGet, 404, `{"detail":"Not Found"}`, a2a.KindMethodNotFound, "Not Found"},
		{wire.NEW, wire.OpGet, 404, ``, a2a.KindTaskNotFound, "the agent answered with HTTP status 404"},
		{wire.NEW, wire.OpSend, 404, `<html>`, a2a.KindMethodNotFound, "the agent answered with HTTP status 404"},
		{wire.NEW, wire.OpSubscribe, 405, ``, a2a.KindMethodNotFound, "the agent answered with HTTP status 405"},
		{wire.NEW, wire.OpSend, 404, `{"timestamp":1,"status":404,"error":"Not Found","path":"/"}`, a2a.KindMethodNotFound, "the agent answered with HTTP status 404: Not Found"},
		{wire.NEW, wire.OpSend, 401, ``, a2a.KindUnauthenticated, "the agent answered with HTTP status 401"},
		{wire.NEW, wire.OpSend, 403, `[1]`, a2a.KindForbidden, "the agent answered with HTTP status 403"},
		{wire.NEW, wire.OpSend, 413, ``, a2a.KindTooLarge, "the agent answered with HTTP status 413"},
		{wire.NEW, wire.OpSend, 429, ``, a2a.KindRateLimited, "the agent answered with HTTP status 429"},
		{wire.NEW, wire.OpSend, 502, ``, a2a.KindUnavailable, "the agent answered with HTTP status 502"},
		{wire.PROTO, wire.OpSend, 502, `{"message":"nonsense"}`, a2a.KindInvalidAgentResponse, "nonsense"},
		{wire.NEW, wire.OpSend, 503, ``, a2a.KindUnavailable, "the agent answered with HTTP status 503"},
		{wire.NEW, wire.OpSend, 302, ``, a2a.KindInvalidAgentResponse, "the agent answered with HTTP status 302"},
		{wire.NEW, wire.OpSend, 200, ``, a2a.KindInvalidAgentResponse, "the agent's reply cannot be read: the text is not valid JSON: it ends too early at byte 0"},
		{wire.NEW, wire.OpSend, 200, `{}`, a2a.KindInvalidAgentResponse, "the agent's reply cannot be read: the JSON must hold a task, a message, a statusUpdate or an artifactUpdate"},
		{wire.PROTO, wire.OpSend, 200, `{"statusUpdate":{"taskId":"T","status":{"state":"TASK_STATE_WORKING"}}}`, a2a.KindInvalidAgentResponse, "the agent's reply cannot be read: the JSON is not what was asked for"},
	} {
		v, err := wire.DecodeRESTReply(tt.dialect, tt.op, tt.status, "", []byte(tt.body))
		var e *a2a.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || e.Message != tt.message {
			t.Errorf("%d %s: %v, %s %q; want %s %q", tt.status, tt.body, v, a2a.KindOf(err), err, tt.kind, tt.message)
			continue
		}
		// An agent's own error has a code, a proxy's page has none.
		if agents := strings.Contains(tt.body, `"message"`) || strings.Contains(tt.body, "Error"+`"`) || strings.Contains(tt.body, `"type"`); agents != (e.Code != 0) {
			t.Errorf("%d %s: code %d", tt.status, tt.body, e.Code)
		}
	}
}

// TestForeignReplies reads replies over HTTP+JSON as the implementations write them.
func TestForeignReplies(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{}`, `null`, `<gone>`} {
		if v, err := wire.DecodeRESTReply(wire.PROTO, wire.OpPushDelete, 204, "", []byte(body)); v != nil || err != nil {
			t.Errorf("delete %q: %v, %v", body, v, err)
		}
	}
	data := func(v string) *a2a.Message {
		return &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{{Kind: a2a.PartData, Data: []byte(v)}}}
	}
	raw := func(b, mediaType string) *a2a.Message {
		return &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: []byte(b), MediaType: mediaType}}}
	}
	message := func(part string) string {
		return `{"message":{"messageId":"m","role":"ROLE_AGENT","content":[` + part + `]}}`
	}
	canceled := &a2a.Task{ID: "T", ContextID: "C", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}}
	for _, tt := range []struct {
		body string
		want a2a.Event
	}{
		{`{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_CANCELLED"}}}`, canceled},
		{`{"task":{"id":"T","context_id":"C","status":{"state":5}}}`, canceled},
		{`{"kind":"task","id":"T","contextId":"C","status":{"state":"canceled"}}`, canceled},
		{`{"msg":{"message_id":"m","role":2,"parts":[{"data":{"data":{"k":1}}}]}}`, data(`{"k":1}`)},
		{message(`{"data":{"data":[1,2]}}`), data(`[1,2]`)},
		{message(`{"data":{"data":{"value":[1,2]}}}`), data(`{"value":[1,2]}`)},
		{message(`{"data":{"data":{"value":[1,2]}},"metadata":{"data_part_compat":true}}`), data(`[1,2]`)},
		{message(`{"data":{"data":{"data":1}}}`), data(`{"data":1}`)},
		{message(`{"kind":"data","data":{"data":1}}`), data(`{"data":1}`)},
		{message(`{"data":{"k":1}}`), data(`{"k":1}`)},
		{message(`{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain"}}`), raw("hi", "text/plain")},
		{message(`{"file":{"file_with_bytes":"aGk=","mime_type":"text/plain"}}`), raw("hi", "text/plain")},
		{message(`{"file":{"fileWithBytes":"dGVzdA==","mimeType":"text/plain"}}`), raw("test", "text/plain")}, // a word, not base64
		{message(`{"file":{"fileWithBytes":"dGVzdA=="}}`), raw("\xb5\xeb-", "")},                              // nothing says so
		{message(`{"file":{"bytes":"YUdrPQ==","mimeType":"text/plain"}}`), raw("aGk=", "text/plain")},         // in JSON of MID
	} {
		got, err := wire.DecodeRESTReply(wire.PROTO, wire.OpSend, 200, "application/json", []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, same); diff != "" {
			t.Errorf("%s:\n%s", tt.body, diff)
		}
	}
}

// TestRESTOptions writes what some peers need.
func TestRESTOptions(t *testing.T) {
	t.Parallel()
	file := &a2a.SendRequest{Message: a2a.Message{ID: "m", Parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: []byte("hi")}}}}
	for bytes, options := range map[string][]wire.RESTOption{`"YUdrPQ=="`: nil, `"aGk="`: {wire.SingleBase64}} {
		r, err := wire.EncodeREST(wire.PROTO, wire.OpSend, file, options...)
		if err != nil || !strings.Contains(string(r.Body), bytes) {
			t.Errorf("%v: %s, %v", options, r.Body, err)
		}
	}
	answer := &a2a.Message{ID: "m", Parts: file.Message.Parts}
	call := &wire.Call{Dialect: wire.PROTO, REST: true, Op: wire.OpSend, SingleBase64: true}
	entry := a2a.NewEntry(1, at, a2a.MarshalEvent(answer), answer)
	frame, err := wire.AppendFrame(nil, call, entry)
	for _, b := range [][]byte{frame, wire.AppendEventFrame(nil, call, 0, answer), wire.AppendResult(nil, call, answer)} {
		if err != nil || !strings.Contains(string(b), `"aGk="`) {
			t.Errorf("%s, %v", b, err)
		}
	}
	call.SingleBase64 = false
	if frame, err = wire.AppendFrame(nil, call, entry); err != nil || !strings.Contains(string(frame), `"YUdrPQ=="`) {
		t.Errorf("%s, %v", frame, err)
	}
	r, err := wire.EncodeREST(wire.PROTO, wire.OpPushSet, &a2a.PushConfig{Tenant: "acme", TaskID: "T", URL: "u"}, wire.StrictPush)
	if err != nil || r.Query.Encode() != "configId=T&tenant=acme" || !strings.HasPrefix(string(r.Body), `{"name":`) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, id := range []string{".", "..", "a/b", "a:cancel", "ä ?#%", ""} {
		r, err := wire.EncodeREST(wire.NEW, wire.OpCancel, &a2a.CancelRequest{ID: id})
		if err != nil || id != "" && slices.Contains(strings.Split(r.Path, "/"), id) {
			t.Errorf("%q: %+v, %v", id, r, err)
			continue
		}
		call, err := wire.DecodeREST(r.Method, r.Path, r.Query, r.Body)
		if id == "" {
			if a2a.KindOf(err) != a2a.KindInvalidParams {
				t.Errorf("no id: %v", err)
			}
		} else if err != nil || call.Cancel.ID != id {
			t.Errorf("%q: %s was read as %+v, %v", id, r.Path, call.Cancel, err)
		}
	}
	for d, ops := range map[wire.Dialect][]wire.Op{wire.PROTO: {wire.OpList}, wire.MID: {wire.OpGet}, wire.OLD: {wire.OpGet}} {
		for _, op := range ops {
			if _, err := wire.EncodeREST(d, op, &a2a.ListRequest{}); a2a.KindOf(err) != a2a.KindUnsupportedOperation {
				t.Errorf("%s: %v", d, err)
			}
		}
	}
}
