package a2aclient_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// What agents of v0.1 answer, as recorded. $ID and $SESSION are the names the client made.
const (
	// samples/python/common, April 2025: nulls everywhere, times without a zone.
	pythonTask = `{"jsonrpc":"2.0","id":%s,"result":{"id":"$ID","sessionId":"$SESSION","status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"4","metadata":null}],"metadata":null},"timestamp":"2025-04-20T10:11:12.345678"},"artifacts":[{"name":null,"description":null,"parts":[{"type":"text","text":"4","metadata":null}],"metadata":null,"index":0,"append":null,"lastChunk":null}],"history":null,"metadata":null},"error":null}`

	// Its answer to a method that it does not know.
	pythonRefusal = `{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-32600,"message":"Request payload validation error","data":[{"type":"union_tag_invalid","loc":[],"msg":"Input tag 'message/send' found using 'method' does not match any of the expected tags"}]}}`

	// trpc-a2a-go v0.0.3, likewise, at HTTP status 404.
	trpcRefusal = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found","data":"Method 'message/send' not found"}}`
)

// oldCall is what a request of v0.1 holds.
type oldCall struct {
	ID, SessionID string
	Message       json.RawMessage
}

func (t *turn) old() oldCall {
	t.t.Helper()
	var c oldCall
	if err := json.Unmarshal(t.Params, &c); err != nil || c.ID == "" {
		t.t.Errorf("%s: %v in %s", t.Method, err, t.Params)
	}
	return c
}

// recorded answers with a recording, with the client's own names filled in.
func (t *turn) recorded(code int, body string) {
	c := t.old()
	if strings.Contains(body, "%s") {
		body = fmt.Sprintf(body, t.ID)
	}
	t.body(code, strings.NewReplacer("$ID", c.ID, "$SESSION", c.SessionID).Replace(body))
}

func pythonUnknown(t *turn) { t.body(400, pythonRefusal) }

func trpcUnknown(t *turn) { t.body(404, fmt.Sprintf(trpcRefusal, t.ID)) }

// An agent of the first drafts behind a card that does not say so is found by the first message.
func TestCheck04ProbeFindsV01(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]func(*turn){"Python samples": pythonUnknown, "trpc": trpcUnknown} {
		for _, version := range []string{"0.1", "0.2", ""} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				a := newAgent(t, map[string]func(*turn){
					"message/send": unknown, "SendMessage": unknown,
					"tasks/send": func(t *turn) { t.recorded(200, pythonTask) },
				})
				var learned []a2aclient.Verdict
				c := a.client(version, &a2aclient.Options{Learned: func(v a2aclient.Verdict) { learned = append(learned, v) }})
				for range 2 {
					e, err := c.Send(ctx(t), hello())
					if err != nil || short(e) != "task:completed(4) artifact-0=4" {
						t.Fatalf("%v, %v", e, err)
					}
				}
				if a.called() != "message/send tasks/send tasks/send" {
					t.Errorf("called %s", a.called())
				}
				if v := c.Speaks(); v.Dialect != wire.OLD || v.String() != "speaks v0.1 over JSON-RPC" || len(learned) != 1 || learned[0] != v {
					t.Errorf("%+v, learned %v", v, learned)
				}
			})
		}
	}
}

// The names that the client makes are the same for the same message, and those of a continued task stay.
func TestNamesOfV01(t *testing.T) {
	t.Parallel()
	var calls []oldCall
	a := newAgent(t, map[string]func(*turn){"tasks/send": func(t *turn) {
		calls = append(calls, t.old())
		t.recorded(200, pythonTask)
	}})
	c := a.client("0.1", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.OLD)}})
	send := func(id, task, context string) *a2a.Task {
		t.Helper()
		r := hello()
		r.Message.ID, r.Message.TaskID, r.Message.ContextID = id, task, context
		e, err := c.Send(ctx(t), r)
		got, ok := e.(*a2a.Task)
		if !ok {
			t.Fatalf("%v, %v", e, err)
		}
		return got
	}
	one := send("m-1", "", "")
	if one.ID == "" || one.ContextID == "" || one.ID == one.ContextID {
		t.Errorf("%+v", one)
	}
	if again := send("m-1", "", ""); again.ID != one.ID || again.ContextID != one.ContextID {
		t.Errorf("the same message began task %s, then %s", one.ID, again.ID)
	}
	if next := send("m-2", "", one.ContextID); next.ID == one.ID || next.ContextID != one.ContextID {
		t.Errorf("a new task of the same session: %+v", next)
	}
	if on := send("m-3", one.ID, one.ContextID); on.ID != one.ID {
		t.Errorf("continued as %s", on.ID)
	}
	if strings.Contains(string(calls[0].Message), "messageId") || strings.Contains(string(calls[0].Message), "kind") {
		t.Errorf("the message is %s", calls[0].Message)
	}
	if calls[3].ID != one.ID || calls[3].SessionID != one.ContextID {
		t.Errorf("continued with %+v", calls[3])
	}
}

func dialect(d wire.Dialect) *wire.Dialect { return &d }

// A stream of v0.1 has updates only: the task is made of the first, in the context that the client named.
func TestCheck02StreamOfV01(t *testing.T) {
	t.Parallel()
	frame := func(name, result string) string {
		return "event: " + name + "\ndata: " + `{"jsonrpc":"2.0","id":"1","result":` + result + "}\n\n"
	}
	a := newAgent(t, map[string]func(*turn){
		"tasks/sendSubscribe": func(t *turn) {
			id := t.old().ID
			t.open()
			for _, s := range []string{
				frame("task_status_update", `{"id":"$ID","status":{"state":"working","timestamp":"2025-05-20T01:02:03Z"},"final":false}`),
				frame("task_artifact_update", `{"id":"$ID","artifact":{"name":"a","parts":[{"type":"text","text":"one "}],"index":0,"append":false},"final":false}`),
				frame("task_artifact_update", `{"id":"$ID","artifact":{"parts":[{"type":"text","text":"two"}],"index":0,"append":true,"lastChunk":true},"final":false}`),
				frame("close", `{"taskId":"$ID","reason":"task ended"}`), // trpc's own, no event
				frame("task_status_update", `{"id":"$ID","status":{"state":"completed","timestamp":"2025-05-20T01:02:04Z"},"final":true}`),
			} {
				fmt.Fprint(t.ResponseWriter, strings.ReplaceAll(s, "$ID", id))
			}
			t.flush()
			t.until() // trpc does not close
		},
	})
	c := a.client("0.1", nil)
	got := collect(t, c.Stream(ctx(t), hello()))
	got.want(t, "task:working, artifact-0=one , artifact-0+=two, completed")
	if a.called() != "message/stream tasks/sendSubscribe" || got.gaps != 0 {
		t.Errorf("called %s", a.called())
	}
	for _, e := range got.events {
		if u, ok := e.(*a2a.ArtifactUpdate); ok && u.ContextID != got.events[0].(*a2a.Task).ContextID {
			t.Errorf("an event without its context: %+v", u)
		}
	}
	if got.task.ContextID == "" {
		t.Error("the task has no context")
	}
}

// JavaScript agents of the first drafts send the whole artifact each time, also as the last event.
func TestFinalArtifactOfV01(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"tasks/sendSubscribe": func(t *turn) {
			t.open()
			id := t.old().ID
			t.frames(`{"id":"`+id+`","status":{"state":"working"},"final":false}`,
				`{"id":"`+id+`","artifact":{"index":0,"parts":[{"text":"on"}]}}`,
				`{"id":"`+id+`","artifact":{"index":0,"parts":[{"text":"one"}]},"final":true}`)
			t.until()
		},
		"tasks/get": func(t *turn) {
			t.result(`{"id":"` + t.old().ID + `","status":{"state":"completed"},"artifacts":[{"index":0,"parts":[{"text":"one"}]}]}`)
		},
	})
	got := collect(t, a.client("0.1", nil).Stream(ctx(t), hello()))
	got.want(t, "task:working, artifact-0=on, artifact-0=one, completed")
}

// final ends the reading also where the state does not.
func TestFinalWithoutAnEnd(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"message/stream": func(t *turn) {
			t.open()
			t.frames(`{"kind":"task","id":"T","contextId":"C","status":{"state":"submitted"}}`,
				`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"working"},"final":true}`)
			t.until()
		},
		"tasks/get": func(t *turn) {
			t.result(`{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"}}`)
		},
	})
	got := collect(t, a.client("0.3", nil).Stream(ctx(t), hello()))
	if got.err != nil || got.task.Status.State != a2a.TaskStateCompleted || a.called() != "message/stream tasks/get" {
		t.Errorf("%v after %s", got, a.called())
	}
}

// Without subscriptions, as in the Python samples, the task is looked at.
func TestResubscribeUnsupportedByV01(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"tasks/sendSubscribe": func(t *turn) {
			t.open()
			t.frames(`{"id":"` + t.old().ID + `","status":{"state":"working"},"final":false}`)
			t.cut()
		},
		"tasks/resubscribe": func(t *turn) { t.fail(-32004, "This operation is not supported") },
		"tasks/get": func(t *turn) {
			state := "working"
			if t.N > 2 {
				state = "completed"
			}
			t.result(fmt.Sprintf(`{"id":%q,"sessionId":"S","status":{"state":%q}}`, t.old().ID, state))
		},
	})
	got := collect(t, a.client("0.1", nil).Stream(ctx(t), hello()))
	if got.err != nil || got.task.Status.State != a2a.TaskStateCompleted || a.count("tasks/resubscribe") != 1 {
		t.Errorf("%v after %s", got, a.called())
	}
}

// The client knows the task also when no answer came: it asks for it by the name it gave.
func TestUnansweredMessageOfV01(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		stream bool
		fail   func(*turn)
	}{
		"cut":           {true, func(t *turn) { t.cut() }},
		"cut in stream": {true, func(t *turn) { t.open(); t.cut() }},
		"empty":         {true, func(t *turn) { t.open() }},
		"gateway":       {true, func(t *turn) { t.WriteHeader(504) }},
		"slow":          {false, func(t *turn) { t.until() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrived atomic.Pointer[oldCall] // an answer that never comes orders nothing
			f := func(t *turn) { c := t.old(); arrived.Store(&c); x.fail(t) }
			a := newAgent(t, map[string]func(*turn){
				"tasks/sendSubscribe": f, "tasks/send": f,
				"tasks/get": func(t *turn) {
					if t.old().ID != arrived.Load().ID {
						t.fail(-32001, "Task not found")
						return
					}
					t.result(fmt.Sprintf(`{"id":%q,"status":{"state":"completed"},"artifacts":[{"index":0,"parts":[{"type":"text","text":"4"}]}]}`, arrived.Load().ID))
				},
			})
			ac := streaming()
			ac.Capabilities.Streaming = x.stream
			c := a.clientOf(ac, "0.1", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.OLD)}, SendTime: 100 * time.Millisecond})
			got := collect(t, c.Stream(ctx(t), hello()))
			got.want(t, "task:completed artifact-0=4")
			if n := a.count("tasks/sendSubscribe") + a.count("tasks/send"); n != 1 {
				t.Errorf("sent %d times: %s", n, a.called())
			}
			if session := arrived.Load().SessionID; got.task.ContextID != session {
				t.Errorf("context %q of session %q", got.task.ContextID, session)
			}
		})
	}
	t.Run("not arrived", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, map[string]func(*turn){
			"tasks/sendSubscribe": func(t *turn) { t.cut() },
			"tasks/get":           func(t *turn) { t.fail(-32001, "Task not found") },
		})
		c := a.client("0.1", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.OLD)}})
		got := collect(t, c.Stream(ctx(t), hello()))
		if e := kindOf(t, got.err, card.KindCut); !e.MayHaveRun {
			t.Errorf("%+v", e)
		}
	})
}

// After a restart the task that a message began is found by its name.
func TestFindInV01(t *testing.T) {
	t.Parallel()
	var sent string
	a := newAgent(t, map[string]func(*turn){
		"tasks/send": func(t *turn) { sent = t.old().ID; t.recorded(200, pythonTask) },
		"tasks/get": func(t *turn) {
			if t.old().ID != sent {
				t.fail(-32001, "Task not found")
				return
			}
			t.result(`{"id":"` + sent + `","status":{"state":"working"}}`)
		},
	})
	record := &a2aclient.Verdict{Dialect: wire.OLD, Binding: "JSONRPC", By: a2aclient.ByTrial}
	if _, err := a.client("0.1", &a2aclient.Options{Verdict: record}).Send(ctx(t), hello()); err != nil {
		t.Fatal(err)
	}
	c := a.client("0.1", &a2aclient.Options{Verdict: record})
	task, err := c.Find(ctx(t), "", hello().Message.ID)
	if err != nil || task == nil || task.ID != sent || task.ContextID == "" {
		t.Errorf("%+v, %v", task, err)
	}
	if task, err := c.Find(ctx(t), "", "another"); task != nil || err != nil {
		t.Errorf("%+v, %v", task, err)
	}
	if a.count("message/send") != 0 {
		t.Errorf("called %s", a.called())
	}
}

// A task whose state the agent does not know is looked at once more, and then given up.
func TestUnknownStateBeforeV1(t *testing.T) {
	t.Parallel()
	for version, send := range map[string]string{"0.1": "tasks/send", "0.3": "message/send"} {
		for name, returns := range map[string]bool{"stays": false, "returns": true} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				unknown := func(t *turn) {
					id := "T"
					if t.Method == "tasks/send" || version == "0.1" {
						id = t.old().ID
					}
					state := "unknown"
					if t.Method == "tasks/get" && returns && t.N > 0 {
						state = "completed"
					}
					t.result(fmt.Sprintf(`{"kind":"task","id":%q,"contextId":"C","status":{"state":%q}}`, id, state))
				}
				a := newAgent(t, map[string]func(*turn){send: unknown, "tasks/get": unknown})
				ac := streaming()
				ac.Capabilities.Streaming = false
				got := collect(t, a.clientOf(ac, version, nil).Stream(ctx(t), hello()))
				if n := a.count("tasks/get"); n != 2 {
					t.Errorf("looked %d times", n)
				}
				if returns {
					if got.err != nil || got.task.Status.State != a2a.TaskStateCompleted {
						t.Errorf("%v", got)
					}
					return
				}
				e := kindOf(t, got.err, card.KindTaskNotFound)
				if !e.MayHaveRun || !strings.Contains(e.What, "what became of this task") {
					t.Errorf("%+v", e)
				}
			})
		}
	}
}

// A refused stream need not say why, nor in JSON.
func TestRefusedStreamSaysNothing(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 404, 405, 406, 501} {
		for _, body := range []string{"", "no streams here"} {
			a := newAgent(t, map[string]func(*turn){
				"tasks/sendSubscribe": func(t *turn) { t.WriteHeader(code); fmt.Fprint(t.ResponseWriter, body) },
				"tasks/send":          func(t *turn) { t.recorded(200, pythonTask) },
			})
			c := a.client("0.1", nil)
			collect(t, c.Stream(ctx(t), hello())).want(t, "task:completed(4) artifact-0=4")
			if c.Streams() || a.count("tasks/send") != 1 {
				t.Errorf("%d: streams %v, called %s", code, c.Streams(), a.called())
			}
		}
	}
}

// The codes that v0.1 gave another meaning are read in its own.
func TestCheck24CodesOfV01(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]card.Kind{
		-32001: card.KindTaskNotFound, -32002: card.KindTaskEnded, -32006: card.KindUnsupported, -32007: card.KindUnauthenticated,
		-32008: card.KindForbidden, -32009: card.KindTaskEnded, -32010: card.KindRateLimited, -32011: card.KindUnavailable,
	} {
		a := newAgent(t, map[string]func(*turn){"tasks/send": func(t *turn) { t.fail(code, "no") }})
		_, err := a.client("0.1", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.OLD)}}).Send(ctx(t), hello())
		kindOf(t, err, want)
	}
}
