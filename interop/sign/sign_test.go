//go:build interop

// Package sign has the SDKs that sign cards verify ours, and verifies theirs.
package sign

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/sign"
	"parley/a2a/wire"
)

const cards = "../../a2a/sign/testdata/cards/"

// peers are the programs, each started in this folder.
var peers = map[string][2][]string{ // sign, verify
	"python-1.1.0": {{".venv/bin/python", "sign.py"}, {".venv/bin/python", "verify.py"}},
	"js-1.3.0":     {{"node", "sign.mjs"}, {"node", "verify.mjs"}},
}

func run(t *testing.T, program []string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(program[0], append(program[1:], args...)...).CombinedOutput()
	return string(out), err
}

// TestTheyVerify is the second half of check 39: what we sign, in each form that we serve, verifies with the SDKs as their
// clients read it; what was changed does not.
func TestTheyVerify(t *testing.T) {
	k, err := sign.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	jwks, err := k.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	keys := write(t, dir, "jwks.json", jwks)
	var good, bad []string
	for _, name := range []string{"plain", "wide"} {
		b, err := os.ReadFile(cards + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		card, _, err := wire.DecodeCard(b)
		if err != nil {
			t.Fatal(err)
		}
		// Python's client loses pkceRequired of a card that v0.3 reads as well, also of its own.
		delete(card.SecuritySchemes, "login")
		card.SecurityRequirements = []a2a.SecurityRequirement{{"bearer": {}}}
		if card.Signatures, err = k.Sign(wire.AppendCard(nil, wire.CardSuperset, card), "https://a.example/jwks.json"); err != nil {
			t.Fatal(err)
		}
		for form, f := range map[string]wire.CardForm{"both": wire.CardSuperset, "new": wire.CardNEW} {
			written := wire.AppendCard(nil, f, card)
			good = append(good, write(t, dir, name+"-"+form+".json", written))
			bad = append(bad, write(t, dir, "bad-"+name+"-"+form+".json", []byte(strings.Replace(string(written), "harbour.example/rpc", "evil.example/rpc", 1))))
		}
	}
	for name, p := range peers {
		if out, err := run(t, p[1], append([]string{keys}, good...)...); err != nil || strings.Count(out, " verified") != len(good) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, b := range bad {
			if out, err := run(t, p[1], keys, b); err == nil {
				t.Errorf("%s verified a changed card: %s", name, out)
			}
		}
	}
}

// TestWeVerify has the SDKs sign with keys of now.
func TestWeVerify(t *testing.T) {
	k, err := sign.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(map[string]any{"keys": []json.RawMessage{private}})
	if err != nil {
		t.Fatal(err)
	}
	jwks, err := k.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sign.ParseKeys(jwks)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range peers {
		dir := t.TempDir()
		if out, err := run(t, p[0], write(t, t.TempDir(), "private.json", set), dir); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		signed, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(signed) < 2 {
			t.Fatalf("%s signed %d cards, %v", name, len(signed), err)
		}
		for _, path := range signed {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			v, err := sign.Verify(b, keys)
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
				continue
			}
			t.Logf("%s: %s", filepath.Base(path), v.Form)
		}
	}
}

func write(t *testing.T, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
