package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/a2a"
	"parley/orchestrator"
)

// window is a page with its socket: it applies frames as the page's script does.
type window struct {
	t    testing.TB
	w    *world
	conn *websocket.Conn
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	doc    *html.Node
	at     hello
	ops    [][]op
	said   []string
	reload bool
	err    error
}

// open loads a page and connects its socket.
func (w *world) open(path string) *window {
	w.Helper()
	v := &window{t: w, w: w}
	v.load(path)
	v.connect()
	w.Cleanup(v.close)
	return v
}

func (v *window) load(path string) {
	v.t.Helper()
	p := v.w.get(path).want(v.t, http.StatusOK)
	body := find(p.doc, byTag("body"))[0]
	last, _ := strconv.ParseInt(attr(body, "data-last"), 10, 64)
	seq, _ := strconv.ParseInt(attr(body, "data-seq"), 10, 64)
	v.doc = p.doc
	v.at = hello{Conversation: attr(body, "data-conversation"), Last: last, Room: attr(body, "data-room"), Seq: seq}
}

func (v *window) connect() {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, _, err := websocket.Dial(ctx, v.w.srv.URL+"/ws", nil)
	if err != nil {
		cancel()
		v.t.Fatal(err)
	}
	c.SetReadLimit(64 << 20)
	b, _ := json.Marshal(v.at)
	if err := c.Write(ctx, websocket.MessageText, b); err != nil {
		v.t.Fatal(err)
	}
	v.conn, v.stop, v.done = c, cancel, make(chan struct{})
	go v.read(ctx, c, v.done)
}

func (v *window) read(ctx context.Context, c *websocket.Conn, done chan struct{}) {
	defer close(done)
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			v.mu.Lock()
			v.err = err
			v.mu.Unlock()
			return
		}
		var f frame
		if err := json.Unmarshal(b, &f); err != nil {
			v.t.Errorf("a frame is no JSON: %v", err)
			return
		}
		v.mu.Lock()
		v.apply(&f)
		v.mu.Unlock()
	}
}

func (v *window) cut() {
	v.stop()
	<-v.done
}

func (v *window) close() { v.cut(); v.conn.CloseNow() }

func (v *window) apply(f *frame) {
	if f.Reload {
		v.reload = true
		return
	}
	if f.Room != "" {
		v.at.Room = f.Room
	}
	if f.Seq != 0 {
		v.at.Seq = f.Seq
	}
	if f.Last != 0 {
		v.at.Last = f.Last
	}
	if f.Room != "" && len(f.Ops) > 0 {
		v.ops = append(v.ops, f.Ops)
	}
	for _, o := range f.Ops {
		if o[0] == "s" {
			v.said = append(v.said, o[2])
			continue
		}
		el := byID(v.doc, o[1])
		if el == nil {
			continue
		}
		switch o[0] {
		case "a":
			v.insert(el, nil, o[2])
		case "p":
			v.insert(el, el.FirstChild, o[2])
		case "b":
			v.insert(el.Parent, el, o[2])
		case "r":
			v.insert(el.Parent, el, o[2])
			el.Parent.RemoveChild(el)
		case "i":
			for el.FirstChild != nil {
				el.RemoveChild(el.FirstChild)
			}
			v.insert(el, nil, o[2])
		case "t":
			if el.LastChild != nil && el.LastChild.Type == html.TextNode {
				el.LastChild.Data += o[2]
			} else {
				el.AppendChild(&html.Node{Type: html.TextNode, Data: o[2]})
			}
		case "x":
			el.Parent.RemoveChild(el)
		default:
			v.t.Errorf("unknown op %q", o[0])
		}
	}
}

func (v *window) insert(parent, before *html.Node, s string) {
	ns, err := html.ParseFragment(strings.NewReader(s), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		v.t.Error(err)
	}
	for _, n := range ns {
		parent.InsertBefore(n, before)
	}
}

// shows is what the transcript and the strip above the composer look like, without the ids that differ by room, repeated
// names of days, and heads that a piece of a transcript has for want of the one before.
func (v *window) shows() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return picture(v.doc)
}

func picture(doc *html.Node) string {
	var b strings.Builder
	day := ""
	for _, id := range []string{"title", "items", "open", "pulse"} {
		n := byID(doc, id)
		if n == nil {
			continue
		}
		fmt.Fprintf(&b, "== %s\n", id)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if d := attr(c, "data-day"); d != "" {
				if d == day {
					continue
				}
				day = d
			}
			paint(&b, c, 0)
		}
	}
	return b.String()
}

func paint(b *strings.Builder, n *html.Node, depth int) {
	switch n.Type {
	case html.TextNode:
		if s := strings.TrimSpace(n.Data); s != "" {
			fmt.Fprintf(b, "%s%q\n", strings.Repeat(" ", depth), s)
		}
		return
	case html.ElementNode:
	default:
		return
	}
	id := attr(n, "id")
	if strings.HasPrefix(id, "p") && !strings.HasPrefix(id, "pulse") {
		id = ""
	}
	inner := attr(n, "class") == "pass"
	if !inner {
		fmt.Fprintf(b, "%s<%s %s #%s>\n", strings.Repeat(" ", depth), n.Data, attr(n, "class"), id)
		depth++
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		paint(b, c, depth)
	}
}

// until waits until the window shows all of these and none of those that begin with "!".
func (v *window) until(texts ...string) {
	v.t.Helper()
	eventually(v.t, func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		shown := textOf(byID(v.doc, "main"))
		for _, s := range texts {
			if not, ok := strings.CutPrefix(s, "!"); ok {
				if strings.Contains(shown, not) {
					return fmt.Errorf("the window still shows %q: %s", not, shown)
				}
			} else if !strings.Contains(shown, s) {
				return fmt.Errorf("the window does not show %q: %s", s, shown)
			}
		}
		return nil
	})
}

// same waits until all windows, and a page loaded now, look the same.
func same(t testing.TB, w *world, path string, vs ...*window) {
	t.Helper()
	eventually(t, func() error {
		fresh := picture(w.get(path).doc)
		for i, v := range vs {
			if d := cmp.Diff(fresh, v.shows()); d != "" {
				return fmt.Errorf("window %d differs from the page (-page +window):\n%s", i, d)
			}
		}
		return nil
	})
}

func TestWindowFollowsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	w.begin("c1", "r1", "Compare three stores")
	a.until("Compare three stores", "Atlas Research", "Sent")
	w.tell("c1", "r1", status("r1", a2a.TaskStateWorking, "Reading sources"), nil)
	a.until("Working", "Reading sources", "Stop")
	w.tell("c1", "r1", chunk("r1", "# On logs\n\nThe first ", false), nil)
	a.until("On logs", "The first")
	b := w.open("/c/c1")
	w.tell("c1", "r1", chunk("r1", "block.\n\n```go\nfunc main() {\n", true), nil)
	a.until("first block.", "func main() {")
	same(t, w, "/c/c1", a, b)
	w.tell("c1", "r1", chunk("r1", "\tprintln(1 < 2)\n", true), nil)
	b.until("println(1 < 2)")
	same(t, w, "/c/c1", a, b)
	w.tell("c1", "r1", chunk("r1", "}\n```\n\nDone.", true), nil)
	same(t, w, "/c/c1", a, b)
	w.end("c1", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "# On logs\n\nThe first block.\n\n```go\nfunc main() {\n\tprintln(1 < 2)\n}\n```\n\nDone."})
	a.until("Done.", "!Working", "!Stop")
	same(t, w, "/c/c1", a, b)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.said, "Atlas Research: Working") || !slices.Contains(a.said, "Atlas Research: Done") {
		t.Errorf("a screen reader heard %q", a.said)
	}
}

// However a run streams, every window shows what the page shows: one that watched, one that came in the middle, and one
// that was cut off and came back.
func TestWindowsShowTheSame(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 50, 400} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "earlier"})
			src := longText(2500)
			watching, lost := w.open("/c/c1"), w.open("/c/c1")
			w.begin("c1", "r1", "go")
			var late *window
			for i := 0; i < len(src); i += size {
				w.tell("c1", "r1", chunk("r1", src[i:min(i+size, len(src))], i > 0), nil)
				switch n := i / size; {
				case n == len(src)/size/3:
					lost.cut()
				case n == len(src)/size/2:
					late = w.open("/c/c1")
				case n == len(src)*2/size/3:
					lost.connect()
				}
			}
			same(t, w, "/c/c1", watching, lost, late)
			w.end("c1", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: src})
			same(t, w, "/c/c1", watching, lost, late)
		})
	}
}

func TestWindowResumesWithoutRepeating(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Options{Linger: time.Minute})
	w.chatWith("c1")
	a := w.open("/c/c1")
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", chunk("r1", "alpha ", false), nil)
	a.until("alpha")
	a.cut()
	w.tell("c1", "r1", chunk("r1", "beta", true), nil)
	eventually(t, func() error {
		r, err := w.rooms.get(t.Context(), "c1")
		if err != nil {
			return err
		}
		defer w.rooms.put(r)
		if _, head, _, _ := r.after(0); head <= a.at.Seq {
			return fmt.Errorf("the room is at %d", head)
		}
		return nil
	})
	a.mu.Lock()
	a.ops = nil
	a.mu.Unlock()
	a.connect()
	a.until("alpha beta")
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ops := range a.ops {
		for _, o := range ops {
			if o[1] == "open" || o[1] == "items" {
				t.Errorf("the window was sent %s of %s again: %.300s", o[0], o[1], o[2])
			}
		}
	}
}

func TestWindowThatMissedTooMuchReloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	for _, n := range []int{pageItems - 1, pageItems, pageItems + 1} {
		id := fmt.Sprintf("c%d", n)
		w.chatWith(id, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "first"})
		v := &window{t: t, w: w}
		v.load("/c/" + id)
		var items []*orchestrator.Item
		for i := range n {
			items = append(items, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: fmt.Sprint("missed ", i)})
		}
		w.chatWith(id, items...)
		v.connect()
		eventually(t, func() error {
			v.mu.Lock()
			defer v.mu.Unlock()
			if n > pageItems != v.reload || !v.reload && !strings.Contains(textOf(v.doc), fmt.Sprint("missed ", n-1)) {
				return fmt.Errorf("%d missed: reload %v", n, v.reload)
			}
			return nil
		})
		v.close()
	}
}

func TestAsksComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	w.begin("c1", "r1", "go")
	ask := &orchestrator.Ask{ID: "q1", RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: orchestrator.AskInput, Prompt: "Which board?", State: orchestrator.AskOpen, Opened: clock}
	w.tell("c1", "r1", status("r1", a2a.TaskStateInputRequired, "Which board?"), &orchestrator.Batch{Asks: []*orchestrator.Ask{ask}})
	a.until("Which board?", "Send answer", "Needs your answer", "Atlas Research waits for you")
	same(t, w, "/c/c1", a)

	// What the person types meanwhile stays: nothing replaces the form.
	a.mu.Lock()
	form := byID(a.doc, "ask-q1")
	a.mu.Unlock()
	w.tell("c1", "r1", chunk("r1", "a partial result", false), nil)
	a.until("a partial result")
	a.mu.Lock()
	if byID(a.doc, "ask-q1") != form {
		t.Error("the form was drawn again")
	}
	a.mu.Unlock()

	closed := *ask
	closed.State, closed.Closed = orchestrator.AskAnswered, clock
	data, _ := json.Marshal(orchestrator.AskData{AskID: "q1", Kind: orchestrator.AskInput, Prompt: "Which board?", State: orchestrator.AskAnswered, Answer: "The small one"})
	w.note("c1", "r1", orchestrator.EventAnswered, map[string]string{"ask": "q1"}, &orchestrator.Batch{
		Asks:  []*orchestrator.Ask{&closed},
		Items: []*orchestrator.Item{{ConversationID: "c1", RunID: "r1", Kind: orchestrator.ItemAsk, AgentID: "atlas", Data: data, At: clock}},
	})
	w.tell("c1", "r1", status("r1", a2a.TaskStateWorking, ""), nil)
	a.until("You answered", "The small one", "!Send answer", "Working")
	same(t, w, "/c/c1", a)
}

func TestStopping(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", status("r1", a2a.TaskStateWorking, ""), nil)
	w.note("c1", "r1", orchestrator.EventStopping, struct{}{}, nil)
	a.until("Stopping")
	w.note("c1", "r1", orchestrator.EventFault, map[string]any{"class": "cancel", "fault": orchestrator.Fault{What: "The task cannot be canceled.", Where: orchestrator.WhereAgent}}, nil)
	a.until("The agent refused to stop: The task cannot be canceled.", "!Stopping", "Working")
	end, _ := json.Marshal(orchestrator.EndData{State: string(a2a.TaskStateCanceled), Took: 42_000})
	w.end("c1", "r1", a2a.TaskStateCanceled, &orchestrator.Item{Kind: orchestrator.ItemEnd, AgentID: "atlas", Data: end})
	a.until("Stopped", "after 0:42", "!Stop ")
	same(t, w, "/c/c1", a)
}

func TestArtifactIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	w.begin("c1", "r1", "go")
	w.tell("c1", "r1", chunk("r1", "first draft", false), nil)
	a.until("first draft")
	w.tell("c1", "r1", chunk("r1", "second draft", false), nil)
	a.until("second draft", "!first draft")
	e := chunk("r1", "", false)
	e.Artifact = a2a.Artifact{ID: "data", Name: "trip", Parts: []a2a.Part{{Kind: a2a.PartData, Data: json.RawMessage(`{"to":"Bergen"}`)}}}
	w.tell("c1", "r1", e, nil)
	a.until("trip", "Bergen", "1 member")
	same(t, w, "/c/c1", a)
}

func TestSideFollowsChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.open("/")
	w.chatWith("c1")
	w.st.hint(orchestrator.Change{ConversationID: "c1"})
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if s := textOf(byID(a.doc, "chats")); !strings.Contains(s, "Edge log store") {
			return fmt.Errorf("the bar shows %s", s)
		}
		return nil
	})
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{agent("new", "Newcomer")}})
	w.st.hint(orchestrator.Change{AgentID: "new"})
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if s := textOf(byID(a.doc, "chats")); !strings.Contains(s, "Newcomer") {
			return fmt.Errorf("the bar shows %s", s)
		}
		return nil
	})
}

func TestTitleFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	a.until("Edge log store")
	w.write(&orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: "c1", Title: "Another name", To: "atlas", Updated: clock}}})
	eventually(t, func() error {
		w.st.hint(orchestrator.Change{ConversationID: "c1"})
		a.mu.Lock()
		defer a.mu.Unlock()
		if s := textOf(byID(a.doc, "title")); s != "Another name" {
			return fmt.Errorf("the title is %s", s)
		}
		return nil
	})
}

func TestDeletedChatReloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "x"})
	a := w.open("/c/c1")
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.at.Room == "" {
			return fmt.Errorf("not connected")
		}
		return nil
	})
	w.post("/c/c1/delete", nil).want(t, http.StatusSeeOther)
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.reload {
			return fmt.Errorf("the window still shows a deleted chat")
		}
		return nil
	})
}

// Frames are coalesced: many events make few frames, and nothing is lost.
func TestFramesAreCoalesced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	w.begin("c1", "r1", "go")
	start := time.Now()
	for i := range 2000 {
		w.tell("c1", "r1", chunk("r1", fmt.Sprintf("word%d ", i), i > 0), nil)
	}
	a.until("word1999")
	most := int(time.Since(start)/flushEvery) + 5
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ops) > most {
		t.Errorf("%d frames for 2000 events in %v, want at most %d", len(a.ops), time.Since(start), most)
	}
}

func TestSocketWantsItsOwnOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Options{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "http://ours" }})
	for origin, ok := range map[string]bool{"http://ours": true, "http://theirs": false, "": false} {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		c, _, err := websocket.Dial(t.Context(), w.srv.URL+"/ws", &websocket.DialOptions{HTTPHeader: h})
		if ok != (err == nil) {
			t.Errorf("origin %q: %v", origin, err)
		}
		if c != nil {
			c.CloseNow()
		}
	}
	plain := newWorld(t, nil)
	if c, _, err := websocket.Dial(t.Context(), plain.srv.URL+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://elsewhere.example"}}}); err == nil {
		c.CloseNow()
		t.Error("without a check of its own the socket takes a foreign origin")
	}
}

func TestSocketLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.opened.Store(int64(a2a.Limits.WebSockets) - 1)
	c, _, err := websocket.Dial(t.Context(), w.srv.URL+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if _, res, err := websocket.Dial(t.Context(), w.srv.URL+"/ws", nil); err == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one socket too many: %v", err)
	}
	for _, n := range []int{a2a.Limits.WebSocketMessage, a2a.Limits.WebSocketMessage + 1} {
		w2 := newWorld(t, nil)
		c, _, err := websocket.Dial(t.Context(), w2.srv.URL+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		frame := `{"conversation":""}`
		frame += strings.Repeat(" ", n-len(frame))
		if err := c.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Read(t.Context())
		if ok := n <= a2a.Limits.WebSocketMessage; ok != (err == nil) {
			t.Errorf("a message of %d bytes: %v", n, err)
		}
		c.CloseNow()
	}
}

func TestCloseSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.at.Room == "" {
			return fmt.Errorf("not connected")
		}
		return nil
	})
	w.Close("Parley is closing")
	<-a.done
	var ce websocket.CloseError
	if ce.Code = websocket.CloseStatus(a.err); ce.Code != websocket.StatusGoingAway || !strings.Contains(a.err.Error(), "Parley is closing") {
		t.Errorf("the window was told %v", a.err)
	}
	w.Close("again")
	if rec := httptest.NewRecorder(); true {
		w.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
		if rec.Code != http.StatusOK {
			t.Errorf("a page after Close: %d", rec.Code)
		}
	}
}

func TestWindowOfAnotherVersionReloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for bundle, want := range map[string]bool{"/static/app-OLD.js": true, w.assets.url("app.js"): false} {
		v := &window{t: t, w: w}
		v.load("/")
		v.at.Bundle = bundle
		v.connect()
		eventually(t, func() error {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.reload != want {
				return fmt.Errorf("%s: reload %v", bundle, v.reload)
			}
			return nil
		})
		v.close()
	}
}

// A run that begins and ends while the room reads it is read once, however many events it has.
func TestRunThatIsOverAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	r, err := w.rooms.get(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.rooms.put(r)
	r.state.Lock() // it falls behind
	w.begin("c1", "r1", "go")
	for i := range 300 {
		w.tell("c1", "r1", chunk("r1", "word ", i > 0), nil)
	}
	w.end("c1", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "all the words"})
	r.state.Unlock()
	a.until("all the words", "!Working")
	same(t, w, "/c/c1", a)
}

func TestSlowWindowGetsSnapshot(t *testing.T) {
	t.Parallel()
	f := newFeed()
	for range feedFrames + 1 {
		f.publish(&frame{})
	}
	for seq, want := range map[int64]bool{0: false, 1: true, feedFrames: true, feedFrames + 1: true, feedFrames + 2: false} {
		frames, _, _, ok := f.after(seq)
		if ok != want || ok && len(frames) != int(feedFrames+1-seq) {
			t.Errorf("after %d: %d frames, %v", seq, len(frames), ok)
		}
	}
	big := newFeed()
	for range 3 {
		big.publish(&frame{Ops: []op{{"i", "x", strings.Repeat("x", feedBytes-100)}}})
	}
	if _, _, _, ok := big.after(1); ok {
		t.Error("a feed remembers more bytes than it may")
	}
	if _, _, _, ok := big.after(2); !ok {
		t.Error("a feed forgot its newest frame")
	}
}
