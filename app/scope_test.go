package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/app"
)

// Our own agent takes a message to an agent that it names only where the caller's token reaches that agent; what it does
// not reach, is not approved or does not exist cannot be told apart.
func TestOwnAgentNames(t *testing.T) {
	t.Parallel()
	p := start(t)
	own, named := p.token(app.TokenInfo{Name: "own"}), p.token(app.TokenInfo{Name: "named", Agents: []string{"echo"}})
	verb[struct{}](p, "agents.remove", app.Named{ID: "files"})
	to := func(token, agent string) *reply {
		return p.call("", token, "SendMessage", say("m-"+agent, "hi", `,"metadata":{"urn:parley:agent":"`+agent+`"}`))
	}
	if r := to(named, "echo"); r.get("error") != "" {
		t.Errorf("an agent that the token names: %s", r.body)
	}
	none := string(to(own, "nobody").body)
	for _, agent := range []string{"echo", "bench", "files"} {
		if r := to(own, agent); r.get("error.code") != "-32602" || strings.ReplaceAll(string(r.body), agent, "nobody") != none {
			t.Errorf("%s: %s, an unknown one: %s", agent, r.body, none)
		}
	}
	if r := to(named, "bench"); r.get("error.code") != "-32602" {
		t.Errorf("an agent that the token does not name: %s", r.body)
	}
	if r := to(envToken, "bench"); r.get("error") != "" {
		t.Errorf("the token of the environment: %s", r.body)
	}
}

// What a caller began goes on after a restart with the credentials that its token may use, before the caller comes back.
func TestCredentialsAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	locked := func(c *app.Config) { c.Passphrase = "so that credentials outlive the process" }
	p := startIn(t, dir, locked)
	outside := newPeer(t)
	outside.wants("the-secret-of-the-agent")
	p.connect(outside, "outside", &app.Credential{Kind: "bearer", Secret: "the-secret-of-the-agent"})
	token := p.token(app.TokenInfo{Name: "with", Agents: []string{"outside"}, Credentials: true})
	r := p.call("agents/outside", token, "SendMessage", `{"message":{"messageId":"w","role":"ROLE_USER","parts":[{"text":"wait"}]},"configuration":{"returnImmediately":true}}`)
	task := r.result(t, "task.id")
	p.stop()
	outside.mu.Lock()
	outside.seen = nil
	outside.mu.Unlock()
	p = startIn(t, dir, locked)
	seen := func() []http.Header {
		outside.mu.Lock()
		defer outside.mu.Unlock()
		return outside.seen
	}
	for end := time.Now().Add(20 * time.Second); len(seen()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the task was not taken up")
		}
	}
	for _, h := range seen() {
		if h.Get("Authorization") != "Bearer the-secret-of-the-agent" {
			t.Errorf("taken up with %q", h.Get("Authorization"))
		}
	}
	if r := p.call("agents/outside", token, "CancelTask", about(task)); r.result(t, "status.state") != canceled {
		t.Errorf("%s", r.body)
	}
}

// A credential goes to the origin that it was given for, wherever a card says that its agent is, and to one only.
func TestCredentialStaysWithItsOrigin(t *testing.T) {
	t.Parallel()
	p := start(t)
	elsewhere := newPeer(t)
	var asked atomic.Bool
	cards := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of-the-cards" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked.Store(true)
		card := map[string]any{
			"name": "Away", "description": "d", "version": "1", "capabilities": map[string]any{"streaming": true}, "skills": []any{},
			"defaultInputModes": []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"},
			"supportedInterfaces": []any{map[string]any{"url": elsewhere.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
		}
		_ = json.NewEncoder(w).Encode(card)
	}))
	t.Cleanup(cards.Close)
	find := app.FindAgent{Input: cards.URL, ID: "away", Credential: &app.Credential{Kind: "bearer", Secret: "of-the-cards"}}
	found := verb[[]app.AgentInfo](p, "agents.preview", find)
	if len(found) != 1 || found[0].Fault != nil || !asked.Load() {
		t.Fatalf("%+v", found)
	}
	find.Origins = found[0].Origins
	verb[app.AgentInfo](p, "agents.add", find)
	if r := p.call("agents/away", envToken, "SendMessage", say("m", "hello")); r.result(t, "message.parts.0.text") != "hello" {
		t.Errorf("%s", r.body)
	}
	if elsewhere.sent("Bearer of-the-cards") {
		t.Error("the credential went to the address that the card names")
	}

	find.Input = cards.URL + "\n" + elsewhere.url
	if err := p.ctl.Call(t.Context(), "agents.preview", find, nil); err == nil || !strings.Contains(err.Error(), "several") {
		t.Errorf("one credential for several agents: %v", err)
	}
	if elsewhere.sent("Bearer of-the-cards") {
		t.Error("the credential went to another agent of the list")
	}
}
