package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What certificate an agent showed is known, and of no other agent.
func TestSeen(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	e := newEgress(t, &Options{Grants: grants{"a": {server.URL}, "b": {server.URL}}.of, tls: &tls.Config{RootCAs: roots}})
	for range 2 {
		resp, err := e.Client(Policy{Agent: "a"}).Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	got := e.Seen("a")
	if len(got) != 1 || got[0].Origin != server.URL || !got[0].Certificate.Equal(server.Certificate()) || got[0].Version != tls.VersionTLS13 || got[0].Since.IsZero() {
		t.Fatalf("got %+v", got)
	}
	if other := e.Seen("b"); len(other) != 0 {
		t.Errorf("of an agent that was not called: %+v", other)
	}
	e.Forget("a")
	if gone := e.Seen("a"); len(gone) != 0 {
		t.Errorf("of one that was forgotten: %+v", gone)
	}
}
