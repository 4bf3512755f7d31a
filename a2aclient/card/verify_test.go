package card

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/sign"
	"parley/a2a/wire"
)

func signedCard(t *testing.T, k *sign.Key, jku, card string) []byte {
	t.Helper()
	list, err := k.Sign([]byte(card), jku)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, s := range list {
		out = append(out, map[string]string{"protected": s.Protected, "signature": s.Signature})
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `%s,"signatures":%s}`, strings.TrimSuffix(card, "}"), b)
}

// TestVerifyAddress asks that the address in use is among what was signed.
func TestVerifyAddress(t *testing.T) {
	t.Parallel()
	k, err := sign.NewKey()
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
	const rest = `"name":"A","description":"a","version":"1","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"s","tags":["t"]}]}`
	const new1 = `{"supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"/second","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` + rest
	const mid = `{"protocolVersion":"0.3.0","url":"https://a.example/rpc","preferredTransport":"JSONRPC",` + rest
	const at = "https://a.example/.well-known/agent-card.json"
	in := func(address, version string) a2a.AgentInterface {
		return a2a.AgentInterface{URL: address, Binding: a2a.BindingJSONRPC, Version: version}
	}
	signed1, signedMid := signedCard(t, k, "", new1), signedCard(t, k, "", mid)
	add := func(card []byte, member string) []byte { return []byte("{" + member + "," + string(card[1:])) }
	for _, c := range []struct {
		name string
		card []byte
		in   a2a.AgentInterface
		want sign.Kind
	}{
		{"v1.0", signed1, in("https://a.example/rpc", "1.0"), ""},
		{"relative address", signed1, in("https://a.example/second", "1.0"), ""},
		{"v0.3", signedMid, in("https://a.example/rpc", "0.3"), ""},
		{"a person's own address", signed1, in("https://typed.example/rpc", "1.0"), ""},
		{"v0.3 put beside it, v1.0 in use", add(signed1, `"url":"https://evil.example","protocolVersion":"0.3.0"`), in("https://a.example/rpc", "1.0"), ""},
		{"v1.0 put before it", add(signedMid, `"supportedInterfaces":[{"url":"https://evil.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`), in("https://evil.example", "1.0"), sign.KindSignature},
		{"changed", []byte(strings.Replace(string(signed1), "a.example/rpc", "b.example/rpc", 1)), in("https://b.example/rpc", "1.0"), sign.KindSignature},
	} {
		if c.name == "v0.3" {
			found, err := understand(c.card, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.in = found.Interface
		}
		v, err := Verify(c.card, at, c.in, keys)
		if sign.KindOf(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, %v", c.name, v != nil, err)
		}
	}
	// What v0.3 adds to a card that v1.0 signed is not signed; used all the same, it is refused.
	both := add(signed1, `"url":"https://evil.example/old","protocolVersion":"0.3.0","preferredTransport":"JSONRPC"`)
	found, err := understand(both, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range found.Card.Interfaces {
		if strings.Contains(i.URL, "evil") {
			if v, err := Verify(both, at, i, keys); sign.KindOf(err) != sign.KindSignature {
				t.Errorf("an address that nobody signed: %v, %v", v, err)
			}
		}
	}
}

// TestKeysURL lets a card point at keys of its own origin only (S13: foreign jku).
func TestKeysURL(t *testing.T) {
	t.Parallel()
	k, err := sign.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for jku, want := range map[string][2]string{
		"": {}, "https://a.example/keys": {"https://a.example/keys", ""}, "https://A.example:443/keys": {"https://A.example:443/keys", ""},
		"https://b.example/keys": {"", "https://b.example/keys"}, "http://a.example/keys": {"", "http://a.example/keys"},
		"https://a.example:8443/keys": {"", "https://a.example:8443/keys"}, "https://a.example.evil.example/": {"", "https://a.example.evil.example/"},
		"file:///etc/passwd": {}, "https://user@a.example/keys": {}, "not an address": {},
	} {
		c, _, err := wire.DecodeCard(signedCard(t, k, jku, `{"name":"a","url":"https://a.example"}`))
		if err != nil {
			t.Fatal(err)
		}
		own, elsewhere := KeysURL(c, "https://a.example/.well-known/agent-card.json")
		if own != want[0] || elsewhere != want[1] {
			t.Errorf("%s: %q, %q; want %q", jku, own, elsewhere, want)
		}
	}
}
