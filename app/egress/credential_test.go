package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
)

func bearerFor(origin, secret string) func(context.Context) ([]Bound, error) {
	b := Bound{Origin: origin, Kind: Bearer, Secret: func() string { return secret }}
	return func(context.Context) ([]Bound, error) { return []Bound{b}, nil }
}

const canary = "ghp_CANARY"

// TestCredentialBinding changes what a card may say in fifty ways. The secret arrives at the origin it is for, and
// nowhere else.
func TestCredentialBinding(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	arrived := map[string][]string{} // what each server was sent
	server := func(name string) string {
		return serve(t, func(_ http.ResponseWriter, r *http.Request) {
			dump, _ := httputil.DumpRequest(r, true)
			mu.Lock()
			defer mu.Unlock()
			arrived[name] = append(arrived[name], string(dump))
		})
	}
	bound, evil := server("bound"), server("evil")
	port, evilPort := portIn(t, bound), portIn(t, evil)
	s := (&spy{}).let(bound, evil, "[::1]:"+port)
	// Even where every one of them is granted, the secret goes to its own origin only.
	e := newEgress(t, &Options{OnDial: s.see, Grants: grants{"a": {
		bound, evil, "https://127.0.0.1:" + port, "http://localhost:" + port, "http://localhost:" + evilPort, "http://[::1]:" + port,
	}}.of})
	urls := []string{
		evil, evil + "/", evil + "/?u=" + bound, evil + "/#" + bound, evil + "/" + strings.TrimPrefix(bound, "http://"),
		"https://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port, "http://127.0.0.1.:" + port, "http://127.1:" + port,
		"http://user:pass@127.0.0.1:" + port, "http://127.0.0.1:" + port + "@127.0.0.1:" + evilPort, "http://localhost:" + evilPort,
		strings.Replace(bound, "http://", "ws://", 1), bound + "@evil.example/", bound + "\r\nX: y", bound + "\t", "//127.0.0.1:" + port,
	}
	kinds := []Bound{
		{Kind: Bearer},
		{Kind: Basic, User: "me"},
		{Kind: APIKey, Name: "X-Api-Key"},
		{Kind: APIKey, Name: "key", Location: "query"},
		{Kind: APIKey, Name: "key", Location: "cookie"},
	}
	tried := 0
	for _, b := range kinds {
		b.Origin, b.Secret = bound, func() string { return canary }
		c := e.Client(Policy{Agent: "a", Credentials: func(context.Context) ([]Bound, error) { return []Bound{b}, nil }})
		for _, u := range urls {
			tried++
			if err := fetch(t, c, u); err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the error repeats the secret: %v", u, err)
			}
		}
		// A request whose Host is another than its address.
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, bound, nil)
		r.Host = "127.0.0.1:" + evilPort
		if _, err := c.Do(r); !isRefused(err) {
			t.Errorf("another Host: %v", err)
		}
		tried++
	}
	if tried < 50 {
		t.Errorf("only %d mutations", tried)
	}
	for _, dump := range arrived["evil"] {
		if strings.Contains(dump, canary) {
			t.Errorf("the secret arrived at another origin:\n%s", dump)
		}
	}
	if len(arrived["evil"]) == 0 {
		t.Error("nothing arrived at the other origin, so nothing was shown")
	}
	// And where it is for, it arrives in the form it has.
	mu.Lock()
	arrived["bound"] = nil
	mu.Unlock()
	for i, want := range []string{"Authorization: Bearer " + canary, "Authorization: Basic bWU6Z2hwX0NBTkFSWQ==", "X-Api-Key: " + canary, "GET /rpc?key=" + canary + "&x=1 ", "Cookie: key=" + canary} {
		b := kinds[i]
		b.Origin, b.Secret = bound, func() string { return canary }
		c := e.Client(Policy{Agent: "a", Credentials: func(context.Context) ([]Bound, error) { return []Bound{b}, nil }})
		resp, err := get(t, c, bound+"/rpc?x=1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := arrived["bound"][i]; !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
		if shown := fmt.Sprint(resp.Request.URL, resp.Request.Header); strings.Contains(shown, canary) {
			t.Errorf("the caller's request shows the secret: %s", shown)
		}
	}
}

// TestCredentialForm refuses names and secrets that would change the request.
func TestCredentialForm(t *testing.T) {
	t.Parallel()
	good := Bound{Origin: "https://a.example", Kind: APIKey, Name: "X-Api-Key", Secret: func() string { return "s" }}
	with := func(change func(*Bound)) Bound {
		b := good
		change(&b)
		return b
	}
	secret := func(s string) func(*Bound) { return func(b *Bound) { b.Secret = func() string { return s } } }
	for _, b := range []Bound{
		good,
		with(func(b *Bound) { b.Location = "header" }),
		with(func(b *Bound) { b.Location, b.Name = "query", "api key" }),
		with(func(b *Bound) { b.Location, b.Name = "cookie", "sid" }),
		with(func(b *Bound) { b.Kind = Bearer }),
		with(func(b *Bound) { b.Kind, b.User = Basic, "me" }),
		with(func(b *Bound) { b.Kind, b.User = Basic, ""; secret("pass word")(b) }),
		with(secret(strings.Repeat("k", 4000))),
	} {
		if err := b.Check(); err != nil {
			t.Errorf("%v %q in %q: %v", b.Kind, b.Name, b.Location, err)
		}
	}
	bad := []Bound{
		with(func(b *Bound) { b.Origin = "" }),
		with(func(b *Bound) { b.Origin = "a.example" }),
		with(func(b *Bound) { b.Origin = "https://u@a.example" }),
		with(func(b *Bound) { b.Kind = "" }),
		with(func(b *Bound) { b.Kind = "HMAC" }),
		with(func(b *Bound) { b.Secret = nil }),
		with(secret("")),
		with(secret("a\r\nX-Evil: y")), with(secret("a\n")), with(secret("a\x00b")), with(secret(" a")),
		with(func(b *Bound) { b.Kind = Bearer; secret("a\r\nb")(b) }),
		with(func(b *Bound) { b.Kind = Bearer; secret("a b")(b) }),
		with(func(b *Bound) { b.Kind, b.User = Basic, "a:b" }),
		with(func(b *Bound) { b.Location = "body" }),
		with(func(b *Bound) { b.Location, b.Name = "cookie", "a b" }),
		with(func(b *Bound) { b.Location, b.Name = "cookie", "sid"; secret("a;b")(b) }),
		with(func(b *Bound) { b.Location, b.Name = "cookie", "sid"; secret("a\r\nb")(b) }),
		with(func(b *Bound) { b.Location, b.Name = "query", "a\nb" }),
	}
	for _, name := range []string{
		"", "Host", "host", "HOST", "Cookie", "Set-Cookie", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Authorization",
		"authorization", "Proxy-Authorization", "Proxy-Connection", "Connection", "Keep-Alive", "Upgrade", "TE", "Trailer", "Expect", "Origin", "Referer",
		"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "A2A-Version", "Sec-Fetch-Site", "X Api", "X-Api:", "X-Api\r\nHost", "X-Äpi", "Accept-Encoding",
	} {
		bad = append(bad, with(func(b *Bound) { b.Name = name }))
	}
	for _, b := range bad {
		err := b.Check()
		if !errors.Is(err, ErrCredential) {
			t.Errorf("%v %q in %q was accepted: %v", b.Kind, b.Name, b.Location, err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.example/x", nil)
		if ok, _ := b.Attach(r); ok || len(r.Header) > 0 || r.URL.RawQuery != "" {
			t.Errorf("%v %q in %q was attached: %v", b.Kind, b.Name, b.Location, r.Header)
		}
	}
}

func TestCredentialError(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked without the credential") })
	locked := errors.New("the vault is locked")
	e := newEgress(t, &Options{Grants: grants{"a": {origin}}.of})
	c := e.Client(Policy{Agent: "a", Credentials: func(context.Context) ([]Bound, error) { return nil, locked }})
	if err := fetch(t, c, origin); !errors.Is(err, locked) {
		t.Errorf("%v", err)
	}
}

func TestBoundDoesNotPrint(t *testing.T) {
	t.Parallel()
	b := Bound{Origin: "https://a.example", Kind: Bearer, Secret: func() string { return canary }}
	held := struct {
		Shown  Bound
		hidden Bound
	}{b, b}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, b)
		fmt.Fprintf(&out, verb, held)
		fmt.Fprintf(&out, verb, []*Bound{&b})
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "b", b, "held", held)
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "b", b, "held", held)
	if err := json.NewEncoder(&out).Encode([]any{b, held}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), canary) || strings.Contains(out.String(), fmt.Sprintf("%x", canary)) {
		t.Errorf("it printed itself:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "Bearer credential for https://a.example") {
		t.Errorf("it does not say what it is:\n%s", out.String())
	}
}
