package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const passphrase = "correct horse battery"

func TestLogin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLogin(dir, "")
	if err != nil || l.On() {
		t.Fatalf("before any: %v %v", l.On(), err)
	}
	p := openPages(t, dir, &SessionOptions{Login: l})
	enter := func(body string) int { return p.do(t, "POST", "/session", body, p.own()...).StatusCode }
	if got := enter(`{"passphrase":"` + passphrase + `"}`); got != 401 {
		t.Errorf("without a login: %d", got)
	}
	if page := text(t, p.do(t, "GET", "/", "", "Accept", "text/html")); strings.Contains(page, "data-login") {
		t.Error("a form that lets nobody in")
	}
	if err := l.Set(passphrase); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, loginFile))
	if err != nil || strings.Contains(string(b), passphrase) || !strings.HasPrefix(string(b), "$argon2id$") {
		t.Errorf("kept: %s %v", b, err)
	}
	if info, _ := os.Stat(filepath.Join(dir, loginFile)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if page := text(t, p.do(t, "GET", "/", "", "Accept", "text/html")); !strings.Contains(page, "data-login") {
		t.Error("no form")
	}
	for body, want := range map[string]int{
		`{"passphrase":"` + passphrase + `"}`:                           204,
		`{"passphrase":"` + passphrase + `."}`:                          401,
		`{"passphrase":""}`:                                             401,
		`{"passphrase":"` + strings.Repeat("x", MaxPassphrase+1) + `"}`: 401,
		`{}`: 401,
	} {
		if got := enter(body); got != want {
			t.Errorf("%.40s: %d, want %d", body, got, want)
		}
	}
	if strings.Contains(p.log.String(), passphrase) {
		t.Error("it is in the log")
	}
	if err := l.Remove(); err != nil || l.On() || enter(`{"passphrase":"`+passphrase+`"}`) != 401 {
		t.Errorf("removed: %v", err)
	}
	if err := l.Remove(); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}

func TestPassphraseBounds(t *testing.T) {
	t.Parallel()
	l, _ := OpenLogin(t.TempDir(), "")
	for p, ok := range map[string]bool{
		strings.Repeat("é", MinPassphrase-1): false, strings.Repeat("é", MinPassphrase): true,
		strings.Repeat("x", MaxPassphrase): true, strings.Repeat("x", MaxPassphrase+1): false,
		"": false, strings.Repeat("\xff", 20): false,
	} {
		if err := l.Set(p); (err == nil) != ok {
			t.Errorf("%d bytes: %v", len(p), err)
		} else if ok && !l.check(p) {
			t.Errorf("%d bytes do not let in", len(p))
		}
	}
	if _, err := OpenLogin(t.TempDir(), "short"); err == nil {
		t.Error("a short one is taken from outside")
	}
	if l, err := OpenLogin(t.TempDir(), passphrase); err != nil || !l.check(passphrase) || l.check("something else") {
		t.Errorf("from outside: %v", err)
	}
}

// TestForeignHash has files that somebody else wrote.
func TestForeignHash(t *testing.T) {
	t.Parallel()
	good := hashPassphrase(passphrase)
	for _, bad := range []string{
		"", "$", passphrase, strings.Replace(good, "t=3", "t=1", 1), strings.Replace(good, "m=65536", "m=8", 1),
		strings.Replace(good, "argon2id", "argon2i", 1), good[:len(good)-1], good + "x", good + "$",
	} {
		if sameHash(bad, passphrase) || sameHash(bad, "") {
			t.Errorf("%q lets in", bad)
		}
	}
	if !sameHash(good, passphrase) || sameHash(good, "") {
		t.Error("the good one does not let in, or lets all in")
	}
}

// TestGuessingPassphrases locks a source out after ten wrong passphrases, the right one included.
func TestGuessingPassphrases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := OpenLogin(dir, passphrase)
	p := openPages(t, dir, &SessionOptions{Login: l})
	for i := range maxFailures {
		if got := p.do(t, "POST", "/session", `{"passphrase":"not the right one"}`, p.own()...).StatusCode; got != 401 {
			t.Fatalf("attempt %d: %d", i, got)
		}
	}
	if resp := p.do(t, "POST", "/session", `{"passphrase":"`+passphrase+`"}`, p.own()...); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("after %d wrong ones: %d", maxFailures, resp.StatusCode)
	}
}

// TestGuessingManyPassphrasesAtOnce has a source send its guesses side by side: no more of them are looked at than one after
// the other.
func TestGuessingManyPassphrasesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := OpenLogin(dir, passphrase)
	p := openPages(t, dir, &SessionOptions{Login: l})
	leave, err := l.turn(t.Context()) // until all are there
	if err != nil {
		t.Fatal(err)
	}
	const guesses = 3 * maxFailures
	got := make(chan int, guesses)
	for i := range guesses {
		go func() {
			got <- p.do(t, "POST", "/session", fmt.Sprintf(`{"passphrase":"not the right one %d"}`, i), p.own()...).StatusCode
		}()
	}
	leave()
	counts := map[int]int{}
	for range guesses {
		counts[<-got]++
	}
	if counts[401] != maxFailures || counts[429] != guesses-maxFailures {
		t.Errorf("answers: %v", counts)
	}
}

// TestBrowserLogin types the passphrase as a person on another machine does.
func TestBrowserLogin(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	p := &pages{}
	p.plane = openHandler(t, nil, func(addr net.Addr, h http.Handler) http.Handler {
		l, err := OpenLogin(t.TempDir(), passphrase)
		if err != nil {
			t.Fatal(err)
		}
		if p.Sessions, err = OpenSessions(t.TempDir(), addr, &SessionOptions{Login: l}); err != nil {
			t.Fatal(err)
		}
		return p.Protect(h)
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><p id=path>%s</p>", r.URL.Path)
	})
	ctx := browser(t)
	err := chromedp.Do(ctx, chromedp.Navigate("http://"+p.addr+"/inbox"), chromedp.WaitVisible("#login"),
		chromedp.SendKeys("#passphrase", "not the right one\r"), chromedp.WaitVisible("#wrong:not(:empty)"))
	if err != nil {
		t.Fatal(err)
	}
	if said := look[string](ctx, t, "document.querySelector('#wrong').innerText"); said != "This is not the passphrase." {
		t.Errorf("told %q", said)
	}
	if err := chromedp.Do(ctx, chromedp.SendKeys("#passphrase", passphrase+"\r"), chromedp.WaitVisible("#path")); err != nil {
		t.Fatal(err)
	}
	if at := look[string](ctx, t, "document.querySelector('#path').innerText"); at != "/inbox" {
		t.Errorf("let in at %s", at)
	}
}

// TestPassphraseEndsSessions: a passphrase that is changed or removed ends what it let in, and what links let in goes on.
func TestPassphraseEndsSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := OpenLogin(dir, "")
	if err := l.Set(passphrase); err != nil {
		t.Fatal(err)
	}
	p := openPages(t, dir, &SessionOptions{Login: l})
	enter := func(said string) string {
		t.Helper()
		resp := p.do(t, "POST", "/session", `{"passphrase":"`+said+`"}`, p.own()...)
		if resp.StatusCode != 204 {
			t.Fatalf("login: %d", resp.StatusCode)
		}
		return resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	}
	get := func(cookie string) int { return p.do(t, "GET", "/", "", "Cookie", cookie).StatusCode }
	byLink, byOld := p.login(t), enter(passphrase)
	if get(byLink) != 200 || get(byOld) != 200 {
		t.Fatal("nobody is let in")
	}
	const other = "staple battery horse"
	if err := l.Set(other); err != nil {
		t.Fatal(err)
	}
	byNew := enter(other)
	if a, b, c := get(byLink), get(byOld), get(byNew); a != 200 || b != 401 || c != 200 {
		t.Errorf("changed: by link %d, by the old one %d, by the new one %d", a, b, c)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if a, b := get(byLink), get(byNew); a != 200 || b != 401 {
		t.Errorf("removed: by link %d, by the passphrase %d", a, b)
	}
}

// TestGivenPassphrase is the same for one from outside, which a restart gives again.
func TestGivenPassphrase(t *testing.T) {
	t.Parallel()
	dir, addr := t.TempDir(), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}
	open := func(given string) *Sessions {
		l, err := OpenLogin(dir, given)
		if err != nil {
			t.Fatal(err)
		}
		s, err := OpenSessions(dir, addr, &SessionOptions{Login: l})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, w, r := open(passphrase), recorder(), httptest.NewRequest("GET", "/", nil)
	first.issue(w, r, session{id: "x", mark: first.o.Login.mark()})
	r.AddCookie(w.Result().Cookies()[0])
	for given, want := range map[string]bool{passphrase: true, "staple battery horse": false, "": false} {
		if got := open(given).Valid(r); got != want {
			t.Errorf("after a restart with %q: %v", given, got)
		}
	}
}

// TestRenewedSessionEnds: a session that was made anew is still its passphrase's.
func TestRenewedSessionEnds(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	l, _ := OpenLogin(dir, "")
	if err := l.Set(passphrase); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSessions(dir, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}, &SessionOptions{Login: l, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w, r := recorder(), httptest.NewRequest("GET", "/", nil)
	s.issue(w, r, session{id: "x", mark: l.mark()})
	r.AddCookie(w.Result().Cookies()[0])
	now = now.Add(48 * time.Hour)
	w = recorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 || len(w.Result().Cookies()) != 1 {
		t.Fatalf("after two days: %d, %d cookies", w.Code, len(w.Result().Cookies()))
	}
	again := httptest.NewRequest("GET", "/", nil)
	again.AddCookie(w.Result().Cookies()[0])
	if !s.Valid(again) {
		t.Error("the renewed one is not good")
	}
	if err := l.Set("staple battery horse"); err != nil {
		t.Fatal(err)
	}
	if s.Valid(again) || s.Valid(r) {
		t.Error("it outlives its passphrase")
	}
}
