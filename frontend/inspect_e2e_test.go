package frontend

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/a2a"
	"parley/orchestrator"
)

// closes has the world answer a question as a driver would.
func closes(w *guardedWorld) {
	w.who.reply = func(id string, an *orchestrator.Answer) {
		ask, err := w.st.Ask(w.Context(), id)
		if err != nil {
			w.Error(err)
			return
		}
		closed := *ask
		closed.State, closed.Closed = orchestrator.AskAnswered, time.Now()
		closed.Answer, _ = json.Marshal(an.Text)
		w.note("c1", ask.RunID, orchestrator.EventAnswered, map[string]string{"ask": id, "state": "answered"}, &orchestrator.Batch{Asks: []*orchestrator.Ask{&closed}})
		w.st.hint(orchestrator.Change{AskID: id, RunID: ask.RunID, ConversationID: "c1"})
	}
}

func (w *guardedWorld) asks(id, prompt string) {
	w.Helper()
	w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{
		ID: id, RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: orchestrator.AskInput,
		Prompt: prompt, State: orchestrator.AskOpen, Opened: time.Now(),
	}}})
	w.st.hint(orchestrator.Change{AskID: id, RunID: "r1", ConversationID: "c1"})
}

// A question comes, is counted, notified of, answered in one window and gone from the other, which keeps what was typed.
func TestE2EInbox(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	inspected(w.world)
	closes(w)
	a := w.tab(browser(t))
	if _, err := chromedp.Run(a.ctx, chromedp.Evaluate[any]("0")); err != nil {
		t.Fatal(err)
	}
	a.do(chromedp.Navigate(w.srv.URL + "/inbox"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	a.shows("Which board is closest to the fleet?")
	a.until("document.title === '(1) Inbox · Parley' && document.querySelector('#asking').textContent.trim() === '1'")
	a.picture("inbox")

	// The browser tells of what comes while nobody looks, when it was allowed to.
	js[any](a, `(() => {
		window.told = []
		window.Notification = class { constructor(title, o) { told.push(title + '|' + o.body + '|' + o.tag) } close() {} static permission = 'default'; static async requestPermission() { return this.permission = 'granted' } }
		document.hasFocus = () => false
	})()`)
	a.until("document.querySelector('[data-notify]').getAttribute('aria-pressed') === 'false'")
	js[any](a, "document.querySelector('[data-notify]').click()")
	a.until("document.querySelector('[data-notify]').getAttribute('aria-pressed') === 'true'")
	a.do(chromedp.SendKeys(chromedp.CSS("#inbox-shown textarea"), "Compute Mo"))
	w.asks("q2", "How many seats?")
	a.until("told.length === 1 && told[0] === 'How many seats?|Atlas Research, in Edge log store|ask-q2'")
	a.until("document.querySelector('#in-q2') && document.title.startsWith('(2) ')")
	// What somebody types in stays until they leave it. Then the newest question is shown, and what was typed for another is
	// kept for when that is shown again.
	if v := js[string](a, "document.activeElement.closest('#ask-q1') && document.activeElement.value"); v != "Compute Mo" {
		t.Errorf("while it was typed, the answer became %q", v)
	}
	js[any](a, "(document.activeElement.blur(), 0)")
	a.until("document.querySelector('#ask-q2 textarea')")
	js[bool](a, `document.querySelector('#in-q1').click() === undefined`) // at once: the list may be drawn anew any time
	a.until("document.querySelector('#ask-q1 textarea')?.value === 'Compute Mo'")

	b := w.tab(a.ctx)
	b.do(chromedp.Navigate(w.srv.URL + "/inbox?ask=q2"))
	b.until("document.querySelector('#live-word').textContent === 'Live'")
	b.do(chromedp.SendKeys(chromedp.CSS("#inbox-shown textarea"), "Fourteen\r"))
	b.shows("You answered")
	b.shows("Fourteen")
	for _, v := range []*tab{a, b} {
		v.until("document.querySelector('#in-q2')?.querySelector('.is-done') && document.querySelector('#asking').textContent.trim() === '1'")
	}
	if v := js[string](a, "document.querySelector('#ask-q1 textarea').value"); v != "Compute Mo" {
		t.Errorf("what was typed became %q", v)
	}
	b.picture("inbox-answered")
	a.quiet()
	b.quiet()
}

// The list of tasks moves by itself, keeps what was chosen, and stops it.
func TestE2ETasks(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	l := inspected(w.world)
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/tasks"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	a.shows("Compare three stores")
	a.do(chromedp.Click(chromedp.CSS("#t-in1 input")), chromedp.Click(chromedp.CSS("#t-r1 input")))
	a.until("document.querySelector('[data-count]').textContent === 'Selected: 2'")
	a.picture("tasks")
	w.tell("", "in1", status("in1", a2a.TaskStateInputRequired, ""), &orchestrator.Batch{Runs: []*orchestrator.Run{{
		ID: "in1", To: "quill", State: a2a.TaskStateInputRequired, Created: clock, Updated: time.Now(), Scope: "agents/quill", Principal: "kestrel",
	}}})
	w.st.hint(orchestrator.Change{RunID: "in1"})
	a.until("document.querySelector('#task-rows > tr').id === 't-in1' && document.querySelector('#t-in1 .is-ask')")
	a.until("document.querySelector('#t-in1 input').checked && document.querySelector('#t-r1 input').checked")
	a.do(chromedp.Click(chromedp.CSS("#chosen .danger")))
	eventually(t, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.canceled) != 2 {
			return fmt.Errorf("%v were stopped", l.canceled)
		}
		return nil
	})
	a.until("!document.querySelector('#task-rows input:checked') && !document.querySelector('#chosen').checkVisibility()")

	// A filter applies when it is chosen.
	js[any](a, "(() => { const s = document.querySelector('select[name=caller]'); s.value = 'kestrel'; s.dispatchEvent(new Event('change', {bubbles: true})) })()")
	a.until("location.search.includes('caller=kestrel') && document.querySelectorAll('#task-rows > tr').length === 1")

	// One task: what happens to it is added as it happens.
	a.do(chromedp.Navigate(w.srv.URL + "/tasks/r1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	before := js[float64](a, "document.querySelectorAll('#task-events > li').length")
	w.tell("c1", "r1", status("r1", a2a.TaskStateWorking, "Measuring the second board"), nil)
	w.st.hint(orchestrator.Change{RunID: "r1"})
	a.shows("Measuring the second board")
	if n := js[float64](a, "document.querySelectorAll('#task-events > li').length"); n != before+1 {
		t.Errorf("%v lines became %v", before, n)
	}
	a.picture("task")
	a.do(chromedp.Click(chromedp.CSS("#task-push form .btn")))
	eventually(t, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.tested) != 1 {
			return fmt.Errorf("%v", l.tested)
		}
		return nil
	})

	// A task at an agent is followed.
	a.do(chromedp.Navigate(w.srv.URL + "/tasks/at/atlas/far"))
	a.shows("Begun elsewhere")
	a.do(chromedp.Click(chromedp.CSS("#task-head .main-act")))
	a.shows("Subscribed")
	l.events <- &a2a.StatusUpdate{TaskID: "far", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
	a.until("document.querySelector('#task-head .is-done') && !document.querySelector('#task-head .main-act')")
	a.quiet()
}

// The tail of the wire grows, stands still when it is held, and a record opens beside it with the keyboard alone.
func TestE2EWire(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	l := inspected(w.world)
	a := w.tab(browser(t))
	a.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(w.srv.URL+"/wire"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	first := func() string { return js[string](a, "document.querySelector('#wire-rows > tr').id") }
	record := func() {
		l.wire.RecordWire(&orchestrator.WireRecord{At: time.Now(), Peer: "quill", Method: "GetTask", URL: "https://quill.example/a2a", Status: 200, Request: []byte("{}")})
	}
	record()
	a.until("document.querySelector('#wire-rows > tr').id === 'w5'")
	a.do(chromedp.Click(chromedp.CSS("[data-hold]")))
	a.until("document.querySelector('[data-hold]').getAttribute('aria-pressed') === 'true'")
	record()
	time.Sleep(1500 * time.Millisecond) // longer than it takes to be looked for
	if id := first(); id != "w5" {
		t.Errorf("the list that was held begins with %s", id)
	}
	a.do(chromedp.Click(chromedp.CSS("[data-hold]")))
	a.until("document.querySelector('#wire-rows > tr').id === 'w6'")

	js[any](a, "document.querySelector('#w1 a').focus()")
	a.do(chromedp.KeyEvent("\r"))
	a.until("document.querySelector('#wire-panel') && document.querySelector('#w1').getAttribute('aria-selected') === 'true' && location.search.includes('id=1')")
	a.shows("TaskStatusUpdate")
	a.picture("wire")
	if s := js[string](a, "document.querySelector('.jtree').innerText"); !strings.Contains(s, `"jsonrpc": "2.0",`) {
		t.Errorf("JSON is drawn as %q", s)
	}
	js[any](a, "[...document.querySelectorAll('#wire-panel .tabs a')].find(l => l.textContent.trim() === 'Headers').click()")
	a.until("location.search.includes('show=headers') && document.querySelector('#wire-panel').innerText.includes('A2a-Version')")
	if s := js[string](a, "document.querySelector('#wire-panel').innerText"); strings.Contains(s, "Bearer") {
		t.Errorf("a secret is shown: %s", s)
	}
	record() // the list goes on beside it
	a.until("document.querySelector('#wire-rows > tr').id === 'w7' && document.querySelector('#wire-panel')")
	a.do(chromedp.KeyEvent("\x1b"))
	a.until("!document.querySelector('#wire-panel') && !location.search.includes('id=') && document.activeElement === document.querySelector('#w1 a')")

	// Sent once more, edited, and only when the person is sure.
	a.do(chromedp.Navigate(w.srv.URL + "/wire?id=1"))
	a.do(chromedp.Click(chromedp.CSS(".replay > summary")))
	js[any](a, "document.querySelector('#replay-body').value = '{\"edited\":true}'")
	js[any](a, "document.querySelector('.replay [name=sure]').click()")
	a.do(chromedp.Click(chromedp.CSS(".replay .main-act")))
	a.until("location.search.includes('id=8')")
	if len(l.replayed) != 1 || l.replayed[0] != `{"edited":true}` {
		t.Errorf("sent: %v", l.replayed)
	}
	a.quiet()
}
