package a2aclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// Results in ProtoJSON of a2a.v1, which is what v0.3 agents say over HTTP+JSON.
const (
	protoTask = `{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"a","name":"answer","parts":[{"text":"4"}]}]}}`
	protoGone = `{"id":"T","contextId":"C","status":{"state":"TASK_STATE_CANCELLED","update":{"messageId":"x","role":"ROLE_AGENT","content":[{"text":"stopped"}]}}}`
)

// Every operation of v1.0 over HTTP+JSON has its own address and verb, below that of the tenant.
func TestCheck10RESTOfV1(t *testing.T) {
	t.Parallel()
	for _, tenant := range []string{"", "acme"} {
		prefix, base := "", "/api"
		if tenant != "" {
			prefix = "/" + tenant
		}
		config := `{"taskId":"T","id":"p","url":"https://hook.example/"}`
		a := newREST(t, map[string]func(*turn){
			"POST " + base + prefix + "/message:send": func(t *turn) {
				if t.asked("A2A-Version") != "1.0" || t.asked("Content-Type") != "application/json" {
					t.t.Errorf("header %v", t.Request.Header)
				}
				t.says(`"role":"ROLE_USER"`, `"parts":[{"text":"hello"}]`)
				if strings.Contains(string(t.Params), "jsonrpc") || strings.Contains(string(t.Params), "tenant") {
					t.t.Errorf("body %s", t.Params)
				}
				t.body(200, task("COMPLETED"))
			},
			"POST " + base + prefix + "/message:stream": func(t *turn) {
				t.open()
				t.bare(task("WORKING"), chunk("a", "4", false), status("COMPLETED"))
			},
			"GET " + base + prefix + "/tasks/T": func(t *turn) {
				if t.URL.Query().Get("historyLength") != "3" {
					t.t.Errorf("query %s", t.URL.RawQuery)
				}
				t.body(200, bare("WORKING"))
			},
			"GET " + base + prefix + "/tasks": func(t *turn) {
				if q := t.URL.Query(); q.Get("contextId") != "C" || q.Get("pageSize") != "7" {
					t.t.Errorf("query %s", t.URL.RawQuery)
				}
				t.body(200, `{"tasks":[`+bare("COMPLETED")+`],"nextPageToken":"","pageSize":7,"totalSize":1}`)
			},
			"POST " + base + prefix + "/tasks/T:cancel": func(t *turn) { t.body(202, bare("CANCELED")) },
			"POST " + base + prefix + "/tasks/T:subscribe": func(t *turn) {
				t.open()
				t.bare(task("WORKING"), status("COMPLETED"))
			},
			"POST " + base + prefix + "/tasks/T/pushNotificationConfigs": func(t *turn) {
				t.says(`"url":"https://hook.example/"`)
				t.body(201, config)
			},
			"GET " + base + prefix + "/tasks/T/pushNotificationConfigs/p":    func(t *turn) { t.body(200, config) },
			"GET " + base + prefix + "/tasks/T/pushNotificationConfigs":      func(t *turn) { t.body(200, `{"configs":[`+config+`]}`) },
			"DELETE " + base + prefix + "/tasks/T/pushNotificationConfigs/p": func(t *turn) { t.WriteHeader(204) },
			"GET " + base + prefix + "/extendedAgentCard":                    func(t *turn) { t.body(200, extendedCard) },
		})
		c := a.at(a2a.AgentInterface{URL: a.URL + base, Binding: "HTTP+JSON", Version: "1.0", Tenant: tenant}, nil)
		if e, err := c.Send(ctx(t), hello()); err != nil || short(e) != "task:completed" {
			t.Errorf("send: %v, %v", e, err)
		}
		collect(t, c.Stream(ctx(t), hello())).want(t, "task:working, a=4, completed")
		three := 3
		if x, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T", HistoryLength: &three}); err != nil || x.ID != "T" {
			t.Errorf("get: %v, %v", x, err)
		}
		if p, err := c.List(ctx(t), &a2a.ListRequest{ContextID: "C", PageSize: 7}); err != nil || len(p.Tasks) != 1 {
			t.Errorf("list: %v, %v", p, err)
		}
		if x, err := c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"}); err != nil || x.Status.State != a2a.TaskStateCanceled {
			t.Errorf("cancel: %v, %v", x, err)
		}
		collect(t, c.Subscribe(ctx(t), "T")).want(t, "task:working, completed")
		pushes(t, c, "p")
		if x, err := c.ExtendedCard(ctx(t)); err != nil || x.Name != "More" {
			t.Errorf("card: %v, %v", x, err)
		}
		if v := c.Speaks(); v.String() != "speaks v1.0 over REST" || v.By != a2aclient.ByAnswer {
			t.Errorf("%+v", v)
		}
	}
}

// The same of v0.3, below /v1 and in ProtoJSON.
func TestCheck09RESTOfV03(t *testing.T) {
	t.Parallel()
	holder := `{"name":"tasks/T/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"https://hook.example/"}}`
	a := newREST(t, map[string]func(*turn){
		"POST /v1/message:send": func(t *turn) {
			t.says(`"role":"ROLE_USER"`, `"content":[{"text":"hello"}]`)
			if t.asked("A2A-Version") == "1.0" || strings.Contains(string(t.Params), `"kind"`) {
				t.t.Errorf("%v, %s", t.Request.Header, t.Params)
			}
			t.body(201, protoTask)
		},
		"POST /v1/message:stream": func(t *turn) {
			t.open()
			t.bare(`{"task":{"id":"T","contextId":"C","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
				`{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_WORKING"},"final":false}}`,
				`{"artifactUpdate":{"taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"text":"4"}]}}}`,
				`{"statusUpdate":{"taskId":"T","contextId":"C","status":{"state":"TASK_STATE_CANCELLED"},"final":true}}`)
			t.until()
		},
		"GET /v1/tasks/T":                              func(t *turn) { t.body(200, protoGone) },
		"POST /v1/tasks/T:cancel":                      func(t *turn) { t.body(202, protoGone) },
		"POST /v1/tasks/T/pushNotificationConfigs":     func(t *turn) { t.says(`"pushNotificationConfig"`); t.body(201, holder) },
		"GET /v1/tasks/T/pushNotificationConfigs/p":    func(t *turn) { t.body(200, holder) },
		"GET /v1/tasks/T/pushNotificationConfigs":      func(t *turn) { t.body(200, `[`+holder+`]`) },
		"DELETE /v1/tasks/T/pushNotificationConfigs/p": func(t *turn) { t.WriteHeader(204) },
		"GET /v1/card":                                 func(t *turn) { t.body(200, extendedCard) },
	})
	c := a.restClient("0.3", nil)
	if e, err := c.Send(ctx(t), hello()); err != nil || short(e) != "task:completed a=4" {
		t.Errorf("send: %v, %v", e, err)
	}
	collect(t, c.Stream(ctx(t), hello())).want(t, "task:submitted, working, a=4, canceled")
	if x, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"}); err != nil || x.Status.State != a2a.TaskStateCanceled || a2a.Text(x.Status.Message.Parts) != "stopped" {
		t.Errorf("get: %+v, %v", x, err)
	}
	if x, err := c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"}); err != nil || x.Status.State != a2a.TaskStateCanceled {
		t.Errorf("cancel: %v, %v", x, err)
	}
	if _, err := c.List(ctx(t), &a2a.ListRequest{}); err == nil {
		t.Error("v0.3 listed tasks")
	} else {
		kindOf(t, err, card.KindUnsupported)
	}
	pushes(t, c, "p")
	if x, err := c.ExtendedCard(ctx(t)); err != nil || x.Name != "More" {
		t.Errorf("card: %v, %v", x, err)
	}
	if v := c.Speaks(); v.Dialect != wire.PROTO || v.String() != "speaks v0.3 over REST" {
		t.Errorf("%+v", v)
	}
}

// pushes sets, gets, lists and deletes a push configuration.
func pushes(t *testing.T, c *a2aclient.Client, id string) {
	t.Helper()
	p, err := c.SetPush(ctx(t), &a2a.PushConfig{TaskID: "T", ID: id, URL: "https://hook.example/", Token: "t"})
	if err != nil || p.ID != id || p.TaskID != "T" || p.URL != "https://hook.example/" {
		t.Errorf("set: %+v, %v", p, err)
	}
	p, err = c.GetPush(ctx(t), &a2a.PushGetRequest{TaskID: "T", ID: id})
	if err != nil || p.ID != id || p.TaskID != "T" || p.URL != "https://hook.example/" {
		t.Errorf("get: %+v, %v", p, err)
	}
	page, err := c.ListPush(ctx(t), &a2a.PushListRequest{TaskID: "T"})
	if err != nil || len(page.Configs) != 1 || page.Configs[0].ID != id || page.Configs[0].URL != "https://hook.example/" {
		t.Errorf("list: %+v, %v", page, err)
	}
	if err := c.DeletePush(ctx(t), &a2a.PushDeleteRequest{TaskID: "T", ID: id}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// Agents that let themselves be subscribed to by the other verb are found out once (A2A#2063, a2a-python#840, a2a-js#569).
func TestCheck17SubscribeVerb(t *testing.T) {
	t.Parallel()
	follow := func(t *turn) { t.open(); t.bare(task("WORKING"), status("COMPLETED")) }
	for name, refuse := range map[string]func(*turn){
		"404":            func(t *turn) { t.body(404, `{"detail":"Not Found"}`) },
		"404 plain":      func(t *turn) { http.NotFound(t.ResponseWriter, t.Request) },
		"405":            func(t *turn) { t.body(405, `{"detail":"Method Not Allowed"}`) },
		"501":            func(t *turn) { t.body(501, `{"message":"not implemented"}`) },
		"404 with a say": func(t *turn) { t.body(404, `{"message":"no such method"}`) },
	} {
		for version, path := range map[string]string{"1.0": "/tasks/T:subscribe", "0.3": "/v1/tasks/T:subscribe"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				a := newREST(t, map[string]func(*turn){"POST " + path: refuse, "GET " + path: func(t *turn) {
					if len(t.Params) > 0 {
						t.t.Errorf("a GET with a body: %s", t.Params)
					}
					follow(t)
				}})
				c := a.restClient(version, nil)
				for range 2 {
					collect(t, c.Subscribe(ctx(t), "T")).want(t, "task:working, completed")
				}
				if want := "POST " + path + " GET " + path + " GET " + path; a.called() != want {
					t.Errorf("called %s, want %s", a.called(), want)
				}
			})
		}
	}
	t.Run("neither", func(t *testing.T) {
		t.Parallel()
		a := newREST(t, map[string]func(*turn){"POST /tasks/T:subscribe": func(t *turn) {
			t.body(404, `{"error":{"code":404,"status":"NOT_FOUND","message":"Task not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`)
		}})
		c := a.at(a2a.AgentInterface{URL: a.URL, Binding: "HTTP+JSON", Version: "1.0"}, &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.NEW)}})
		got := collect(t, c.Subscribe(ctx(t), "T"))
		kindOf(t, got.err, card.KindTaskNotFound)
	})
}

// A strict a2a.v1 agent takes a push configuration bare, with its id in the query.
func TestStrictPushConfig(t *testing.T) {
	t.Parallel()
	a := newREST(t, map[string]func(*turn){"POST /v1/tasks/T/pushNotificationConfigs": func(t *turn) {
		var body struct {
			Config, PushNotificationConfig json.RawMessage
		}
		if json.Unmarshal(t.Params, &body); body.Config != nil || t.URL.Query().Get("configId") != "p" {
			t.body(400, `{"message":"Invalid JSON payload received. Unknown name \"config\""}`)
			return
		}
		t.body(200, string(t.Params))
	}})
	c := a.restClient("0.3", nil)
	for range 2 {
		p, err := c.SetPush(ctx(t), &a2a.PushConfig{TaskID: "T", ID: "p", URL: "https://hook.example/"})
		if err != nil || p.ID != "p" || p.URL != "https://hook.example/" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if n := a.count("POST /v1/tasks/T/pushNotificationConfigs"); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

// Ids are one segment of a path, whatever they hold.
func TestRESTEscapes(t *testing.T) {
	t.Parallel()
	id := "a/b:c %"
	var path string
	a := newREST(t, nil)
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"contextId":"C","status":{"state":"TASK_STATE_WORKING"}}`, id)
	})
	c := a.at(a2a.AgentInterface{URL: a.URL + "/x%2Fy/", Binding: "HTTP+JSON", Version: "1.0"}, nil)
	if x, err := c.Get(ctx(t), &a2a.GetRequest{ID: id}); err != nil || x.ID != id {
		t.Errorf("%v, %v", x, err)
	}
	if path != "/x%2Fy/tasks/a%2Fb%3Ac%20%25" {
		t.Errorf("asked for %s", path)
	}
}

// Streams over HTTP+JSON come in many forms (a2a-go#264, a2a-go#370, a2a-python#1074).
func TestCheck31RESTStreams(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*turn){
		"frames": func(t *turn) { t.open(); t.bare(task("WORKING"), chunk("a", "4", false), status("COMPLETED")) },
		"several lines": func(t *turn) {
			t.open()
			fmt.Fprint(t.ResponseWriter, "data: {\"task\":\ndata: "+bare("WORKING")+"}\n\n")
			t.bare(chunk("a", "4", false), status("COMPLETED"))
		},
		"CRLF": func(t *turn) {
			t.open()
			fmt.Fprintf(t.ResponseWriter, ": hello\r\n\r\ndata:%s\r\n\r\ndata: %s\r\n\r\ndata: %s\r\n\r\n", task("WORKING"), chunk("a", "4", false), status("COMPLETED"))
		},
		"plain text": func(t *turn) {
			t.Header().Set("Content-Type", "text/plain")
			t.bare(task("WORKING"), chunk("a", "4", false), status("COMPLETED"))
		},
		"an array": func(t *turn) {
			t.body(200, "["+task("WORKING")+","+chunk("a", "4", false)+",\n"+status("COMPLETED")+"]")
		},
		"in an envelope": func(t *turn) {
			t.ID = json.RawMessage("1")
			t.open()
			t.frames(task("WORKING"), chunk("a", "4", false), status("COMPLETED"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newREST(t, map[string]func(*turn){"POST /message:stream": f})
			collect(t, a.restClient("1.0", nil).Stream(ctx(t), hello())).want(t, "task:working, a=4, completed")
		})
	}
	t.Run("a frame of a megabyte", func(t *testing.T) {
		t.Parallel()
		a := newREST(t, map[string]func(*turn){"POST /message:stream": func(t *turn) {
			t.open()
			t.bare(task("WORKING"), chunk("a", strings.Repeat("x", 1<<20), false), status("COMPLETED"))
		}})
		got := collect(t, a.restClient("1.0", nil).Stream(ctx(t), hello()))
		if got.err != nil || len(a2a.Text(got.task.Artifacts[0].Parts)) != 1<<20 {
			t.Errorf("%v", got.err)
		}
	})
	for name, body := range map[string]string{
		"JavaScript": "event: error\ndata: {\"code\":-32001,\"message\":\"Task not found\"}\n\n",
		"v1.0":       "event: error\ndata: {\"error\":{\"code\":404,\"status\":\"NOT_FOUND\",\"message\":\"Task not found\",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"TASK_NOT_FOUND\",\"domain\":\"a2a-protocol.org\"}]}}\n\n",
	} {
		t.Run("an error, "+name, func(t *testing.T) {
			t.Parallel()
			a := newREST(t, map[string]func(*turn){"POST /message:stream": func(t *turn) { t.open(); fmt.Fprint(t.ResponseWriter, body) }})
			r := hello()
			r.Message.TaskID = "T"
			got := collect(t, a.restClient("1.0", nil).Stream(ctx(t), r))
			kindOf(t, got.err, card.KindTaskNotFound)
		})
	}
}

// A card that names the wrong generation over HTTP+JSON costs one refused request (assistant-ui#3723).
func TestCheck04RESTGeneration(t *testing.T) {
	t.Parallel()
	nothing := map[string]func(*turn){
		"Express": func(t *turn) {
			t.Header().Set("Content-Type", "text/html")
			t.WriteHeader(404)
			fmt.Fprint(t.ResponseWriter, "<!DOCTYPE html><pre>Cannot POST</pre>")
		},
		"FastAPI": func(t *turn) { t.body(404, `{"detail":"Not Found"}`) },
		"Kong":    func(t *turn) { t.body(404, `{"message":"no Route matched with those values"}`) },
		"405":     func(t *turn) { t.WriteHeader(405) },
		"wrong shape": func(t *turn) {
			t.body(400, `{"code":-32602,"message":"Invalid role: -1"}`)
		},
	}
	for name, refuse := range nothing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newREST(t, map[string]func(*turn){"POST /message:send": refuse, "POST /v1/message:send": func(t *turn) { t.body(201, protoTask) }})
			c := a.restClient("1.0", nil)
			for range 2 {
				if e, err := c.Send(ctx(t), hello()); err != nil || short(e) != "task:completed a=4" {
					t.Errorf("%v, %v", e, err)
				}
			}
			if v := c.Speaks(); v.Dialect != wire.PROTO || v.By != a2aclient.ByTrial || a.count("POST /message:send") != 1 {
				t.Errorf("%+v after %s", v, a.called())
			}
			b := newREST(t, map[string]func(*turn){"POST /v1/message:send": refuse, "POST /message:send": func(t *turn) { t.body(200, task("COMPLETED")) }})
			if e, err := b.restClient("0.3", nil).Send(ctx(t), hello()); err != nil || short(e) != "task:completed" {
				t.Errorf("upwards: %v, %v", e, err)
			}
		})
	}
}

// An address in a card may hold the /v1 of v0.3 already.
func TestRESTAddressWithV1(t *testing.T) {
	t.Parallel()
	a := newREST(t, map[string]func(*turn){"POST /a/v1/message:send": func(t *turn) { t.body(200, protoTask) }})
	c := a.at(a2a.AgentInterface{URL: a.URL + "/a/v1", Binding: "HTTP+JSON", Version: "0.3"}, nil)
	for range 2 {
		if e, err := c.Send(ctx(t), hello()); err != nil || short(e) != "task:completed a=4" {
			t.Errorf("%v, %v", e, err)
		}
	}
	if want := "POST /a/v1/v1/message:send POST /a/v1/message:send POST /a/v1/message:send"; a.called() != want {
		t.Errorf("called %s", a.called())
	}
}

// What errors over HTTP+JSON look like depends on who made the agent, and on the edition of the specification: the
// reason counts, then the code, then the status (A2A#2200, a2a-tck#231, a2a-java#730, a2a-java#765).
func TestCheck24RESTErrors(t *testing.T) {
	t.Parallel()
	info := func(code int, status, reason string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"status":%q,"message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"a2a-protocol.org"}]}}`, code, status, reason)
	}
	for name, x := range map[string]struct {
		version string
		code    int
		body    string
		kind    card.Kind
	}{
		"v1.0.0 cancel":      {"1.0", 409, info(409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"), card.KindTaskEnded},
		"v1.0.1 cancel":      {"1.0", 400, info(400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"), card.KindTaskEnded},
		"v1.0 not found":     {"1.0", 404, info(404, "NOT_FOUND", "TASK_NOT_FOUND"), card.KindTaskNotFound},
		"v1.0.0 unsupported": {"1.0", 501, info(501, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"), card.KindUnsupported},
		"v1.0.1 unsupported": {"1.0", 400, info(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"), card.KindUnsupported},
		"extension":          {"1.0", 400, info(400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"), card.KindExtension},
		"problem":            {"1.0", 404, `{"type":"https://a2a-protocol.org/errors/task-not-found","title":"Task Not Found","status":404,"detail":"no"}`, card.KindTaskNotFound},
		"Python 0.3":         {"0.3", 409, `{"message":"Task cannot be canceled"}`, card.KindTaskEnded},
		"Python 0.3 lost":    {"0.3", 404, `{"message":"Task not found"}`, card.KindTaskNotFound},
		"JavaScript 0.3":     {"0.3", 400, `{"code":-32002,"message":"Task not cancelable"}`, card.KindTaskEnded},
		"Java":               {"0.3", 409, `{"error":"io.a2a.spec.TaskNotCancelableError","message":"no"}`, card.KindTaskEnded},
		"Java 501":           {"0.3", 501, `{"error":"io.a2a.spec.UnsupportedOperationError","message":"no"}`, card.KindUnsupported},
		"Go compat":          {"0.3", 404, `{"code":5,"message":"task not found"}`, card.KindTaskNotFound},
		"405":                {"0.3", 405, `{"detail":"Method Not Allowed"}`, card.KindUnsupported},
		"405 says nothing":   {"1.0", 405, ``, card.KindUnsupported},
		"401":                {"1.0", 401, ``, card.KindUnauthenticated},
		"429":                {"1.0", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down"}}`, card.KindRateLimited},
		"503 of a proxy":     {"1.0", 503, `<html>busy</html>`, card.KindUnavailable},
		"500 of a proxy":     {"1.0", 500, `<html>oops</html>`, card.KindAgent},
		"500 of the agent":   {"1.0", 500, `{"error":{"code":500,"status":"INTERNAL","message":"oops"}}`, card.KindAgent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := "POST /tasks/T:cancel"
			if x.version == "0.3" {
				path = "POST /v1/tasks/T:cancel"
			}
			a := newREST(t, map[string]func(*turn){path: func(t *turn) { t.body(x.code, x.body) }})
			_, err := a.restClient(x.version, nil).Cancel(ctx(t), &a2a.CancelRequest{ID: "T"})
			if e := kindOf(t, err, x.kind); e.What == "" || e.Status != x.code {
				t.Errorf("%+v", e)
			}
		})
	}
}

// extendedCard is a card as those who signed in see it.
const extendedCard = `{"name":"More","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`
