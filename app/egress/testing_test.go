package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// spy sees every dial. Nothing but its own canaries is ever connected to: what the checks would let through to elsewhere
// is written down and refused.
type spy struct {
	mu       sync.Mutex
	canaries []string // ip:port
	passed   []string // addresses that the checks let through, canaries included
	refused  []string
}

var errSpy = errors.New("the test lets nothing leave this machine")

func (s *spy) see(_, address string, verdict error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if verdict != nil {
		s.refused = append(s.refused, address)
		return nil
	}
	s.passed = append(s.passed, address)
	if !slices.Contains(s.canaries, address) {
		return errSpy
	}
	return nil
}

func (s *spy) let(urls ...string) *spy {
	for _, u := range urls {
		s.canaries = append(s.canaries, strings.TrimPrefix(strings.TrimPrefix(u, "http://"), "https://"))
	}
	return s
}

func (s *spy) through() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.passed)
}

// grants is a fixed table of grants.
type grants map[string][]string

func (g grants) of(_ context.Context, agent string) []string { return g[agent] }

// newEgress returns an Egress that ends with the test.
func newEgress(t *testing.T, o *Options) *Egress {
	t.Helper()
	e := New(o)
	t.Cleanup(e.Close)
	return e
}

// serve starts a server on loopback and returns its origin.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// serveTLS is serve with TLS; roots makes a client trust it.
func serveTLS(t *testing.T, h http.HandlerFunc) (origin string, roots *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s.URL, &tls.Config{RootCAs: pool}
}

func get(t *testing.T, c *http.Client, rawURL string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(r)
}

// fetch gets a URL and returns the error, if any, of getting and closing it.
func fetch(t *testing.T, c *http.Client, rawURL string) error {
	t.Helper()
	resp, err := get(t, c, rawURL)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*Refused](err)
	return ok
}

// refusedOrInvalid also takes an address that net/url does not read at all.
func refusedOrInvalid(err error) bool {
	if isRefused(err) {
		return true
	}
	e, ok := errors.AsType[*url.Error](err)
	return ok && e.Op == "parse"
}

func first(p netip.Prefix) netip.Addr { return p.Masked().Addr() }

// last is the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func hostPort(ip netip.Addr, port string) string { return net.JoinHostPort(ip.String(), port) }
