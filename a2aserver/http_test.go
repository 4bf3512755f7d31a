package a2aserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

func TestMount(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	mux := http.NewServeMux()
	mux.Handle("/a/b", http.StripPrefix("/a/b", s.handler))
	mux.Handle("/a/b/", http.StripPrefix("/a/b", s.handler))
	s.http.Config.Handler = mux
	root := s.URL
	for path, code := range map[string]int{
		"/a/b": 200, "/a/b/": 200, "/a/b/x": 404, "/a/b/.well-known/agent-card.json": 405,
	} {
		s.URL = root + path
		res := s.post(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + say("hi") + `}`)
		res.Body.Close()
		want(t, "POST "+path, res.StatusCode, code)
	}
	for path, code := range map[string]int{
		"/a/b": 405, "/a/b/": 405, "/a/b/x": 404, "/a/b/.well-known/agent-card.json": 200, "/a/b/.well-known/agent.json": 200,
	} {
		res, err := http.Get(root + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want(t, "GET "+path, res.StatusCode, code)
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	body := `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`
	for _, c := range []struct {
		status  int
		headers []string
	}{
		{200, nil},
		{200, []string{"Content-Type", "application/json; charset=utf-8"}},
		{200, []string{"Content-Type", "application/a2a+json"}},
		{200, []string{"Content-Type", "Application/JSON;charset=latin1"}},
		{415, []string{"Content-Type", "text/plain"}},
		{415, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{415, []string{"Content-Type", "application/jsonx"}},
		{415, []string{"Content-Type", ";;;"}},
		{415, []string{"Content-Type", ""}},
		{200, []string{"Content-Type", "", "Authorization", "Bearer x"}},
		{415, []string{"Content-Type", "", "Authorization", "Basic eDp5"}},
		{415, []string{"Content-Type", "", "Authorization", "Bearer x", "Origin", "https://evil.example"}},
		{415, []string{"Content-Encoding", "gzip"}},
	} {
		r := s.raw(body, c.headers...)
		want(t, fmt.Sprint(c.headers), r.Status, c.status)
		if c.status == 415 && (r.Code == 0 || !strings.Contains(string(r.Body), `"id":null`)) {
			t.Errorf("%v: %s", c.headers, r.Body)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for _, c := range []struct {
		version string
		code    int
	}{{"", 0}, {"1", 0}, {"1.0", 0}, {"1.0.1", 0}, {" 1.0 ", 0}, {"0.3", -32009}, {"1.1", -32009}, {"2.0", -32009}, {"x", -32009}} {
		r := s.call("ListTasks", `{}`, "A2A-Version", c.version)
		want(t, "header "+c.version, r.Code, c.code)
		want(t, "status", r.Status, 200)
	}
	want(t, "reason", s.call("ListTasks", `{}`, "A2A-Version", "9").Reason, "VERSION_NOT_SUPPORTED")
	for _, v := range []string{"1.0", "0.3", "9"} {
		want(t, "MID with "+v, s.call("message/send", say("do it"), "A2A-Version", v).get("kind"), "task")
	}
	url := s.URL
	s.URL = url + "/?A2A-Version=0.3"
	want(t, "query", s.call("ListTasks", `{}`).Code, -32009)
	s.URL = url + "/?A2A-Version=1.0"
	want(t, "query", s.call("ListTasks", `{}`).Code, 0)
}

func TestPushIsOff(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for method, params := range map[string]string{
		"CreateTaskPushNotificationConfig":    `{"taskId":"x","url":"https://c.example/"}`,
		"GetTaskPushNotificationConfig":       `{"taskId":"x","id":"y"}`,
		"ListTaskPushNotificationConfigs":     `{"taskId":"x"}`,
		"DeleteTaskPushNotificationConfig":    `{"taskId":"x","id":"y"}`,
		"tasks/pushNotificationConfig/set":    `{"taskId":"x","pushNotificationConfig":{"url":"https://c.example/"}}`,
		"tasks/pushNotificationConfig/get":    `{"id":"x"}`,
		"tasks/pushNotificationConfig/list":   `{"id":"x"}`,
		"tasks/pushNotificationConfig/delete": `{"id":"x","pushNotificationConfigId":"y"}`,
		"SendMessage":                         say("do it", `|"configuration":{"taskPushNotificationConfig":{"url":"https://c.example/"}}`),
		"message/send":                        say("do it", `|"configuration":{"pushNotificationConfig":{"url":"https://c.example/"}}`),
		"message/stream":                      say("do it", `|"configuration":{"pushNotificationConfig":{"url":"https://c.example/"}}`),
	} {
		r := s.call(method, params)
		want(t, method, r.Code, -32003)
		want(t, method, r.Status, 200)
	}
	want(t, "nothing was begun", s.call("ListTasks", `{}`).get("totalSize"), "0")
}

func TestExtendedCard(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	want(t, "not offered", s.call("GetExtendedAgentCard", `{}`).Code, -32004)
	want(t, "not offered, MID", s.call("agent/getAuthenticatedExtendedCard", `{}`).Code, -32007)
	card := *testCard
	card.Capabilities.ExtendedAgentCard = true
	s = serve(t, config{card: &card})
	want(t, "offered, not there", s.call("GetExtendedAgentCard", `{}`).Code, -32007)
}

func TestStreamingOff(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.Capabilities.Streaming = false
	s := serve(t, config{card: &card})
	for method, params := range map[string]string{
		"SendStreamingMessage": say("do it"), "message/stream": say("do it"),
		"SubscribeToTask": `{"id":"x"}`, "tasks/resubscribe": `{"id":"x"}`,
	} {
		want(t, method, s.call(method, params).Code, -32004)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "https://e.example/must", Required: true}, {URI: "https://e.example/may"}}
	s := serve(t, config{card: &card})
	want(t, "without", s.call("SendMessage", say("hi")).Code, -32008)
	want(t, "without, MID", s.call("message/send", say("hi")).Code, -32600)
	r := s.call("SendMessage", say("hi"), "A2A-Extensions", "https://e.example/must, https://e.example/other")
	want(t, "with", r.Code, 0)
	want(t, "in force", r.Header.Get("A2A-Extensions"), "https://e.example/must")
	r = s.call("message/send", say("hi"), "X-A2A-Extensions", "https://e.example/may,https://e.example/must")
	want(t, "in force, MID", r.Header.Get("X-A2A-Extensions"), "https://e.example/must, https://e.example/may")
}

func TestModes(t *testing.T) {
	t.Parallel()
	card := *testCard
	card.DefaultInputModes, card.DefaultOutputModes = []string{"text/plain"}, []string{"text/markdown", "image/*"}
	card.Skills = append(card.Skills, a2a.AgentSkill{ID: "see", Name: "see", InputModes: []string{"image/*", "data"}, OutputModes: []string{"application/json"}})
	s := serve(t, config{card: &card})
	part := func(p string, extra ...string) string {
		return strings.Replace(say("x", extra...), `{"text":"x"}`, p, 1)
	}
	accept := func(modes string) string { return say("hi", `|"configuration":{"acceptedOutputModes":`+modes+`}`) }
	for _, c := range []struct {
		name, params string
		code         int
	}{
		{"text", part(`{"text":"hi"}`), 0},
		{"text that says so", part(`{"text":"hi","mediaType":"TEXT/plain; charset=utf-8"}`), 0},
		{"audio", part(`{"raw":"aGk=","mediaType":"audio/ogg"}`), -32005},
		{"an image, which some skill takes", part(`{"raw":"aGk=","mediaType":"image/png"}`), 0},
		{"data, which some skill takes", part(`{"data":{}}`), 0},
		{"file of no type", part(`{"raw":"aGk="}`), 0},
		{"text for the skill that sees", part(`{"text":"hi"}`, `"metadata":{"skillId":"see"}`), -32005},
		{"image for the skill that sees", part(`{"raw":"aGk=","mediaType":"image/png"}`, `|"metadata":{"skillId":"see"}`), 0},
		{"data for the skill that obeys", part(`{"data":{}}`, `|"metadata":{"skillId":"obey"}`), -32005},
		{"no preference", accept(`[]`), 0},
		{"accepts what it makes", accept(`["text/html","text/markdown"]`), 0},
		{"accepts some image", accept(`["image/png"]`), 0},
		{"accepts anything", accept(`["*/*"]`), 0},
		{"accepts a word of old", accept(`["file"]`), 0},
		{"accepts any text", accept(`["text/*"]`), 0},
		{"accepts nothing of it", accept(`["audio/ogg","video/*"]`), -32005},
	} {
		r := s.call("SendMessage", c.params)
		want(t, c.name, r.Code, c.code)
		want(t, c.name, r.Status, 200)
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	auth := func(r *http.Request) (string, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer good":
			return "p", nil
		case "Bearer weak":
			return "", a2a.Errorf(a2a.KindForbidden, "this token may not")
		}
		return "", errors.New("secret reason")
	}
	s := serve(t, config{handler: &a2aserver.HandlerOptions{Authenticate: auth, Challenge: `Bearer realm="x"`}})
	for _, method := range []string{"SendMessage", "message/stream", "GetTask", "nonsense"} {
		r := s.call(method, say("hi"))
		want(t, method, r.Status, 401)
		want(t, "challenge", r.Header.Get("WWW-Authenticate"), `Bearer realm="x"`)
		if !strings.Contains(string(r.Body), `"id":null`) || strings.Contains(string(r.Body), "secret") {
			t.Errorf("%s: %s", method, r.Body)
		}
	}
	r := s.call("SendMessage", say("hi"), "Authorization", "Bearer weak")
	want(t, "forbidden", r.Status, 403)
	want(t, "forbidden", r.Header.Get("WWW-Authenticate"), "")
	want(t, "let in", s.call("SendMessage", say("hi"), "Authorization", "Bearer good").Status, 200)
	get := func(s *server, token string) *http.Response {
		req, _ := http.NewRequest(http.MethodGet, s.URL+"/.well-known/agent-card.json", nil)
		req.Header.Set("Authorization", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	want(t, "the card is public", get(s, "").StatusCode, 200)
	s = serve(t, config{handler: &a2aserver.HandlerOptions{Authenticate: auth, CardNeedsAuth: true}})
	want(t, "the card is not", get(s, "").StatusCode, 401)
	res := get(s, "Bearer good")
	want(t, "the card with a token", res.StatusCode, 200)
	want(t, "is kept by nobody else", res.Header.Get("Cache-Control"), "private, max-age=60")
}

func TestCard(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	get := func(path string, headers ...string) (*http.Response, string) {
		req, _ := http.NewRequest(http.MethodGet, s.URL+path, nil)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res, string(b)
	}
	res, body := get("/.well-known/agent-card.json")
	if !strings.Contains(body, `"supportedInterfaces"`) || !strings.Contains(body, `"preferredTransport"`) {
		t.Errorf("agent-card.json serves not both versions: %s", body)
	}
	want(t, "type", res.Header.Get("Content-Type"), "application/json")
	if v := res.Header.Get("Vary"); !strings.Contains(v, "A2A-Version") {
		t.Errorf("Vary %q", v)
	}
	want(t, "cache", res.Header.Get("Cache-Control"), "public, max-age=60")
	want(t, "cors", res.Header.Get("Access-Control-Allow-Origin"), "")
	tag := res.Header.Get("ETag")
	if res, body = get("/.well-known/agent-card.json", "If-None-Match", tag); res.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("with its own tag %s: %d %s", tag, res.StatusCode, body)
	}
	res, body = get("/.well-known/agent.json", "If-None-Match", tag)
	want(t, "agent.json", res.StatusCode, 200)
	if strings.Contains(body, `"supportedInterfaces"`) || !strings.Contains(body, `"protocolVersion"`) {
		t.Errorf("agent.json is not the old form: %s", body)
	}
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	limit := a2a.Limits.RequestBody
	body := `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`
	for n, status := range map[int]int{limit - 1: 200, limit: 200, limit + 1: 413} {
		want(t, fmt.Sprint("size ", n), s.raw(body+strings.Repeat(" ", n-len(body))).Status, status)
		// The same when the length is not told beforehand.
		req, _ := http.NewRequest(http.MethodPost, s.URL, struct{ io.Reader }{strings.NewReader(body + strings.Repeat(" ", n-len(body)))})
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want(t, fmt.Sprint("chunked size ", n), res.StatusCode, status)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for body, code := range map[string]int{
		``:     -32700,
		`{`:    -32700,
		`null`: -32600,
		`[]`:   -32600,
		`[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]`:                                                                                   -32600,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks"} x`:                                                                                   -32700,
		`{"jsonrpc":"2.0","method":"ListTasks","params":{}}`:                                                                                -32600,
		`{"jsonrpc":"1.0","id":1,"method":"ListTasks"}`:                                                                                     -32600,
		`{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`:                                                                                    -32600,
		`{"jsonrpc":"2.0","id":1,"method":"Nonsense"}`:                                                                                      -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/send"}`:                                                                                    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}`:                                                                           -32602,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`:                                                                                   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}}`:              -32602,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"%%%"}]}}}`: -32602,
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":"x"}}}`:                 -32602,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`:    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + say("x") + `,"params":{}}`:                                             -32602,
	} {
		r := s.raw(body)
		if r.Code != code || r.Status != 200 {
			t.Errorf("%.120s: %d %d, want 200 %d\n%s", body, r.Status, r.Code, code, r.Body)
		}
	}
	for _, id := range []string{`1`, `"a"`, `null`, `1.5`, `1e3`, `1152921504606846976`} {
		r := s.raw(`{"jsonrpc":"2.0","id":` + id + `,"method":"ListTasks","params":{}}`)
		if !strings.HasPrefix(string(r.Body), `{"jsonrpc":"2.0","id":`+id+`,`) {
			t.Errorf("id %s comes back in %s", id, r.Body)
		}
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	limiters := map[string]*rate.Limiter{"slow": rate.NewLimiter(rate.Every(time.Hour), 2)}
	o := as()
	o.Rate = func(principal string) *rate.Limiter { return limiters[principal] }
	s := serve(t, config{handler: o})
	for i, status := range []int{200, 200, 429, 429} {
		r := s.call("ListTasks", `{}`, "X-Who", "slow")
		want(t, fmt.Sprint("request ", i+1), r.Status, status)
		if status == 429 && r.Header.Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
		}
	}
	want(t, "others", s.call("ListTasks", `{}`, "X-Who", "fast").Status, 200)
}

func TestTap(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []*wire.Exchange
	o := as()
	o.Tap = func(_ context.Context, x *wire.Exchange) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, x)
	}
	s := serve(t, config{handler: o})
	task := s.call("SendMessage", say("do it"), "X-Who", "p")
	frames := s.stream("message/stream", say("do it"), "X-Who", "p")
	bad := s.call("GetTask", `{"id":"x"}`, "X-Who", "p")
	eventually(t, "three exchanges", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == 3
	})
	mu.Lock()
	defer mu.Unlock()
	x := seen[0]
	if !x.Inbound || x.Peer != "p" || x.Method != "SendMessage" || x.TaskID != task.get("task.id") || x.Status != 200 ||
		string(x.Response) != string(task.Body) || !strings.Contains(string(x.Request), "do it") || x.Took <= 0 {
		t.Errorf("send: %+v", x)
	}
	x = seen[1]
	if x.Dialect != wire.MID || x.Response != nil || x.Events != [2]int64{frames[0].ID, frames[3].ID} || x.Status != 200 {
		t.Errorf("stream: %+v", x)
	}
	x = seen[2]
	if x.TaskID != "x" || x.Err == "" || string(x.Response) != string(bad.Body) {
		t.Errorf("error: %+v", x)
	}
}

func TestNoCardNoAgent(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	h := a2aserver.NewHandler(s.agent, func(_ context.Context, _ *http.Request) *a2a.AgentCard { return nil }, nil)
	s.http.Config.Handler = h
	res := s.post(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + say("hi") + `}`)
	res.Body.Close()
	want(t, "call", res.StatusCode, 404)
}
