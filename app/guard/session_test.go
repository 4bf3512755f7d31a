package guard

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pages is a plane of the local person, with its sessions.
type pages struct {
	*plane
	*Sessions
}

func openPages(t *testing.T, dir string, o *SessionOptions) *pages {
	t.Helper()
	p := &pages{}
	p.plane = open(t, nil, func(addr net.Addr, h http.Handler) http.Handler {
		s, err := OpenSessions(dir, addr, o)
		if err != nil {
			t.Fatal(err)
		}
		p.Sessions = s
		return s.Protect(h)
	})
	return p
}

// own is what a page of ours sends with a post.
func (p *pages) own() []string {
	return []string{"Origin", "http://" + p.addr, "Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}
}

// login exchanges a fresh token and returns the cookie as a header.
func (p *pages) login(t *testing.T) string {
	t.Helper()
	token, _ := p.Token(time.Minute)
	resp := p.do(t, "POST", "/session", `{"token":"`+token+`"}`, p.own()...)
	if resp.StatusCode != http.StatusNoContent || len(resp.Cookies()) != 1 {
		t.Fatalf("login: %d %v", resp.StatusCode, resp.Header)
	}
	return resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
}

func TestEnter(t *testing.T) {
	t.Parallel()
	p := openPages(t, t.TempDir(), nil)
	// The page for a browser without a session needs one script and one style, both ours and within the policy.
	resp := p.do(t, "GET", "/", "", "Accept", "text/html")
	page := text(t, resp)
	if resp.StatusCode != 401 || resp.Header.Get("Content-Security-Policy") != PageCSP || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if strings.Count(page, "<script") != 1 || !strings.Contains(page, `<script src="/enter.js" defer></script>`) || strings.Contains(page, "style=") || strings.Contains(page, "<style") || strings.Contains(page, " on") && strings.Contains(page, "onclick") {
		t.Errorf("the page:\n%s", page)
	}
	for path, kind := range map[string]string{"/enter.js": "text/javascript", "/enter.css": "text/css"} {
		resp := p.do(t, "GET", path, "")
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), kind) || text(t, resp) == "" {
			t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
		}
	}
	if p.ran.Load() != 0 {
		t.Error("the handler ran without a session")
	}

	token, _ := p.Token(time.Minute)
	resp = p.do(t, "POST", "/session", `{"token":"`+token+`"}`, p.own()...)
	if resp.StatusCode != 204 {
		t.Fatalf("%d %s", resp.StatusCode, text(t, resp))
	}
	c := resp.Cookies()[0]
	if c.Name != "parley_"+p.plane.port || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge <= 0 || c.Secure {
		t.Errorf("cookie: %+v", c)
	}
	if got := p.do(t, "GET", "/", "", "Cookie", c.Name+"="+c.Value); got.StatusCode != 200 || p.ran.Load() != 1 {
		t.Errorf("with a session: %d", got.StatusCode)
	}
	// A token is good once.
	if resp := p.do(t, "POST", "/session", `{"token":"`+token+`"}`, p.own()...); resp.StatusCode != 401 || len(resp.Cookies()) != 0 {
		t.Errorf("the second time: %d", resp.StatusCode)
	}
	// Its log knows neither the token nor the session.
	if log := p.log.String(); strings.Contains(log, token) || strings.Contains(log, c.Value) || !strings.Contains(log, "/session") {
		t.Errorf("log:\n%s", log)
	}
}

// TestWithoutSession asks for everything without one.
func TestWithoutSession(t *testing.T) {
	t.Parallel()
	p := openPages(t, t.TempDir(), &SessionOptions{Public: []string{"/open", "/assets/"}})
	for _, path := range []string{"/", "/c/1", "/files/x", "/ws", "/open/", "/opened", "/assets", "/Session", "/session/x", "/enter.js/x", "//enter.js", "/assets/../c/1", "/assets/%2e%2e/c/1"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
			resp := p.do(t, method, path, "", p.own()...)
			if s := resp.StatusCode; s != 401 && s != 403 && s != 307 && s != 405 {
				t.Errorf("%s %s: %d", method, path, s)
			}
		}
	}
	if n := p.ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
	for _, path := range []string{"/open", "/assets/x.js"} {
		if got := p.do(t, "GET", path, "").StatusCode; got != 200 {
			t.Errorf("%s is public: %d", path, got)
		}
	}
	if resp := p.do(t, "GET", "/api", "", "Accept", "application/json"); resp.StatusCode != 401 || strings.Contains(text(t, resp), "<html") {
		t.Errorf("a program gets a page: %d", resp.StatusCode)
	}
}

// TestForgedSessions changes a good session in every place.
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := openPages(t, dir, nil)
	good := p.login(t)
	name, value, _ := strings.Cut(good, "=")
	forged := []string{"", name, name + "=", name + "=x", name + "=..", "parley=" + value, "parley_1=" + value, strings.ToUpper(name) + "=" + value, good + "; " + good, name + "=; " + good}
	for i := range value {
		c := byte('A')
		if value[i] == 'A' {
			c = 'B'
		}
		// The last character of base64 may hold bits that mean nothing; it is compared as it is all the same.
		forged = append(forged, name+"="+value[:i]+string(c)+value[i+1:])
	}
	parts := strings.Split(value, ".")
	later := strconv.FormatInt(time.Now().Add(1000*time.Hour).Unix(), 10)
	forged = append(forged, name+"="+parts[0]+"."+later+"."+parts[2], name+"="+parts[0]+"."+parts[1], name+"="+value+".", name+"="+parts[0]+".x."+parts[2])
	for _, c := range forged {
		if got := p.do(t, "GET", "/", "", "Cookie", c).StatusCode; got != 401 {
			t.Errorf("%q: %d", c, got)
		}
	}
	// A session of another port or of another data directory is worth nothing here.
	for _, other := range []*pages{openPages(t, dir, nil), openPages(t, t.TempDir(), nil)} {
		_, value, _ := strings.Cut(other.login(t), "=")
		if got := p.do(t, "GET", "/", "", "Cookie", name+"="+value).StatusCode; got != 401 {
			t.Errorf("a session from elsewhere: %d", got)
		}
	}
	if n := p.ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
	if got := p.do(t, "GET", "/", "", "Cookie", "other=1; "+good).StatusCode; got != 200 {
		t.Errorf("the good one: %d", got)
	}
}

func TestSessionOutlivesRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}
	request := func(s *Sessions) *http.Request {
		w := recorder()
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "/", nil)
		s.issue(w, r, session{id: "x"})
		r.Header.Set("Cookie", strings.Split(w.Header().Get("Set-Cookie"), ";")[0])
		return r
	}
	first, err := OpenSessions(dir, addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := request(first)
	second, err := OpenSessions(dir, addr, nil)
	if err != nil || !second.Valid(r) {
		t.Errorf("after a restart: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	// A key that others could read, or that is none, is replaced.
	for name, spoil := range map[string]func(string) error{
		"readable": func(p string) error { return os.Chmod(p, 0o644) },
		"short":    func(p string) error { return os.WriteFile(p, []byte("short"), 0o600) },
	} {
		if err := spoil(filepath.Join(dir, keyFile)); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSessions(dir, addr, nil)
		if err != nil || s.Valid(r) {
			t.Errorf("%s key: %v", name, err)
		}
		r = request(s)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, keyFile+".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSessionLife(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	ahead := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	p := openPages(t, t.TempDir(), &SessionOptions{Now: clock})
	cookie := p.login(t)
	ahead(12 * time.Hour)
	if resp := p.do(t, "GET", "/", "", "Cookie", cookie); resp.StatusCode != 200 || len(resp.Cookies()) != 0 {
		t.Errorf("after half a day: %d, renewed %v", resp.StatusCode, resp.Cookies())
	}
	ahead(29 * 24 * time.Hour)
	resp := p.do(t, "GET", "/", "", "Cookie", cookie)
	if resp.StatusCode != 200 || len(resp.Cookies()) != 1 {
		t.Fatalf("after 29 days: %d, renewed %v", resp.StatusCode, resp.Cookies())
	}
	ahead(24 * time.Hour)
	if got := p.do(t, "GET", "/", "", "Cookie", cookie).StatusCode; got != 401 {
		t.Errorf("the old one after 30 days: %d", got)
	}
	if got := p.do(t, "GET", "/", "", "Cookie", p.cookie+"="+resp.Cookies()[0].Value).StatusCode; got != 200 {
		t.Errorf("the renewed one: %d", got)
	}
	ahead(-48 * 24 * time.Hour)
	if got := p.do(t, "GET", "/", "", "Cookie", p.cookie+"="+resp.Cookies()[0].Value).StatusCode; got != 401 {
		t.Errorf("a session from the future: %d", got)
	}
}

// TestGuessing holds the number of attempts at one less than allowed, as many, and more.
func TestGuessing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	ahead := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	p := openPages(t, t.TempDir(), &SessionOptions{Now: clock})
	post := func(token string, headers ...string) int {
		return p.do(t, "POST", "/session", `{"token":"`+token+`"}`, append(p.own(), headers...)...).StatusCode
	}
	wrong := func(n int, want int) {
		t.Helper()
		for i := range n {
			if got := post("wrong"); got != want {
				t.Fatalf("attempt %d: %d, want %d", i+1, got, want)
			}
		}
	}
	wrong(9, 401)
	token, _ := p.Token(0)
	if got := post(token); got != 204 {
		t.Errorf("a good token after 9 wrong ones: %d", got)
	}
	token, _ = p.Token(0)
	wrong(1, 401)
	wrong(1, 429)
	// Whoever has a token did not guess it: others at the same source cannot keep the person out.
	if got := post(token); got != 204 {
		t.Errorf("a good token while locked out: %d", got)
	}
	token, _ = p.Token(0)
	if got := post("x", "X-Forwarded-For", "10.0.0.1"); got != 429 {
		t.Errorf("another source by its own word: %d", got)
	}
	resp := p.do(t, "POST", "/session", `{"token":"x"}`, p.own()...)
	if after, _ := strconv.Atoi(resp.Header.Get("Retry-After")); after < 1 || after > 60 {
		t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
	}
	ahead(59 * time.Second)
	wrong(1, 429)
	ahead(time.Second)
	if got := post(token); got != 204 {
		t.Errorf("after a minute: %d", got)
	}
	// Nine a minute for ever lock nobody out.
	for range 5 {
		ahead(time.Minute)
		wrong(9, 401)
	}
	ahead(time.Minute)
	// What comes from another site costs the person no attempt.
	for range 30 {
		if got := p.do(t, "POST", "/session", `{"token":"x"}`, "Origin", "http://evil.example", "Content-Type", "application/json").StatusCode; got != 403 {
			t.Fatalf("another site: %d", got)
		}
	}
	wrong(1, 401)
	for _, body := range []string{"", "{}", `{"token":null}`, `{"token":""}`, "[]", "token=x", `{"token":"` + strings.Repeat("x", 2000) + `"}`} {
		ahead(time.Minute)
		if got := p.do(t, "POST", "/session", body, p.own()...).StatusCode; got != 400 && got != 401 {
			t.Errorf("%.20q: %d", body, got)
		}
	}
	if got := p.do(t, "POST", "/session", `{"token":"`+token+`"}`, "Origin", "http://"+p.addr, "Content-Type", "text/plain").StatusCode; got != 415 {
		t.Errorf("as text: %d", got)
	}
}

// TestManyGuesses tries a hundred thousand tokens against those that are out.
func TestManyGuesses(t *testing.T) {
	t.Parallel()
	l := &launchTokens{now: time.Now}
	const out = 3
	for range out {
		l.add(0)
	}
	for i := range 100_000 {
		if l.take(strconv.Itoa(i)) {
			t.Fatalf("guess %d was good", i)
		}
	}
	if len(l.live) != out {
		t.Errorf("%d tokens left", len(l.live))
	}
}

func TestLaunchTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &launchTokens{now: time.Now}
		for _, tt := range []struct {
			ttl, after time.Duration
			ok         bool
		}{{time.Minute, time.Minute - 1, true}, {time.Minute, time.Minute, false}, {time.Minute, time.Minute + 1, false}, {0, 1000 * time.Hour, true}} {
			token, expires := l.add(tt.ttl)
			if len(token) != 43 || (tt.ttl == 0) != expires.IsZero() {
				t.Errorf("token of %d characters, expires %v", len(token), expires)
			}
			time.Sleep(tt.after)
			if got := l.take(token); got != tt.ok {
				t.Errorf("%v after %v: %v", tt.ttl, tt.after, got)
			}
			if l.take(token) {
				t.Error("good twice")
			}
		}
		// One more than may be out: the oldest gives way.
		var all []string
		for range maxLaunchTokens + 1 {
			token, _ := l.add(0)
			all = append(all, token)
		}
		if l.take(all[0]) || !l.take(all[1]) || !l.take(all[maxLaunchTokens]) {
			t.Error("not the oldest gave way")
		}
		if strings.Contains(fmt.Sprintf("%v", l), all[1]) {
			t.Error("a token is kept as it is")
		}
	})
}

// TestOneUse presents one token from many sides at once.
func TestOneUse(t *testing.T) {
	t.Parallel()
	l := &launchTokens{now: time.Now}
	token, _ := l.add(0)
	var wg sync.WaitGroup
	var mu sync.Mutex
	good := 0
	for range 50 {
		wg.Go(func() {
			if l.take(token) {
				mu.Lock()
				defer mu.Unlock()
				good++
			}
		})
	}
	wg.Wait()
	if good != 1 {
		t.Errorf("good %d times", good)
	}
}

func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	f := newFailures(nil)
	for i := range 3 * maxSources {
		r := &http.Request{RemoteAddr: fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)}
		f.add(source(r), [32]byte{1})
	}
	if n := len(f.from); n > maxSources {
		t.Errorf("%d sources are remembered", n)
	}
}
