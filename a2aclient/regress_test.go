package a2aclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// way is one dialect over one binding, as a scripted agent speaks it.
type way struct {
	version, binding string
	send             string // as turn.Method has it
	old              bool
}

var ways = []way{
	{"1.0", "JSONRPC", "SendMessage", false},
	{"0.3", "JSONRPC", "message/send", false},
	{"0.1", "JSONRPC", "tasks/send", true},
	{"1.0", "HTTP+JSON", "POST /message:send", false},
	{"0.3", "HTTP+JSON", "POST /v1/message:send", false},
}

// client of an agent that answers each send with what answer says, in that dialect and binding.
func (w way) client(t *testing.T, answer func(*turn) (state string)) (*agent, *a2aclient.Client) {
	t.Helper()
	f := func(t *turn) {
		id, state := "T", answer(t)
		if w.old {
			id = t.old().ID
		}
		switch {
		case w.old:
			t.result(fmt.Sprintf(`{"id":%q,"sessionId":"C","status":{"state":%q,"message":{"role":"agent","parts":[{"type":"text","text":"which?"}]}}}`, id, state))
		case w.version == "0.3" && w.binding == "JSONRPC":
			t.result(fmt.Sprintf(`{"kind":"task","id":%q,"contextId":"C","status":{"state":%q,"message":{"kind":"message","messageId":"q","role":"agent","parts":[{"kind":"text","text":"which?"}]}}}`, id, state))
		default:
			field := map[bool][2]string{true: {"message", "parts"}, false: {"update", "content"}}[w.version == "1.0"]
			body := fmt.Sprintf(`{"task":{"id":%q,"contextId":"C","status":{"state":"TASK_STATE_%s",%q:{"messageId":"q","role":"ROLE_AGENT",%q:[{"text":"which?"}]}}}}`,
				id, strings.ToUpper(strings.ReplaceAll(state, "-", "_")), field[0], field[1])
			if w.binding == "JSONRPC" {
				t.result(body)
				return
			}
			t.body(200, body)
		}
	}
	a := newAgent(t, map[string]func(*turn){w.send: f})
	a.rest = w.binding != "JSONRPC"
	o := &a2aclient.Options{}
	if w.old {
		o.Override = &a2aclient.Override{Dialect: dialect(wire.OLD)}
	}
	return a, a.at(a2a.AgentInterface{URL: a.URL, Binding: w.binding, Version: w.version}, o)
}

// A turn that waits for an answer keeps the ids of task and context, whatever is spoken.
func TestCheck03InputRequired(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		var first, second string
		_, c := w.client(t, func(t *turn) string {
			if t.N == 0 {
				first = string(t.Params)
				return "input-required"
			}
			second = string(t.Params)
			return "completed"
		})
		e, err := c.Send(ctx(t), hello())
		x, ok := e.(*a2a.Task)
		if !ok || x.Status.State != a2a.TaskStateInputRequired || a2a.Text(x.Status.Message.Parts) != "which?" || x.ContextID != "C" {
			t.Errorf("%+v: %+v, %v", w, e, err)
			continue
		}
		r := &a2a.SendRequest{Message: a2a.Message{ID: "m2", TaskID: x.ID, ContextID: x.ContextID, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Oslo")}}}
		e, err = c.Send(ctx(t), r)
		if y, ok := e.(*a2a.Task); !ok || y.ID != x.ID || y.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%+v: %+v, %v", w, e, err)
		}
		names := []string{`"taskId":"` + x.ID + `"`, `"contextId":"C"`}
		if w.old {
			names = []string{`"id":"` + x.ID + `"`, `"sessionId":"C"`}
		}
		for _, s := range names {
			if !strings.Contains(second, s) {
				t.Errorf("%+v: no %s in %s", w, s, second)
			}
		}
		if strings.Contains(first, `"taskId"`) {
			t.Errorf("%+v: the first message names a task: %s", w, first)
		}
	}
}

// A stream over HTTP+JSON that breaks is mended like any other: the task, then a subscription, and nothing twice.
func TestCheck18RESTStreamIsMended(t *testing.T) {
	t.Parallel()
	for version, x := range map[string]struct{ prefix, working, grown, done, artifact, more, end string }{
		"1.0": {
			"", task("WORKING"), bare("WORKING", artifacts(artifact("a", "one two"))), bare("COMPLETED", artifacts(artifact("a", "one two three"))),
			chunk("a", "one ", false), chunk("a", "three", true), status("COMPLETED"),
		},
		"0.3": {
			"/v1", task("WORKING"), bare("WORKING", artifacts(artifact("a", "one two"))), bare("COMPLETED", artifacts(artifact("a", "one two three"))),
			chunk("a", "one ", false), chunk("a", "three", true), status("COMPLETED"),
		},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			a := newREST(t, map[string]func(*turn){
				"POST " + x.prefix + "/message:stream": func(t *turn) { t.open(); t.bare(x.working, x.artifact); t.cut() },
				"GET " + x.prefix + "/tasks/T": func(t *turn) {
					if t.N == 0 {
						t.body(200, x.grown)
						return
					}
					t.body(200, x.done)
				},
				"GET " + x.prefix + "/tasks/T:subscribe": func(t *turn) {
					t.open()
					t.bare(`{"task":` + x.grown + `}`)
					t.bare(x.more, x.end)
				},
			})
			got := collect(t, a.restClient(version, nil).Stream(ctx(t), hello()))
			if got.err != nil || got.task.Status.State != a2a.TaskStateCompleted || a2a.Text(got.task.Artifacts[0].Parts) != "one two three" {
				t.Errorf("%v after %s", got, a.called())
			}
		})
	}
}

// Whether to wait for the end is said in so many words: the default changed its sense (A2A#1453, a2a-python#810).
func TestBlockingIsSaid(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		for _, now := range []bool{false, true} {
			var sent string
			_, c := w.client(t, func(t *turn) string { sent = string(t.Params); return "working" })
			r := hello()
			r.Configuration.ReturnImmediately = now
			if _, err := c.Send(ctx(t), r); err != nil {
				t.Fatal(err)
			}
			switch {
			case w.old:
				if strings.Contains(sent, "locking") || strings.Contains(sent, "returnImm") {
					t.Errorf("%+v: %s", w, sent)
				}
			case w.version == "0.3":
				if strings.Contains(sent, `"blocking":true`) == now {
					t.Errorf("%+v: %v in %s", w, now, sent)
				}
				if !strings.Contains(sent, `"acceptedOutputModes":[`) && w.binding == "JSONRPC" { // required up to v0.2.5
					t.Errorf("%+v: %s", w, sent)
				}
			default:
				if strings.Contains(sent, `"returnImmediately":true`) != now {
					t.Errorf("%+v: %v in %s", w, now, sent)
				}
			}
		}
	}
}

// A task that waits for an answer is not executing: an agent that then knows nothing to subscribe to is asked for the task
// itself (a2a-go#439).
func TestGo439SubscribeAtInputRequired(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SubscribeToTask": func(t *turn) { t.open(); t.errorFrame(-32001, "no active execution") },
		"GetTask": func(t *turn) {
			if t.N == 0 {
				t.result(bare("WORKING"))
				return
			}
			t.result(bare("INPUT_REQUIRED"))
		},
	})
	got := collect(t, a.client("1.0", nil).Await(ctx(t), "T"))
	got.want(t, "task:working, input_required")
}

// A subscription to a task that has ended is refused in one way or another (a2a-java#791): the task tells.
func TestJava791SubscribeToAnEndedTask(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*turn){
		"directly":      func(t *turn) { t.fail(-32004, "the task is in a terminal state") },
		"in the stream": func(t *turn) { t.open(); t.errorFrame(-32004, "the task is in a terminal state") },
		"as Python":     func(t *turn) { t.fail(-32602, "Task T is in terminal state: completed") },
	} {
		a := newAgent(t, map[string]func(*turn){
			"SubscribeToTask": refuse,
			"GetTask": func(t *turn) {
				if t.N == 0 {
					t.result(bare("WORKING"))
					return
				}
				t.result(bare("COMPLETED"))
			},
		})
		got := collect(t, a.client("1.0", nil).Await(ctx(t), "T"))
		if got.String() != "task:working, completed" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A stop may be answered with a task that is still at work (a2a-js#157), and stopping twice succeeds (a2a-js#539).
func TestJS157CancelNotYetDone(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"CancelTask": func(t *turn) {
			t.result(bare([]string{"WORKING", "CANCELED", "CANCELED"}[t.N]))
		},
	})
	c := a.client("1.0", nil)
	for _, want := range []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCanceled, a2a.TaskStateCanceled} {
		if x, err := c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"}); err != nil || x.Status.State != want {
			t.Errorf("%v, %v", x, err)
		}
	}
}

// Files over HTTP+JSON of v0.3 may come as "parts" from later drafts (A2A#1100).
func TestA2A1100PartsOrContent(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"content", "parts"} {
		a := newREST(t, map[string]func(*turn){"POST /v1/message:send": func(t *turn) {
			t.body(200, `{"message":{"messageId":"r","role":"ROLE_AGENT","`+field+`":[{"text":"hi"}]}}`)
		}})
		if e, err := a.restClient("0.3", nil).Send(ctx(t), hello()); err != nil || short(e) != "message:hi" {
			t.Errorf("%s: %v, %v", field, e, err)
		}
	}
}

// Credentials stay with the agent's own origin over HTTP+JSON too, also where it redirects.
func TestCheck36RESTCredentials(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin was asked for %s with %q", r.URL.Path, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	a := newREST(t, map[string]func(*turn){
		"POST /message:send": func(t *turn) {
			if t.asked("Authorization") != "Bearer x" || t.URL.Query().Get("key") != "k" {
				t.t.Errorf("%v, %s", t.Request.Header, t.URL)
			}
			t.Header().Set("Location", other.URL+"/message:send")
			t.WriteHeader(307)
		},
		"GET /tasks/T": func(t *turn) {
			t.Header().Set("Location", "/tasks/T/")
			t.WriteHeader(308)
		},
		"GET /tasks/T/": func(t *turn) { t.body(200, bare("WORKING")) },
	})
	c := a.at(a2a.AgentInterface{URL: a.URL, Binding: "HTTP+JSON", Version: "1.0"}, &a2aclient.Options{
		Override: &a2aclient.Override{Dialect: dialect(wire.NEW)},
		Authorize: authorize(func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer x")
			q := r.URL.Query()
			q.Set("key", "k")
			r.URL.RawQuery = q.Encode()
		}),
	})
	_, err := c.Send(ctx(t), hello())
	kindOf(t, err, card.KindRedirect)
	if x, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"}); err != nil || x.ID != "T" {
		t.Errorf("a slash more: %v, %v", x, err)
	}
}
