package a2aserver_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

var malformedSeed = flag.Uint64("malformed.seed", 0, "of the malformed requests; 0 = by the clock")

// malformedRequests is how many are sent to each binding.
const malformedRequests = 10_000

// An httpRequest is what is sent, right or wrong.
type httpRequest struct{ method, path, body, ct string }

// rightRequests are right, for every binding; mutate makes wrong ones of them.
var rightRequests = map[string][]httpRequest{
	"NEW": rpc(
		`"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"do it"},{"raw":"aGk=","filename":"f"},{"data":[1,2]}],"metadata":{"k":1}},"configuration":{"historyLength":3,"acceptedOutputModes":["text/plain"]}}`,
		`"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"do it"}]}}`,
		`"GetTask","params":{"id":"x","historyLength":1}`, `"ListTasks","params":{"pageSize":3,"status":"TASK_STATE_COMPLETED","pageToken":""}`,
		`"CancelTask","params":{"id":"x"}`, `"SubscribeToTask","params":{"id":"x"}`, `"GetExtendedAgentCard"`,
		`"CreateTaskPushNotificationConfig","params":{"taskId":"x","url":"https://c.example/","authentication":{"scheme":"Bearer"}}`,
		`"DeleteTaskPushNotificationConfig","params":{"taskId":"x","id":"y"}`,
	),
	"MID": rpc(
		`"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"do it"},{"kind":"file","file":{"bytes":"aGk=","name":"n"}},{"kind":"data","data":{"k":1}}]},"configuration":{"blocking":true}}`,
		`"message/stream","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"do it"}]}}`,
		`"tasks/get","params":{"id":"x"}`, `"tasks/cancel","params":{"id":"x"}`, `"tasks/resubscribe","params":{"id":"x"}`,
		`"tasks/pushNotificationConfig/set","params":{"taskId":"x","pushNotificationConfig":{"url":"https://c.example/"}}`,
		`"tasks/pushNotificationConfig/list","params":{"id":"x"}`, `"agent/getAuthenticatedExtendedCard"`,
	),
	"OLD": rpc(
		`"tasks/send","params":{"id":"t","sessionId":"s","message":{"role":"user","parts":[{"type":"text","text":"do it"},{"type":"file","file":{"uri":"https://f.example/"}}]},"historyLength":2}`,
		`"tasks/sendSubscribe","params":{"id":"t","message":{"role":"user","parts":[{"type":"data","data":{"k":[1]}}]}}`,
		`"tasks/pushNotification/set","params":{"id":"t","pushNotificationConfig":{"url":"https://c.example/"}}`, `"tasks/pushNotification/get","params":{"id":"t"}`,
	),
	"NEW REST": {
		{"POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"do it"}]},"configuration":{"returnImmediately":false}}`, "application/json"},
		{"POST", "/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"k":1}}]}}`, "application/json"},
		{"GET", "/tasks/x?historyLength=1", "", ""},
		{"GET", "/tasks?pageSize=2&status=TASK_STATE_COMPLETED&includeArtifacts=true", "", ""},
		{"POST", "/tasks/x:cancel", `{"metadata":{}}`, "application/json"},
		{"GET", "/tasks/x:subscribe", "", ""},
		{"POST", "/acme/tasks/x/pushNotificationConfigs", `{"url":"https://c.example/","token":"t"}`, "application/json"},
		{"DELETE", "/tasks/x/pushNotificationConfigs/y", "", ""},
		{"GET", "/extendedAgentCard", "", ""},
	},
	"PROTO REST": {
		{"POST", "/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"do it"},{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain"}}]},"configuration":{"blocking":true}}`, "application/json"},
		{"POST", "/v1/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"data":{"data":{"k":1}}}]}}`, "application/json"},
		{"GET", "/v1/tasks/x?historyLength=1", "", ""},
		{"POST", "/v1/tasks/x:cancel", "", ""},
		{"POST", "/v1/tasks/x:subscribe", "", ""},
		{"POST", "/v1/tasks/x/pushNotificationConfigs", `{"parent":"tasks/x","configId":"c","config":{"name":"tasks/x/pushNotificationConfigs/c","pushNotificationConfig":{"id":"c","url":"https://c.example/"}}}`, "application/json"},
		{"GET", "/v1/tasks/x/pushNotificationConfigs/c", "", ""},
		{"GET", "/v1/card", "", ""},
		{"GET", "/agent/authenticatedExtendedCard", "", ""},
	},
}

func rpc(calls ...string) (out []httpRequest) {
	for _, c := range calls {
		out = append(out, httpRequest{"POST", "/", `{"jsonrpc":"2.0","id":1,"method":` + c + `}`, "application/json"})
	}
	return out
}

// odd are texts that mean something, where they are not expected.
var odd = []string{
	`{`, `}`, `[`, `]`, `"`, `,`, `:`, `null`, `true`, `-1`, `1e999`, `9223372036854775808`, `0.1`, `{}`, `[]`, `""`, `"\ud800"`, `"\u0000"`, "\x00", "\xff\xfe",
	`[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`, `{"a":{"a":{"a":{}}}}`, `%`, `/`, `..`, `%2e%2e`, `%zz`, `%00`, `?`, `&`, `=`, `#`, `;`,
	`:cancel`, `:subscribe`, `/v1`, `tasks/`, `old-`, strings.Repeat("x", 3000), strings.Repeat("é", 700), "\r\n", "\u202e", `ROLE_AGENT`, `"kind":"data"`, `"raw":"%%%"`,
}

// mutate makes something wrong of what is right, in one to three ways.
func mutate(r *rand.Rand, right httpRequest) httpRequest {
	change := func(s string) string {
		at := 0
		if len(s) > 0 {
			at = r.IntN(len(s))
		}
		end := min(len(s), at+1+r.IntN(12))
		switch r.IntN(6) {
		case 0: // cut off
			return s[:at]
		case 1: // something put in
			return s[:at] + odd[r.IntN(len(odd))] + s[at:]
		case 2: // something put in the place of something
			return s[:at] + odd[r.IntN(len(odd))] + s[end:]
		case 3: // something left out
			return s[:at] + s[end:]
		case 4: // something said twice
			return s[:end] + s[at:]
		default: // a byte turned
			b := []byte(s)
			if len(b) > 0 {
				b[at] ^= byte(1 + r.IntN(255))
			}
			return string(b)
		}
	}
	wrong := right
	for range 1 + r.IntN(3) {
		switch {
		case wrong.body != "" && r.IntN(8) > 0:
			wrong.body = change(wrong.body)
		case wrong.path != "/" && r.IntN(4) > 0:
			wrong.path = "/" + strings.TrimPrefix(change(wrong.path), "/")
		case r.IntN(2) == 0:
			wrong.method = []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"}[r.IntN(7)]
		default:
			wrong.ct = []string{"", "text/plain", "application/json", "application/a2a+json; charset=x", ";;", "application/json, text/html"}[r.IntN(6)]
		}
	}
	return wrong
}

// TestMalformedRequests sends wrong requests to every binding: none is answered with a 5xx or with a reply that is no
// JSON, nothing panics, and when they are over there is no more memory and there are no more goroutines in use than before.
func TestMalformedRequests(t *testing.T) {
	seed := *malformedSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-malformed.seed=%d", seed)
	n := malformedRequests
	if testing.Short() {
		n /= 10
	}
	h, stop := malformedServer(nil)
	defer stop()
	for _, name := range []string{"NEW", "MID", "OLD", "NEW REST", "PROTO REST"} {
		t.Run(name, func(t *testing.T) {
			if fault := sendMalformed(h, seed, n, rightRequests[name], 10*time.Second); fault != "" {
				t.Errorf("with -malformed.seed=%d: %s", seed, fault)
			}
		})
	}
}

// TestMalformedRequestsCanFail plants faults of each kind behind the handler: the check that found nothing finds them.
func TestMalformedRequestsCanFail(t *testing.T) {
	kept, release := [][]byte{}, make(chan struct{})
	defer close(release)
	for name, plant := range map[string]func(http.ResponseWriter){
		"a panic": func(http.ResponseWriter) { panic("planted") },
		"a 5xx":   func(w http.ResponseWriter) { w.WriteHeader(502) },
		"no JSON": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{")
		},
		"a goroutine stays": func(http.ResponseWriter) { go func() { <-release }() },
		"memory stays":      func(http.ResponseWriter) { kept = append(kept, make([]byte, 1<<20)) },
	} {
		h, stop := malformedServer(plant)
		if fault := sendMalformed(h, 7, 2000, rightRequests["NEW"], 100*time.Millisecond); fault == "" {
			t.Errorf("%s is not found", name)
		} else {
			t.Logf("%s: %.100s", name, fault)
		}
		stop()
		kept = nil
	}
}

// malformedServer serves an agent; planted is called for one request in 32.
func malformedServer(planted func(http.ResponseWriter)) (_ http.Handler, stop func()) {
	card := *testCard
	card.Capabilities.ExtendedAgentCard = true
	agent := a2aserver.NewAgent(execFunc(obey), a2aserver.NewMemoryLog(), nil)
	h := a2aserver.NewHandler(agent, func(context.Context, *http.Request) *a2a.AgentCard { return &card }, &a2aserver.HandlerOptions{
		BlockingTimeout: time.Second, Push: &pushes{},
		Tenant: func(_ context.Context, _, tenant string) bool { return tenant == "acme" },
		Tap:    func(_ context.Context, x *wire.Exchange) { _ = x.Request },
	})
	if planted == nil {
		return h, func() { agent.Close(closed()) }
	}
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n%32 == 0 {
			planted(w)
			return
		}
		h.ServeHTTP(w, r)
	}), func() { agent.Close(closed()) }
}

// sendMalformed sends n wrong requests and returns what is wrong with the answers, "" when nothing is.
// What was begun has patience to end.
func sendMalformed(h http.Handler, seed uint64, n int, right []httpRequest, patience time.Duration) string {
	random := rand.New(rand.NewPCG(seed, 1))
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of planted panics
	server.Start()
	defer server.Close()
	client := &http.Transport{}
	defer client.CloseIdleConnections()
	send := func(r httpRequest) (fault string) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		in, err := http.NewRequestWithContext(ctx, r.method, server.URL+r.path, strings.NewReader(r.body))
		if err != nil { // no client would send it
			return ""
		}
		in.Header.Set("Content-Type", r.ct)
		res, err := client.RoundTrip(in)
		if err != nil { // the server broke off: it panicked
			return fmt.Sprintf("%+v: %v", r, err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		switch ct := res.Header.Get("Content-Type"); {
		case err != nil:
			return fmt.Sprintf("%+v: %v", r, err)
		case res.StatusCode >= 500:
			return fmt.Sprintf("%+v: %d %s", r, res.StatusCode, b)
		case strings.HasPrefix(ct, "application/json") && !json.Valid(b):
			return fmt.Sprintf("%+v: the reply is no JSON: %s", r, b)
		}
		return ""
	}
	for _, r := range right { // whatever is made once is made
		send(r)
	}
	settle := func() (goroutines int, heap uint64) {
		for range 100 {
			if now := runtime.NumGoroutine(); now == goroutines {
				break
			} else {
				goroutines = now
			}
			time.Sleep(5 * time.Millisecond)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return goroutines, m.HeapAlloc
	}
	goroutines, heap := settle()
	for range n {
		if fault := send(mutate(random, right[random.IntN(len(right))])); fault != "" {
			return fault
		}
	}
	end := time.Now().Add(patience)
	for {
		after, grown := settle()
		switch {
		case after <= goroutines+2 && grown < heap+48<<20: // the tasks of those that were right enough are kept
			return ""
		case time.Now().Before(end):
		case after > goroutines+2:
			return fmt.Sprintf("%d goroutines before, %d after", goroutines, after)
		default:
			return fmt.Sprintf("%d bytes in use before, %d after", heap, grown)
		}
	}
}
