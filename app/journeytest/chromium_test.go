package journeytest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// chromium is driven over its own protocol. There is one for all journeys, started by the first that needs it; every
// person has a profile of their own in it.
var chromium = browser{"Chromium", func(t *testing.T) tab {
	t.Helper()
	chrome.once.Do(launch)
	switch {
	case chrome.err != nil:
		t.Fatal(chrome.err)
	case chrome.ctx == nil:
		missing(t, "Chromium")
	}
	v, err := newChromiumTab(t, chrome.ctx, chromedp.WithNewBrowserContext())
	if err != nil {
		t.Fatal(err)
	}
	return v
}}

var chrome struct {
	once sync.Once
	ctx  context.Context
	end  func()
	err  error
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
	home, err := os.MkdirTemp("", "journey-browser")
	if err != nil {
		chrome.err = err
		return
	}
	actx, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(home), chromedp.WindowSize(1280, 800), chromedp.Flag("lang", "en-US"),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))...)
	ctx, closed := chromedp.NewContext(actx)
	chrome.end = func() { closed(); end(); os.RemoveAll(home) }
	chrome.ctx, chrome.err = ctx, chromedp.Do(ctx)
}

type chromiumTab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	console  []string
	requests []string
}

func newChromiumTab(t *testing.T, parent context.Context, opts ...chromedp.ContextOption) (tab, error) {
	ctx, closed := chromedp.NewContext(parent, opts...)
	t.Cleanup(closed)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	v := &chromiumTab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)); err != nil {
		return nil, err
	}
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		return nil, err
	}
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == "error" || m.Type == "warning" || m.Type == chromedp.ConsoleException {
				v.mu.Lock()
				v.console = append(v.console, fmt.Sprintf("%+v", m))
				v.mu.Unlock()
			}
		}
	}()
	return v, nil
}

func (v *chromiumTab) navigate(address string) error {
	return chromedp.Do(v.ctx, chromedp.Navigate(address))
}

func (v *chromiumTab) reload() error { return chromedp.Do(v.ctx, chromedp.Reload()) }

func (v *chromiumTab) evaluate(expr string) (string, error) {
	return chromedp.Run(v.ctx, chromedp.Evaluate[string]("JSON.stringify(("+expr+") ?? null)"))
}

func (v *chromiumTab) click(x, y float64) error {
	return chromedp.Do(v.ctx, chromedp.MouseEvent(chromedp.MouseMoved, x, y), chromedp.MouseClickXY(x, y))
}

func (v *chromiumTab) insert(text string) error {
	if date, err := v.evaluate("document.activeElement.type === 'date'"); err != nil {
		return err
	} else if date == "true" { // which goes on from field to field by itself
		return chromedp.Do(v.ctx, chromedp.KeyEvent(strings.ReplaceAll(text, "/", "")))
	}
	_, err := chromedp.Call(v.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

func (v *chromiumTab) key(k string, control bool) error {
	if control {
		return chromedp.Do(v.ctx, chromedp.KeyEvent(k, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	}
	return chromedp.Do(v.ctx, chromedp.KeyEvent(k))
}

func (v *chromiumTab) upload(css, path string) error {
	return chromedp.Do(v.ctx, chromedp.SetUploadFiles(chromedp.CSS(css), []string{path}))
}

func (v *chromiumTab) screenshot() ([]byte, error) {
	return chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
}

func (v *chromiumTab) another() (tab, error) { return newChromiumTab(v.t, v.ctx) }

func (v *chromiumTab) opened(action func()) (tab, error) {
	opened := chromedp.WaitNewTarget(v.ctx, func(i *target.Info) bool { return i.Type == "page" })
	action()
	select {
	case id := <-opened:
		return newChromiumTab(v.t, v.ctx, chromedp.WithTargetID(id))
	case <-time.After(45 * time.Second):
		return nil, errors.New("no window was opened")
	}
}

func (v *chromiumTab) downloads() (string, error) {
	dir, yes := v.t.TempDir(), true
	_, err := chromedp.CallBrowser(v.ctx, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{
		Behavior: cdp.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(v.ctx).BrowserContextID, DownloadPath: dir, EventsEnabled: &yes,
	})
	return dir, err
}

func (v *chromiumTab) fetches() (func() []string, error) {
	if err := chromedp.Listen(v.ctx, func(e any) {
		if r, ok := e.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(r.Request.URL, "data:") {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.requests = append(v.requests, r.Request.URL)
		}
	}); err != nil {
		return nil, err
	}
	_, err := chromedp.Call(v.ctx, network.Enable, network.EnableParams{})
	return func() []string {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.requests
	}, err
}

func (v *chromiumTab) complaints() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.console
}

func (v *chromiumTab) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.console = nil
}
