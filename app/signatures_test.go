package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/a2a/sign"
	"parley/app"
	"parley/orchestrator"
)

// signer is an agent that signs its card. Its key and its words can be changed.
type signer struct {
	*httptest.Server
	t *testing.T

	mu   sync.Mutex
	key  *sign.Key
	word string
	jku  string // "" = the server's own
	hits map[string]int
	keys http.HandlerFunc // instead of the key's own set
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	s := &signer{t: t, word: "one", hits: map[string]int{}, key: newSigningKey(t)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func newSigningKey(t *testing.T) *sign.Key {
	t.Helper()
	k, err := sign.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *signer) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *signer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits[r.URL.Path]++
	switch r.URL.Path {
	case "/.well-known/agent-card.json":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.card())
	case "/keys":
		if s.keys != nil {
			s.keys(w, r)
			return
		}
		b, _ := s.key.JWKS()
		_, _ = w.Write(b)
	default:
		http.NotFound(w, r)
	}
}

func (s *signer) card() []byte {
	card := fmt.Sprintf(`{"name":"Signer","description":%q,"version":"1","supportedInterfaces":[{"url":"%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"s","tags":["t"]}]`, s.word, s.URL)
	if s.key == nil {
		return []byte(card + "}")
	}
	jku := s.jku
	if jku == "" {
		jku = s.URL + "/keys"
	}
	list, err := s.key.Sign([]byte(card+"}"), jku)
	if err != nil {
		s.t.Error(err)
	}
	var out []map[string]string
	for _, one := range list {
		out = append(out, map[string]string{"protected": one.Protected, "signature": one.Signature})
	}
	b, _ := json.Marshal(out)
	return fmt.Appendf(nil, `%s,"signatures":%s}`, card, b)
}

func (p *program) preview(address string) *app.SignatureInfo {
	p.Helper()
	found := verb[[]app.AgentInfo](p, "agents.preview", app.FindAgent{Input: address})
	if len(found) != 1 || found[0].Fault != nil {
		p.Fatalf("preview of %s: %+v", address, found)
	}
	if found[0].Signature == nil {
		return &app.SignatureInfo{State: "unsigned"}
	}
	return found[0].Signature
}

func (p *program) add(address, id string) {
	p.Helper()
	found := verb[[]app.AgentInfo](p, "agents.preview", app.FindAgent{Input: address})
	verb[app.AgentInfo](p, "agents.add", app.FindAgent{Input: address, ID: id, Origins: found[0].Origins})
}

func noDemo(c *app.Config) { c.Demo = nil }

// TestSignaturePinned follows an agent from its first card to one by another key.
func TestSignaturePinned(t *testing.T) {
	t.Parallel()
	p, s := start(t, noDemo), newSigner(t)
	if got := p.preview(s.URL); got.State != orchestrator.SignatureVerified || got.Source != s.URL+"/keys" || got.Fingerprint == "" {
		t.Fatalf("before approval: %+v", got)
	}
	p.add(s.URL, "signer")
	verify := func(in app.VerifyAgent) app.SignatureInfo {
		t.Helper()
		in.ID = "signer"
		return verb[app.SignatureInfo](p, "agents.verify", in)
	}
	first := verify(app.VerifyAgent{})
	if first.State != orchestrator.SignatureVerified || !first.Pinned {
		t.Fatalf("after approval: %+v", first)
	}
	// The same key signs another card: that is a change, by somebody who is trusted.
	s.set(func() { s.word = "two" })
	if got := verify(app.VerifyAgent{}); got.State != orchestrator.SignatureChanged || !strings.Contains(got.Why, ", signed by a key that is trusted") || !got.Pinned {
		t.Errorf("another card by the same key: %+v", got)
	}
	if got := p.preview(s.URL); got.State != orchestrator.SignatureVerified {
		t.Errorf("looked at anew: %+v", got)
	}
	// Another key does, published at the same place: the pin holds.
	s.set(func() { s.key = newSigningKey(t) })
	if got := verify(app.VerifyAgent{}); got.State != orchestrator.SignatureChanged || !strings.Contains(got.Why, "not signed by a key that is trusted") {
		t.Errorf("another key: %+v", got)
	}
	if got := p.preview(s.URL); got.State != orchestrator.SignatureChanged || got.Why == "" {
		t.Errorf("looked at anew: %+v", got)
	}
	// No signature at all is no way around it.
	s.set(func() { s.key = nil })
	if got := p.preview(s.URL); got.State != orchestrator.SignatureChanged {
		t.Errorf("unsigned: %+v", got)
	}
	if shown := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "signer"}); shown.Signature == nil || shown.Signature.State != orchestrator.SignatureChanged {
		t.Errorf("kept: %+v", shown.Signature)
	}
}

// faultOf returns the fault that a verb failed with.
func faultOf(err error) *orchestrator.Fault {
	f, _ := errors.AsType[*orchestrator.Fault](err)
	return f
}

// TestSignatureKeysGiven checks with keys that a person gives, and pins them when told to.
func TestSignatureKeysGiven(t *testing.T) {
	t.Parallel()
	p, s := start(t, noDemo), newSigner(t)
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere++
		b, _ := s.key.JWKS()
		_, _ = w.Write(b)
	}))
	t.Cleanup(other.Close)
	s.set(func() { s.jku = other.URL + "/keys" })
	if got := p.preview(s.URL); got.State != orchestrator.SignatureOpen || got.Source != other.URL+"/keys" || got.KeyID != s.key.ID() {
		t.Errorf("keys at another origin: %+v", got)
	}
	p.add(s.URL, "signer")
	if got := verb[app.SignatureInfo](p, "agents.verify", app.VerifyAgent{ID: "signer"}); got.State != orchestrator.SignatureOpen {
		t.Errorf("keys at another origin: %+v", got)
	}
	if elsewhere != 0 {
		t.Fatalf("another origin was asked %d times for keys, on the card's word", elsewhere)
	}
	if err := p.ctl.Call(t.Context(), "agents.verify", app.VerifyAgent{ID: "signer", Pin: true}, nil); faultOf(err) == nil || !strings.Contains(faultOf(err).What, "Nothing was pinned") {
		t.Errorf("pinned without keys: %v", err)
	}
	// A person names the place, and then it is asked.
	if got := verb[app.SignatureInfo](p, "agents.verify", app.VerifyAgent{ID: "signer", URL: other.URL + "/keys"}); got.State != orchestrator.SignatureVerified || got.Pinned || elsewhere != 1 {
		t.Errorf("by the keys at a named place: %+v, asked %d times", got, elsewhere)
	}
	wrong, _ := newSigningKey(t).JWKS()
	right, _ := s.key.JWKS()
	if got := verb[app.SignatureInfo](p, "agents.verify", app.VerifyAgent{ID: "signer", Keys: wrong, Source: "wrong.json"}); got.State != orchestrator.SignatureFailed {
		t.Errorf("by another's key: %+v", got)
	}
	if shown := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "signer"}); shown.Signature.State != orchestrator.SignatureOpen {
		t.Errorf("a check that pins nothing was kept: %+v", shown.Signature)
	}
	if err := p.ctl.Call(t.Context(), "agents.verify", app.VerifyAgent{ID: "signer", Keys: wrong, Pin: true}, nil); faultOf(err) == nil {
		t.Errorf("a wrong key was pinned: %v", err)
	}
	if got := verb[app.SignatureInfo](p, "agents.verify", app.VerifyAgent{ID: "signer", Keys: right, Source: "right.json", Pin: true}); got.State != orchestrator.SignatureVerified || !got.Pinned || got.Source != "right.json" {
		t.Errorf("pinned: %+v", got)
	}
	if shown := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "signer"}); shown.Signature.State != orchestrator.SignatureVerified || !shown.Signature.Pinned {
		t.Errorf("not kept: %+v", shown.Signature)
	}
}

// TestSignatureKeysNotRead serves keys that cannot be used: the card is shown all the same, as not verified.
func TestSignatureKeysNotRead(t *testing.T) {
	t.Parallel()
	p, s := start(t, noDemo), newSigner(t)
	asked := 0
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(private.Close)
	for name, h := range map[string]http.HandlerFunc{
		"redirected":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, private.URL, http.StatusFound) },
		"missing":      http.NotFound,
		"a page":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"symmetric":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[{"kty":"oct","k":"AAAA"}]}`) },
		"too large":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", 256<<10+1), "{}") },
		"an empty set": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) },
	} {
		s.set(func() { s.keys = h })
		if got := p.preview(s.URL); got.State != orchestrator.SignatureOpen || !strings.Contains(got.Why, "The keys could not be read") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if asked != 0 {
		t.Error("a redirect was followed to another origin")
	}
}

// TestVerifyWhileRemoved: an agent that is slow to show its card does not come back by it after it was removed.
func TestVerifyWhileRemoved(t *testing.T) {
	t.Parallel()
	p, s := start(t, noDemo), newSigner(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	var slow atomic.Bool
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.CompareAndSwap(true, false) {
			close(asked)
			<-answer
		}
		s.ServeHTTP(w, r)
	})
	p.add(s.URL, "signer")
	slow.Store(true)
	verified := make(chan error, 1)
	go func() { verified <- p.ctl.Call(t.Context(), "agents.verify", app.VerifyAgent{ID: "signer"}, nil) }()
	<-asked
	verb[struct{}](p, "agents.remove", app.Named{ID: "signer"})
	close(answer)
	if err := <-verified; err == nil {
		t.Error("an agent was verified that is not there any more")
	}
	if all := verb[[]app.AgentInfo](p, "agents.list", struct{}{}); len(all) != 0 {
		t.Errorf("it is back: %+v", all)
	}
}
