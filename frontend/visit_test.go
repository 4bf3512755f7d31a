package frontend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"parley/orchestrator"
)

// From one chat to another the page stays, and everything in it belongs to the chat that is shown.
func TestE2EVisit(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "The first chat"})
	var items []*orchestrator.Item
	for i := range pageItems * 2 {
		items = append(items, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: fmt.Sprintf("message %d.\n\nof three lines", i)})
	}
	w.chatWith("c2", items...)
	a := w.tab(browser(t))
	a.opens(w.srv.URL + "/c/c1")
	js[bool](a, "window.same = true")
	a.do(chromedp.SendKeys(chromedp.CSS("#say"), "half a thought"))

	shows := func(id string) string {
		return fmt.Sprintf(`window.same && location.pathname === "/c/%s" && document.querySelector("#chats [aria-current]")?.pathname === "/c/%[1]s" && document.querySelectorAll("#main").length === 1`, id)
	}
	a.do(chromedp.Click(chromedp.CSS(`#chats a[href="/c/c2"]`)))
	a.until(shows("c2") + ` && document.activeElement.id === "say" && document.querySelector("#say").value === "" && document.querySelector("#announce").textContent`)
	a.shows(fmt.Sprintf("message %d.", len(items)-1))

	// What happens in it is shown, what happens in the other is not, and the end stays in view.
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", chunk("r1", "# Of the first", false), nil)
	w.begin("c2", "r2", "go")
	w.tell("c2", "r2", chunk("r2", "# Of the second\n\n"+longText(2000), false), nil)
	a.until(`document.querySelector("#open h1")?.textContent === "Of the second" && document.querySelector("#scroll").scrollTop > -64`)
	if s := js[string](a, `document.querySelector("#main").innerText`); strings.Contains(s, "Of the first") || strings.Contains(s, "The first chat") {
		t.Errorf("one chat shows what is another's: %s", s)
	}

	// So do completion, the older items, and what is found.
	a.do(chromedp.SendKeys(chromedp.CSS("#say"), "@qu"))
	a.until(`!document.querySelector("#complete").hidden && document.querySelector("#complete [aria-selected=true]")?.innerText.includes("Quill")`)
	a.press("Enter")
	a.until(`document.querySelector("#composer select").value === "quill"`)
	js[float64](a, `document.querySelector("#scroll").scrollTop = -1e6`)
	a.until(`document.querySelector("#items").innerText.includes("message 0.") && !document.querySelector("#earlier")`)
	a.do(ctrl("f"))
	a.until(`document.activeElement.id === "find-q"`)

	// Back to the first, with the draft that was left there and what went on meanwhile.
	js[any](a, "history.back()")
	a.until(shows("c1") + ` && document.querySelector("#say").value === "half a thought" && document.querySelector("#open h1")?.textContent === "Of the first"`)
	js[any](a, "history.forward()")
	a.until(shows("c2"))
	a.until(`document.querySelector("#open h1")?.textContent === "Of the second"`)

	// While the other chat is on its way for long, the page says so.
	js[string](a, `document.querySelector("#main").ariaBusy = "true"`)
	a.until(`getComputedStyle(document.querySelector("#main")).opacity === "0.5"`)
	js[any](a, `document.querySelector("#main").ariaBusy = null`)

	// A click on the chat that is open is no further step back.
	js[any](a, "history.back()")
	a.until(shows("c1"))
	entries := js[float64](a, "history.length")
	a.do(chromedp.Click(chromedp.CSS(`#chats a[href="/c/c1"]`)))
	a.until(shows("c1") + ` && document.querySelector("#main").ariaBusy === null`)
	if n := js[float64](a, "history.length"); n != entries {
		t.Errorf("%v entries of history instead of %v", n, entries)
	}
	js[any](a, "history.forward()")
	a.until(shows("c2"))

	// The keys that go from chat to chat, and a page of another kind.
	js[any](a, `document.body.dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, altKey: true, key:
		document.querySelector("#chats a[href^='/c/']").hasAttribute("aria-current") ? "ArrowDown" : "ArrowUp"}))`)
	a.until(shows("c1"))

	// A dialog belongs to the chat it was opened over.
	a.do(ctrl("k"))
	a.until(`document.querySelector("#palette").open`)
	js[any](a, "history.back()")
	a.until(shows("c2") + ` && !document.querySelector("#palette").open && document.activeElement.id === "say"`)

	a.do(chromedp.Click(chromedp.CSS(`a[href="/settings"]`)))
	a.until(`!window.same && location.pathname === "/settings" && document.querySelector("#live").dataset.state === "on"`)
	a.quiet()
}

// What is pressed is there until it is let go, whatever happens meanwhile; then what happened is shown.
func TestE2EPressed(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "The first chat"})
	w.chatWith("c2", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "The second chat"})
	a := w.tab(browser(t))
	b := w.tab(a.ctx)
	a.opens(w.srv.URL + "/c/c1")
	b.opens(w.srv.URL + "/c/c1")
	const link = `document.querySelector("#chats a[href='/c/c2']")`
	js[bool](a, "window.same = true")
	painted := func(b *tab) { // what came before is drawn
		t.Helper()
		for range 3 {
			js[bool](b, `window.drawn = false, requestAnimationFrame(() => requestAnimationFrame(() => window.drawn = true)), true`)
			b.until("window.drawn")
		}
	}
	painted(a)
	at := js[[]float64](a, `{ const r = `+link+`.getBoundingClientRect(); window.pressed = `+link+`; [r.x + r.width / 2, r.y + r.height / 2] }`)
	mouse := func(what input.DispatchMouseEventType) {
		t.Helper()
		_, err := chromedp.Call(a.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: what, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1})
		if err != nil {
			t.Fatal(err)
		}
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	w.chatWith("c3", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "The third chat"})
	w.st.hint(orchestrator.Change{ConversationID: "c3"})
	b.until(`document.querySelector("#chats a[href='/c/c3']")`) // so the other window was told too
	painted(a)
	if !js[bool](a, "window.pressed.isConnected") {
		t.Error("what is pressed was drawn anew")
	}
	mouse(input.DispatchMouseEventTypeMouseReleased)
	a.until(`window.same && location.pathname === "/c/c2" && document.querySelector("#chats a[href='/c/c3']")`)
	a.quiet()
}
