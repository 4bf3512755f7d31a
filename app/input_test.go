package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

// insides are what no answer may hold.
var insides = regexp.MustCompile(`\.go:\d|goroutine |json: |sqlite|SELECT |/tmp/`)

// Whatever comes in is answered with what is wrong with it, and nothing of ours breaks.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := start(t)
	message := func(parts string) string {
		return request("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":`+parts+`}}`)
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, tt := range map[string]struct {
		body   string
		status int
		code   string
		header []string
	}{
		"nothing":           {"", 200, "-32700", nil},
		"half":              {`{"jsonrpc":"2.0","id":1,`, 200, "-32700", nil},
		"two values":        {request("ListTasks", "{}") + "x", 200, "-32700", nil},
		"a list":            {`[]`, 200, "-32600", nil},
		"a batch":           {"[" + request("ListTasks", "{}") + "]", 200, "-32600", nil},
		"a number":          {`7`, 200, "-32600", nil},
		"no version":        {`{"id":1,"method":"ListTasks","params":{}}`, 200, "-32600", nil},
		"no method":         {`{"jsonrpc":"2.0","id":1,"params":{}}`, 200, "-32600", nil},
		"a method of 7":     {`{"jsonrpc":"2.0","id":1,"method":7,"params":{}}`, 200, "-32600", nil},
		"an id of {}":       {`{"jsonrpc":"2.0","id":{},"method":"ListTasks","params":{}}`, 200, "-32600", nil},
		"unknown method":    {request("Explode", "{}"), 200, "-32601", nil},
		"params of 7":       {request("SendMessage", "7"), 200, "-32602", nil},
		"no message":        {request("SendMessage", "{}"), 200, "-32602", nil},
		"a message of 7":    {request("SendMessage", `{"message":7}`), 200, "-32602", nil},
		"no parts":          {message("[]"), 200, "-32602", nil},
		"parts of 7":        {message("7"), 200, "-32602", nil},
		"a part of 7":       {message("[7]"), 200, "-32602", nil},
		"a text of 7":       {message(`[{"text":7}]`), 200, "-32602", nil},
		"bad base64":        {message(`[{"raw":"!!!"}]`), 200, "-32602", nil},
		"10,000 parts":      {message("[" + strings.Repeat(`{"text":"x"},`, 9999) + `{"text":"x"}]`), 200, "-32602", nil},
		"no message id":     {request("SendMessage", `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`), 200, "-32602", nil},
		"deep nesting":      {message(`[{"data":` + deep(100) + `}]`), 200, "-32602", nil},
		"very deep nesting": {message(`[{"data":` + deep(100_000) + `}]`), 200, "-32700", nil},
		"unknown task":      {request("GetTask", about("nothing")), 200, "-32001", nil},
		"no task":           {request("GetTask", "{}"), 200, "-32602", nil},
		"a page of 101":     {request("ListTasks", `{"pageSize":101}`), 200, "-32602", nil},
		"a page of 0":       {request("ListTasks", `{"pageSize":-1}`), 200, "-32602", nil},
		"a page token":      {request("ListTasks", `{"pageToken":"x"}`), 200, "-32602", nil},
		"wrong version":     {request("ListTasks", "{}"), 200, "-32009", []string{"A2A-Version", "9.9"}},
		"push":              {request("CreateTaskPushNotificationConfig", `{"taskId":"x","url":"https://example.com"}`), 200, "-32001", nil},
		"old, unknown task": {request("tasks/get", about("nothing")), 200, "-32001", nil},
		"old, no parts":     {request("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[]}}`), 200, "-32602", nil},
		"no UTF-8":          {message("[{\"text\":\"\xff\"}]"), 200, "-32700", nil},
	} {
		for _, path := range []string{"", "agents/bench"} {
			r := p.do("POST", p.a2a(path), tt.body, authorized(envToken, tt.header)...)
			if r.StatusCode != tt.status || r.get("error.code") != tt.code || r.get("error.message") == "" || r.get("jsonrpc") != "2.0" {
				t.Errorf("%s at /%s: %d %.300s, want %d %s", name, path, r.StatusCode, r.body, tt.status, tt.code)
			}
			if s := string(r.body); insides.MatchString(s) {
				t.Errorf("%s tells of our insides: %s", name, s)
			}
		}
	}
	if r := p.call("agents/bench", envToken, "ListTasks", "{}"); r.result(t, "totalSize") != "0" {
		t.Errorf("something was taken: %s", r.body)
	}
	if s := p.log.String(); strings.Contains(s, "level=ERROR") {
		t.Errorf("the log:\n%s", s)
	}
}

// TestLimits holds the sizes of what comes in at one less than the limit, at it, and one more.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := start(t)
	accepted := func(what string, n, limit int, r *reply, refused int) {
		t.Helper()
		ok := r.StatusCode == 200 && r.get("error") == ""
		if want := n <= limit; ok != want || !ok && r.StatusCode != refused {
			t.Errorf("%d of %s, with %d allowed: %d %.200s", n, what, limit, r.StatusCode, r.body)
		}
		if !ok && r.get("error.message") == "" {
			t.Errorf("%d of %s: %.200s", n, what, r.body)
		}
	}
	call := request("ListTasks", "{}")
	for _, n := range []int{-1, 0, 1} {
		n := n + a2a.Limits.RequestBody
		body := call + strings.Repeat(" ", n-len(call))
		accepted("body bytes", n, a2a.Limits.RequestBody, p.do("POST", p.a2a(""), body, authorized(envToken, nil)...), 413)
		accepted("chunked body bytes", n, a2a.Limits.RequestBody, p.chunked(body), 413)
	}
	parts := func(n int, part string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = part
		}
		return `{"message":{"messageId":"m` + fmt.Sprint(n, len(part)) + `","role":"ROLE_USER","parts":[` + strings.Join(all, ",") + `]}}`
	}
	for _, n := range []int{-1, 0, 1} {
		m := n + a2a.Limits.Parts
		accepted("parts", m, a2a.Limits.Parts, p.call("agents/echo", envToken, "SendMessage", parts(m, `{"text":"x"}`)), 200)
		m = n + a2a.Limits.TextPart
		accepted("text bytes", m, a2a.Limits.TextPart, p.call("agents/echo", envToken, "SendMessage", parts(1, `{"text":"`+strings.Repeat("x", m)+`"}`)), 413)
		// The nesting is counted from the request on: params, message, parts, part, and the data.
		m = n + a2a.Limits.JSONDepth
		inner := m - 5
		accepted("levels", m, a2a.Limits.JSONDepth, p.call("agents/echo", envToken, "SendMessage", parts(1, `{"data":`+strings.Repeat("[", inner)+strings.Repeat("]", inner)+`}`)), 200)
	}
}

// chunked sends a call whose length is not said beforehand.
func (p *program) chunked(body string) *reply {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), "POST", p.a2a(""), struct{ io.Reader }{strings.NewReader(body)})
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+envToken)
	resp, err := client(p.T).Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return &reply{resp, b}
}

// sent is the end of a conversation that was said to an agent: how it ended, and the fault.
type sent struct {
	lines []app.Line
	end   app.Line
	asks  []app.AskInfo
	text  string
}

// An agent that fails in any of the ways in which servers fail ends the run, with what happened, where, and what to do.
func TestAgentsThatMisbehave(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, mode := range []string{"500", "reset", "garbage", "no-end", "repeat"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			s := p.tell(t, "flaky", "#flaky "+mode)
			switch mode {
			case "garbage", "no-end", "repeat": // the work itself is honest: a client that reads on gets all of it
				if s.end.State != completed || s.text != "1 2 3 4 5 6 7 8 9 10 " {
					t.Errorf("it ended %s with %q: %+v", s.end.State, s.text, s.end.RunFault)
				}
			default:
				f := s.end.RunFault
				if s.end.State != "TASK_STATE_FAILED" && len(s.asks) == 0 {
					t.Errorf("it ended %s, %+v", s.end.State, f)
				}
				if len(s.asks) == 0 && (f == nil || f.What == "" || f.Where == "" || f.Do == "") {
					t.Errorf("the fault: %#v", f)
				}
			}
			if d := time.Since(began); d > time.Minute {
				t.Errorf("it took %v", d)
			}
		})
	}
	// One that never answers is stopped by whoever waits for it.
	t.Run("hang", func(t *testing.T) {
		t.Parallel()
		s := p.tell(t, "flaky", "#flaky hang", func(l app.Line) {
			if l.Kind == "run" {
				go func() { _ = p.ctl.Call(t.Context(), "task.cancel", app.TaskRef{ID: l.Run}, nil) }()
			}
		})
		if s.end.State != canceled && s.end.State != "TASK_STATE_FAILED" {
			t.Errorf("it ended %+v", s.end)
		}
	})
}

// tell says something to an agent as the command line does and follows it to the end of the run, or to an open ask.
func (p *program) tell(t *testing.T, to, text string, each ...func(app.Line)) *sent {
	t.Helper()
	s := &sent{}
	stop := fmt.Errorf("asked")
	err := p.ctl.Stream(t.Context(), "send", app.Message{To: to, Text: text}, func(raw []byte) error {
		var l app.Line
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		s.lines = append(s.lines, l)
		for _, f := range each {
			f(l)
		}
		switch l.Kind {
		case "ask":
			s.asks = append(s.asks, *l.Ask)
			return stop
		case "end":
			s.end = l
		case "event":
			e, err := a2a.UnmarshalEvent(l.Event)
			if err != nil {
				return err
			}
			switch e := e.(type) {
			case *a2a.ArtifactUpdate:
				s.text += a2a.Text(e.Artifact.Parts)
			case *a2a.Message:
				s.text += a2a.Text(e.Parts)
			}
		}
		return nil
	})
	if err != nil && err != stop {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// What is no card is told in words a person can use.
func TestBadCards(t *testing.T) {
	t.Parallel()
	p := start(t)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + nobody.Addr().String()
	nobody.Close()
	for name, input := range map[string]string{
		"a page": p.ready.Demo + "flaky/html-card", "a page itself": p.ready.Demo + "flaky/html-card/.well-known/agent-card.json",
		"nobody there": closed, "no card": p.ready.Demo + "static/", "not JSON": `{"name":`, "an empty card": `{}`, "no address": `{"name":"x","version":"1"}`,
	} {
		var found []app.AgentInfo
		err := p.ctl.Call(t.Context(), "agents.preview", app.FindAgent{Input: input}, &found)
		f, _ := errors.AsType[*orchestrator.Fault](err)
		if err == nil && len(found) == 1 {
			f = found[0].Fault
		}
		if f == nil || f.What == "" || f.Where == "" || f.Do == "" {
			t.Errorf("%s: %v %+v", name, err, f)
		}
	}
}
