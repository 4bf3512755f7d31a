package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"parley/a2a"
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
		if c.Send == nil {
			return
		}
		for _, d := range []Dialect{NEW, MID} {
			again, err := AppendCall(nil, d, c.Op, "1", c.Send)
			if err != nil {
				t.Fatal(err)
			}
			back, err := DecodeCall(again)
			if err != nil {
				t.Fatalf("%v\n%s", err, again)
			}
			if got, want := len(back.Send.Message.Parts), len(c.Send.Message.Parts); got != want || back.Send.Message.ID != c.Send.Message.ID {
				t.Fatalf("%d parts of %d: %s", got, want, again)
			}
		}
	})
}

// A frame of a stream is refused, or it survives the log and both dialects.
func FuzzDecodeReply(f *testing.F) {
	seeds(f, "reply")
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range []Dialect{NEW, MID} {
			v, err := DecodeReply(d, OpStream, b)
			if err != nil {
				refusal(t, err)
				continue
			}
			event := v.(a2a.Event)
			stored := a2a.MarshalEvent(event)
			back, err := a2a.UnmarshalEvent(stored)
			if err != nil {
				t.Fatalf("%v\n%s", err, stored)
			}
			if again := a2a.MarshalEvent(back); !bytes.Equal(again, stored) {
				t.Fatalf("stored %s\nread as %s", stored, again)
			}
			for _, d := range []Dialect{NEW, MID} {
				c := &Call{ID: []byte("1"), Dialect: d}
				frame, err := AppendFrame(nil, c, a2a.NewEntry(1, at, stored, event))
				if err != nil {
					t.Fatal(err)
				}
				if n := bytes.Count(frame, []byte("\n")); n != 3 || bytes.Contains(frame, []byte("\r")) {
					t.Fatalf("%d line breaks in %q", n, frame)
				}
			}
		}
	})
}

// Parts are where the families differ: whatever one reads, the other can say.
func FuzzParts(f *testing.F) {
	for _, part := range []string{
		`{"text":"x","mediaType":"text/plain"}`, `{"raw":"aGk=","filename":"a"}`, `{"url":"u"}`, `{"data":[1,{"a":null}]}`, `{"data":null}`, `{"filename":"a"}`,
		`{"kind":"text","text":"x","metadata":{"filename":"a","mediaType":5,"data_part_compat":true}}`, `{"type":"file","file":{"bytes":"-_","name":"a"}}`,
		`{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}}`, `{"text":"a","metadata":{"urn:parley:no-content":true}}`, `{"kind":"file","file":{}}`,
	} {
		f.Add([]byte(part))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, method := range []string{"SendMessage", "message/send"} {
			c, err := DecodeCall([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":{"messageId":"m","parts":[` + string(b) + `]}}}`))
			if err != nil {
				refusal(t, err)
				continue
			}
			once, _ := AppendCall(nil, MID, OpSend, "1", c.Send)
			back, err := DecodeCall(once)
			if err != nil {
				t.Fatalf("%v\n%s", err, once)
			}
			twice, _ := AppendCall(nil, MID, OpSend, "1", back.Send)
			if third, err := DecodeCall(twice); err != nil || len(third.Send.Message.Parts) != len(c.Send.Message.Parts) {
				t.Fatalf("%v\n%s", err, twice)
			}
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
		for _, form := range []CardForm{CardNEW, CardMID, CardSuperset, CardBareLists} {
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
