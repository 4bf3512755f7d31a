package guard

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// plane is a listener behind a guard, with a handler that counts how often it ran.
type plane struct {
	*Guard
	addr string // host:port
	port string
	ran  atomic.Int64
	log  *lockedBuffer
	srv  *http.Server
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// open starts a plane on loopback. wrap puts more in front of the handler; nil puts nothing.
func open(t *testing.T, o *Options, wrap func(net.Addr, http.Handler) http.Handler) *plane {
	t.Helper()
	return openHandler(t, o, wrap, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprint(w, "served")
	})
}

func openHandler(t *testing.T, o *Options, wrap func(net.Addr, http.Handler) http.Handler, h http.HandlerFunc) *plane {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{addr: ln.Addr().String(), log: &lockedBuffer{}}
	_, p.port, _ = net.SplitHostPort(p.addr)
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Logger = slog.New(slog.NewJSONHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.Guard = New(ln.Addr(), &opts)
	var inner http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.ran.Add(1)
		h(w, r)
	})
	if wrap != nil {
		inner = wrap(ln.Addr(), inner)
	}
	p.srv = p.Server(inner)
	go p.srv.Serve(p.Listen(ln))
	t.Cleanup(func() { p.srv.Close() })
	return p
}

// raw sends bytes as they are and returns the answer, nil when the connection was closed without one.
func (p *plane) raw(t *testing.T, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// do sends a request whose headers are given as name, value pairs.
func (p *plane) do(t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := p.client().Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (p *plane) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// status is the status of an answer, 0 without one.
func status(resp *http.Response) int {
	if resp == nil {
		return 0
	}
	return resp.StatusCode
}

// eventually waits for what becomes true soon.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("it did not happen: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}
