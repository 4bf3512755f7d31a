package a2aclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// Before v1.0 a subscription does not say where it begins: it only rings, and the task itself says what is new.
func TestMendedBeforeV1(t *testing.T) {
	t.Parallel()
	get := func(text, state string) string {
		return fmt.Sprintf(`{"kind":"task","id":"T","contextId":"C","status":{"state":%q},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":%q}]}]}`, state, text)
	}
	var moved atomic.Bool
	a := newAgent(t, map[string]func(*turn){
		"message/stream": func(t *turn) {
			t.open()
			t.frames(`{"kind":"task","id":"T","contextId":"C","status":{"state":"working"}}`,
				`{"kind":"artifact-update","taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"foo"}]}}`)
			t.cut()
		},
		"tasks/get": func(t *turn) {
			if moved.Load() {
				t.result(get("foofoofoo", "completed"))
				return
			}
			t.result(get("foofoo", "working"))
		},
		"tasks/resubscribe": func(t *turn) {
			t.open()
			// Which of the three this is, nobody can tell.
			t.frames(`{"kind":"artifact-update","taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"foo"}]},"append":true}`)
			time.Sleep(50 * time.Millisecond)
			moved.Store(true)
			t.frames(`{"kind":"artifact-update","taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"foo"}]},"append":true}`)
			t.until()
		},
	})
	got := collect(t, a.client("0.3", &a2aclient.Options{PollMax: time.Hour}).Stream(ctx(t), hello()))
	got.want(t, "task:working, a=foo, a+=foo, a+=foo, completed")
	if a.count("tasks/resubscribe") != 1 {
		t.Errorf("called %s", a.called())
	}
}

// Some agents forget a task when it ends (trpc-a2a-go v0.2, when it is stopped): then what the subscription said counts.
func TestTaskForgottenAtItsEnd(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	a := newAgent(t, map[string]func(*turn){
		"tasks/get": func(t *turn) {
			if gone.Load() {
				t.fail(-32001, "Task not found")
				return
			}
			t.result(`{"kind":"task","id":"T","contextId":"C","status":{"state":"working"}}`)
		},
		"tasks/resubscribe": func(t *turn) {
			t.open()
			t.frames(`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"working"},"final":false}`)
			gone.Store(true)
			t.frames(`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"canceled"},"final":true}`)
			t.until()
		},
	})
	got := collect(t, a.client("0.3", nil).Await(ctx(t), "T"))
	if got.err != nil || got.task.Status.State != a2a.TaskStateCanceled {
		t.Errorf("%v", got)
	}
}

// Whatever an agent answers to a subscription that it refuses, the task is then looked at until it ends.
func TestSubscriptionRefused(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*turn){
		"no active execution": func(t *turn) { t.fail(-32001, "no active execution") },
		"unsupported":         func(t *turn) { t.fail(-32004, "not supported") },
		"unknown method":      func(t *turn) { t.fail(-32601, "Method not found") },
		"invalid params":      func(t *turn) { t.fail(-32602, "task is in terminal state") },
		"internal":            func(t *turn) { t.fail(-32603, "oops") },
		"as a frame": func(t *turn) {
			t.open()
			fmt.Fprint(t.ResponseWriter, "event: error\ndata: {\"code\":-32004,\"message\":\"no\"}\n\n")
		},
		"bad gateway": func(t *turn) { t.WriteHeader(502) },
		"404":         func(t *turn) { http.NotFound(t.ResponseWriter, t.Request) },
		"empty":       func(t *turn) {},
		"web page":    func(t *turn) { t.Header().Set("Content-Type", "text/html"); fmt.Fprint(t.ResponseWriter, "<html>") },
		"ends early":  func(t *turn) { t.open(); t.frames(task("WORKING")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){
				"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")) },
				"SubscribeToTask":      refuse,
				"GetTask": func(t *turn) {
					if t.N < 4 {
						t.result(bare("WORKING", artifacts(artifact("a", "one"))))
						return
					}
					t.result(bare("COMPLETED", artifacts(artifact("a", "one", "two"))))
				},
			})
			got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
			got.want(t, "task:working, a=one, a+=two, completed")
		})
	}
}

// What a snapshot holds beyond what was yielded is found whatever the agent did with the pieces.
func TestMerge(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		sent []string // chunks of artifact a
		then string   // artifacts of the task afterwards
		want string
	}{
		"nothing new":             {[]string{"one", "two"}, artifacts(artifact("a", "one", "two")), ""},
		"pieces joined":           {[]string{"one", "two"}, artifacts(artifact("a", "onetwo")), ""},
		"joined and grown":        {[]string{"one", "two"}, artifacts(artifact("a", "onetwothree")), "a+=three, "},
		"grown by a part":         {[]string{"one", "two"}, artifacts(artifact("a", "one", "two", "three")), "a+=three, "},
		"the same text again":     {[]string{"x", "x"}, artifacts(artifact("a", "x", "x", "x")), "a+=x, "},
		"cut elsewhere":           {[]string{"on", "etwo"}, artifacts(artifact("a", "one", "twothr", "ee")), "a+=three, "},
		"rewritten":               {[]string{"one", "two"}, artifacts(artifact("a", "ONE", "two", "three")), "a=ONEtwothree, "},
		"shortened at the end":    {[]string{"one", "two"}, artifacts(artifact("a", "one")), "a=one, "},
		"another artifact":        {[]string{"one"}, artifacts(artifact("a", "one"), artifact("b", "two")), "b=two, "},
		"none kept by the agent":  {[]string{"one"}, "", ""},
		"a file follows":          {[]string{"one"}, `,"artifacts":[{"artifactId":"a","parts":[{"text":"one"},{"raw":"aGk=","filename":"x"}]}]`, "a+=, "},
		"multi-byte cut in two":   {[]string{"東"}, artifacts(artifact("a", "東京")), "a+=京, "},
		"empty artifact then all": {[]string{""}, artifacts(artifact("a", "one")), "a+=one, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){
				"SendStreamingMessage": func(t *turn) {
					t.open()
					t.frames(task("WORKING"))
					for i, s := range x.sent {
						t.frames(chunk("a", s, i > 0))
					}
				},
				"GetTask": func(t *turn) { t.result(bare("COMPLETED", x.then)) },
			})
			got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
			sent := ""
			for i, s := range x.sent {
				sent += map[bool]string{true: "a=", false: "a+="}[i == 0] + s + ", "
			}
			got.want(t, "task:working, "+sent+x.want+"completed")
		})
	}
}

// A copy that lags behind what was streamed takes nothing back.
func TestLaggingCopy(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), chunk("a", "one ", false), chunk("a", "two ", true))
			t.cut()
		},
		"SubscribeToTask": func(t *turn) { t.fail(-32004, "no") },
		"GetTask": func(t *turn) {
			switch t.N {
			case 0:
				t.result(bare("WORKING"))
			case 1:
				t.result(bare("WORKING", artifacts(artifact("a", "one "))))
			default:
				t.result(bare("COMPLETED", artifacts(artifact("a", "one ", "two ", "three"))))
			}
		},
	})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).
		want(t, "task:working, a=one , a+=two , a+=three, completed")
}

// Progress that was told while the connection was down cannot be had again: the gap is marked.
func TestGap(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.cut() },
		"GetTask":              func(t *turn) { t.result(bare("COMPLETED")) },
	})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, gap, completed")
}

// An agent that lets nobody look at a task: what streams go on with is passed on, and the doubt is told.
func TestNothingToReconcileWith(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), chunk("a", "one", false))
			fmt.Fprint(t.ResponseWriter, "data: garbage\n\n")
			t.frames(status("COMPLETED"))
		},
		"GetTask": func(t *turn) { t.fail(-32603, "oops") },
	})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, a=one, gap, gap, completed")
}

func TestPatience(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.cut() },
		"GetTask":              func(t *turn) { t.cut() },
		"SubscribeToTask":      func(t *turn) { t.cut() },
	})
	got := collect(t, a.client("1.0", &a2aclient.Options{Patience: 100 * time.Millisecond}).Stream(ctx(t), hello()))
	e := kindOf(t, got.err, card.KindCut)
	if !e.Retry || a.count("GetTask") < 3 {
		t.Errorf("%+v after %s", e, a.called())
	}
}

// While an agent is away for a moment, nothing is lost.
func TestAgentRestarts(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.numbered(1, task("WORKING"))
			t.numbered(2, chunk("a", "one", false))
			t.cut()
		},
		"SubscribeToTask": func(t *turn) {
			if t.N < 2 {
				t.ResponseWriter.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			t.open()
			t.frames(task("WORKING", artifacts(artifact("a", "one", "two"))), status("COMPLETED"))
		},
		"GetTask": func(t *turn) {
			if t.N < 2 {
				t.ResponseWriter.WriteHeader(http.StatusBadGateway)
				return
			}
			t.result(bare("WORKING", artifacts(artifact("a", "one", "two"))))
		},
	})
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	got.want(t, "task:working, a=one, a+=two, completed")
}

// An id under which an agent does not go on where it stopped.
func TestResumeIsIgnored(t *testing.T) {
	t.Parallel()
	for name, sub := range map[string]func(*turn){
		"a snapshot instead": func(t *turn) {
			t.open()
			t.frames(task("WORKING", artifacts(artifact("a", "one", "two"))), status("COMPLETED"))
		},
		"all over again": func(t *turn) {
			t.open()
			t.numbered(1, task("WORKING"))
			t.numbered(2, chunk("a", "one", false))
			t.numbered(3, chunk("a", "two", true))
			t.numbered(4, status("COMPLETED"))
		},
		"numbered anew": func(t *turn) {
			t.open()
			t.numbered(1, task("WORKING", artifacts(artifact("a", "one", "tw"))))
			t.numbered(2, chunk("a", "o", true))
			t.numbered(3, status("COMPLETED"))
		},
		"refused": func(t *turn) { t.fail(-32004, "the task has ended") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){
				"SendStreamingMessage": func(t *turn) {
					t.open()
					t.numbered(1, task("WORKING"))
					t.numbered(2, chunk("a", "one", false))
				},
				"SubscribeToTask": sub,
				"GetTask":         func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "one", "two")))) },
			})
			got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
			if got.err != nil || a2a.Text(got.task.Artifacts[0].Parts) != "onetwo" || got.task.Status.State != a2a.TaskStateCompleted || got.gaps > 0 {
				t.Errorf("yielded %v", got)
			}
		})
	}
}

// Ids that are times do not resume anything.
func TestClockIDs(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.numbered(1767322445678, task("WORKING"))
			t.numbered(1767322445678, chunk("a", "x", false)) // the same millisecond
			t.numbered(1767322445679, chunk("a", "x", true))
		},
		"SubscribeToTask": func(t *turn) { t.t.Error("subscribed with an id that says nothing") },
		"GetTask":         func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "xx")))) },
	})
	collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, a=x, a+=x, completed")
}

func TestRepeatedEvents(t *testing.T) {
	t.Parallel()
	full := func(t *turn) { t.result(bare("COMPLETED", artifacts(artifact("a", "x", "x")))) }
	for name, sent := range map[string]func(*turn){
		"rising numbers": func(t *turn) {
			for _, n := range []int{1, 2, 2, 1, 3, 3, 2} {
				t.numbered(n, []string{"", task("WORKING"), chunk("a", "x", false), chunk("a", "x", true)}[n])
			}
		},
		"names": func(t *turn) {
			for _, n := range []int{1, 2, 2, 1, 3, 3, 2} {
				t.numbered(fmt.Sprint("event-", n), []string{"", task("WORKING"), chunk("a", "x", false), chunk("a", "x", true)}[n])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){
				"SendStreamingMessage": func(t *turn) { t.open(); sent(t); t.frames(status("COMPLETED")) },
				"GetTask":              full,
			})
			collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, a=x, a+=x, completed")
		})
	}
	t.Run("useless ids", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
			t.open()
			for _, r := range []string{task("WORKING"), chunk("a", "x", false), chunk("a", "x", true), chunk("a", "x", true), status("COMPLETED")} {
				t.numbered(7, r)
			}
		}, "GetTask": full})
		collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, a=x, a+=x, a+=x, completed")
	})
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), said("WORKING", "m1", "hm"), said("WORKING", "m1", "hm"), said("WORKING", "m2", "hm"), status("COMPLETED"))
		}})
		collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, working(hm), working(hm), completed")
	})
	t.Run("snapshots", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("SUBMITTED"), task("WORKING", artifacts(artifact("a", "x"))), task("WORKING", artifacts(artifact("a", "x", "y"))),
				task("WORKING"), task("COMPLETED", artifacts(artifact("a", "x", "y"))))
		}})
		collect(t, a.client("1.0", nil).Stream(ctx(t), hello())).want(t, "task:submitted, a=x, working, a+=y, completed")
	})
}

func kindOf(t *testing.T, err error, kind card.Kind) *a2aclient.Error {
	t.Helper()
	var e *a2aclient.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Errorf("kind %s (%s), want %s", e.Kind, e.What, kind)
	}
	if e.What == "" || e.Where == "" {
		t.Errorf("an error that does not tell what or where: %+v", e)
	}
	return e
}
