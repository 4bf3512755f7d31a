package app_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

// manifold is an agent whose card names several interfaces. It knows no task and answers with what it was told.
type manifold struct {
	*httptest.Server
	mu         sync.Mutex
	interfaces string // of its card
	gone       bool   // it is not at its address
	said, read int
}

func newManifold(t *testing.T, interfaces func(own string) string) *manifold {
	t.Helper()
	m := &manifold{}
	m.Server = httptest.NewServer(m)
	m.interfaces = interfaces(m.URL)
	t.Cleanup(m.Close)
	return m
}

func (m *manifold) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Message struct{ Parts json.RawMessage }
		}
	}
	switch {
	case r.URL.Path == "/.well-known/agent-card.json":
		fmt.Fprintf(w, `{"name":"Manifold","description":"d","version":"1","supportedInterfaces":[%s],
			"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"s","tags":["t"]}]}`, m.interfaces)
	case m.gone || r.Method != http.MethodPost || r.URL.Path != "/rpc" || json.NewDecoder(r.Body).Decode(&q) != nil:
		w.WriteHeader(http.StatusNotFound)
	case q.Method == "SendMessage":
		m.said++
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"message":{"messageId":"r%d","role":"ROLE_AGENT","parts":%s}}}`, q.ID, m.said, q.Params.Message.Parts)
	default:
		m.read++
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no such task"}}`, q.ID)
	}
}

// asked returns how many messages and how many questions came.
func (m *manifold) asked() [2]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return [2]int{m.said, m.read}
}

func interfaces(list ...string) string {
	for i, s := range list {
		url, binding, _ := strings.Cut(s, " ")
		list[i] = fmt.Sprintf(`{"url":%q,"protocolBinding":%q,"protocolVersion":"1.0"}`, url, binding)
	}
	return strings.Join(list, ",")
}

// closedPort is an address at which nobody listens, nor can until the test ends: our end of a connection has it.
func closedPort(t *testing.T) string {
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

// passed are the notes about the interfaces that are not used.
func passed(a app.AgentInfo) (out []string) {
	for _, n := range a.Notes {
		if strings.HasPrefix(n, "It is called over") {
			out = append(out, n)
		}
	}
	return out
}

// Where nobody serves the interface that a card names first, the next is used. That is said, with the reason, and kept.
func TestNextInterfaceIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir, noDemo)
	dead := closedPort(t)
	m := newManifold(t, func(own string) string {
		return interfaces(dead+" GRPC", own+"/rest HTTP+JSON", own+"/rpc JSONRPC")
	})
	p.add(m.URL, "manifold")
	show := func() app.AgentInfo { return verb[app.AgentInfo](p, "agents.show", app.Named{ID: "manifold"}) }
	if a := show(); a.Speaks != "v1.0 over gRPC" {
		t.Fatalf("by its card: %+v", a)
	}
	if r := p.call("agents/manifold", envToken, "SendMessage", say("m1", "hello")); r.result(t, "message.parts.0.text") != "hello" {
		t.Fatalf("%s", r.body)
	}
	want := []string{
		"It is called over JSON-RPC at " + m.URL + "/rpc: the gRPC address that would come before it, " + dead + ", refuses connections.",
		"It is called over JSON-RPC at " + m.URL + "/rpc: at the HTTP+JSON address that would come before it, " + m.URL + "/rest, no messages are taken.",
	}
	kept := func(a app.AgentInfo) bool {
		return a.Speaks == "v1.0 over JSON-RPC" && a.URL == m.URL+"/rpc" && a.Known == "" && slices.Equal(passed(a), want)
	}
	eventually(t, "it is kept", func() bool { return kept(show()) })
	eventually(t, "it is well", func() bool {
		a, err := p.Agent(t.Context(), "manifold")
		return err == nil && !a.Health.Checked.IsZero() && a.Health.Fault == nil
	})
	p.stop()

	p = startIn(t, dir, noDemo)
	if a := show(); !kept(a) {
		t.Errorf("after a restart: %+v", a)
	}
	if r := p.call("agents/manifold", envToken, "SendMessage", say("m2", "again")); r.result(t, "message.parts.0.text") != "again" {
		t.Errorf("after a restart: %s", r.body)
	}
	if got := m.asked(); got != [2]int{2, 0} {
		t.Errorf("messages and questions that came: %v", got)
	}
	test := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "manifold"})
	if !test.OK() || step(t, test, "Address").Detail != want[0] || step(t, test, "Version").Detail != "It speaks v1.0 over JSON-RPC." {
		t.Errorf("a test: %+v", test)
	}
}

// A test of an agent finds its card's first choice again once somebody serves it. What a person chose is called and nothing
// else.
func TestFirstInterfaceComesBack(t *testing.T) {
	t.Parallel()
	p := start(t, noDemo)
	first := newManifold(t, func(string) string { return "" })
	first.gone = true
	m := newManifold(t, func(own string) string {
		return interfaces(first.URL+"/rpc JSONRPC", own+"/rpc JSONRPC")
	})
	p.add(m.URL, "manifold")
	test := func(at string) {
		t.Helper()
		got := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "manifold"})
		if !got.OK() {
			t.Errorf("%+v", got)
		}
		eventually(t, "it is called at "+at, func() bool {
			a := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "manifold"})
			return a.URL == at+"/rpc" && (len(passed(a)) > 0) == (at == m.URL) && a.Fault == nil
		})
	}
	test(m.URL)

	at := &a2a.AgentInterface{URL: first.URL + "/rpc", Binding: a2a.BindingJSONRPC, Version: "1.0"}
	if a := verb[app.AgentInfo](p, "agents.speak", app.SpeakAgent{ID: "manifold", At: at}); len(passed(a)) != 0 {
		t.Errorf("chosen: %+v", a)
	}
	before := m.asked()
	r := p.call("agents/manifold", envToken, "SendMessage", say("m1", "hello"))
	if strings.Contains(r.get("result.message"), "hello") || m.asked() != before {
		t.Errorf("another than the chosen one was called: %s", r.body)
	}
	if got := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "manifold"}); got.OK() || m.asked() != before {
		t.Errorf("another than the chosen one was tested: %+v", got)
	}
	verb[app.AgentInfo](p, "agents.speak", app.SpeakAgent{ID: "manifold"})
	test(m.URL)

	first.mu.Lock()
	first.gone = false
	first.mu.Unlock()
	test(first.URL)
	if r := p.call("agents/manifold", envToken, "SendMessage", say("m2", "hello")); r.result(t, "message.parts.0.text") != "hello" || first.asked()[0] != 1 {
		t.Errorf("%s, of which the first got %v", r.body, first.asked())
	}
}

// An address that nobody gave leave for is not called, be it the only one that is left.
func TestNextInterfaceNeedsLeave(t *testing.T) {
	t.Parallel()
	p := start(t, noDemo)
	other := newManifold(t, func(string) string { return "" })
	dead := closedPort(t)
	m := newManifold(t, func(string) string { return interfaces(dead+" GRPC", other.URL+"/rpc JSONRPC") })
	p.add(m.URL, "manifold")
	verb[struct{}](p, "agents.revoke", app.AgentOrigin{ID: "manifold", Origin: other.URL})
	got := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "manifold"})
	if f := step(t, got, "Answer").Fault; f == nil || f.Kind != "refused" || !strings.Contains(f.Raw, dead) || !strings.Contains(f.Raw, other.URL) {
		t.Errorf("%+v", got)
	}
	if r := p.call("agents/manifold", envToken, "SendMessage", say("m1", "hello")); strings.Contains(r.get("result.message"), "hello") {
		t.Errorf("%s", r.body)
	}
	if got := other.asked(); got != [2]int{} {
		t.Errorf("it was asked %v", got)
	}
}
