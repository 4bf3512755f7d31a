package egress

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrantScope tries to stretch a grant in forty ways. Only exactly what was granted is reached.
func TestGrantScope(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	granted := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a server without a grant was reached") })
	port, otherPort := portIn(t, granted), portIn(t, other)
	s := (&spy{}).let(granted, other)
	e := newEgress(t, &Options{OnDial: s.see, Grants: grants{"mine": {granted}, "theirs": {other}, "none": nil}.of})

	for _, u := range []string{granted, granted + "/", granted + "/x?y=z", "HTTP://127.0.0.1:" + port, "http://[::ffff:127.0.0.1]:" + port} {
		if err := fetch(t, e.Client(Policy{Agent: "mine"}), u); err != nil {
			t.Errorf("%s is granted: %v", u, err)
		}
	}
	want := hits.Load()
	for _, u := range []string{
		"https://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port, "http://127.0.0.2:" + port, "http://127.0.0.1:" + otherPort,
		"http://127.0.0.1", "http://127.0.0.1:80", "http://0.0.0.0:" + port, "http://[::]:" + port, "http://127.1:" + port, "http://2130706433:" + port,
		"http://0x7f.1:" + port, "http://0177.0.0.1:" + port, "http://a@127.0.0.1:" + port, "http://a:b@127.0.0.1:" + port, "http://127.0.0.1.:" + port,
		"http://127.0.0.1:" + port + "@127.0.0.1:" + otherPort, "http://[::127.0.0.1]:" + port, "http://[64:ff9b::7f00:1]:" + port, "ws://127.0.0.1:" + port,
		"http://127.0.0.1.nip.io:" + port, "http://127.0.0.1:0" + port, "http://a.localhost:" + port, "ftp://127.0.0.1:" + port,
	} {
		if err := fetch(t, e.Client(Policy{Agent: "mine"}), u); !refusedOrInvalid(err) {
			t.Errorf("mine, %s: %v", u, err)
		}
	}
	for _, agent := range []string{"theirs", "none", "unknown", "Mine", "mine ", ""} {
		if err := fetch(t, e.Client(Policy{Agent: agent}), granted); !isRefused(err) {
			t.Errorf("%q: %v", agent, err)
		}
	}
	for name, p := range map[string]Policy{
		"public": {Public: true}, "typed other": {Typed: other}, "typed https": {Typed: strings.Replace(granted, "http:", "https:", 1)},
		"typed nonsense": {Typed: "nonsense"}, "none and public": {Agent: "none", Public: true}, "theirs and typed localhost": {Agent: "theirs", Typed: "http://localhost:" + port},
	} {
		if err := fetch(t, e.Client(p), granted); !isRefused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Another Host in the request than in the address is another site.
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, granted, nil)
	r.Host = "internal.example"
	if _, err := e.Client(Policy{Agent: "mine"}).Do(r); !isRefused(err) {
		t.Errorf("another Host: %v", err)
	}
	if got := hits.Load(); got != want {
		t.Errorf("%d requests arrived, want %d", got, want)
	}
	if i := slices.IndexFunc(s.through(), func(a string) bool { return a != strings.TrimPrefix(granted, "http://") }); i >= 0 {
		t.Errorf("let through: %v", s.through())
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "card") })
	e := newEgress(t, &Options{OnDial: (&spy{}).let(origin).see})
	resp, err := get(t, e.Client(Policy{Typed: origin + "/.well-known/agent-card.json", Content: Card}), origin+"/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "card" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestRevoke takes a grant back: at once for the next request, by Forget also for the one that is open.
func TestRevoke(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			close(started)
			<-r.Context().Done()
		}
	})
	var revoked atomic.Bool
	e := newEgress(t, &Options{Grants: func(context.Context, string) []string {
		if revoked.Load() {
			return nil
		}
		return []string{origin}
	}})
	c := e.Client(Policy{Agent: "a"})
	if err := fetch(t, c, origin); err != nil {
		t.Fatal(err)
	}
	stream, err := get(t, c, origin+"/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	<-started
	revoked.Store(true)
	if err := fetch(t, c, origin); !isRefused(err) {
		t.Errorf("after the grant was revoked: %v", err)
	}
	e.Forget("a")
	if _, err := io.ReadAll(stream.Body); !isRefused(err) {
		t.Errorf("an open stream of a forgotten agent: %v", err)
	}
	e.Close()
	revoked.Store(false)
	if err := fetch(t, c, origin); !isRefused(err) {
		t.Errorf("after Close: %v", err)
	}
}

// TestConnectionsAreNotShared shows that an agent reuses its own connection, and no agent another's.
func TestConnectionsAreNotShared(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	e := newEgress(t, &Options{Grants: grants{"a": {s.URL}, "b": {s.URL}}.of})
	var reused []bool
	for _, agent := range []string{"a", "a", "b", "a", "b"} {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = append(reused, i.Reused) }})
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		resp, err := e.Client(Policy{Agent: agent}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if diff := cmp.Diff([]bool{false, true, false, true, true}, reused); diff != "" || conns.Load() != 2 {
		t.Errorf("%d connections (-want +got):\n%s", conns.Load(), diff)
	}
}

// TestNoProxy points every variable of the environment at a canary.
func TestNoProxy(t *testing.T) {
	canary := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, canary)
	}
	origin := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := (&spy{}).let(origin)
	e := newEgress(t, &Options{OnDial: s.see, Grants: grants{"a": {origin, "http://a.example"}}.of})
	if err := fetch(t, e.Client(Policy{Agent: "a"}), origin); err != nil {
		t.Error(err)
	}
	_ = fetch(t, e.Client(Policy{Agent: "a"}), "http://a.example") // has no address here, or one the spy refuses
	for _, a := range s.through() {
		if a == strings.TrimPrefix(canary, "http://") {
			t.Error("the proxy was dialled")
		}
	}
}

func TestBadTLSIsRefused(t *testing.T) {
	t.Parallel()
	origin, roots := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	if err := fetch(t, newEgress(t, &Options{Grants: grants{"a": {origin}}.of}).Client(Policy{Agent: "a"}), origin); err == nil {
		t.Error("a certificate of nobody was accepted")
	}
	if err := fetch(t, newEgress(t, &Options{Grants: grants{"a": {origin}}.of, tls: roots}).Client(Policy{Agent: "a"}), origin); err != nil {
		t.Error(err)
	}
}

func TestRequestBodyIsClosed(t *testing.T) {
	t.Parallel()
	body := &closing{Reader: strings.NewReader("x")}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.example", body)
	if _, err := newEgress(t, nil).Client(Policy{}).Do(r); !isRefused(err) {
		t.Fatal(err)
	}
	if !body.closed.Load() {
		t.Error("the body of a refused request stays open")
	}
}

type closing struct {
	io.Reader
	closed atomic.Bool
}

func (c *closing) Close() error { c.closed.Store(true); return nil }

func portIn(t *testing.T, origin string) string {
	t.Helper()
	u, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}
