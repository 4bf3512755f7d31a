package guard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// browser returns a fresh Chromium without a history.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	switch {
	case path != "":
	case os.Getenv("CI") != "":
		t.Fatal("there is no Chromium here, and nothing is left out where it counts")
	default:
		t.Skip("there is no Chromium here")
	}
	// A browser that looks for updates would leave this machine.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestBrowser goes through the door as a person does.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	var mu sync.Mutex
	var asked, referers []string
	p := &pages{}
	p.plane = openHandler(t, nil, func(addr net.Addr, h http.Handler) http.Handler {
		s, err := OpenSessions(t.TempDir(), addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Sessions = s
		protected := s.Protect(h)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.RequestURI)
			referers = append(referers, r.Referer())
			mu.Unlock()
			protected.ServeHTTP(w, r)
		})
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>in</title><h1>You are in</h1><p id=path>%s</p>", r.URL.Path)
	})
	// Another site on this machine: for a cookie another port is the same site, another name is not.
	elsewhere := openHandler(t, nil, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><a id=go href='http://%s/c/1?x=y'>go</a>", p.addr)
	})
	ctx := browser(t)
	home := "http://" + p.addr
	visit := func(to, until string) (text, address string) {
		t.Helper()
		err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(to), chromedp.WaitVisible(until))
		if err != nil {
			t.Fatal(err)
		}
		return look[string](ctx, t, "document.querySelector('"+until+"').innerText"), look[string](ctx, t, "location.href")
	}

	// Without a link: an explanation.
	if text, _ := visit(home+"/", "#help"); !strings.Contains(text, "parley open") || p.ran.Load() != 0 {
		t.Errorf("without a link: %q", text)
	}
	// With one that is no good: the reason.
	if text, address := visit(home+"/#token=wrong", "#help"); !strings.Contains(text, "used before or has expired") || address != home+"/" {
		t.Errorf("with a wrong link: %q at %s", text, address)
	}
	// With a good one: in, with nothing of the token in the address, and the session out of reach of scripts.
	token, _ := p.Token(time.Minute)
	if text, address := visit(home+"/#token="+token, "#path"); text != "/" || address != home+"/" {
		t.Errorf("with a link: %q at %s", text, address)
	}
	// Pasted over the address of the page that explains, as a second browser would.
	fresh, _ := p.Token(time.Minute)
	forget := chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.ClearBrowserCookies, cdp.Empty{})
		return err
	})
	if err := chromedp.Do(ctx, forget, chromedp.Navigate(home+"/"), chromedp.WaitVisible("#help")); err != nil {
		t.Fatal(err)
	}
	look[string](ctx, t, "location.hash = '#token="+fresh+"'")
	if err := chromedp.Do(ctx, chromedp.WaitVisible("#path")); err != nil {
		t.Fatal(err)
	}
	if cookies := look[string](ctx, t, "document.cookie"); cookies != "" {
		t.Errorf("a script can read %s", cookies)
	}
	// By a link on another site: the browser keeps the session back at first, and sends it when our own page asks again.
	if err := chromedp.Do(ctx, chromedp.Navigate("http://localhost:"+elsewhere.port+"/"), chromedp.Click("#go"), chromedp.WaitVisible("#path")); err != nil {
		t.Fatal(err)
	}
	if address := look[string](ctx, t, "location.href"); address != home+"/c/1?x=y" {
		t.Errorf("by a link from elsewhere: at %s", address)
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(asked, "\n") + strings.Join(referers, "\n") + p.log.String(); strings.Contains(all, token) {
		t.Errorf("the token was sent in an address:\n%s", all)
	}
}

// look evaluates an expression in the page.
func look[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
