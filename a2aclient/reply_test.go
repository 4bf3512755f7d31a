package a2aclient_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// A stream may come in other forms than SSE.
func TestFormsOfAStream(t *testing.T) {
	t.Parallel()
	wrap := func(t *turn, result string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, t.ID, result)
	}
	for name, x := range map[string]struct {
		f    func(*turn)
		want string
	}{
		"plain JSON": {func(t *turn) { t.result(task("COMPLETED", artifacts(artifact("a", "x")))) }, "task:completed a=x"},
		"a message":  {func(t *turn) { t.result(`{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`) }, "message:hi"},
		"an array": {func(t *turn) {
			t.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(t.ResponseWriter, "[%s,\n%s]", wrap(t, task("WORKING")), wrap(t, status("COMPLETED")))
		}, "task:working, completed"},
		"text/plain": {func(t *turn) {
			t.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintf(t.ResponseWriter, "data: %s\n\ndata: %s\n\n", wrap(t, task("WORKING")), wrap(t, status("COMPLETED")))
		}, "task:working, completed"},
		"text/plain JSON": {func(t *turn) {
			t.Header().Set("Content-Type", "text/plain")
			fmt.Fprintf(t.ResponseWriter, "\n%s", wrap(t, task("COMPLETED")))
		}, "task:completed"},
		"no type": {func(t *turn) {
			t.Header()["Content-Type"] = nil
			fmt.Fprintf(t.ResponseWriter, "event: message\ndata: %s\n\n", wrap(t, task("COMPLETED")))
		}, "task:completed"},
		"CRLF, no space, several lines, comments": {func(t *turn) {
			t.open()
			head, tail, _ := strings.Cut(wrap(t, task("COMPLETED")), ",")
			fmt.Fprintf(t.ResponseWriter, ": hi\r\n\r\nid:1\r\nevent:x\r\ndata:%s,\r\ndata:%s\r\n\r\n", head, tail)
		}, "task:completed"},
		"no end": {func(t *turn) { t.open(); fmt.Fprintf(t.ResponseWriter, "data: %s\n", wrap(t, task("COMPLETED"))) }, "task:completed"},
		"gzip": {func(t *turn) {
			t.Header().Set("Content-Encoding", "gzip")
			t.Header().Set("Content-Type", "application/json")
			z := gzip.NewWriter(t.ResponseWriter)
			fmt.Fprint(z, wrap(t, task("COMPLETED")))
			z.Close()
		}, "task:completed"},
		"on another status": {func(t *turn) {
			t.ResponseWriter.WriteHeader(500)
			fmt.Fprint(t.ResponseWriter, wrap(t, task("COMPLETED")))
		}, "task:completed"},
		"a message from a server that does not close": {func(t *turn) {
			t.open()
			t.frames(`{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`)
			t.until()
		}, "message:hi"},
		"several messages": {func(t *turn) {
			t.open()
			t.frames(`{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`, `{"message":{"messageId":"s","role":"ROLE_AGENT","parts":[{"text":"ho"}]}}`)
		}, "message:hi, message:ho"},
		"a message beside a task": {func(t *turn) {
			t.open()
			t.frames(task("WORKING"), `{"message":{"messageId":"r","taskId":"T","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`, status("COMPLETED"))
		}, "task:working, working(hi), completed"},
		"without a task first": {
			func(t *turn) { t.open(); t.frames(status("WORKING"), chunk("a", "x", false), status("COMPLETED")) },
			"task:working, a=x, completed",
		},
		"an artifact first": {
			func(t *turn) { t.open(); t.frames(chunk("a", "x", false), chunk("a", "y", true), status("COMPLETED")) },
			"task:working a=x, a+=y, completed",
		},
		"results nobody knows": {func(t *turn) {
			t.open()
			t.frames(task("COMPLETED"))
			fmt.Fprintf(t.ResponseWriter, "event: close\ndata: %s\n\n", wrap(t, `{"taskId":"T","reason":"done"}`))
		}, "task:completed"},
		"events after the end": {
			func(t *turn) {
				t.open()
				t.frames(task("WORKING"), status("COMPLETED"), status("WORKING"), chunk("a", "x", false))
			},
			"task:working, completed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": x.f})
			collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, x.want)
		})
	}
}

// Streams that begin with a failure.
func TestStreamsThatFail(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	z.Write(make([]byte, a2a.Limits.Response+1))
	z.Close()
	bomb := packed.Bytes()
	for name, x := range map[string]struct {
		f    func(*turn)
		kind card.Kind
		may  bool // the message may have been acted on
	}{
		"empty":          {func(t *turn) { t.open() }, card.KindGarbage, true},
		"empty JSON":     {func(t *turn) { t.Header().Set("Content-Type", "application/json") }, card.KindGarbage, true},
		"not JSON":       {func(t *turn) { t.Header().Set("Content-Type", "application/json"); fmt.Fprint(t.ResponseWriter, "boo") }, card.KindGarbage, true},
		"a web page":     {func(t *turn) { t.Header().Set("Content-Type", "text/html"); fmt.Fprint(t.ResponseWriter, "<html>") }, card.KindGarbage, true},
		"garbage frames": {func(t *turn) { t.open(); fmt.Fprint(t.ResponseWriter, "data: x\n\ndata: {}\n\n") }, card.KindGarbage, true},
		"cut at once":    {func(t *turn) { t.open(); t.cut() }, card.KindCut, true},
		"cut before":     {func(t *turn) { t.cut() }, card.KindCut, true},
		"internal error": {func(t *turn) { t.fail(-32603, "oops") }, card.KindAgent, true},
		"error frame": {func(t *turn) {
			t.open()
			fmt.Fprint(t.ResponseWriter, "event: error\ndata: {\"code\":-32005,\"message\":\"no\"}\n\n")
		}, card.KindFileType, false},
		"task not found":  {func(t *turn) { t.fail(-32001, "Task not found") }, card.KindTaskNotFound, false},
		"ended task":      {func(t *turn) { t.fail(-32602, "Task is in terminal state: completed") }, card.KindTaskEnded, false},
		"invalid params":  {func(t *turn) { t.fail(-32602, "message.parts is empty") }, card.KindAgent, false},
		"extension":       {func(t *turn) { t.fail(-32008, "needs https://x.example/ext") }, card.KindExtension, false},
		"400 and no body": {func(t *turn) { t.WriteHeader(400) }, card.KindGarbage, false},
		"401": {func(t *turn) {
			t.Header().Set("WWW-Authenticate", "Bearer")
			t.WriteHeader(401)
			fmt.Fprint(t.ResponseWriter, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
		}, card.KindUnauthenticated, false},
		"unauthenticated at 200": {func(t *turn) { t.fail(-31401, "unauthenticated") }, card.KindUnauthenticated, false},
		"403":                    {func(t *turn) { t.WriteHeader(403) }, card.KindForbidden, false},
		"404":                    {func(t *turn) { t.WriteHeader(404) }, card.KindNotFound, false},
		"413":                    {func(t *turn) { t.WriteHeader(413) }, card.KindTooLarge, false},
		"429":                    {func(t *turn) { t.WriteHeader(429) }, card.KindRateLimited, false},
		"500":                    {func(t *turn) { t.WriteHeader(500) }, card.KindAgent, true},
		"502":                    {func(t *turn) { t.WriteHeader(502) }, card.KindGateway, true},
		"503":                    {func(t *turn) { t.WriteHeader(503) }, card.KindUnavailable, true},
		"503 for a while":        {func(t *turn) { t.Header().Set("Retry-After", "3"); t.WriteHeader(503) }, card.KindUnavailable, false},
		"hangs":                  {func(t *turn) { t.until() }, card.KindTimeout, true},
		"endless event": {func(t *turn) {
			t.open()
			line := "data: " + strings.Repeat("x", 64<<10) + "\n"
			for range a2a.Limits.SSEEvent/(64<<10) + 2 {
				fmt.Fprint(t.ResponseWriter, line)
			}
		}, card.KindTooLarge, true},
		"endless answer": {func(t *turn) {
			t.Header().Set("Content-Type", "application/json")
			for range a2a.Limits.Response/(64<<10) + 2 {
				fmt.Fprint(t.ResponseWriter, strings.Repeat(" ", 64<<10))
			}
		}, card.KindTooLarge, true},
		"bomb": {func(t *turn) {
			t.Header().Set("Content-Type", "application/json")
			t.Header().Set("Content-Encoding", "gzip")
			t.ResponseWriter.Write(bomb)
		}, card.KindTooLarge, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": x.f, "message/stream": x.f, "SendMessage": x.f, "message/send": x.f})
			o := &a2aclient.Options{}
			if name == "hangs" {
				o.HeaderTime = 50 * time.Millisecond
			}
			got := collect(t, a.client("1.0", o).Stream(ctx(t), hello()))
			e := kindOf(t, got.err, x.kind)
			if e.MayHaveRun != x.may {
				t.Errorf("%s: may have run = %v", e.What, e.MayHaveRun)
			}
			if len(got.events) > 0 {
				t.Errorf("yielded %v", got)
			}
			if x.may && strings.Contains(a.called(), " ") {
				t.Errorf("sent again: %s", a.called())
			}
		})
	}
}

// An error in the middle of a stream: how the task stands decides.
func TestErrorWithinAStream(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"FAILED":  "task:working, failed",
		"WORKING": "task:working, error: Scripted reported an error: it broke.",
	} {
		a := newAgent(t, map[string]func(*turn){
			"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.errorFrame(-32603, "it broke") },
			"GetTask":              func(t *turn) { t.result(bare(state)) },
		})
		got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
		if got.want(t, want); got.err != nil && !kindOf(t, got.err, card.KindAgent).MayHaveRun {
			t.Error("the message is said not to have arrived")
		}
	}
	// A server that goes down for a moment says so, and is waited for.
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"))
			fmt.Fprintf(t.ResponseWriter, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"shutting down\",\"data\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"UNAVAILABLE\",\"domain\":\"a2a-protocol.org\"}]}}\n\n")
		},
		"GetTask": func(t *turn) { t.result(bare("COMPLETED")) },
	})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, gap, completed")
}

func (t *turn) errorFrame(code int, message string) {
	fmt.Fprintf(t.ResponseWriter, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":%q}}\n\n", t.ID, code, message)
	t.flush()
}

// Events of tasks and contexts nobody asked for are dropped.
func TestForeignEvents(t *testing.T) {
	t.Parallel()
	foreign := func(i int) string {
		switch i % 5 {
		case 0:
			return strings.ReplaceAll(chunk("a", "evil", true), `"T"`, `"U"`)
		case 1:
			return strings.ReplaceAll(status("COMPLETED"), `"T"`, `"U"`)
		case 2:
			return strings.ReplaceAll(status("FAILED"), `"C"`, `"D"`)
		case 3:
			return strings.ReplaceAll(task("COMPLETED", artifacts(artifact("a", "evil"))), `"T"`, `"U"`)
		}
		return `{"message":{"messageId":"r","taskId":"U","role":"ROLE_AGENT","parts":[{"text":"evil"}]}}`
	}
	a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
		t.open()
		t.frames(task("WORKING"), chunk("a", "good", false))
		for i := range 500 {
			t.frames(foreign(i))
		}
		t.frames(chunk("a", " end", true), status("COMPLETED"))
	}})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, a=good, a+= end, completed")
}

// The answer to a message for a task must be about that task.
func TestAnswerAboutAnotherTask(t *testing.T) {
	t.Parallel()
	other := func(t *turn) { t.result(strings.ReplaceAll(task("COMPLETED"), `"T"`, `"U"`)) }
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": other, "SendMessage": other,
		"GetTask":    func(t *turn) { t.result(strings.ReplaceAll(bare("COMPLETED"), `"T"`, `"U"`)) },
		"CancelTask": func(t *turn) { t.result(strings.ReplaceAll(bare("CANCELED"), `"T"`, `"U"`)) },
	})
	c := a.client("1.0", nil)
	r := hello()
	r.Message.TaskID, r.Message.ContextID = "T", "C"
	if got := collect(t, c.Stream(ctx(t), r)); got.err == nil || len(got.events) > 0 {
		t.Errorf("stream: %v", got)
	}
	_, err := c.Send(ctx(t), r)
	kindOf(t, err, card.KindGarbage)
	_, err = c.Get(ctx(t), &a2a.GetRequest{ID: "T"})
	kindOf(t, err, card.KindGarbage)
	_, err = c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"})
	kindOf(t, err, card.KindGarbage)
}

// The next turn of a task goes on where it was: no new task is made up.
func TestContinuedTask(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(status("WORKING"), chunk("a", "more", true)); t.cut() },
		"GetTask":              func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "more", "more")))) },
	})
	r := hello()
	r.Message.TaskID, r.Message.ContextID = "T", "C"
	collect(t, a.client("1.0", nil).Stream(ctx(t), r)).want(t, "working, a+=more, gap, a=moremore, completed")
}

// A single call answered with a stream.
func TestSendAnsweredWithAStream(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) {
		t.open()
		t.frames(task("WORKING"), chunk("a", "x", false), chunk("a", "y", true), status("COMPLETED"))
	}})
	e, err := a.client("1.0", nil).Send(ctx(t), hello())
	if err != nil || short(e) != "task:completed a=xy" {
		t.Errorf("%v, %v", e, err)
	}
}

// An agent whose card promises streams and that does not stream.
func TestCardLiesAboutStreaming(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-32004, -32601} {
		a := newAgent(t, map[string]func(*turn){
			"SendStreamingMessage": func(t *turn) { t.fail(code, "no streaming") },
			"SendMessage":          func(t *turn) { t.result(task("COMPLETED")) },
		})
		c := a.client("1.0", nil)
		collect(t, c.Stream(ctx(t), hello())).want(t, "task:completed")
		if c.Streams() {
			t.Error("it is still thought to stream")
		}
		collect(t, c.Stream(ctx(t), hello())).want(t, "task:completed")
		if a.count("SendStreamingMessage") != 1 {
			t.Errorf("called %s", a.called())
		}
	}
	// A refusal that is not about streaming does not make it an agent that cannot stream.
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.fail(-32004, "the task has ended") },
		"SendMessage":          func(t *turn) { t.fail(-32004, "the task has ended") },
	})
	c := a.client("1.0", nil)
	collect(t, c.Stream(ctx(t), hello()))
	if !c.Streams() {
		t.Error("it is thought not to stream")
	}
}

// What an agent that does not stream is asked: to return at once.
func TestReturnImmediately(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) {
		var p struct {
			Configuration struct{ ReturnImmediately bool }
		}
		if err := json.Unmarshal(t.Params, &p); err != nil || !p.Configuration.ReturnImmediately {
			t.t.Errorf("params %s", t.Params)
		}
		t.result(task("COMPLETED"))
	}})
	r := hello()
	collect(t, a.clientOf(&a2a.AgentCard{}, "1.0", nil).Stream(ctx(t), r)).want(t, "task:completed")
	if r.Configuration.ReturnImmediately {
		t.Error("the caller's request was changed")
	}
}

// Answers at their limit are read, one byte more is not.
func TestAnswerSize(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{-1, 0, 1} {
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) {
			head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s`, t.ID, bare("COMPLETED"))
			t.Header().Set("Content-Type", "application/json")
			fmt.Fprint(t.ResponseWriter, head, strings.Repeat(" ", a2a.Limits.Response+extra-len(head)-1), "}")
		}})
		_, err := a.client("1.0", nil).Get(ctx(t), &a2a.GetRequest{ID: "T"})
		if extra <= 0 && err != nil {
			t.Errorf("%+d: %v", extra, err)
		}
		if extra > 0 {
			kindOf(t, err, card.KindTooLarge)
		}
	}
}

// nothing answers anything that was not scripted.
func TestFallbackOnlyWhenNothingRan(t *testing.T) {
	t.Parallel()
	old := func(t *turn) { t.result(`{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"}}`) }
	status := func(code int, body string) func(*turn) {
		return func(t *turn) {
			t.Header().Set("Content-Type", "application/json")
			t.WriteHeader(code)
			fmt.Fprint(t.ResponseWriter, body)
		}
	}
	refusal := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"Request payload validation error"}}`, code)
	}
	for name, x := range map[string]struct {
		f     func(*turn)
		again bool
	}{
		"method not found":        {status(200, refusal(-32601)), true},
		"method not found at 404": {status(404, refusal(-32601)), true},
		"version":                 {status(200, refusal(-32009)), true},
		"400 without a body":      {status(400, ""), true},
		"404 without a body":      {status(404, "page not found"), true},
		"405":                     {status(405, ""), true},
		"400 invalid request":     {status(400, refusal(-32600)), true},
		"400 invalid params":      {status(400, refusal(-32602)), true},
		"422 invalid params":      {status(422, refusal(-32602)), true},
		"validation at 200":       {status(200, refusal(-32602)), true},
		"of the id at 200":        {status(200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"params.id is required"}}`), true},
		"invalid params at 200":   {status(200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such skill"}}`), false},
		"task not found at 404":   {status(404, refusal(-32001)), false},
		"internal":                {status(200, refusal(-32603)), false},
		"500":                     {status(500, ""), false},
		"502":                     {status(502, ""), false},
		"401":                     {status(401, ""), false},
		"timeout":                 {func(t *turn) { t.until() }, false},
		"cut":                     {func(t *turn) { t.cut() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){"SendMessage": x.f, "message/send": old})
			o := &a2aclient.Options{}
			if name == "timeout" {
				o.SendTime = 50 * time.Millisecond
			}
			c := a.client("1.0", o)
			e, err := c.Send(ctx(t), hello())
			if got := a.count("message/send") == 1; got != x.again || (err == nil) != x.again {
				t.Errorf("tried again: %v; %v, %v", got, e, err)
			}
			if want := map[bool]string{true: "v0.3", false: "v1.0"}[x.again]; c.Dialect().String() != want {
				t.Errorf("speaks %s", c.Dialect())
			}
			if x.again {
				if _, err := c.Send(ctx(t), hello()); err != nil || a.count("SendMessage") != 1 {
					t.Errorf("not remembered: %s, %v", a.called(), err)
				}
			}
		})
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	t.Run("upwards", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) {
			if t.asked("A2A-Version") != "1.0" {
				t.t.Errorf("A2A-Version is %q", t.asked("A2A-Version"))
			}
			t.result(task("COMPLETED"))
		}})
		c := a.client("0.3", nil)
		if _, err := c.Send(ctx(t), hello()); err != nil || c.Dialect().String() != "v1.0" {
			t.Errorf("%v, speaks %s", err, c.Dialect())
		}
	})
	t.Run("neither", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, nil)
		c := a.client("1.0", nil)
		_, err := c.Send(ctx(t), hello())
		e := kindOf(t, err, card.KindVersion)
		if e.MayHaveRun || a.called() != "SendMessage message/send tasks/send" || c.Dialect().String() != "v1.0" {
			t.Errorf("%+v after %s", e, a.called())
		}
	})
	t.Run("not after it answered", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) { t.result(bare("COMPLETED")) }})
		c := a.client("1.0", nil)
		if _, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"}); err != nil {
			t.Fatal(err)
		}
		_, err := c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"})
		kindOf(t, err, card.KindUnsupported)
		if a.called() != "GetTask CancelTask" {
			t.Errorf("called %s", a.called())
		}
	})
	t.Run("never in the middle of a stream", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){
			"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.errorFrame(-32601, "what?") },
			"GetTask":              func(t *turn) { t.result(bare("WORKING")) },
		})
		got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
		if got.err == nil || a.count("message/stream") != 0 {
			t.Errorf("%v after %s", got, a.called())
		}
	})
}

// A single call answered with a stream is held to what a single answer may be: about one task, of a size, within a time.
func TestSendAnsweredWithAHostileStream(t *testing.T) {
	t.Parallel()
	send := func(frames func(*turn), o *a2aclient.Options) (a2a.Event, error) {
		a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) {
			t.open()
			frames(t)
		}})
		return a.client("1.0", o).Send(ctx(t), hello())
	}
	e, err := send(func(t *turn) {
		t.frames(task("WORKING"))
		for _, foreign := range []string{chunk("a", "evil", false), status("FAILED"), task("COMPLETED", artifacts(artifact("a", "evil")))} {
			t.frames(strings.ReplaceAll(foreign, `"T"`, `"U"`))
		}
		t.frames(chunk("a", "x", false), status("COMPLETED"))
	}, nil)
	if err != nil || short(e) != "task:completed a=x" {
		t.Errorf("events of another task: %v, %v", e, err)
	}
	_, err = send(func(t *turn) {
		t.frames(task("WORKING"))
		for more := strings.Repeat("x", 64<<10); t.Request.Context().Err() == nil; {
			t.frames(chunk("a", more, true))
		}
	}, nil)
	kindOf(t, err, card.KindTooLarge)
	_, err = send(func(t *turn) {
		t.frames(task("WORKING"))
		for t.Request.Context().Err() == nil {
			fmt.Fprint(t.ResponseWriter, ": still there\n\n")
			t.flush()
			time.Sleep(time.Millisecond)
		}
	}, &a2aclient.Options{SendTime: 200 * time.Millisecond})
	kindOf(t, err, card.KindTimeout)
}
