package journeytest

import (
	"context"
	_ "embed"
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
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// chromium is the one browser of all journeys, started by the first that needs it.
var chromium struct {
	once sync.Once
	ctx  context.Context
	end  func()
	err  error
}

func browse() {
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
		chromium.err = err
		return
	}
	actx, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(home), chromedp.WindowSize(1280, 800), chromedp.Flag("lang", "en-US"),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))...)
	ctx, closed := chromedp.NewContext(actx)
	chromium.end = func() { closed(); end(); os.RemoveAll(home) }
	chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
}

// window is one window of somebody's browser.
type window struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	console  []string
	requests []string
}

// profile is a new person at a browser: nobody's cookies, one empty window.
func profile(t *testing.T) *window {
	t.Helper()
	chromium.once.Do(browse)
	switch {
	case chromium.err != nil:
		t.Fatal(chromium.err)
	case chromium.ctx != nil:
	case os.Getenv("CI") != "":
		t.Fatal("there is no Chromium here, and nothing is left out where it counts")
	default:
		t.Skip("there is no Chromium here")
	}
	return newWindow(t, chromium.ctx, chromedp.WithNewBrowserContext())
}

// another opens a second window of the same person.
func (w *window) another() *window {
	w.Helper()
	return newWindow(w.T, w.ctx)
}

func newWindow(t *testing.T, parent context.Context, opts ...chromedp.ContextOption) *window {
	t.Helper()
	ctx, closed := chromedp.NewContext(parent, opts...)
	t.Cleanup(closed)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	w := &window{T: t, ctx: ctx}
	w.do(chromedp.EmulateViewport(1280, 800))
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == "error" || m.Type == "warning" || m.Type == chromedp.ConsoleException {
				w.mu.Lock()
				w.console = append(w.console, fmt.Sprintf("%+v", m))
				w.mu.Unlock()
			}
		}
	}()
	return w
}

// enter opens the link that the program printed, and waits until the page is live.
func (w *window) enter(p *process) {
	w.Helper()
	w.open(p.fields["ui"])
	w.live()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.console = nil // the page that takes the link is a 401
}

func (w *window) open(address string) {
	w.Helper()
	w.do(chromedp.Navigate(address))
}

func (w *window) live() {
	w.Helper()
	w.until("document.querySelector('#live-word')?.textContent === 'Live'")
}

func (w *window) do(as ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	if err := chromedp.Do(w.ctx, as...); err != nil {
		w.Fatal(err)
	}
}

// js evaluates an expression.
func js[T any](w *window, expr string) T {
	w.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		w.Fatalf("%s: %v", expr, err)
	}
	return v
}

// until waits until an expression holds.
func (w *window) until(expr string) {
	w.Helper()
	w.eventually(func() error {
		ok, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("Boolean("+expr+")"))
		if err == nil && !ok {
			err = fmt.Errorf("%s does not hold", expr)
		}
		return err
	})
}

// shows waits until a text stands in the page.
func (w *window) shows(text string) {
	w.Helper()
	w.until("document.body.innerText.includes(" + quote(text) + ")")
}

// eventually tries until it goes well. When it does not, the page's words and a picture of it tell why.
func (w *window) eventually(try func() error) {
	w.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(45 * time.Second); ; <-tick.C {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.picture(w.Name() + "-failed")
			at, _ := chromedp.Run(w.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
			w.Fatalf("%v\n%.4000s", err, at)
		}
	}
}

// press clicks what has a name: a link, a button, a box to tick. What is covered by something else cannot be pressed.
func (w *window) press(name string) {
	w.Helper()
	w.eventually(func() error {
		at, err := chromedp.Run(w.ctx, chromedp.Evaluate[point](looked("named", name)))
		if err != nil {
			return err
		}
		if at.Why != "" {
			return fmt.Errorf("%q cannot be pressed: %s", name, at.Why)
		}
		if err := chromedp.Do(w.ctx, chromedp.MouseEvent(chromedp.MouseMoved, at.X, at.Y), chromedp.MouseClickXY(at.X, at.Y)); err != nil {
			return err
		}
		if hit, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("window.pressed !== false")); err == nil && !hit {
			return fmt.Errorf("%q moved away", name)
		}
		return nil // where there is no page to be asked, the press has led to another one
	})
}

// write types into the field that has a label, in place of what stands there.
func (w *window) write(label, text string) {
	w.Helper()
	w.eventually(func() error {
		at, err := chromedp.Run(w.ctx, chromedp.Evaluate[point](looked("labelled", label)))
		if err != nil {
			return err
		}
		if at.Why != "" {
			return fmt.Errorf("nothing can be typed into %q: %s", label, at.Why)
		}
		return nil
	})
	if js[string](w, "document.activeElement.type") == "date" {
		w.do(chromedp.KeyEvent(text))
		return
	}
	js[any](w, "(document.activeElement.select?.(), 0)")
	if _, err := chromedp.Call(w.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		w.Fatal(err)
	}
}

// point is the middle of an element, or why it cannot be used.
type point struct {
	X, Y float64
	Why  string
}

//go:embed lookup.js
var lookup string

// looked is a look for something by its words.
func looked(by, words string) string {
	return "(() => {" + lookup + "return " + by + "(" + quote(words) + ") })()"
}

// key presses a key.
func (w *window) key(k string, o ...chromedp.KeyOption) {
	w.Helper()
	w.do(chromedp.KeyEvent(k, o...))
}

// opens returns the window that an action opens.
func (w *window) opens(action func()) *window {
	w.Helper()
	opened := chromedp.WaitNewTarget(w.ctx, func(i *target.Info) bool { return i.Type == "page" })
	action()
	select {
	case id := <-opened:
		return newWindow(w.T, w.ctx, chromedp.WithTargetID(id))
	case <-time.After(45 * time.Second):
		w.Fatal("no window was opened")
		return nil
	}
}

// quiet reports what the browser complained about.
func (w *window) quiet(but ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.console {
		expected := false
		for _, s := range but {
			expected = expected || strings.Contains(m, s)
		}
		if !expected {
			w.Errorf("the browser says: %s", m)
		}
	}
}

// picture keeps a screenshot in the directory that PARLEY_SHOTS names.
func (w *window) picture(name string) {
	w.Helper()
	dir := os.Getenv("PARLEY_SHOTS")
	if dir == "" {
		return
	}
	p, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		w.Error(err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"), p, 0o644); err != nil {
		w.Error(err)
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) // strings are always JSON
	return string(b)
}
