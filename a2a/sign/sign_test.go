package sign_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"

	"parley/a2a"
	"parley/a2a/sign"
	"parley/a2a/wire"
)

func newKey(t testing.TB) (*sign.Key, *sign.Keys) {
	t.Helper()
	k, err := sign.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sign.ParseKeys(b)
	if err != nil {
		t.Fatal(err)
	}
	return k, keys
}

func mustSign(t testing.TB, k *sign.Key, card []byte) []a2a.AgentCardSignature {
	t.Helper()
	list, err := k.Sign(card, "https://a.example/.well-known/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// with puts signatures into a card that has none.
func with(t testing.TB, card []byte, list ...a2a.AgentCardSignature) []byte {
	t.Helper()
	type signature struct {
		Protected string `json:"protected"`
		Signature string `json:"signature"`
	}
	var all []signature
	for _, s := range list {
		all = append(all, signature{s.Protected, s.Signature})
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	card = bytes.TrimSpace(card)
	return fmt.Appendf(nil, `%s,"signatures":%s}`, card[:len(card)-1], b)
}

// TestSignEveryForm signs what we serve, in each form that we serve it in, and verifies every signature in at least one
// form by itself.
func TestSignEveryForm(t *testing.T) {
	t.Parallel()
	k, keys := newKey(t)
	for _, name := range []string{"plain", "wide"} {
		card, _, err := wire.DecodeCard(readFile(t, "testdata/cards/"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		card.Signatures = mustSign(t, k, wire.AppendCard(nil, wire.CardSuperset, card))
		if n := len(card.Signatures); n < 3 || n > 8 {
			t.Errorf("%s: %d signatures", name, n)
		}
		for form, want := range map[wire.CardForm]sign.Form{
			wire.CardNEW: sign.FormSpec, wire.CardSuperset: sign.FormSpec, wire.CardBareLists: sign.FormSpec, wire.CardMID: sign.FormRaw,
		} {
			v, err := sign.Verify(wire.AppendCard(nil, form, card), keys)
			if err != nil {
				t.Errorf("%s in form %d: %v", name, form, err)
			} else if v.Form != want {
				t.Errorf("%s in form %d: verified as %q, want %q", name, form, v.Form, want)
			}
		}
		used := map[sign.Form]bool{}
		for _, s := range card.Signatures {
			one := *card
			one.Signatures = []a2a.AgentCardSignature{s}
			v, err := sign.Verify(wire.AppendCard(nil, wire.CardSuperset, &one), keys)
			if err != nil {
				v, err = sign.Verify(wire.AppendCard(nil, wire.CardMID, &one), keys)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			used[v.Form] = true
			if h := sign.Headers(one.Signatures); len(h) != 1 || h[0] != (sign.Header{"ES256", k.ID(), "https://a.example/.well-known/jwks.json"}) {
				t.Errorf("header %+v", h)
			}
		}
		if len(used) != len(card.Signatures) {
			t.Errorf("%s: %d signatures over %d forms", name, len(card.Signatures), len(used))
		}
	}
}

// TestPlainCardNeedsFew shows that one text is signed once.
func TestPlainCardNeedsFew(t *testing.T) {
	t.Parallel()
	k, _ := newKey(t)
	card := `{"name":"a","description":"b","version":"1","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"a","name":"a","description":"a","tags":["a"]}]}`
	if list := mustSign(t, k, []byte(card)); len(list) != 1 {
		t.Errorf("%d signatures over a card that all read alike", len(list))
	}
	if list := mustSign(t, k, []byte(strings.Replace(card, `"b"`, `"ä"`, 1))); len(list) != 2 {
		t.Errorf("%d signatures over a card that Python reads differently", len(list))
	}
}

// TestSpecForm holds the rules of v1.0 section 8.4.1: required members stay, also when empty; others go at their default,
// unless their presence means something.
func TestSpecForm(t *testing.T) {
	t.Parallel()
	k, keys := newKey(t)
	sent := `{"name":"a","description":"","version":"1","iconUrl":"","supportedInterfaces":[],"capabilities":{"streaming":false,"extensions":[]},"securitySchemes":{"m":{"mtlsSecurityScheme":{"description":""}}},"securityRequirements":[],"defaultInputModes":[],"defaultOutputModes":[],"skills":[{"id":"","name":"s","description":"d","tags":[],"examples":[]}],"provider":null}`
	want := `{"capabilities":{"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"","iconUrl":"","name":"a","securitySchemes":{"m":{"mtlsSecurityScheme":{}}},"skills":[{"description":"d","id":"","name":"s","tags":[]}],"supportedInterfaces":[],"version":"1"}`
	v, err := sign.Verify(with(t, []byte(sent), handmade(t, k, map[string]any{"alg": "ES256", "kid": k.ID()}, want)), keys)
	if err != nil || v.Form != sign.FormSpec {
		t.Fatalf("%+v, %v", v, err)
	}
}

// handmade signs a text under a header of one's own.
func handmade(t testing.TB, k *sign.Key, header map[string]any, payload string) a2a.AgentCardSignature {
	t.Helper()
	b, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	private, err := jwk.ParseKey(b)
	if err != nil {
		t.Fatal(err)
	}
	var raw ecdsa.PrivateKey // without an id of its own
	if err := jwk.Export(private, &raw); err != nil {
		t.Fatal(err)
	}
	return made(t, jwa.ES256(), &raw, header, payload)
}

func made(t testing.TB, alg jwa.SignatureAlgorithm, key any, header map[string]any, payload string) a2a.AgentCardSignature {
	t.Helper()
	h := jws.NewHeaders()
	for name, v := range header {
		if name != "alg" {
			if err := h.Set(name, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	compact, err := jws.Sign([]byte(payload), jws.WithKey(alg, key, jws.WithProtectedHeaders(h)))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(compact), ".")
	return a2a.AgentCardSignature{Protected: parts[0], Signature: parts[2]}
}

// TestBadVectors is S13: none of these is accepted, and each is told for what it is.
func TestBadVectors(t *testing.T) {
	t.Parallel()
	k, keys := newKey(t)
	other, _ := newKey(t)
	const canonical = `{"description":"b","name":"a","url":"https://a.example","version":"1"}`
	card := []byte(`{"name":"a","description":"b","version":"1","url":"https://a.example"}`)
	good := handmade(t, k, map[string]any{"kid": k.ID()}, canonical)
	if _, err := sign.Verify(with(t, card, good), keys); err != nil {
		t.Fatal(err)
	}
	header := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	re := func(protected string) a2a.AgentCardSignature {
		return a2a.AgentCardSignature{Protected: header(protected), Signature: good.Signature}
	}
	jwks, _ := k.JWKS()
	hs := func(alg jwa.SignatureAlgorithm, secret []byte) a2a.AgentCardSignature {
		return made(t, alg, secret, map[string]any{"kid": k.ID()}, canonical)
	}
	raw, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]struct {
		card []byte
		want sign.Kind
	}{
		"no signature":                       {card, sign.KindUnsigned},
		"empty list":                         {with(t, card), sign.KindUnsigned},
		"null list":                          {[]byte(`{"name":"a","signatures":null}`), sign.KindUnsigned},
		"signature without header":           {with(t, card, a2a.AgentCardSignature{Signature: good.Signature}), sign.KindUnsigned},
		"alg none":                           {with(t, card, a2a.AgentCardSignature{Protected: header(`{"alg":"none","kid":"` + k.ID() + `"}`), Signature: "AA"}), sign.KindAlgorithm},
		"alg None":                           {with(t, card, re(`{"alg":"NONE","kid":"`+k.ID()+`"}`)), sign.KindAlgorithm},
		"no alg":                             {with(t, card, re(`{"kid":"`+k.ID()+`"}`)), sign.KindAlgorithm},
		"HS256 by the public key":            {with(t, card, hs(jwa.HS256(), jwks)), sign.KindAlgorithm},
		"HS512 by the id":                    {with(t, card, hs(jwa.HS512(), []byte(strings.Repeat(k.ID(), 4)))), sign.KindAlgorithm},
		"alg ES256K":                         {with(t, card, re(`{"alg":"ES256K","kid":"`+k.ID()+`"}`)), sign.KindAlgorithm},
		"alg is a number":                    {with(t, card, re(`{"alg":256,"kid":"`+k.ID()+`"}`)), sign.KindSignature},
		"alg of another kind":                {with(t, card, re(`{"alg":"RS256","kid":"`+k.ID()+`"}`)), sign.KindUnknownKey},
		"alg of another curve":               {with(t, card, re(`{"alg":"ES384","kid":"`+k.ID()+`"}`)), sign.KindUnknownKey},
		"unknown kid":                        {with(t, card, handmade(t, k, map[string]any{"kid": "other"}, canonical)), sign.KindUnknownKey},
		"no kid":                             {with(t, card, handmade(t, k, nil, canonical)), sign.KindUnknownKey},
		"kid in other case":                  {with(t, card, handmade(t, k, map[string]any{"kid": strings.ToUpper(k.ID())}, canonical)), sign.KindUnknownKey},
		"kid of a path":                      {with(t, card, re(`{"alg":"ES256","kid":"../../../dev/null"}`)), sign.KindUnknownKey},
		"another's key under our id":         {with(t, card, handmade(t, other, map[string]any{"kid": k.ID()}, canonical)), sign.KindSignature},
		"another's key, brought along":       {with(t, card, handmade(t, other, map[string]any{"kid": other.ID(), "jku": "https://evil.example/keys"}, canonical)), sign.KindUnknownKey},
		"P-384 key under our id":             {with(t, card, made(t, jwa.ES384(), raw, map[string]any{"kid": k.ID()}, canonical)), sign.KindUnknownKey},
		"crit":                               {with(t, card, re(`{"alg":"ES256","kid":"`+k.ID()+`","crit":["exp"],"exp":1}`)), sign.KindSignature},
		"b64 false":                          {with(t, card, re(`{"alg":"ES256","kid":"`+k.ID()+`","crit":["b64"],"b64":false}`)), sign.KindSignature},
		"header rewritten":                   {with(t, card, re(`{"alg":"ES256","kid":"`+k.ID()+`","x":1}`)), sign.KindSignature},
		"header in padded base64":            {with(t, card, a2a.AgentCardSignature{Protected: good.Protected + "==", Signature: good.Signature}), sign.KindSignature},
		"header is no object":                {with(t, card, re(`["ES256"]`)), sign.KindSignature},
		"header is too large":                {with(t, card, re(`{"alg":"ES256","kid":"`+k.ID()+`","x":"`+strings.Repeat("x", 9000)+`"}`)), sign.KindSignature},
		"signature cut":                      {with(t, card, a2a.AgentCardSignature{Protected: good.Protected, Signature: good.Signature[:40]}), sign.KindSignature},
		"signature of zeros":                 {with(t, card, a2a.AgentCardSignature{Protected: good.Protected, Signature: strings.Repeat("A", 86)}), sign.KindSignature},
		"signature with a dot":               {with(t, card, a2a.AgentCardSignature{Protected: good.Protected, Signature: "." + good.Signature}), sign.KindSignature},
		"signature over another card":        {with(t, card, handmade(t, k, map[string]any{"kid": k.ID()}, strings.Replace(canonical, `"b"`, `"c"`, 1))), sign.KindSignature},
		"signature over nothing":             {with(t, card, handmade(t, k, map[string]any{"kid": k.ID()}, "{}")), sign.KindSignature},
		"member changed":                     {with(t, bytes.Replace(card, []byte("a.example"), []byte("b.example"), 1), good), sign.KindSignature},
		"member added":                       {with(t, bytes.Replace(card, []byte(`"b"`), []byte(`"b","iconUrl":"https://a.example/i"`), 1), good), sign.KindSignature},
		"member taken away":                  {with(t, bytes.Replace(card, []byte(`"description":"b",`), nil, 1), good), sign.KindSignature},
		"interface added":                    {with(t, bytes.Replace(card, []byte(`"b"`), []byte(`"b","supportedInterfaces":[{"url":"https://evil.example"}]`), 1), good), sign.KindSignature},
		"duplicate member":                   {with(t, bytes.Replace(card, []byte(`"b"`), []byte(`"b","name":"a"`), 1), good), sign.KindCard},
		"member in two spellings":            {with(t, bytes.Replace(card, []byte(`"b"`), []byte(`"b","preferredTransport":"GRPC","preferred_transport":"JSONRPC"`), 1), good), sign.KindCard},
		"half a character":                   {with(t, bytes.Replace(card, []byte(`"b"`), []byte(`"\ud800"`), 1), good), sign.KindCard},
		"bytes that are no text":             {with(t, bytes.Replace(card, []byte(`"b"`), []byte("\"\xff\""), 1), good), sign.KindCard},
		"more after the end":                 {append(with(t, card, good), "{}"...), sign.KindCard},
		"no object":                          {[]byte(`[]`), sign.KindCard},
		"nothing":                            {nil, sign.KindCard},
		"too deep":                           {[]byte(strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)), sign.KindCard},
		"too large":                          {with(t, bytes.Replace(card, []byte(`"b"`), []byte(`"`+strings.Repeat("b", a2a.Limits.Card)+`"`), 1), good), sign.KindCard},
		"16 bad signatures before a good":    {with(t, card, append(slices.Repeat([]a2a.AgentCardSignature{handmade(t, other, map[string]any{"kid": "x"}, canonical)}, 16), good)...), sign.KindUnknownKey},
		"of several, the failing key counts": {with(t, card, handmade(t, k, map[string]any{"kid": k.ID()}, "{}"), re(`{"alg":"none"}`)), sign.KindSignature},
	}
	if len(bad) < 40 {
		t.Errorf("only %d bad vectors", len(bad))
	}
	for name, v := range bad {
		got, err := sign.Verify(v.card, keys)
		if err == nil || sign.KindOf(err) != v.want {
			t.Errorf("%s: %v, %v (%s); want %s", name, got != nil, err, sign.KindOf(err), v.want)
		}
	}
	// And these are not refused.
	for name, c := range map[string][]byte{
		"15 bad signatures before a good": with(t, card, append(slices.Repeat([]a2a.AgentCardSignature{handmade(t, other, map[string]any{"kid": "x"}, canonical)}, 15), good)...),
		"other white space and order":     with(t, []byte("{\n \"url\" : \"https://a.example\", \"version\":\"1\",\"name\":\"a\",\"description\":\"\\u0062\" }"), good),
	} {
		if _, err := sign.Verify(c, keys); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseKeys reads keys in the ways that people have them.
func TestParseKeys(t *testing.T) {
	t.Parallel()
	k, keys := newKey(t)
	jwks, _ := k.JWKS()
	private, _ := k.Marshal()
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(jwks, &set); err != nil {
		t.Fatal(err)
	}
	one := set.Keys[0]
	if one["d"] != nil || one["use"] != "sig" || one["kid"] != k.ID() {
		t.Errorf("published: %v", one)
	}
	alone, _ := json.Marshal(one)
	var raw ecdsa.PublicKey
	parsed, err := jwk.ParseKey(alone)
	if err != nil || jwk.Export(parsed, &raw) != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKIXPublicKey(&raw)
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	card := []byte(`{"name":"a","url":"https://a.example"}`)
	signed := with(t, card, mustSign(t, k, card)...)
	for name, b := range map[string][]byte{"JWKS": jwks, "JWK": alone, "PEM": asPEM, "private JWK": private, "stored": keys.JSON()} {
		got, err := sign.ParseKeys(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bytes.Contains(got.JSON(), []byte(`"d":`)) {
			t.Errorf("%s: the private half was kept", name)
		}
		v, err := sign.Verify(signed, got)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := sign.Verify(signed, got.Only(v.Fingerprint)); err != nil {
			t.Errorf("%s: only the one key: %v", name, err)
		}
		if _, err := sign.Verify(signed, got.Only("0000")); sign.KindOf(err) != sign.KindUnknownKey {
			t.Errorf("%s: without the one key: %v", name, err)
		}
	}
	many := func(n int) []byte {
		all := make([]map[string]any, n)
		for i := range all {
			all[i] = map[string]any{}
			for name, v := range one {
				all[i][name] = v
			}
			all[i]["kid"] = fmt.Sprint(i)
		}
		b, _ := json.Marshal(map[string]any{"keys": all})
		return b
	}
	for n, ok := range map[int]bool{63: true, 64: true, 65: false} {
		if _, err := sign.ParseKeys(many(n)); (err == nil) != ok {
			t.Errorf("%d keys: %v", n, err)
		}
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err == nil {
		der, _ := x509.MarshalPKIXPublicKey(&small.PublicKey)
		if _, err := sign.ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})); sign.KindOf(err) != sign.KindKey {
			t.Errorf("1,024 bits: %v", err)
		}
	}
	for name, s := range map[string]string{
		"nothing": "", "no JSON": "hello", "no keys": `{"keys":[]}`, "symmetric": `{"kty":"oct","k":"AAAA"}`,
		"symmetric beside ours":  `{"keys":[{"kty":"oct","k":"AAAA"},` + string(alone) + `]}`,
		"for encryption":         strings.Replace(string(alone), `"sig"`, `"enc"`, 1),
		"of another algorithm":   strings.Replace(string(alone), `"ES256"`, `"ES512"`, 1),
		"no PEM after the start": "-----BEGIN PUBLIC KEY-----\nAAAA",
	} {
		got, err := sign.ParseKeys([]byte(s))
		if err == nil && name == "of another algorithm" {
			_, err = sign.Verify(signed, got)
		}
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestKeySurvives stores a key and reads it again; it does not print itself.
func TestKeySurvives(t *testing.T) {
	t.Parallel()
	k, keys := newKey(t)
	b, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := sign.ParseKey(b)
	if err != nil || again.ID() != k.ID() {
		t.Fatalf("%v, %v", again, err)
	}
	card := []byte(`{"name":"a"}`)
	if _, err := sign.Verify(with(t, card, mustSign(t, again, card)...), keys); err != nil {
		t.Error(err)
	}
	var secret struct{ D string }
	_ = json.Unmarshal(b, &secret)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, k); secret.D == "" || strings.Contains(text, secret.D) {
			t.Errorf("%s prints the key", verb)
		}
	}
	for _, s := range []string{"", "{}", `{"kty":"oct","k":"AAAA","kid":"a","alg":"HS256"}`} {
		if _, err := sign.ParseKey([]byte(s)); sign.KindOf(err) != sign.KindKey {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestJWT makes the token that a webhook is sent with.
func TestJWT(t *testing.T) {
	t.Parallel()
	k, _ := newKey(t)
	now := time.Unix(1_800_000_000, 0)
	claims := map[string]any{"iss": "https://a.example", "aud": "https://hook.example", "iat": now, "exp": now.Add(time.Minute), "taskId": "t"}
	token, err := k.JWT(claims)
	if err != nil {
		t.Fatal(err)
	}
	jwks, _ := k.JWKS()
	set, err := jwk.Parse(jwks)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := jws.Verify([]byte(token), jws.WithKeySet(set))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"aud":"https://hook.example","exp":1800000060,"iat":1800000000,"iss":"https://a.example","taskId":"t"}`
	if string(payload) != want {
		t.Errorf("%s, want %s", payload, want)
	}
	if claims["iat"] != now {
		t.Error("the caller's claims were changed")
	}
}

// FuzzVerify looks for cards that break the reader.
func FuzzVerify(f *testing.F) {
	keys := harbourKeys(f)
	for _, name := range []string{"js-1.3.0-wide-ES256", "python-1.1.0-plain-EdDSA-superset", "python-0.3.26-wide-ES256"} {
		f.Add(readFile(f, "testdata/signed/"+name+".json"))
	}
	k, _ := newKey(f)
	f.Fuzz(func(t *testing.T, card []byte) {
		if v, err := sign.Verify(card, keys); err == nil && !json.Valid(v.Signed) {
			t.Errorf("%s", v.Signed)
		}
		_, _ = k.Sign(card, "")
	})
}
