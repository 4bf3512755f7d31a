package guard

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
