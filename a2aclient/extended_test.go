package a2aclient_test

import (
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// The extended card is asked for in the way of the agent's version, and once.
func TestCheck27ExtendedCard(t *testing.T) {
	t.Parallel()
	rpc := func(t *turn) { t.result(extendedCard) }
	get := func(t *turn) { t.body(200, extendedCard) }
	page := func(t *turn) {
		t.Header().Set("Content-Type", "text/html")
		t.ResponseWriter.Write([]byte("<!doctype html><title>x</title>"))
	}
	const name = "/agent/authenticatedExtendedCard"
	for label, x := range map[string]struct {
		version, path string
		methods       map[string]func(*turn)
		called        string
	}{
		"v1.0":           {"1.0", "/a/rpc", map[string]func(*turn){"GetExtendedAgentCard": rpc}, "GetExtendedAgentCard"},
		"v0.3":           {"0.3", "/a/rpc", map[string]func(*turn){"agent/getAuthenticatedExtendedCard": rpc}, "agent/getAuthenticatedExtendedCard"},
		"v0.2 appended":  {"0.2", "/a/b/rpc", map[string]func(*turn){"GET /a/b" + name: get}, "GET /a/b" + name},
		"v0.2 relative":  {"0.2", "/a/b/rpc", map[string]func(*turn){"GET /a" + name: get}, "GET /a/b" + name + " GET /a" + name},
		"v0.2 root":      {"0.2", "/a/b/rpc", map[string]func(*turn){"GET " + name: get, "GET /a" + name: page}, "GET /a/b" + name + " GET /a" + name + " GET " + name},
		"v0.2 below":     {"0.2", "/rpc", map[string]func(*turn){"GET /rpc" + name: get}, "GET " + name + " GET /rpc" + name},
		"v0.2 by method": {"0.2", "/", map[string]func(*turn){"agent/getAuthenticatedExtendedCard": rpc}, "GET " + name + " agent/getAuthenticatedExtendedCard"},
		"v0.3 by GET":    {"0.3", "/", map[string]func(*turn){"GET " + name: get}, "agent/getAuthenticatedExtendedCard GetExtendedAgentCard GET " + name},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, x.methods)
			c := a.at(a2a.AgentInterface{URL: a.URL + x.path, Binding: "JSONRPC", Version: x.version}, nil)
			for range 2 {
				if got, err := c.ExtendedCard(ctx(t)); err != nil || got.Name != "More" {
					t.Errorf("%v, %v", got, err)
				}
			}
			if a.called() != x.called {
				t.Errorf("called %s\nwant %s", a.called(), x.called)
			}
		})
	}
}

// What keeps the extended card from being shown is told as it is, and asked for again the next time.
func TestExtendedCardRefused(t *testing.T) {
	t.Parallel()
	for label, x := range map[string]struct {
		version string
		f       func(*turn)
		kind    card.Kind
	}{
		"v1.0 401":            {"1.0", func(t *turn) { t.Header().Set("WWW-Authenticate", "Bearer"); t.WriteHeader(401) }, card.KindUnauthenticated},
		"v1.0 not configured": {"1.0", func(t *turn) { t.fail(-32007, "no extended card") }, card.KindUnsupported},
		"v0.2 401":            {"0.2", func(t *turn) { t.WriteHeader(401) }, card.KindUnauthenticated},
		"v0.2 403":            {"0.2", func(t *turn) { t.WriteHeader(403) }, card.KindForbidden},
		"v0.2 503":            {"0.2", func(t *turn) { t.WriteHeader(503) }, card.KindUnavailable},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			f := x.f
			g := func(t *turn) { f(t) }
			a := newAgent(t, map[string]func(*turn){"GetExtendedAgentCard": g, "GET /agent/authenticatedExtendedCard": g})
			c := a.client(x.version, &a2aclient.Options{})
			_, err := c.ExtendedCard(ctx(t))
			kindOf(t, err, x.kind)
			f = func(t *turn) {
				if strings.HasPrefix(t.Method, "GET") {
					t.body(200, extendedCard)
					return
				}
				t.result(extendedCard)
			}
			if got, err := c.ExtendedCard(ctx(t)); err != nil || got.Name != "More" {
				t.Errorf("afterwards %v, %v", got, err)
			}
		})
	}
}
