package guard

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestTLS speaks each version of HTTP with a listener that has a certificate: what the handshake agrees on is what is served,
// and all that is refused in one is refused in the other.
func TestTLS(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(http.NotFoundHandler())
	known.Close()
	roots := known.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	p := open(t, &Options{TLS: &tls.Config{Certificates: known.TLS.Certificates}, Body: 100, BodyTime: 200 * time.Millisecond}, nil)
	for major, name := range map[int]string{1: "http/1.1", 2: "h2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocols := new(http.Protocols)
			protocols.SetHTTP1(major == 1)
			protocols.SetHTTP2(major == 2)
			tr := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: roots}}
			defer tr.CloseIdleConnections()
			ask := func(body io.Reader, host string) (int, string) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+p.addr+"/", body)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = host
				resp, err := tr.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if resp.ProtoMajor != major {
					t.Errorf("answered in %s", resp.Proto)
				}
				return resp.StatusCode, string(b)
			}
			if status, said := ask(strings.NewReader(strings.Repeat("x", 100)), ""); status != http.StatusOK || said != "served" {
				t.Errorf("%d %s", status, said)
			}
			if status, _ := ask(strings.NewReader(strings.Repeat("x", 101)), ""); status != http.StatusRequestEntityTooLarge {
				t.Errorf("a body over the limit: %d", status)
			}
			if status, _ := ask(nil, "evil.example"); status != http.StatusMisdirectedRequest {
				t.Errorf("another host: %d", status)
			}
			stalled, end := io.Pipe()
			defer end.Close()
			go fmt.Fprint(end, "a")
			if status, _ := ask(stalled, ""); status == http.StatusOK {
				t.Errorf("a body that does not come: %d", status)
			}
		})
	}
}
