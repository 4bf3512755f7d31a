package wire

import (
	"io"
	"strings"
	"testing"
	"time"

	"parley/a2a"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)

const (
	newSend = `{"jsonrpc":"2.0","id":"req-42","method":"SendMessage","params":{"message":{"messageId":"0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b11","contextId":"0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b12","role":"ROLE_USER","parts":[{"text":"Plan a weekend in Oslo for two people who like museums."}]},"configuration":{"acceptedOutputModes":["text/plain"]}}}`
	midSend = `{"jsonrpc":"2.0","id":"req-42","method":"message/send","params":{"message":{"kind":"message","messageId":"0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b11","contextId":"0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b12","role":"user","parts":[{"kind":"text","text":"Plan a weekend in Oslo for two people who like museums."}]},"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true}}}`
)

var (
	working = &a2a.StatusUpdate{
		TaskID: "0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b11", ContextID: "0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b12",
		Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: at, Message: &a2a.Message{
			ID: "0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b13", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Looking up museums that are open on Sunday")},
		}},
	}
	chunked = &a2a.ArtifactUpdate{
		TaskID: "0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b11", ContextID: "0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b12", Append: true,
		Artifact: a2a.Artifact{ID: "0192f0c1-7d5c-7c3e-9d52-8a6d1d1f0b14", Parts: []a2a.Part{a2a.TextPart("On Saturday morning start at the \"National Museum\", which opens at ten.\n")}},
	}
)

func BenchmarkDecodeCall(b *testing.B) {
	for name, body := range map[string]string{"new": newSend, "mid": midSend} {
		b.Run(name, func(b *testing.B) {
			text := []byte(body)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeCall(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeREST(b *testing.B) {
	text := []byte(newSend[strings.Index(newSend, `"params":`)+len(`"params":`) : len(newSend)-1])
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeREST("POST", "/message:send", nil, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendFrame(b *testing.B) {
	for _, d := range []Dialect{NEW, MID} {
		b.Run(d.String(), func(b *testing.B) {
			c := &Call{ID: []byte(`"req-42"`), Dialect: d, Op: OpStream}
			e := a2a.NewEntry(123456, at, a2a.MarshalEvent(chunked), nil)
			buf := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := AppendFrame(buf, c, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, c := range map[string]*Call{"v1.0 rest": {Dialect: NEW, REST: true}, "v0.1": {Dialect: OLD, Index: NewIndex("t-1")}} {
		b.Run(name, func(b *testing.B) {
			c.ID, c.Op = []byte(`"req-42"`), OpStream
			e := a2a.NewEntry(123456, at, a2a.MarshalEvent(chunked), nil)
			buf := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := AppendFrame(buf, c, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("v0.3 first", func(b *testing.B) {
		c := &Call{ID: []byte(`"req-42"`), Dialect: MID, Op: OpStream}
		text := a2a.MarshalEvent(chunked)
		buf := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := AppendFrame(buf, c, a2a.NewEntry(123456, at, text, chunked)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMarshalEvent(b *testing.B) {
	for name, e := range map[string]a2a.Event{"status": working, "artifact": chunked} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a2a.MarshalEvent(e)
			}
		})
	}
}

func BenchmarkUnmarshalEvent(b *testing.B) {
	for name, e := range map[string]a2a.Event{"status": working, "artifact": chunked} {
		b.Run(name, func(b *testing.B) {
			text := a2a.MarshalEvent(e)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a2a.UnmarshalEvent(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeReply(b *testing.B) {
	for _, d := range []Dialect{NEW, MID} {
		for name, e := range map[string]a2a.Event{"status": working, "artifact": chunked} {
			b.Run(d.String()+"/"+name, func(b *testing.B) {
				frame := AppendEventFrame(nil, &Call{ID: []byte(`"req-42"`), Dialect: d}, 0, e)
				text := frame[len("data: ") : len(frame)-2]
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := DecodeReply(d, OpStream, text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkReadSSE(b *testing.B) {
	frame := AppendEventFrame(nil, &Call{ID: []byte(`"req-42"`), Dialect: NEW}, 1234, chunked)
	n := 0
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	r, w := io.Pipe()
	defer r.Close()
	batch := make([]byte, 0, 100*len(frame))
	for range 100 {
		batch = append(batch, frame...)
	}
	go func() {
		for {
			if _, err := w.Write(batch); err != nil {
				return
			}
		}
	}()
	b.ResetTimer()
	for range ReadSSE(r) {
		if n++; n >= b.N {
			break
		}
	}
}
