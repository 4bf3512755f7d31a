package a2aserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// FuzzCall: whatever is posted, the answer is a JSON-RPC reply or a stream, never a 5xx.
func FuzzCall(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"do it"}]}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"message/stream","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"ask"}]}}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"tasks/get","params":{"id":"x","historyLength":3}}`,
		`{"jsonrpc":"2.0","id":null,"method":"ListTasks","params":{"pageToken":"AAAA"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"\u0000"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`,
		`[{}]`, `{"id":`, "\xff", `nul`, `""`,
	} {
		f.Add(s, "1.0", "7")
	}
	agent := a2aserver.NewAgent(execFunc(obey), a2aserver.NewMemoryLog(), nil)
	f.Cleanup(func() { agent.Close(closed()) })
	h := a2aserver.NewHandler(agent, func(context.Context, *http.Request) *a2a.AgentCard { return testCard }, &a2aserver.HandlerOptions{BlockingTimeout: time.Second})
	f.Fuzz(func(t *testing.T, body, version, last string) {
		if strings.Contains(body, "hold") { // would run for ever
			return
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header["A2a-Version"] = []string{version}
		r.Header["Last-Event-Id"] = []string{last}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		b, _ := io.ReadAll(w.Result().Body)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, b)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(b) {
			t.Fatalf("the reply is no JSON: %s", b)
		}
	})
}
