package sign_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a/sign"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func harbourKeys(t testing.TB) *sign.Keys {
	t.Helper()
	keys, err := sign.ParseKeys(readFile(t, "testdata/keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// formOf is the form in which a maker signed a card, plain or wide.
func formOf(name string) sign.Form {
	switch {
	case strings.HasPrefix(name, "js-"):
		return sign.FormCleanOpen
	case strings.HasPrefix(name, "python-0"):
		return sign.FormMIDCleanASCII
	case strings.HasSuffix(name, "-superset"):
		return sign.FormCleanASCII
	}
	return sign.FormRawCleanASCII
}

// TestCheck39Peers verifies what the signers of other SDKs made (A2A#2249, a2a-tck#187, #204), then changes each card in
// every text, number and word it has, one at a time: what is changed is refused, or was not among what was verified.
func TestCheck39Peers(t *testing.T) {
	t.Parallel()
	keys := harbourKeys(t)
	files, err := filepath.Glob("testdata/signed/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d signed cards, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := readFile(t, file)
			v, err := sign.Verify(card, keys)
			if err != nil {
				t.Fatal(err)
			}
			if want := formOf(name); v.Form != want {
				t.Errorf("verified as %q, want %q", v.Form, want)
			}
			alg := strings.Split(strings.TrimSuffix(name, "-superset"), "-")[3]
			if v.Algorithm != alg || v.KeyID != "harbour-"+strings.ToLower(alg) || len(v.Fingerprint) != 39 {
				t.Errorf("%s by %s (%s)", v.Algorithm, v.KeyID, v.Fingerprint)
			}
			if alg != "ES256" {
				return // once is enough
			}
			refused := 0
			changes := changed(t, card)
			for what, c := range changes {
				again, err := sign.Verify(c, keys)
				switch {
				case err != nil && sign.KindOf(err) == sign.KindSignature:
					refused++
				case err != nil:
					t.Errorf("%s: %v", what, err)
				case !same(t, again.Signed, v.Signed):
					t.Errorf("%s was changed and still verified as %q", what, again.Form)
				case v.Unsigned == nil:
					t.Errorf("%s was changed and verified, though nothing was said to be unsigned", what)
				}
			}
			if refused < 15 {
				t.Errorf("%d of %d changes were refused", refused, len(changes))
			}
		})
	}
}

// same reports whether two JSON texts say the same.
func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	return cmp.Equal(x, y)
}

// changed returns copies of a card, each with one value that is not empty changed.
func changed(t *testing.T, card []byte) map[string][]byte {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(card, &root); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	keep := func(path string) {
		b, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = b
	}
	var walk func(path string, v any, set func(any))
	walk = func(path string, v any, set func(any)) {
		try := func(other any) {
			set(other)
			keep(path)
			set(v)
		}
		switch v := v.(type) {
		case string:
			if v != "" {
				try(v + "x")
			}
		case bool:
			try(!v)
		case float64:
			try(v/2 + 1)
		case map[string]any:
			for name, inner := range v {
				if path == "" && name == "signatures" {
					continue
				}
				walk(path+"/"+name, inner, func(other any) { v[name] = other })
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", path, i), inner, func(other any) { v[i] = other })
			}
		}
	}
	walk("", root, func(any) {})
	return out
}
