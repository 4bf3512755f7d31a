package card_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	in := func(url, binding, version string) a2a.AgentInterface {
		return a2a.AgentInterface{URL: url, Binding: binding, Version: version}
	}
	for name, x := range map[string]struct {
		offers []a2a.AgentInterface
		want   string // url
		kind   card.Kind
	}{
		"only one":             {[]a2a.AgentInterface{in("a", "JSONRPC", "1.0")}, "a", ""},
		"the newer":            {[]a2a.AgentInterface{in("a", "JSONRPC", "0.2"), in("b", "JSONRPC", "0.3"), in("c", "JSONRPC", "1.0")}, "c", ""},
		"the agent's order":    {[]a2a.AgentInterface{in("a", "JSONRPC", "1.0"), in("b", "JSONRPC", "1.0")}, "a", ""},
		"patch does not count": {[]a2a.AgentInterface{in("a", "JSONRPC", "0.3.0"), in("b", "JSONRPC", "1.0.1")}, "b", ""},
		"a later minor":        {[]a2a.AgentInterface{in("a", "JSONRPC", "1.7")}, "a", ""},
		"newer over REST":      {[]a2a.AgentInterface{in("a", "HTTP+JSON", "1.0"), in("b", "JSONRPC", "0.3")}, "a", ""},
		"a binding's spelling": {[]a2a.AgentInterface{in("a", "http+json", "1.0")}, "a", ""},
		"unknown binding":      {[]a2a.AgentInterface{in("a", "https://x.example/carrier-pigeon", "1.0"), in("b", "JSONRPC", "1.0")}, "b", ""},
		"only unknown":         {[]a2a.AgentInterface{in("a", "https://x.example/carrier-pigeon", "1.0")}, "", card.KindNoInterface},
		"no version":           {[]a2a.AgentInterface{in("a", "JSONRPC", "")}, "a", ""},
		"no binding":           {[]a2a.AgentInterface{in("a", "", "0.3")}, "a", ""},
		"REST before JSON-RPC": {[]a2a.AgentInterface{in("a", "HTTP+JSON", "1.0"), in("b", "JSONRPC", "1.0")}, "a", ""},
		"v0.3 main address":    {[]a2a.AgentInterface{in("a", "HTTP+JSON", "0.3"), in("b", "JSONRPC", "0.3")}, "a", ""},
		"v0.3 further ones":    {[]a2a.AgentInterface{in("a", "PIGEON", "0.3"), in("b", "HTTP+JSON", "0.3"), in("c", "JSONRPC", "0.3")}, "c", ""},
		"v0.1":                 {[]a2a.AgentInterface{in("a", "JSONRPC", "0.1")}, "a", ""},
		"v0.1 over REST":       {[]a2a.AgentInterface{in("a", "HTTP+JSON", "0.1")}, "", card.KindVersion},
		"anything before v0.1": {[]a2a.AgentInterface{in("a", "JSONRPC", "0.1"), in("b", "HTTP+JSON", "0.2")}, "b", ""},
		"too new":              {[]a2a.AgentInterface{in("a", "JSONRPC", "2.0")}, "", card.KindVersion},
		"nothing":              {nil, "", card.KindCardInvalid},
	} {
		got, err := card.Choose(&a2a.AgentCard{Name: "X", Interfaces: x.offers})
		if x.kind != "" {
			e, ok := err.(*card.Error)
			if !ok || e.Kind != x.kind || e.What == "" {
				t.Errorf("%s: %v, want %s", name, err, x.kind)
			}
			continue
		}
		if err != nil || got.URL != x.want || got.Binding != "JSONRPC" && got.Binding != "HTTP+JSON" {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, x.want)
		}
	}
}

func TestSpeaks(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		rpc, rest wire.Dialect
		both      bool
	}{
		"1.0": {wire.NEW, wire.NEW, true}, "v1.0": {wire.NEW, wire.NEW, true}, "0.3": {wire.MID, wire.PROTO, true},
		"0.3.0": {wire.MID, wire.PROTO, true}, "0.2.6": {wire.MID, wire.PROTO, true}, "": {wire.MID, wire.PROTO, true},
		"0.1": {wire.OLD, 0, false}, "0.1.0": {wire.OLD, 0, false}, "0.0": {wire.OLD, 0, false},
	} {
		if d, ok := card.Speaks(version, "JSONRPC"); !ok || d != want.rpc {
			t.Errorf("%q over JSON-RPC: %v, %v", version, d, ok)
		}
		if d, ok := card.Speaks(version, "HTTP+JSON"); ok != want.both || ok && d != want.rest {
			t.Errorf("%q over REST: %v, %v", version, d, ok)
		}
	}
	for _, version := range []string{"0.4", "2.0", "x", "10.0", "0"} {
		if d, ok := card.Speaks(version, ""); ok {
			t.Errorf("%q is spoken as %v", version, d)
		}
	}
}

// The address in a card is repaired where it cannot be right, and doubted where only a person can know.
func TestAddressRepair(t *testing.T) {
	t.Parallel()
	handler := func(named string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { says(cardAt(named))(w, r) })
	}
	for _, x := range []struct {
		typed, named   string
		use, other     string // other: the proposal
		declared, note bool
	}{
		{typed: "https://agent.example", named: "https://agent.example/rpc", use: "https://agent.example/rpc"},
		{typed: "https://agent.example", named: "/rpc", use: "https://agent.example/rpc"},
		{typed: "https://agent.example/team/x", named: "rpc", use: "https://agent.example/team/x/.well-known/rpc"},
		{typed: "https://agent.example", named: "//agent.example/rpc", use: "https://agent.example/rpc"},
		{typed: "https://agent.example", named: "http://localhost:9999/rpc", use: "https://agent.example/rpc", declared: true, note: true},
		{typed: "https://agent.example", named: "http://127.0.0.1:9999/rpc", use: "https://agent.example/rpc", declared: true, note: true},
		{typed: "https://agent.example:8443", named: "http://[::1]:9999/", use: "https://agent.example:8443/", declared: true, note: true},
		{typed: "https://agent.example", named: "http://0.0.0.0:9999/rpc", use: "https://agent.example/rpc", declared: true, note: true},
		{typed: "https://agent.example", named: "http://[::]:9999/rpc", use: "https://agent.example/rpc", declared: true, note: true},
		{typed: "https://agent.example", named: "http://agent.example/rpc", use: "https://agent.example/rpc", declared: true, note: true},
		{typed: "https://agent.example", named: "https://AGENT.example/rpc", use: "https://agent.example/rpc"},
		{typed: "https://agent.example", named: "https://agent.example:8443/rpc", use: "https://agent.example:8443/rpc"},
		{typed: "https://agent.example", named: "https://rpc.other.example/x?y=1", use: "https://rpc.other.example/x?y=1", other: "https://agent.example/x?y=1", note: true},
		{typed: "https://agent.example", named: "https://agent.example/v1/message:send", use: "https://agent.example/", note: true},
		{typed: "https://agent.example", named: "https://agent.example/x/message:stream", use: "https://agent.example/x", note: true},
		{typed: "http://localhost:7000", named: "http://0.0.0.0:9999/rpc", use: "http://localhost:9999/rpc", declared: true, note: true},
		{typed: "http://localhost:7000", named: "http://127.0.0.1:7000/rpc", use: "http://127.0.0.1:7000/rpc"},
	} {
		var s *httptest.Server
		if strings.HasPrefix(x.typed, "https") {
			s = httptest.NewTLSServer(handler(x.named))
		} else {
			s = httptest.NewServer(handler(x.named))
		}
		t.Cleanup(s.Close)
		f := find(t, x.typed, &card.Options{HTTP: web(t, s, nil)})
		if f.Interface.URL != x.use {
			t.Errorf("%s names %s: use %s, want %s", x.typed, x.named, f.Interface.URL, x.use)
		}
		if (f.Declared != "") != x.declared || x.note != (len(f.Notes) > 0) {
			t.Errorf("%s names %s: declared %q, notes %q", x.typed, x.named, f.Declared, f.Notes)
		}
		other := ""
		if f.Typed != nil {
			other = f.Typed.URL
		}
		if other != x.other {
			t.Errorf("%s names %s: the proposal is %q, want %q", x.typed, x.named, other, x.other)
		}
	}
}

func TestPastedCardWithRelativeAddress(t *testing.T) {
	t.Parallel()
	e := failure(t, cardAt("/rpc"), nil, card.KindCardInvalid)
	if e.Field != "supportedInterfaces[0].url" {
		t.Errorf("field %q", e.Field)
	}
	f := find(t, cardAt("/rpc"), &card.Options{Base: "agent.example/x"})
	if f.Interface.URL != "https://agent.example/rpc" || f.URL != "" {
		t.Errorf("interface %s, card from %q", f.Interface.URL, f.URL)
	}
}

func TestCredentialsInAnAddress(t *testing.T) {
	t.Parallel()
	failure(t, cardAt("https://me:pw@agent.example/"), nil, card.KindCardInvalid)
}

// An approval grants the origins the card leads to, and no others.
func TestOrigins(t *testing.T) {
	t.Parallel()
	f := find(t, `{"name":"X","documentationUrl":"https://docs.example","iconUrl":"https://icons.example/x.png",
		"provider":{"organization":"P","url":"https://provider.example"},
		"supportedInterfaces":[
			{"url":"https://a.example/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},
			{"url":"https://B.example:443/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
			{"url":"https://b.example:8443/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
			{"url":"g.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}],
		"securitySchemes":{
			"o":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"https://login.example/auth","tokenUrl":"https://token.example/t","scopes":{}}}}},
			"i":{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://id.example/.well-known/openid-configuration"}}}}`, nil)
	want := []string{
		"https://a.example", "https://b.example", "https://b.example:8443", "https://g.example",
		"https://id.example", "https://login.example", "https://token.example",
	}
	if d := cmp.Diff(want, f.Origins()); d != "" {
		t.Error(d)
	}
}

// A card from elsewhere opens no way to this machine.
func TestOriginsOfAForeignCard(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(says(`{"name":"X","supportedInterfaces":[
		{"url":"http://localhost:9999/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
		{"url":"http://127.0.0.1:22/","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
		{"url":"http://0.0.0.0:80/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},
		{"url":"localhost:443","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`))
	t.Cleanup(s.Close)
	f := find(t, "https://agent.example", &card.Options{HTTP: web(t, s, nil)})
	if d := cmp.Diff([]string{"https://agent.example"}, f.Origins()); d != "" {
		t.Error(d)
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://A.example/x?y":  "https://a.example",
		"https://a.example:443":  "https://a.example",
		"http://a.example:80/":   "http://a.example",
		"http://a.example:8080/": "http://a.example:8080",
		"https://[::1]:8443/x":   "https://[::1]:8443",
	} {
		if got, err := card.Origin(in); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "a.example", "ftp://a.example", "https://", ":"} {
		if got, err := card.Origin(in); err == nil {
			t.Errorf("%q has the origin %q", in, got)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	base := `{"name":"X","url":"https://a.example","skills":[{"id":"a","name":"A"}],"version":"1"}`
	hash := func(s string) string {
		t.Helper()
		h, err := card.Hash([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	same := []string{
		` { "version" : "1", "url":"https:\/\/a.example", "skills":[{"name":"A","id":"a"}],"name":"\u0058" } `,
		`{"name":"X","url":"https://a.example","skills":[{"id":"a","name":"A"}],"version":"1","generatedAt":17,"iconUrl":null}`,
	}
	for _, s := range same {
		if hash(s) != hash(base) {
			t.Errorf("%s has another hash", s)
		}
	}
	for _, s := range []string{
		strings.Replace(base, "a.example", "b.example", 1),
		strings.Replace(base, `"id":"a"`, `"id":"b"`, 1),
		strings.Replace(base, `"name":"A"`, `"name":"A","x":1`, 1),
		strings.Replace(base, `"version"`, `"securitySchemes":{},"version"`, 1),
	} {
		if hash(s) == hash(base) {
			t.Errorf("%s has the same hash", s)
		}
	}
	if _, err := card.Hash([]byte(`{"name":"X","provider":{"url":"a","url":"b"}}`)); err == nil {
		t.Error("a card with the same member twice has a hash")
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	const most = 30
	for in, want := range map[string]string{
		"plain":                           "plain",
		"two\nlines\tand a tab":           "two\nlines\tand a tab",
		"naïve 東京 ok":                     "naïve 東京 ok",
		"rtl \u202eevil\u202c":            "rtl evil",
		"iso\u2066late\u2069":             "isolate",
		"zero\u200bwidth\u200d\ufeff":     "zerowidth",
		"soft\u00adhyphen":                "softhyphen",
		"nul\x00esc\x1b[31m":              "nulesc[31m",
		"tag\U000e0041\U000e007f":         "tag",
		"bad \xff utf-8":                  "bad \ufffd utf-8",
		"filler\u3164":                    "filler",
		"\u061cmark\u200e\u200f":          "mark",
		"invisible times\u2062":           "invisible times",
		"line\u2028separator":             "lineseparator",
		"variation\ufe0f selector":        "variation selector",
		"private\ue000 use":               "private use",
		"carriage\rreturn":                "carriagereturn",
		strings.Repeat("x", most-1):       strings.Repeat("x", most-1),
		strings.Repeat("x", most):         strings.Repeat("x", most),
		strings.Repeat("x", most+1):       strings.Repeat("x", most-1) + "…",
		strings.Repeat("é", most):         strings.Repeat("é", most),
		strings.Repeat("é", most+1):       strings.Repeat("é", most-1) + "…",
		strings.Repeat("\u200b", 100):     "",
		strings.Repeat("a\u200b", most):   strings.Repeat("a", most),
		strings.Repeat("a\u200b", most+1): strings.Repeat("a", most-1) + "…",
	} {
		got, changed := card.Text(in, most)
		if got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
		if changed != (got != in) {
			t.Errorf("Text(%q) says changed = %v", in, changed)
		}
	}
	if got, _ := card.Name(" two\n lines\u202e ", most); got != "two lines" {
		t.Errorf("Name is %q", got)
	}
}

// What a card says to people is cleaned; what is compared stays.
func TestCardIsCleaned(t *testing.T) {
	t.Parallel()
	f := find(t, `{"name":"Pay\u202epal\nAgent","description":"`+strings.Repeat("d", 1025)+`","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
		"skills":[{"id":"a\u200bb","name":"A\u200bB","description":"`+strings.Repeat("s", 513)+`","tags":["x\u0000"],"examples":["\u2066go"]}],"version":"1"}`, nil)
	s := f.Card.Skills[0]
	if f.Card.Name != "Paypal Agent" || len([]rune(f.Card.Description)) != 1024 || s.Name != "AB" || s.ID != "a\u200bb" ||
		len([]rune(s.Description)) != 512 || s.Tags[0] != "x" || s.Examples[0] != "go" {
		t.Errorf("%+v", f.Card)
	}
	if len(f.Notes) < 5 {
		t.Errorf("notes %q", f.Notes)
	}
}

func FuzzChallenges(f *testing.F) {
	for _, s := range []string{
		`Bearer realm="x", error="invalid_token"`, `Basic realm=x, Digest nonce="a,b", qop="auth"`, `Negotiate abc==`, `, ,`, `=`, `a="\`,
		`Bearer`, `Bearer error="insufficient_scope" scope="a b"`, `NTLM TlRMTVNTUAAB=, Basic`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range card.Challenges(http.Header{"Www-Authenticate": {s}}) {
			if c.Scheme == "" {
				t.Fatalf("%q holds a challenge without a scheme", s)
			}
		}
	})
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]card.Challenge{
		`Bearer`: {{Scheme: "Bearer"}},
		`Bearer error="insufficient_scope" scope="a b"`:            {{Scheme: "Bearer", Params: map[string]string{"error": "insufficient_scope", "scope": "a b"}}},
		`Digest Nonce="a,b", qop=auth, Basic`:                      {{Scheme: "Digest", Params: map[string]string{"nonce": "a,b", "qop": "auth"}}, {Scheme: "Basic"}},
		`Negotiate abc==, Basic realm = "y"`:                       {{Scheme: "Negotiate", Token: "abc=="}, {Scheme: "Basic", Params: map[string]string{"realm": "y"}}},
		`Bearer resource_metadata="https://a.example/.well-known"`: {{Scheme: "Bearer", Params: map[string]string{"resource_metadata": "https://a.example/.well-known"}}},
		``:     nil,
		` , ,`: nil,
	} {
		got := card.Challenges(http.Header{"Www-Authenticate": {in}})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
}

func TestShowHidesSecrets(t *testing.T) {
	t.Parallel()
	u, _ := url.Parse("https://me:pw@a.example/p?key=s3cret#frag")
	if got := card.Show(u); got != "https://a.example/p" {
		t.Errorf("shown as %s", got)
	}
}
