package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func recorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// TestWebSocketOrigins tries every origin with every cookie: only the page's own with a live session passes.
func TestWebSocketOrigins(t *testing.T) {
	t.Parallel()
	p := openPages(t, t.TempDir(), nil)
	good := p.login(t)
	passed, tried := 0, 0
	for _, origin := range []string{
		"http://" + p.addr, "", "null", "http://evil.example", "http://evil.example:" + p.plane.port, "https://" + p.addr, "http://127.0.0.1", "http://127.0.0.1:1",
		"http://localhost:" + p.plane.port, "http://[::1]:" + p.plane.port, "wails://wails", "wails://wails.localhost", "file://", "chrome-extension://abc", "http://" + p.addr + "/",
		"http://" + p.addr + ".evil.example", "http://user@" + p.addr, "HTTP://" + p.addr, "http://127.0.0.1.nip.io:" + p.plane.port, p.addr,
	} {
		for _, cookie := range []string{good, "", good + "x"} {
			for _, site := range []string{"", "same-origin", "same-site", "cross-site", "none"} {
				tried++
				r := httptest.NewRequest("GET", "/ws", nil)
				r.Host = p.addr
				if origin != "" {
					r.Header.Set("Origin", origin)
				}
				if cookie != "" {
					r.Header.Set("Cookie", cookie)
				}
				if site != "" {
					r.Header.Set("Sec-Fetch-Site", site)
				}
				ok := p.CheckWebSocket(r) == nil
				if want := origin == "http://"+p.addr && cookie == good && (site == "" || site == "same-origin"); ok != want {
					t.Errorf("origin %q, cookie %q, site %q: %v", origin, cookie, site, ok)
				}
				if ok {
					passed++
				}
			}
		}
	}
	if passed != 2 || tried < 30 {
		t.Errorf("%d of %d passed", passed, tried)
	}
	r := httptest.NewRequest("GET", "/ws", nil)
	r.Host = p.addr
	r.Header["Origin"] = []string{"http://" + p.addr, "http://evil.example"}
	r.Header.Set("Cookie", good)
	if p.CheckWebSocket(r) == nil {
		t.Error("two origins passed")
	}
}

// kinds are requests that a page of another origin can make a browser send, or a program without the session.
var kinds = []struct {
	name    string
	headers []string
}{
	{"text", []string{"Content-Type", "text/plain", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
	{"form", []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
	{"multipart", []string{"Content-Type", "multipart/form-data; boundary=x", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
	{"no type", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
	{"JSON", []string{"Content-Type", "application/json", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
	{"null origin", []string{"Content-Type", "application/json", "Origin", "null"}},
	{"another port", []string{"Content-Type", "application/json", "Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}},
	{"no headers", nil},
	{"no origin", []string{"Content-Type", "application/json", "Sec-Fetch-Site", "same-origin"}},
	{"origin without fetch metadata", []string{"Content-Type", "application/json", "Origin", "http://evil.example"}},
	{"https of the same", []string{"Content-Type", "application/json", "Origin", "https://HOST"}},
	{"typed into the address bar", []string{"Content-Type", "application/json", "Origin", "http://HOST", "Sec-Fetch-Site", "none"}},
}

// forgeries sends every kind to every route, with the cookie of the person, and counts how often a handler ran.
func forgeries(t *testing.T, h http.Handler, host, cookie string, routes []string) (ran int64) {
	t.Helper()
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		for _, k := range kinds {
			r := httptest.NewRequest(method, path, strings.NewReader("{}"))
			r.Host = host
			r.Header.Set("Cookie", cookie)
			for i := 0; i < len(k.headers); i += 2 {
				r.Header.Set(k.headers[i], strings.ReplaceAll(k.headers[i+1], "HOST", host))
			}
			w := recorder()
			h.ServeHTTP(w, r)
			if w.Code != 403 && w.Code != 401 && w.Code != 415 {
				ran++
			}
		}
	}
	return ran
}

var changing = []string{"POST /say", "POST /session", "PUT /agents/x", "PATCH /agents/x", "DELETE /agents/x"}

func TestForgeries(t *testing.T) {
	t.Parallel()
	p := openPages(t, t.TempDir(), nil)
	cookie := p.login(t)
	handler := p.srv.Handler
	if ran := forgeries(t, handler, p.addr, cookie, changing); ran > 0 || p.ran.Load() > 0 {
		t.Errorf("%d forgeries got through", ran)
	}
	// What a page of ours sends gets through, whatever its type: forms are the rule there.
	for _, route := range changing {
		method, path, _ := strings.Cut(route, " ")
		if path == "/session" {
			continue
		}
		for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"} {
			if got := p.do(t, method, path, "{}", "Cookie", cookie, "Origin", "http://"+p.addr, "Sec-Fetch-Site", "same-origin", "Content-Type", kind).StatusCode; got != 200 {
				t.Errorf("our own %s as %s: %d", route, kind, got)
			}
		}
	}
}

// TestPlantedForgery leaves SameOrigin out and shows that TestForgeries would see it.
func TestPlantedForgery(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	if ran := forgeries(t, h, "127.0.0.1:7420", "", changing); ran == 0 {
		t.Error("without the check nothing got through either: TestForgeries proves nothing")
	}
}

// TestAgentPlaneForgeries is the same for a plane without a token, as it is with --a2a-auth none. What a browser of old
// sends without saying where it comes from has the type of a form, which whoever reads a call refuses.
func TestAgentPlaneForgeries(t *testing.T) {
	t.Parallel()
	h := NoBrowser(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") == "application/json" {
			t.Errorf("a call got through: %v", r.Header)
		}
	}))
	if ran := forgeries(t, h, "127.0.0.1:7421", "", []string{"POST /", "PUT /x", "PATCH /x"}); ran > 3 {
		t.Errorf("%d forgeries got through", ran)
	}
}
