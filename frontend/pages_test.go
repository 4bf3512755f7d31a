package frontend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"parley/a2a"
	"parley/orchestrator"
)

func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Options{Version: "1.2.3"})
	w.get("/").want(t, 200, "One place to work with many agents", "Your chats will be listed here.", "Find out about atlas", "Agent address")
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"})
	w.get("/").want(t, 200, "What should be done?", "Edge log store")
	w.get("/c/c1").want(t, 200, "Hello", "Atlas Research", "Today")
	w.get("/agents").want(t, 200, "Atlas Research", "Choose an agent")
	w.get("/agents/atlas").want(t, 200, "by Labs, version 3.4.0", "Finds sources.", "A2A v1.0 over JSON-RPC", "Streaming", "Search")
	w.get("/connect").want(t, 200, "Agent address")
	w.get("/search").want(t, 200, "Search")
	w.get("/settings").want(t, 200, "Appearance")
	w.get("/settings?section=about").want(t, 200, "1.2.3")
	w.get("/nowhere").want(t, 404, "There is nothing at this address.", "What to do")
	w.get("/c/none").want(t, 404, "This is not here any more.")
	w.get("/agents/none").want(t, 404)
	if r := w.get("/?to=atlas&text=Look"); textOf(byID(r.doc, "say")) != "Look" {
		t.Error("an example does not fill the composer")
	}
}

// Every address that a page links to is there.
func TestNoDeadLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "Hi"})
	seen := map[string]bool{}
	todo := []string{"/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		r := w.get(path)
		if r.StatusCode >= 400 {
			t.Errorf("%s is linked to and answers %d", path, r.StatusCode)
		}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for n := range r.doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			for _, k := range []string{"href", "src"} {
				switch v := attr(n, k); {
				case strings.HasPrefix(v, "#"):
					if len(v) > 1 && byID(r.doc, v[1:]) == nil {
						t.Errorf("%s refers to %s, which is not in it", path, v)
					}
				case strings.HasPrefix(v, "/"):
					todo = append(todo, v)
				}
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d addresses were found", len(seen))
	}
}

func TestEarlierItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var items []*orchestrator.Item
	for i := range pageItems*2 + 1 {
		items = append(items, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: fmt.Sprintf("number %d.", i)})
	}
	w.chatWith("c1", items...)
	p := w.get("/c/c1").want(t, 200, "number 51.", "number 100.", "Earlier messages")
	if strings.Contains(p.body, "number 50.") {
		t.Error("the page holds more than its items")
	}
	link := attr(find(p.doc, func(n *html.Node) bool { return attr(n, "href") != "" && strings.Contains(attr(n, "href"), "before=") })[0], "href")
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.srv.URL+link, nil)
	r.Header.Set("Parley-Live", "1")
	var f frame
	if err := json.Unmarshal([]byte(w.do(r).body), &f); err != nil {
		t.Fatal(err)
	}
	if f.Ops[0][1] != "earlier" || f.Ops[1][0] != "p" || !strings.Contains(f.Ops[1][2], "number 1.") || strings.Contains(f.Ops[1][2], "number 51.") {
		t.Errorf("got %.300v", f.Ops)
	}
	w.get(link).want(t, 200, "number 50.", "To the newest messages")
	at := fmt.Sprint("/c/c1?at=", items[3].ID)
	w.get(at).want(t, 200, "number 3.")
}

// form posts a multipart form with files of the given sizes.
func (w *world) form(path string, values map[string]string, files ...int) *reply {
	w.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for k, v := range values {
		_ = m.WriteField(k, v)
	}
	for i, n := range files {
		f, _ := m.CreateFormFile("file", fmt.Sprintf("file%d.bin", i))
		_, _ = f.Write(make([]byte, n))
	}
	_ = m.Close()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.srv.URL+path, &b)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", m.FormDataContentType())
	if values["script"] != "" {
		r.Header.Set("Parley-Live", "1")
	}
	return w.do(r)
}

func TestSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.form("/say", map[string]string{"text": " Hello\r\nthere ", "to": "atlas", "message": "m1"}, 10)
	r.want(t, http.StatusSeeOther)
	if l := r.Header.Get("Location"); l != "/c/c-new" {
		t.Errorf("a browser without script goes to %s", l)
	}
	want := &orchestrator.Say{To: "atlas", MessageID: "m1", Text: "Hello\nthere", Files: []a2a.Part{{Kind: a2a.PartRaw, Raw: make([]byte, 10), Filename: "file0.bin", MediaType: "application/octet-stream"}}}
	if d := cmp.Diff(want, w.who.said[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r := w.form("/say", map[string]string{"text": "x", "script": "1"}); r.StatusCode != http.StatusCreated || r.Header.Get("Location") != "/c/c-new" {
		t.Errorf("the script got %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	w.form("/say", map[string]string{"text": "x", "script": "1", "conversation": "c1"}).want(t, http.StatusNoContent)
	w.form("/say", map[string]string{"text": "  "}).want(t, http.StatusBadRequest, "There is nothing to send yet.")
	w.form("/say", map[string]string{"text": "  ", "script": "1"}).want(t, http.StatusBadRequest, "There is nothing to send yet.")

	w.who.fails(&orchestrator.Fault{Kind: "gone", Where: orchestrator.WhereAgent, What: "The agent is away.", Do: "Wait."})
	r = w.form("/say", map[string]string{"text": "my long letter"}).want(t, http.StatusUnprocessableEntity, "The agent is away.")
	if textOf(byID(r.doc, "say")) != "my long letter" {
		t.Error("what was typed is lost")
	}
	w.who.fails(a2a.Errorf(a2a.KindUnavailable, "the disk is full"))
	w.form("/say", map[string]string{"text": "x", "script": "1"}).want(t, http.StatusServiceUnavailable, "The disk is full.")
	w.who.fails(errors.New("sql: secret path /x"))
	if r := w.form("/say", map[string]string{"text": "x", "script": "1"}); r.StatusCode != 500 || strings.Contains(r.body, "sql") {
		t.Errorf("got %d %s", r.StatusCode, r.body)
	}
}

func TestFileLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for n, status := range map[int64]int{maxFile - 1: 303, maxFile: 303, maxFile + 1: 413} {
		if r := w.form("/say", map[string]string{"text": "keep me"}, int(n)); r.StatusCode != status {
			t.Errorf("a file of %d bytes: %d", n, r.StatusCode)
		} else if status == 413 && textOf(byID(r.doc, "say")) != "keep me" {
			t.Error("what was typed is lost")
		}
	}
	rest := int(maxFiles - maxFile)
	for n, status := range map[int]int{rest - 1: 303, rest: 303, rest + 1: 413} {
		if r := w.form("/say", map[string]string{"text": "x"}, int(maxFile), n); r.StatusCode != status {
			t.Errorf("files of %d bytes in all: %d", int(maxFile)+n, r.StatusCode)
		}
	}
	if r := w.form("/say", map[string]string{"text": "x"}, int(maxFiles), int(maxFiles)); r.StatusCode != 413 {
		t.Errorf("a body far too large: %d", r.StatusCode)
	}
}

func TestStopAndRetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	w.begin("c1", "r1", "go")
	w.post("/runs/r1/stop", nil, "Parley-Live", "1").want(t, http.StatusNoContent)
	w.post("/runs/r1/retry", nil).want(t, http.StatusSeeOther)
	w.post("/runs/none/stop", nil).want(t, http.StatusNotFound)
	if d := cmp.Diff([][]string{{"r1"}, {"r1"}}, [][]string{w.who.stopped, w.who.retried}); d != "" {
		t.Error(d)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	open := func(id string, kind orchestrator.AskKind, change func(*orchestrator.Ask)) {
		a := &orchestrator.Ask{ID: id, RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: kind, Prompt: "Well?", State: orchestrator.AskOpen, Opened: clock}
		if change != nil {
			change(a)
		}
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{a}})
	}
	got := func(id string) *orchestrator.Answer {
		w.who.mu.Lock()
		defer w.who.mu.Unlock()
		return w.who.answers[id]
	}
	check := func(id string, want *orchestrator.Answer) {
		t.Helper()
		if d := cmp.Diff(want, got(id)); d != "" {
			t.Errorf("%s (-want +got):\n%s", id, d)
		}
	}
	open("words", orchestrator.AskInput, nil)
	w.form("/asks/words", map[string]string{"text": " the small one "}).want(t, http.StatusSeeOther)
	check("words", &orchestrator.Answer{Text: "the small one"})
	open("empty", orchestrator.AskInput, nil)
	w.form("/asks/empty", map[string]string{"text": " "}).want(t, 422, "Write an answer first")
	open("no", orchestrator.AskInput, nil)
	w.form("/asks/no", map[string]string{"decline": "1", "text": "x"}).want(t, http.StatusSeeOther)
	check("no", &orchestrator.Answer{Decline: true})

	choices := func(a *orchestrator.Ask) { a.Choices = []orchestrator.Choice{{ID: "a", Label: "A"}} }
	open("pick", orchestrator.AskChoice, choices)
	w.form("/asks/pick", map[string]string{"choice": "b", "script": "1"}).want(t, 400, "not one of the choices")
	w.form("/asks/pick", map[string]string{"choice": "a", "script": "1"}).want(t, 204)
	check("pick", &orchestrator.Answer{Choice: "a"})
	open("options", orchestrator.AskInput, choices)
	w.form("/asks/options", map[string]string{"choice": "a"}).want(t, 303)
	check("options", &orchestrator.Answer{Text: "a"})
	yesNo := func(a *orchestrator.Ask) {
		a.Choices = []orchestrator.Choice{{ID: "yes", Label: "Go ahead"}, {ID: "no", Label: "Do not"}}
	}
	open("approve", orchestrator.AskApproval, yesNo)
	card := byID(w.get("/inbox?ask=approve").doc, "ask-approve")
	if n := len(find(card, func(n *html.Node) bool { return n.Data == "button" })); n != 2 || len(find(card, func(n *html.Node) bool { return n.Data == "textarea" })) != 0 {
		t.Errorf("an approval offers %d buttons, not its two, or asks for words", n)
	}
	w.form("/asks/approve", map[string]string{"choice": "maybe", "script": "1"}).want(t, 400, "not one of the choices")
	w.form("/asks/approve", map[string]string{"choice": "yes"}).want(t, 303)
	check("approve", &orchestrator.Answer{Choice: "yes"})
	open("again", orchestrator.AskResend, nil)
	w.form("/asks/again", map[string]string{"choice": "again"}).want(t, 303)
	check("again", &orchestrator.Answer{Choice: "again"})
	open("sign", orchestrator.AskSignIn, nil)
	w.form("/asks/sign", map[string]string{"signedin": "1"}).want(t, 303)
	check("sign", &orchestrator.Answer{})

	schema := func(a *orchestrator.Ask) {
		a.Schema = json.RawMessage(`{"type":"object","required":["to","seats"],"properties":{"to":{"type":"string","minLength":2},"seats":{"type":"integer","maximum":9}}}`)
	}
	open("form", orchestrator.AskInput, schema)
	r := w.form("/asks/form", map[string]string{"d/to": "B", "d/seats": "12", "script": "1"})
	r.want(t, 422, "To", "Seats")
	if r.Header.Get("Parley-Replace") == "" || len(find(r.doc, func(n *html.Node) bool { return attr(n, "aria-invalid") == "true" })) != 2 {
		t.Errorf("both fields are wrong: %s", r.body)
	}
	if v := attr(find(r.doc, func(n *html.Node) bool { return attr(n, "name") == "d/seats" })[0], "value"); v != "12" {
		t.Errorf("what was typed is lost: %q", v)
	}
	w.form("/asks/form", map[string]string{"d/to": "Bergen", "d/seats": "2"}).want(t, 303)
	check("form", &orchestrator.Answer{Data: json.RawMessage(`{"to":"Bergen","seats":2}`)})

	open("closed", orchestrator.AskInput, func(a *orchestrator.Ask) { a.State = orchestrator.AskAnswered })
	w.form("/asks/closed", map[string]string{"text": "x", "script": "1"}).want(t, 409, "answered already")
	w.form("/asks/none", map[string]string{"text": "x"}).want(t, 404)

	open("race", orchestrator.AskInput, nil)
	w.who.fails(&orchestrator.Fault{Kind: "ask-closed", What: "This question is closed already."})
	w.form("/asks/race", map[string]string{"text": "x", "script": "1"}).want(t, 409, "closed already")
	w.who.fails(&orchestrator.Fault{Kind: "x", What: "The store is full."})
	w.form("/asks/race", map[string]string{"text": "kept", "script": "1"}).want(t, 422, "The store is full.", "kept")
}

func TestSignInLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{ID: "q", AgentID: "atlas", Kind: orchestrator.AskSignIn, State: orchestrator.AskOpen, Links: []orchestrator.Link{
		{URL: "https://id.atlas.example/login?x=1"}, {URL: "http://id.atlas.example/"}, {URL: "javascript:alert(1)"}, {URL: "https://good.example@evil.example/"}, {URL: "file:///etc/passwd"},
	}}}})
	r := w.get("/asks/q/links/0").want(t, 200, "You are about to open id.atlas.example", "Atlas Research", "https://id.atlas.example/login?x=1", "Encrypted")
	if len(find(r.doc, func(n *html.Node) bool { return attr(n, "href") == "https://id.atlas.example/login?x=1" })) != 1 {
		t.Error("there is no link to go on")
	}
	w.get("/asks/q/links/1").want(t, 200, "Not encrypted")
	for _, n := range []string{"2", "3", "4"} {
		w.get("/asks/q/links/"+n).want(t, 422, "cannot be opened safely")
	}
	w.get("/asks/q/links/5").want(t, 404)
}

// A sign-in that was said too early is asked for again, with the way in; one that was done is not called unneeded.
func TestSignInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ask := func(id string, state orchestrator.AskState, answer string) *orchestrator.Ask {
		return &orchestrator.Ask{
			ID: id, AgentID: "atlas", Principal: orchestrator.LocalPrincipal, Kind: orchestrator.AskSignIn, State: state, Answer: json.RawMessage(answer),
			Prompt: orchestrator.NotSignedIn + "\n\nThe door is locked.", Links: []orchestrator.Link{{URL: "https://id.atlas.example/"}}, Opened: clock, Closed: clock,
		}
	}
	w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{
		ask("early", orchestrator.AskOpen, ""), ask("done", orchestrator.AskGone, `"`+orchestrator.SignedIn+`"`), ask("moot", orchestrator.AskGone, ""),
	}})
	w.get("/inbox?ask=early").want(t, 200, "does not see yet that you have signed in", "The door is locked.", "Open sign-in page")
	w.get("/inbox?show=answered&ask=done").want(t, 200, "You signed in")
	w.get("/inbox?show=answered&ask=moot").want(t, 200, "No longer needed")
}

func TestConnect(t *testing.T) {
	t.Parallel()
	now := clock
	w := newWorld(t, &Options{Now: func() time.Time { return now }})
	found := agent("new", "Newcomer")
	found.Notes = []string{"The card names 0.0.0.0; the address you typed is used."}
	w.who.previews = []*orchestrator.Candidate{{
		Input: "new.example", Agent: found, Origins: []string{"https://new.example", "https://cdn.new.example"},
		Wants: map[string]a2a.SecurityScheme{"k": {Kind: a2a.SchemeAPIKey, Name: "X-Key", Location: "header"}},
	}}
	w.post("/connect", url.Values{"input": {" "}}).want(t, 400)
	r := w.post("/connect", url.Values{"input": {"new.example"}}).want(t, 303)
	page := r.Header.Get("Location")
	w.get(page).want(t, 200, "Newcomer", "by Labs, version 3.4.0", "A2A v1.0 over JSON-RPC", "https://new.example", "https://cdn.new.example", "0.0.0.0", "Search", "wants a credential", "reach new.example, cdn.new.example and nothing else")
	if len(w.who.approved) != 0 {
		t.Fatal("looking at a card approved it")
	}
	form := url.Values{"n": {"0"}, "preview": {strings.TrimPrefix(page, "/connect/")}}
	form.Set("kind", "key")
	form.Set("header", "X-Key")
	form.Set("secret", "s3cret")
	w.post("/connect/approve", form).want(t, 303)
	c := w.who.approved[0]
	if c.Agent != found || c.Credential == nil || c.Credential.Header != "X-Key" || c.Credential.Secret.Reveal() != "s3cret" || c.Credential.Kind != a2a.SchemeAPIKey {
		t.Errorf("approved %+v with %+v", c, c.Credential)
	}
	form.Set("n", "1")
	w.post("/connect/approve", form).want(t, http.StatusGone)
	form.Set("n", "0")
	now = now.Add(previewFor + time.Second)
	w.post("/connect/approve", form).want(t, http.StatusGone, "shown too long ago")
	if r := w.get(page); r.StatusCode != 303 {
		t.Errorf("an old preview: %d", r.StatusCode)
	}

	w.who.fails(&orchestrator.Fault{Kind: "unauthenticated", Where: orchestrator.WhereSignIn, What: "The card wants a credential."})
	r = w.post("/connect", url.Values{"input": {"locked.example"}})
	w.get(r.Header.Get("Location")).want(t, 200, "The card itself is protected", "The card wants a credential.", "Secret")
	w.who.fails(&orchestrator.Fault{Kind: "card-html", Where: orchestrator.WhereAgent, What: "There is a web page where the card should be.", Do: "Look at /.well-known/agent-card.json."})
	r = w.post("/connect", url.Values{"input": {"html.example"}, "secret": {"tok"}})
	w.get(r.Header.Get("Location")).want(t, 200, "What is there is no card", "There is a web page", "At the agent")
	if w.who.asked.Scheme != "Bearer" || w.who.asked.Secret.Reveal() != "tok" {
		t.Errorf("asked with %+v", w.who.asked)
	}
}

func TestAgentActs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.post("/agents/atlas/remove", nil).want(t, 303)
	w.post("/agents/atlas/credential", url.Values{"secret": {""}}).want(t, 400)
	w.post("/agents/atlas/credential", url.Values{"secret": {"p"}, "kind": {"basic"}, "user": {"mina"}}).want(t, 303)
	w.get("/agents/atlas?kept").want(t, 200, "Kept")
	if len(w.who.removed) != 1 || w.who.kept.User != "mina" || w.who.kept.Scheme != "Basic" {
		t.Errorf("removed %v, kept %+v", w.who.removed, w.who.kept)
	}
	w.post("/agents/atlas/speaks", url.Values{"version": {"0.3"}, "binding": {"HTTP+JSON"}, "url": {" https://atlas.example/rest "}}).want(t, 303)
	if at := w.who.spoken["atlas"]; at == nil || *at != (a2a.AgentInterface{URL: "https://atlas.example/rest", Binding: a2a.BindingREST, Version: "0.3"}) {
		t.Errorf("called %+v", at)
	}
	w.post("/agents/atlas/speaks", url.Values{"version": {""}, "url": {"https://atlas.example/"}}).want(t, 303)
	if at, set := w.who.spoken["atlas"]; at != nil || !set {
		t.Errorf("by its card: %+v", at)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.st.hits = []orchestrator.Hit{
		{Item: &orchestrator.Item{ID: 7, ConversationID: "c1", Kind: orchestrator.ItemAgent, AgentID: "atlas", At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "the "}, {Text: "log", Mark: true}, {Text: " store"}}},
		{Item: &orchestrator.Item{ID: 6, ConversationID: "c1", Kind: orchestrator.ItemUser, At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "log", Mark: true}}},
		{Item: &orchestrator.Item{ID: 5, ConversationID: "c1", Kind: orchestrator.ItemGap, At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "a line of ours"}}},
		{Item: &orchestrator.Item{ID: 4, ConversationID: "c1", Kind: orchestrator.ItemUser, At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "# On **paper** "}, {Text: "`pencil`"}}},
	}
	r := w.get("/search?q=log").want(t, 200, "Atlas Research:", "You:", "the log store")
	if s := textOf(r.doc); !strings.Contains(s, "On paper pencil") || strings.Contains(s, "a line of ours") {
		t.Errorf("found: %s", s)
	}
	marks := find(r.doc, byTag("mark"))
	if len(marks) != 2 || textOf(marks[0]) != "log" {
		t.Errorf("%d marks", len(marks))
	}
	if hit := find(r.doc, byClass("item"))[0]; attr(hit, "href") != "/c/c1?at=7#i7" {
		t.Errorf("a hit leads to %s", attr(hit, "href"))
	}
	w.get("/search?q=log&before=5")
	if d := cmp.Diff(orchestrator.SearchQuery{Text: "log", Before: 5, Limit: searchHits}, w.st.seen); d != "" {
		t.Error(d)
	}
	w.st.hits = nil
	w.get("/search?q=nothing").want(t, 200, "Nothing found for “nothing”.")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for days, status := range map[string]int{"": 303, "0": 303, "36500": 303, "36501": 400, "-1": 400, "x": 400} {
		w.post("/settings", url.Values{"theme": {""}, "retention": {days}}).want(t, status)
	}
	w.post("/settings", url.Values{"theme": {"pink"}}).want(t, 400)
	w.post("/settings", url.Values{"edition": {"2.0"}}).want(t, 400)
	w.post("/settings", url.Values{"edition": {"1.0.0"}}).want(t, 303)
	if v, _ := w.store.Setting(t.Context(), orchestrator.ErrorMapping); v != "1.0.0" {
		t.Errorf("the edition is %q", v)
	}
	w.post("/settings", url.Values{"theme": {"dark"}, "retention": {"30"}}).want(t, 303)
	r := w.get("/settings?saved").want(t, 200, "Saved")
	if attr(find(r.doc, byTag("html"))[0], "data-theme") != "dark" {
		t.Error("the theme is not kept")
	}
	if v, _ := w.st.Setting(t.Context(), orchestrator.RetentionDays); v != "30" {
		t.Errorf("retention is %q", v)
	}
	w.st.Fail(a2a.Errorf(a2a.KindUnavailable, "the disk is full"))
	w.get("/settings").want(t, 200, "The disk is full.")
	w.post("/settings", url.Values{"theme": {"dark"}}).want(t, 503, "The disk is full.")
}

func TestFilesAreServedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	w.begin("c1", "r1", "go")
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
	w.tell("c1", "r1", &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: "a", Name: "things", Parts: []a2a.Part{
		{Kind: a2a.PartRaw, Raw: []byte(png), MediaType: "text/html", Filename: "x.html"},
		{Kind: a2a.PartRaw, Raw: []byte("<html><script>alert(1)</script>"), MediaType: "image/png", Filename: "y.png"},
		{Kind: a2a.PartRaw, Raw: []byte("%PDF-1.7\n"), Filename: "z.pdf"},
		{Kind: a2a.PartText, Text: "some text"},
		{Kind: a2a.PartData, Data: json.RawMessage(`{"a":1}`), Filename: "../../etc/\"passwd\n"},
		{Kind: a2a.PartURL, URL: "https://files.example/x"},
		{Kind: a2a.PartRaw, Raw: []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), Filename: "v.svg"},
	}}}, nil)
	for _, c := range []struct {
		path, typ, how string
		sandbox        bool
	}{
		{"0", "image/png", "inline", true},
		{"0?download", "image/png", "attachment", true},
		{"1", "text/plain; charset=utf-8", "attachment", true},
		{"2", "application/pdf", "inline", false},
		{"2?download", "application/pdf", "attachment", true},
		{"3", "text/plain; charset=utf-8", "attachment", true},
		{"4", "application/json", "attachment", true},
		{"6", "text/plain; charset=utf-8", "attachment", true},
	} {
		r := w.get("/runs/r1/artifacts/a/"+c.path).want(t, 200)
		h := r.Header
		if h.Get("Content-Type") != c.typ || !strings.HasPrefix(h.Get("Content-Disposition"), c.how) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, %s", c.path, h.Get("Content-Type"), h.Get("Content-Disposition"))
		}
		if csp := h.Get("Content-Security-Policy"); strings.Contains(csp, "sandbox") != c.sandbox || !strings.HasPrefix(csp, "default-src 'none'") {
			t.Errorf("%s: %s", c.path, csp)
		}
	}
	if d := w.get("/runs/r1/artifacts/a/4").Header.Get("Content-Disposition"); strings.ContainsAny(d, "/\n") || strings.Contains(d, `\"`) {
		t.Errorf("a name leads out: %s", d)
	}
	w.get("/runs/r1/artifacts/a/5").want(t, 200, "You are about to open files.example")
	w.get("/runs/r1/artifacts/a/7").want(t, 404)
	w.get("/runs/r1/artifacts/a/x").want(t, 404)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.srv.URL+"/runs/r1/artifacts/a/3", nil)
	r.Header.Set("Range", "bytes=5-8")
	if got := w.do(r); got.StatusCode != 206 || got.body != "text" {
		t.Errorf("a range: %d %q", got.StatusCode, got.body)
	}
}

func TestSaidFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	m := a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("see"), {Kind: a2a.PartRaw, Raw: []byte("one"), Filename: "1.txt"}, {Kind: a2a.PartRaw, Raw: []byte("two"), Filename: "2.txt"}}}
	w.tell("c1", "r1", &a2a.Task{ID: "r1", History: []a2a.Message{m}}, nil)
	if r := w.get("/runs/r1/files/1"); r.body != "two" || !strings.Contains(r.Header.Get("Content-Disposition"), "2.txt") {
		t.Errorf("got %q, %s", r.body, r.Header.Get("Content-Disposition"))
	}
	w.get("/runs/r1/files/2").want(t, 404)
	w.get("/runs/none/files/0").want(t, 404)
}

func TestExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello <b>"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "**Hi**"})
	var out struct {
		exportHead
		Items []exported `json:"items"`
	}
	if err := json.Unmarshal([]byte(w.get("/c/c1/export.json").body), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Items) != 2 || out.Items[0].Text != "Hello <b>" || out.Items[1].Agent != "atlas" || out.Title != "Edge log store" || out.Parley != exportVersion {
		t.Errorf("%+v", out)
	}
	r := w.get("/c/c1/export.md").want(t, 200)
	if want := "# Edge log store\n\n## You, 2026-11-20 14:05\n\nHello <b>\n\n## Atlas Research, 2026-11-20 14:05\n\n**Hi**\n"; r.body != want {
		t.Errorf("got\n%s", r.body)
	}
	w.get("/c/none/export.json").want(t, 404)
}

// shell is a window that remembers what it was told.
type shell struct {
	opened []string
	title  string
	asked  []string
	save   string // what AskSave answers
}

func (s *shell) OpenURL(a string) error  { s.opened = append(s.opened, a); return nil }
func (s *shell) SetTitle(t string)       { s.title = t }
func (s *shell) OpenFolder(string) error { return nil }
func (s *shell) Show(string) error       { return nil }
func (s *shell) Notify(*Notice) error    { return nil }

func (s *shell) AskSave(name string) (string, error) {
	s.asked = append(s.asked, name)
	return s.save, nil
}

func TestShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.post("/open", url.Values{"url": {"https://x.example/"}}).want(t, 404)
	sh := &shell{}
	w = newWorld(t, &Options{Shell: sh})
	w.post("/open", url.Values{"url": {"https://x.example/"}}).want(t, 204)
	for _, bad := range []string{"javascript:alert(1)", "file:///etc/passwd", "/c/1", w.srv.URL + "/c/1", "https://a@b.example/", ""} {
		w.post("/open", url.Values{"url": {bad}}).want(t, 400)
	}
	w.post("/title", url.Values{"title": {"A chat · Parley"}}).want(t, 204)
	if sh.title != "A chat · Parley" {
		t.Errorf("the window is called %q", sh.title)
	}
	if d := cmp.Diff([]string{"https://x.example/"}, sh.opened); d != "" {
		t.Error(d)
	}
}

// TestDownload saves a file for a window that cannot.
func TestDownload(t *testing.T) {
	t.Parallel()
	sh := &shell{}
	w := newWorld(t, &Options{Shell: sh, Handle: map[string]http.Handler{
		"GET /report": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="../Report.txt"`)
			fmt.Fprint(w, "all of it")
		}),
	}})
	for _, bad := range []string{"", "report", "https://x.example/report", "//x.example/report", "file:///etc/passwd"} {
		w.post("/download", url.Values{"url": {bad}}).want(t, 400)
	}
	w.post("/download", url.Values{"url": {"/nothing"}}).want(t, 404)
	w.post("/download", url.Values{"url": {"/report"}}).want(t, 204) // asked, and not wanted
	dir := t.TempDir()
	sh.save = filepath.Join(dir, "mine.txt")
	w.post("/download", url.Values{"url": {"/report?download"}}).want(t, 204)
	if b, err := os.ReadFile(sh.save); string(b) != "all of it" {
		t.Errorf("saved %q, %v", b, err)
	}
	if d := cmp.Diff([]string{"Report.txt", "Report.txt"}, sh.asked); d != "" {
		t.Error(d)
	}
	sh.save = filepath.Join(dir, "no", "such", "folder.txt")
	w.post("/download", url.Values{"url": {"/report"}}).want(t, 500)
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, name := range []string{"app.js", "app.css", "inter.woff2", "jetbrains-mono.woff2"} {
		r := w.get(w.assets.url(name)).want(t, 200)
		if !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s is not kept", name)
		}
		if r := w.get("/static/" + name); r.StatusCode != 302 || r.Header.Get("Location") != w.assets.url(name) {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
	w.get("/static/none.js").want(t, 404)
	js := w.get(w.assets.url("app.js")).body
	for _, bad := range []string{"eval(", "new Function", "document.write", "outerHTML", "insertAdjacentHTML"} {
		if strings.Contains(js, bad) {
			t.Errorf("the script has %s", bad)
		}
	}
	if n := strings.Count(js, "innerHTML"); n != 1 {
		t.Errorf("the script sets HTML in %d places, want the one with the policy", n)
	}
}
