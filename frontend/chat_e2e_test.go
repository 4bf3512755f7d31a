package frontend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/a2a"
	"parley/orchestrator"
)

func ctrl(key string) chromedp.Action[chromedp.Void] {
	return chromedp.KeyEvent(key, chromedp.KeyModifiers(chromedp.ModifierCtrl))
}

// press presses a key that the page takes for itself. Over the protocol its character would be typed all the same.
func (b *tab) press(key string) {
	b.t.Helper()
	if js[bool](b, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "`+key+`", bubbles: true, cancelable: true}))`) {
		b.t.Errorf("nobody took %s", key)
	}
}

// A chat is worked with from the keyboard alone: the palette, find, a name, an agent by @, a second message that waits.
func TestE2EChatByKeyboard(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.write(&orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "fact-sheet", Name: "fact-sheet", Description: "Collects facts"}}})
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello harbour"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "The harbour is old."})
	items, err := w.st.Items(t.Context(), "c1", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	w.st.hits = []orchestrator.Hit{{Item: items[1], Title: "Edge log store", Snippet: []orchestrator.Span{{Text: "harbour", Mark: true}}}}
	b := w.tab(browser(t))
	b.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	b.until(`document.querySelector('#live').dataset.state === "on"`)

	// The palette goes to what is typed, with Enter.
	b.do(ctrl("k"))
	b.until(`document.querySelectorAll('#palette-hits [role=option]').length > 5 && document.activeElement.id === "palette-q"`)
	b.do(chromedp.KeyEvent("rename"))
	b.until(`document.querySelector('#palette-hits [aria-selected=true]')?.innerText.startsWith("Rename this chat")`)
	b.press("Enter")
	b.until(`document.querySelector('#rename-chat').open && !document.querySelector('#palette').open`)
	b.do(ctrl("a"), chromedp.KeyEvent("Old harbours\r"))
	b.until(`document.querySelector('#title').textContent === "Old harbours" && !document.querySelector('#rename-chat').open`)
	b.until(`document.querySelector('#chats').innerText.includes("Old harbours")`)

	// Find marks where it stands.
	b.do(ctrl("f"))
	b.until(`document.activeElement.id === "find-q"`)
	b.do(chromedp.KeyEvent("harbour"))
	b.until(`document.querySelector('#find-n').textContent === "1/1" && document.querySelector('.here')?.textContent.includes("is old") && CSS.highlights.get("find").size === 2`)
	b.picture("find")
	b.do(chromedp.KeyEvent("\u001b"))
	b.until(`document.querySelector('#find').hidden && document.activeElement.id === "say" && !CSS.highlights.has("find")`)

	// An agent by its name, a workflow by its own.
	b.do(chromedp.KeyEvent("@qu"))
	b.until(`!document.querySelector('#complete').hidden && document.querySelector('#complete [aria-selected=true]')?.innerText.includes("Quill")`)
	b.picture("complete")
	b.press("Enter")
	b.until(`document.querySelector('#complete').hidden && document.querySelector('#composer select').value === "quill" && document.querySelector('#say').value === ""`)
	// Whoever types faster than the list follows gets whom he named, not whom the list still shows.
	b.until(`(document.querySelector('#composer select').selectedIndex = 0, true)`)
	b.do(chromedp.KeyEvent("@"))
	b.until(`!document.querySelector('#complete').hidden`)
	b.do(chromedp.KeyEvent("qu"))
	b.press("Tab")
	b.until(`document.querySelector('#complete').hidden && document.querySelector('#composer select').value === "quill" && document.querySelector('#say').value === ""`)
	b.do(chromedp.KeyEvent("/fa"))
	b.until(`document.querySelector('#complete [aria-selected=true]')?.innerText.includes("fact-sheet")`)
	b.press("Tab")
	b.until(`document.querySelector('#say').value === "/fact-sheet " && document.activeElement.id === "say"`)

	// What is said while something goes on waits, and can be taken back.
	c, err := w.st.Conversation(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	busy := *c
	busy.State = orchestrator.ConversationWorking
	w.write(&orchestrator.Batch{Conversations: []*orchestrator.Conversation{&busy}})
	b.do(ctrl("a"), chromedp.KeyEvent("And then this"))
	b.until(`document.querySelector('#say').value === "And then this" && document.querySelector('#complete').hidden`)
	b.press("Enter")
	b.until(`document.querySelector('#queue').innerText.includes("And then this") && document.querySelector('#say').value === ""`)
	b.picture("queue")
	js[bool](b, `document.querySelector('#queue [data-refill]').click() === undefined`)
	b.until(`document.querySelector('#queue').children.length === 0 && document.querySelector('#say').value === "And then this"`)
	if n := len(w.who.said); n != 0 {
		t.Errorf("%d were said", n)
	}

	// The sheet of shortcuts, and what was said last.
	b.do(ctrl("a"), chromedp.KeyEvent("\b"))
	js[bool](b, `document.activeElement.blur() === undefined`)
	b.do(chromedp.KeyEvent("?"))
	b.until(`document.querySelector('#keys').open`)
	b.do(chromedp.KeyEvent("\u001b"))
	b.until(`!document.querySelector('#keys').open`)
	js[bool](b, `document.querySelector('#say').focus() === undefined`)
	b.press("ArrowUp")
	b.until(`location.search.startsWith("?edit=") && document.querySelector('#say').value === "Hello harbour"`)

	// Deleted, and taken back.
	b.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	js[bool](b, `document.querySelector('#delete-open').click() === undefined`)
	b.until(`document.querySelector('#delete-chat').open`)
	js[bool](b, `document.querySelector('#delete-chat .danger').click() === undefined`)
	b.until(`location.pathname === "/" && document.querySelector('#toast')?.innerText.includes("is deleted")`)
	b.picture("undo")
	js[bool](b, `document.querySelector('#toast button').click() === undefined`)
	b.until(`location.pathname === "/c/c1" && document.querySelector('main').innerText.includes("The harbour is old.")`)
	b.quiet()
}

// What agents make is shown in frames without an origin: a diagram is drawn there, a document runs nothing, and neither
// reaches the page. A table is sorted, formulas are drawn by the browser.
func TestE2EFramesAreSandboxes(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1")
	hostile := "<!doctype html><h1>Report</h1><script>document.body.textContent='RAN';parent.document.title='RAN'</script><img src=x onerror=\"document.body.textContent='RAN'\">"
	w.tell("c1", "r1", &a2a.Task{ID: "r1", Artifacts: []a2a.Artifact{
		{ID: "h", Name: "report.html", Parts: []a2a.Part{{Kind: a2a.PartText, Text: hostile, MediaType: "text/html", Filename: "report.html"}}},
		{ID: "t", Name: "t.csv", Parts: []a2a.Part{{Kind: a2a.PartText, Text: "Store,N\nb,10\na,9\nc,100\n", MediaType: "text/csv"}}},
	}}, &orchestrator.Batch{Runs: []*orchestrator.Run{{ID: "r1", ConversationID: "c1", To: "atlas", State: a2a.TaskStateCompleted, Created: clock, Updated: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}}})
	data := func(id string) []byte {
		b, _ := json.Marshal(orchestrator.ArtifactData{ArtifactID: id, Name: id, Parts: []orchestrator.PartInfo{{Kind: "text"}}})
		return b
	}
	w.chatWith("c1",
		&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "$$\\frac{a}{b}$$\n\n```mermaid\ngraph LR\nA[<img src=x onerror=parent.document.title='RAN'>Writer] --> B[Done]\nclick A \"javascript:parent.document.title='RAN'\"\n```"},
		&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemArtifact, AgentID: "atlas", Data: data("h")},
		&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemArtifact, AgentID: "atlas", Data: data("t")},
	)
	b := w.tab(browser(t))
	b.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	b.until(`document.querySelector('#live').dataset.state === "on"`)
	b.until(`document.querySelector('math mfrac').getBoundingClientRect().height > 20`)
	js[bool](b, `document.querySelectorAll('details.diagram, .media details').forEach(d => d.open = true) === undefined`)
	b.until(`Number(document.querySelector('.diagram iframe')?.height) >= 40`)
	b.until(`document.querySelector('.media iframe')?.getAttribute("sandbox") === ""`)
	for _, frame := range []string{".diagram iframe", ".media iframe"} {
		b.until(`document.querySelector('` + frame + `').contentDocument === null`)
	}
	js[bool](b, `document.querySelectorAll('th button')[1].click() === undefined`)
	b.until(`[...document.querySelectorAll('tbody tr')].map(r => r.cells[0].textContent).join() === "a,b,c" && document.querySelectorAll('th')[1].ariaSort === "ascending"`)
	js[bool](b, `document.querySelectorAll('th button')[1].click() === undefined`)
	b.until(`[...document.querySelectorAll('tbody tr')].map(r => r.cells[0].textContent).join() === "c,b,a"`)
	b.picture("frames")
	if title := js[string](b, `document.title`); strings.Contains(title, "RAN") {
		t.Error("a frame reached the page")
	}
	b.quiet("Blocked script execution", "Refused to", "Content Security Policy", "violates")
}

func TestSandboxedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	w.tell("c1", "r1", &a2a.Task{ID: "r1", Artifacts: []a2a.Artifact{{ID: "h", Parts: []a2a.Part{{Kind: a2a.PartText, Text: "<!doctype html><script>x</script>"}, {Kind: a2a.PartRaw, Raw: []byte("just text")}}}}}, nil)
	r := w.get("/runs/r1/artifacts/h/0?show").want(t, 200)
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "; sandbox;") || strings.Contains(policy, "script") || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Error(policy, r.Header)
	}
	if r := w.get("/runs/r1/artifacts/h/0"); strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") {
		t.Error(r.Header)
	}
	if r := w.get("/runs/r1/artifacts/h/1?show"); !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		t.Error(r.Header)
	}
	r = w.get("/diagram").want(t, 200)
	policy = r.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'sha256-", "sandbox allow-scripts", "frame-ancestors 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy of diagrams lacks %q: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe-eval") || strings.Contains(policy, "script-src 'unsafe-inline'") || strings.Contains(policy, "allow-same-origin") {
		t.Error(policy)
	}
}
