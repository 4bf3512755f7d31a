package a2aserver_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// silentTasks says nothing of a task until it is told to, and then perhaps why it cannot.
type silentTasks struct {
	a2aserver.Tasks
	speak chan error // nil: go on
}

func (s *silentTasks) Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		select {
		case err := <-s.speak:
			if err != nil {
				yield(nil, err)
				return
			}
		case <-ctx.Done():
			return
		}
		s.Tasks.Events(ctx, principal, task, after)(yield)
	}
}

// silent serves an agent that says nothing for as long as the test likes.
func silent(t *testing.T, keepAlive time.Duration) (*server, *silentTasks) {
	tasks := &silentTasks{speak: make(chan error)}
	s := serve(t, config{
		handler: &a2aserver.HandlerOptions{KeepAlive: keepAlive},
		front:   func(under a2aserver.Tasks) a2aserver.Tasks { tasks.Tasks = under; return tasks },
	})
	return s, tasks
}

func TestSilentAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		then func(*server, *silentTasks)
		want string
	}{
		{"speaks", func(_ *server, s *silentTasks) { s.speak <- nil }, "task submitted, statusUpdate working, artifactUpdate, statusUpdate completed"},
		{"fails", func(_ *server, s *silentTasks) { s.speak <- a2a.Errorf(a2a.KindInternal, "out of paper") }, "error -32603"},
		{"was never stored", func(_ *server, s *silentTasks) { s.speak <- a2a.ErrTaskNotFound }, "error -32603"},
		{"is drained", func(s *server, _ *silentTasks) { s.handler.Drain() }, "error -32603"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, tasks := silent(t, 20*time.Millisecond)
			e := s.open("SendStreamingMessage", say("do it")) // returns with the header
			if line, err := e.r.ReadString('\n'); err != nil || line != ": \n" {
				t.Fatalf("the first line is %q, %v", line, err)
			}
			c.then(s, tasks)
			want(t, "then", kinds(e.all()), c.want)
		})
	}
	t.Run("fails at once", func(t *testing.T) {
		t.Parallel()
		s, tasks := silent(t, time.Hour)
		time.AfterFunc(time.Millisecond, func() { tasks.speak <- a2a.ErrTaskNotFound })
		r := s.call("SendStreamingMessage", say("do it"))
		want(t, "status", r.Status, 503)
		want(t, "type", r.Header.Get("Content-Type"), "application/json")
	})
}

// TestSilenceAgainstErrors: a reply is either a stream or JSON, however close the first comment and an error come.
func TestSilenceAgainstErrors(t *testing.T) {
	t.Parallel()
	s, tasks := silent(t, 8*time.Millisecond)
	var streams, plain atomic.Int64
	for i := range 60 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			go func() {
				time.Sleep(time.Duration(7+i%5) * time.Millisecond)
				tasks.speak <- a2a.Errorf(a2a.KindInternal, "out of paper")
			}()
			res := s.post(`{"jsonrpc":"2.0","id":"s","method":"SendStreamingMessage","params":` + say("do it") + `}`)
			defer res.Body.Close()
			if res.Header.Get("Content-Type") != "text/event-stream" {
				plain.Add(1)
				want(t, "error", readReply(t, res).Code, -32603)
				return
			}
			streams.Add(1)
			want(t, "frames", kinds((&events{t: t, res: res, r: bufio.NewReader(res.Body)}).all()), "error -32603")
		})
	}
	t.Cleanup(func() { t.Logf("%d streams, %d plain replies", streams.Load(), plain.Load()) })
}

// TestSubscribeToAQuestion: a stream ends at INPUT_REQUIRED, also when the task waits for the answer already.
func TestSubscribeToAQuestion(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	frames := s.stream("SendStreamingMessage", say("ask"))
	params := fmt.Sprintf(`{"id":%q}`, dig(frames[0].Result, "task.id"))
	want(t, "subscribe", kinds(s.stream("SubscribeToTask", params)), "task input_required")
	want(t, "subscribe, MID", kinds(s.stream("tasks/resubscribe", params)), "task input-required, status-update input-required final")
	want(t, "from the beginning", kinds(s.stream("SubscribeToTask", params, "Last-Event-ID", fmt.Sprint(frames[0].ID))), "statusUpdate input_required")
	want(t, "nothing is left", kinds(s.stream("SubscribeToTask", params, "Last-Event-ID", fmt.Sprint(frames[1].ID))), "")
}
