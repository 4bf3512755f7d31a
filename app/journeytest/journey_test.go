// Package journeytest goes the ways that people go, in a real Chromium and in the WebKit that
// the window of Parley is made of, against the real program with its demo agents.
//
// Every journey has a program and a data directory of its own, and a browser profile that knows nothing. It finds what
// it presses by the words on it and types into fields by their labels, as a person does; what is covered or disabled it
// cannot use. It waits for what is to be seen, never for a while. A journey also fails on anything that the browser
// complains of, and on a program that panics or does not end when it is told to.
//
//	PARLEY_SHOTS=DIR go test ./app/journeytest -run TestJourney/WebKit/Form -v
//
// keeps pictures of the journeys, and of the page on which one stopped.
package journeytest

import (
	"flag"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the binary under test.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "journey")
	if err != nil {
		log.Fatal(err)
	}
	program = filepath.Join(dir, "parley")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../..").CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	code := m.Run()
	if chrome.end != nil {
		chrome.end()
	}
	if screen.end != nil {
		screen.end()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// begin starts a journey: the program, and somebody who has its link open.
func begin(t *testing.T, b browser) (*process, *window) {
	t.Helper()
	w := profile(t, b)
	p := serve(t)
	w.enter(p)
	return p, w
}

// TestJourney goes every way in every browser.
func TestJourney(t *testing.T) {
	if testing.Short() {
		t.Skip("journeys take a while")
	}
	for _, b := range []browser{chromium, webkit} {
		for name, journey := range map[string]func(*testing.T, browser){
			"Connect": journeyConnect, "FirstChat": journeyFirstChat, "Form": journeyForm, "SignIn": journeySignIn, "Workflow": journeyWorkflow,
			"StopAndRetry": journeyStopAndRetry, "Find": journeyFind, "Export": journeyExport, "Publish": journeyPublish, "Kill": journeyKill,
		} {
			t.Run(b.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				journey(t, b)
			})
		}
	}
}

// say writes a message to an agent in the composer, and sends it with Enter.
func (w *window) say(to, text string) {
	w.Helper()
	w.until("document.querySelector('select[name=to]')")
	js[any](w, `(s => { s.value = [...s.options].find(o => o.text === `+quote(to)+`).value; s.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector("select[name=to]"))`)
	w.write("Message", text)
	w.types("\r")
}

// signIn takes the first link of the question that wants a sign-in.
func (w *window) signIn() {
	w.Helper()
	w.until("document.querySelector('form.ask footer a[target]')")
	w.press(js[string](w, "document.querySelector('form.ask footer a[target]').innerText.trim()"))
}

// ended waits until what goes on in a chat has ended.
func (w *window) ended() {
	w.Helper()
	w.until("location.pathname.startsWith('/c/') && document.querySelector('#items')?.children.length > 1 && !document.querySelector('#open').children.length && document.querySelector('#pulse').innerText.trim() === ''")
}
