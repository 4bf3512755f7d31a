package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/sign"
	"parley/a2a/wire"
	"parley/app"
)

// TestCheck39Ours reads our own card and the gateway's in each form, and verifies them by the key that we publish.
func TestCheck39Ours(t *testing.T) {
	t.Parallel()
	p := start(t)
	r := p.do("GET", p.a2a(".well-known/jwks.json"), "")
	keys, err := sign.ParseKeys(r.body)
	if r.StatusCode != 200 || err != nil || r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", r.StatusCode, err, r.body)
	}
	if strings.Contains(string(r.body), `"d"`) {
		t.Fatal("the private key is published")
	}
	if r := p.do("POST", p.a2a(".well-known/jwks.json"), "{}"); r.StatusCode != 405 && r.StatusCode != 401 {
		t.Errorf("POST: %d", r.StatusCode)
	}
	for _, path := range []string{"", "agents/writer/", "agents/travel/"} {
		var first []a2a.AgentCardSignature
		for _, name := range []string{"agent-card.json", "agent.json", "agent-card.json"} {
			r := p.do("GET", p.a2a(path+".well-known/"+name), "", authorized(envToken, nil)...)
			card, _, err := wire.DecodeCard(r.body)
			if err != nil {
				t.Fatalf("%s%s: %d %v", path, name, r.StatusCode, err)
			}
			v, err := sign.Verify(r.body, keys)
			if err != nil {
				t.Errorf("%s%s: %v", path, name, err)
				continue
			}
			if name == "agent.json" && (len(v.Unsigned) > 1 || len(v.Unsigned) == 1 && v.Unsigned[0] != "authentication") { // v0.1 knew no signatures
				t.Errorf("%s%s: not covered: %v", path, name, v.Unsigned)
			}
			if h := sign.Headers(card.Signatures); h[0].KeysURL != p.a2a(".well-known/jwks.json") {
				t.Errorf("%s%s: the keys are said to be at %s", path, name, h[0].KeysURL)
			}
			if first == nil {
				first = card.Signatures
			} else if first[0].Signature != card.Signatures[0].Signature {
				t.Errorf("%s%s: signed anew for a request", path, name) // each signature is another
			}
		}
	}
}

// TestExtendedCardSigned reads the card that only callers with a token see, twice: it says more than the public one, is
// signed for that, and once.
func TestExtendedCardSigned(t *testing.T) {
	t.Parallel()
	p := start(t)
	keys, err := sign.ParseKeys(p.do("GET", p.a2a(".well-known/jwks.json"), "").body)
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for range 2 {
		r := p.call("", envToken, "GetExtendedAgentCard", "{}")
		card := r.get("result")
		v, err := sign.Verify([]byte(card), keys)
		if err != nil {
			t.Fatalf("%v\n%s", err, r.body)
		}
		if len(v.Unsigned) > 0 || !strings.Contains(card, "writer") {
			t.Errorf("not covered: %v", v.Unsigned)
		}
		if first == "" {
			first = card
		} else if card != first {
			t.Error("signed anew for a request")
		}
	}
}

// TestSigningKeySurvives starts the program twice on one directory.
func TestSigningKeySurvives(t *testing.T) {
	t.Parallel()
	chain := &keychain{}
	for name, change := range map[string]func(*app.Config){
		"in the vault":          func(c *app.Config) { c.Demo, c.Keyring = nil, chain },
		"in the data directory": func(c *app.Config) { c.Demo = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := startIn(t, dir, change)
			before := p.do("GET", p.a2a(".well-known/jwks.json"), "").body
			p.stop()
			p = startIn(t, dir, change)
			if after := p.do("GET", p.a2a(".well-known/jwks.json"), "").body; string(after) != string(before) {
				t.Errorf("another key:\n%s\n%s", before, after)
			}
			p.stop()
			path := filepath.Join(dir, "signing.key")
			info, err := os.Stat(path)
			if name == "in the vault" {
				if err == nil {
					t.Error("the key lies in the data directory, though there is a vault")
				}
				noSecret(t, dir, "in the vault", `"kty"`, `"crv"`)
				return
			}
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("%v, %v", info, err)
			}
			var private struct{ D string }
			b, _ := os.ReadFile(path)
			if json.Unmarshal(b, &private) != nil || private.D == "" {
				t.Fatalf("no key in the file")
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			noSecret(t, dir, "elsewhere", private.D)
		})
	}
}

// noSecret looks for texts in every file of a directory.
func noSecret(t *testing.T, dir, where string, texts ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, s := range texts {
			if strings.Contains(string(b), s) {
				t.Errorf("%s: %s holds it", where, filepath.Base(path))
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}
