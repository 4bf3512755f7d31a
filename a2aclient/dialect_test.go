package a2aclient_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// What is tried first, and then, by the version that a card names. Nothing is executed twice.
func TestCheck04Detection(t *testing.T) {
	t.Parallel()
	const (
		n, m, o = "SendMessage", "message/send", "tasks/send"
	)
	answers := map[string]func(*turn){
		n: func(t *turn) { t.result(task("COMPLETED")) },
		m: func(t *turn) { t.result(`{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"}}`) },
		o: func(t *turn) { t.recorded(200, pythonTask) },
	}
	for _, x := range []struct {
		version, speaks, called string
		dialect                 wire.Dialect
		by                      a2aclient.Evidence
	}{
		{"1.0", n, n, wire.NEW, a2aclient.ByAnswer},
		{"1.0", m, n + " " + m, wire.MID, a2aclient.ByTrial}, // a2a-samples#601, mastra#24158
		{"1.0", o, n + " " + m + " " + o, wire.OLD, a2aclient.ByTrial},
		{"0.3", m, m, wire.MID, a2aclient.ByAnswer},
		{"0.3", n, m + " " + n, wire.NEW, a2aclient.ByTrial},           // agno#10387
		{"0.3", o, m + " " + n + " " + o, wire.OLD, a2aclient.ByTrial}, // mastra#4806
		{"0.2", m, m, wire.MID, a2aclient.ByAnswer},
		{"0.2", o, m + " " + o, wire.OLD, a2aclient.ByTrial},
		{"0.2", n, m + " " + o + " " + n, wire.NEW, a2aclient.ByTrial},
		{"0.1", m, m, wire.MID, a2aclient.ByTrial},
		{"0.1", o, m + " " + o, wire.OLD, a2aclient.ByAnswer},
		{"", m, m, wire.MID, a2aclient.ByTrial},
		{"", o, m + " " + o, wire.OLD, a2aclient.ByTrial},
	} {
		t.Run(fmt.Sprintf("%q speaks %s", x.version, x.speaks), func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, map[string]func(*turn){x.speaks: answers[x.speaks]})
			var learned []a2aclient.Verdict
			c := a.client(x.version, &a2aclient.Options{Learned: func(v a2aclient.Verdict) { learned = append(learned, v) }})
			if v := c.Speaks(); v.By != a2aclient.ByCard {
				t.Errorf("before anything was asked: %+v", v)
			}
			if _, err := c.Send(ctx(t), hello()); err != nil {
				t.Fatal(err)
			}
			if a.called() != x.called {
				t.Errorf("called %s, want %s", a.called(), x.called)
			}
			want := a2aclient.Verdict{Dialect: x.dialect, Binding: "JSONRPC", By: x.by}
			if v := c.Speaks(); v != want || len(learned) != 1 || learned[0] != want {
				t.Errorf("%+v, learned %+v, want %+v", v, learned, want)
			}
			// Given back, the verdict spares the next client the trials.
			again := a.client(x.version, &a2aclient.Options{Verdict: &learned[0], Learned: func(v a2aclient.Verdict) { t.Errorf("learned %+v again", v) }})
			if _, err := again.Send(ctx(t), hello()); err != nil || again.Speaks().By != a2aclient.ByRecord {
				t.Errorf("%v, %+v", err, again.Speaks())
			}
			if want := x.called + " " + x.speaks; a.called() != want {
				t.Errorf("called %s, want %s", a.called(), want)
			}
		})
	}
}

// A message that belongs to a task is never used for trying: the same codes then mean something else.
func TestProbeOnlyWithAFirstMessage(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Request payload validation error"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"method not allowed in this state"}}`,
	} {
		a := newAgent(t, map[string]func(*turn){"message/send": func(t *turn) { t.body(400, body) }, "tasks/send": func(t *turn) { t.recorded(200, pythonTask) }})
		c := a.client("0.3", nil)
		r := hello()
		r.Message.TaskID = "T"
		if _, err := c.Send(ctx(t), r); err == nil || a.called() != "message/send" {
			t.Errorf("%v after %s", err, a.called())
		}
	}
}

// What v0.1 and v0.3 call by the same name says nothing of which it is.
func TestSharedNamesProveNothing(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"tasks/get":  func(t *turn) { t.result(`{"id":"T","sessionId":"S","status":{"state":"working"}}`) },
		"tasks/send": func(t *turn) { t.recorded(200, pythonTask) },
	})
	c := a.client("0.2", nil)
	if x, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"}); err != nil || x.Status.State != a2a.TaskStateWorking {
		t.Fatalf("%v, %v", x, err)
	}
	if v := c.Speaks(); v.By != a2aclient.ByCard {
		t.Errorf("%+v", v)
	}
	if _, err := c.Send(ctx(t), hello()); err != nil || c.Speaks().Dialect != wire.OLD {
		t.Errorf("%v, %+v", err, c.Speaks())
	}
}

// An agent that was replaced by one of another version is found out by the method that every agent has.
func TestVerdictIsForgotten(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) { t.result(task("COMPLETED")) }})
	var learned []a2aclient.Verdict
	c := a.client("0.3", &a2aclient.Options{
		Verdict: &a2aclient.Verdict{Dialect: wire.MID, Binding: "JSONRPC", By: a2aclient.ByAnswer},
		Learned: func(v a2aclient.Verdict) { learned = append(learned, v) },
	})
	for range 2 {
		if _, err := c.Send(ctx(t), hello()); err != nil {
			t.Fatal(err)
		}
	}
	if a.called() != "message/send SendMessage SendMessage" || len(learned) != 1 || learned[0].Dialect != wire.NEW {
		t.Errorf("called %s, learned %+v", a.called(), learned)
	}
	// Over HTTP+JSON it is the address.
	r := newREST(t, map[string]func(*turn){"POST /v1/message:send": func(t *turn) { t.body(200, protoTask) }})
	c = r.at(a2a.AgentInterface{URL: r.URL, Binding: "HTTP+JSON", Version: "1.0"}, &a2aclient.Options{
		Verdict: &a2aclient.Verdict{Dialect: wire.NEW, Binding: "HTTP+JSON", By: a2aclient.ByAnswer},
	})
	for range 2 {
		if _, err := c.Send(ctx(t), hello()); err != nil {
			t.Fatal(err)
		}
	}
	if r.called() != "POST /message:send POST /v1/message:send POST /v1/message:send" || c.Speaks().Dialect != wire.PROTO {
		t.Errorf("called %s, %+v", r.called(), c.Speaks())
	}
	// Another operation that the agent lacks is no such sign.
	b := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) { t.result(task("COMPLETED")) }})
	c = b.client("1.0", nil)
	if _, err := c.Send(ctx(t), hello()); err != nil {
		t.Fatal(err)
	}
	_, err := c.List(ctx(t), &a2a.ListRequest{})
	kindOf(t, err, card.KindUnsupported)
	if b.called() != "SendMessage ListTasks" {
		t.Errorf("called %s", b.called())
	}
}

// What a person says is not tried out.
func TestOverride(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"message/send": func(t *turn) { t.fail(-32601, "Method not found") }})
	c := a.client("1.0", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.MID)}})
	_, err := c.Send(ctx(t), hello())
	if kindOf(t, err, card.KindUnsupported); a.called() != "message/send" {
		t.Errorf("called %s", a.called())
	}
	rest := newREST(t, map[string]func(*turn){"POST /r/v1/message:send": func(t *turn) { t.body(200, protoTask) }})
	c = a.client("1.0", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.MID), Binding: "HTTP+JSON", URL: rest.URL + "/r"}})
	if e, err := c.Send(ctx(t), hello()); err != nil || short(e) != "task:completed a=4" {
		t.Errorf("%v, %v", e, err)
	}
	if v := c.Speaks(); v.By != a2aclient.ByPerson || v.String() != "speaks v0.3 over REST" {
		t.Errorf("%+v", v)
	}
	// v0.1 has one binding.
	_, err = a2aclient.New(nil, a2a.AgentInterface{URL: a.URL, Version: "1.0"}, quick(&a2aclient.Options{
		Override: &a2aclient.Override{Dialect: dialect(wire.OLD), Binding: "HTTP+JSON"},
	}))
	kindOf(t, err, card.KindVersion)
}

func TestVerdictText(t *testing.T) {
	t.Parallel()
	for _, d := range []wire.Dialect{wire.NEW, wire.MID, wire.OLD, wire.PROTO} {
		v := a2aclient.Verdict{Dialect: d, Binding: "JSONRPC", By: a2aclient.ByTrial}
		if d == wire.PROTO {
			v.Binding = "HTTP+JSON"
		}
		b, err := v.MarshalText()
		var back a2aclient.Verdict
		if err != nil || back.UnmarshalText(b) != nil || back != v {
			t.Errorf("%+v became %s and %+v", v, b, back)
		}
	}
	for _, s := range []string{"", "v1.0", "v9.9 JSONRPC card", "v0.1 HTTP+JSON card", "a b c d"} {
		if new(a2aclient.Verdict).UnmarshalText([]byte(s)) == nil {
			t.Errorf("%q was read", s)
		}
	}
	// One that is not for the interface does not count.
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) { t.result(task("COMPLETED")) }})
	c := a.client("1.0", &a2aclient.Options{Verdict: &a2aclient.Verdict{Dialect: wire.PROTO, Binding: "HTTP+JSON", By: a2aclient.ByAnswer}})
	if v := c.Speaks(); v.By != a2aclient.ByCard || v.Dialect != wire.NEW {
		t.Errorf("%+v", v)
	}
}

// Towards an agent that is not known yet extensions are named in both ways, afterwards in its own; what it activated is told.
func TestExtensionHeaders(t *testing.T) {
	t.Parallel()
	uri := "https://ext.example/known"
	ac := streaming()
	ac.Capabilities.Extensions = []a2a.AgentExtension{{URI: uri}}
	for version, x := range map[string]struct{ method, own, other, answer string }{
		"1.0": {"SendMessage", "A2A-Extensions", "X-A2A-Extensions", task("COMPLETED")},
		"0.3": {"message/send", "X-A2A-Extensions", "A2A-Extensions", `{"kind":"message","messageId":"r","role":"agent","parts":[{"kind":"text","text":"hi"}]}`},
	} {
		a := newAgent(t, map[string]func(*turn){x.method: func(t *turn) {
			if t.asked(x.own) != uri || (t.asked(x.other) == uri) != (t.N == 0) {
				t.t.Errorf("call %d: %q, %q", t.N, t.asked(x.own), t.asked(x.other))
			}
			if t.N == 0 {
				t.Header().Set(x.own, uri+" , https://ext.example/unasked")
			}
			t.result(x.answer)
		}})
		c := a.clientOf(ac, version, &a2aclient.Options{Extensions: []string{uri}})
		for n := range 2 {
			if _, err := c.Send(ctx(t), hello()); err != nil {
				t.Fatal(err)
			}
			if got, want := strings.Join(c.Activated(), " "), []string{uri, ""}[n]; got != want {
				t.Errorf("activated %q, want %q", got, want)
			}
		}
	}
}
