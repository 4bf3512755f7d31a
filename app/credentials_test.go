package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/app"
	"parley/app/vault"
	"parley/orchestrator"
)

// guarded is an agent that wants a credential of one kind, and refuses by a challenge.
type guarded struct {
	*httptest.Server
	scheme    string // of the card, JSON
	challenge string
	admits    func(*http.Request) bool

	mu   sync.Mutex
	seen []string // everything that was sent to it
}

func newGuarded(t *testing.T, scheme, challenge string, admits func(*http.Request) bool) *guarded {
	t.Helper()
	g := &guarded{scheme: scheme, challenge: challenge, admits: admits}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.seen = append(g.seen, fmt.Sprint(r.URL, r.Header, string(body)))
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		if r.URL.Path != "/.well-known/agent-card.json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"name":"Guarded","description":"d","version":"1","supportedInterfaces":[{"url":"%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"securitySchemes":{"s":%s},"securityRequirements":[{"schemes":{"s":{"list":[]}}}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"s","tags":["t"]}]}`, g.URL, g.scheme)
		return
	}
	if !g.admits(r) {
		w.Header().Set("WWW-Authenticate", g.challenge)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(body, &call)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"welcome"}]}}}`, call.ID)
}

// keychain is one of a test's own.
type keychain struct {
	mu  sync.Mutex
	key string
}

func (k *keychain) Get(string, string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == "" {
		return "", vault.ErrNoKey
	}
	return k.key, nil
}

func (k *keychain) Set(_, _, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = key
	return nil
}

// told returns what was sent to an agent.
func (g *guarded) told() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.seen, "\n")
}

// TestCheck36Credentials gives each kind of credential to an agent that asks for it in its card and by a challenge. It
// works from then on, arrives at that agent only, and is in no log, no record and no file.
func TestCheck36Credentials(t *testing.T) {
	t.Parallel()
	const secret = "S3CRET-canary"
	for name, c := range map[string]struct {
		scheme, challenge string
		admits            func(*http.Request) bool
		give              app.Credential
		asked             []orchestrator.Challenge
	}{
		"bearer": {
			`{"httpAuthSecurityScheme":{"scheme":"Bearer"}}`, `Bearer realm="x"`,
			func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+secret },
			app.Credential{Kind: "bearer", Secret: secret},
			[]orchestrator.Challenge{{Scheme: "Bearer"}},
		},
		"basic": {
			`{"type":"http","scheme":"basic"}`, `Negotiate, basic realm="x", charset="UTF-8"`,
			func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == "mina" && p == secret },
			app.Credential{Kind: "basic", User: "mina", Secret: secret},
			[]orchestrator.Challenge{{Scheme: "Negotiate"}, {Scheme: "Basic"}},
		},
		"header": {
			`{"apiKeySecurityScheme":{"location":"header","name":"X-Their-Key"}}`, `ApiKey realm="x", in="header", name="X-Their-Key"`,
			func(r *http.Request) bool { return r.Header.Get("X-Their-Key") == secret },
			app.Credential{Kind: "header", Name: "X-Their-Key", Secret: secret},
			[]orchestrator.Challenge{{Scheme: "ApiKey", Name: "X-Their-Key", Location: "header"}},
		},
		"query": {
			`{"apiKeySecurityScheme":{"location":"query","name":"key"}}`, `X-API-Key in=query, name=key`,
			func(r *http.Request) bool { return r.URL.Query().Get("key") == secret },
			app.Credential{Kind: "query", Name: "key", Secret: secret},
			[]orchestrator.Challenge{{Scheme: "ApiKey", Name: "key", Location: "query"}},
		},
		"cookie": {
			`{"type":"apiKey","in":"cookie","name":"sid"}`, `ApiKey in="cookie", name="sid"`,
			func(r *http.Request) bool { k, err := r.Cookie("sid"); return err == nil && k.Value == secret },
			app.Credential{Kind: "cookie", Name: "sid", Secret: secret},
			[]orchestrator.Challenge{{Scheme: "ApiKey", Name: "sid", Location: "cookie"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain := &keychain{}
			locked := func(c *app.Config) { c.Demo, c.Keyring = nil, chain }
			p := start(t, locked)
			g := newGuarded(t, c.scheme, c.challenge, c.admits)
			other := newGuarded(t, c.scheme, c.challenge, func(*http.Request) bool { return true })
			p.add(g.URL, "guarded")
			p.add(other.URL, "other")
			send := func(to string) (string, *orchestrator.Fault) {
				t.Helper()
				var said strings.Builder
				var fault *orchestrator.Fault
				err := p.ctl.Stream(t.Context(), "send", app.Message{To: to, Text: "hello"}, func(line []byte) error {
					var l app.Line
					if err := json.Unmarshal(line, &l); err != nil {
						return err
					}
					said.Write(l.Event)
					if l.RunFault != nil {
						fault = l.RunFault
					}
					return nil
				})
				if err != nil && fault == nil {
					fault = faultOf(err)
				}
				return said.String(), fault
			}
			_, refused := send("guarded")
			if refused == nil || refused.Where != orchestrator.WhereSignIn || !slices.Equal(refused.SignIn, c.asked) {
				t.Fatalf("refused: %+v", refused)
			}
			kept := verb[app.KeptCredential](p, "agents.credential", app.KeepCredential{ID: "guarded", Credential: c.give})
			if kept.Origin != g.URL || !strings.Contains(kept.Where, "keychain") {
				t.Errorf("kept: %+v", kept)
			}
			if said, fault := send("guarded"); fault != nil || !strings.Contains(said, "welcome") {
				t.Errorf("with the credential: %s %+v", said, fault)
			}
			if said, fault := send("other"); fault != nil || !strings.Contains(said, "welcome") {
				t.Errorf("the other agent: %s %+v", said, fault)
			}
			if !strings.Contains(g.told(), "hello") || !strings.Contains(other.told(), "hello") {
				t.Fatal("nothing arrived, so nothing is shown")
			}
			if strings.Contains(other.told(), secret) {
				t.Errorf("another agent was told:\n%s", other.told())
			}
			// It survives, and is found nowhere but at the agent.
			p.stop()
			p = startIn(t, p.dir, locked)
			if said, fault := send("guarded"); fault != nil || !strings.Contains(said, "welcome") {
				t.Errorf("after a restart: %s %+v", said, fault)
			}
			if strings.Contains(p.log.String(), secret) {
				t.Errorf("the log tells it:\n%s", p.log)
			}
			noSecret(t, p.dir, "while running", secret, "bWluYTpTM0NSRVQ") // base64 of it, with the name
			p.stop()
			noSecret(t, p.dir, "at rest", secret, "bWluYTpTM0NSRVQ")
		})
	}
}

// TestCredentialRefused turns away what could not be kept, and says why without repeating it.
func TestCredentialRefused(t *testing.T) {
	t.Parallel()
	p := start(t, noDemo)
	g := newGuarded(t, `{"mtlsSecurityScheme":{}}`, "", func(*http.Request) bool { return true })
	p.add(g.URL, "guarded")
	for name, in := range map[string]app.KeepCredential{
		"no agent":             {ID: "nobody", Credential: app.Credential{Kind: "bearer", Secret: "S3CRET"}},
		"another origin":       {ID: "guarded", Credential: app.Credential{Kind: "bearer", Secret: "S3CRET", Origin: "https://evil.example"}},
		"another port":         {ID: "guarded", Credential: app.Credential{Kind: "bearer", Secret: "S3CRET", Origin: "http://127.0.0.1:1"}},
		"a header of HTTP":     {ID: "guarded", Credential: app.Credential{Kind: "header", Name: "Host", Secret: "S3CRET"}},
		"a header of another":  {ID: "guarded", Credential: app.Credential{Kind: "header", Name: "Authorization", Secret: "S3CRET"}},
		"two lines":            {ID: "guarded", Credential: app.Credential{Kind: "bearer", Secret: "S3CRET\r\nX: y"}},
		"empty":                {ID: "guarded", Credential: app.Credential{Kind: "bearer"}},
		"no certificate":       {ID: "guarded", Credential: app.Credential{Kind: "certificate", Secret: "S3CRET"}},
		"certificate, no TLS":  {ID: "guarded", Credential: app.Credential{Kind: "certificate", Secret: selfSigned(t, false)}},
		"certificate, expired": {ID: "guarded", Credential: app.Credential{Kind: "certificate", Secret: selfSigned(t, true)}},
	} {
		err := p.ctl.Call(t.Context(), "agents.credential", in, nil)
		f := faultOf(err)
		if f == nil || f.Do == "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(f.What+f.Do+f.Raw, "S3CRET") {
			t.Errorf("%s: the refusal repeats it: %+v", name, f)
		}
	}
}

// TestApproveWithBadCredential approves nothing when what came with it cannot be kept.
func TestApproveWithBadCredential(t *testing.T) {
	t.Parallel()
	p := start(t, noDemo)
	g := newGuarded(t, `{"mtlsSecurityScheme":{}}`, "", func(*http.Request) bool { return true })
	err := p.ctl.Call(t.Context(), "agents.add", app.FindAgent{
		Input: g.URL, Origins: []string{g.URL}, Credential: &app.Credential{Kind: "header", Name: "Host", Secret: "S3CRET", Origin: g.URL},
	}, nil)
	if faultOf(err) == nil {
		t.Errorf("approved: %v", err)
	}
	if all := verb[[]app.AgentInfo](p, "agents.list", struct{}{}); len(all) != 0 {
		t.Errorf("the agent was stored all the same: %+v", all)
	}
	if strings.Contains(g.told(), "S3CRET") {
		t.Error("the secret was sent")
	}
}

// selfSigned is a client certificate and its key in PEM.
func selfSigned(t *testing.T, expired bool) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Hour)
	if expired {
		end = time.Now().Add(-time.Hour)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-24 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}
