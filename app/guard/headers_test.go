package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
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
		return Bearer(s.lookup, &BearerOptions{Refuse: own})(h)
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

func TestFrame(t *testing.T) {
	t.Parallel()
	const csp = "default-src 'none'; sandbox allow-scripts; frame-ancestors 'self'"
	h := Headers(PageCSP)(Frame(csp)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	w := ask(h, "/")
	if got := w.Header().Values("Content-Security-Policy"); len(got) != 1 || got[0] != csp || w.Header().Get("X-Frame-Options") != "SAMEORIGIN" {
		t.Errorf("%v", w.Header())
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind  string
		inline      bool
		disposition string
		contentType string
		sandbox     bool
	}{
		{"a.png", "image/png", true, `inline; filename=a.png`, "image/png", true},
		{"a.png", "image/png", false, `attachment; filename=a.png`, "image/png", true},
		{"a.svg", "image/svg+xml", true, `attachment; filename=a.svg`, "image/svg+xml", true},
		{"a.html", "text/html; charset=utf-8", true, `attachment; filename=a.html`, "text/html; charset=utf-8", true},
		{"a.xml", "application/xml", true, `attachment; filename=a.xml`, "application/xml", true},
		{"a.pdf", "application/pdf", true, `inline; filename=a.pdf`, "application/pdf", false},
		{"a.mp4", "video/mp4", true, `inline; filename=a.mp4`, "video/mp4", true},
		{"x", "nonsense\r\nX-Evil: 1", true, `attachment; filename=x`, "application/octet-stream", true},
		{"a b\"c.txt", "text/plain", true, `inline; filename="a b_c.txt"`, "text/plain", true},
		{"résumé.pdf", "application/pdf", false, `attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf`, "application/pdf", false},
		{"../../etc/passwd", "text/plain", false, `attachment; filename=passwd`, "text/plain", true},
		{"x\r\nSet-Cookie: a=b", "text/plain", false, `attachment; filename="xSet-Cookie_ a=b"`, "text/plain", true},
	} {
		w := recorder()
		File(w, tt.name, tt.kind, tt.inline)
		h := w.Header()
		if h.Get("Content-Disposition") != tt.disposition || h.Get("Content-Type") != tt.contentType || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q as %q: %v", tt.name, tt.kind, h)
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "sandbox") != tt.sandbox || strings.Contains(csp, "script-src") {
			t.Errorf("%q as %q: %s", tt.name, tt.kind, csp)
		}
	}
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for in, want := range map[string]string{
		"report.pdf": "report.pdf", "": "file", ".": "file", "..": "file", "/": "file", ".bashrc": "bashrc", "a/b/c.txt": "c.txt", `C:\x\y.txt`: "y.txt",
		"a:b": "a_b", "CON": "_CON", "con.txt": "_con.txt", "COM1": "_COM1", "lpt9.log": "_lpt9.log", "console": "console", "a\x00b": "ab", "a\u202egpj.exe": "agpj.exe",
		"\xff\xfea.txt": "a.txt", "名前.txt": "名前.txt", "a.txt. .": "a.txt", long + ".pdf": strings.Repeat("é", 116) + ".pdf", long: strings.Repeat("é", 120), "x." + long: "x." + strings.Repeat("é", 118),
	} {
		if got := CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", "CON", "\u202e", ". .", "x/..", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := CleanName(s)
		if got == "" || got == "." || got == ".." || strings.ContainsAny(got, "/\\:\x00\r\n") || !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxName+1 {
			t.Errorf("CleanName(%q) = %q", s, got)
		}
	})
}
