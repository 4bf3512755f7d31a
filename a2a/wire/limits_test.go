package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/a2a"
)

// TestLimits tries every limit one below, at and one above, in a request and in a reply.
func TestLimits(t *testing.T) {
	t.Parallel()
	l := &a2a.Limits
	object := func(n int, size int) string { // n members, size bytes in all if that is more
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%d":0`, i)
		}
		if rest := size - b.Len() - len(`,"":""`) - 1; rest >= 0 {
			b.WriteString(`,"":"` + strings.Repeat("x", rest) + `"`)
		}
		return b.String() + "}"
	}
	message := func(members string) string { return `{"messageId":"m","role":"ROLE_USER",` + members + `}` }
	for _, tt := range []struct {
		name  string
		limit int
		make  func(n int) string // a message
		kind  a2a.ErrorKind
		field string // in params
	}{
		{"parts", l.Parts, func(n int) string {
			return message(`"parts":[` + strings.Repeat(`{"text":"x"},`, n-1) + `{"text":"x"}]`)
		}, a2a.KindInvalidParams, "message.parts"},
		{"text", l.TextPart, func(n int) string {
			return message(`"parts":[{"text":"a"},{"text":"` + strings.Repeat("x", n) + `"}]`)
		}, a2a.KindTooLarge, "message.parts[1].text"},
		{"text in UTF-8 bytes", l.TextPart, func(n int) string {
			return message(`"parts":[{"text":"` + strings.Repeat(`\u00e9`, n/2) + strings.Repeat("x", n%2) + `"}]`)
		}, a2a.KindTooLarge, "message.parts[0].text"},
		{"file", l.InlineFile, func(n int) string {
			return message(`"parts":[{"raw":"` + base64.StdEncoding.EncodeToString(make([]byte, n)) + `"}]`)
		}, a2a.KindTooLarge, "message.parts[0].raw"},
		{"metadata", l.Metadata, func(n int) string {
			return message(`"parts":[{"text":"x"}],"metadata":` + object(1, n))
		}, a2a.KindTooLarge, "message.metadata"},
		{"metadata of a part", l.Metadata, func(n int) string {
			return message(`"parts":[{"text":"x","metadata":` + object(1, n) + `}]`)
		}, a2a.KindTooLarge, "message.parts[0].metadata"},
		{"metadata keys", l.MetadataKeys, func(n int) string {
			return message(`"parts":[{"text":"x"}],"metadata":` + object(n, 0))
		}, a2a.KindInvalidParams, "message.metadata"},
		{"depth", l.JSONDepth, func(n int) string { // the message is the third level of a request
			return message(`"parts":[{"data":` + strings.Repeat("[", n-5) + strings.Repeat("]", n-5) + `}]`)
		}, a2a.KindInvalidParams, "message.parts[0].data"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for n := tt.limit - 1; n <= tt.limit+1; n++ {
				text := tt.make(n)
				call, err := DecodeCall([]byte(`{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":` + text + `}}`))
				checkLimit(t, "request", n, tt.limit, err, tt.kind, tt.field)
				if string(call.ID) != "7" || call.Dialect != NEW {
					t.Errorf("%d: the reply would go to id %s in %s", n, call.ID, call.Dialect)
				}
				_, err = DecodeReply(NEW, OpSend, []byte(`{"jsonrpc":"2.0","id":7,"result":{"message":`+text+`}}`))
				kind := tt.kind
				if kind == a2a.KindInvalidParams {
					kind = a2a.KindInvalidAgentResponse // it is not our caller's fault
				}
				checkLimit(t, "reply", n, tt.limit, err, kind, "")
			}
		})
	}
}

func checkLimit(t *testing.T, what string, n, limit int, err error, kind a2a.ErrorKind, field string) {
	t.Helper()
	if n <= limit {
		if err != nil {
			t.Errorf("%s: %d of %d is refused: %v", what, n, limit, err)
		}
		return
	}
	e, ok := err.(*a2a.Error)
	if !ok || e.Kind != kind {
		t.Fatalf("%s: %d of %d: %v, want kind %s", what, n, limit, err, kind)
	}
	if field != "" && !strings.HasPrefix(e.Field, field) {
		t.Errorf("%s: the field at fault is %q, want %q", what, e.Field, field)
	}
	if len(e.Message) > 200 {
		t.Errorf("%s: a message of %d bytes", what, len(e.Message))
	}
}

// However long the names in a request, an error does not repeat them.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	for _, message := range []string{`{"` + long + `":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `{"messageId":"` + long + `","parts":5}`} {
		_, err := DecodeCall([]byte(`{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":` + message + `}}`))
		e, ok := err.(*a2a.Error)
		if !ok || e.Kind != a2a.KindInvalidParams || len(e.Message)+len(e.Field) > 600 || !utf8.ValidString(e.Message) {
			t.Errorf("%.500v", err)
		}
	}
}

// An artifact may have grown by any number of pieces, so its parts are not counted.
func TestArtifactOfManyParts(t *testing.T) {
	t.Parallel()
	parts := strings.Repeat(`{"kind":"text","text":"x"},`, 1000) + `{"kind":"text","text":"x"}`
	v, err := DecodeReply(MID, OpGet, []byte(`{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"T","status":{"state":"working"},"artifacts":[{"artifactId":"a","parts":[`+parts+`]}]}}`))
	if err != nil || len(v.(*a2a.Task).Artifacts[0].Parts) != 1001 {
		t.Errorf("%v", err)
	}
}

// What was accepted once can be kept and read again, though it lies deeper in a task.
func TestKeptDepth(t *testing.T) {
	t.Parallel()
	n := a2a.Limits.JSONDepth - 5
	call, err := DecodeCall([]byte(`{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m","parts":[{"data":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	kept := a2a.MarshalEvent(&a2a.Task{ID: "T", History: []a2a.Message{call.Send.Message}})
	if _, err := a2a.UnmarshalEvent(kept); err != nil {
		t.Errorf("%v", err)
	}
}

func TestCardLimits(t *testing.T) {
	t.Parallel()
	card := func(skills, size int) []byte {
		head := `{"name":"c","url":"u","skills":[` + strings.TrimSuffix(strings.Repeat(`{"id":"s"},`, skills), ",") + `],"x":"`
		return []byte(head + strings.Repeat("x", max(0, size-len(head)-2)) + `"}`)
	}
	for n := a2a.Limits.CardSkills - 1; n <= a2a.Limits.CardSkills+1; n++ {
		_, _, err := DecodeCard(card(n, 0))
		checkLimit(t, "skills", n, a2a.Limits.CardSkills, err, a2a.KindInvalidParams, "skills")
	}
	for n := a2a.Limits.Card - 1; n <= a2a.Limits.Card+1; n++ {
		b := card(1, n)
		if len(b) != n {
			t.Fatalf("a card of %d bytes, want %d", len(b), n)
		}
		_, _, err := DecodeCard(b)
		checkLimit(t, "card", n, a2a.Limits.Card, err, a2a.KindTooLarge, "")
	}
}

func TestSSELimits(t *testing.T) {
	t.Parallel()
	read := func(stream []byte) (n int, err error) {
		for e, fault := range ReadSSE(bytes.NewReader(stream)) {
			if fault != nil {
				return n, fault
			}
			n = len(e.Data)
		}
		return n, nil
	}
	for n := a2a.Limits.SSELine - 1; n <= a2a.Limits.SSELine+1; n++ {
		stream := append([]byte("data: "), bytes.Repeat([]byte("x"), n-len("data: "))...)
		got, err := read(append(stream, "\n\n"...))
		checkLimit(t, "line", n, a2a.Limits.SSELine, err, a2a.KindTooLarge, "")
		if err == nil && got != n-len("data: ") {
			t.Errorf("%d bytes of %d", got, n)
		}
	}
	half := "data:" + strings.Repeat("x", a2a.Limits.SSEEvent/2) + "\n"
	for extra := -1; extra <= 1; extra++ { // two halves joined by a line break
		rest := "data:" + strings.Repeat("x", a2a.Limits.SSEEvent/2-1+extra) + "\n\n"
		_, err := read([]byte(half + rest))
		checkLimit(t, "event", a2a.Limits.SSEEvent+extra, a2a.Limits.SSEEvent, err, a2a.KindTooLarge, "")
	}
	// A line without an end is given up before all of it is there.
	if _, err := read(bytes.Repeat([]byte("x"), 3*a2a.Limits.SSELine)); a2a.KindOf(err) != a2a.KindTooLarge {
		t.Errorf("an endless line: %v", err)
	}
}

// The name that a v0.1 client gives its task comes back in every frame, so it is not of any length.
func TestOldTaskIDLimit(t *testing.T) {
	t.Parallel()
	for n := maxID - 1; n <= maxID+1; n++ {
		for _, method := range []string{"tasks/send", "tasks/sendSubscribe"} {
			_, err := DecodeCall([]byte(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"id":"` + strings.Repeat("x", n) + `","message":{"parts":[{"text":"x"}]}}}`))
			checkLimit(t, method, n, maxID, err, a2a.KindInvalidParams, "id")
		}
	}
}
