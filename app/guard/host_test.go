package guard

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// badHosts are request heads that no handler may see. PORT is the port of the listener.
var badHosts = []string{
	"GET / HTTP/1.1\r\nHost:\r\n", "GET / HTTP/1.1\r\nHost: \r\n", "GET / HTTP/1.1\r\n", "GET / HTTP/1.0\r\n",
	"GET / HTTP/1.1\r\nHost: :PORT\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n", "GET / HTTP/1.1\r\nHost: [::1]\r\n",
	"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1:0PORT\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT0\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1:\r\n",
	"GET / HTTP/1.1\r\nHost: 0.0.0.0:PORT\r\n", "GET / HTTP/1.1\r\nHost: [::]:PORT\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.2:PORT\r\n", "GET / HTTP/1.1\r\nHost: 127.1:PORT\r\n",
	"GET / HTTP/1.1\r\nHost: 2130706433:PORT\r\n", "GET / HTTP/1.1\r\nHost: 0x7f000001:PORT\r\n", "GET / HTTP/1.1\r\nHost: 0177.0.0.1:PORT\r\n", "GET / HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:PORT\r\n",
	"GET / HTTP/1.1\r\nHost: [0:0:0:0:0:0:0:1]:PORT\r\n", "GET / HTTP/1.1\r\nHost: ::1:PORT\r\n", "GET / HTTP/1.1\r\nHost: evil.example\r\n", "GET / HTTP/1.1\r\nHost: evil.example:PORT\r\n",
	"GET / HTTP/1.1\r\nHost: 127.0.0.1.nip.io:PORT\r\n", "GET / HTTP/1.1\r\nHost: localhost.evil.example:PORT\r\n", "GET / HTTP/1.1\r\nHost: localhost.:PORT\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1.:PORT\r\n",
	"GET / HTTP/1.1\r\nHost: a.localhost:PORT\r\n", "GET / HTTP/1.1\r\nHost: user@localhost:PORT\r\n", "GET / HTTP/1.1\r\nHost: localhost:PORT, evil.example\r\n", "GET / HTTP/1.1\r\nHost: localhost:PORT/x\r\n",
	"GET / HTTP/1.1\r\nHost: localhost:PORT\r\nHost: evil.example\r\n", "GET / HTTP/1.1\r\nHost: localhost:PORT\r\nHost: localhost:PORT\r\n", "GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost:PORT\r\n",
	"GET http://evil.example/ HTTP/1.1\r\nHost: localhost:PORT\r\n", "GET http://localhost:PORT/ HTTP/1.1\r\nHost: localhost:PORT\r\n", "GET https://localhost:PORT/ HTTP/1.1\r\nHost: localhost:PORT\r\n",
	"CONNECT localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n", "OPTIONS * HTTP/1.1\r\nHost: localhost:PORT\r\n",
	"GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost:PORT\r\n", "GET / HTTP/1.1\r\nHost: evil.example\r\nForwarded: host=localhost:PORT\r\n", "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Host: localhost:PORT\r\nX-Original-Host: localhost:PORT\r\n",
	"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\n", "GET / HTTP/1.1\r\nHost: xn--lcalhost-e2a:PORT\r\n", "GET / HTTP/1.1\r\nHost: localhost:PORT\x00\r\n", "GET / HTTP/1.1\r\n Host: localhost:PORT\r\n",
}

// planes are the three listeners of the program, as far as the guard tells them apart.
func planes(t *testing.T) map[string]*plane {
	return map[string]*plane{
		"pages": open(t, nil, func(addr net.Addr, h http.Handler) http.Handler {
			s, err := OpenSessions(t.TempDir(), addr, &SessionOptions{Public: []string{"/"}})
			if err != nil {
				t.Fatal(err)
			}
			return s.Protect(h)
		}),
		"agents":   open(t, &Options{CSP: AnswerCSP, Hosts: []string{"Parley.example.com"}}, nil),
		"webhooks": open(t, &Options{CSP: AnswerCSP}, func(_ net.Addr, h http.Handler) http.Handler { return NoBrowser(h) }),
	}
}

func TestBadHosts(t *testing.T) {
	t.Parallel()
	for name, p := range planes(t) {
		for _, head := range badHosts {
			head = strings.ReplaceAll(head, "PORT", p.port)
			resp := p.raw(t, head+"\r\n")
			if s := status(resp); s != 0 && s != 400 && s != 421 && s != 505 {
				t.Errorf("%s: %q: %d", name, head, s)
			}
			if n := p.ran.Load(); n > 0 {
				t.Fatalf("%s: the handler ran for %q", name, head)
			}
		}
	}
	if len(badHosts) < 40 {
		t.Errorf("only %d forms", len(badHosts))
	}
}

func TestGoodHosts(t *testing.T) {
	t.Parallel()
	for name, p := range planes(t) {
		hosts := []string{"127.0.0.1:" + p.port, "localhost:" + p.port, "LocalHost:" + p.port, "[::1]:" + p.port}
		if name == "agents" {
			hosts = append(hosts, "parley.example.com", "PARLEY.example.com")
		}
		for i, host := range hosts {
			resp := p.raw(t, "GET /x HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
			if status(resp) != 200 || p.ran.Load() != int64(i+1) {
				t.Errorf("%s: %s: %d", name, host, status(resp))
			}
		}
		if resp := p.raw(t, "GET /x HTTP/1.1\r\nHost: parley.example.com\r\n\r\n"); name != "agents" && status(resp) != 421 {
			t.Errorf("%s answers to the name of another plane: %d", name, status(resp))
		}
	}
}

// TestPlantedHost leaves the check out and shows that TestBadHosts would see it.
func TestPlantedHost(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int64
	srv := &http.Server{ReadTimeout: 200 * time.Millisecond, Handler: Headers(PageCSP)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran.Add(1) }))}
	t.Cleanup(func() { srv.Close() })
	go srv.Serve(ln)
	bare := &plane{addr: ln.Addr().String()}
	_, bare.port, _ = net.SplitHostPort(bare.addr)
	for _, head := range badHosts {
		bare.raw(t, strings.ReplaceAll(head, "PORT", bare.port)+"\r\n")
	}
	if ran.Load() < 20 {
		t.Errorf("without the check the handler ran %d times only: TestBadHosts proves little", ran.Load())
	}
}

// TestBodyIsNotRead turns a request away without waiting for its body.
func TestBodyIsNotRead(t *testing.T) {
	t.Parallel()
	p := open(t, nil, nil)
	resp := p.raw(t, "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000000\r\n\r\nonly this much")
	if status(resp) != 421 {
		t.Errorf("%d", status(resp))
	}
}

// TestNetworkHosts is about a listener that others can reach: the address that they reached it at is a good name too.
func TestNetworkHosts(t *testing.T) {
	t.Parallel()
	local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 443}
	for _, tt := range []struct {
		bound  net.Addr
		secure bool
		hosts  []string
		host   string
		ok     bool
	}{
		{local, true, nil, "192.0.2.7", true},
		{local, true, nil, "192.0.2.7:443", true},
		{local, true, nil, "192.0.2.8", false},
		{local, false, nil, "192.0.2.7", false}, // 443 is not the port of http
		{&net.TCPAddr{IP: net.IPv4zero, Port: 443}, true, nil, "192.0.2.7", true},
		{&net.TCPAddr{IP: net.IPv6unspecified, Port: 443}, true, nil, "192.0.2.7:443", true},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 443}, true, nil, "0.0.0.0", false},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 443}, true, nil, "evil.example", false},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 443}, true, nil, "192.0.2.8", false},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 443}, true, []string{"parley.example"}, "parley.example", true},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443}, true, nil, "192.0.2.7", false},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, false, nil, "localhost", true},
	} {
		h := newHosts(tt.bound, tt.secure, tt.hosts)
		if got := h.answer(tt.host, localAddr(contextWithLocal(t, local))); got != tt.ok {
			t.Errorf("bound to %v, asked as %s: %v", tt.bound, tt.host, got)
		}
	}
}
