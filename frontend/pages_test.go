package frontend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
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
	number := func(i int) string { return fmt.Sprintf("number %d.", i) }
	for i := range pageItems*2 + 1 {
		items = append(items, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: number(i)})
	}
	w.chatWith("c1", items...)
	p := w.get("/c/c1").want(t, 200, number(pageItems+1), number(pageItems*2), "Earlier messages")
	if strings.Contains(p.body, number(pageItems)) {
		t.Error("the page holds more than its items")
	}
	link := attr(find(p.doc, func(n *html.Node) bool { return attr(n, "href") != "" && strings.Contains(attr(n, "href"), "before=") })[0], "href")
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.srv.URL+link, nil)
	r.Header.Set("Parley-Live", "1")
	var f frame
	if err := json.Unmarshal([]byte(w.do(r).body), &f); err != nil {
		t.Fatal(err)
	}
	if f.Ops[0][1] != "earlier" || f.Ops[1][0] != "p" || !strings.Contains(f.Ops[1][2], number(1)) || strings.Contains(f.Ops[1][2], number(pageItems+1)) {
		t.Errorf("got %.300v", f.Ops)
	}
	w.get(link).want(t, 200, number(pageItems), "To the newest messages")
	at := fmt.Sprint("/c/c1?at=", items[3].ID)
	w.get(at).want(t, 200, number(3))
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

func TestConnect(t *testing.T) {
	t.Parallel()
	now := clock
	w := newWorld(t, &Options{Now: func() time.Time { return now }})
	found := agent("new", "Newcomer")
	found.Notes = []a2a.Note{{Text: "The card names 0.0.0.0; the address you typed is used."}}
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
		{Item: &orchestrator.Item{ID: 4, ConversationID: "c1", Kind: orchestrator.ItemAgent, AgentID: "atlas", At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "# On **paper** "}, {Text: "`pencil`"}, {Text: "# 2"}}},
		{Item: &orchestrator.Item{ID: 3, ConversationID: "c1", Kind: orchestrator.ItemUser, At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "2 ** 3 `kept`"}}},
	}
	r := w.get("/search?q=log").want(t, 200, "Atlas Research:", "You:", "the log store")
	if s := textOf(r.doc); !strings.Contains(s, ": On paper pencil# 2") || !strings.Contains(s, "You: 2 ** 3 `kept`") || strings.Contains(s, "a line of ours") {
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
	w.st.hits = []orchestrator.Hit{{Item: &orchestrator.Item{ID: 8, ConversationID: "c1", Kind: orchestrator.ItemAgent, AgentID: orchestrator.OwnAgent, At: clock}, Title: "Edge", Snippet: []orchestrator.Span{{Text: "log"}}}}
	for _, path := range []string{"/search?q=log", "/palette?q=log"} {
		r := w.get(path).want(t, 200)
		for _, hit := range find(r.doc, func(n *html.Node) bool { return strings.HasSuffix(attr(n, "href"), "#i8") }) {
			if len(find(hit, byClass("flag"))) != 0 || len(find(hit, func(n *html.Node) bool { return attr(n, "href") == "#i-parley" })) != 1 {
				t.Errorf("%s: Parley itself flies a flag", path)
			}
		}
		if !strings.Contains(r.body, "#i8") {
			t.Errorf("%s finds nothing", path)
		}
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
