package frontend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/a2a"
	"parley/orchestrator"
)

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

// TestUnwantedIsHeard: what somebody said no to did not fail, for who hears it either.
func TestUnwantedIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	w.begin("c1", "r1", "Publish it")
	a := w.open("/c/c1")
	a.until("Publish it", "Sent")
	w.tell("c1", "r1", chunk("r1", "Half a word", false), nil)
	a.until("Half a word") // it came over the socket, so the window hears what comes after
	end, err := json.Marshal(orchestrator.EndData{State: string(a2a.TaskStateFailed), Fault: &orchestrator.Fault{Kind: orchestrator.FaultDeclined, What: "Step publish was declined."}})
	if err != nil {
		t.Fatal(err)
	}
	w.end("c1", "r1", a2a.TaskStateFailed, &orchestrator.Item{Kind: orchestrator.ItemEnd, AgentID: "atlas", Data: end})
	a.until("You said no")
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !slices.Contains(a.said, "Atlas Research: You said no") || slices.Contains(a.said, "Atlas Research: Failed") {
			return fmt.Errorf("a screen reader heard %q", a.said)
		}
		return nil
	})
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

// TestFlags: who speaks in a chat flies a flag beside its title as soon as it does, under its name; Parley flies none.
func TestFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "go"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "First."},
		&orchestrator.Item{Kind: orchestrator.ItemEnd, AgentID: orchestrator.OwnAgent, Data: []byte(`{"state":"TASK_STATE_CANCELED"}`)})
	flags := func(html string) string {
		_, html, _ = strings.Cut(html, `id="flags"`)
		html, _, _ = strings.Cut(html, `class="push"`)
		return html
	}
	a := w.open("/c/c1")
	body := flags(w.get("/c/c1").want(t, 200).body)
	if has(t, body, `title="Atlas Research"`); strings.Count(body, "title=") != 1 {
		t.Errorf("flags: %s", body)
	}
	w.begin("c1", "r1", "more")
	w.end("c1", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "quill", Text: "Second."})
	a.until("Second.")
	has(t, flags(w.get("/c/c1").want(t, 200).body), `title="Atlas Research"`, `title="Quill"`)
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
	w.bin.undo = time.Millisecond
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

// TestCloseLeavesSilentBrowsers: one that does not answer does not hold up the end.
func TestCloseLeavesSilentBrowsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, hello := range []string{"", "{}", "no JSON"} {
		c, _, err := websocket.Dial(t.Context(), w.srv.URL+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseNow()
		if hello == "" {
			continue
		}
		if err := c.Write(t.Context(), websocket.MessageText, []byte(hello)); err != nil {
			t.Fatal(err)
		}
		if hello == "{}" { // the first frame: the window is live
			if _, _, err := c.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, func() error {
		if n := w.opened.Load(); n != 3 {
			return fmt.Errorf("%d sockets", n)
		}
		return nil
	})
	start := time.Now()
	w.Close("the end")
	if d := time.Since(start); d > 3*closeWithin {
		t.Errorf("Close took %v", d)
	}
}

func TestWindowOfAnotherVersionReloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for bundle, want := range map[string]bool{
		"/static/app-OLD.js " + w.assets.url("app.css"): true,
		w.assets.url("app.js") + " /static/app-OLD.css": true,
		w.assets.bundle(): false,
	} {
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
