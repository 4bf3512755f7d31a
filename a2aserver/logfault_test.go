package a2aserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
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

// lateLog fails, when it is told to, what was appended while it was stuck.
type lateLog struct {
	a2aserver.Log
	stuck atomic.Bool
	fail  chan struct{}
}

func (l *lateLog) Append(c *a2aserver.Change, done func([]*a2a.Entry, error)) {
	if !l.stuck.Load() {
		l.Log.Append(c, done)
		return
	}
	go func() {
		<-l.fail
		done(nil, errFull)
	}()
}

// TestReplyBehindFailure: a reply that came before the log failed is not acted on, and can be sent again.
func TestReplyBehindFailure(t *testing.T) {
	t.Parallel()
	log := &lateLog{Log: a2aserver.NewMemoryLog(), fail: make(chan struct{})}
	ask, asked := make(chan struct{}), make(chan struct{})
	var acted atomic.Int32
	a := a2aserver.NewAgent(execFunc(func(_ context.Context, tn *a2aserver.Turn, yield func(a2a.Event) bool) error {
		if tn.Message.ID == "reply" {
			acted.Add(1)
			return nil
		}
		yield(chunk("stored"))
		<-ask
		yield(&a2a.StatusUpdate{Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}})
		close(asked)
		return nil
	}), log, nil)
	defer a.Close(t.Context())
	started, err := a.Start(t.Context(), "ann", request("first", "x"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the task is stored", func() bool {
		_, err := a.Task(t.Context(), "ann", &a2a.GetRequest{ID: started.TaskID})
		return err == nil
	})
	log.stuck.Store(true)
	close(ask)
	<-asked
	reply := request("reply", "y")
	reply.Message.TaskID = started.TaskID
	if _, err := a.Start(t.Context(), "ann", reply); err != nil {
		t.Fatal(err)
	}
	close(log.fail)
	eventually(t, "nothing is kept of the reply", func() bool { _, claims := a.Held(); return claims == 0 })
	if n := acted.Load(); n != 0 {
		t.Errorf("a reply that was not stored was acted on %d times", n)
	}
	log.stuck.Store(false)
	again, err := a.Start(t.Context(), "ann", reply)
	if err != nil || again.Repeated {
		t.Fatalf("the reply sent again: %+v, %v", again, err)
	}
	eventually(t, "it is acted on", func() bool { return acted.Load() == 1 })
}
