package a2aclient_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// A message follows one redirect, to the same address but for a slash; any other is shown, and nothing goes there.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	reached := map[string]int{}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		reached["other"]++
		mu.Unlock()
	}))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		reached[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/rpc/" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, task("COMPLETED"))
			return
		}
		to, code := r.URL.Query().Get("to"), http.StatusTemporaryRedirect
		fmt.Sscan(r.URL.Query().Get("code"), &code)
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	at := func(path string) *a2aclient.Client {
		c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: s.URL + path, Binding: "JSONRPC", Version: "1.0"}, quick(&a2aclient.Options{
			Authorize: func(_ context.Context, r *http.Request) error { r.Header.Set("X-Api-Key", "s3cret"); return nil },
		}))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mux := http.NewServeMux() // what Go's own router does
	mux.HandleFunc("/rpc/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, task("COMPLETED"))
	})
	hits := 0
	slash := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rpc" {
			hits++
			w.Header().Set("Location", "/rpc/")
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(slash.Close)
	c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: slash.URL + "/rpc", Binding: "JSONRPC", Version: "1.0"}, quick(nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Send(ctx(t), hello()); err != nil {
			t.Error(err)
		}
	}
	if hits != 1 {
		t.Errorf("the repaired address was not remembered: %d", hits)
	}
	for name, path := range map[string]string{
		"another host":       "/rpc?to=" + other.URL + "/rpc/",
		"another path":       "/rpc?to=/elsewhere",
		"the same":           "/rpc?to=/rpc",
		"another query":      "/rpc?to=/rpc/?x=1",
		"found":              "/rpc?code=302&to=/rpc/",
		"moved":              "/rpc?code=301&to=/rpc/",
		"see other":          "/rpc?code=303&to=/rpc/",
		"nowhere":            "/rpc?to=",
		"another scheme":     "/rpc?to=https://" + s.Listener.Addr().String() + "/rpc/",
		"with a password":    "/rpc?to=http://me:pw@" + s.Listener.Addr().String() + "/rpc/",
		"not modified":       "/rpc?code=304&to=/rpc/",
		"host that looks so": "/rpc?to=//127.0.0.1.evil.example/rpc/",
	} {
		_, err := at(path).Send(ctx(t), hello())
		e := kindOf(t, err, card.KindRedirect)
		if e.Target == "" || !strings.Contains(e.What, e.Target) || strings.Contains(e.What, "pw") || e.MayHaveRun {
			t.Errorf("%s: %+v", name, e)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if reached["other"] != 0 || reached["/elsewhere"] != 0 {
		t.Errorf("reached %v", reached)
	}
}

// Credentials are added to each request, and to none that would go elsewhere.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) {
		if t.asked("Authorization") != "Bearer s3cret" {
			t.WriteHeader(401)
			return
		}
		t.result(task("COMPLETED"))
	}})
	token := ""
	c := a.client("1.0", &a2aclient.Options{Authorize: func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}})
	_, err := c.Send(ctx(t), hello())
	kindOf(t, err, card.KindUnauthenticated)
	token = "s3cret"
	if _, err := c.Send(ctx(t), hello()); err != nil {
		t.Error(err)
	}
	before := a.called()
	for name, f := range map[string]func(*http.Request) error{
		"host":   func(r *http.Request) error { r.Host = "evil.example"; return nil },
		"url":    func(r *http.Request) error { r.URL.Host = "evil.example"; return nil },
		"port":   func(r *http.Request) error { r.URL.Host = "127.0.0.1:1"; return nil },
		"scheme": func(r *http.Request) error { r.URL.Scheme = "https"; return nil },
		"error":  func(r *http.Request) error { return errors.New("the keychain is locked") },
	} {
		c := a.client("1.0", &a2aclient.Options{Authorize: func(_ context.Context, r *http.Request) error { return f(r) }})
		_, err := c.Send(ctx(t), hello())
		var e *a2aclient.Error
		if !errors.As(err, &e) || e.Kind != card.KindBlocked && e.Kind != card.KindUnauthenticated || e.MayHaveRun {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a.called() != before {
		t.Errorf("called %s", a.called())
	}
}

func TestNeverSent(t *testing.T) {
	t.Parallel()
	dial := func(err error) *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}}
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, x := range map[string]struct {
		http *http.Client
		url  string
		kind card.Kind
	}{
		"no such host": {dial(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", IsNotFound: true}}), "http://agent.example", card.KindDNS},
		"DNS is down":  {dial(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", IsTemporary: true}}), "http://agent.example", card.KindDNS},
		"refused":      {&http.Client{Transport: &http.Transport{}}, closed.URL, card.KindRefused},
		"no route":     {dial(&net.OpError{Op: "dial", Err: errors.New("no route")}), "http://agent.example", card.KindUnreachable},
		"blocked":      {&http.Client{Transport: refusing{errors.New("no")}}, "http://agent.example", card.KindBlocked},
	} {
		c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: x.url, Version: "1.0"}, quick(&a2aclient.Options{HTTP: x.http}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Send(ctx(t), hello())
		if e := kindOf(t, err, x.kind); e.MayHaveRun || e.Do == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"GetTask":     func(t *turn) { t.until() },
		"SendMessage": func(t *turn) { time.Sleep(150 * time.Millisecond); t.result(task("COMPLETED")) },
	})
	c := a.client("1.0", &a2aclient.Options{HeaderTime: 50 * time.Millisecond, SendTime: 10 * time.Second})
	_, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"})
	kindOf(t, err, card.KindTimeout)
	if _, err := c.Send(ctx(t), hello()); err != nil {
		t.Errorf("an agent that works before it answers: %v", err)
	}
}
