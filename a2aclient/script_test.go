package a2aclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/a2a"
	"parley/a2aclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is a scripted remote agent: one function for each method, called for each request in turn.
type agent struct {
	*httptest.Server
	t    testing.TB
	rest bool // over HTTP+JSON: methods are "POST /message:send"

	mu      sync.Mutex
	methods map[string]func(*turn)
	calls   []string // methods in the order they came
}

// turn is one request to a scripted agent.
type turn struct {
	http.ResponseWriter
	*http.Request
	t      testing.TB
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	N      int // how often the method was called before
}

func newAgent(t testing.TB, methods map[string]func(*turn)) *agent {
	t.Helper()
	a := &agent{t: t, methods: methods}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if a.rest {
		call.Method, call.Params = r.Method+" "+r.URL.EscapedPath(), body
	} else if r.Method == http.MethodGet {
		call.Method = "GET " + r.URL.Path
	} else if err := json.Unmarshal(body, &call); err != nil {
		a.t.Errorf("the client sent no JSON: %v: %s", err, body)
	}
	a.mu.Lock()
	n := 0
	for _, m := range a.calls {
		if m == call.Method {
			n++
		}
	}
	a.calls = append(a.calls, call.Method)
	f := a.methods[call.Method]
	a.mu.Unlock()
	t := &turn{ResponseWriter: w, Request: r, t: a.t, ID: call.ID, Method: call.Method, Params: call.Params, N: n}
	switch {
	case f != nil:
		f(t)
	case a.rest || r.Method == http.MethodGet:
		http.NotFound(w, r)
	default:
		t.fail(-32601, "Method not found")
	}
}

// newREST is a scripted agent over HTTP+JSON.
func newREST(t *testing.T, methods map[string]func(*turn)) *agent {
	a := newAgent(t, methods)
	a.rest = true
	return a
}

// restClient returns a client of an agent over HTTP+JSON that thinks it speaks that version.
func (a *agent) restClient(version string, o *a2aclient.Options) *a2aclient.Client {
	a.t.Helper()
	return a.at(a2a.AgentInterface{URL: a.URL, Binding: "HTTP+JSON", Version: version}, o)
}

func (a *agent) at(i a2a.AgentInterface, o *a2aclient.Options) *a2aclient.Client {
	a.t.Helper()
	ac := streaming()
	ac.Capabilities.PushNotifications = true
	c, err := a2aclient.New(ac, i, quick(o))
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// body answers with a status and a JSON body.
func (t *turn) body(code int, body string) {
	t.Header().Set("Content-Type", "application/json")
	t.WriteHeader(code)
	fmt.Fprint(t.ResponseWriter, body)
}

// bare writes SSE events without an envelope, as HTTP+JSON has them.
func (t *turn) bare(events ...string) {
	for _, e := range events {
		fmt.Fprintf(t.ResponseWriter, "data: %s\n\n", e)
		t.flush()
	}
}

// says fails unless the request holds each of the texts, apart from space.
func (t *turn) says(texts ...string) {
	t.t.Helper()
	for _, s := range texts {
		if !strings.Contains(string(t.Params), s) {
			t.t.Errorf("%s has no %s: %s", t.Method, s, t.Params)
		}
	}
}

// called returns the methods that were called, in order.
func (a *agent) called() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.calls, " ")
}

func (a *agent) count(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, m := range a.calls {
		if m == method {
			n++
		}
	}
	return n
}

// result answers with a JSON result.
func (t *turn) result(v string) {
	t.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(t.ResponseWriter, `{"jsonrpc":"2.0","id":%s,"result":%s}`, t.ID, v)
}

func (t *turn) fail(code int, message string) {
	t.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(t.ResponseWriter, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, t.ID, code, message)
}

// header hides http.Request's.
func (t *turn) Header() http.Header { return t.ResponseWriter.Header() }

// asked is the request's header.
func (t *turn) asked(name string) string { return t.Request.Header.Get(name) }

func (t *turn) open() {
	t.Header().Set("Content-Type", "text/event-stream")
	t.WriteHeader(http.StatusOK)
	t.flush()
}

func (t *turn) flush() { t.ResponseWriter.(http.Flusher).Flush() }

// frames writes SSE events, each a result.
func (t *turn) frames(results ...string) {
	for _, r := range results {
		fmt.Fprintf(t.ResponseWriter, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", t.ID, r)
		t.flush()
	}
}

// numbered writes one SSE event with an id.
func (t *turn) numbered(id any, result string) {
	fmt.Fprintf(t.ResponseWriter, "id: %v\n", id)
	t.frames(result)
}

// cut breaks the connection.
func (t *turn) cut() {
	t.flush()
	panic(http.ErrAbortHandler)
}

// until waits until the client goes away.
func (t *turn) until() { <-t.Request.Context().Done() }

// Results in the words of v1.0.

func task(state string, more ...string) string {
	return `{"task":` + bare(state, more...) + `}`
}

func bare(state string, more ...string) string {
	return fmt.Sprintf(`{"id":"T","contextId":"C","status":{"state":"TASK_STATE_%s"}%s}`, state, strings.Join(more, ""))
}

func artifact(id string, texts ...string) string {
	parts := make([]string, len(texts))
	for i, s := range texts {
		parts[i] = fmt.Sprintf(`{"text":%q}`, s)
	}
	return fmt.Sprintf(`{"artifactId":%q,"parts":[%s]}`, id, strings.Join(parts, ","))
}

func artifacts(list ...string) string { return `,"artifacts":[` + strings.Join(list, ",") + `]` }

func chunk(id, text string, append bool) string {
	return fmt.Sprintf(`{"artifactUpdate":{"taskId":"T","contextId":"C","artifact":%s,"append":%v}}`, artifact(id, text), append)
}

func status(state string) string {
	return fmt.Sprintf(`{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_%s"}}}`, state)
}

// said is a status with a message.
func said(state, id, text string) string {
	return fmt.Sprintf(`{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_%s","message":{"messageId":%q,"role":"ROLE_AGENT","parts":[{"text":%q}]}}}}`, state, id, text)
}

// quick makes time pass quickly: tests wait for events, not for these.
func quick(o *a2aclient.Options) *a2aclient.Options {
	if o == nil {
		o = &a2aclient.Options{}
	}
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.PollMin, 5*time.Millisecond)
	set(&o.PollMax, 20*time.Millisecond)
	set(&o.Patience, 8*time.Second)
	set(&o.HeaderTime, 10*time.Second)
	set(&o.IdleTime, 10*time.Second)
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	return o
}

func streaming() *a2a.AgentCard {
	return &a2a.AgentCard{Name: "Scripted", Capabilities: a2a.AgentCapabilities{Streaming: true}}
}

// client returns a client of a that thinks it speaks that version.
func (a *agent) client(version string, o *a2aclient.Options) *a2aclient.Client {
	a.t.Helper()
	return a.clientOf(streaming(), version, o)
}

func (a *agent) clientOf(card *a2a.AgentCard, version string, o *a2aclient.Options) *a2aclient.Client {
	a.t.Helper()
	c, err := a2aclient.New(card, a2a.AgentInterface{URL: a.URL, Binding: "JSONRPC", Version: version}, quick(o))
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func hello() *a2a.SendRequest {
	return &a2a.SendRequest{Message: a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hello")}}}
}

// told is what a sequence yielded: events in short, gaps, and the error that ended it.
type told struct {
	events []a2a.Event
	short  []string
	gaps   int
	err    error
	task   a2a.Task // folded
}

// collect reads a sequence to its end.
func collect(t *testing.T, seq iter.Seq2[a2a.Event, error]) told {
	t.Helper()
	var out told
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range seq {
			if out.err != nil {
				t.Errorf("yielded after the error %v: %v, %v", out.err, e, err)
			}
			if g, ok := err.(*a2aclient.GapError); ok {
				out.gaps++
				out.short = append(out.short, "gap")
				_ = g
				continue
			}
			if err != nil {
				out.err = err
				continue
			}
			out.events = append(out.events, e)
			out.short = append(out.short, short(e))
			if task, ok := e.(*a2a.Task); ok {
				out.task = *task
			} else {
				out.task.Apply(e)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the sequence does not end")
	}
	return out
}

func short(e a2a.Event) string {
	state := func(s a2a.TaskStatus) string {
		out := strings.ToLower(strings.TrimPrefix(string(s.State), "TASK_STATE_"))
		if s.Message != nil {
			out += "(" + a2a.Text(s.Message.Parts) + ")"
		}
		return out
	}
	switch e := e.(type) {
	case *a2a.Task:
		out := "task:" + state(e.Status)
		for _, a := range e.Artifacts {
			out += " " + a.ID + "=" + a2a.Text(a.Parts)
		}
		return out
	case *a2a.StatusUpdate:
		return state(e.Status)
	case *a2a.ArtifactUpdate:
		op := "="
		if e.Append {
			op = "+="
		}
		return e.Artifact.ID + op + a2a.Text(e.Artifact.Parts)
	case *a2a.Message:
		return "message:" + a2a.Text(e.Parts)
	}
	return "nothing"
}

func (o told) String() string {
	s := strings.Join(o.short, ", ")
	if o.err != nil {
		s += ", error: " + o.err.Error()
	}
	return s
}

// want fails unless the sequence yielded exactly that.
func (o told) want(t *testing.T, want string) {
	t.Helper()
	if got := o.String(); got != want {
		t.Errorf("yielded\n  %s\nwant\n  %s", got, want)
	}
}

func ctx(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return c
}

// authorize makes an Options.Authorize of what it does to a request.
func authorize(f func(*http.Request)) func(context.Context, *http.Request) error {
	return func(_ context.Context, r *http.Request) error { f(r); return nil }
}
