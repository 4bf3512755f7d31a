package frontend

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// Whoever approved an agent is told so, and can write to it at once.
func TestConnectedAgentCanBeWrittenTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.who.previews = []*orchestrator.Candidate{{Input: "atlas.example", Agent: agent("atlas", "Atlas Research"), Origins: []string{"https://atlas.example", "https://atlas.example:8443"}}}
	page := w.post("/connect", url.Values{"input": {"atlas.example"}}).want(t, 303).Header.Get("Location")
	w.get(page).want(t, 200, "Approving lets Parley reach atlas.example, atlas.example:8443 and nothing else.")
	next := w.post("/connect/approve", url.Values{"n": {"0"}, "preview": {strings.TrimPrefix(page, "/connect/")}}).want(t, 303).Header.Get("Location")
	r := w.get(next).want(t, 200, "Atlas Research is connected", "Finds sources.", "Find out about atlas")
	to := find(r.doc, func(n *html.Node) bool { return n.Data == "option" && attr(n, "value") == "atlas" })
	if len(to) != 1 || !has1(to[0], "selected") {
		t.Error("the composer is not for the agent")
	}
	if strings.Contains(textOf(r.doc), "One place to work with many agents") || strings.Contains(textOf(r.doc), "Find out about quill") {
		t.Error("the page is the welcome, or speaks of other agents")
	}
	if s := textOf(w.get("/?to=atlas").doc); strings.Contains(s, "is connected") || !strings.Contains(s, "Find out about atlas") {
		t.Error("a new chat with an agent says that it was connected just now, or has no examples")
	}
}

func has1(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// A card that was found and cannot be used is not one that was not found.
func TestUnusableCards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for kind, want := range map[string]string{
		"card-not-found": "No card was found", "card-invalid": "A card was found, but something is wrong with it",
		"version": "A card was found, but Parley cannot speak with this agent", "blocked": "Parley does not go to this address",
		"card-html": "What is there is no card", "timeout": "The card could not be read",
	} {
		fault := &orchestrator.Fault{Kind: kind, Where: orchestrator.WhereAgent, What: "The field `url` is missing.", Do: "Ask `them`."}
		w.who.previews = nil
		w.who.fails(fault)
		r := w.get(w.post("/connect", url.Values{"input": {"x.example"}}).Header.Get("Location")).want(t, 200, want, "The field url is missing.")
		has(t, r.body, "<code>url</code>")
		if kind != "card-not-found" && strings.Contains(r.body, "No card was found") {
			t.Errorf("%s: no card was found", kind)
		}
		w.who.fails(nil)
		w.who.previews = []*orchestrator.Candidate{{Input: "one.example", Fault: fault}, {Input: "two.example", Fault: fault}}
		w.get(w.post("/connect", url.Values{"input": {"one.example"}}).Header.Get("Location")).want(t, 200, "one.example: "+want, "two.example: "+want)
	}
}

// What begins a plan from the composer shows the plan, in a chat that there is already as well.
func TestSaidWorkflowShowsItsRun(t *testing.T) {
	t.Parallel()
	o := &office{plans: map[string]*orchestrator.Plan{"r-plan": plan()}}
	w := o.world(t)
	w.who.play = func(s *orchestrator.Say) *orchestrator.Run {
		id := "r-plain"
		if strings.HasPrefix(s.Text, "/publish") {
			id = "r-plan"
		}
		if s.ConversationID == "" {
			return &orchestrator.Run{ID: id, ConversationID: "c-new"}
		}
		return &orchestrator.Run{ID: id, ConversationID: s.ConversationID}
	}
	for _, c := range []struct{ text, chat, next string }{
		{"/publish tides", "", "/c/c-new?run=r-plan"}, {"/publish tides", "c1", "/c/c1?run=r-plan"}, {"tides", "", "/c/c-new"}, {"tides", "c1", ""},
	} {
		r := w.form("/say", map[string]string{"text": c.text, "conversation": c.chat, "script": "1"})
		if got := r.Header.Get("Location"); got != c.next {
			t.Errorf("%s in %q leads to %q, not %q", c.text, c.chat, got, c.next)
		}
	}
}

// What a step waits for is said once: with the plan, whose strip stops all of it.
func TestOneStripForOneWait(t *testing.T) {
	t.Parallel()
	p := plan()
	o := &office{plans: map[string]*orchestrator.Plan{"r1": p}}
	w := o.world(t)
	open := func(id, scope string) *orchestrator.Run {
		return &orchestrator.Run{
			ID: id, Scope: scope, Principal: orchestrator.LocalPrincipal, ConversationID: "c1", ContextID: "c1", To: "atlas",
			State: a2a.TaskStateWorking, Created: clock, Updated: clock,
		}
	}
	w.write(&orchestrator.Batch{Runs: []*orchestrator.Run{open("r1c", stepScope+"r1"), open("other", orchestrator.OwnAgent)}})
	ask := func(id, run string) {
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{
			ID: id, RunID: run, ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "quill", Kind: orchestrator.AskInput, Prompt: "Well?",
			State: orchestrator.AskOpen, Opened: clock,
		}}})
	}
	ask("q1", "r1c")
	ask("q2", "other")
	strips := find(byID(w.get("/c/c1").want(t, 200).doc, "pulse"), byClass("pulse"))
	var got []string
	for _, s := range strips {
		link := find(s, byTag("a"))
		if len(link) != 1 {
			t.Fatalf("a strip leads to %d questions", len(link))
		}
		got = append(got, attr(s, "id")+" "+attr(link[0], "href"))
	}
	slices.Sort(got)
	if s := strings.Join(got, ", "); s != "pulse-other #ask-q2, pulse-r1 #ask-q1" {
		t.Errorf("the strips are %s", s)
	}
}

// What a step does is said once too: its plan's strip names it, and leads to the plan.
func TestOneStripForAStep(t *testing.T) {
	t.Parallel()
	p := plan()
	o := &office{plans: map[string]*orchestrator.Plan{"r1": p}}
	w := o.world(t)
	w.write(&orchestrator.Batch{Runs: []*orchestrator.Run{{
		ID: "r1c", Scope: stepScope + "r1", Principal: orchestrator.LocalPrincipal, ConversationID: "c1", ContextID: "c1", To: "atlas",
		State: a2a.TaskStateWorking, Created: clock, Updated: clock,
	}}})
	r := w.get("/c/c1").want(t, 200)
	strips := find(byID(r.doc, "pulse"), byClass("pulse"))
	if len(strips) != 1 || attr(strips[0], "id") != "pulse-r1" {
		t.Fatalf("%d strips say what goes on", len(strips))
	}
	if link := find(strips[0], byTag("a")); len(link) != 1 || attr(link[0], "href") != "/c/c1?run=r1#run-panel" || strings.TrimSpace(textOf(link[0])) != "Write" {
		t.Errorf("the strip says %q", textOf(strips[0]))
	}
	if byID(r.doc, "run-r1") != nil || byID(r.doc, "run-r1c") == nil {
		t.Error("a plan that has nothing to show takes part in the transcript, or its step does not")
	}
}

// The bar at the foot of a narrow window leads to the workflows, and to all the rest.
func TestTabbar(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var to []string
	for _, a := range find(find(w.get("/wire").doc, byClass("tabbar"))[0], byTag("a")) {
		to = append(to, attr(a, "href"))
		if attr(a, "href") == "#side" && attr(a, "aria-current") != "page" {
			t.Error("More is not marked on a page that is reached by it")
		}
	}
	if got := strings.Join(to, " "); got != "/ /inbox /agents /workflows #side" {
		t.Errorf("it leads to %s", got)
	}
}

// A problem of a file shows what it quotes as code.
func TestProblemsQuoteCode(t *testing.T) {
	t.Parallel()
	o := &office{}
	w := o.world(t)
	has(t, w.post("/workflows/check", url.Values{"source": {"broken"}}).want(t, 200).body, "Line 3: there is no step <code>x</code>")
}

// The inbox says a question once, whether it is a line or an article.
func TestInboxAsksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	w.begin("c1", "r1", "go")
	for id, prompt := range map[string]string{"short": "Which one is it?", "long": "Publish this?\n\n" + longText(300)} {
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{
			ID: id, RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: orchestrator.AskInput, Prompt: prompt,
			State: orchestrator.AskOpen, Opened: clock,
		}}})
		shown := byID(w.get("/inbox?ask="+id).want(t, 200).doc, "inbox-shown")
		first, _, _ := strings.Cut(prompt, "\n")
		if n := strings.Count(textOf(shown), first); n != 1 {
			t.Errorf("%q is said %d times: %.300s", first, n, textOf(shown))
		}
		form := find(shown, byClass("ask"))
		if len(form) != 1 || byID(shown, attr(form[0], "aria-labelledby")) == nil {
			t.Error("the form has no name")
		}
	}
}

// Our own questions how a waiting task stands are one line, that opens; whoever looks for them sees each.
func TestWirePollsAreOneLine(t *testing.T) {
	t.Parallel()
	get := func(id int64, task string) *orchestrator.WireRecord {
		return &orchestrator.WireRecord{ID: id, Peer: "atlas", TaskID: task, Method: "GetTask", Status: 200}
	}
	sent := func(id int64, task string) *orchestrator.WireRecord {
		r := get(id, task)
		r.Method = "SendMessage"
		return r
	}
	failed := get(3, "a")
	failed.Status = 500
	inbound := get(3, "a")
	inbound.Inbound = true
	for name, c := range map[string]struct {
		records []*orchestrator.WireRecord
		q       orchestrator.WireQuery
		open    string
		want    string
	}{
		"one":                   {[]*orchestrator.WireRecord{get(1, "a")}, orchestrator.WireQuery{}, "", "1"},
		"two":                   {[]*orchestrator.WireRecord{get(2, "a"), get(1, "a")}, orchestrator.WireQuery{}, "", "2+1"},
		"three":                 {[]*orchestrator.WireRecord{get(3, "a"), get(2, "a"), get(1, "a")}, orchestrator.WireQuery{}, "", "3+2"},
		"of two tasks":          {[]*orchestrator.WireRecord{get(4, "a"), get(3, "b"), get(2, "a"), get(1, "b")}, orchestrator.WireQuery{}, "", "4+1 3+1"},
		"with more between":     {[]*orchestrator.WireRecord{get(4, "a"), sent(3, "a"), get(2, "a"), get(1, "a")}, orchestrator.WireQuery{}, "", "4 3 2+1"},
		"with others between":   {[]*orchestrator.WireRecord{get(4, "a"), sent(3, "b"), get(2, "a"), get(1, "a")}, orchestrator.WireQuery{}, "", "4+2 3"},
		"one failed":            {[]*orchestrator.WireRecord{get(4, "a"), failed, get(2, "a")}, orchestrator.WireQuery{}, "", "4 3 2"},
		"one of somebody else":  {[]*orchestrator.WireRecord{get(4, "a"), inbound, get(2, "a")}, orchestrator.WireQuery{}, "", "4 3 2"},
		"opened":                {[]*orchestrator.WireRecord{get(4, "a"), get(3, "b"), get(2, "a"), get(1, "b")}, orchestrator.WireQuery{}, "a", "4,2+0 3+1"},
		"looked for by method":  {[]*orchestrator.WireRecord{get(2, "a"), get(1, "a")}, orchestrator.WireQuery{Method: "GetTask"}, "", "2 1"},
		"looked for by task":    {[]*orchestrator.WireRecord{get(2, "a"), get(1, "a")}, orchestrator.WireQuery{TaskID: "a"}, "", "2 1"},
		"looked for by a word":  {[]*orchestrator.WireRecord{get(2, "a"), get(1, "a")}, orchestrator.WireQuery{Text: "x"}, "", "2 1"},
		"of one agent or a run": {[]*orchestrator.WireRecord{get(2, "a"), get(1, "a")}, orchestrator.WireQuery{Peer: "atlas", RunID: "r"}, "", "2+1"},
	} {
		var got []string
		for _, g := range polled(c.records, c.q, c.open) {
			var ids []string
			for _, r := range g.shown {
				ids = append(ids, fmt.Sprint(r.ID))
			}
			s := strings.Join(ids, ",")
			if g.task != "" {
				s += fmt.Sprint("+", g.more)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, not %s", name, s, c.want)
		}
	}
}

// A wait of many polls does not fill the page: what was before it is there, too.
func TestWireBehindPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := inspected(w)
	l.wire.RecordWire(&orchestrator.WireRecord{At: clock, Peer: "quill", Method: "SendMessage", TaskID: "waits", URL: "https://quill.example/a2a", Status: 200})
	for i := range 2*wireShown + 10 {
		l.wire.RecordWire(&orchestrator.WireRecord{At: clock.Add(time.Duration(i) * time.Second), Peer: "quill", Method: "GetTask", TaskID: "waits", URL: "https://quill.example/a2a", Status: 200})
	}
	var r *reply
	eventually(t, func() error {
		if r = w.get("/wire"); !strings.Contains(r.body, "SendMessage</a>") {
			return errors.New("what was before the polls is not on the page")
		}
		return nil
	})
	r.want(t, 200, fmt.Sprintf("%d more like this", 2*wireShown+9))
	link := find(find(r.doc, byClass("more-like"))[0], byTag("a"))[0]
	if n := strings.Count(w.get(attr(link, "href")).want(t, 200, "Show these as one line").body, "GetTask</a>"); n < wireShown {
		t.Errorf("opened, it shows %d", n)
	}
}

// Dates are said in the language of the page.
func TestDatesAreTranslated(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 3, 9, 8, 7, 6, 0, time.UTC)
	w := newWorld(t, nil)
	for code, want := range map[string][2]string{"en": {"9 March 2025", "9 March 2025, 08:07"}, "ko": {"2025년 3월 9일", "2025년 3월 9일, 08:07"}, "ja": {"2025年3月9日", "2025年3月9日, 08:07"}} {
		ctx := view.Speak(t.Context(), code)
		if got := [2]string{w.date(ctx, at), w.when(ctx, at)}; got != want {
			t.Errorf("%s: %q, not %q", code, got, want)
		}
	}
}

// A window is told which language was chosen, and never what was drawn in another before.
func TestLanguageReachesEveryWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	a := w.open("/c/c1")
	eventually(t, func() error {
		if bar, _, _ := w.lobby.since(0); bar == nil {
			return errors.New("no bar yet")
		}
		return nil
	})
	w.post("/settings", url.Values{"section": {"general"}, "language": {"ko"}}).want(t, 303)
	for n := int64(0); ; {
		bar, next, wake := w.lobby.since(n)
		if bar != nil {
			if s := string(bar); !strings.Contains(s, `"lang":"ko"`) || !strings.Contains(s, "에이전트") {
				t.Errorf("a window was given the bar %.200s", s)
			}
			break
		}
		n = next
		select {
		case <-wake:
		case <-time.After(10 * time.Second):
			t.Fatal("no window is told")
		}
	}
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.lang != "ko" {
			return fmt.Errorf("a window that was open was told %q", a.lang)
		}
		return nil
	})
}
