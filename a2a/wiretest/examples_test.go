package wiretest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/a2a"
	"parley/a2a/wire"
)

// TestExamples reads the examples of the published documents, and one exchange as every version writes it. "as printed"
// are those with comments and trailing commas: they are not JSON, and not repaired. What was understood is in golden.
func TestExamples(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/examples/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, path := range archives {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := wire.MID
			switch {
			case strings.Contains(name, "v1.0"):
				d = wire.NEW
			case strings.Contains(name, "v0.1"):
				d = wire.OLD
			}
			var files []txtar.File
			for _, f := range archive.Files {
				_, kind, _ := strings.Cut(f.Name, " ")
				kind, printed := strings.CutSuffix(kind, " as printed")
				got := understood(d, kind, f.Data)
				if printed != strings.Contains(string(got), "not valid JSON") {
					t.Errorf("%s: %s", f.Name, got)
				}
				files = append(files, file(f.Name, got))
			}
			golden(t, "examples-"+name, files)
		})
	}
}

// understood reads an example and says in v1.0 what it means.
func understood(d wire.Dialect, kind string, text []byte) []byte {
	wrapped := func(before string) []byte { return fmt.Appendf(nil, before+"%s}", text) }
	switch kind {
	case "object SendMessageRequest":
		kind, text = "request", wrapped(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`)
	case "object TaskPushNotificationConfig":
		kind, text = "request", wrapped(`{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":`)
	case "object StreamResponse", "object SendMessageResponse", "object Task", "object Message", "object":
		if d == wire.NEW && kind == "object Message" {
			text = wrapped(`{"message":`)
		}
		kind, text = "reply", wrapped(`{"jsonrpc":"2.0","id":1,"result":`)
	case "object ListTasksResponse":
		v, err := wire.DecodeReply(d, wire.OpList, wrapped(`{"jsonrpc":"2.0","id":1,"result":`))
		if err != nil {
			return refused(err)
		}
		return wire.AppendResult(nil, &wire.Call{Dialect: wire.NEW, Op: wire.OpList}, v)
	}
	switch kind {
	case "request":
		call, err := wire.DecodeCall(text)
		head := fmt.Appendf(nil, "%s %s %s\n", call.Dialect, call.ID, call.Method)
		if err != nil {
			return append(head, refused(err)...)
		}
		if call.Send != nil && !bytes.Contains(text, []byte(call.Send.Message.ID)) {
			call.Send.Message.ID = "(made)"
		}
		if body, err := wire.AppendCall(nil, wire.NEW, call.Op, "", asked(call)); err == nil {
			head = append(head, body...)
		}
		return head
	case "reply":
		v, err := wire.DecodeReply(d, wire.OpStream, text)
		if err != nil {
			return refused(err)
		}
		return a2a.MarshalEvent(v.(a2a.Event))
	case "card":
		card, notes, err := wire.DecodeCard(text)
		if err != nil {
			return refused(err)
		}
		return fmt.Appendf(nil, "%s\nnotes %q", wire.AppendCard(nil, wire.CardNEW, card), notes)
	}
	return fmt.Appendf(nil, "no such kind: %s", kind)
}

func refused(err error) []byte {
	var field string
	if e, ok := err.(*a2a.Error); ok && e.Field != "" {
		field = " at " + e.Field
	}
	return fmt.Appendf(nil, "refused: %s%s: %v", a2a.KindOf(err), field, err)
}

// odd are forms that readers meet and writers never make.
func TestOddForms(t *testing.T) {
	t.Parallel()
	send := func(method, message string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":` + message + `}}`
	}
	reply := func(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }
	var files []txtar.File
	for _, tt := range []struct {
		name, kind string
		dialect    wire.Dialect
		text       string
	}{
		{"snake case and numbers", "request", wire.NEW, send("SendMessage", `{"message_id":"m","context_id":"C","task_id":"T","role":1,"parts":[{"text":"x","media_type":"text/plain"}],"reference_task_ids":["a"]}`)},
		{"lower-case role and kinds in v1.0", "request", wire.NEW, send("SendMessage", `{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}`)},
		{"nulls", "request", wire.NEW, `{"jsonrpc":"2.0","id":null,"method":"SendMessage","params":{"tenant":null,"message":{"messageId":"m","role":null,"parts":[{"text":"x","data":null,"metadata":null},{"data":null},null],"extensions":null,"metadata":null},"configuration":{"historyLength":null,"acceptedOutputModes":null,"taskPushNotificationConfig":null},"metadata":null}}`},
		{"number as string", "request", wire.NEW, `{"jsonrpc":"2.0","id":1.50,"method":"GetTask","params":{"id":"T","history_length":"5"}}`},
		{"type in place of kind", "request", wire.MID, send("message/send", `{"messageId":"m","role":"user","parts":[{"type":"text","text":"x"},{"type":"file","file":{"name":"a","bytes":"aGk"}},{"type":"data","data":[1]}]}`)},
		{"neither kind nor type", "request", wire.MID, send("message/send", `{"messageId":"m","parts":[{"text":"x"},{"file":{"uri":"https://e.example/a"}},{"data":{"a":1}},{"data":null}]}`)},
		{"file data as bytes", "request", wire.MID, send("message/send", `{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"data":"-_8","mimeType":"image/png"}}]}`)},
		{"bytes and uri", "request", wire.MID, send("message/send", `{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"bytes":"","uri":"https://e.example/a"}}]}`)},
		{"named file without content", "request", wire.MID, send("message/send", `{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"name":"plan.pdf","mimeType":"application/pdf"}}]}`)},
		{"named file without content in v1.0", "request", wire.NEW, send("SendMessage", `{"messageId":"m","parts":[{"filename":"plan.pdf"}]}`)},
		{"content in place of parts", "request", wire.MID, send("message/send", `{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]}`)},
		{"message id beside the message", "request", wire.MID, `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"x"}]},"messageId":"beside"}}`},
		{"no message id", "request", wire.MID, send("message/send", `{"parts":[{"kind":"text","text":"x"}]}`)},
		{"not blocking", "request", wire.MID, `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","parts":[{"kind":"text","text":"x"}]},"configuration":{"blocking":false,"historyLength":-3,"pushNotification":{"url":"https://c.example","authentication":{"schemes":["Basic","Bearer"]}}}}}`},
		{"data in a wrapper without the mark", "request", wire.MID, send("message/send", `{"messageId":"m","parts":[{"kind":"data","data":{"value":1}}]}`)},
		{"data in a wrapper with the mark", "request", wire.MID, send("message/send", `{"messageId":"m","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true,"a":1}}]}`)},
		{"a name carried in metadata", "request", wire.MID, send("message/send", `{"messageId":"m","parts":[{"kind":"text","text":"x","metadata":{"filename":"a.md","mediaType":"text/markdown","filename2":1}}]}`)},
		{"duplicate members", "request", wire.MID, send("message/send", `{"messageId":"a","messageId":"m","parts":[{"text":"1"}],"parts":[{"text":"2"}]}`)},
		{"old method", "request", wire.MID, `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t"}}`},
		{"unknown method", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"DropTables"}`},
		{"push method", "request", wire.MID, `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"T"}}`},
		{"part that contradicts its kind", "request", wire.MID, send("message/send", `{"messageId":"m","parts":[{"kind":"file","text":"x"}]}`)},
		{"part of an unknown kind", "request", wire.MID, send("message/send", `{"messageId":"m","parts":[{"kind":"form","text":"x"}]}`)},
		{"part of nothing", "request", wire.NEW, send("SendMessage", `{"messageId":"m","parts":[{}]}`)},
		{"no base64", "request", wire.NEW, send("SendMessage", `{"messageId":"m","parts":[{"raw":"<no>"}]}`)},
		{"no parts", "request", wire.NEW, send("SendMessage", `{"messageId":"m","parts":[]}`)},
		{"no message id in v1.0", "request", wire.NEW, send("SendMessage", `{"parts":[{"text":"x"}]}`)},
		{"no params", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`},
		{"params that are a list", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[1]}`},
		{"metadata that is no object", "request", wire.NEW, send("SendMessage", `{"messageId":"m","parts":[{"text":"x"}],"metadata":[]}`)},
		{"negative history", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"T","historyLength":-1}}`},
		{"a state that does not exist", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"DONE"}}`},
		{"states in numbers and old words", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"input-required","pageSize":100}}`},
		{"a page too large", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":101}}`},
		{"an empty page", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":0}}`},
		{"a time that is none", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"statusTimestampAfter":"soon"}}`},
		{"no id", "request", wire.NEW, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":""}}`},

		{"task without kind", "reply", wire.MID, reply(`{"id":"T","status":{"state":"cancelled","timestamp":"2026-01-02T03:04:05.678901"}}`)},
		{"message without kind", "reply", wire.MID, reply(`{"messageId":"m","parts":[{"text":"x"}]}`)},
		{"updates without kind", "reply", wire.MID, reply(`{"taskId":"T","status":{"state":"TASK_STATE_CANCELLED","message":{"parts":[]}}}`)},
		{"artifact without kind or parts", "reply", wire.MID, reply(`{"taskId":"T","artifact":{"artifactId":"a"},"append":true,"lastChunk":null}`)},
		{"unknown state", "reply", wire.MID, reply(`{"kind":"status-update","taskId":"T","status":{"state":"unknown","timestamp":"once"},"final":false}`)},
		{"state by number", "reply", wire.NEW, reply(`{"statusUpdate":{"taskId":"T","status":{"state":5,"timestamp":1767323045}}}`)},
		{"task without id", "reply", wire.MID, reply(`{"kind":"task","status":{"state":"working"}}`)},
		{"something else", "reply", wire.MID, reply(`{"taskId":"T","reason":"close"}`)},
		{"nothing", "reply", wire.NEW, `{"jsonrpc":"2.0","id":1}`},
		{"null", "reply", wire.NEW, `{"jsonrpc":"2.0","id":1,"result":null,"error":null}`},
		{"error beside a null result", "reply", wire.MID, `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32002,"message":"no"}}`},
		{"error without an envelope", "reply", wire.MID, `{"code":-32001,"message":"gone","data":{"a": 1}}`},
		{"error of words", "reply", wire.MID, `{"error":"it broke"}`},
		{"error of the wrong form", "reply", wire.NEW, `{"error":{"code":"x","message":{},"data":[1,{"@type":"x","reason":5}]}}`},
		{"terminal, as most say it", "reply", wire.MID, `{"error":{"code":-32602,"message":"Task T is in terminal state: completed"}}`},
		{"an error of its own", "reply", wire.NEW, `{"error":{"code":-32050,"message":"moon phase"}}`},
		{"a web page", "reply", wire.NEW, `<html>`},

		{"card of words", "card", wire.MID, `{"name":"c","url":"https://a.example/","version":1,"capabilities":null,"skills":null,"provider":"Example","authentication":{"schemes":["Bearer","ApiKey","OAuth2","Magic"],"credentials":"{\"in\":\"query\",\"name\":\"k\",\"authorizationUrl\":\"https://o.example/a\",\"tokenUrl\":\"https://o.example/t\"}"},"defaultInputModes":["text","data","file"]}`},
		{"card of words without hints", "card", wire.MID, `{"name":"c","url":"https://a.example/","authentication":{"schemes":["Basic","ApiKey","OAuth2"]}}`},
		{"card as a2a-go writes it", "card", wire.NEW, `{"name":"c","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0.1","tenant":""}],"securitySchemes":{"b":{"type":"http","scheme":"bearer","http":{"scheme":"bearer"}}},"securityRequirements":[{"schemes":{"b":["s"]}}]}`},
		{"card with the words of before", "card", wire.NEW, `{"name":"c","supportedInterfaces":[{"url":"u"}],"securitySchemes":{"b":{"http_auth_security_scheme":{"scheme":"bearer"}},"m":{"type":"magic"}},"security":[{"b":["s"]},{"gone":[]},{}],"signatures":[]}`},
		{"card that is 1.0 with a url", "card", wire.NEW, `{"name":"c","protocolVersion":"1.0","url":"u"}`},
		{"card of no version", "card", wire.NEW, `{"name":"c","url":"u"}`},
		{"card without an address", "card", wire.NEW, `{"name":"c","supportedInterfaces":[{"protocolBinding":"JSONRPC"}]}`},
		{"card without a name", "card", wire.NEW, `{"url":"u"}`},
		{"card with a url of the wrong form", "card", wire.NEW, `{"name":"c","url":5}`},
		{"card that is a list", "card", wire.NEW, `[]`},
		{"main interface repeated with a tenant", "card", wire.MID, `{"name":"c","protocolVersion":"0.3.0","url":"u","additionalInterfaces":[{"url":"u","transport":"JSONRPC","tenant":"t"},{"url":"g","transport":"GRPC"},{"transport":"GRPC"}]}`},
	} {
		got := append([]byte(tt.text+"\n"), understood(tt.dialect, tt.kind, []byte(tt.text))...)
		files = append(files, file(tt.name, got))
	}
	golden(t, "odd.txtar", files)
}

// TestEnvelope pins what a request must be before its method counts.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		id   string
		want a2a.ErrorKind
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"T"}}`, `1`, ""},
		{` {"params":{"id":"T"},"method":"GetTask","id":"a\u0062","jsonrpc":"2.0","extra":[{}]} `, `"a\u0062"`, ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"tasks/get","params":{"id":"T"}}`, `1.5`, ""},
		{`{"jsonrpc":"2.0","id":1e3,"method":"tasks/get","params":{"id":"T"}}`, `1e3`, ""},
		{`{"jsonrpc":"2.0","id":1152921504606846976,"method":"tasks/get","params":{"id":"T"}}`, `1152921504606846976`, ""},
		{`{"jsonrpc":"2.0","id":-0,"method":"tasks/get","params":{"id":"T"}}`, `-0`, ""},
		{`{"jsonrpc":"2.0","id":null,"method":"tasks/get","params":{"id":"T"}}`, `null`, ""},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1022) + `","method":"tasks/get","params":{"id":"T"}}`, `"` + strings.Repeat("x", 1022) + `"`, ""},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1023) + `","method":"tasks/get","params":{"id":"T"}}`, `null`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","id":true,"method":"tasks/get","params":{"id":"T"}}`, `null`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","id":{},"method":"tasks/get","params":{"id":"T"}}`, `null`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","id":[1],"method":"tasks/get","params":{"id":"T"}}`, `null`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"T"}}`, `null`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"1.0","id":1,"method":"tasks/get","params":{"id":"T"}}`, `1`, a2a.KindInvalidRequest},
		{`{"jsonrpc":2.0,"id":1,"method":"tasks/get","params":{"id":"T"}}`, `1`, a2a.KindInvalidRequest},
		{`{"id":1,"method":"tasks/get","params":{"id":"T"}}`, `1`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","id":1}`, `1`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, `1`, a2a.KindInvalidRequest},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, `1`, a2a.KindInvalidRequest},
		{`[{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"T"}}]`, `null`, a2a.KindInvalidRequest},
		{`[]`, `null`, a2a.KindInvalidRequest},
		{`"hello"`, `null`, a2a.KindInvalidRequest},
		{`null`, `null`, a2a.KindInvalidRequest},
		{``, `null`, a2a.KindParse},
		{`{`, `null`, a2a.KindParse},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"T"}} x`, `null`, a2a.KindParse},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"T"}}{}`, `null`, a2a.KindParse},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"T",}}`, `null`, a2a.KindParse},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"id\":\"\xff\"}}", `null`, a2a.KindParse},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"T"}}`, `null`, a2a.KindParse},
	} {
		call, err := wire.DecodeCall([]byte(tt.body))
		if got := a2a.KindOf(err); got != tt.want || string(call.ID) != tt.id {
			t.Errorf("%.90s: %s with id %s (%v), want %s with id %.50s", tt.body, got, call.ID, err, tt.want, tt.id)
		}
		if b := wire.AppendError(nil, call.Dialect, call.ID, err); err != nil && !json.Valid(b) {
			t.Errorf("not JSON: %s", b)
		}
	}
}
