package card_test

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

	"go.uber.org/goleak"

	"parley/a2aclient/card"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func bearer(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer x")
	return nil
}
