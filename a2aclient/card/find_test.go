package card_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	wellKnown = "/.well-known/agent-card.json"
	legacy    = "/.well-known/agent.json"
	catalog   = "/.well-known/ai-catalog.json"
)

// cardAt is a v1.0 card whose interface is at that address.
func cardAt(url string) string {
	return fmt.Sprintf(`{"name":"Calc","description":"adds","version":"1","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"add","name":"Add","description":"adds","tags":["math"]}]}`, url)
}

// site serves cards by path and records what was asked for.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newSite(t *testing.T, paths map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(s.handler(paths))
	t.Cleanup(s.Close)
	return s
}

func (s *site) handler(paths map[string]http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		if h := paths[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	})
}

func (s *site) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}
}

// web returns a client for which every host is the server at addr; dialled records where it would have gone.
func web(t *testing.T, s *httptest.Server, dialled *[]string) *http.Client {
	var mu sync.Mutex
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		if dialled != nil {
			*dialled = append(*dialled, addr)
		}
		mu.Unlock()
		if strings.HasPrefix(addr, "nowhere") {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Name: "nowhere", IsNotFound: true}}
		}
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}}
	if s.TLS != nil {
		tr.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		tr.TLSClientConfig.ServerName = "example.com" // what httptest's certificate is for
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func find(t *testing.T, input string, o *card.Options) *card.Found {
	t.Helper()
	found, err := card.Find(t.Context(), input, o)
	if err != nil {
		t.Fatalf("Find(%q): %v", input, err)
	}
	if len(found) != 1 {
		t.Fatalf("Find(%q) found %d agents", input, len(found))
	}
	return found[0]
}

func failure(t *testing.T, input string, o *card.Options, kind card.Kind) *card.Error {
	t.Helper()
	found, err := card.Find(t.Context(), input, o)
	var e *card.Error
	if !errors.As(err, &e) {
		t.Fatalf("Find(%q) = %v, %v; want an *Error", input, found, err)
	}
	if e.Kind != kind {
		t.Errorf("Find(%q): kind %q (%s), want %q", input, e.Kind, e.What, kind)
	}
	if e.What == "" || e.Where == "" {
		t.Errorf("Find(%q): an error that does not tell what or where: %+v", input, e)
	}
	return e
}

// Every form in which a person may have an agent's address leads to its card.
func TestFindForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	root := says(cardAt(s.URL + "/rpc"))
	s.Config.Handler = s.handler(map[string]http.HandlerFunc{
		wellKnown:                root,
		"/agents/calc" + legacy:  root,
		"/cards/calc":            root,
		"/static/calc-card.json": root,
	})
	host := s.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(host)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, input := range map[string]string{
		"host and port":        host,
		"localhost":            "localhost:" + port,
		"base":                 s.URL,
		"base with slash":      s.URL + "/",
		"spaces":               "  " + s.URL + "\n",
		"quoted":               `"` + s.URL + `"`,
		"angle brackets":       "<" + s.URL + ">",
		"fragment":             s.URL + "/#about",
		"card address":         s.URL + wellKnown,
		"legacy path":          s.URL + legacy,
		"path, legacy card":    s.URL + "/agents/calc",
		"path with slash":      s.URL + "/agents/calc/",
		"an operation":         s.URL + "/agents/calc/v1/message:send",
		"unknown path":         s.URL + "/some/where",
		"card of a registry":   s.URL + "/cards/calc",
		"card file on the web": s.URL + "/static/calc-card.json",
		"link":                 "a2a://" + host,
		"link with address":    "a2a:" + s.URL,
		"link with query":      "a2a://connect?url=" + s.URL,
		"web link":             "web+a2a://" + host + "/agents/calc",
		"pasted":               cardAt(s.URL + "/rpc"),
		"file with address":    file("address.txt", s.URL+"\n"),
		"file with card":       file("card.json", cardAt(s.URL+"/rpc")),
		"file address":         "file://" + file("card 2.json", cardAt(s.URL+"/rpc")),
		"list of one":          `["` + s.URL + `"]`,
		"comment and line":     "# mine\n" + s.URL + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := find(t, input, &card.Options{HTTP: client(t)})
			if f.Card.Name != "Calc" || f.Interface.URL != s.URL+"/rpc" || f.Dialect != wire.NEW || f.Hash == "" || len(f.JSON) == 0 {
				t.Errorf("found %+v", f)
			}
		})
	}
}

func TestFindSeveral(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{})
	s.Config.Handler = s.handler(map[string]http.HandlerFunc{wellKnown: says(cardAt(s.URL))})
	for name, input := range map[string]string{
		"lines": s.URL + "\n\nhttp://127.0.0.1:1/\n" + strings.ReplaceAll(cardAt(s.URL), "\n", ""),
		"list":  `["` + s.URL + `", "http://127.0.0.1:1/", ` + cardAt(s.URL) + `]`,
	} {
		found, err := card.Find(t.Context(), input, &card.Options{HTTP: client(t)})
		if err != nil || len(found) != 3 {
			t.Fatalf("%s: %d found, %v", name, len(found), err)
		}
		if found[0].Err != nil || found[2].Err != nil || found[0].Card.Name != "Calc" || found[2].Card.Name != "Calc" {
			t.Errorf("%s: %v, %v", name, found[0].Err, found[2].Err)
		}
		var e *card.Error
		if !errors.As(found[1].Err, &e) || e.Kind != card.KindRefused {
			t.Errorf("%s: %v", name, found[1].Err)
		}
	}
}

func TestFindNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for input, kind := range map[string]card.Kind{
		"":                                card.KindAddress,
		"  \n# only a comment\n":          card.KindAddress,
		"hello there, friend":             card.KindAddress,
		"ftp://agent.example":             card.KindAddress,
		"https://me:secret@agent.example": card.KindAddress,
		"https://":                        card.KindAddress,
		"[]":                              card.KindAddress,
		"[17]":                            card.KindAddress,
		dir + "/missing.json":             card.KindAddress,
		dir:                               card.KindAddress,
		empty:                             card.KindAddress,
		"{":                               card.KindCardInvalid,
		`{"name":"x","name":"y","supportedInterfaces":[{"url":"http://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`: card.KindCardInvalid,
		`{"name":17}`:                            card.KindCardInvalid,
		`{"name":"x"}`:                           card.KindCardInvalid,
		strings.Repeat("http://a.example\n", 65): card.KindAddress,
	} {
		e := failure(t, input, &card.Options{HTTP: client(t)}, kind)
		if strings.Contains(fmt.Sprintf("%+v", e), "secret") {
			t.Errorf("the error repeats the password: %+v", e)
		}
	}
}

func TestFilesOnlyForTheirOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(path, []byte(cardAt("http://127.0.0.1/")), 0o600); err != nil {
		t.Fatal(err)
	}
	find(t, path, nil)
	failure(t, "file://"+path, &card.Options{NoFiles: true, HTTP: client(t)}, card.KindAddress)
}

// The field at fault is named.
func TestInvalidCardField(t *testing.T) {
	t.Parallel()
	for field, body := range map[string]string{
		"name":                       `{"description":"x","supportedInterfaces":[{"url":"http://a.example/"}]}`,
		"supportedInterfaces":        `{"name":"x","supportedInterfaces":[]}`,
		"supportedInterfaces[0].url": `{"name":"x","supportedInterfaces":[{"url":"ftp://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
	} {
		s := newSite(t, map[string]http.HandlerFunc{wellKnown: says(body)})
		e := failure(t, s.URL, &card.Options{HTTP: client(t)}, card.KindCardInvalid)
		if e.Field != field || !strings.Contains(e.What, field) || len(e.Tried) == 0 {
			t.Errorf("field %q in %q, tried %v; want field %q", e.Field, e.What, e.Tried, field)
		}
	}
}

func TestCardNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	e := failure(t, s.URL+"/agents/x", &card.Options{HTTP: client(t)}, card.KindCardNotFound)
	var tried []string
	for _, x := range e.Tried {
		if x.Status != 404 || x.Result != "not found" {
			t.Errorf("%+v", x)
		}
		tried = append(tried, strings.TrimPrefix(x.URL, s.URL))
	}
	want := []string{"/agents/x" + wellKnown, "/agents/x" + legacy, "/agents/x", "/agents/x" + catalog, wellKnown, legacy, catalog}
	if d := cmp.Diff(want, tried); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, s.paths()); d != "" {
		t.Error(d)
	}
}

func TestCardIsHTML(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><title>Welcome</title>")
	})
	e := failure(t, s.URL, &card.Options{HTTP: client(t)}, card.KindCardHTML)
	if !strings.Contains(e.Raw, "Welcome") {
		t.Errorf("raw is %q", e.Raw)
	}
	// A website that answers every path does not hide a card at the origin.
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == legacy {
			says(cardAt(s.URL))(w, r)
			return
		}
		fmt.Fprint(w, "<html>")
	})
	if f := find(t, s.URL+"/docs", &card.Options{HTTP: client(t)}); !strings.Contains(strings.Join(f.Notes, " "), "not under the path you typed") {
		t.Errorf("notes %q", f.Notes)
	}
}

// A protected card is asked for with credentials, which then go to its origin; another agent's card further up does not
// take its place.
func TestProtectedCard(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.Config.Handler = s.handler(map[string]http.HandlerFunc{
		wellKnown: says(cardAt(s.URL)),
		"/agents/x" + wellKnown: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				w.Header().Add("WWW-Authenticate", `Bearer realm="the \"agents\"", scope="a b", Basic realm=x`)
				w.Header().Add("WWW-Authenticate", `Negotiate`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			says(strings.Replace(cardAt(s.URL+"/x"), "Calc", "Secret", 1))(w, r)
		},
	})
	e := failure(t, s.URL+"/agents/x", &card.Options{HTTP: client(t)}, card.KindUnauthenticated)
	want := []card.Challenge{
		{Scheme: "Bearer", Params: map[string]string{"realm": `the "agents"`, "scope": "a b"}},
		{Scheme: "Basic", Params: map[string]string{"realm": "x"}},
		{Scheme: "Negotiate"},
	}
	if d := cmp.Diff(want, e.Challenges); d != "" {
		t.Error(d)
	}
	if e.Where != card.WhereSignIn || e.Status != 401 || len(e.Tried) != 1 {
		t.Errorf("%+v", e)
	}
	f := find(t, s.URL+"/agents/x", &card.Options{HTTP: client(t), Authorize: func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer s3cret")
		return nil
	}})
	if f.Card.Name != "Secret" {
		t.Errorf("found %s", f.Card.Name)
	}
}

func TestForbiddenCard(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{wellKnown: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }})
	if e := failure(t, s.URL, &card.Options{HTTP: client(t)}, card.KindForbidden); e.Where != card.WhereSignIn {
		t.Errorf("%+v", e)
	}
}

// A card at its limit is read; one byte more is refused, packed or not.
func TestCardSize(t *testing.T) {
	t.Parallel()
	padded := func(n int) string {
		c := cardAt("http://127.0.0.1/")
		return c[:len(c)-1] + `,"x":"` + strings.Repeat("x", n-len(c)-len(`,"x":""`)) + `"}`
	}
	for _, packed := range []bool{false, true} {
		for _, extra := range []int{-1, 0, 1} {
			body := padded(a2a.Limits.Card + extra)
			s := newSite(t, map[string]http.HandlerFunc{wellKnown: func(w http.ResponseWriter, r *http.Request) {
				if !packed {
					says(body)(w, r)
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				z.Write([]byte(body))
				z.Close()
			}})
			if extra <= 0 {
				find(t, s.URL, &card.Options{HTTP: client(t)})
				continue
			}
			failure(t, s.URL, &card.Options{HTTP: client(t)}, card.KindTooLarge)
		}
	}
}

func TestOddBodies(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		h    http.HandlerFunc
		kind card.Kind
	}{
		"not JSON": {says("hello"), card.KindGarbage},
		"a list":   {says("[]"), card.KindGarbage},
		"empty":    {says(""), card.KindGarbage},
		"cut JSON": {says(`{"name":"x"`), card.KindCardInvalid},
		"trailing": {says(cardAt("http://a.example") + "x"), card.KindCardInvalid},
		"unknown packing": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "x")
		}, card.KindGarbage},
		"no gzip": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "{}")
		}, card.KindGarbage},
		"failing": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, card.KindAgent},
		"gateway": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(502) }, card.KindGateway},
		"busy":    {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, card.KindRateLimited},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, card.KindCut},
	} {
		s := newSite(t, map[string]http.HandlerFunc{wellKnown: x.h})
		e := failure(t, s.URL, &card.Options{HTTP: client(t)}, x.kind)
		if name == "busy" && e.RetryAfter != 7*time.Second {
			t.Errorf("Retry-After is %v", e.RetryAfter)
		}
	}
}

func TestSlowCard(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "{")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // a byte now and then would not help either: the whole has a deadline
	})
	failure(t, s.URL, &card.Options{HTTP: client(t), Timeout: 50 * time.Millisecond}, card.KindTimeout)
}

func TestCallersOwnEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newSite(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := card.Find(ctx, s.URL, &card.Options{HTTP: client(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Redirects are followed three times, never down to http, and take no credentials to another origin.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	leaked := ""
	other := newSite(t, nil)
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		leaked += r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		mu.Unlock()
		says(cardAt("/rpc"))(w, r)
	})
	hops := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var at int
			fmt.Sscan(r.URL.Query().Get("hop"), &at)
			if at == n {
				says(cardAt("/rpc"))(w, r)
				return
			}
			http.Redirect(w, r, fmt.Sprintf("%s?hop=%d", wellKnown, at+1), http.StatusFound)
		}
	}
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer s3cret")
		r.Header.Set("X-Api-Key", "s3cret")
		return nil
	}
	three := newSite(t, map[string]http.HandlerFunc{wellKnown: hops(3)})
	find(t, three.URL, &card.Options{HTTP: client(t), Authorize: authorize})
	four := newSite(t, map[string]http.HandlerFunc{wellKnown: hops(4)})
	failure(t, four.URL, &card.Options{HTTP: client(t)}, card.KindRedirect)

	away := newSite(t, map[string]http.HandlerFunc{wellKnown: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/moved.json", http.StatusMovedPermanently)
	}})
	f := find(t, away.URL, &card.Options{HTTP: client(t), Authorize: authorize})
	if f.URL != other.URL+"/moved.json" || f.Interface.URL != other.URL+"/rpc" {
		t.Errorf("found at %s, interface %s", f.URL, f.Interface.URL)
	}
	mu.Lock()
	defer mu.Unlock()
	if leaked != "" {
		t.Errorf("credentials went to another origin: %q", leaked)
	}

	tls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://plain.example/card.json", http.StatusFound)
	}))
	t.Cleanup(tls.Close)
	var dialled []string
	e := failure(t, "https://agent.example", &card.Options{HTTP: web(t, tls, &dialled)}, card.KindRedirect)
	if e.Target != "http://plain.example/card.json" || strings.Contains(fmt.Sprint(dialled), "plain") {
		t.Errorf("target %q, dialled %v", e.Target, dialled)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	failure(t, "http://nowhere.example", &card.Options{HTTP: web(t, s.Server, nil)}, card.KindDNS)
	failure(t, "http://127.0.0.1:1", &card.Options{HTTP: client(t)}, card.KindRefused)
	// Plain HTTP where TLS is spoken to.
	failure(t, "https://"+s.Listener.Addr().String(), &card.Options{HTTP: client(t)}, card.KindTLS)
	// A certificate that nobody vouches for.
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = nil
	tls.StartTLS()
	t.Cleanup(tls.Close)
	if e := failure(t, tls.URL, &card.Options{HTTP: client(t)}, card.KindTLS); e.Retry {
		t.Error("trying again does not make a certificate better")
	}
	failure(t, "http://agent.example", nil, card.KindBlocked)
}

// Without a scheme https comes first, except for this machine; http is tried in the house only.
func TestSchemeGuess(t *testing.T) {
	t.Parallel()
	plain := newSite(t, map[string]http.HandlerFunc{wellKnown: says(cardAt("/"))})
	f := find(t, "box.lan:8080", &card.Options{HTTP: web(t, plain.Server, nil)})
	if f.URL != "http://box.lan:8080"+wellKnown || !strings.Contains(strings.Join(f.Notes, " "), "plain http") {
		t.Errorf("found at %s, notes %q", f.URL, f.Notes)
	}
	var dialled []string
	failure(t, "agent.example", &card.Options{HTTP: web(t, plain.Server, &dialled)}, card.KindTLS)
	if d := cmp.Diff([]string{"agent.example:443"}, dialled); d != "" {
		t.Error(d)
	}
}

// With a sign-in a host without a scheme is asked over plain http in the house only, an odd port or not.
func TestSchemeGuessWithSignIn(t *testing.T) {
	t.Parallel()
	plain := newSite(t, map[string]http.HandlerFunc{wellKnown: says(cardAt("/"))})
	authorize := func(_ context.Context, r *http.Request) error { r.Header.Set("Authorization", "Bearer x"); return nil }
	o := func() *card.Options { return &card.Options{HTTP: web(t, plain.Server, nil), Authorize: authorize} }
	failure(t, "agent.example:8080", o(), card.KindTLS)
	failure(t, "8.8.8.8:8080", o(), card.KindTLS)
	if n := len(plain.paths()); n > 0 {
		t.Errorf("%d requests came over plain http", n)
	}
	for _, in := range []string{"box.lan:8080", "10.0.0.1:8080", "localhost:8080", "http://agent.example:8080"} {
		find(t, in, o())
	}
	find(t, "agent.example:8080", &card.Options{HTTP: web(t, plain.Server, nil)})
}

// A card from a2a-go and others: what it needs is sent with the request.
func TestRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A2A-Version") != "1.0" || r.Header.Get("Accept") != "application/json" || r.Header.Get("Cookie") != "" {
			t.Errorf("headers %v", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "track", Value: "you"})
		if strings.HasSuffix(r.URL.Path, legacy) {
			says(cardAt(s.URL))(w, r)
			return
		}
		http.NotFound(w, r)
	})
	find(t, s.URL, &card.Options{HTTP: client(t)})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		cardAt("http://127.0.0.1/"), `["a",{"name":"x"}]`, "a2a://x?url=y", "http://[::1]:80/x", "\ufeff{}", "[::1]", "//x", "a:b:c",
		`{"name":"x","url":"//evil","protocolVersion":"0.3.0"}`, "%zz", "http://%41/", "x\\y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found, err := card.Find(t.Context(), s, &card.Options{NoFiles: true})
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d found, error %v", len(found), err)
		}
		for _, x := range found {
			if x.Err != nil {
				continue
			}
			if x.Interface.URL == "" || x.Hash == "" || !json.Valid(x.JSON) {
				t.Fatalf("found %+v", x)
			}
			x.Origins()
		}
	})
}
