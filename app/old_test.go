package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hesitant is an agent of v1.0 that answers its first message when told to, and ends its task with the second.
type hesitant struct {
	*httptest.Server
	came   chan struct{} // told of the first message
	answer chan struct{}
	more   chan struct{} // told of the second
}

func newHesitant(t *testing.T) *hesitant {
	t.Helper()
	h := &hesitant{came: make(chan struct{}), answer: make(chan struct{}), more: make(chan struct{})}
	h.Server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h
}

func (h *hesitant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message struct{ TaskID string } }
	}
	if r.Method != http.MethodPost {
		if !strings.HasSuffix(r.URL.Path, "/agent-card.json") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"name":"Hesitant","description":"d","version":"1","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
			"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"s","tags":["t"]}]}`, h.URL)
		return
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	state := "WORKING"
	switch {
	case q.Method == "SendMessage" && q.Params.Message.TaskID == "":
		close(h.came)
		select {
		case <-h.answer:
		case <-r.Context().Done():
			return
		}
	case q.Method == "SendMessage":
		close(h.more)
		state = "COMPLETED"
	default:
		select {
		case <-h.more:
			state = "COMPLETED"
		default:
		}
	}
	task := fmt.Sprintf(`{"id":"T","contextId":"C","status":{"state":"TASK_STATE_%s"}}`, state)
	if q.Method == "SendMessage" {
		task = `{"task":` + task + `}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, task)
}

// A second tasks/send of the same id is one more message for the task of v0.1, also where the agent behind it, at the gateway
// or chosen by our own agent, has not answered the first yet. After the end it is refused.
func TestOldFollowUp(t *testing.T) {
	t.Parallel()
	p := start(t, noDemo)
	for _, path := range []string{"agents/hesitant-1", ""} {
		agent := newHesitant(t)
		id := map[string]string{"": "hesitant-2"}[path]
		if id == "" {
			id = "hesitant-1"
		}
		p.add(agent.URL, id)
		send := func(text string) string {
			return fmt.Sprintf(`{"id":"mine","sessionId":"s","message":{"role":"user","parts":[{"type":"text","text":%q}],"metadata":{"urn:parley:agent":%q}}}`, text, id)
		}
		first, second := make(chan *reply, 1), make(chan *reply, 1)
		go func() { defer close(first); first <- p.call(path, envToken, "tasks/send", send("book")) }()
		<-agent.came
		waits := func() int { return strings.Count(p.log.String(), "a message waits until") }
		waited := waits()
		go func() { defer close(second); second <- p.call(path, envToken, "tasks/send", send("in Rome")) }()
		eventually(t, "the second waits", func() bool { return len(second) > 0 || waits() > waited })
		close(agent.answer)
		for what, r := range map[string]*reply{"first": <-first, "second": <-second} {
			if r.result(t, "id") != "mine" || r.get("result.status.state") != "completed" {
				t.Errorf("/%s: the %s: %s", path, what, r.body)
			}
		}
		if r := p.call(path, envToken, "tasks/send", send("and Bergen")); r.get("error.code") != "-32602" || !strings.Contains(r.get("error.message"), "terminal") {
			t.Errorf("/%s: after the end: %s", path, r.body)
		}
	}
}
