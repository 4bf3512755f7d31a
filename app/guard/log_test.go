package guard

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLogCanaries puts secrets into every place of a request and looks for them in the log.
func TestLogCanaries(t *testing.T) {
	t.Parallel()
	s := &tokens{}
	p := openHandler(t, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		NewKeys(s.lookup, nil).Bearer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "CANARY-response") })).ServeHTTP(w, r)
	})
	token := s.add("alice")
	p.do(t, "POST", "/hooks/CANARY-path?q=CANARY-query", `{"text":"CANARY-body"}`, "Authorization", "Bearer "+token, "Cookie", "c=CANARY-cookie", "X-Api-Key", "CANARY-key", "Referer", "http://x/CANARY-referer", "User-Agent", "CANARY-agent")
	p.do(t, "POST", "/plain?q=CANARY-query", "", "Authorization", "Bearer CANARY-wrong")
	eventually(t, "both requests are logged", func() bool { return strings.Count(p.log.String(), `"msg":"request"`) == 2 })
	log := p.log.String()
	if strings.Contains(log, "CANARY") || strings.Contains(log, token) {
		t.Errorf("log:\n%s", log)
	}
	for _, want := range []string{`"path":"/hooks/…"`, `"path":"/plain"`, `"status":200`, `"status":401`, `"method":"POST"`, `"bytes":15`, `"level":"INFO"`, `"level":"DEBUG"`} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is not in the log:\n%s", want, log)
		}
	}
}

// TestPanic gives a plain answer, and none when there was one already.
func TestPanic(t *testing.T) {
	t.Parallel()
	p := openHandler(t, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		panic("CANARY in /home/me/x.go:12")
	})
	resp := p.do(t, "GET", "/", "")
	body := text(t, resp)
	if resp.StatusCode != 500 || strings.Contains(body, "CANARY") || strings.Contains(body, "goroutine") || !strings.Contains(p.log.String(), `"request":"`+panicID(body)+`"`) {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	resp = p.do(t, "GET", "/late", "")
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a broken answer was taken for whole")
	}
	if log := p.log.String(); strings.Count(log, "handler panicked") != 2 || strings.Contains(log, "goroutine") {
		t.Errorf("log:\n%s", log)
	}
}

// panicID is the number that a 500 names.
func panicID(body string) string {
	_, id, _ := strings.Cut(body, "the log as ")
	id, _, _ = strings.Cut(id, ".")
	return id
}

// TestPassThrough checks that what stands in front takes nothing away from a handler: flushing, deadlines, hijacking.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	p := openHandler(t, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if _, ok := w.(http.Flusher); !ok {
			t.Error("no Flusher")
		}
		if r.URL.Path == "/hijack" {
			conn, _, err := c.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
			conn.Close()
			return
		}
		if err := c.Flush(); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(w, bytes.NewReader(make([]byte, 100_000))); err != nil {
			t.Error(err)
		}
	})
	if got := text(t, p.do(t, "GET", "/", "")); len(got) != 100_000 {
		t.Errorf("%d bytes", len(got))
	}
	if got := text(t, p.do(t, "GET", "/hijack", "")); got != "hi" {
		t.Errorf("%q", got)
	}
}

func BenchmarkWrap(b *testing.B) {
	g := New(nil, &Options{Hosts: []string{"example.com"}})
	h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r, _ := http.NewRequest("GET", "/", nil)
	r.RequestURI, r.Host, r.RemoteAddr = "/", "example.com", "127.0.0.1:1"
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header       { return d.h }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
