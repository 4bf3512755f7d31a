package a2aserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

func TestStream(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	want(t, "NEW", kinds(s.stream("SendStreamingMessage", say("do it"))),
		"task submitted, statusUpdate working, artifactUpdate, statusUpdate completed")
	want(t, "MID", kinds(s.stream("message/stream", say("do it"))),
		"task submitted, status-update working, artifact-update, status-update completed final")
	want(t, "Message", kinds(s.stream("SendStreamingMessage", say("hello"))), "message")
	want(t, "Message, MID", kinds(s.stream("message/stream", say("hello"))), "message")
	want(t, "ask", kinds(s.stream("SendStreamingMessage", say("ask"))), "task submitted, statusUpdate input_required")
	want(t, "ask, MID", kinds(s.stream("message/stream", say("ask"))), "task submitted, status-update input-required final")
	want(t, "late", kinds(s.stream("SendStreamingMessage", say("late"))), "task submitted, artifactUpdate, statusUpdate completed")
	want(t, "panic", kinds(s.stream("SendStreamingMessage", say("panic"))), "task submitted, statusUpdate failed")
}

func TestStreamKeepsEveryChunk(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	const n = 3000
	frames := s.stream("SendStreamingMessage", say(fmt.Sprint("count ", n)))
	want(t, "frames", len(frames), n+2)
	last := int64(0)
	for i, f := range frames {
		if f.ID <= last {
			t.Fatalf("frame %d has id %d after %d", i, f.ID, last)
		}
		last = f.ID
		if i > 0 && i <= n {
			if got := dig(f.Result, "artifactUpdate.artifact.parts.0.text"); got != fmt.Sprintf("%d,", i-1) {
				t.Fatalf("chunk %d is %s", i-1, got)
			}
		}
	}
	task := dig(frames[0].Result, "task.id")
	r := s.call("GetTask", fmt.Sprintf(`{"id":%q}`, task))
	want(t, "parts", strings.Count(r.get("artifacts.0.parts"), `"text"`), n)

	// Any position can be resumed from.
	for _, i := range []int{0, 1, n / 2, n} {
		rest := s.stream("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, task), "Last-Event-ID", fmt.Sprint(frames[i].ID))
		want(t, fmt.Sprint("frames after ", i), len(rest), n+1-i)
		want(t, "the first of them", rest[0].Raw, frames[i+1].Raw)
	}
}

func TestReplyStream(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	id := s.call("SendMessage", say("ask")).get("task.id")
	reply := sayID("m-reply", "blue", fmt.Sprintf(`"taskId":%q`, id))
	frames := s.stream("SendStreamingMessage", reply)
	want(t, "events", kinds(frames), "task working, artifactUpdate, statusUpdate completed")
	want(t, "history", dig(frames[0].Result, "task.history.2.parts.0.text"), "blue")
	again := s.stream("SendStreamingMessage", reply)
	want(t, "the same message again", kinds(again), "task working, artifactUpdate, statusUpdate completed")
	rest := s.stream("SendStreamingMessage", reply, "Last-Event-ID", fmt.Sprint(frames[1].ID))
	want(t, "resumed", kinds(rest), "statusUpdate completed")
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	step := make(chan string)
	s := serve(t, config{handler: as(), exec: execFunc(func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case text, ok := <-step:
				if !ok {
					return nil
				}
				yield(chunk(text))
			}
		}
	})})
	first := s.open("SendStreamingMessage", say("x"))
	step <- "a"
	step <- "b"
	frames := first.take(3)
	id := dig(frames[0].Result, "task.id")
	params := fmt.Sprintf(`{"id":%q}`, id)

	second := s.open("SubscribeToTask", params)
	mid := s.open("tasks/resubscribe", params)
	resumed := s.open("SubscribeToTask", params, "Last-Event-ID", fmt.Sprint(frames[1].ID))
	snapshot := second.take(1)[0]
	want(t, "snapshot", snapshot.kind(), "task submitted")
	want(t, "its artifact", dig(snapshot.Result, "task.artifacts.0.parts"), `[{"text":"a"},{"text":"b"}]`)
	want(t, "its id", snapshot.ID, frames[2].ID)
	want(t, "MID snapshot", mid.take(1)[0].kind(), "task submitted")
	want(t, "resumed", resumed.take(1)[0].Raw, frames[2].Raw)

	resumed.res.Body.Close() // leaves the others alone
	step <- "c"
	c := first.take(1)[0]
	got := second.take(1)[0]
	want(t, "the same event", got.Raw, c.Raw)
	want(t, "with the same id", got.ID, c.ID)
	want(t, "MID event", dig(mid.take(1)[0].Result, "artifact.parts.0.text"), "c")
	close(step)
	want(t, "the end", kinds(second.all()), "statusUpdate completed")
	want(t, "MID end", kinds(mid.all()), "status-update completed final")

	r := s.call("SubscribeToTask", params)
	want(t, "of an ended task", r.Code, -32004)
	want(t, "status", r.Status, 200)
	want(t, "of an ended task, MID", kinds(s.stream("tasks/resubscribe", params)), "task completed, status-update completed final")
	want(t, "nothing missed", s.call("SubscribeToTask", params, "Last-Event-ID", fmt.Sprint(c.ID+1)).Code, -32004)
	want(t, "unknown", s.call("SubscribeToTask", `{"id":"x"}`).Code, -32001)
	want(t, "foreign", s.call("SubscribeToTask", params, "X-Who", "b").Code, -32001)
	want(t, "a position we never gave", s.call("SubscribeToTask", params, "Last-Event-ID", "999999999").Code, -32004)
}

func TestAuthRequiredStaysOpen(t *testing.T) {
	t.Parallel()
	signedIn := make(chan struct{})
	s := serve(t, config{exec: execFunc(func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(says(a2a.TaskStateAuthRequired, "sign in"))
		select {
		case <-signedIn:
			yield(status(a2a.TaskStateWorking))
		case <-ctx.Done():
		}
		return nil
	})})
	want(t, "blocking returns", s.call("SendMessage", sayID("m", "x")).get("task.status.state"), "TASK_STATE_AUTH_REQUIRED")
	e := s.open("message/stream", sayID("m", "x"))
	want(t, "before", kinds(e.take(2)), "task submitted, status-update auth-required")
	close(signedIn)
	want(t, "after", kinds(e.all()), "status-update working, status-update completed final")
}

func TestResumeByRepeating(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	params := sayID("m", "count 500")
	all := s.stream("SendStreamingMessage", params)
	want(t, "all", len(all), 502)
	again := s.stream("SendStreamingMessage", params)
	want(t, "replayed", len(again), 502)
	want(t, "replayed the same", again[100].Raw, all[100].Raw)
	rest := s.stream("SendStreamingMessage", params, "Last-Event-ID", fmt.Sprint(all[399].ID))
	want(t, "the rest", len(rest), 102)
	want(t, "its first", rest[0].ID, all[400].ID)
	want(t, "nothing is left", kinds(s.stream("SendStreamingMessage", params, "Last-Event-ID", fmt.Sprint(all[501].ID))), "")
	want(t, "a position we never gave", len(s.stream("SendStreamingMessage", params, "Last-Event-ID", "999999999")), 502)
	mid := s.stream("message/stream", params, "Last-Event-ID", fmt.Sprint(all[500].ID))
	want(t, "the rest, MID", kinds(mid), "status-update completed final")

	asked := s.stream("SendStreamingMessage", sayID("n", "ask"))
	want(t, "nothing is left of a question", kinds(s.stream("SendStreamingMessage", sayID("n", "ask"), "Last-Event-ID", fmt.Sprint(asked[1].ID))), "")
}

func TestFirstTaskHasTheHistoryAskedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	for conf, want := range map[string]bool{"": true, `|"configuration":{"historyLength":0}`: false, `|"configuration":{"historyLength":1}`: true} {
		var extra []string
		if conf != "" {
			extra = append(extra, conf)
		}
		f := s.stream("SendStreamingMessage", say("do it", extra...))
		if got := dig(f[0].Result, "task.history") != ""; got != want || len(f) != 4 {
			t.Errorf("%s: history %v, want %v; %s", conf, got, want, kinds(f))
		}
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: &a2aserver.HandlerOptions{KeepAlive: 20 * time.Millisecond}})
	e := s.open("SendStreamingMessage", say("hold"))
	id := dig(e.take(2)[0].Result, "task.id")
	time.AfterFunc(200*time.Millisecond, func() { s.agent.Cancel(context.Background(), "", &a2a.CancelRequest{ID: id}) })
	want(t, "end", kinds(e.all()), "statusUpdate canceled")
	if e.Pings < 2 {
		t.Errorf("%d keep-alives", e.Pings)
	}
}

// stalled opens a stream over a connection that is not read after its first bytes.
func (s *server) stalled(method, params string) {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	c.(*net.TCPConn).SetReadBuffer(4 << 10)
	s.t.Cleanup(func() { c.Close() })
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := io.ReadFull(c, make([]byte, 12)); err != nil {
		s.t.Fatal(err)
	}
}

func TestSlowReader(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 64<<10)
	begin := make(chan struct{})
	s := serve(t, config{exec: execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateWorking))
		<-begin
		for range 400 { // 25 MiB, more than any socket holds
			yield(chunk(big))
		}
		return nil
	})})
	a2aserver.SetPatience(s.handler, 2*time.Second)
	e := s.open("SendStreamingMessage", say("x"))
	id := dig(e.take(2)[0].Result, "task.id")
	s.stalled("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, id))
	close(begin)
	start := time.Now()
	b, err := io.ReadAll(e.r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "events of the other reader", bytes.Count(b, []byte("\ndata: ")), 401)
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("the other reader waited %v", d)
	}
	// The one that does not read is closed.
	eventually(t, "the slow reader is closed", func() bool { return a2aserver.OpenStreams(s.handler) == 0 })
}

func TestSubscribersAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	e := s.open("SendStreamingMessage", say("hold"))
	id := dig(e.take(1)[0].Result, "task.id")
	params := fmt.Sprintf(`{"id":%q}`, id)
	var wg sync.WaitGroup
	for range a2a.Limits.Subscribers - 2 {
		wg.Go(func() { s.open("SubscribeToTask", params).take(1) })
	}
	wg.Wait()
	last := s.open("SubscribeToTask", params)
	last.take(1)
	r := s.call("SubscribeToTask", params)
	want(t, "one too many", r.Status, 429)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	last.res.Body.Close()
	eventually(t, "there is room again", func() bool {
		res := s.post(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":` + params + `}`)
		defer res.Body.Close()
		return res.StatusCode == 200
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	e := s.open("SendStreamingMessage", sayID("m", "hold"))
	seen := e.take(2)
	s.handler.Drain()
	want(t, "what came after", kinds(e.all()), "")
	r := s.call("GetTask", `{"id":"x"}`)
	want(t, "new calls", r.Status, 503)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	// The position holds on the next server over the same log.
	next := serve(t, config{log: s.log})
	rest := next.stream("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, dig(seen[0].Result, "task.id")), "Last-Event-ID", fmt.Sprint(seen[1].ID))
	want(t, "resumed", kinds(rest), "statusUpdate failed")
}

// Whoever waits for an answer when the drain begins gets one before the server is gone.
func TestDrainAnswersWhoWaits(t *testing.T) {
	t.Parallel()
	s := serve(t, config{handler: &a2aserver.HandlerOptions{DrainTime: 50 * time.Millisecond}})
	answer := make(chan *reply, 1)
	go func() { answer <- s.call("SendMessage", sayID("m", "hold")) }()
	eventually(t, "the task goes on", func() bool {
		return s.call("ListTasks", "{}").get("tasks.0.status.state") == "TASK_STATE_WORKING"
	})
	s.handler.Drain()
	select {
	case r := <-answer:
		want(t, "status", r.Status, 200)
		want(t, "state", r.get("task.status.state"), "TASK_STATE_WORKING")
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
	}
}

// TestPlainTasks: a Tasks that cannot make snapshots is served as well.
func TestPlainTasks(t *testing.T) {
	t.Parallel()
	s := serve(t, config{plain: true})
	id := s.call("SendMessage", say("ask")).get("task.id")
	want(t, "reply", kinds(s.stream("SendStreamingMessage", sayID("m", "blue", fmt.Sprintf(`"taskId":%q`, id)))),
		"task working, artifactUpdate, statusUpdate completed")
	want(t, "repeated", kinds(s.stream("SendStreamingMessage", sayID("m", "blue", fmt.Sprintf(`"taskId":%q`, id)))),
		"task working, artifactUpdate, statusUpdate completed")
	want(t, "subscribe", s.call("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, id)).Code, -32004)
	want(t, "unknown", s.call("SubscribeToTask", `{"id":"x"}`).Code, -32001)
}
