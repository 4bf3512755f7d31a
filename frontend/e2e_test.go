package frontend

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/a2a"
	"parley/orchestrator"
)

// policyHeader is what stands in front of the page, to the letter.
const policyHeader = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; " +
	"font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types parley"

// network is a listener whose connections can be cut.
type network struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (n *network) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		n.mu.Lock()
		n.conns = append(n.conns, c)
		n.mu.Unlock()
	}
	return c, err
}

type guardedWorld struct {
	*world
	net *network
}

// cut breaks every connection there is.
func (w *guardedWorld) cut() {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	for _, c := range w.net.conns {
		c.Close()
	}
	w.net.conns = nil
}

// guarded serves the world behind the headers that stand in front of it.
func guarded(t *testing.T) *guardedWorld {
	t.Helper()
	w := &guardedWorld{world: newWorld(t, &Options{Now: time.Now, Linger: time.Minute})}
	h := w.Handler()
	w.srv.Close()
	w.srv = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", policyHeader)
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		rw.Header().Set("X-Frame-Options", "DENY")
		rw.Header().Set("Referrer-Policy", "no-referrer")
		if r.Method == http.MethodPost && r.Header.Get("Origin") != "http://"+r.Host {
			t.Errorf("%s was posted with the origin %q", r.URL.Path, r.Header.Get("Origin"))
		}
		h.ServeHTTP(rw, r)
	}))
	w.net = &network{Listener: w.srv.Listener}
	w.srv.Listener = w.net
	w.srv.Start()
	t.Cleanup(w.srv.Close)
	n := 0
	w.who.play = func(s *orchestrator.Say) *orchestrator.Run {
		n++
		run := fmt.Sprint("r", n)
		id := s.ConversationID
		if id == "" {
			id = "c-new"
			w.write(&orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: id, Title: s.Text, To: s.To, Created: time.Now(), Updated: time.Now()}}})
		}
		w.begin(id, run, s.Text)
		w.tell(id, run, status(run, a2a.TaskStateWorking, ""), nil)
		return &orchestrator.Run{ID: run, ConversationID: id}
	}
	return w
}

func TestE2EChat(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	ctx := browser(t)
	a := w.tab(ctx)
	a.do(chromedp.Navigate(w.srv.URL + "/"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	a.shows("One place to work with many agents")
	if on := js[string](a, "document.activeElement.id"); on != "say" {
		t.Errorf("the page opens with the focus on %q", on)
	}
	a.picture("welcome")

	// An example fills the composer; Enter sends it, and leads to the chat.
	a.do(chromedp.Click(chromedp.CSS(".chip")))
	a.until("document.querySelector('#say').value === 'Find out about atlas' && document.querySelector('select[name=to]').value === 'atlas'")
	a.do(chromedp.SendKeys(chromedp.CSS("#say"), "\r"))
	a.until("location.pathname === '/c/c-new'")
	a.shows("Find out about atlas")
	a.shows("Working")
	a.until("document.title.startsWith('Find out about atlas')")

	// It streams, with formatting, and a second window shows the same.
	b := w.tab(a.ctx)
	b.do(chromedp.Navigate(w.srv.URL + "/c/c-new"))
	w.tell("c-new", "r1", chunk("r1", "# Findings\n\nSome **bold** words.\n\n```go\nfunc main() {\n", false), nil)
	for _, v := range []*tab{a, b} {
		v.until("document.querySelector('#open h1')?.textContent === 'Findings'")
		v.until("document.querySelector('#open pre code')?.textContent === 'func main() {\\n'")
	}
	w.tell("c-new", "r1", chunk("r1", "\tprintln(\"<b>\")\n}\n```\n\nThe end", true), nil)
	for _, v := range []*tab{a, b} {
		v.until("document.querySelector('#open pre code .k')?.textContent === 'func'")
		v.shows("The end")
	}
	one, two := js[string](a, "document.querySelector('#open .prose').innerHTML"), js[string](b, "document.querySelector('#open .prose').innerHTML")
	if one != two {
		t.Errorf("two windows differ:\n%s\n---\n%s", one, two)
	}
	a.picture("streaming")

	// The composer stays usable and keeps what is typed when the run ends.
	a.do(chromedp.SendKeys(chromedp.CSS("#say"), "and then"))
	w.end("c-new", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "# Findings\n\nThe end"})
	for _, v := range []*tab{a, b} {
		v.until("document.querySelector('#open').children.length === 0 && document.querySelector('#items h1')?.textContent === 'Findings'")
		v.until("document.querySelector('#pulse').innerText === ''")
	}
	if v := js[string](a, "document.querySelector('#say').value"); v != "and then" {
		t.Errorf("the composer holds %q", v)
	}
	a.until("document.querySelector('#announce').textContent === 'Atlas Research: Done'")

	// A draft outlives the page.
	a.do(chromedp.Reload())
	a.until("document.querySelector('#say')?.value === 'and then'")
	a.quiet()
	b.quiet()
}

// Enter belongs to the input method while it composes, and Shift Enter makes a new line.
func TestE2EEnter(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1")
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	press := func(init string) {
		js[bool](a, `(()=>{const s=document.querySelector('#say'); s.value='テスト'; return s.dispatchEvent(new KeyboardEvent('keydown', {key:'Enter', bubbles:true, cancelable:true, `+init+`}))})()`)
	}
	press("isComposing: true")
	press("keyCode: 229")
	press("shiftKey: true")
	if n := len(w.who.said); n != 0 {
		t.Fatalf("%d messages were sent while composing", n)
	}
	press("keyCode: 13")
	a.shows("テスト")
	if n := len(w.who.said); n != 1 || w.who.said[0].MessageID == "" {
		t.Fatalf("%d messages", n)
	}
	a.until("document.querySelector('#say').value === ''")
	a.quiet()
}

func TestE2EAsk(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1")
	w.begin("c1", "r9", "go")
	ask := &orchestrator.Ask{
		ID: "q1", RunID: "r9", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: orchestrator.AskInput,
		Prompt: "Where to?", State: orchestrator.AskOpen, Opened: time.Now(),
		Schema: json.RawMessage(`{"type":"object","required":["to"],"properties":{"to":{"type":"string","minLength":3},"class":{"enum":["economy","business"]}}}`),
	}
	w.tell("c1", "r9", status("r9", a2a.TaskStateInputRequired, "Where to?"), &orchestrator.Batch{Asks: []*orchestrator.Ask{ask}})
	w.who.reply = func(_ string, an *orchestrator.Answer) {
		closed := *ask
		closed.State = orchestrator.AskAnswered
		data, _ := json.Marshal(orchestrator.AskData{AskID: "q1", Prompt: "Where to?", State: orchestrator.AskAnswered, Answer: string(an.Data)})
		w.note("c1", "r9", orchestrator.EventAnswered, map[string]string{"ask": "q1"}, &orchestrator.Batch{
			Asks: []*orchestrator.Ask{&closed}, Items: []*orchestrator.Item{{ConversationID: "c1", RunID: "r9", Kind: orchestrator.ItemAsk, AgentID: "atlas", Data: data, At: time.Now()}},
		})
	}
	ctx := browser(t)
	a := w.tab(ctx)
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.shows("Where to?")
	a.picture("ask")
	a.do(chromedp.SendKeys(chromedp.CSS(`[name="d/to"]`), "Be\r"))
	a.shows("At least 3 characters, please.")
	a.until(`document.querySelector('[name="d/to"]').value === 'Be' && document.activeElement.name === 'd/to'`)
	a.do(chromedp.SendKeys(chromedp.CSS(`[name="d/to"]`), "rgen"), chromedp.Click(chromedp.CSS(`[value="business"]`)), chromedp.Click(chromedp.CSS("form.ask .main-act")))
	a.shows("You answered")
	a.until("!document.querySelector('form.ask')")
	if got := string(w.who.answers["q1"].Data); got != `{"to":"Bergen","class":"business"}` {
		t.Errorf("answered %s", got)
	}
	a.quiet("422")
}

// The end stays in view while it is in view, and never otherwise.
func TestE2EScroll(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	var items []*orchestrator.Item
	for i := range pageItems * 3 {
		items = append(items, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: fmt.Sprintf("message %d.\n\nof three lines", i)})
	}
	w.chatWith("c1", items...)
	a := w.tab(browser(t))
	scripts := func(off bool) {
		if _, err := chromedp.Call(a.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}); err != nil {
			t.Fatal(err)
		}
	}
	scripts(true)
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	end := "(s => s.getBoundingClientRect().bottom < document.querySelector('#end').getBoundingClientRect().top - 64 ? 1000 : Math.abs(s.scrollTop))(document.querySelector('#scroll'))"
	if away := js[float64](a, end); away != 0 {
		t.Errorf("without its script a page opens %v pixels from the end", away)
	}
	scripts(false)
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	a.until(end + " < 64")
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", chunk("r1", longText(2000), false), nil)
	a.until("document.querySelector('#open h2')")
	a.until(end + " < 64")

	js[float64](a, "document.querySelector('#scroll').scrollTop -= 900")
	place := "(s => [...document.querySelectorAll('#items > *, #open *')].map(e => e.getBoundingClientRect().top - s).find(y => y >= 0))(document.querySelector('#scroll').getBoundingClientRect().top)"
	at := js[float64](a, place)
	w.tell("c1", "r1", chunk("r1", longText(2000), true), nil)
	a.until("!document.querySelector('#newer').hidden")
	if now := js[float64](a, place); math.Abs(now-at) > 1 {
		t.Errorf("the view moved from %v to %v", at, now)
	}
	a.do(chromedp.Click(chromedp.ID("newer")))
	a.until(end + " < 64 && document.querySelector('#newer').hidden")

	// From far up the way back is there before anything new comes, as a button and as a key.
	for _, way := range []chromedp.Action[chromedp.Void]{chromedp.Click(chromedp.ID("newer")), chromedp.KeyEvent(kb.End)} {
		js[float64](a, "document.querySelector('#scroll').scrollTop = -1e6")
		a.until("!document.querySelector('#newer').hidden")
		a.do(way)
		a.until(end + " < 64 && document.querySelector('#newer').hidden")
	}

	// Older ones come in above, and the view stays on what it showed.
	js[float64](a, "document.querySelector('#scroll').scrollTop = -1e6")
	a.until("document.querySelector('#items').innerText.includes('message 60.')")
	js[float64](a, "document.querySelector('#scroll').scrollTop = -1e6")
	a.until("document.querySelector('#items').innerText.includes('message 0.') && !document.querySelector('#earlier')")
	if n := js[float64](a, "document.querySelectorAll('#items > [data-day]').length"); n != 1 {
		t.Errorf("the day is named %v times", n)
	}
	a.quiet()
}

// What a tool of a message cannot do is said at that message, and no longer once it could.
func TestE2EToolFails(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "first"}, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "second"})
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	first := `[...document.querySelectorAll("#items .mine")].find(m => m.innerText.includes("first"))`
	branch := first + `.querySelector("[formaction*='/branch/']")`
	js[any](a, "(b => { b.dataset.was = b.formAction; b.formAction = '/c/none/branch/1'; b.click() })("+branch+")")
	a.until(first + ".querySelector('[data-fault]')?.innerText")
	js[any](a, "(b => { b.formAction = b.dataset.was; b.click() })("+branch+")")
	a.until("location.pathname !== '/c/c1' && document.querySelector('#items').innerText.includes('first')")
	if js[bool](a, "document.querySelector('#items').innerText.includes('second')") {
		t.Error("the branch goes on after its place")
	}
	a.quiet("404")
}

func TestE2EReconnects(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1")
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", chunk("r1", "before ", false), nil)
	a.shows("before")
	w.cut()
	w.tell("c1", "r1", chunk("r1", "meanwhile ", true), nil)
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	w.tell("c1", "r1", chunk("r1", "after", true), nil)
	a.shows("before meanwhile after")

	// What cannot be sent stays where it was typed.
	w.srv.Listener.Close()
	w.cut()
	a.do(chromedp.SendKeys(chromedp.CSS("#say"), "a long letter\r"))
	a.shows("Parley did not answer.")
	if v := js[string](a, "document.querySelector('#say').value"); strings.TrimSpace(v) != "a long letter" {
		t.Errorf("the composer holds %q", v)
	}
	a.until("document.querySelector('#live-word').textContent === 'Connection lost, catching up'")
}

// Everything that can be done can be reached by the keyboard, in an order that makes sense.
func TestE2EKeyboard(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "Hello", RunID: "r0"})
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#live-word').textContent === 'Live'")
	js[bool](a, "document.querySelector('.skip').focus() || true")
	var seen []string
	for range 40 {
		name := js[string](a, "(e => (e.getAttribute('aria-label') || e.innerText || e.name || e.id || e.tagName).trim().split('\\n')[0])(document.activeElement)")
		seen = append(seen, name)
		if visible := js[bool](a, "(r => r.width > 0 && r.height > 0)(document.activeElement.getBoundingClientRect())"); !visible && name != "BODY" {
			t.Errorf("the focus is on %q, which cannot be seen", name)
		}
		if name == "Send" {
			break
		}
		a.do(chromedp.KeyEvent("\t"))
	}
	order := strings.Join(seen, " · ")
	at := 0
	for _, name := range []string{"Skip to content", "Parley", "New chat", "jump", "AR", "QL", "Settings", "Find in this chat", "Pin this chat", "More", "Conversation", "Copy", "Branch from here", "Ask again", "text", "file", "Name an agent", "Run a workflow", "To", "Send"} {
		i := strings.Index(order[at:], name)
		if i < 0 {
			if name == "jump" || name == "text" || name == "file" { // fields are named by their labels
				continue
			}
			t.Fatalf("%q is not reached in its place: %s", name, order)
		}
		at += i
	}
	a.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	a.until("document.activeElement.id === 'palette-q'")
	a.quiet()
}

func TestE2ENarrowAndDark(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "| a | b |\n|---|---|\n| a long cell that does not wrap at all, or hardly | x |\n\n```\n" + strings.Repeat("a very long line ", 20) + "\n```"})
	a := w.tab(browser(t))
	a.do(chromedp.EmulateViewport(390, 844))
	if _, err := chromedp.Call(a.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/c/c1", "/", "/agents", "/agents/atlas", "/connect", "/search?q=x", "/settings"} {
		a.do(chromedp.Navigate(w.srv.URL + path))
		a.until("document.querySelector('#live-word').textContent === 'Live'")
		if wide := js[float64](a, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("%s is %v wide", path, wide)
		}
		a.picture("narrow-" + strings.NewReplacer("/", "-", "?", "-").Replace(path))
	}
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("getComputedStyle(document.querySelector('#side')).visibility === 'hidden'")
	a.do(chromedp.Click(chromedp.CSS(".bar .burger")))
	a.until("getComputedStyle(document.querySelector('#side')).visibility === 'visible'")
	a.do(chromedp.KeyEvent("\x1b"))
	a.until("getComputedStyle(document.querySelector('#side')).visibility === 'hidden'")
	a.quiet()
}

// A document in a frame is shown by the browser's own viewer, under the headers it is served with.
func TestE2EFiles(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	w.chatWith("c1")
	w.begin("c1", "r1", "go")
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
	pdf := []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF")
	w.tell("c1", "r1", &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{
		{Kind: a2a.PartRaw, Raw: png, Filename: "dot.png"}, {Kind: a2a.PartRaw, Raw: pdf, Filename: "page.pdf"},
	}}}, nil)
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/c/c1"))
	a.until("document.querySelector('#open img')?.naturalWidth === 1")
	a.do(chromedp.Click(chromedp.CSS("details.pdf summary")))
	a.until("document.querySelector('details.pdf iframe')")
	if os.Getenv("PARLEY_SHOTS") != "" {
		time.Sleep(time.Second) // the viewer draws, and does not say when it has
	}
	a.picture("pdf")
	a.quiet()
}

// What is chosen by hand shows only once a version is, and an address of gRPC, which is no URL, can be sent.
func TestE2ESpeaks(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/agents/atlas"))
	a.until("document.querySelector('#at-version')")
	js[any](a, "document.querySelector('#at-version').closest('details').open = true")
	a.until("!document.querySelector('#at-url').checkVisibility()")
	js[any](a, "document.querySelector('#at-version').value = '0.3'")
	a.until("document.querySelector('#at-url').checkVisibility()")
	js[any](a, "(() => { const at = document.querySelector('#at-url'); document.querySelector('#at-binding').value = 'GRPC'; at.value = '127.0.0.1:7422'; at.form.requestSubmit() })()")
	a.until("location.pathname === '/agents/atlas' && !document.querySelector('#at-version').closest('details').open")
	if at := w.who.spoken["atlas"]; at == nil || at.URL != "127.0.0.1:7422" || at.Binding != a2a.BindingGRPC {
		t.Errorf("called %+v", at)
	}
	a.quiet()
}

// What a list holds scrolls within it: the words for screen readers, too, do not make the page itself longer than its window.
func TestE2EListsHoldTheirOwn(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	a := w.tab(browser(t))
	a.do(chromedp.Navigate(w.srv.URL + "/agents/atlas"))
	a.until("document.querySelector('.split')")
	if n := js[float64](a, `(() => {
		const lists = document.querySelectorAll('.side-list, .split > *')
		for (const l of lists) for (let i = 0; i < 200; i++) {
			const p = l.appendChild(document.createElement('p')), words = p.appendChild(document.createElement('span'))
			words.className = 'sr'
			p.append(words.textContent = 'Failed')
		}
		return lists.length
	})()`); n != 3 {
		t.Fatalf("%v lists", n)
	}
	if longer := js[float64](a, "document.documentElement.scrollHeight - innerHeight"); longer > 0 {
		t.Errorf("the page is %v px longer than its window", longer)
	}
	a.quiet()
}
