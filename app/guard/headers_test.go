package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	p := openPages(t, t.TempDir(), nil)
	cookie := p.login(t)
	// Good answers and refusals alike.
	for name, resp := range map[string]*http.Response{
		"page":       p.do(t, "GET", "/", "", "Cookie", cookie),
		"no session": p.do(t, "GET", "/", ""),
		"script":     p.do(t, "GET", "/enter.js", ""),
		"forgery":    p.do(t, "POST", "/x", "", "Cookie", cookie, "Origin", "http://evil.example"),
		"preflight":  p.do(t, "OPTIONS", "/x", "", "Cookie", cookie, "Origin", "http://evil.example", "Access-Control-Request-Method", "POST"),
	} {
		for header, want := range map[string]string{
			"Content-Security-Policy":      PageCSP,
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"X-Frame-Options":              "DENY",
			"X-Dns-Prefetch-Control":       "off",
			"Permissions-Policy":           permissions,
		} {
			if got := resp.Header.Values(header); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		for header := range resp.Header {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s: %s", name, header)
			}
		}
	}
	const want = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types parley"
	if PageCSP != want {
		t.Errorf("the policy is\n%s", PageCSP)
	}
}

// TestAnswerHeaders holds what a listener without pages says beside the answer itself.
func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	p := open(t, &Options{NoPages: true}, nil)
	want := map[string]string{
		"Content-Security-Policy": AnswerCSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Content-Type": "text/plain; charset=utf-8", "Content-Length": "6",
	}
	resp := p.do(t, "GET", "/", "")
	for header, values := range resp.Header {
		if header != "Date" && header != "Connection" && (len(values) != 1 || values[0] != want[header]) {
			t.Errorf("%s: %q", header, values)
		}
		delete(want, header)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestRefusal holds every refusal that a client of the listener can meet to the form that the listener speaks.
func TestRefusal(t *testing.T) {
	t.Parallel()
	own := func(w http.ResponseWriter, _ *http.Request, status int, sentence string) {
		w.Header().Set("Content-Type", "application/x-own")
		w.WriteHeader(status)
		fmt.Fprint(w, sentence)
	}
	drain, s := NewDrain(), &tokens{}
	good := s.add("alice")
	p := open(t, &Options{Refuse: own, Drain: drain, Body: 8}, func(_ net.Addr, h http.Handler) http.Handler {
		return NewKeys(s.lookup, &BearerOptions{Refuse: own}).Bearer(h)
	})
	check := func(name string, status int, resp *http.Response) {
		t.Helper()
		if body := text(t, resp); resp.StatusCode != status || resp.Header.Get("Content-Type") != "application/x-own" || body == "" {
			t.Errorf("%s: %d %v %q", name, resp.StatusCode, resp.Header, body)
		}
	}
	check("no token", 401, p.do(t, "POST", "/", ""))
	check("wrong token", 401, p.do(t, "POST", "/", "", "Authorization", "Bearer no"))
	check("too large", 413, p.do(t, "POST", "/", "123456789", "Authorization", "Bearer "+good))
	s.err = errors.New("gone")
	check("no store", 503, p.do(t, "POST", "/", "", "Authorization", "Bearer "+good))
	drain.Begin("test")
	check("draining", 503, p.do(t, "POST", "/", "", "Authorization", "Bearer "+good))
}
