package a2aclient_test

import (
	"errors"
	"fmt"
	"testing"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

func TestStream(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
		t.open()
		t.frames(task("SUBMITTED"), status("WORKING"), chunk("a", "one ", false), chunk("a", "two", true), status("COMPLETED"))
	}})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	got.want(t, "task:submitted, working, a=one , a+=two, completed")
	if a.called() != "SendStreamingMessage" {
		t.Errorf("called %s", a.called())
	}
}

// A stream that breaks is mended: what is missing comes once, what is known does not come again.
func TestStreamIsMended(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), chunk("a", "one ", false))
			t.cut()
		},
		"GetTask": func(t *turn) {
			if t.N == 0 {
				t.result(bare("WORKING", artifacts(artifact("a", "one ", "two "))))
				return
			}
			t.result(bare("COMPLETED", artifacts(artifact("a", "one ", "two ", "three"))))
		},
		"SubscribeToTask": func(t *turn) {
			t.open()
			t.frames(task("WORKING", artifacts(artifact("a", "one ", "two "))), chunk("a", "three", true), status("COMPLETED"))
		},
	})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	got.want(t, "task:working, a=one , a+=two , a+=three, completed")
	if want := "SendStreamingMessage GetTask SubscribeToTask GetTask"; a.called() != want {
		t.Errorf("called %s, want %s", a.called(), want)
	}
}

// An agent that numbers its events is asked for the later ones only.
func TestStreamIsResumed(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.numbered(11, task("WORKING"))
			t.numbered(12, chunk("a", "x", false))
			t.cut()
		},
		"SubscribeToTask": func(t *turn) {
			t.open()
			if got := t.asked("Last-Event-ID"); got != "12" {
				t.t.Errorf("Last-Event-ID is %q", got)
			}
			t.numbered(13, chunk("a", "x", true)) // the same text again, and meant so
			t.numbered(14, said("WORKING", "m1", "nearly"))
			t.numbered(15, status("COMPLETED"))
		},
		"GetTask": func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "x", "x")))) },
	})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	got.want(t, "task:working, a=x, a+=x, working(nearly), completed")
}

func TestStreamEndsWithoutTerminalState(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), chunk("a", "one", false))
		},
		"GetTask": func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "one two")))) },
	})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	got.want(t, "task:working, a=one, a+= two, completed")
}

func TestBadFrame(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), chunk("a", "one ", false))
			fmt.Fprint(t.ResponseWriter, "data: {\"jsonrpc\":\"2.0\", // oops\n\n")
			t.frames(chunk("a", "three", true), status("COMPLETED"))
		},
		"GetTask": func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "one ", "two ", "three")))) },
	})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	got.want(t, "task:working, a=one , gap, a+=three, a=one two three, completed")
}

func TestNotStreaming(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendMessage": func(t *turn) { t.result(task("SUBMITTED")) },
		"GetTask": func(t *turn) {
			switch t.N {
			case 0, 1:
				t.result(bare("WORKING"))
			case 2:
				t.result(bare("WORKING", artifacts(artifact("a", "one"))))
			default:
				t.result(bare("COMPLETED", artifacts(artifact("a", "one", " two"), artifact("b", "three"))))
			}
		},
	})
	c := a.clientOf(&a2a.AgentCard{Name: "Poll"}, "1.0", nil)
	got := collect(t, c.Stream(ctx(t), hello()))
	got.want(t, "task:submitted, working, a=one, a+= two, b=three, completed")
}

func TestDialectFallback(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"message/stream": func(t *turn) {
			t.open()
			t.frames(`{"kind":"task","id":"T","contextId":"C","status":{"state":"working"}}`,
				`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"completed"},"final":true}`)
		},
	})
	c := a.client("1.0", nil)
	collect(t, c.Stream(ctx(t), hello())).want(t, "task:working, completed")
	collect(t, c.Stream(ctx(t), hello())).want(t, "task:working, completed")
	if want := "SendStreamingMessage message/stream message/stream"; a.called() != want {
		t.Errorf("called %s, want %s", a.called(), want)
	}
	if c.Dialect().String() != "v0.3" {
		t.Errorf("dialect is %s", c.Dialect())
	}
}

func TestErrorFirstFrame(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			fmt.Fprint(t.ResponseWriter, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32001,\"message\":\"no such task\"}}\n\n")
		},
	})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	var e *a2aclient.Error
	if !errors.As(got.err, &e) || e.Kind != card.KindTaskNotFound || !errors.Is(got.err, a2a.ErrTaskNotFound) {
		t.Errorf("got %v", got.err)
	}
}
