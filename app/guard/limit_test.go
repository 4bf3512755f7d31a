package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func contextWithLocal(t *testing.T, addr net.Addr) context.Context {
	return context.WithValue(t.Context(), http.LocalAddrContextKey, addr)
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	p := open(t, &Options{Bodies: map[string]int64{"/large": limit + 5}}, nil)
	for _, c := range []struct {
		path string
		n    int
		want int
	}{
		{"/", 0, 200},
		{"/", limit - 1, 200},
		{"/", limit, 200},
		{"/", limit + 1, 413},
		{"/large", limit + 4, 200},
		{"/large", limit + 5, 200},
		{"/large", limit + 6, 413},
	} {
		n, want := c.n, c.want
		body := strings.Repeat("x", n)
		if got := p.do(t, "POST", c.path, body).StatusCode; got != want {
			t.Errorf("%d bytes with a length to %s: %d, want %d", n, c.path, got, want)
		}
		// In chunks nobody knows the length before.
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+p.addr+c.path, io.MultiReader(strings.NewReader(body)))
		resp, err := p.client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes in chunks to %s: %d, want %d", n, c.path, resp.StatusCode, want)
		}
	}
	ran := p.ran.Load()
	if resp := p.raw(t, "POST / HTTP/1.1\r\nHost: "+p.addr+"\r\nContent-Length: 8388609\r\n\r\n"); status(resp) != 413 || p.ran.Load() != ran {
		t.Errorf("a body that is declared too large: %d, and the handler ran %d times", status(resp), p.ran.Load()-ran)
	}
}

func TestHeaderSize(t *testing.T) {
	t.Parallel()
	const limit = 32 << 10
	p := open(t, nil, nil)
	for _, n := range []int{limit - 1, limit, limit + 1, limit + 10_000, 10 * limit} {
		head := "GET / HTTP/1.1\r\nHost: " + p.addr + "\r\nX-Fill: "
		head += strings.Repeat("x", n-len(head)-len("\r\n")) + "\r\n"
		if len(head) != n {
			t.Fatalf("%d bytes, meant to be %d", len(head), n)
		}
		want := 200
		if n > limit {
			want = 431
		}
		if got := status(p.raw(t, head+"\r\n")); got != want {
			t.Errorf("a header of %d bytes: %d, want %d", n, got, want)
		}
	}
	// Many small ones weigh as much as a large one.
	head := "GET / HTTP/1.1\r\nHost: " + p.addr + "\r\n" + strings.Repeat("A: b\r\n", limit/6)
	if got := status(p.raw(t, head+"\r\n")); got != 431 {
		t.Errorf("many headers: %d", got)
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{3, 4096} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if limit > 100 {
			// The shipped number is looked at, not filled: that takes more files than a test should open.
			if got := New(ln.Addr(), nil).o.Connections; got != limit {
				t.Errorf("%d connections, want %d", got, limit)
			}
			ln.Close()
			continue
		}
		limited := New(ln.Addr(), &Options{Connections: limit}).Listen(ln)
		t.Cleanup(func() { limited.Close() })
		accepted := make(chan net.Conn, limit+1)
		go func() {
			for {
				c, err := limited.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		var last net.Conn
		for range limit + 1 {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
		for range limit {
			last = <-accepted
		}
		select {
		case <-accepted:
			t.Errorf("connection %d was accepted beside %d others", limit+1, limit)
		case <-time.After(50 * time.Millisecond): // it must not come: there is nothing to wait for
		}
		last.Close()
		(<-accepted).Close()
	}
}

// TestSlowHeader and TestSlowBody send byte by byte.
func TestSlowHeader(t *testing.T) {
	t.Parallel()
	p := open(t, &Options{HeaderTime: 100 * time.Millisecond}, nil)
	began := time.Now()
	if resp := p.raw(t, "GET / HTTP/1.1\r\nHost: "+p.addr+"\r\nX-Slow: "); resp != nil && resp.StatusCode != 408 && resp.StatusCode != 400 {
		t.Errorf("%d", resp.StatusCode)
	}
	if took := time.Since(began); took > 5*time.Second || p.ran.Load() != 0 {
		t.Errorf("it took %v; the handler ran %d times", took, p.ran.Load())
	}
	if s := New(nil, nil).Server(nil); s.ReadHeaderTimeout != 5*time.Second || s.IdleTimeout != time.Minute || s.WriteTimeout != 0 || s.MaxHeaderBytes != 32<<10 {
		t.Errorf("shipped: %v, %v, %v, %d", s.ReadHeaderTimeout, s.IdleTimeout, s.WriteTimeout, s.MaxHeaderBytes)
	}
}

func TestSlowBody(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
		p := open(t, &Options{BodyTime: 100 * time.Millisecond}, nil)
		began := time.Now()
		resp := p.raw(t, "POST / HTTP/1.1\r\nHost: "+p.addr+"\r\n"+kind+"\r\n\r\n1\r\nx\r\n")
		if status(resp) == 200 || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %d after %v", kind, status(resp), time.Since(began))
		}
	}
}

// TestStreamOutlivesBodyTime reads a body in time and goes on answering for longer.
func TestStreamOutlivesBodyTime(t *testing.T) {
	t.Parallel()
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprint("chunked ", chunked), func(t *testing.T) {
			t.Parallel()
			const bodyTime = 100 * time.Millisecond
			p := openHandler(t, &Options{BodyTime: bodyTime}, nil, func(w http.ResponseWriter, r *http.Request) {
				// As a decoder does that knows when it has enough: the end of the body is not read.
				buf := make([]byte, 5)
				if _, err := io.ReadFull(r.Body, buf); err != nil {
					t.Errorf("body: %v", err)
				}
				if chunked {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				for range 10 {
					select {
					case <-r.Context().Done():
						t.Errorf("the stream was cut: %v", context.Cause(r.Context()))
						return
					case <-time.After(bodyTime / 2):
						fmt.Fprint(w, "x")
						_ = http.NewResponseController(w).Flush()
					}
				}
			})
			var body io.Reader = strings.NewReader("hello")
			if chunked {
				body = io.MultiReader(body)
			}
			r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+p.addr, body)
			resp, err := p.client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := text(t, resp); got != strings.Repeat("x", 10) {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestKeepAlive sends two requests on one connection, the first with a body that is never read.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	p := openHandler(t, nil, nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	br := bufio.NewReader(conn)
	for i := range 3 {
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: "+p.addr+"\r\nContent-Length: 5\r\n\r\nhello"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// TestMalformed sends seeded nonsense: the server answers with a client's error or closes, and goes on.
func TestMalformed(t *testing.T) {
	t.Parallel()
	p := open(t, nil, nil)
	for _, request := range []string{
		"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "get / http/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost " + p.addr + "\r\n\r\n",
		"GET /%zz HTTP/1.1\r\nHost: " + p.addr + "\r\n\r\n", "POST / HTTP/1.1\r\nHost: " + p.addr + "\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: " + p.addr + "\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: " + p.addr + "\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1",
		"POST / HTTP/1.1\r\nHost: " + p.addr + "\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nHost: " + p.addr + "\r\nX: a\x00b\r\n\r\n", "GET " + strings.Repeat("/", 40_000) + " HTTP/1.1\r\nHost: " + p.addr + "\r\n\r\n",
	} {
		if resp := p.raw(t, request+"\r\n\r\n"); resp != nil && (resp.StatusCode < 400 || resp.StatusCode >= 500 && resp.StatusCode != 505 && resp.StatusCode != 501) {
			t.Errorf("%.60q: %s", request, strconv.Itoa(resp.StatusCode))
		}
	}
	if got := p.do(t, "GET", "/", "").StatusCode; got != 200 {
		t.Errorf("afterwards: %d", got)
	}
}

// TestExpectContinue has a client that sends its body only when it is asked to, and is turned away before: it gets the
// answer at once, not when the time for the body is over.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	p := openHandler(t, nil, nil, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	for _, kind := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked", "Content-Length: 10000000"} {
		began := time.Now()
		resp := p.raw(t, "POST / HTTP/1.1\r\nHost: "+p.addr+"\r\nExpect: 100-continue\r\n"+kind+"\r\n\r\n")
		if took := time.Since(began); status(resp) != 401 && status(resp) != 413 || took > 5*time.Second {
			t.Errorf("%s: %d after %v", kind, status(resp), took)
		}
	}
}
