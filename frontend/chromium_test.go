package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// chrome is the Chromium of all tests here, started by the first that needs one. Each test has a profile of its own in it,
// which knows nothing and is gone after it.
var chrome struct {
	once sync.Once
	ctx  context.Context
	end  func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chrome.end != nil {
		chrome.end()
	}
	os.Exit(code)
}

func launch() {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return
	}
	home, err := os.MkdirTemp("", "frontend-browser")
	if err != nil {
		chrome.err = err
		return
	}
	actx, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(home), chromedp.WindowSize(1280, 800),
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))...)
	ctx, closed := chromedp.NewContext(actx)
	chrome.end = func() { closed(); end(); os.RemoveAll(home) }
	chrome.ctx, chrome.err = ctx, chromedp.Do(ctx)
}

// browser gives a test a profile of its own in Chromium, for the windows it opens.
func browser(t *testing.T) context.Context {
	t.Helper()
	return browserFor(t, 90*time.Second)
}

// browserFor is browser for a test that takes so long at most.
func browserFor(t *testing.T, most time.Duration) context.Context {
	t.Helper()
	chrome.once.Do(launch)
	switch {
	case chrome.err != nil:
		t.Fatal(chrome.err)
	case chrome.ctx != nil:
	case os.Getenv("CI") != "":
		t.Fatal("there is no Chromium here, and nothing is left out where it counts")
	default:
		t.Skip("there is no Chromium here")
	}
	ctx, cancel := context.WithTimeout(chrome.ctx, most)
	t.Cleanup(cancel)
	return ctx
}

// tab is one window in a browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	console []string
}

// tab opens a window: in a profile of its own from what browser returns, or in the profile of another window.
func (w *world) tab(parent context.Context) *tab {
	w.Helper()
	var opts []chromedp.ContextOption
	if chromedp.FromContext(parent).BrowserContextID == "" {
		opts = append(opts, chromedp.WithNewBrowserContext())
	}
	ctx, cancel := chromedp.NewContext(parent, opts...)
	w.Cleanup(cancel)
	b := &tab{t: w.T, ctx: ctx}
	b.do(chromedp.EmulateViewport(1280, 800))
	// Each is typed into as if nobody looked at another.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		w.Fatal(err)
	}
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == "error" || m.Type == "warning" || m.Type == chromedp.ConsoleException {
				b.mu.Lock()
				b.console = append(b.console, fmt.Sprintf("%+v", m))
				b.mu.Unlock()
			}
		}
	}()
	return b
}

// do acts. What was drawn anew between being found and being touched is looked for again.
func (b *tab) do(as ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for _, a := range as {
		eventually(b.t, func() error {
			err := chromedp.Do(b.ctx, a)
			if err != nil && !strings.Contains(err.Error(), "Could not find node") {
				b.t.Fatal(err)
			}
			return err
		})
	}
}

// js evaluates an expression.
func js[T any](b *tab, expr string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		b.t.Fatalf("%s: %v", expr, err)
	}
	return v
}

// until waits until an expression holds.
func (b *tab) until(expr string) {
	b.t.Helper()
	eventually(b.t, func() error {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expr+")"))
		if err == nil && !ok {
			body, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.querySelector('main')?.innerText ?? ''"))
			return fmt.Errorf("%s does not hold:\n%.2000s", expr, body)
		}
		return err
	})
}

func (b *tab) shows(text string) {
	b.t.Helper()
	q, _ := json.Marshal(text)
	b.until("document.querySelector('main').innerText.includes(" + string(q) + ")")
}

// quiet reports what the browser complained about.
func (b *tab) quiet(but ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.console {
		ok := false
		for _, s := range but {
			ok = ok || strings.Contains(m, s)
		}
		if !ok {
			b.t.Errorf("the browser says: %s", m)
		}
	}
}

// picture keeps a screenshot where the test's artifacts go.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("PARLEY_SHOTS")
	if dir == "" {
		return
	}
	p, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), p, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
