package a2aclient_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

func TestAwait(t *testing.T) {
	t.Parallel()
	t.Run("ended already", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "x")))) }})
		collect(t, a.client("1.0", nil).Await(ctx(t), "T")).want(t, "task:completed a=x")
	})
	t.Run("by subscription", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){
			"GetTask": func(t *turn) {
				if t.N == 0 {
					t.result(bare("WORKING", artifacts(artifact("a", "x"))))
					return
				}
				t.result(bare("COMPLETED", artifacts(artifact("a", "x", "y"))))
			},
			"SubscribeToTask": func(t *turn) {
				t.open()
				t.frames(task("WORKING", artifacts(artifact("a", "x"))), chunk("a", "y", true), status("COMPLETED"))
			},
		})
		collect(t, a.client("1.0", nil).Await(ctx(t), "T")).want(t, "task:working a=x, a+=y, completed")
	})
	t.Run("by looking", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) {
			t.result(bare([]string{"SUBMITTED", "WORKING", "WORKING", "INPUT_REQUIRED"}[t.N]))
		}})
		c := a.clientOf(&a2a.AgentCard{Name: "x"}, "1.0", nil)
		collect(t, c.Await(ctx(t), "T")).want(t, "task:submitted, working, input_required")
		if a.count("SubscribeToTask") != 0 {
			t.Errorf("called %s", a.called())
		}
	})
	t.Run("not known", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) { t.fail(-32001, "Task not found") }})
		got := collect(t, a.client("1.0", nil).Await(ctx(t), "T"))
		kindOf(t, got.err, card.KindTaskNotFound)
	})
	t.Run("of unknown state", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"tasks/get": func(t *turn) { t.result(`{"kind":"task","id":"T","contextId":"C","status":{"state":"unknown"}}`) }})
		got := collect(t, a.client("0.3", nil).Await(ctx(t), "T"))
		kindOf(t, got.err, card.KindTaskNotFound)
		if a.count("tasks/get") != 2 {
			t.Errorf("called %s", a.called())
		}
	})
	t.Run("another's task", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) { t.result(bare("COMPLETED")) }})
		got := collect(t, a.client("1.0", &a2aclient.Options{Patience: 50 * time.Millisecond}).Await(ctx(t), "U"))
		if got.err == nil || len(got.events) != 0 {
			t.Errorf("yielded %v", got)
		}
	})
	t.Run("sign-in needed", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) {
			t.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
			t.WriteHeader(401)
		}})
		e := kindOf(t, collect(t, a.client("1.0", nil).Await(ctx(t), "T")).err, card.KindUnauthenticated)
		if len(e.Challenges) != 1 || e.Where != card.WhereSignIn {
			t.Errorf("%+v", e)
		}
	})
}

// A task that waits for a sign-in is followed on: it continues by itself.
func TestAuthRequired(t *testing.T) {
	t.Parallel()
	t.Run("on an open stream", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), status("AUTH_REQUIRED"))
			time.Sleep(30 * time.Millisecond)
			t.frames(status("WORKING"), status("COMPLETED"))
		}})
		collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, auth_required, working, completed")
	})
	t.Run("when the agent closes", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){
			"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING"), status("AUTH_REQUIRED")) },
			"SubscribeToTask":      func(t *turn) { t.open(); t.frames(task("AUTH_REQUIRED")) },
			"GetTask": func(t *turn) {
				if t.N < 3 {
					t.result(bare("AUTH_REQUIRED"))
					return
				}
				t.result(bare("COMPLETED"))
			},
		})
		collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, auth_required, completed")
	})
}

func TestInputRequiredEndsTheSequence(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
		t.open()
		t.frames(task("WORKING"), said("INPUT_REQUIRED", "q", "Which city?"))
		t.until() // kept open by the agent
	}})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, input_required(Which city?)")
}

func TestConsumerStops(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
		t.open()
		t.frames(task("WORKING"))
		t.until()
		close(gone)
	}})
	for range a.client("1.0", nil).Stream(ctx(t), hello()) {
		break
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the connection stays open")
	}
}

func TestCallersEnd(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.until() },
		"GetTask":              func(t *turn) { t.until() },
	})
	for name, f := range map[string]func(context.Context, *a2aclient.Client) error{
		"stream": func(c context.Context, k *a2aclient.Client) (last error) {
			for _, err := range k.Stream(c, hello()) {
				last = err
			}
			return last
		},
		"await": func(c context.Context, k *a2aclient.Client) (last error) {
			for _, err := range k.Await(c, "T") {
				last = err
			}
			return last
		},
		"get": func(c context.Context, k *a2aclient.Client) error {
			_, err := k.Get(c, &a2a.GetRequest{ID: "T"})
			return err
		},
	} {
		c, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := f(c, a.client("1.0", nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SubscribeToTask": func(t *turn) {
		if t.N > 0 {
			t.fail(-32004, "the task has ended")
			return
		}
		t.open()
		t.frames(task("WORKING"), chunk("a", "x", false), status("COMPLETED"))
	}})
	c := a.client("1.0", nil)
	collect(t, c.Subscribe(ctx(t), "T")).want(t, "task:working, a=x, completed")
	kindOf(t, collect(t, c.Subscribe(ctx(t), "T")).err, card.KindUnsupported)
}
