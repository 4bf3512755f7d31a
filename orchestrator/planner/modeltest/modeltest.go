// Package modeltest is an endpoint of a language model for tests: a real server on loopback that speaks the
// chat-completions wire format, and answers as it is told to. It checks of each request that it is one that servers take.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// Endpoint is a running server.
type Endpoint struct {
	URL string // of the API, with /v1

	t      testing.TB
	mu     sync.Mutex
	script []Answer
	asked  []*Request
	models []string
	key    string
}

// Request is one that came in.
type Request struct {
	Header http.Header     `json:"-"`
	Body   []byte          `json:"-"`
	Gone   <-chan struct{} `json:"-"` // closed when nobody waits for the answer any more

	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Calls   []struct {
			ID       string   `json:"id"`
			Function Function `json:"function"`
		} `json:"tool_calls"`
		CallID string `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function Function `json:"function"`
	} `json:"tools"`
	Choice  any             `json:"tool_choice"`
	Heat    *float64        `json:"temperature"`
	Options json.RawMessage `json:"stream_options"`
}

// Function is a tool that is offered, or a call of one.
type Function struct {
	Name       string          `json:"name"`
	Arguments  string          `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// Offers reports whether the request offers a tool.
func (r *Request) Offers(tool string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == tool {
			return true
		}
	}
	return false
}

// Last is the content of the last message.
func (r *Request) Last() string { return r.Messages[len(r.Messages)-1].Content }

// All is the contents of all messages.
func (r *Request) All() string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, m.Content)
	}
	return strings.Join(all, "\n")
}

// Answer is how one request is answered.
type Answer func(w http.ResponseWriter, r *Request)

// New starts an endpoint that gives the answers one after another. A request more than there are answers fails the test.
func New(t testing.TB, script ...Answer) *Endpoint {
	e := &Endpoint{t: t, script: script, models: []string{"small", "large"}}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.URL = s.URL + "/v1"
	return e
}

// Key makes the endpoint want a key.
func (e *Endpoint) Key(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.key = key
}

// Next adds answers to the script.
func (e *Endpoint) Next(script ...Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script = append(e.script, script...)
}

// Asked returns the requests so far that asked the model.
func (e *Endpoint) Asked() []*Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*Request(nil), e.asked...)
}

func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	key := e.key
	e.mu.Unlock()
	if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
		Status(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`)(w, nil)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		list := struct {
			Object string              `json:"object"`
			Data   []map[string]string `json:"data"`
		}{Object: "list"}
		for _, m := range e.models {
			list.Data = append(list.Data, map[string]string{"id": m, "object": "model"})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	case "POST /v1/chat/completions":
		e.complete(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (e *Endpoint) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	req := &Request{Header: r.Header, Body: body, Gone: r.Context().Done()}
	if err == nil {
		err = json.Unmarshal(body, req)
	}
	if err == nil {
		err = req.check()
	}
	if err != nil {
		e.t.Errorf("no server takes this request: %v\n%s", err, body)
	}
	e.mu.Lock()
	e.asked = append(e.asked, req)
	var answer Answer
	if len(e.script) > 0 {
		answer, e.script = e.script[0], e.script[1:]
	}
	e.mu.Unlock()
	if answer == nil {
		e.t.Errorf("the model was asked more often than it was to be, at last: %s", req.Last())
		answer = Status(http.StatusTeapot, `{"error":"no more"}`)
	}
	answer(w, req)
}

// check is what the strictest of the servers want.
func (r *Request) check() error {
	if r.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("its type is %q", r.Header.Get("Content-Type"))
	}
	if r.Model == "" || len(r.Messages) == 0 {
		return fmt.Errorf("it names no model, or has no messages")
	}
	open := map[string]bool{}
	for i, m := range r.Messages {
		switch {
		case !utf8.ValidString(m.Content) || m.Content == "":
			return fmt.Errorf("message %d is empty", i)
		case m.Role == "system" && i > 0:
			return fmt.Errorf("message %d is of the system, and not the first", i)
		case m.Role == "tool" && !open[m.CallID]:
			return fmt.Errorf("message %d answers no call", i)
		case m.Role != "tool" && len(open) > 0:
			return fmt.Errorf("message %d comes before a call is answered", i)
		case m.Role == r.before(i) && m.Role != "tool":
			return fmt.Errorf("message %d is of the same role as the one before", i)
		}
		delete(open, m.CallID)
		for _, c := range m.Calls {
			if len(c.ID) != 9 || !json.Valid([]byte(c.Function.Arguments)) {
				return fmt.Errorf("a call of message %d has the id %q and the arguments %q", i, c.ID, c.Function.Arguments)
			}
			open[c.ID] = true
		}
	}
	return nil
}

func (r *Request) before(i int) string {
	if i == 0 {
		return ""
	}
	return r.Messages[i-1].Role
}

// Call is a call of a tool, with its arguments.
func Call(name string, args any) Function {
	if s, ok := args.(string); ok {
		return Function{Name: name, Arguments: s}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Function{Name: name, Arguments: string(raw)}
}

// Calls answers with calls of tools, in a stream whose pieces cut through everything.
func Calls(calls ...Function) Answer {
	return func(w http.ResponseWriter, r *Request) {
		s := Begin(w, r.Model)
		for i, c := range calls {
			s.Piece(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":%q,"arguments":""}}]}`, i, i, c.Name))
			for part := range parts(c.Arguments, 7) {
				s.Piece(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(part)))
			}
		}
		s.End("tool_calls")
	}
}

// Delegate answers with the tasks, each an agent and its message.
func Delegate(why string, tasks ...[2]string) Answer {
	var list []map[string]string
	for _, t := range tasks {
		list = append(list, map[string]string{"agent": t[0], "message": t[1]})
	}
	return Calls(Call("delegate", map[string]any{"why": why, "tasks": list}))
}

// Finish answers with the final answer.
func Finish(answer string) Answer {
	return Calls(Call("finish", map[string]string{"answer": answer}))
}

// Text answers in words.
func Text(text string) Answer {
	return func(w http.ResponseWriter, r *Request) {
		s := Begin(w, r.Model)
		for part := range parts(text, 5) {
			s.Piece(`{"content":` + quote(part) + `}`)
		}
		s.End("stop")
	}
}

// Status answers with an error. Header fields are given as names and values.
func Status(code int, body string, header ...string) Answer {
	return func(w http.ResponseWriter, _ *Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// Raw answers with a body as it is.
func Raw(contentType, body string) Answer {
	return func(w http.ResponseWriter, _ *Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// Stream is an answer that is being written.
type Stream struct {
	w     http.ResponseWriter
	model string
}

// Begin begins a stream.
func Begin(w http.ResponseWriter, model string) *Stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s := &Stream{w, model}
	s.Piece(`{"role":"assistant","content":null}`)
	return s
}

// Piece writes one delta.
func (s *Stream) Piece(delta string) {
	s.Event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"` + s.model + `","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`)
}

// Event writes one event.
func (s *Stream) Event(data string) {
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// End writes the reason for the end, what it took (11 tokens in, 7 out), and the end.
func (s *Stream) End(reason string) {
	s.Event(`{"id":"c1","object":"chat.completion.chunk","model":"` + s.model + `","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
	s.Event(`{"id":"c1","object":"chat.completion.chunk","model":"` + s.model + `","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`)
	s.Event("[DONE]")
}

// parts cuts a text into pieces of n runes.
func parts(s string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		rs := []rune(s)
		for len(rs) > 0 {
			k := min(n, len(rs))
			if !yield(string(rs[:k])) {
				return
			}
			rs = rs[k:]
		}
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string; never fails
	return string(b)
}
