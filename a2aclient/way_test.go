package a2aclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// bothHTTP speaks HTTP/2 for gRPC and HTTP/1 for everything else, and knows no host but those of this machine.
func bothHTTP(t *testing.T) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(address); host != "127.0.0.1" {
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	one := &http.Transport{DialContext: dial}
	two := &http.Transport{DialContext: dial, Protocols: new(http.Protocols)}
	two.Protocols.SetHTTP2(true)
	two.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(one.CloseIdleConnections)
	t.Cleanup(two.CloseIdleConnections)
	return &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Content-Type") == "application/grpc" {
			return two.RoundTrip(r)
		}
		return one.RoundTrip(r)
	})}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// closed is an address of this machine at which nobody listens, nor can until the test ends: our end of a connection has it.
func closed(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().String()
}

// answering is the address of a server that answers everything with a status and a body.
func answering(t *testing.T, code int, body string, asked func()) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked != nil {
			asked()
		}
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// both is a sound agent over JSON-RPC that both streams and does not.
func both(t *testing.T) *agent {
	return newAgent(t, map[string]func(*turn){
		"SendMessage":          func(t *turn) { t.result(task("COMPLETED")) },
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("COMPLETED")) },
		"GetTask":              func(t *turn) { t.fail(-32001, "no such task") },
	})
}

func jsonrpc(url string) a2a.AgentInterface {
	return a2a.AgentInterface{URL: url, Binding: "JSONRPC", Version: "1.0"}
}

// along returns a client that uses the first of the interfaces and may use the others.
func along(t *testing.T, o *a2aclient.Options, is ...a2a.AgentInterface) *a2aclient.Client {
	t.Helper()
	o = quick(o)
	o.HTTP, o.Interfaces = bothHTTP(t), is
	c, err := a2aclient.New(streaming(), is[0], o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Where it is certain that nobody serves an interface, the card's next is used: for the same message, which arrives once,
// and for all that follow.
func TestNextInterface(t *testing.T) {
	t.Parallel()
	type ways map[string]func(t *testing.T) a2a.AgentInterface
	unconnected := ways{
		"refused over JSON-RPC": func(t *testing.T) a2a.AgentInterface { return jsonrpc("http://" + closed(t)) },
		"refused over gRPC": func(t *testing.T) a2a.AgentInterface {
			return a2a.AgentInterface{URL: closed(t), Binding: "GRPC", Version: "1.0"}
		},
		"refused over HTTP+JSON": func(t *testing.T) a2a.AgentInterface {
			return a2a.AgentInterface{URL: "http://" + closed(t), Binding: "HTTP+JSON", Version: "0.3"}
		},
		"no such host": func(*testing.T) a2a.AgentInterface { return jsonrpc("http://nowhere.example") },
		"no TLS": func(t *testing.T) a2a.AgentInterface {
			return jsonrpc(strings.Replace(answering(t, 200, "", nil), "http:", "https:", 1))
		},
		"a certificate nobody trusts": func(t *testing.T) a2a.AgentInterface {
			s := httptest.NewTLSServer(http.NotFoundHandler())
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			t.Cleanup(s.Close)
			return jsonrpc(s.URL)
		},
	}
	answered := ways{
		"404 over JSON-RPC": func(t *testing.T) a2a.AgentInterface { return jsonrpc(answering(t, 404, "not found", nil)) },
		"405 over JSON-RPC": func(t *testing.T) a2a.AgentInterface { return jsonrpc(answering(t, 405, "", nil)) },
		"501 over JSON-RPC": func(t *testing.T) a2a.AgentInterface { return jsonrpc(answering(t, 501, "<html>", nil)) },
		"404 over HTTP+JSON": func(t *testing.T) a2a.AgentInterface {
			return a2a.AgentInterface{URL: answering(t, 404, `{"detail":"Not Found"}`, nil), Binding: "HTTP+JSON", Version: "1.0"}
		},
		"501 over HTTP+JSON": func(t *testing.T) a2a.AgentInterface {
			return a2a.AgentInterface{URL: answering(t, 501, "", nil), Binding: "HTTP+JSON", Version: "1.0"}
		},
		"404 over gRPC": func(t *testing.T) a2a.AgentInterface {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			t.Cleanup(s.Close)
			return a2a.AgentInterface{URL: s.URL, Binding: "GRPC", Version: "1.0"}
		},
		"a gRPC server without the service": func(t *testing.T) a2a.AgentInterface {
			return a2a.AgentInterface{URL: serveRPC(t), Binding: "GRPC", Version: "1.0"}
		},
		"no method of A2A": func(t *testing.T) a2a.AgentInterface { return jsonrpc(newAgent(t, nil).URL) },
		"sending is not supported": func(t *testing.T) a2a.AgentInterface {
			return jsonrpc(answering(t, 200, `{"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"not here"}}`, nil))
		},
	}
	first := maps.Clone(unconnected)
	maps.Copy(first, answered)
	for what, first := range first {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
				good := both(t)
				from, to := first(t), jsonrpc(good.URL)
				var learned []a2aclient.Verdict
				c := along(t, &a2aclient.Options{Learned: func(v a2aclient.Verdict) { learned = append(learned, v) }}, from, to)
				send := func() {
					t.Helper()
					if method == "SendMessage" {
						if _, err := c.Send(ctx(t), hello()); err != nil {
							t.Fatal(err)
						}
						return
					}
					collect(t, c.Stream(ctx(t), hello())).want(t, "task:completed")
				}
				send()
				once := method
				if method == "SendStreamingMessage" && answered[what] != nil {
					once = "SendMessage" // that an agent does not stream is found out first, and then that it is not there
				}
				if good.called() != once {
					t.Errorf("the next interface was asked for %q", good.called())
				}
				if left := c.Left(); c.Interface() != to || len(left) != 1 || left[0].Interface != from || left[0].Err == nil {
					t.Errorf("at %+v, left %+v", c.Interface(), left)
				}
				if want := (a2aclient.Verdict{Dialect: 0, Binding: "JSONRPC", By: a2aclient.ByAnswer}); len(learned) == 0 || learned[len(learned)-1] != want {
					t.Errorf("learned %+v", learned)
				}
				n := len(learned)
				send()
				if want := once + " " + method; good.called() != want || len(learned) != n {
					t.Errorf("the next time: %q, learned %+v", good.called(), learned)
				}
			}
		})
	}
}

// What may have been taken, and what an agent itself turns down, is sent nowhere else.
func TestNoOtherInterface(t *testing.T) {
	t.Parallel()
	answer := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"1","error":{"code":%d,"message":"no"}}`, code)
	}
	for what, x := range map[string]struct {
		code int
		body string
	}{
		"500": {500, ""}, "502": {502, ""}, "503": {503, ""}, "504": {504, ""}, "400": {400, "no"}, "401": {401, ""}, "403": {403, ""},
		"413": {413, ""}, "429": {429, ""}, "a web page": {200, "<html>"}, "nothing": {200, ""},
		"-32603": {200, answer(-32603)}, "-32602": {200, answer(-32602)}, "-32005": {200, answer(-32005)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			good := both(t)
			c := along(t, nil, jsonrpc(answering(t, x.code, x.body, nil)), jsonrpc(good.URL))
			if _, err := c.Send(ctx(t), hello()); err == nil {
				t.Error("sent")
			}
			if told := collect(t, c.Stream(ctx(t), hello())); told.err == nil {
				t.Error("streamed")
			}
			if good.called() != "" || len(c.Left()) != 0 {
				t.Errorf("the next interface was asked for %s, left %+v", good.called(), c.Left())
			}
		})
	}
	t.Run("a connection that breaks", func(t *testing.T) {
		t.Parallel()
		good := both(t)
		broken := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) { t.cut() }, "SendStreamingMessage": func(t *turn) { t.cut() }})
		for _, dead := range []bool{false, true} { // also as the second of three
			is := []a2a.AgentInterface{jsonrpc(broken.URL), jsonrpc(good.URL)}
			if dead {
				is = append([]a2a.AgentInterface{jsonrpc("http://" + closed(t))}, is...)
			}
			_, err := along(t, nil, is...).Send(ctx(t), hello())
			if e := fault(t, err); !e.MayHaveRun {
				t.Errorf("%+v", e)
			}
			told := collect(t, along(t, nil, is...).Stream(ctx(t), hello()))
			if e := fault(t, told.err); !e.MayHaveRun {
				t.Errorf("%+v", e)
			}
		}
		if good.called() != "" {
			t.Errorf("the next interface was asked for %s", good.called())
		}
	})
}

func fault(t *testing.T, err error) *a2aclient.Error {
	t.Helper()
	var e *a2aclient.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	return e
}

// When nobody serves any interface, the first one's failure is told, and where it was tried.
func TestNoInterfaceIsServed(t *testing.T) {
	t.Parallel()
	first, second := "http://"+closed(t), answering(t, 404, "", nil)
	c := along(t, &a2aclient.Options{Learned: func(v a2aclient.Verdict) { t.Errorf("learned %+v", v) }}, jsonrpc(first), jsonrpc(second+"/rpc?key=secret"))
	_, err := c.Send(ctx(t), hello())
	e := fault(t, err)
	want := []card.Try{{URL: first, Result: "connection refused"}, {URL: second + "/rpc", Status: 404, Result: "not found"}}
	if e.Kind != card.KindRefused || e.MayHaveRun || fmt.Sprint(e.Tried) != fmt.Sprint(want) {
		t.Errorf("%+v", e)
	}
	if c.Interface() != jsonrpc(first) {
		t.Errorf("it uses %+v", c.Interface())
	}
}

// One that wants a sign-in of its own is no place to stay at: it is passed, and told of when there is no other.
func TestNextInterfaceWantsASignIn(t *testing.T) {
	t.Parallel()
	dead, good := jsonrpc("http://"+closed(t)), both(t)
	for _, code := range []int{401, 403} {
		wants := jsonrpc(answering(t, code, "", nil))
		c := along(t, nil, dead, wants)
		_, err := c.Send(ctx(t), hello())
		if e := fault(t, err); e.Kind != card.KindRefused || len(e.Tried) != 2 || e.Tried[1].Status != code || c.Interface() != dead {
			t.Errorf("%+v, it uses %+v", e, c.Interface())
		}
		c = along(t, nil, dead, wants, jsonrpc(good.URL))
		if _, err := c.Send(ctx(t), hello()); err != nil || c.Interface() != jsonrpc(good.URL) {
			t.Errorf("%v, it uses %+v", err, c.Interface())
		}
	}
}

// Of a card's interfaces so many are tried and no more.
func TestInterfacesAreCounted(t *testing.T) {
	t.Parallel()
	const most = 8
	for _, n := range []int{most - 1, most, most + 1} {
		var is []a2a.AgentInterface
		for range n - 1 {
			is = append(is, jsonrpc("http://"+closed(t)))
		}
		good := both(t)
		_, err := along(t, nil, append(is, jsonrpc(good.URL))...).Send(ctx(t), hello())
		if ok := n <= most; (err == nil) != ok || (good.called() != "") != ok {
			t.Errorf("%d interfaces: %v, called %q", n, err, good.called())
		}
	}
	// The one in use is always among them.
	var is []a2a.AgentInterface
	for range most {
		is = append(is, jsonrpc("http://"+closed(t)))
	}
	if _, err := along(t, nil, append(is, is[0])...).Send(ctx(t), hello()); len(fault(t, err).Tried) != most {
		t.Errorf("tried: %v", fault(t, err).Tried)
	}
	good := both(t)
	o := quick(&a2aclient.Options{Interfaces: append(is, jsonrpc(good.URL))})
	c, err := a2aclient.New(streaming(), jsonrpc(good.URL), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(ctx(t), hello()); err != nil || good.called() != "SendMessage" {
		t.Errorf("%v, called %q", err, good.called())
	}
}

// A person's word is the last: nothing else is tried.
func TestOverrideHasNoOtherInterface(t *testing.T) {
	t.Parallel()
	good := both(t)
	c := along(t, &a2aclient.Options{Override: &a2aclient.Override{}}, jsonrpc("http://"+closed(t)), jsonrpc(good.URL))
	if _, err := c.Send(ctx(t), hello()); fault(t, err).Kind != card.KindRefused || good.called() != "" {
		t.Errorf("%v, called %q", err, good.called())
	}
	if err := c.Probe(ctx(t)); fault(t, err).Kind != card.KindRefused || good.called() != "" {
		t.Errorf("%v, called %q", err, good.called())
	}
}

// What was to go over an encrypted connection is not sent in the open because somebody breaks that.
func TestNoInterfaceInTheOpen(t *testing.T) {
	t.Parallel()
	good := both(t)
	to := func(ctx context.Context, network, address string) (net.Conn, error) {
		switch host, _, _ := net.SplitHostPort(address); host {
		case "open.example", "127.0.0.1":
			return (&net.Dialer{}).DialContext(ctx, network, good.Listener.Addr().String())
		}
		return (&net.Dialer{}).DialContext(ctx, network, closed(t))
	}
	way := &http.Transport{DialContext: to}
	t.Cleanup(way.CloseIdleConnections)
	for _, x := range []struct {
		first, next string
		sent        bool
	}{
		{"https://agent.example", "http://open.example", false},
		{"https://agent.example", good.URL, true}, // which does not leave this machine
		{"http://agent.example", "http://open.example", true},
	} {
		before := good.called()
		o := quick(&a2aclient.Options{HTTP: &http.Client{Transport: way}, Interfaces: []a2a.AgentInterface{jsonrpc(x.first), jsonrpc(x.next)}})
		c, err := a2aclient.New(streaming(), jsonrpc(x.first), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Send(ctx(t), hello()); (err == nil) != x.sent || (good.called() != before) != x.sent {
			t.Errorf("after %s at %s: %v", x.first, x.next, err)
		}
	}
}

// Each interface has a tenant of its own.
func TestTenantOfTheNextInterface(t *testing.T) {
	t.Parallel()
	good := newAgent(t, map[string]func(*turn){
		"SendMessage": func(t *turn) { t.says(`"tenant":"second"`); t.result(task("COMPLETED")) },
		"ListTasks":   func(t *turn) { t.says(`"tenant":"mine"`); t.result(`{"tasks":[],"totalSize":0}`) },
	})
	first, second := jsonrpc("http://"+closed(t)), jsonrpc(good.URL)
	first.Tenant, second.Tenant = "first", "second"
	c := along(t, nil, first, second)
	if _, err := c.Send(ctx(t), hello()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(ctx(t), &a2a.ListRequest{Tenant: "mine"}); err != nil {
		t.Fatal(err)
	}
}

// Whoever follows a task of an agent that was spoken with is patient; a new message goes where somebody answers. A task
// that the next interface does not know may be known to the one that is refused.
func TestTasksStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	known := newAgent(t, map[string]func(*turn){"GetTask": func(t *turn) { t.result(bare("WORKING")) }})
	unknown := both(t)
	get := func(c *a2aclient.Client) error {
		_, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"})
		return err
	}
	dead := jsonrpc("http://" + closed(t))
	if c := along(t, nil, dead, jsonrpc(unknown.URL)); fault(t, get(c)).Kind != card.KindRefused || c.Interface() != dead {
		t.Errorf("a task that the next does not know: %+v", c.Interface())
	}
	more := hello()
	more.Message.TaskID = "T"
	unknown.methods["SendMessage"] = func(t *turn) { t.fail(-32001, "no such task") }
	if _, err := along(t, nil, dead, jsonrpc(unknown.URL)).Send(ctx(t), more); fault(t, err).Kind != card.KindRefused {
		t.Errorf("more for such a task: %v", err)
	}
	if c := along(t, nil, dead, jsonrpc(known.URL)); get(c) != nil || c.Interface() != jsonrpc(known.URL) {
		t.Errorf("a task that it knows: %+v", c.Interface())
	}

	for _, code := range []int{401, 403, 404, 405, 500} { // nor does this say anything of it
		c := along(t, nil, dead, jsonrpc(answering(t, code, "", nil)))
		if fault(t, get(c)).Kind != card.KindRefused || c.Interface() != dead {
			t.Errorf("a task, where the next answers %d: %+v", code, c.Interface())
		}
	}

	first, second := both(t), both(t)
	c := along(t, nil, jsonrpc(first.URL), jsonrpc(second.URL))
	if _, err := c.Send(ctx(t), hello()); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if e := fault(t, get(c)); e.Kind != card.KindRefused || second.called() != "" {
		t.Errorf("of an agent that was spoken with: %v, the next was asked for %s", e, second.called())
	}
	if _, err := c.Send(ctx(t), hello()); err != nil || second.called() != "SendMessage" {
		t.Errorf("a new message: %v, the next was asked for %q", err, second.called())
	}
}

// A probe goes from the card's first choice to the last, whichever is in use, and costs no more than a question.
func TestProbe(t *testing.T) {
	t.Parallel()
	good, first := both(t), both(t)
	var back atomic.Bool
	way := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		switch {
		case address == good.Listener.Addr().String():
			return (&net.Dialer{}).DialContext(ctx, network, address)
		case back.Load():
			return (&net.Dialer{}).DialContext(ctx, network, first.Listener.Addr().String())
		}
		return (&net.Dialer{}).DialContext(ctx, network, closed(t))
	}}
	t.Cleanup(way.CloseIdleConnections)
	var learned int
	is := []a2a.AgentInterface{jsonrpc("http://first.example"), jsonrpc(good.URL)}
	c, err := a2aclient.New(streaming(), is[0], quick(&a2aclient.Options{
		HTTP: &http.Client{Transport: way}, Interfaces: is, Learned: func(a2aclient.Verdict) { learned++ },
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Probe(ctx(t)); fault(t, err).Kind != card.KindTaskNotFound || c.Interface() != is[1] || len(c.Left()) != 1 {
		t.Errorf("the first is refused: %v at %+v", err, c.Interface())
	}
	back.Store(true)
	if err := c.Probe(ctx(t)); fault(t, err).Kind != card.KindTaskNotFound || c.Interface() != is[0] || len(c.Left()) != 0 {
		t.Errorf("the first is back: %v at %+v", err, c.Interface())
	}
	if good.called() != "GetTask" || first.called() != "GetTask" || learned < 2 {
		t.Errorf("the first was asked for %s, the next for %s; learned %d times", first.called(), good.called(), learned)
	}
	// Where a task has an address of its own, that there is nothing says nothing of the interface.
	rest := a2a.AgentInterface{URL: answering(t, 404, "", nil), Binding: "HTTP+JSON", Version: "1.0"}
	if c := along(t, nil, rest, jsonrpc(good.URL)); fault(t, c.Probe(ctx(t))).Status != 404 || c.Interface() != rest {
		t.Errorf("404 over HTTP+JSON: at %+v", c.Interface())
	}
	if c := along(t, nil, jsonrpc(answering(t, 404, "", nil)), jsonrpc(good.URL)); fault(t, c.Probe(ctx(t))).Kind != card.KindTaskNotFound {
		t.Errorf("404 over JSON-RPC: at %+v", c.Interface())
	}
	if c := along(t, nil, jsonrpc(answering(t, 401, "", nil)), jsonrpc(good.URL)); fault(t, c.Probe(ctx(t))).Kind != card.KindUnauthenticated || c.Interface().URL == good.URL {
		t.Errorf("401: at %+v", c.Interface())
	}
}
