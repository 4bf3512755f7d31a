package frontend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/a2a"
	"parley/orchestrator"
)

func (b *tab) opens(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
	b.until("document.querySelector('#live-word')?.textContent === 'Live'")
}

// Tab goes through every page as it is read: the way past the side bar, the side bar, the page, what stands beside it. What
// has the focus can be seen, and can be seen to have it.
func TestE2EFocusOrder(t *testing.T) {
	t.Parallel()
	w := everything(t)
	a := w.tab(browserFor(t, 5*time.Minute))
	for _, path := range []string{"/", "/c/c1?run=r1", "/inbox", "/tasks", "/wire?id=1", "/agents/atlas", "/workflows/made", "/my-agent", "/settings?section=model", "/connect"} {
		a.opens(w.srv.URL + path)
		if n := js[float64](a, "document.querySelectorAll('[tabindex]:not([tabindex=\"0\"]):not([tabindex=\"-1\"])').length"); n != 0 {
			t.Errorf("%s: %v elements put themselves before others", path, n)
		}
		// What is behind the side bar's chats is reached by the first link of the page.
		js[any](a, "(document.querySelector('.skip').focus(), 0)")
		if !js[bool](a, "(r => r.top >= 0 && r.height > 0)(document.activeElement.getBoundingClientRect())") {
			t.Errorf("%s: the way past the side bar is not shown when it has the focus", path)
		}
		a.do(chromedp.KeyEvent("\r"))
		a.until("document.activeElement.id === 'main'")
		regions := js[string](a, `(() => {
			const place = (e) => e.closest(".skip") ? 0 : e.closest("#side") ? 1 : e.closest("main") ? 2 : 3
			const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter(e => e.checkVisibility({visibilityProperty: true}) && !e.closest("dialog"))
			return all.map(place).filter((p, i, ps) => p !== ps[i - 1]).join("")
		})()`)
		if !strings.HasPrefix("0123", regions) && regions != "023" {
			t.Errorf("%s: Tab goes through the parts of the page in the order %s", path, regions)
		}
		unseen := map[string]bool{}
		for range 60 {
			a.do(chromedp.KeyEvent("\t"))
			at := js[struct {
				Name       string
				Body       bool
				Seen, Mark bool
			}](a, `(e => {
				const name = (e.getAttribute("aria-label") || e.innerText || e.id || e.name || e.tagName).trim().slice(0, 60) + " " + e.tagName
				const r = e.getBoundingClientRect()
				// What marks it is an outline, a ring or a border of its own or of what holds it, and is gone without the focus.
				const look = () => { const out = []; for (let x = e, i = 0; x && i < 3; x = x.parentElement, i++) { const s = getComputedStyle(x); out.push(s.outlineStyle + s.outlineWidth + s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor) } for (const x of e.querySelectorAll(".node")) { const s = getComputedStyle(x); out.push(s.stroke + s.strokeWidth) } return out.join() }
				const on = look()
				e.blur(); const off = look(); e.focus({preventScroll: true})
				return {Name: name, Body: e === document.body, Seen: r.width > 0 && r.height > 0 && r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth, Mark: on !== off}
			})(document.activeElement)`)
			if at.Body {
				break
			}
			if (!at.Seen || !at.Mark) && !unseen[at.Name] {
				unseen[at.Name] = true
				t.Errorf("%s: %q has the focus: it can be seen %t, and seen to have it %t", path, at.Name, at.Seen, at.Mark)
			}
		}
	}
	a.quiet()
}

// What opens takes the focus in, Escape closes it, and the focus is where it was.
func TestE2EFocusReturns(t *testing.T) {
	t.Parallel()
	w := everything(t)
	a := w.tab(browserFor(t, 3*time.Minute))
	a.do(chromedp.EmulateViewport(1440, 900))
	a.opens(w.srv.URL + "/c/c1")
	at := "(document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.tagName)"
	for _, c := range []struct{ name, from, open, inside, closed, back string }{
		{"palette", "document.querySelector('#say')", "ctrl-k", "document.activeElement.id === 'palette-q'", "!document.querySelector('#palette').open", "say"},
		{"palette from a button", "document.querySelector('#pin-button')", "ctrl-k", "document.activeElement.id === 'palette-q'", "!document.querySelector('#palette').open", "pin-button"},
		{"shortcuts", "document.querySelector('#pin-button')", "?", "document.activeElement.closest('#keys')", "!document.querySelector('#keys').open", "pin-button"},
		{"name, by its key", "document.querySelector('#pin-button')", kb.F2, "document.activeElement.id === 'rename-name'", "!document.querySelector('#rename-chat').open", "pin-button"},
		{"menu", "document.querySelector('details.menu > summary')", "\r", "document.querySelector('details.menu').open", "!document.querySelector('details.menu').open", "More"},
		{"find", "document.querySelector('#find-open')", "\r", "document.activeElement.id === 'find-q'", "document.querySelector('#find').hidden", "say"},
	} {
		js[any](a, "("+c.from+".focus(), 0)")
		if c.open == "ctrl-k" {
			a.do(ctrl("k"))
		} else {
			a.do(chromedp.KeyEvent(c.open))
		}
		a.until(c.inside)
		a.do(chromedp.KeyEvent("\x1b"))
		a.until(c.closed)
		a.until(at + " === '" + c.back + "'")
	}

	// From a menu: the focus goes back to the menu, whose entries are out of sight.
	js[any](a, "(document.querySelector('details.menu > summary').focus(), 0)")
	a.do(chromedp.KeyEvent("\r"))
	a.until("document.querySelector('details.menu').open")
	a.do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	a.until("document.activeElement.id === 'rename-name'")
	a.do(chromedp.KeyEvent("\x1b"))
	a.until("!document.querySelector('#rename-chat').open && !document.querySelector('details.menu').open && " + at + " === 'More'")
	a.do(chromedp.KeyEvent("\r"))
	a.until("document.querySelector('details.menu').open")
	a.do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("\x1b"))
	a.until("!document.querySelector('details.menu').open && " + at + " === 'More'")

	// Tab stays within a dialog.
	a.do(chromedp.KeyEvent("?"))
	a.until("document.querySelector('#keys').open")
	for range 5 {
		a.do(chromedp.KeyEvent("\t"))
		if out := js[bool](a, "document.activeElement !== document.body && !document.activeElement.closest('#keys')"); out {
			t.Errorf("the focus left the dialog for %s", js[string](a, at))
		}
	}
	a.do(chromedp.KeyEvent("\x1b"))

	// The run beside the chat.
	a.opens(w.srv.URL + "/c/c1?run=r1")
	js[any](a, "(document.querySelector('#run-panel a').focus(), 0)")
	a.do(chromedp.KeyEvent("\x1b"))
	a.until("!document.querySelector('#run-panel') && document.activeElement.id === 'say'")

	// The run where there is no room beside the chat: a sheet that is closed until somebody asks for it.
	a.do(chromedp.EmulateViewport(390, 844))
	a.opens(w.srv.URL + "/c/c1?run=r1")
	sheet := "(p => getComputedStyle(p).visibility === 'visible' && p.contains(document.activeElement))(document.querySelector('#run-panel'))"
	away := "getComputedStyle(document.querySelector('#run-panel')).visibility === 'hidden' && document.querySelector('#panel-open').ariaExpanded === 'false'"
	a.until(away + " && document.activeElement.id === 'say'")
	for _, closes := range []func(){
		func() { a.do(chromedp.KeyEvent("\x1b")) },
		func() { js[any](a, "(document.querySelector('#run-panel [data-leave]').click(), 0)") },
	} {
		js[any](a, "(document.querySelector('#panel-open').focus(), 0)")
		a.do(chromedp.KeyEvent("\r"))
		a.until(sheet + " && document.querySelector('#panel-open').ariaExpanded === 'true'")
		closes()
		a.until(away + " && document.activeElement.id === 'panel-open'")
	}
	a.do(chromedp.KeyEvent("\r"))
	a.until(sheet)
	js[any](a, "(document.querySelector('#say').focus(), 0)")
	a.until(away + " && document.activeElement.id === 'say'")
	a.opens(w.srv.URL + "/c/c1?run=r1#run-panel")
	a.until(sheet + " && !location.hash")

	// The side bar, where it lies over the page.
	a.opens(w.srv.URL + "/agents")
	open, shut := "document.querySelector('#side').hasAttribute('data-open') && document.activeElement.closest('#side')", "!document.querySelector('#side').hasAttribute('data-open')"
	js[any](a, "(document.querySelector('.bar .burger').focus(), 0)")
	a.do(chromedp.KeyEvent("\r"))
	a.until(open)
	a.do(chromedp.KeyEvent("\x1b"))
	a.until(shut + " && document.activeElement.matches('.bar .burger')")
	a.do(chromedp.KeyEvent("\r"))
	a.until(open)
	js[any](a, "(document.querySelector('[data-close-side]').click(), 0)")
	a.until(shut + " && document.activeElement.matches('.bar .burger')")
	a.do(chromedp.KeyEvent("\r"))
	a.until(open)
	js[any](a, "(document.querySelector('main a:not(.burger)').focus(), 0)")
	a.until(shut + " && document.activeElement.closest('main')")
	a.quiet()
}

// Who asked for less motion gets none, while an agent works and questions wait.
func TestE2EReducedMotion(t *testing.T) {
	t.Parallel()
	w := everything(t)
	w.chatWith("c2")
	w.begin("c2", "r7", "go")
	w.tell("c2", "r7", status("r7", a2a.TaskStateWorking, ""), nil)
	w.tell("c2", "r7", chunk("r7", "Some words", false), nil)
	a := w.tab(browserFor(t, 3*time.Minute))
	moving := "document.getAnimations().filter(m => m.playState === 'running').length"
	a.opens(w.srv.URL + "/c/c2")
	a.until("document.querySelector('#open .prose')")
	a.until(moving + " > 0")
	if _, err := chromedp.Call(a.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/c/c2", "/c/c1?run=r1", "/inbox", "/tasks", "/"} {
		a.opens(w.srv.URL + path)
		a.do(ctrl("k"))
		a.until("document.querySelector('#palette').open")
		if n := js[float64](a, moving); n != 0 {
			t.Errorf("%s: %v things move", path, n)
		}
	}
	a.quiet()
}

// A screen reader hears how things stand and that they ended, and not every piece of text that arrives.
func TestE2EAnnounces(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1")
	a := w.tab(browserFor(t, 3*time.Minute))
	a.opens(w.srv.URL + "/c/c1")
	if n := js[float64](a, "document.querySelectorAll('[aria-live] #open, [role=log] #open, [role=status] #open, [role=alert] #open, #open[aria-live], #items[aria-live], #pulse[aria-live], #pulse[role]').length"); n != 0 {
		t.Errorf("what streams is within %v live regions", n)
	}
	js[any](a, `(() => {
		window.heard = []
		const live = "[aria-live]:not([aria-live=off]), [role=status], [role=alert], [role=log]"
		new MutationObserver((ms) => {
			for (const m of ms) {
				const at = m.target.nodeType === 1 ? m.target : m.target.parentElement
				const region = at?.closest(live)
				if (region && heard.at(-1) !== region.textContent.trim()) heard.push(region.textContent.trim())
			}
		}).observe(document.body, {subtree: true, childList: true, characterData: true})
	})()`)
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", status("r1", a2a.TaskStateWorking, ""), nil)
	for i := range 30 {
		w.tell("c1", "r1", chunk("r1", fmt.Sprintf("token%d ", i), i > 0), nil)
		if i%10 == 9 {
			a.shows(fmt.Sprintf("token%d", i))
		}
	}
	w.tell("c1", "r1", status("r1", a2a.TaskStateInputRequired, "Which one?"), &orchestrator.Batch{Asks: []*orchestrator.Ask{{
		ID: "q5", RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: orchestrator.AskInput, Prompt: "Which one?", State: orchestrator.AskOpen, Opened: time.Now(),
	}}})
	a.until("document.querySelector('#announce').textContent === 'Atlas Research: Needs your answer'")
	w.end("c1", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "All of it"})
	a.until("document.querySelector('#announce').textContent === 'Atlas Research: Done'")
	heard := js[[]string](a, "heard")
	for _, s := range heard {
		if strings.Contains(s, "token") || strings.Contains(s, "All of it") {
			t.Errorf("a screen reader hears %q", s)
		}
	}
	if len(heard) > 6 {
		t.Errorf("it hears %d times: %q", len(heard), heard)
	}
	for _, want := range []string{"Atlas Research: Needs your answer", "Atlas Research: Done"} {
		if !strings.Contains(strings.Join(heard, "\n"), want) {
			t.Errorf("it does not hear %q: %q", want, heard)
		}
	}
	a.quiet()
}
