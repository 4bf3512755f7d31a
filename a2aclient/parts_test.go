package a2aclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
)

// echoes answers each message with a task whose artifact holds the parts as they came, in each dialect and binding.
func echoes(t *testing.T, js bool) map[string]*a2aclient.Client {
	t.Helper()
	echo := func(format, field string) func(*turn) {
		return func(t *turn) {
			var p struct {
				ID      string
				Message map[string]json.RawMessage
			}
			if err := json.Unmarshal(t.Params, &p); err != nil || p.Message[field] == nil {
				t.t.Errorf("%v: no %s in %s", err, field, t.Params)
			}
			id := p.ID
			if id == "" {
				id = "T"
			}
			s := strings.NewReplacer("$ID", id, "$PARTS", string(p.Message[field])).Replace(format)
			if js {
				t.Header().Set("X-Powered-By", "Express")
			}
			if strings.HasPrefix(t.Method, "POST ") {
				t.body(200, s)
				return
			}
			t.result(s)
		}
	}
	rpc := newAgent(t, map[string]func(*turn){
		"SendMessage":  echo(`{"task":{"id":"$ID","contextId":"C","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":$PARTS}]}}`, "parts"),
		"message/send": echo(`{"kind":"task","id":"$ID","contextId":"C","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":$PARTS}]}`, "parts"),
		"tasks/send":   echo(`{"id":"$ID","sessionId":"C","status":{"state":"completed"},"artifacts":[{"index":0,"parts":$PARTS}]}`, "parts"),
	})
	rest := newREST(t, map[string]func(*turn){
		"POST /message:send":    echo(`{"task":{"id":"$ID","contextId":"C","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":$PARTS}]}}`, "parts"),
		"POST /v1/message:send": echo(`{"task":{"id":"$ID","contextId":"C","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":$PARTS}]}}`, "content"),
		"GET /v1/card": func(t *turn) {
			if js {
				t.Header().Set("X-Powered-By", "Express")
			}
			t.body(404, `{"code":-32007,"message":"no"}`)
		},
	})
	return map[string]*a2aclient.Client{
		"v1.0": rpc.client("1.0", nil), "v0.3": rpc.client("0.3", nil),
		"v0.1":      rpc.client("0.1", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.OLD)}, SendAnyway: true}),
		"v1.0 REST": rest.restClient("1.0", nil), "v0.3 REST": rest.restClient("0.3", nil),
	}
}

func there(t *testing.T, c *a2aclient.Client, parts ...a2a.Part) []a2a.Part {
	t.Helper()
	e, err := c.Send(ctx(t), &a2a.SendRequest{Message: a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: parts}})
	x, ok := e.(*a2a.Task)
	if !ok || len(x.Artifacts) != 1 {
		t.Fatalf("%v, %v", e, err)
	}
	return x.Artifacts[0].Parts
}

// The bytes of files arrive and come back as they are, also when they look like base64 themselves (a2a-go#367).
func TestCheck11FileBytes(t *testing.T) {
	t.Parallel()
	for _, js := range []bool{false, true} {
		for name, c := range echoes(t, js) {
			for _, raw := range [][]byte{{}, {0}, {0xff, 0xfe, 0}, []byte("hello"), []byte("aGVsbG8="), []byte("YUdWc2JHOD0="), bytes.Repeat([]byte{7, 200}, 100_000)} {
				got := there(t, c, a2a.Part{Kind: a2a.PartRaw, Raw: raw, MediaType: "application/octet-stream"})
				if len(got) != 1 || got[0].Kind != a2a.PartRaw || !bytes.Equal(got[0].Raw, raw) {
					t.Errorf("%s (JavaScript: %v): %.20q came back as %.60q", name, js, raw, got)
				}
			}
		}
	}
}

// An agent in JavaScript takes the bytes of a file encoded once, others twice; before the first file it is asked what it is.
func TestFileEncodingOfV03REST(t *testing.T) {
	t.Parallel()
	for powered, want := range map[string]string{"Express": "aGk=", "": "YUdrPQ=="} {
		a := newREST(t, map[string]func(*turn){
			"GET /v1/card": func(t *turn) {
				t.Header().Set("X-Powered-By", powered)
				t.WriteHeader(404)
			},
			"POST /v1/message:send": func(t *turn) {
				t.says(`"fileWithBytes":"` + want + `"`)
				t.Header().Set("X-Powered-By", powered)
				t.body(200, protoTask)
			},
		})
		c := a.restClient("0.3", nil)
		for range 2 {
			if _, err := c.Send(ctx(t), &a2a.SendRequest{Message: a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: []byte("hi")}}}}); err != nil {
				t.Fatal(err)
			}
		}
		if a.called() != "GET /v1/card POST /v1/message:send POST /v1/message:send" {
			t.Errorf("called %s", a.called())
		}
	}
}

// Data of every form goes there and back, numbers as they were written where the binding is not made of doubles.
func TestCheck12DataParts(t *testing.T) {
	t.Parallel()
	for name, c := range echoes(t, false) {
		for _, data := range []string{`{"k":[1,{"x":null}]}`, `[1,"a",null]`, `"text"`, `12`, `true`, `null`, `12345678901234567890`, `{"n":9007199254740993}`, `{"value":1}`} {
			got := there(t, c, a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(data), Metadata: a2a.Metadata(`{"schema":"x"}`)})
			if len(got) != 1 || got[0].Kind != a2a.PartData || string(got[0].Data) != data {
				t.Errorf("%s: %s came back as %+v", name, data, got)
				continue
			}
			if string(got[0].Metadata) != `{"schema":"x"}` {
				t.Errorf("%s: the metadata of %s came back as %s", name, data, got[0].Metadata)
			}
		}
	}
}

// Links to files keep their type and name.
func TestFileLinks(t *testing.T) {
	t.Parallel()
	part := a2a.Part{Kind: a2a.PartURL, URL: "https://e.example/b.png", MediaType: "image/png", Filename: "b.png"}
	for name, c := range echoes(t, false) {
		r := &a2a.SendRequest{Message: a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{part, a2a.TextPart("look")}}}
		e, err := c.Send(ctx(t), r)
		x, ok := e.(*a2a.Task)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(r.Message.Parts, x.Artifacts[0].Parts); d != "" && name != "v0.3 REST" || len(x.Artifacts[0].Parts) != 2 {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Times are read in every form that agents write (a2a-java#232).
func TestCheck34Timestamps(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	for _, x := range []string{
		`"2026-01-02T03:04:05.678Z"`, `"2026-01-02T03:04:05.678"`, `"2026-01-02T03:04:05.678901"`, `"2026-01-02T03:04:05.678901234Z"`,
		`"2026-01-02T05:04:05.678+02:00"`, `1767323045.678`, `1767323045678`,
	} {
		for version, reply := range map[string]string{
			"1.0": `{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_COMPLETED","timestamp":%s}}}`,
			"0.3": `{"kind":"task","id":"T","contextId":"C","status":{"state":"completed","timestamp":%s}}`,
		} {
			f := func(t *turn) { t.result(fmt.Sprintf(reply, x)) }
			a := newAgent(t, map[string]func(*turn){"SendMessage": f, "message/send": f})
			e, err := a.client(version, nil).Send(ctx(t), hello())
			if got, ok := e.(*a2a.Task); !ok || !got.Status.Timestamp.Truncate(time.Millisecond).Equal(want) {
				t.Errorf("%s: %s is %v, %v", version, x, e, err)
			}
		}
	}
}

// What replies lack that strict readers demand is no reason not to read them (aegra#625), nor are enums as numbers and
// names with underscores (A2A#2087).
func TestLenientReading(t *testing.T) {
	t.Parallel()
	for version, replies := range map[string][]string{
		"1.0": {
			`{"task":{"id":"T","context_id":"C","status":{"state":3}}}`,
			`{"task":{"id":"T","contextId":"C","status":{"state":"completed"},"kind":"task","extra":{}}}`,
		},
		"0.3": {
			`{"id":"T","status":{"state":"completed"}}`,
			`{"kind":"task","id":"T","contextId":"C","status":{"state":"TASK_STATE_COMPLETED"},"history":null,"metadata":null}`,
		},
	} {
		for _, reply := range replies {
			f := func(t *turn) { t.result(reply) }
			a := newAgent(t, map[string]func(*turn){"SendMessage": f, "message/send": f})
			if e, err := a.client(version, nil).Send(ctx(t), hello()); err != nil || short(e) != "task:completed" {
				t.Errorf("%s: %s: %v, %v", version, reply, e, err)
			}
		}
	}
}
