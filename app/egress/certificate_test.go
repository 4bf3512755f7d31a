package egress

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// clientCert makes a certificate of a client that signed itself.
func clientCert(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// seen is what the servers of a test were shown.
type seen struct {
	mu    sync.Mutex
	names map[string][]string // by server, the names of certificates; "" for none
}

func (s *seen) of(server string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.names[server]
	s.names[server] = nil
	return all
}

// serveCert starts a server that asks every client for a certificate and, where wanted is set, takes no other.
func (s *seen) serveCert(t *testing.T, name string, wanted *tls.Certificate, roots *x509.CertPool, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := ""
		if len(r.TLS.PeerCertificates) > 0 {
			shown = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		s.mu.Lock()
		s.names[name] = append(s.names[name], shown)
		s.mu.Unlock()
		if h != nil {
			h(w, r)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	if wanted != nil {
		pool := x509.NewCertPool()
		pool.AddCert(wanted.Leaf)
		server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots.AddCert(server.Certificate())
	return server.URL
}

// TestCheck36Certificate shows a client certificate to real TLS servers: to the one origin it is for, and nowhere else,
// whoever asks for it and wherever a redirect leads.
func TestCheck36Certificate(t *testing.T) {
	t.Parallel()
	mine, next := clientCert(t, "mine"), clientCert(t, "next")
	s, roots := &seen{names: map[string][]string{}}, x509.NewCertPool()
	evil := s.serveCert(t, "evil", nil, roots, nil)
	bound := s.serveCert(t, "bound", mine, roots, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, evil, http.StatusFound)
		}
	})
	cert := mine
	credentials := func(context.Context) ([]Bound, error) {
		return []Bound{
			{Origin: bound, Kind: Certificate, Cert: cert},
			{Origin: bound, Kind: Bearer, Secret: func() string { return canary }},
		}, nil
	}
	e := newEgress(t, &Options{Grants: grants{"a": {bound, evil}, "b": {bound}}.of, tls: &tls.Config{RootCAs: roots}})
	c := e.Client(Policy{Agent: "a", Credentials: credentials})
	for range 3 {
		if err := fetch(t, c, bound); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.of("bound"); fmt.Sprint(got) != "[mine mine mine]" {
		t.Errorf("shown to its own origin: %q", got)
	}
	for _, u := range []string{evil, evil + "/?u=" + bound, bound + "/away"} {
		if err := fetch(t, c, u); err != nil {
			t.Fatalf("%s: %v", u, err)
		}
	}
	if got := s.of("evil"); fmt.Sprint(got) != "[  ]" {
		t.Errorf("another origin asked and was shown %q", got)
	}
	s.of("bound")
	// Another agent at the same origin has none, and gets nothing by the first one's connections.
	if err := fetch(t, e.Client(Policy{Agent: "b"}), bound); err == nil {
		t.Error("without a certificate the server answered")
	}
	// A typed address takes one as well: a card may lie behind it.
	if err := fetch(t, e.Client(Policy{Typed: bound, Credentials: credentials}), bound); err != nil {
		t.Error(err)
	}
	if got := s.of("bound"); fmt.Sprint(got) != "[mine]" {
		t.Errorf("typed: %q", got)
	}
	// The next certificate takes the place of the first at once; this server does not take it.
	cert = next
	if err := fetch(t, c, bound); err == nil {
		t.Error("the connection of the certificate before is still used")
	}
	cert = mine
	if err := fetch(t, c, bound); err != nil {
		t.Error(err)
	}
	e.mu.Lock()
	ways := len(e.agents["a"].ways)
	e.mu.Unlock()
	if ways != 2 {
		t.Errorf("%d transports are held, want one with the certificate and one without", ways)
	}
}

// TestCertificateForm refuses what could not be shown.
func TestCertificateForm(t *testing.T) {
	t.Parallel()
	cert := clientCert(t, "mine")
	if err := (Bound{Origin: "https://a.example", Kind: Certificate, Cert: cert}).Check(); err != nil {
		t.Error(err)
	}
	for name, b := range map[string]Bound{
		"plain http": {Origin: "http://a.example", Kind: Certificate, Cert: cert},
		"none":       {Origin: "https://a.example", Kind: Certificate},
		"no key":     {Origin: "https://a.example", Kind: Certificate, Cert: &tls.Certificate{Certificate: cert.Certificate}},
		"no origin":  {Kind: Certificate, Cert: cert},
	} {
		if err := b.Check(); !errors.Is(err, ErrCredential) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var out bytes.Buffer
	b := Bound{Origin: "https://a.example", Kind: Certificate, Cert: cert}
	fmt.Fprintf(&out, "%v %+v %#v %s", b, b, b, []Bound{b})
	if got := out.String(); strings.Count(got, b.String()) != 4 || len(got) > 200 {
		t.Errorf("it printed more than what it is: %s", got)
	}
}
