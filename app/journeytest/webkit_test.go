package journeytest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// webkit is WebKitGTK, the engine of the window on Linux, driven by its own driver (W3C WebDriver). Every person has a
// driver and a browser of their own, on a screen that all of them share.
//
// The driver tells nothing of the console: what goes wrong in a page is noted from when it is live, and what it fetches is
// what the page itself says it fetched.
var webkit = browser{"WebKit", func(t *testing.T) tab {
	t.Helper()
	binary := miniBrowser()
	driver, err := exec.LookPath("WebKitWebDriver")
	if err != nil || binary == "" {
		missing(t, "WebKitWebDriver")
	}
	if _, err := exec.LookPath("Xvfb"); err != nil {
		missing(t, "Xvfb")
	}
	screen.once.Do(screen.start)
	if screen.err != nil {
		t.Fatal(screen.err)
	}
	v, err := startWebKit(t, driver, binary)
	if err != nil {
		t.Fatal(err)
	}
	return v
}}

// miniBrowser is the browser that comes with WebKitGTK: of the version that the window is built with, if there are several.
func miniBrowser() string {
	for _, version := range []string{"4.1", "4.0", "6.0"} {
		for _, pattern := range []string{"/usr/lib/*/webkit%s-%s/MiniBrowser", "/usr/libexec/webkit%s-%s/MiniBrowser"} {
			name := "2gtk"
			if version == "6.0" {
				name = "gtk"
			}
			if found, _ := filepath.Glob(fmt.Sprintf(pattern, name, version)); len(found) > 0 {
				return found[0]
			}
		}
	}
	return ""
}

// screen is where the windows of WebKit are, which nobody sees.
var screen xvfb

type xvfb struct {
	once    sync.Once
	display string
	end     func()
	err     error
}

func (x *xvfb) start() {
	says, tells, err := os.Pipe()
	if err != nil {
		x.err = err
		return
	}
	defer says.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{tells}
	x.err = cmd.Start()
	tells.Close()
	if x.err != nil {
		return
	}
	x.end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	number, err := bufio.NewReader(says).ReadString('\n')
	if err != nil {
		x.err = fmt.Errorf("Xvfb did not start: %w", err)
	}
	x.display = ":" + strings.TrimSpace(number)
}

// session is one browser at its driver. Of its windows the driver has one in hand at a time.
type session struct {
	url  string // of the session, at the driver
	home string
	ctx  context.Context

	mu     sync.Mutex
	inHand string
}

type webkitTab struct {
	*session
	t      *testing.T
	handle string
}

func startWebKit(t *testing.T, driver, binary string) (tab, error) {
	home, err := os.MkdirTemp("", "journey-webkit")
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // where a process of the browser may still be writing
	dir := filepath.Join(home, "downloads")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(home, "user-dirs.dirs"), []byte(`XDG_DOWNLOAD_DIR="`+dir+`"`), 0o600)); err != nil {
		return nil, err
	}
	at := freeAddress(t)
	_, port, _ := strings.Cut(at, ":")
	cmd := exec.Command(driver, "--port="+port)
	cmd.Env = append(os.Environ(), "DISPLAY="+screen.display, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home,
		"GDK_BACKEND=x11", "NO_AT_BRIDGE=1", "LC_ALL=C.UTF-8", "WEBKIT_DISABLE_DMABUF_RENDERER=1") // the last as the window has it
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	t.Cleanup(cancel)
	s := &session{home: home, ctx: ctx}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	options := map[string]any{"binary": binary, "args": []string{"--automation"}}
	want := map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{"webkitgtk:browserOptions": options}}}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // until the driver listens
		err := s.command(http.MethodPost, "http://"+at+"/session", want, &made)
		if err == nil {
			break
		}
		if time.Now().After(deadline) || errors.As(err, new(*refusal)) {
			return nil, err
		}
	}
	s.url = "http://" + at + "/session/" + made.SessionID
	t.Cleanup(func() { _ = s.command(http.MethodDelete, s.url, nil, nil) }) // which ends the browser
	v := &webkitTab{session: s, t: t}
	if err := s.command(http.MethodGet, s.url+"/window", nil, &v.handle); err != nil {
		return nil, err
	}
	s.inHand = v.handle
	return v, v.size()
}

// refusal is an error that the driver answered with.
type refusal struct{ kind, message string }

func (r *refusal) Error() string { return r.kind + ": " + r.message }

// command sends a command, and reads what came of it into out.
func (s *session) command(method, url string, in, out any) error {
	var body io.Reader
	if method == http.MethodPost {
		if in == nil {
			in = struct{}{}
		}
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(s.ctx, method, url, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var e struct{ Error, Message string }
		if err := json.Unmarshal(answer.Value, &e); err != nil {
			return err
		}
		return &refusal{e.Error, e.Message}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, out)
}

// in sends a command to this window.
func (v *webkitTab) in(method, path string, in, out any) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inHand != v.handle {
		if err := v.command(http.MethodPost, v.url+"/window", map[string]string{"handle": v.handle}, nil); err != nil {
			return err
		}
		v.inHand = v.handle
	}
	return v.command(method, v.url+path, in, out)
}

func (v *webkitTab) post(path string, in, out any) error {
	return v.in(http.MethodPost, path, in, out)
}

// size makes the page 1280 by 800, whatever is around it.
func (v *webkitTab) size() error {
	if err := v.post("/window/rect", map[string]int{"width": 1280, "height": 838}, nil); err != nil {
		return err
	}
	return nil
}

func (v *webkitTab) navigate(address string) error {
	return v.post("/url", map[string]string{"url": address}, nil)
}

func (v *webkitTab) reload() error { return v.post("/refresh", nil, nil) }

// listens notes what goes wrong in a page from now on.
const listens = `(() => {
	if (window.complaints) return;
	const c = window.complaints = [];
	addEventListener("error", (e) => c.push("error: " + e.message + " " + (e.target?.src ?? "")), true);
	addEventListener("unhandledrejection", (e) => c.push("rejected: " + e.reason));
	document.addEventListener("securitypolicyviolation", (e) => c.push("refused: " + e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile));
	for (const kind of ["error", "warn"]) {
		const before = console[kind];
		console[kind] = (...a) => { c.push(kind + ": " + a.join(" ")); before.apply(console, a); };
	}
})()`

func (v *webkitTab) evaluate(expr string) (s string, err error) {
	err = v.post("/execute/sync", map[string]any{"script": listens + "; return JSON.stringify((" + expr + ") ?? null)", "args": []any{}}, &s)
	return s, err
}

func (v *webkitTab) click(x, y float64) error {
	return v.post("/actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]string{"pointerType": "mouse"}, "actions": []any{
			map[string]any{"type": "pointerMove", "x": math.Round(x), "y": math.Round(y), "duration": 0},
			map[string]any{"type": "pointerDown", "button": 0},
			map[string]any{"type": "pointerUp", "button": 0},
		},
	}}}, nil)
}

// keys presses keys, one after the other or all at once.
func (v *webkitTab) keys(together bool, keys ...string) error {
	type press struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	var down, up []press
	for _, k := range keys {
		down, up = append(down, press{"keyDown", k}), append(up, press{"keyUp", k})
		if !together {
			down, up = append(down, up...), nil
		}
	}
	return v.post("/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys", "actions": append(down, up...)}}}, nil)
}

func (v *webkitTab) insert(text string) error {
	if text == "" {
		return v.keys(false, "\ue003")
	}
	date, err := v.evaluate("document.activeElement.type === 'date'")
	if err != nil {
		return err
	}
	if date == "true" {
		return v.date(text)
	}
	return v.keys(false, strings.Split(text, "")...)
}

// date types a date until the field has it: a key that comes more than a second after the one before begins its part of
// the date anew, as on a machine that has much to do.
func (v *webkitTab) date(text string) error {
	meant, err := time.Parse("01/02/2006", text)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(45 * time.Second); ; {
		if err := v.keys(false, strings.Split(text, "")...); err != nil {
			return err
		}
		got, err := v.evaluate("document.activeElement.value")
		if err != nil || got == meant.Format(`"2006-01-02"`) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s was typed, and the field has %s", text, got)
		}
		// The next try begins with the month again.
		if _, err := v.evaluate("(e => (e.blur(), e.value = '', e.focus(), 0))(document.activeElement)"); err != nil {
			return err
		}
	}
}

func (v *webkitTab) key(k string, control bool) error {
	if k == "\r" {
		k = "\ue007"
	}
	if control {
		return v.keys(true, "\ue009", k)
	}
	return v.keys(false, k)
}

func (v *webkitTab) upload(css, path string) error {
	var element map[string]string
	if err := v.post("/element", map[string]string{"using": "css selector", "value": css}, &element); err != nil {
		return err
	}
	for _, id := range element {
		return v.post("/element/"+id+"/value", map[string]string{"text": path}, nil)
	}
	return errors.New("the driver names no element")
}

func (v *webkitTab) screenshot() ([]byte, error) {
	var s string
	if err := v.in(http.MethodGet, "/screenshot", nil, &s); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(s)
}

func (v *webkitTab) another() (tab, error) {
	var made struct{ Handle string }
	if err := v.post("/window/new", map[string]string{"type": "window"}, &made); err != nil {
		return nil, err
	}
	w := &webkitTab{session: v.session, t: v.t, handle: made.Handle}
	return w, w.size()
}

func (v *webkitTab) handles() (all []string, err error) {
	err = v.in(http.MethodGet, "/window/handles", nil, &all)
	return all, err
}

func (v *webkitTab) opened(action func()) (tab, error) {
	before, err := v.handles()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, h := range before {
		known[h] = true
	}
	action()
	for deadline := time.Now().Add(45 * time.Second); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		now, err := v.handles()
		if err != nil {
			return nil, err
		}
		for _, h := range now {
			if !known[h] {
				return &webkitTab{session: v.session, t: v.t, handle: h}, nil
			}
		}
	}
	return nil, errors.New("no window was opened")
}

func (v *webkitTab) downloads() (string, error) { return filepath.Join(v.home, "downloads"), nil }

func (v *webkitTab) fetches() (func() []string, error) {
	return func() (all []string) {
		s, err := v.evaluate("[location.href, ...performance.getEntriesByType('resource').map(r => r.name).filter(n => !n.startsWith('data:'))]")
		if err == nil {
			err = json.Unmarshal([]byte(s), &all)
		}
		if err != nil {
			v.t.Error(err)
		}
		return all
	}, nil
}

func (v *webkitTab) complaints() (all []string) {
	s, err := v.evaluate("window.complaints")
	if err == nil {
		err = json.Unmarshal([]byte(s), &all)
	}
	if err != nil {
		v.t.Error(err)
	}
	return all
}

func (v *webkitTab) clear() {
	if _, err := v.evaluate("window.complaints.length = 0"); err != nil {
		v.t.Error(err)
	}
}
