package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// seeds adds every golden text whose name contains a word.
func seeds(f *testing.F, word string) {
	f.Helper()
	paths, _ := filepath.Glob("../wiretest/testdata/*/*.txtar")
	n := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.Contains(filepath.Base(path)+"/"+file.Name, word) {
				f.Add(file.Data)
				n++
			}
		}
	}
	if n == 0 {
		f.Fatalf("no seeds for %q", word)
	}
}

// A request is refused with an *a2a.Error, or says in every dialect what it said.
func FuzzDecodeCall(f *testing.F) {
	seeds(f, "request")
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCall(b)
		if !json.Valid(c.ID) {
			t.Fatalf("id %q", c.ID)
		}
		if err != nil {
			refusal(t, err)
			if reply := AppendError(nil, c.Dialect, c.ID, err); !json.Valid(reply) {
				t.Fatalf("reply %s", reply)
			}
			return
		}
		if c.Shared() || c.Dialect == OLD {
			task := c.TaskID()
			if c.AsOLD("ours"); c.TaskID() != "ours" || !bytes.Contains(AppendResult(nil, c, &a2a.Task{ID: "ours"}), jsontext.AppendString(nil, task)) {
				t.Fatalf("task %q became %q", task, c.TaskID())
			}
		}
		resend(t, c)
	})
}

// FuzzDecodeREST is the same over HTTP+JSON. The seeds are a line with the verb and the address, and a body.
func FuzzDecodeREST(f *testing.F) {
	seeds(f, "rest.txtar/")
	for _, path := range []string{"/v1/tasks/a%2Fb:cancel", "/a/v1/task/T/pushNotificationConfigs?configId=c&tenant=a", "/tasks?pageSize=9&status=working&includeArtifacts=1", "/%zz", "/agent/authenticatedExtendedCard"} {
		f.Add([]byte("POST " + path + "\n{\"url\":\"u\"}"))
		f.Add([]byte("GET " + path))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		head, body, _ := bytes.Cut(b, []byte("\n"))
		method, target, _ := strings.Cut(string(head), " ")
		path, rawQuery, _ := strings.Cut(target, "?")
		query, _ := url.ParseQuery(rawQuery)
		c, err := DecodeREST(method, path, query, body)
		if err != nil {
			var e *a2a.Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("refused with %#v", err)
			}
			for m := range Mapping100 + 1 {
				if status := Status(c, err, m); status < 400 || status > 599 || !json.Valid(AppendCallError(nil, c, err, m)) {
					t.Fatalf("HTTP %d %s", status, AppendCallError(nil, c, err, m))
				}
			}
			return
		}
		resend(t, c)
	})
}

// resend says a call in every dialect over every binding, and reads it.
func resend(t *testing.T, c *Call) {
	t.Helper()
	var params any
	switch {
	case c.Send != nil:
		params = c.Send
	case c.Get != nil:
		params = c.Get
	case c.Cancel != nil:
		params = c.Cancel
	case c.Subscribe != nil:
		params = c.Subscribe
	case c.List != nil:
		params = c.List
	case c.Push != nil:
		params = c.Push
	case c.PushGet != nil:
		params = c.PushGet
	case c.PushList != nil:
		params = c.PushList
	case c.PushDelete != nil:
		params = c.PushDelete
	}
	for _, d := range []Dialect{NEW, MID, OLD, PROTO} {
		for _, rest := range []bool{false, true} {
			var back *Call
			text, err := AppendCall(nil, d, c.Op, "1", params)
			var r *RESTRequest
			if rest {
				if r, err = EncodeREST(d, c.Op, params); err == nil {
					text = fmt.Appendf(nil, "%s %s %s\n%s", r.Method, r.Path, r.Query.Encode(), r.Body)
				}
			}
			if err != nil {
				if k := a2a.KindOf(err); k != a2a.KindUnsupportedOperation && (d != OLD || c.TaskID() != "") {
					t.Fatal(err)
				}
				continue
			}
			if rest {
				back, err = DecodeREST(r.Method, r.Path, r.Query, r.Body)
			} else {
				back, err = DecodeCall(text)
			}
			if err != nil {
				switch k := a2a.KindOf(err); {
				case k == a2a.KindTooLarge, c.Dialect != NEW && k == a2a.KindInvalidParams: // v1.0 wants ids that were optional
					continue
				case c.Tenant() == "agent" || reserved(c.Tenant()): // which cannot be in a path
					continue
				}
				t.Fatalf("%v\n%s", err, text)
			}
			if back.Op != c.Op || back.TaskID() != c.TaskID() {
				if reserved(c.Tenant()) || c.Tenant() == "agent" {
					continue
				}
				t.Fatalf("%d of %q became %d of %q: %s", c.Op, c.TaskID(), back.Op, back.TaskID(), text)
			}
			if c.Send != nil && len(back.Send.Message.Parts) != len(c.Send.Message.Parts) {
				t.Fatalf("%d parts of %d: %s", len(back.Send.Message.Parts), len(c.Send.Message.Parts), text)
			}
		}
	}
}

// A frame of a stream is refused, or it survives the log and all dialects.
func FuzzDecodeReply(f *testing.F) {
	seeds(f, "reply")
	archives, _ := filepath.Glob("../wiretest/testdata/golden/*.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			for e := range ReadSSE(bytes.NewReader(file.Data)) {
				f.Add(bytes.Clone(e.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range []Dialect{NEW, MID, OLD} {
			v, err := DecodeReply(d, OpStream, b)
			if err != nil {
				refusal(t, err)
				continue
			}
			if v != nil {
				retell(t, v.(a2a.Event))
			} else if d != OLD {
				t.Fatalf("nothing in %s", b)
			}
		}
		Final(b)
	})
}

// FuzzDecodeRESTReply is the same over HTTP+JSON, and any error can be read.
func FuzzDecodeRESTReply(f *testing.F) {
	archives, _ := filepath.Glob("../wiretest/testdata/golden/*rest.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i, file := range archive.Files {
			f.Add(200, uint8(i), file.Data)
			f.Add(404, uint8(i), file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, status int, op uint8, b []byte) {
		for _, d := range []Dialect{NEW, PROTO} {
			v, err := DecodeRESTReply(d, OpSend+Op(op)%OpExtendedCard, status, "", b)
			if err != nil {
				refusal(t, err)
			}
			if event, ok := v.(a2a.Event); ok {
				retell(t, event)
			}
		}
	})
}

// FuzzDecodePush: what a webhook is told is refused, or it names a task, and survives.
func FuzzDecodePush(f *testing.F) {
	seeds(f, "push")
	f.Fuzz(func(t *testing.T, b []byte) {
		note, err := DecodePush(b)
		if err != nil {
			refusal(t, err)
			return
		}
		if note.TaskID == "" {
			t.Fatalf("about no task: %s", b)
		}
		if note.Event == nil {
			return
		}
		retell(t, note.Event)
		for _, d := range []Dialect{NEW, MID, OLD} {
			p := &PushPayload{Event: note.Event}
			if task, ok := note.Event.(*a2a.Task); ok {
				p.Task = task
			}
			again := AppendPush(nil, d, p)
			if back, err := DecodePush(again); err != nil || back.TaskID != note.TaskID {
				t.Fatalf("%v\n%s", err, again)
			}
		}
	})
}

// retell puts an event through the log and says it in every dialect.
func retell(t *testing.T, event a2a.Event) {
	t.Helper()
	stored := a2a.MarshalEvent(event)
	back, err := a2a.UnmarshalEvent(stored)
	if err != nil {
		t.Fatalf("%v\n%s", err, stored)
	}
	if again := a2a.MarshalEvent(back); !bytes.Equal(again, stored) {
		t.Fatalf("stored %s\nread as %s", stored, again)
	}
	for _, c := range []*Call{
		{Dialect: NEW}, {Dialect: NEW, REST: true}, {Dialect: MID}, {Dialect: PROTO, REST: true}, {Dialect: PROTO, REST: true, SingleBase64: true}, {Dialect: OLD}, {Dialect: OLD, Named: true},
	} {
		c.ID, c.Op = []byte("1"), OpStream
		frames, err := AppendFrame(nil, c, a2a.NewEntry(1, at, stored, event))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(frames, []byte("\r")) || !bytes.HasSuffix(frames, []byte("\n\n")) {
			t.Fatalf("frames %q", frames)
		}
		n := 0
		for e, err := range ReadSSE(bytes.NewReader(frames)) {
			if n++; err != nil || !json.Valid(e.Data) {
				t.Fatalf("%v: %q", err, e.Data)
			}
			var v any
			if c.REST {
				v, err = DecodeRESTReply(c.Dialect, OpStream, 200, "", e.Data)
			} else {
				v, err = DecodeReply(c.Dialect, OpStream, e.Data)
			}
			if k := a2a.KindOf(err); k == a2a.KindTooLarge || k == a2a.KindInvalidAgentResponse && c.Dialect != NEW { // what is carried may be too much
				continue
			}
			if err != nil || v == nil {
				t.Fatalf("%v, %v: %s", v, err, e.Data)
			}
		}
		if task, ok := event.(*a2a.Task); c.Dialect == OLD && ok {
			n -= len(task.Artifacts)
		}
		if _, ok := event.(*a2a.Message); c.Dialect == OLD && ok {
			n--
		}
		if n != 1 {
			t.Fatalf("%d frames in %s", n, frames)
		}
	}
}

// Parts are where the families differ: whatever one reads, the others can say.
func FuzzParts(f *testing.F) {
	for _, part := range []string{
		`{"text":"x","mediaType":"text/plain"}`, `{"raw":"aGk=","filename":"a"}`, `{"url":"u"}`, `{"data":[1,{"a":null}]}`, `{"data":null}`, `{"filename":"a"}`,
		`{"kind":"text","text":"x","metadata":{"filename":"a","mediaType":5,"data_part_compat":true}}`, `{"type":"file","file":{"bytes":"-_","name":"a"}}`,
		`{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}}`, `{"text":"a","metadata":{"urn:parley:no-content":true}}`, `{"kind":"file","file":{}}`,
	} {
		f.Add([]byte(part))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, method := range []string{"SendMessage", "message/send", "tasks/send", "POST /v1/message:send"} {
			params := `{"id":"t","message":{"messageId":"m","parts":[` + string(b) + `]}}`
			var c *Call
			var err error
			if verb, path, ok := strings.Cut(method, " "); ok {
				c, err = DecodeREST(verb, path, nil, []byte(params))
			} else {
				c, err = DecodeCall([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`))
			}
			if err != nil {
				refusal(t, err)
				continue
			}
			resend(t, c)
		}
	})
}

// A card is refused, or can be written in every form and read again.
func FuzzDecodeCard(f *testing.F) {
	seeds(f, "card")
	f.Fuzz(func(t *testing.T, b []byte) {
		card, _, err := DecodeCard(b)
		if err != nil {
			refusal(t, err)
			return
		}
		for _, form := range []CardForm{CardNEW, CardMID, CardSuperset, CardBareLists, CardOLD, CardPROTO} {
			written := AppendCard(nil, form, card)
			if !json.Valid(written) {
				t.Fatalf("not JSON: %s", written)
			}
			back, _, err := DecodeCard(written)
			if err != nil {
				if a2a.KindOf(err) == a2a.KindTooLarge {
					continue
				}
				t.Fatalf("%v\n%s", err, written)
			}
			if (len(back.SecurityRequirements) > 0) != (len(card.SecurityRequirements) > 0) {
				t.Fatalf("the card's requirements changed from %v to %v", card.SecurityRequirements, back.SecurityRequirements)
			}
		}
	})
}

// A stream read at once gives what it gives in pieces.
func FuzzReadSSE(f *testing.F) {
	seeds(f, "frames")
	f.Add([]byte("\ufeffdata: a\r\n\rdata:b\n\n:c\r\revent:e\nid\ndata\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := frames(bytes.NewReader(b))
		if err != nil {
			refusal(t, err)
		}
		pieces, err2 := frames(&twos{b})
		if len(whole) != len(pieces) || (err == nil) != (err2 == nil) {
			t.Fatalf("%d events at once, %d in pieces", len(whole), len(pieces))
		}
		for i := range whole {
			if whole[i] != pieces[i] {
				t.Fatalf("%q at once, %q in pieces", whole[i], pieces[i])
			}
			if strings.Contains(whole[i].Data, "\r") {
				t.Fatalf("a line end within %q", whole[i].Data)
			}
		}
	})
}

// twos gives two bytes at a time.
type twos struct{ b []byte }

func (r *twos) Read(p []byte) (int, error) {
	n := copy(p[:min(2, len(p))], r.b)
	if r.b = r.b[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func refusal(t *testing.T, err error) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Kind == "" || e.Message == "" {
		t.Fatalf("refused with %#v", err)
	}
}
