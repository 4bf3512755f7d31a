package a2aserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
)

func TestUnhealthyLog(t *testing.T) {
	t.Parallel()
	log := newWrapLog()
	s := serve(t, config{log: log})
	id := s.call("SendMessage", say("ask")).get("task.id")
	log.sick.Store(true)
	for method, params := range map[string]string{
		"SendMessage": say("do it"), "SendStreamingMessage": say("do it"), "message/send": say("do it"), "CancelTask": fmt.Sprintf(`{"id":%q}`, id),
	} {
		r := s.call(method, params)
		want(t, method, r.Status, 503)
		if r.Header.Get("Retry-After") == "" || !strings.Contains(r.Text, "disk is full") {
			t.Errorf("%s: %v %s", method, r.Header, r.Body)
		}
	}
	want(t, "reading goes on", s.call("GetTask", fmt.Sprintf(`{"id":%q}`, id)).get("status.state"), "TASK_STATE_INPUT_REQUIRED")
	log.sick.Store(false)
	want(t, "and then", s.call("SendMessage", say("do it")).get("task.status.state"), "TASK_STATE_COMPLETED")
}

// TestFailingLog: what could not be stored is not acknowledged, and can be sent again.
func TestFailingLog(t *testing.T) {
	t.Parallel()
	log := newWrapLog()
	s := serve(t, config{log: log})
	log.broken.Store(true)
	for _, c := range []struct{ method, text string }{{"SendMessage", "do it"}, {"SendMessage", "hello"}, {"SendStreamingMessage", "do it"}, {"SendMessage", "count 500"}} {
		r := s.call(c.method, sayID(c.method+c.text, c.text))
		want(t, c.method+" "+c.text, r.Status, 503)
	}
	eventually(t, "nothing is kept of it", func() bool { n, claims := s.agent.Held(); return n+claims == 0 })
	want(t, "nothing is listed", s.call("ListTasks", `{}`).get("totalSize"), "0")
	log.broken.Store(false)
	want(t, "again", s.call("SendMessage", sayID("SendMessagedo it", "do it")).get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "again", s.call("SendMessage", sayID("SendMessagehello", "hello")).get("message.parts.0.text"), "echo: hello")
}

// TestLogFailsInTheMiddle: a stream ends with an error, the task stays as it was stored, and can be gone on with.
func TestLogFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	log := newWrapLog()
	next := make(chan struct{})
	s := serve(t, config{log: log, exec: execFunc(func(ctx context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		if tn.Task != nil {
			return nil
		}
		yield(chunk("stored"))
		<-next
		yield(chunk("lost"))
		<-ctx.Done()
		return nil
	})})
	e := s.open("SendStreamingMessage", say("x"))
	id := dig(e.take(2)[0].Result, "task.id")
	log.broken.Store(true)
	close(next)
	want(t, "the end", kinds(e.all()), "error -32603")
	log.broken.Store(false)
	r := s.call("GetTask", fmt.Sprintf(`{"id":%q}`, id))
	want(t, "what is stored", r.get("artifacts.0.parts"), `[{"text":"stored"}]`)
	eventually(t, "the turn is over", func() bool { n, _ := s.agent.Held(); return n <= 1 })
	r = s.call("SendMessage", say("go on", fmt.Sprintf(`"taskId":%q`, id)))
	want(t, "going on", r.get("task.status.state"), "TASK_STATE_COMPLETED")
}
