package card_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2aclient/card"
)

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
