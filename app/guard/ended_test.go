package guard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEndSession: who signs out is out, with every copy of the cookie, and after a restart; others stay in.
func TestEndSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := openPages(t, dir, nil)
	mine, other := p.login(t), p.login(t)
	get := func(cookie string) int { return p.do(t, "GET", "/", "", "Cookie", cookie).StatusCode }
	for _, c := range [][]string{
		{"POST", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, {"POST", "Origin", "http://127.0.0.1:1"}, {"POST"}, {"GET"},
	} {
		p.do(t, c[0], EndSession, "", append(c[1:], "Cookie", mine)...)
		if got := get(mine); got != 200 {
			t.Fatalf("%q ended it: %d", c, got)
		}
	}
	if resp := p.do(t, "POST", EndSession, "", p.own()...); resp.StatusCode != http.StatusSeeOther { // without a session there is none to end
		t.Errorf("without a session: %d", resp.StatusCode)
	}
	resp := p.do(t, "POST", EndSession, "", append(p.own(), "Cookie", mine)...)
	if c := resp.Cookies(); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" || len(c) != 1 || c[0].MaxAge >= 0 || c[0].Name != p.cookie || c[0].Value != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if a, b := get(mine), get(other); a != 401 || b != 200 {
		t.Errorf("the one that was ended %d, the other %d", a, b)
	}
	if info, err := os.Stat(filepath.Join(dir, endedFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, endedFile)); strings.Contains(string(b), strings.Split(mine, ".")[2]) {
		t.Error("what is kept lets in")
	}
}

// TestEndedIsKept has an ended session come back in all the forms it had, in this process and the next.
func TestEndedIsKept(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	openAt := func() (*Sessions, http.Handler) {
		s, err := OpenSessions(dir, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}, &SessionOptions{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}
	s, h := openAt()
	w, first := recorder(), httptest.NewRequest("GET", "/", nil)
	s.issue(w, first, session{id: "mine"})
	first.AddCookie(w.Result().Cookies()[0])
	now = now.Add(29 * 24 * time.Hour)
	w = recorder()
	h.ServeHTTP(w, first)
	if len(w.Result().Cookies()) != 1 {
		t.Fatal("it was not made anew")
	}
	second := httptest.NewRequest("GET", "/", nil)
	second.AddCookie(w.Result().Cookies()[0])
	end := httptest.NewRequest("POST", EndSession, nil)
	end.AddCookie(w.Result().Cookies()[0])
	end.Header.Set("Origin", "http://"+end.Host)
	if w = recorder(); !s.Valid(first) || !s.Valid(second) {
		t.Fatal("nobody is in")
	}
	if h.ServeHTTP(w, end); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if s.Valid(first) || s.Valid(second) {
		t.Error("an ended session is good")
	}
	if s, _ := openAt(); s.Valid(first) || s.Valid(second) {
		t.Error("after a restart it is good again")
	}
	// It is remembered for as long as it could have been good, and no longer.
	now = now.Add(30*24*time.Hour - time.Second)
	if s, _ := openAt(); len(s.ended.at) != 1 {
		t.Errorf("before its time %d are remembered", len(s.ended.at))
	}
	now = now.Add(time.Second)
	s, _ = openAt()
	if len(s.ended.at) != 0 {
		t.Errorf("after its time %d are remembered", len(s.ended.at))
	}
	if err := s.ended.add("another", now); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, endedFile)); err != nil || strings.Contains(string(b), "mine") || !strings.Contains(string(b), "another") {
		t.Errorf("%s %v", b, err)
	}
}
