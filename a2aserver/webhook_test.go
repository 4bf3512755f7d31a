package a2aserver_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

// receiver is Webhooks with one webhook, h, for the task T.
type receiver struct {
	*httptest.Server
	t testing.TB

	mu    sync.Mutex
	hooks map[string]*a2aserver.Webhook
	notes []*wire.PushNote
	taps  []*wire.Exchange
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{t: t, hooks: map[string]*a2aserver.Webhook{"h": a2aserver.NewWebhook("h", "peer", "T", "tok")}}
	h := a2aserver.NewWebhooks(&a2aserver.WebhookOptions{
		Find: func(id string) *a2aserver.Webhook {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.hooks[id]
		},
		Note: func(_ context.Context, _ *a2aserver.Webhook, n *wire.PushNote) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notes = append(r.notes, n)
		},
	})
	r.hooks["h"].Tap = func(_ context.Context, x *wire.Exchange) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taps = append(r.taps, x)
	}
	r.Server = httptest.NewServer(http.StripPrefix("/hooks", h))
	t.Cleanup(r.Close)
	return r
}

// post posts to a webhook; headers are name, value, …
func (r *receiver) post(id, body string, headers ...string) (status int, text string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL+"/hooks/"+id, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return r.do(req)
}

func (r *receiver) do(req *http.Request) (int, string) {
	r.t.Helper()
	res, err := r.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func (r *receiver) noted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.notes)
}

const okTask = `{"kind":"task","id":"T","contextId":"C","status":{"state":"working"}}`

// TestCheck20Forms: the webhook takes what agents of every version send.
func TestCheck20Forms(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	for i, body := range []string{
		`{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_WORKING"}}}`,
		`{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		`{"artifactUpdate":{"taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`,
		`{"message":{"messageId":"m","taskId":"T","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`,
		okTask,
		`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"working"},"final":false}`,
		`{"kind":"artifact-update","taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]}}`,
		`{"id":"T","sessionId":"S","status":{"state":"completed"},"artifacts":[{"index":0,"parts":[{"type":"text","text":"x"}]}]}`,
		`{"id":"T","status":{"state":"working"}}`,
		`{"jsonrpc":"2.0","method":"tasks/notifyEvent","params":{"id":"T","eventType":"status_update","event":{"id":"T","status":{"state":"working"},"final":false}}}`,
		`{"eventType":"task_completed","taskId":"T","status":"completed","summary":"all well"}`,
	} {
		status, text := r.post("h", body, "X-A2A-Notification-Token", "tok", "Content-Type", "application/json")
		if status != 200 {
			t.Errorf("%s: %d %s", body, status, text)
			continue
		}
		want(t, "notes", r.noted(), i+1)
		r.mu.Lock()
		want(t, body, r.notes[i].TaskID, "T")
		r.mu.Unlock()
	}
	want(t, "summary", r.notes[len(r.notes)-1].Summary, "all well")
	want(t, "records", len(r.taps), len(r.notes))
	if x := r.taps[0]; !x.Inbound || x.Peer != "peer" || x.TaskID != "T" || strings.Contains(x.URL, "hooks/h") {
		t.Errorf("record %+v", x)
	}
}

// TestCheck20Headers: the token may be in any header agents put it in; the Content-Type may be missing.
func TestCheck20Headers(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	for i, headers := range [][]string{
		{"X-A2A-Notification-Token", "tok"},
		{"A2A-Notification-Token", "tok"},
		{"Authorization", "Bearer tok"},
		{"authorization", "bearer  tok"},
		{"X-A2A-Notification-Token", "tok", "Authorization", "Bearer of something else"},
		{"X-A2A-Notification-Token", "tok", "Content-Type", "application/a2a+json; charset=utf-8"},
	} {
		status, text := r.post("h", okTask, append(headers, "Webhook-Id", fmt.Sprint(i))...)
		if status != 200 {
			t.Errorf("%v: %d %s", headers, status, text)
		}
	}
	var refusal string
	for _, headers := range [][]string{
		{},
		{"X-A2A-Notification-Token", ""},
		{"X-A2A-Notification-Token", "tok2"},
		{"A2A-Notification-Token", "to"},
		{"Authorization", "tok"},
		{"Authorization", "Basic tok"},
		{"Authorization", "Bearer eyJhbGciOiJub25lIn0.e30."},
	} {
		status, text := r.post("h", okTask, headers...)
		if refusal == "" {
			refusal = text
		}
		if status != 401 || text != refusal {
			t.Errorf("%v: %d %s", headers, status, text)
		}
	}
	status, _ := r.post("h", okTask, "X-A2A-Notification-Token", "tok", "Content-Type", "text/html")
	want(t, "text/html", status, 415)
	status, _ = r.post("h", okTask, "X-A2A-Notification-Token", "tok", "Content-Encoding", "gzip")
	want(t, "gzip", status, 415)
	for _, id := range []string{"", "unknown", "h/more", "H"} {
		status, _ = r.post(id, okTask, "X-A2A-Notification-Token", "tok")
		want(t, "id "+id, status, 404)
	}
	status, _ = r.post("h", `{"kind":"task","id":"other","contextId":"C","status":{"state":"working"}}`, "X-A2A-Notification-Token", "tok")
	want(t, "another task", status, 404)
	for _, body := range []string{"", "null", "[]", "{}", "{", `{"id":5}`, okTask + "x", `{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`} {
		status, _ = r.post("h", body, "X-A2A-Notification-Token", "tok")
		want(t, "body "+body, status, 400)
	}
	want(t, "notes", r.noted(), 6)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, r.URL+"/hooks/h", nil)
	status, _ = r.do(req)
	want(t, "PUT", status, 405)
}

// TestCheck20Repeats: what comes again, in any order and to however many at once, is told once.
func TestCheck20Repeats(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := newReceiver(t)
	const n = 50
	var posts []func()
	for i := range n {
		for range 3 {
			posts = append(posts, func() { // by its id
				status, _ := r.post("h", okTask, "X-A2A-Notification-Token", "tok", "webhook-id", fmt.Sprint("w", i))
				want(t, "status", status, 200)
			})
		}
	}
	for range 3 {
		posts = append(posts, func() { // by what it says
			status, _ := r.post("h", okTask, "X-A2A-Notification-Token", "tok")
			want(t, "status", status, 200)
		})
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := k; i < len(posts); i += 4 {
				posts[i]()
			}
		})
	}
	wg.Wait()
	want(t, "notes", r.noted(), n+1)
}

// TestCheck20Handshake: a pending webhook says the text after the agent, and only a harmless one.
func TestCheck20Handshake(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	settled := a2aserver.NewWebhook("s", "peer", "T", "tok")
	settled.Pending = false
	r.hooks["s"] = settled
	get := func(id, query string) (int, string, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+"/hooks/"+id+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b), res.Header
	}
	for _, text := range []string{"0ac7-f3", strings.Repeat("a", 255), strings.Repeat("a", 256)} {
		status, body, header := get("h", "?validationToken="+text)
		want(t, "status", status, 200)
		want(t, "body", body, text)
		want(t, "type", header.Get("Content-Type"), "text/plain; charset=utf-8")
		want(t, "sniffing", header.Get("X-Content-Type-Options"), "nosniff")
	}
	for _, query := range []string{"", "?validationToken=", "?validationToken=%3Cscript%3E", "?validationToken=a%0Ab", "?validationToken=" + strings.Repeat("a", 257)} {
		status, body, _ := get("h", query)
		if status != 404 || strings.Contains(body, "script") {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	for _, id := range []string{"s", "unknown"} {
		status, _, _ := get(id, "?validationToken=x")
		want(t, id, status, 404)
	}
}

// TestWebhookLimits: a body at the limit is taken, a larger one is not; a webhook that is called too often says so.
func TestWebhookLimits(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	const open, end = `{"kind":"task","id":"T","contextId":"C","status":{"state":"working"},"x":"`, `"}`
	for _, c := range []struct{ size, status int }{
		{a2a.Limits.RequestBody - 1, 200}, {a2a.Limits.RequestBody, 200}, {a2a.Limits.RequestBody + 1, 413},
	} {
		body := open + strings.Repeat("a", c.size-len(open)-len(end)) + end
		status, _ := r.post("h", body, "X-A2A-Notification-Token", "tok")
		want(t, fmt.Sprint(c.size), status, c.status)
	}
	refused := 0
	for i := range 600 {
		if status, _ := r.post("h", okTask, "X-A2A-Notification-Token", "tok", "Webhook-Id", fmt.Sprint(i)); status == 429 {
			refused++
		}
	}
	if refused == 0 {
		t.Error("600 reports in a row were all taken")
	}
}
