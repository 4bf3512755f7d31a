package a2aserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2aserver"
)

// execFunc is an executor in one function.
type execFunc func(ctx context.Context, t *a2aserver.Turn, yield func(a2a.Event) bool) error

func (f execFunc) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if err := f(ctx, t, func(e a2a.Event) bool { return yield(e, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// resumeFunc is an executor that can resume.
type resumeFunc struct {
	execFunc
	resume execFunc
}

func (f resumeFunc) Resume(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return f.resume.Execute(ctx, t)
}

func status(s a2a.TaskState) *a2a.StatusUpdate {
	return &a2a.StatusUpdate{Status: a2a.TaskStatus{State: s}}
}

func says(s a2a.TaskState, text string) *a2a.StatusUpdate {
	u := status(s)
	u.Status.Message = &a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}}
	return u
}

func chunk(text string) *a2a.ArtifactUpdate {
	return &a2a.ArtifactUpdate{Append: true, Artifact: a2a.Artifact{ID: "out", Parts: []a2a.Part{a2a.TextPart(text)}}}
}

func message(text string) *a2a.Message {
	return &a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}}
}

// obey is the executor of most tests: it does what the message says.
//
//	echo …             a Message
//	do …               working, an artifact, completed
//	ask                input-required; the answer is put into an artifact
//	hold               working, then nothing until it is canceled
//	panic | fail | silent | late | reject
func obey(ctx context.Context, t *a2aserver.Turn, yield func(a2a.Event) bool) error {
	text := a2a.Text(t.Message.Parts)
	if t.Task != nil {
		yield(chunk("answer " + text))
		return nil
	}
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "do":
		yield(status(a2a.TaskStateWorking))
		yield(chunk(rest))
		yield(status(a2a.TaskStateCompleted))
	case "ask":
		yield(says(a2a.TaskStateInputRequired, "which?"))
	case "hold":
		yield(status(a2a.TaskStateWorking))
		<-ctx.Done()
	case "panic":
		panic("secret detail")
	case "fail":
		return errors.New("secret detail")
	case "refuse":
		return a2a.Errorf(a2a.KindInternal, "no more paper")
	case "silent":
		time.Sleep(10 * time.Millisecond)
	case "late":
		yield(chunk("a"))
		yield(message("late words"))
	case "reject":
		yield(says(a2a.TaskStateRejected, "not my job"))
	case "count":
		n, _ := strconv.Atoi(rest)
		for i := range n {
			if !yield(chunk(fmt.Sprintf("%d,", i))) {
				return nil
			}
		}
	default:
		yield(message("echo: " + text))
	}
	return nil
}

var testCard = &a2a.AgentCard{
	Name: "test", Description: "obeys", Version: "1.0.0",
	Interfaces: []a2a.AgentInterface{
		{URL: "http://127.0.0.1/", Binding: a2a.BindingJSONRPC, Version: "1.0"},
		{URL: "http://127.0.0.1/", Binding: a2a.BindingJSONRPC, Version: "0.3"},
	},
	Capabilities:      a2a.AgentCapabilities{Streaming: true},
	DefaultInputModes: []string{"text/plain", "application/json"}, DefaultOutputModes: []string{"text/plain"},
	Skills: []a2a.AgentSkill{{ID: "obey", Name: "obey", Description: "obeys", Tags: []string{"test"}}},
}

// server is an agent behind real HTTP.
type server struct {
	t       testing.TB
	URL     string
	agent   *a2aserver.Agent
	handler *a2aserver.Handler
	http    *httptest.Server
	log     a2aserver.Log
	pushes  *pushes
}

type config struct {
	exec    a2aserver.Executor
	log     a2aserver.Log
	card    *a2a.AgentCard
	agent   *a2aserver.AgentOptions
	handler *a2aserver.HandlerOptions
	plain   bool // hide everything but Tasks
	push    bool // with a Pusher that keeps configurations and delivers nothing
	front   func(a2aserver.Tasks) a2aserver.Tasks
}

func serve(t testing.TB, c config) *server {
	t.Helper()
	if c.exec == nil {
		c.exec = execFunc(obey)
	}
	if c.log == nil {
		c.log = a2aserver.NewMemoryLog()
	}
	if c.card == nil {
		c.card = testCard
	}
	agent := a2aserver.NewAgent(c.exec, c.log, c.agent)
	if err := agent.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tasks a2aserver.Tasks = agent
	if c.plain {
		tasks = struct{ a2aserver.Tasks }{agent}
	}
	if c.front != nil {
		tasks = c.front(tasks)
	}
	pushes := &pushes{}
	if c.push {
		o := a2aserver.HandlerOptions{}
		if c.handler != nil {
			o = *c.handler
		}
		o.Push = pushes
		c.handler = &o
	}
	h := a2aserver.NewHandler(tasks, func(context.Context, *http.Request) *a2a.AgentCard { return c.card }, c.handler)
	hs := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Drain()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		agent.Close(ctx)
		hs.CloseClientConnections()
		hs.Close()
	})
	return &server{t, hs.URL, agent, h, hs, c.log, pushes}
}

// reply is an answer to a call, decoded as loosely as a test needs it.
type reply struct {
	Status int
	Header http.Header
	Body   []byte
	Result map[string]any
	Code   int
	Text   string // of the error
	Reason string
}

// post sends a body as it is. Headers come in pairs.
func (s *server) post(body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

func (s *server) raw(body string, headers ...string) *reply {
	s.t.Helper()
	res := s.post(body, headers...)
	defer res.Body.Close()
	return readReply(s.t, res)
}

func readReply(t testing.TB, res *http.Response) *reply {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := &reply{Status: res.StatusCode, Header: res.Header, Body: b}
	if frame, ok := bytes.CutPrefix(b, []byte("data: ")); ok { // how a stream is refused before v1.0
		want(t, "type of a frame", res.Header.Get("Content-Type"), "text/event-stream")
		b = frame
	}
	var v struct {
		Result map[string]any
		Error  *struct {
			Code    int
			Message string
			Data    []map[string]any
		}
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("reply %d is no JSON: %v\n%s", res.StatusCode, err, b)
	}
	r.Result = v.Result
	if v.Error != nil {
		r.Code, r.Text = v.Error.Code, v.Error.Message
		if len(v.Error.Data) > 0 {
			r.Reason, _ = v.Error.Data[0]["reason"].(string)
		}
	}
	return r
}

// call makes a call; params is an object in JSON.
func (s *server) call(method, params string, headers ...string) *reply {
	s.t.Helper()
	return s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params), headers...)
}

// say is the params of a send in NEW; extra members of the message, or of the params behind a |, go on with a comma.
func say(text string, extra ...string) string {
	return sayID(uuid.NewString(), text, extra...)
}

func sayID(id, text string, extra ...string) string {
	var inMessage, inParams string
	for _, e := range extra {
		if rest, ok := strings.CutPrefix(e, "|"); ok {
			inParams += "," + rest
		} else {
			inMessage += "," + e
		}
	}
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s}%s}`, id, text, inMessage, inParams)
}

// get follows a path of member names and indexes into a reply.
func (r *reply) get(path string) string { return dig(r.Result, path) }

func dig(v any, path string) string {
	for p := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[p]
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(x) {
				return ""
			}
			v = x[i]
		default:
			return ""
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// frame is one SSE event.
type frame struct {
	ID     int64
	Result map[string]any
	Code   int
	Raw    string
}

// kind names what the frame holds, with its state.
func (f frame) kind() string {
	if f.Code != 0 {
		return fmt.Sprint("error ", f.Code)
	}
	if k := dig(f.Result, "kind"); k != "" {
		if s := dig(f.Result, "status.state"); s != "" {
			k += " " + s
		}
		if dig(f.Result, "final") == "true" {
			k += " final"
		}
		return k
	}
	for _, k := range []string{"task", "message", "statusUpdate", "artifactUpdate"} {
		if f.Result[k] != nil {
			s := strings.ToLower(strings.TrimPrefix(dig(f.Result, k+".status.state"), "TASK_STATE_"))
			return strings.TrimSpace(k + " " + s)
		}
	}
	return "?"
}

func kinds(frames []frame) string {
	var out []string
	for _, f := range frames {
		out = append(out, f.kind())
	}
	return strings.Join(out, ", ")
}

// events reads an open stream.
type events struct {
	t     testing.TB
	res   *http.Response
	r     *bufio.Reader
	Pings int
}

// open makes a streaming call; the answer must be a stream.
func (s *server) open(method, params string, headers ...string) *events {
	s.t.Helper()
	res := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":%q,"params":%s}`, method, params), headers...)
	s.t.Cleanup(func() { res.Body.Close() })
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		s.t.Fatalf("%s answered %d %s %s, want a stream", method, res.StatusCode, ct, b)
	}
	return &events{t: s.t, res: res, r: bufio.NewReader(res.Body)}
}

// next returns the next event; ok is false at the end.
func (e *events) next() (f frame, ok bool) {
	e.t.Helper()
	for {
		line, err := e.r.ReadBytes('\n')
		if err != nil {
			return f, false
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case len(line) == 0 && f.Raw != "":
			return f, true
		case bytes.HasPrefix(line, []byte(":")):
			e.Pings++
		case bytes.HasPrefix(line, []byte("id: ")):
			f.ID, _ = strconv.ParseInt(string(line[4:]), 10, 64)
		case bytes.HasPrefix(line, []byte("data: ")):
			f.Raw = string(line[6:])
			var v struct {
				Result map[string]any
				Error  *struct{ Code int }
			}
			if err := json.Unmarshal(line[6:], &v); err != nil {
				e.t.Fatalf("frame %s: %v", line, err)
			}
			if f.Result = v.Result; v.Error != nil {
				f.Code = v.Error.Code
			}
		case len(line) > 0:
			e.t.Fatalf("unexpected line %q", line)
		}
	}
}

// take reads n events.
func (e *events) take(n int) []frame {
	e.t.Helper()
	var out []frame
	for range n {
		f, ok := e.next()
		if !ok {
			e.t.Fatalf("the stream ended after %s; want %d events", kinds(out), n)
		}
		out = append(out, f)
	}
	return out
}

// all reads to the end.
func (e *events) all() []frame {
	e.t.Helper()
	var out []frame
	for {
		f, ok := e.next()
		if !ok {
			return out
		}
		out = append(out, f)
	}
}

func (s *server) stream(method, params string, headers ...string) []frame {
	s.t.Helper()
	return s.open(method, params, headers...).all()
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// eventually waits for ok, polling.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
