package wiretest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares files with those of an archive in testdata, in order, or writes them with -update.
func golden(t *testing.T, path string, got []txtar.File) {
	t.Helper()
	path = filepath.Join("testdata", "golden", path)
	if *update {
		if err := os.WriteFile(path, txtar.Format(&txtar.Archive{Files: got}), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(want.Files), texts(got)); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", path, diff)
	}
}

func texts(files []txtar.File) (list []string) {
	for _, f := range files {
		list = append(list, "-- "+f.Name+" --\n"+string(f.Data))
	}
	return list
}

func file(name string, data []byte) txtar.File {
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, '\n')
	}
	return txtar.File{Name: name, Data: data}
}

var (
	at      = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	newest  = 3
	request = a2a.SendRequest{
		Tenant: "acme",
		Message: a2a.Message{
			ID: "m-1", ContextID: "C1", TaskID: "T1", Role: a2a.RoleUser, Parts: parts,
			Metadata: a2a.Metadata(`{"skillId":"add"}`), Extensions: []string{"https://e.example/x"}, ReferenceTaskIDs: []string{"T0"},
		},
		Configuration: a2a.SendConfiguration{
			AcceptedOutputModes: []string{"text/plain"}, HistoryLength: &newest, ReturnImmediately: true,
			Push: &a2a.PushConfig{ID: "p-1", URL: "https://c.example/hook", Token: "tok", Authentication: &a2a.PushAuthentication{Scheme: "Bearer", Credentials: "abc"}},
		},
		Metadata: a2a.Metadata(`{"trace":"1"}`),
	}
	parts = []a2a.Part{
		a2a.TextPart("2+2? \"<&>\" 世界\n"),
		{Kind: a2a.PartText, Text: "# notes", Filename: "notes.md", MediaType: "text/markdown"},
		{Kind: a2a.PartRaw, Raw: []byte("hi"), Filename: "a.txt", MediaType: "text/plain", Metadata: a2a.Metadata(`{"page":1}`)},
		{Kind: a2a.PartURL, URL: "https://e.example/b.png", MediaType: "image/png"},
		{Kind: a2a.PartData, Data: json.RawMessage(`{"k":9007199254740993}`)},
		{Kind: a2a.PartData, Data: json.RawMessage(`[1,2]`), Metadata: a2a.Metadata(`{"schema":"s"}`)},
		{Kind: a2a.PartData, Data: json.RawMessage(`null`)},
		{Kind: a2a.PartNoContent, Filename: "plan.pdf", MediaType: "application/pdf"},
	}
	message = a2a.Message{ID: "m-2", ContextID: "C1", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("4")}}
	task    = a2a.Task{
		ID: "T1", ContextID: "C1",
		Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired, Timestamp: at, Message: &a2a.Message{
			ID: "m-3", TaskID: "T1", ContextID: "C1", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Which city?")},
		}},
		Artifacts: []a2a.Artifact{{ID: "a-0", Name: "answer", Description: "the sum", Parts: parts, Metadata: a2a.Metadata(`{"n":1}`), Extensions: []string{"https://e.example/x"}}},
		History:   []a2a.Message{request.Message},
		Metadata:  a2a.Metadata(`{"cost":0.10}`),
	}
)

func state(s a2a.TaskState) *a2a.StatusUpdate {
	return &a2a.StatusUpdate{TaskID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: s, Timestamp: at}}
}

func chunk(text string, app, last bool) *a2a.ArtifactUpdate {
	return &a2a.ArtifactUpdate{TaskID: "T1", ContextID: "C1", Artifact: a2a.Artifact{ID: "a-0", Parts: []a2a.Part{a2a.TextPart(text)}}, Append: app, LastChunk: last}
}

// TestExchanges writes every request and every reply of a dialect over each of its bindings, compares them with the golden
// text, and reads them.
func TestExchanges(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			x := exchanges{T: t, way: w}
			x.exchange("send-task", wire.OpSend, &request, &task)
			x.exchange("send-message", wire.OpSend, &a2a.SendRequest{Message: a2a.Message{ID: "m", TaskID: "T1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}}}, &message)
			x.exchange("get", wire.OpGet, &a2a.GetRequest{ID: "T1", HistoryLength: &newest}, &task)
			x.exchange("get-odd-id", wire.OpGet, &a2a.GetRequest{ID: "a/b:cancel c?d", HistoryLength: &newest}, &task)
			x.exchange("list", wire.OpList, &a2a.ListRequest{
				Tenant: "acme", ContextID: "C1", Status: a2a.TaskStateWorking, PageSize: 10, PageToken: "p", HistoryLength: &newest, StatusTimestampAfter: at, IncludeArtifacts: true,
			}, &a2a.TaskPage{Tasks: []a2a.Task{task}, NextPageToken: "q", PageSize: 10, TotalSize: 11})
			x.exchange("list-nothing", wire.OpList, &a2a.ListRequest{}, &a2a.TaskPage{PageSize: 50})
			x.exchange("cancel", wire.OpCancel, &a2a.CancelRequest{ID: "T1", Metadata: a2a.Metadata(`{"why":"late"}`)}, &a2a.Task{ID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled, Timestamp: at}})
			push := a2a.PushConfig{Tenant: "acme", ID: "p-1", TaskID: "T1", URL: "https://c.example/hook", Token: "tok", Authentication: &a2a.PushAuthentication{
				Scheme: "Bearer", Credentials: "abc", MoreSchemes: []string{"Basic"},
			}}
			x.exchange("push-set", wire.OpPushSet, &push, &push)
			x.exchange("push-set-plain", wire.OpPushSet, &a2a.PushConfig{ID: "p-2", TaskID: "T1", URL: "https://c.example/hook"}, &a2a.PushConfig{ID: "p-2", TaskID: "T1", URL: "https://c.example/hook"})
			x.exchange("push-get", wire.OpPushGet, &a2a.PushGetRequest{Tenant: "acme", TaskID: "T1", ID: "p-1"}, &push)
			x.exchange("push-list", wire.OpPushList, &a2a.PushListRequest{TaskID: "T1", PageSize: 2, PageToken: "p"}, &a2a.PushConfigPage{Configs: []a2a.PushConfig{push}, NextPageToken: "q"})
			x.exchange("push-list-nothing", wire.OpPushList, &a2a.PushListRequest{TaskID: "T1"}, &a2a.PushConfigPage{})
			x.exchange("push-delete", wire.OpPushDelete, &a2a.PushDeleteRequest{TaskID: "T1", ID: "p-1"}, nil)
			x.exchange("extended-card", wire.OpExtendedCard, &a2a.ExtendedCardRequest{Tenant: "acme"}, &card)
			x.stream("stream", wire.OpStream, &request,
				&a2a.Task{ID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: at}},
				state(a2a.TaskStateWorking), chunk("chunk-1 ", false, false), chunk("chunk-2", true, true), state(a2a.TaskStateAuthRequired),
				state(a2a.TaskStateInputRequired), state(a2a.TaskStateRejected), state(a2a.TaskStateFailed), state(a2a.TaskStateCanceled), state(a2a.TaskStateCompleted),
			)
			x.stream("stream-message", wire.OpStream, &request, &message)
			x.stream("subscribe", wire.OpSubscribe, &a2a.SubscribeRequest{ID: "T1"}, &task, state(a2a.TaskStateCompleted))
			golden(t, strings.ReplaceAll(w.String(), " ", "-")+".txtar", x.files)
		})
	}
}

type exchanges struct {
	*testing.T
	way
	files []txtar.File
}

// exchange writes and reads a request and its reply, if the dialect has the operation.
func (x *exchanges) exchange(name string, op wire.Op, params, result any) {
	x.Helper()
	text, call, err := x.send(op, params)
	if text == nil {
		if a2a.KindOf(err) != a2a.KindUnsupportedOperation {
			x.Errorf("%s: %v", name, err)
		}
		return
	}
	if err != nil {
		x.Fatalf("%s: %v\n%s", name, err, text)
	}
	x.files = append(x.files, file(name+"/request", text))
	if diff := cmp.Diff(x.said(params), x.nameless(x, asked(call)), same); diff != "" {
		x.Errorf("%s: the request was read differently:\n%s", name, diff)
	}
	reply := wire.AppendResult(nil, call, result)
	if bytes.Contains(reply, []byte(`"abc"`)) {
		x.Errorf("%s: credentials go back: %s", name, reply)
	}
	x.files = append(x.files, file(name+"/reply", bytes.Clone(reply)))
	got, err := x.decode(op, reply)
	if err != nil {
		x.Fatalf("%s: %v\n%s", name, err, reply)
	}
	if diff := cmp.Diff(x.answered(call, result), x.nameless(x, got), same); diff != "" {
		x.Errorf("%s: the reply was read differently:\n%s", name, diff)
	}
}

// stream writes a request and the frames that answer it.
func (x *exchanges) stream(name string, op wire.Op, params any, events ...a2a.Event) {
	x.Helper()
	text, call, err := x.send(op, params)
	if err != nil {
		x.Fatal(err)
	}
	var frames []byte
	for i, e := range events {
		if frames, err = wire.AppendFrame(frames, call, a2a.NewEntry(int64(100+i), at, a2a.MarshalEvent(e), e)); err != nil {
			x.Fatal(err)
		}
	}
	frames = wire.AppendEventFrame(frames, call, 0, events[0])
	frames = wire.AppendErrorFrame(frames, call, a2a.ErrTaskNotFound, wire.Mapping101)
	x.files = append(x.files, file(name+"/request", text), file(name+"/frames", frames))
}

// said is what is left of params after a way through d.
func (x *exchanges) said(params any) any {
	d := x.Dialect
	switch v := params.(type) {
	case *a2a.SendRequest:
		r := wiretest.SaidRequest(d, *v)
		return &r
	case *a2a.CancelRequest:
		if own := *v; d == wire.PROTO {
			own.Metadata = nil
			return &own
		}
	case *a2a.PushConfig:
		p := wiretest.SaidPush(d, *v)
		return &p
	case *a2a.PushGetRequest:
		own := *v
		if d == wire.OLD {
			own.ID = ""
		}
		if d == wire.MID || d == wire.OLD {
			own.Tenant = ""
		}
		return &own
	case *a2a.PushListRequest:
		if d == wire.MID {
			return &a2a.PushListRequest{TaskID: v.TaskID}
		}
	case *a2a.ExtendedCardRequest:
		if d == wire.MID {
			return &a2a.ExtendedCardRequest{}
		}
	}
	return params
}

// answered is what is left of a result. Clients of OLD hear of the task by the name they gave it.
func (x *exchanges) answered(call *wire.Call, result any) any {
	d := x.Dialect
	switch v := result.(type) {
	case *a2a.Task:
		if own := *v; d == wire.OLD {
			own.ID = call.TaskID()
			result = &own
		}
	case *a2a.Message:
		if own := *v; d == wire.OLD {
			own.TaskID = call.TaskID()
			result = &own
		}
	}
	public := func(p a2a.PushConfig) a2a.PushConfig {
		if p = wiretest.SaidPush(d, p); p.Authentication != nil {
			p.Authentication = &a2a.PushAuthentication{Scheme: p.Authentication.Scheme, MoreSchemes: p.Authentication.MoreSchemes}
		}
		if d == wire.PROTO {
			p.Tenant = ""
		}
		return p
	}
	switch v := result.(type) {
	case a2a.Event:
		return wiretest.Said(d, v)
	case *a2a.PushConfig:
		p := public(*v)
		return &p
	case *a2a.PushConfigPage:
		page := &a2a.PushConfigPage{NextPageToken: v.NextPageToken}
		if d == wire.MID {
			page.NextPageToken = ""
		}
		for _, p := range v.Configs {
			page.Configs = append(page.Configs, public(p))
		}
		return page
	case *a2a.AgentCard:
		if d == wire.MID || d == wire.PROTO {
			return midCard(v)
		}
		return newCard(v)
	}
	return result
}

// asked returns the params of a call.
func asked(c *wire.Call) any {
	switch c.Op {
	case wire.OpSend, wire.OpStream:
		return c.Send
	case wire.OpGet:
		return c.Get
	case wire.OpList:
		return c.List
	case wire.OpCancel:
		return c.Cancel
	case wire.OpSubscribe:
		return c.Subscribe
	case wire.OpPushSet:
		return c.Push
	case wire.OpPushGet:
		return c.PushGet
	case wire.OpPushList:
		return c.PushList
	case wire.OpPushDelete:
		return c.PushDelete
	case wire.OpExtendedCard:
		return c.Card
	}
	return nil
}

var faults = []error{
	a2a.Errorf(a2a.KindParse, "not JSON"), a2a.Errorf(a2a.KindInvalidRequest, "not a request"), a2a.Errorf(a2a.KindMethodNotFound, "no such method"),
	&a2a.Error{Kind: a2a.KindInvalidParams, Message: "id must not be empty", Field: "id"},
	a2a.Errorf(a2a.KindInternal, "open /secret/path"), errors.New("SELECT secret"), fmt.Errorf("while reading: %w", errors.New("secret")),
	&a2a.Error{Kind: a2a.KindTaskNotFound, Message: "task not found", Metadata: map[string]string{"taskId": "T1", "a": "\"b\""}},
	fmt.Errorf("secret: %w", a2a.ErrTaskNotCancelable), a2a.ErrPushNotSupported, a2a.ErrUnsupportedOperation,
	a2a.Errorf(a2a.KindContentType, "text/csv is not understood"), a2a.Errorf(a2a.KindInvalidAgentResponse, "it answered nonsense"),
	a2a.Errorf(a2a.KindExtendedCardNotSet, "there is no extended card"), a2a.Errorf(a2a.KindExtensionRequired, "an extension is required"),
	a2a.Errorf(a2a.KindVersionNotSupported, "version 9.9 is not supported"), a2a.ErrTaskTerminal, a2a.Errorf(a2a.KindTaskTerminal, "too late"),
	a2a.ErrUnauthenticated, a2a.Errorf(a2a.KindForbidden, "not for you"),
	&a2a.Error{Kind: a2a.KindRateLimited, Message: "slow down", RetryAfter: 1500 * time.Millisecond},
	a2a.Errorf(a2a.KindTooLarge, "the request is too large"), &a2a.Error{Kind: a2a.KindUnavailable, RetryAfter: 5 * time.Second},
}

func TestErrors(t *testing.T) {
	t.Parallel()
	var files []txtar.File
	for i, err := range faults {
		for _, d := range dialects {
			b := wire.AppendError(nil, d, json.RawMessage("9"), err)
			if bytes.Contains(b, []byte("secret")) {
				t.Errorf("an internal error leaks: %s", b)
			}
			files = append(files, file(fmt.Sprintf("%02d %s %s HTTP %d", i, a2a.KindOf(err), d, wire.HTTPStatus(err)), b))
			_, got := wire.DecodeReply(d, wire.OpGet, b)
			var e *a2a.Error
			if !errors.As(got, &e) {
				t.Fatalf("read as %v: %s", got, b)
			}
			if want := a2a.KindOf(err); d == wire.NEW && e.Kind != want || e.Code == 0 || e.Message == "" {
				t.Errorf("%s was read as %s (%d) from %s", want, e.Kind, e.Code, b)
			}
		}
	}
	golden(t, "errors.txtar", files)
}

// TestRESTErrors does the same over HTTP+JSON.
func TestRESTErrors(t *testing.T) {
	t.Parallel()
	var files []txtar.File
	for i, err := range append(faults, error(&wire.MethodError{Allow: "GET, POST"})) {
		for _, tt := range []struct {
			name    string
			dialect wire.Dialect
			mapping wire.ErrorMapping
		}{{"v1.0.1", wire.NEW, wire.Mapping101}, {"v1.0.0", wire.NEW, wire.Mapping100}, {"v0.3", wire.PROTO, wire.Mapping101}} {
			call := &wire.Call{Dialect: tt.dialect, REST: true}
			b, status := wire.AppendCallError(nil, call, err, tt.mapping), wire.Status(call, err, tt.mapping)
			if bytes.Contains(b, []byte("secret")) {
				t.Errorf("an internal error leaks: %s", b)
			}
			files = append(files, file(fmt.Sprintf("%02d %s %s HTTP %d", i, a2a.KindOf(err), tt.name, status), b))
			for _, op := range []wire.Op{wire.OpGet, wire.OpSend, wire.OpPushSet} {
				_, got := wire.DecodeRESTReply(tt.dialect, op, status, "application/json", b)
				var e *a2a.Error
				if !errors.As(got, &e) || e.Kind != a2a.KindOf(err) || e.Message == "" {
					t.Errorf("%s was read as %v from HTTP %d %s", a2a.KindOf(err), got, status, b)
				}
			}
		}
	}
	golden(t, "errors-rest.txtar", files)
}
