package a2aserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
)

// nothing is a writer of replies that are not looked at.
type nothing struct {
	header http.Header
	n      int
	status int
}

func (w *nothing) Header() http.Header         { return w.header }
func (w *nothing) WriteHeader(status int)      { w.status = status }
func (w *nothing) Write(b []byte) (int, error) { w.n += len(b); return len(b), nil }
func (w *nothing) Flush()                      {}

// families are the same work, asked for in every family and binding: what differs is what reading and writing costs.
var families = []struct{ name, sendPath, send, streamPath, stream string }{
	{
		"NEW",
		"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":"do it"}]}}}`,
		"/", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":"do it"}]}}}`,
	},
	{
		"MID",
		"/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m-%d","role":"user","parts":[{"kind":"text","text":"do it"}]}}}`,
		"/", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"m-%d","role":"user","parts":[{"kind":"text","text":"do it"}]}}}`,
	},
	{
		"OLD",
		"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t-%d","message":{"role":"user","parts":[{"type":"text","text":"do it"}]},"historyLength":100}}`,
		"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/sendSubscribe","params":{"id":"t-%d","message":{"role":"user","parts":[{"type":"text","text":"do it"}]}}}`,
	},
	{
		"REST",
		"/message:send", `{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":"do it"}]}}`,
		"/message:stream", `{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":"do it"}]}}`,
	},
	{
		"PROTO",
		"/v1/message:send", `{"message":{"messageId":"m-%d","role":"ROLE_USER","content":[{"text":"do it"}]}}`,
		"/v1/message:stream", `{"message":{"messageId":"m-%d","role":"ROLE_USER","content":[{"text":"do it"}]}}`,
	},
}

// BenchmarkFamilies serves the same send and the same stream in every family, without a network.
func BenchmarkFamilies(b *testing.B) {
	for _, f := range families {
		for _, kind := range []string{"send", "stream"} {
			b.Run(fmt.Sprintf("%s/%s", kind, f.name), func(b *testing.B) {
				agent := a2aserver.NewAgent(execFunc(obey), a2aserver.NewMemoryLog(), nil)
				defer agent.Close(closed())
				h := a2aserver.NewHandler(agent, func(context.Context, *http.Request) *a2a.AgentCard { return testCard }, nil)
				form, path := f.send, f.sendPath
				if kind == "stream" {
					form, path = f.stream, f.streamPath
				}
				w := &nothing{header: http.Header{}}
				n := 0
				b.ReportAllocs()
				for b.Loop() {
					n++
					r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(fmt.Appendf(nil, form, n)))
					r.Header.Set("Content-Type", "application/json")
					w.n, w.status = 0, 200
					clear(w.header)
					h.ServeHTTP(w, r)
					if w.n < 200 || w.status != 200 {
						b.Fatalf("%d, %d bytes", w.status, w.n)
					}
					io.Copy(io.Discard, r.Body)
				}
			})
		}
	}
}
