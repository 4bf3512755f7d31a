package a2aserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// What the tests of several dialects share.

// rest makes a request over HTTP+JSON. body "" sends none.
func (s *server) rest(method, path, body string, headers ...string) *reply {
	s.t.Helper()
	res := s.send(method, path, body, headers...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	r := &reply{Status: res.StatusCode, Header: res.Header, Body: b}
	if len(b) == 0 {
		return r
	}
	if err := json.Unmarshal(b, &r.Result); err != nil {
		s.t.Fatalf("%s %s: %d is no JSON object: %v\n%s", method, path, res.StatusCode, err, b)
	}
	if e, ok := r.Result["error"].(map[string]any); ok { // v1.0
		r.Text, _ = e["message"].(string)
		r.Reason = dig(e, "details.0.reason")
	} else if res.StatusCode >= 400 { // v0.3
		r.Text, _ = r.Result["message"].(string)
		r.Reason = dig(r.Result, "data.0.reason")
		code, _ := r.Result["code"].(float64)
		r.Code = int(code)
	}
	return r
}

func (s *server) send(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
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

// restStream opens a stream over HTTP+JSON and returns the data of its frames.
func (s *server) restStream(method, path, body string, headers ...string) (data []string, names []string, ids []string) {
	s.t.Helper()
	return readFrames(s.t, s.send(method, path, body, headers...))
}

// readFrames reads a stream to its end.
func readFrames(t testing.TB, res *http.Response) (data, names, ids []string) {
	t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("%d %s %s, want a stream", res.StatusCode, ct, b)
	}
	for block := range bytes.SplitSeq(b, []byte("\n\n")) {
		var name, id string
		for line := range strings.SplitSeq(string(block), "\n") {
			switch {
			case strings.HasPrefix(line, "data: "):
				data, names, ids = append(data, line[6:]), append(names, name), append(ids, id)
			case strings.HasPrefix(line, "event: "):
				name = line[7:]
			case strings.HasPrefix(line, "id: "):
				id = line[4:]
			}
		}
	}
	return data, names, ids
}

// dialect is one way to ask: a family over a binding.
type dialect struct {
	name string
	s    *server
}

// dialects are all the ways to ask s.
func dialects(s *server) []dialect {
	return []dialect{{"NEW", s}, {"MID", s}, {"OLD", s}, {"NEW REST", s}, {"PROTO REST", s}}
}

// result is what any dialect answers, in short.
type result struct {
	Task    string // as the client knows it
	Context string
	State   string // in the words of v0.3
	Text    string // of the artifacts, or of a Message
	Message bool   // the answer is a Message
	History int
	Code    int    // of a JSON-RPC error
	Reason  string // of an error of v1.0, and of v0.3 over HTTP+JSON
	Status  int
	Raw     string
}

// stateName puts the name of a state into the words of v0.3.
func stateName(s string) string {
	s = strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_"))
	return strings.ReplaceAll(strings.ReplaceAll(s, "_", "-"), "cancelled", "canceled")
}

func shorten(r *reply, v map[string]any) result {
	out := result{Code: r.Code, Reason: r.Reason, Status: r.Status, Raw: string(r.Body)}
	if r.Code != 0 || r.Status >= 400 {
		return out
	}
	t := v
	if x, ok := v["task"].(map[string]any); ok {
		t = x
	}
	m, ok := v["message"].(map[string]any)
	if dig(v, "kind") == "message" {
		m, ok = v, true
	}
	if ok {
		out.Message, out.Text, out.Context = true, partsText(m), dig(m, "contextId")
		return out
	}
	out.Task, out.State = dig(t, "id"), stateName(dig(t, "status.state"))
	if out.Context = dig(t, "contextId"); out.Context == "" {
		out.Context = dig(t, "sessionId")
	}
	for i := 0; dig(t, fmt.Sprintf("artifacts.%d", i)) != ""; i++ {
		out.Text += partsText(t["artifacts"].([]any)[i].(map[string]any))
	}
	history, _ := t["history"].([]any)
	out.History = len(history)
	return out
}

func partsText(v map[string]any) (text string) {
	parts, _ := v["parts"].([]any)
	if parts == nil {
		parts, _ = v["content"].([]any)
	}
	for _, p := range parts {
		text += dig(p, "text")
	}
	return text
}

// message is the params of a send. task and context may be "" (for v0.1, task never is); config is the members of the
// configuration, or for v0.1 of the params.
func (d dialect) params(text, task, context, config string) string {
	id := uuid.NewString()
	ids := ""
	if task != "" && d.name != "OLD" {
		ids += fmt.Sprintf(`,"taskId":%q`, task)
	}
	if context != "" && d.name != "OLD" {
		ids += fmt.Sprintf(`,"contextId":%q`, context)
	}
	if config != "" && d.name != "OLD" {
		config = `,"configuration":{` + config + `}`
	}
	switch d.name {
	case "OLD":
		if context != "" {
			config = fmt.Sprintf(`"sessionId":%q`, context)
		}
		if config != "" {
			config = "," + config
		}
		return fmt.Sprintf(`{"id":%q,"message":{"role":"user","parts":[{"type":"text","text":%q}]}%s}`, task, text, config)
	case "MID":
		return fmt.Sprintf(`{"message":{"kind":"message","messageId":%q,"role":"user","parts":[{"kind":"text","text":%q}]%s}%s}`, id, text, ids, config)
	case "PROTO REST":
		return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","content":[{"text":%q}]%s}%s}`, id, text, ids, config)
	}
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s}%s}`, id, text, ids, config)
}

// say sends a message and returns the answer. For v0.1 a task that is not named is named anew.
func (d dialect) say(text, task, context, config string, headers ...string) result {
	d.s.t.Helper()
	if d.name == "OLD" && task == "" {
		task = "client " + uuid.NewString()
	}
	params := d.params(text, task, context, config)
	switch d.name {
	case "NEW":
		r := d.s.call("SendMessage", params, headers...)
		return shorten(r, r.Result)
	case "MID":
		r := d.s.call("message/send", params, headers...)
		return shorten(r, r.Result)
	case "OLD":
		r := d.s.call("tasks/send", params, headers...)
		return shorten(r, r.Result)
	case "NEW REST":
		r := d.s.rest("POST", "/message:send", params, headers...)
		return shorten(r, r.Result)
	}
	r := d.s.rest("POST", "/v1/message:send", params, headers...)
	return shorten(r, r.Result)
}

// do makes a call about a task: get or cancel. query is the members of the params, such as "historyLength":1.
func (d dialect) do(op, task, query string, headers ...string) result {
	d.s.t.Helper()
	var r *reply
	switch d.name {
	case "NEW REST", "PROTO REST":
		path := "/tasks/" + strings.ReplaceAll(task, " ", "%20")
		if d.name == "PROTO REST" {
			path = "/v1" + path
		}
		if op == "cancel" {
			r = d.s.rest("POST", path+":cancel", "", headers...)
			break
		}
		if query != "" {
			path += "?" + strings.NewReplacer(`"`, "", ":", "=").Replace(query)
		}
		r = d.s.rest("GET", path, "", headers...)
	default:
		method := map[string]string{"get": "tasks/get", "cancel": "tasks/cancel"}[op]
		if d.name == "NEW" {
			method = map[string]string{"get": "GetTask", "cancel": "CancelTask"}[op]
		}
		if query != "" {
			query = "," + query
		}
		r = d.s.call(method, fmt.Sprintf(`{"id":%q%s}`, task, query), headers...)
	}
	return shorten(r, r.Result)
}

// stream sends a message with a stream, or with op "subscribe" follows a task, and returns the frames in short.
func (d dialect) stream(op, text, task string, headers ...string) (frames []string) {
	d.s.t.Helper()
	return d.frames(d.open(op, text, task, headers...))
}

// open is stream without reading it.
func (d dialect) open(op, text, task string, headers ...string) *http.Response {
	d.s.t.Helper()
	if d.name == "OLD" && task == "" {
		task = "client " + uuid.NewString()
	}
	params := d.params(text, task, "", "")
	if op == "subscribe" {
		params = fmt.Sprintf(`{"id":%q}`, task)
	}
	rpc := func(method string) *http.Response {
		return d.s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":%q,"params":%s}`, method, params), headers...)
	}
	switch {
	case d.name == "NEW" && op == "subscribe":
		return rpc("SubscribeToTask")
	case d.name == "NEW":
		return rpc("SendStreamingMessage")
	case op == "subscribe" && (d.name == "MID" || d.name == "OLD"):
		return rpc("tasks/resubscribe")
	case d.name == "MID":
		return rpc("message/stream")
	case d.name == "OLD":
		return rpc("tasks/sendSubscribe")
	}
	path := ""
	if d.name == "PROTO REST" {
		path = "/v1"
	}
	if op == "subscribe" {
		return d.s.send("POST", path+"/tasks/"+strings.ReplaceAll(task, " ", "%20")+":subscribe", "", headers...)
	}
	return d.s.send("POST", path+"/message:stream", params, headers...)
}

// frames names what a stream says, to its end: task, status, artifact or message, each with its state, and "final" where
// it says so.
func (d dialect) frames(res *http.Response) (out []string) {
	d.s.t.Helper()
	data, _, _ := readFrames(d.s.t, res)
	for _, f := range data {
		out = append(out, frameName(d.s.t, f))
	}
	return out
}

func frameName(t testing.TB, data string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("frame %s: %v", data, err)
	}
	if v["error"] != nil || v["code"] != nil {
		return "error"
	}
	if inner, ok := v["result"].(map[string]any); ok {
		v = inner
	}
	name := dig(v, "kind")
	for k, short := range map[string]string{"task": "task", "message": "message", "statusUpdate": "status", "artifactUpdate": "artifact"} {
		if x, ok := v[k].(map[string]any); ok && name == "" {
			name, v = short, x
		}
	}
	switch {
	case name == "status-update", name == "" && v["status"] != nil:
		name = "status"
	case name == "artifact-update", name == "" && v["artifact"] != nil:
		name = "artifact"
	}
	if s := dig(v, "status.state"); s != "" {
		name += " " + stateName(s)
	}
	if dig(v, "final") == "true" {
		name += " final"
	}
	return name
}
