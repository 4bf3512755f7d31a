package journeytest

import (
	"testing"
)

// A workflow is run from its page. The panel beside the chat shows every step as it goes; a person approves, signs in,
// and reads what came of it.
func journeyWorkflow(t *testing.T, b browser) {
	_, w := begin(t, b)
	w.follow("Workflows", "/workflows")
	w.press("Research and publish")
	w.shows("Nothing wrong")
	w.picture("workflow")
	w.write("The topic", "tide tables")
	w.press("Run")
	w.until("location.pathname.startsWith('/c/') && document.querySelector('#run-panel')")
	w.until("document.querySelectorAll('#run-steps > li').length >= 4")
	w.until("document.querySelector('#run-steps .is-work')")
	w.picture("workflow-working")
	w.shows("Publish this?")
	w.until("document.querySelector('#run-steps .is-ask')")
	w.picture("workflow-approval")
	w.press("Go ahead")
	w.shows("Parley sees neither your name nor your password.")
	site := w.opens(w.signIn)
	site.press("Open 127.0.0.1")
	site.press("Sign in")
	w.until("document.querySelector('#run-head').innerText.includes('4 of 4 steps done') && document.querySelector('#run-head .is-done')")
	w.until("document.querySelectorAll('#run-steps > li > details > summary .is-done').length === 4")
	w.until("document.querySelector('#run-arts a') && document.querySelector('#run-fall rect')")
	w.picture("workflow-done")
	w.follow("Workflows", "/workflows")
	w.until("document.querySelector('#wf-publish .is-done')")
	w.quiet()
}

// What takes too long is stopped, and asked for once more.
func journeyStopAndRetry(t *testing.T, b browser) {
	_, w := begin(t, b)
	w.say("Slow worker", "#slow 90s")
	w.until("document.querySelector('#open')?.innerText.includes('of 90 seconds')")
	w.press("Stop")
	w.ended()
	w.shows("Stopped")
	w.picture("stopped")
	w.press("Ask again")
	w.until("document.querySelector('#open')?.innerText.includes('of 90 seconds')")
	w.press("Stop")
	w.ended()
	if n := js[float64](w, "document.querySelectorAll('#items .mine').length"); n != 1 && n != 2 {
		t.Errorf("the chat shows %v messages of the person", n)
	}
	w.quiet()
}
