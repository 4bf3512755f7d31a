package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/app"
	"parley/orchestrator"
)

// mover is an agent whose card and manners can be changed. It knows no task.
type mover struct {
	*httptest.Server
	mu      sync.Mutex
	skill   string
	version string
	rpc     string // where its card says that it is; "" = itself
	token   string // wanted from callers; "" = none
	calls   int
}

func newMover(t *testing.T) *mover {
	t.Helper()
	m := &mover{skill: "search", version: "1"}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *mover) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *mover) called() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func (m *mover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/.well-known/agent-card.json":
		at := m.rpc
		if at == "" {
			at = m.URL + "/rpc"
		}
		fmt.Fprintf(w, `{"name":"Mover","description":"d","version":%q,"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
			"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":%q,"name":"S","description":"s","tags":["t"]}]}`, m.version, at, m.skill)
	case r.Method == http.MethodPost && r.URL.Path == "/rpc":
		m.calls++
		if m.token != "" && r.Header.Get("Authorization") != "Bearer "+m.token {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var q struct{ ID json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&q)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no such task"}}`, q.ID)
	default:
		http.NotFound(w, r)
	}
}

// step returns what a test found of one thing.
func step(t *testing.T, test *orchestrator.AgentTest, name string) orchestrator.TestStep {
	t.Helper()
	i := slices.IndexFunc(test.Steps, func(s orchestrator.TestStep) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("nothing of %s in %+v", name, test.Steps)
	}
	return test.Steps[i]
}

// A test of a demo agent says with what it was let in.
func TestKeeperTestsDemo(t *testing.T) {
	t.Parallel()
	got := verb[*orchestrator.AgentTest](start(t), "agents.test", app.Named{ID: "echo"})
	if s := step(t, got, "Sign-in"); !got.OK() || s.Left || s.Fault != nil || !strings.Contains(s.Detail, "token") {
		t.Errorf("%+v", got)
	}
}

// TestKeeperTest: a test says what works, costs one harmless call, and is kept as the agent's health.
func TestKeeperTest(t *testing.T) {
	t.Parallel()
	p, m := start(t, noDemo), newMover(t)
	p.add(m.URL, "mover")
	test := func() *orchestrator.AgentTest {
		return verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "mover"})
	}
	got := test()
	if !got.OK() || got.Latency <= 0 || step(t, got, "Card").Detail != "It is the one you approved." ||
		!strings.Contains(step(t, got, "Answer").Detail, "no such task") || !step(t, got, "Sign-in").Left || step(t, got, "Version").Detail != "It speaks v1.0 over JSON-RPC." {
		t.Errorf("a sound agent: %+v", got)
	}
	if n := m.called(); n != 1 {
		t.Errorf("it was called %d times", n)
	}
	eventually(t, "its latency", func() bool {
		a, err := p.Agent(t.Context(), "mover")
		return err == nil && a.Health.Latency > 0 && a.Health.Fault == nil
	})
	m.set(func() { m.token = "sesame" })
	got = test()
	if s := step(t, got, "Sign-in"); got.OK() || s.Fault == nil || s.Fault.Where != orchestrator.WhereSignIn {
		t.Errorf("one that wants a token: %+v", got)
	}
	verb[app.KeptCredential](p, "agents.credential", app.KeepCredential{ID: "mover", Credential: app.Credential{Kind: "bearer", Secret: "sesame"}})
	if got = test(); !got.OK() || step(t, got, "Sign-in").Detail != "It takes the credential that is kept for it." {
		t.Errorf("with its token: %+v", got)
	}
	kept := verb[[]orchestrator.CredentialInfo](p, "agents.credentials", app.Named{ID: "mover"})
	if len(kept) != 1 || kept[0].Kind != "bearer" || kept[0].Origin != m.URL {
		t.Fatalf("kept: %+v", kept)
	}
	verb[struct{}](p, "agents.forget-credential", app.AgentCredential{ID: "mover", CredentialInfo: kept[0]})
	if got = test(); got.OK() {
		t.Error("the credential is still used")
	}
	m.Close()
	got = test()
	if s := step(t, got, "Card"); s.Fault == nil || s.Fault.Where != orchestrator.WhereNetwork {
		t.Errorf("one that is gone: %+v", got)
	}
}

// TestKeeperDrift follows a card that changes: harmlessly, gravely, and back; and an agent that is blocked.
func TestKeeperDrift(t *testing.T) {
	t.Parallel()
	p, m := start(t, noDemo), newMover(t)
	p.add(m.URL, "mover")
	review := func() *app.AgentReview { return verb[*app.AgentReview](p, "agents.review", app.Named{ID: "mover"}) }
	trust := func(want orchestrator.Trust) {
		t.Helper()
		a, err := p.Agent(t.Context(), "mover")
		if err != nil || a.Trust != want {
			t.Fatalf("trust %v (%v), want %s", a.Trust, err, want)
		}
	}
	if r := review(); r != nil {
		t.Fatalf("nothing changed: %+v", r)
	}
	m.set(func() { m.version = "2" })
	if r := review(); r == nil || r.Grave || len(r.Hunks) != 1 || r.Hunks[0].Title != "Version" {
		t.Fatalf("a new version: %+v", r)
	}
	trust(orchestrator.TrustApproved)
	m.set(func() { m.skill = "mail" })
	r := review()
	if r == nil || !r.Grave || r.Hunks[0].Title != "Skills" {
		t.Fatalf("a new skill: %+v", r)
	}
	trust(orchestrator.TrustReview)
	before := m.called()
	if got := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "mover"}); !step(t, got, "Answer").Left || m.called() != before {
		t.Errorf("it was called before anybody looked: %+v", got)
	}
	m.set(func() { m.skill = "search" })
	if r := review(); r.Grave {
		t.Errorf("back as it was, but for the version: %+v", r)
	}
	trust(orchestrator.TrustApproved)
	other := newMover(t)
	m.set(func() { m.rpc = other.URL + "/rpc" })
	r = review()
	if r == nil || !slices.Contains(r.Origins, other.URL) {
		t.Fatalf("another address: %+v", r)
	}
	trust(orchestrator.TrustReview)
	if err := p.ctl.Call(t.Context(), "agents.take", app.TakeCard{ID: "mover", Hash: "another"}, nil); err == nil || !strings.Contains(err.Error(), "another again") {
		t.Errorf("a card that nobody saw: %v", err)
	}
	verb[struct{}](p, "agents.take", app.TakeCard{ID: "mover", Hash: r.Hash})
	trust(orchestrator.TrustApproved)
	if got := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "mover"}); !got.OK() || other.called() != 1 {
		t.Errorf("at its new address: %+v", got)
	}
	verb[struct{}](p, "agents.block", app.BlockAgent{ID: "mover", On: true})
	trust(orchestrator.TrustBlocked)
	if err := p.ctl.Call(t.Context(), "agents.test", app.Named{ID: "mover"}, nil); err == nil || !strings.Contains(err.Error(), "blocked") || other.called() != 1 {
		t.Errorf("a blocked agent was called: %v", err)
	}
	verb[struct{}](p, "agents.block", app.BlockAgent{ID: "mover"})
	trust(orchestrator.TrustApproved)
	verb[struct{}](p, "agents.revoke", app.AgentOrigin{ID: "mover", Origin: other.URL})
	if got := verb[*orchestrator.AgentTest](p, "agents.test", app.Named{ID: "mover"}); step(t, got, "Answer").Fault == nil || other.called() != 1 {
		t.Errorf("a revoked origin was reached: %+v", got)
	}
	report := verb[[]orchestrator.Finding](p, "agents.report", app.Named{ID: "mover"})
	if !slices.ContainsFunc(report, func(f orchestrator.Finding) bool {
		return f.Path == "$.supportedInterfaces[0].url" && f.Level == orchestrator.FindingNote
	}) {
		t.Errorf("report: %+v", report)
	}
}
