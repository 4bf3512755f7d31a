package journeytest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is what people open Parley in.
type browser struct {
	name string
	// profile opens an empty window of a new person, with nobody's cookies. It skips the test where there is no such
	// browser, and fails it where nothing may be left out.
	profile func(t *testing.T) tab
}

// tab is a window as its browser drives it. Places are in pixels of the page.
type tab interface {
	navigate(address string) error
	reload() error
	// evaluate returns what an expression gives, as JSON.
	evaluate(expr string) (string, error)
	click(x, y float64) error
	// insert types a text in place of what is marked; into a field of a date it is month, day and year with slashes.
	insert(text string) error
	key(k string, control bool) error
	// upload chooses a file for a field.
	upload(css, path string) error
	screenshot() ([]byte, error)
	// another opens a second window of the same person.
	another() (tab, error)
	// opened waits for the window that an action opens.
	opened(action func()) (tab, error)
	// downloads says in which directory what is downloaded from now on is put.
	downloads() (string, error)
	// fetches begins to note what pages fetch, the pages themselves included, and returns a way to read it.
	fetches() (func() []string, error)
	// complaints are errors and warnings of the browser; clear forgets them.
	complaints() []string
	clear()
}

// missing skips a test where there is no such browser, but not in CI, where nothing is left out.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("there is no %s here, and nothing is left out where it counts", what)
	}
	t.Skipf("there is no %s here", what)
}

// window is one window of somebody's browser.
type window struct {
	*testing.T
	tab
	browser browser
}

// profile is a new person at a browser: nobody's cookies, one empty window.
func profile(t *testing.T, b browser) *window {
	t.Helper()
	return &window{T: t, tab: b.profile(t), browser: b}
}

// second opens a second window of the same person.
func (w *window) second() *window {
	w.Helper()
	v, err := w.another()
	w.must(err)
	return &window{T: w.T, tab: v, browser: w.browser}
}

// opens returns the window that an action opens.
func (w *window) opens(action func()) *window {
	w.Helper()
	v, err := w.opened(action)
	w.must(err)
	return &window{T: w.T, tab: v, browser: w.browser}
}

func (w *window) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// enter opens the link that the program printed, and waits until the page is live.
func (w *window) enter(p *process) {
	w.Helper()
	w.open(p.fields["ui"])
	w.live()
	w.clear() // the page that takes the link is a 401
}

func (w *window) open(address string) {
	w.Helper()
	w.must(w.navigate(address))
}

func (w *window) again() {
	w.Helper()
	w.must(w.reload())
}

func (w *window) live() {
	w.Helper()
	w.until("document.querySelector('#live-word')?.textContent === 'Live'")
}

// js evaluates an expression.
func js[T any](w *window, expr string) T {
	w.Helper()
	v, err := eval[T](w, expr)
	if err != nil {
		w.Fatalf("%s: %v", expr, err)
	}
	return v
}

func eval[T any](w *window, expr string) (v T, err error) {
	b, err := w.evaluate(expr)
	if err == nil {
		err = json.Unmarshal([]byte(b), &v)
	}
	return v, err
}

// until waits until an expression holds.
func (w *window) until(expr string) {
	w.Helper()
	w.eventually(func() error {
		ok, err := eval[bool](w, "Boolean("+expr+")")
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
			at, _ := eval[string](w, "location.href + '\\n' + document.body.innerText")
			w.Fatalf("%v\n%.4000s", err, at)
		}
	}
}

// press clicks what has a name: a link, a button, a box to tick. What is covered by something else cannot be pressed.
func (w *window) press(name string) {
	w.Helper()
	w.eventually(func() error {
		at, err := eval[point](w, looked("named", name))
		if err != nil {
			return err
		}
		if at.Why != "" {
			return fmt.Errorf("%q cannot be pressed: %s", name, at.Why)
		}
		if err := w.click(at.X, at.Y); err != nil {
			return err
		}
		if hit, err := eval[bool](w, "window.pressed !== false"); err == nil && !hit {
			return fmt.Errorf("%q moved away", name)
		}
		return nil // where there is no page to be asked, the press has led to another one
	})
}

// follow presses what leads to a page, and waits until that one is there and live.
func (w *window) follow(name, path string) {
	w.Helper()
	w.press(name)
	w.until("location.pathname === " + quote(path))
	w.live()
}

// write types into the field that has a label, in place of what stands there.
func (w *window) write(label, text string) {
	w.Helper()
	w.eventually(func() error {
		at, err := eval[point](w, looked("labelled", label))
		if err != nil {
			return err
		}
		if at.Why != "" {
			return fmt.Errorf("nothing can be typed into %q: %s", label, at.Why)
		}
		return nil
	})
	js[any](w, "(document.activeElement.type === 'date' || document.activeElement.select?.(), 0)")
	w.must(w.insert(text))
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

// types presses the keys of a text, one after the other; "\r" is Enter.
func (w *window) types(keys string) {
	w.Helper()
	for _, k := range keys {
		w.must(w.key(string(k), false))
	}
}

// quiet reports what the browser complained about.
func (w *window) quiet(but ...string) {
	w.Helper()
	for _, m := range w.complaints() {
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
	p, err := w.screenshot()
	if err != nil {
		w.Error(err)
		return
	}
	name = strings.ToLower(w.browser.name) + "-" + strings.ReplaceAll(name, "/", "-") + ".png"
	if err := os.WriteFile(filepath.Join(dir, name), p, 0o644); err != nil {
		w.Error(err)
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) // strings are always JSON
	return string(b)
}
