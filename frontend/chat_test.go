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

	"parley/a2a"
	"parley/orchestrator"
)

// dot is the smallest PNG.
var dot = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\xa7\xc1\x9e\x85\x00\x00\x00\x00IEND\xaeB`\x82")

// TestEndThatWasWanted: who said no, or stopped it, is told so in plain words, and of no fault of an agent.
func TestEndThatWasWanted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state a2a.TaskState
		fault *orchestrator.Fault
		want  string
		card  bool
	}{
		{a2a.TaskStateFailed, &orchestrator.Fault{Kind: orchestrator.FaultDeclined, Where: orchestrator.WhereUs, What: "Step publish was declined."}, "You said no", false},
		{a2a.TaskStateFailed, &orchestrator.Fault{Kind: orchestrator.FaultStopped, Where: orchestrator.WhereUs, What: "Step publish was stopped."}, "Stopped", false},
		{a2a.TaskStateCanceled, &orchestrator.Fault{Kind: "stopped-unanswered", Where: orchestrator.WhereAgent, What: "It did not answer."}, "Stopped", false},
		{a2a.TaskStateCanceled, nil, "Stopped", false},
		{a2a.TaskStateFailed, &orchestrator.Fault{Kind: "agent-declined", Where: orchestrator.WhereAgent, What: "It would not."}, "Failed", true},
	} {
		w := newWorld(t, nil)
		end, err := json.Marshal(orchestrator.EndData{State: string(tt.state), Fault: tt.fault, Took: 62_000})
		if err != nil {
			t.Fatal(err)
		}
		w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Publish it", RunID: "r1"}, &orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemEnd, AgentID: "atlas", Data: end})
		words := []string{tt.want, "after 1:02"}
		if tt.fault != nil {
			words = append(words, tt.fault.What)
		}
		for path, card := range map[string]bool{"/c/c1": tt.card, "/c/c1/export.html": false} {
			p := w.get(path).want(t, 200, words[0])
			if path == "/c/c1" {
				if p.want(t, 200, words...); !card {
					has(t, p.body, `action="/runs/r1/retry"`)
				}
			}
			if strings.Contains(p.body, "Copy details") != card || tt.want != "Failed" && strings.Contains(p.body, "Failed") {
				t.Errorf("%s after %s %+v: a card of a fault, or a failure", path, tt.state, tt.fault)
			}
		}
	}
}

func TestRenameAndPin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"})
	w.post("/c/c1/name", url.Values{"name": {"  Sea\n level "}}, "Parley-Live", "1").want(t, 204)
	w.post("/c/c1/pin", url.Values{"pinned": {"true"}}, "Parley-Live", "1").want(t, 204)
	r := w.get("/c/c1").want(t, 200, "Sea level", "Pinned")
	if got := textOf(byID(r.doc, "title")); got != "Sea level" {
		t.Errorf("the title is %q", got)
	}
	w.post("/c/c1/name", url.Values{"name": {strings.Repeat("あ", maxName+1)}}).want(t, 303)
	if c, _ := w.st.Conversation(t.Context(), "c1"); len([]rune(c.Name)) != maxName || !c.Pinned {
		t.Errorf("%+v", c)
	}
	w.post("/c/c1/name", url.Values{"name": {""}}).want(t, 303)
	w.post("/c/c1/pin", nil).want(t, 303)
	if c, _ := w.st.Conversation(t.Context(), "c1"); c.Called() != "Edge log store" || c.Pinned {
		t.Errorf("%+v", c)
	}
	w.post("/c/none/name", url.Values{"name": {"x"}}).want(t, 404)
	w.post("/c/none/pin", nil).want(t, 404)
}

func TestDeleteAndUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, id := range []string{"c1", "c2"} {
		w.chatWith(id, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"})
	}
	r := w.post("/c/c1/delete", nil).want(t, 303)
	home := w.get(r.Header.Get("Location")).want(t, 200, "“Edge log store” is deleted.", "Undo")
	if byID(home.doc, "toast") == nil || strings.Count(home.body, `href="/c/c1"`) != 0 {
		t.Error("no way back, or it is listed still")
	}
	w.get("/c/c1").want(t, 404)
	w.post("/c/c1/undelete", nil).want(t, 303)
	w.get("/c/c1").want(t, 200, "Hello")
	if _, err := w.st.Conversation(t.Context(), "c1"); err != nil {
		t.Error("it was erased before its time", err)
	}
	// What is deleted when the site closes is erased.
	w.post("/c/c1/delete", nil).want(t, 303)
	w.Close("over")
	if _, err := w.st.Conversation(t.Context(), "c1"); !errors.Is(err, orchestrator.ErrNotFound) {
		t.Error("it is there still", err)
	}
	if _, err := w.st.Conversation(t.Context(), "c2"); err != nil {
		t.Error(err)
	}
}

// What is said while something goes on waits until it has ended, through a restart too; what waits can be taken back.
func TestQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"})
	state := func(s orchestrator.ConversationState) {
		c, err := w.st.Conversation(t.Context(), "c1")
		if err != nil {
			t.Fatal(err)
		}
		again := *c
		again.State = s
		w.write(&orchestrator.Batch{Conversations: []*orchestrator.Conversation{&again}})
		w.st.hint(orchestrator.Change{ConversationID: "c1"})
	}
	said := func() (texts []string) {
		w.who.mu.Lock()
		defer w.who.mu.Unlock()
		for _, s := range w.who.said {
			texts = append(texts, s.MessageID+" "+s.Text)
		}
		return texts
	}
	state(orchestrator.ConversationWorking)
	for i := range maxQueue {
		id := fmt.Sprint("m", i)
		w.post("/say", url.Values{"conversation": {"c1"}, "message": {id}, "text": {"then " + id}, "to": {"atlas"}}, "Parley-Live", "1").want(t, 204)
	}
	w.post("/say", url.Values{"conversation": {"c1"}, "message": {"m0"}, "text": {"then m0"}}, "Parley-Live", "1").want(t, 204) // the same one
	w.post("/say", url.Values{"conversation": {"c1"}, "message": {"n"}, "text": {"one more"}}, "Parley-Live", "1").want(t, 400)
	w.get("/c/c1").want(t, 200, "then m0", "then m19")
	if got := said(); len(got) != 0 {
		t.Fatalf("it did not wait: %v", got)
	}
	for i := 2; i < maxQueue; i++ {
		w.post(fmt.Sprint("/c/c1/queue/m", i), nil, "Parley-Live", "1").want(t, 204)
	}
	// A question that is open must not be answered by what waits.
	state(orchestrator.ConversationAsking)
	w.queue.look()
	// Another program over the same store goes on with it.
	again := New(w.st, w.who, w.who, nil)
	t.Cleanup(func() { again.Close("over") })
	if got := again.queue.of("c1"); len(got) != 2 || got[0].Text != "then m0" {
		t.Fatalf("after a restart there waits %+v", got)
	}
	if got := said(); len(got) != 0 {
		t.Fatalf("it answered the question: %v", got)
	}
	state(orchestrator.ConversationIdle)
	eventually(t, func() error {
		if got := strings.Join(said(), "|"); !strings.Contains(got, "m0 then m0") || !strings.Contains(got, "m1 then m1") {
			return fmt.Errorf("said %q", got)
		}
		if n := len(w.queue.of("c1")); n != 0 {
			return fmt.Errorf("%d wait still", n)
		}
		return nil
	})
}

func TestBranchAndEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.begin("c1", "r1", "First")
	w.chatWith("c1")
	w.tell("c1", "r1", &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: "art", Name: "notes.md", Parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: []byte("file content"), Filename: "n.txt"}}}}, nil)
	data, _ := json.Marshal(orchestrator.ArtifactData{ArtifactID: "art", Name: "notes.md", Parts: []orchestrator.PartInfo{{Kind: "raw", Filename: "n.txt", Size: 12}}})
	w.end("c1", "r1", a2a.TaskStateCompleted, &orchestrator.Item{Kind: orchestrator.ItemArtifact, AgentID: "atlas", Data: data}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "Second"})
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Third"})
	items, err := w.st.Items(t.Context(), "c1", 0, 10)
	if err != nil || len(items) != 4 {
		t.Fatal(len(items), err)
	}
	r := w.post(fmt.Sprintf("/c/c1/branch/%d", items[2].ID), nil).want(t, 303)
	at := r.Header.Get("Location")
	if err := w.st.Erase(t.Context(), "c1"); err != nil { // the branch stands by itself
		t.Fatal(err)
	}
	p := w.get(at).want(t, 200, "First", "file content", "Second", "A branch of “Edge log store” begins here.")
	if strings.Contains(p.body, "Third") {
		t.Error("the branch has what came after")
	}
	if strings.Contains(p.body, "/retry") {
		t.Error("what was never carried out here can be asked again")
	}
	w.post("/c/none/branch/1", nil).want(t, 404)
	w.post(at+"/branch/999", nil).want(t, 404)

	// Said anew, in a chat of its own: with what was before, and without what it was.
	w.chatWith("c2", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "One"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "Two"}, &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Three"})
	items, _ = w.st.Items(t.Context(), "c2", 0, 10)
	edit := w.get(fmt.Sprintf("/c/c2?edit=%d", items[2].ID)).want(t, 200, "What you send begins a new chat")
	if got := textOf(byID(edit.doc, "say")); got != "Three" {
		t.Errorf("the composer has %q", got)
	}
	r = w.post("/say", url.Values{"conversation": {"c2"}, "branch": {fmt.Sprint(items[2].ID)}, "text": {"Three, but better"}}).want(t, 303)
	if next := r.Header.Get("Location"); next == "/c/c2" {
		t.Error("it went into the old chat")
	} else {
		r := w.get(next).want(t, 200, "One", "Two", "A branch of")
		if got := textOf(byID(r.doc, "title")); got != "Three, but better" {
			t.Errorf("it is called %q", got)
		}
	}
	if n := len(w.who.said); n != 1 || w.who.said[0].Text != "Three, but better" || w.who.said[0].ConversationID == "c2" {
		t.Errorf("said %+v", w.who.said)
	}
	// Said anew from its first words there is nothing above, and nothing says so.
	r = w.post("/say", url.Values{"conversation": {"c2"}, "branch": {fmt.Sprint(items[0].ID)}, "text": {"One, but better"}}).want(t, 303)
	if p := w.get(r.Header.Get("Location")).want(t, 200); strings.Contains(textOf(byID(p.doc, "items")), "A branch of") || strings.HasPrefix(textOf(byID(p.doc, "title")), "Branch") {
		t.Error("a chat with nothing above says that it is a branch")
	}
}

func (w *world) upload(path, field, name string, content []byte) *reply {
	w.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	f, err := m.CreateFormFile(field, name)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.srv.URL+path, &b)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", m.FormDataContentType())
	return w.do(r)
}

// What is exported comes back whole, also where nobody knows its agents.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	m := a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("See the file"), {Kind: a2a.PartRaw, Raw: []byte("my file"), Filename: "mine.txt"}}}
	files, _ := json.Marshal(orchestrator.UserData{Files: []orchestrator.PartInfo{{Kind: "raw", Filename: "mine.txt", Size: 7}}})
	w.tell("c1", "r1", &a2a.Task{ID: "r1", History: []a2a.Message{m}, Artifacts: []a2a.Artifact{{ID: "a", Name: "pic", Parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: dot}}}}}, &orchestrator.Batch{
		Runs:  []*orchestrator.Run{{ID: "r1", ConversationID: "c1", To: "atlas", State: a2a.TaskStateCompleted, Created: clock, Updated: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}},
		Items: []*orchestrator.Item{{ConversationID: "c1", RunID: "r1", Kind: orchestrator.ItemUser, Text: "See the file", Data: files, At: clock}},
	})
	pic, _ := json.Marshal(orchestrator.ArtifactData{ArtifactID: "a", Name: "pic", Parts: []orchestrator.PartInfo{{Kind: "raw", MediaType: "image/png"}}})
	end, _ := json.Marshal(orchestrator.EndData{State: string(a2a.TaskStateFailed), Fault: &orchestrator.Fault{What: "It broke."}})
	w.chatWith("c1",
		&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemArtifact, AgentID: "atlas", Data: pic},
		&orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "**Done** <script>canary()</script>"},
		&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemEnd, AgentID: "atlas", Data: end},
	)
	exported := w.get("/c/c1/export.json").want(t, 200).body

	other := newWorld(t, nil)
	other.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{{ID: "atlas", Trust: orchestrator.TrustRemoved}}})
	at := other.upload("/import", "chat", "chat.json", []byte(exported)).want(t, 303).Header.Get("Location")
	p := other.get(at).want(t, 200, "See the file", "mine.txt", "Done", "It broke.", "Taken in from chat.json.", "Atlas Research")
	src := ""
	for _, n := range find(p.doc, byTag("img")) {
		src = attr(n, "src")
	}
	if got := other.get(src); got.body != string(dot) {
		t.Errorf("the picture at %q did not come along", src)
	}
	for _, n := range find(p.doc, byTag("a")) {
		if strings.Contains(attr(n, "href"), "/files/") {
			if got := other.get(attr(n, "href")); got.body != "my file" {
				t.Errorf("the file did not come along: %q", got.body)
			}
		}
	}
	for name, bad := range map[string]string{
		"nothing": "", "no JSON": "<html>", "another": `{"items":[]}`, "newer": `{"parley":99,"items":[]}`,
		"null": `{"parley":1,"items":[null]}`, "kind": `{"parley":1,"items":[{"kind":"spell"}]}`,
	} {
		other.upload("/import", "chat", "x.json", []byte(bad)).want(t, 400)
		_ = name
	}
	other.upload("/import", "nothing", "x.json", nil).want(t, 400)

	file := w.get("/c/c1/export.html").want(t, 200, "Edge log store", "See the file", "my file", "Done", "It broke.")
	checkExport(t, file)
}

// What is small is in the file: pictures and texts to see, the rest to take out. What is not is named.
func TestExportedParts(t *testing.T) {
	t.Parallel()
	raw := func(head string, n int) *a2a.Part {
		return &a2a.Part{Kind: a2a.PartRaw, Raw: append([]byte(head), bytes.Repeat([]byte("x"), n-len(head))...)}
	}
	for _, c := range []struct {
		name              string
		part              *a2a.Part
		text, file, named bool
	}{
		{"a table", raw("a,b\n1,2\n", 8), true, false, false},
		{"a page", raw("<script>1</script>", 40), true, false, false},
		{"text", raw("", inlineText-1), true, false, false},
		{"most text", raw("", inlineText), true, false, false},
		{"more text", raw("", inlineText+1), false, true, false},
		{"bytes", raw("\x00", 9), false, true, false},
		{"a file", raw("\x00", inlineFile-1), false, true, false},
		{"the largest file", raw("\x00", inlineFile), false, true, false},
		{"a larger file", raw("\x00", inlineFile+1), false, false, true},
	} {
		v := exportPart(t.Context(), c.part, "../evil\u202egpj.exe")
		if (v.Text == string(c.part.Raw)) != c.text || strings.HasPrefix(v.File, "data:application/octet-stream;base64,") != c.file || strings.Contains(v.Detail, "not part of this file") != c.named {
			t.Errorf("%s: text of %d bytes, file of %d, %q", c.name, len(v.Text), len(v.File), v.Detail)
		}
		if c.file && v.Name != CleanName("../evil\u202egpj.exe") {
			t.Errorf("%s is stored as %q", c.name, v.Name)
		}
	}
}

func TestPalette(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"})
	w.write(&orchestrator.Batch{Workflows: []*orchestrator.Workflow{{ID: "fact-sheet", Name: "fact-sheet", Description: "Collects facts"}}})
	w.st.hits = []orchestrator.Hit{{Item: &orchestrator.Item{ID: 7, ConversationID: "c1", Kind: orchestrator.ItemAgent, AgentID: "atlas"}, Title: "Edge log store", Snippet: []orchestrator.Span{{Text: "a "}, {Text: "fact", Mark: true}}}}
	w.get("/palette").want(t, 200, "Edge log store", "Atlas Research", "fact-sheet", "Connect an agent", "Keyboard shortcuts")
	w.get("/palette?chat=c1").want(t, 200, "Rename this chat", "Download as JSON")
	r := w.get("/palette?q=fact").want(t, 200, "fact-sheet", "a fact")
	if strings.Contains(r.body, "Connect an agent") || !strings.Contains(r.body, "<mark>fact</mark>") || !strings.Contains(r.body, `href="/c/c1?at=7#i7"`) {
		t.Error(r.body)
	}
	w.get("/palette?q=zzz").want(t, 200)
	w.get("/complete?q=@at").want(t, 200, "Atlas Research")
	w.get("/complete?q=/fa").want(t, 200, "fact-sheet")
	w.get("/complete?q=@zzz").want(t, 204)
	w.get("/complete?q=at").want(t, 204)
	if r := w.get("/c/c1/find?q=fact").want(t, 200); strings.TrimSpace(r.body) != `{"hits":[7]}` || w.st.seen.ConversationID != "c1" {
		t.Error(r.body, w.st.seen)
	}
	w.get("/c/none/find?q=x").want(t, 404)
}

func TestMatching(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"Atlas Research", "res", "Atlas [Res]earch"},
		{"Atlas", "", "Atlas"},
		{"Atlas", "x", ""},
		{"데이터 정리", "정리", "데이터 [정리]"},
		{"İstanbul", "stan", "İstanbul"},
	} {
		got := ""
		for _, s := range matching(c[0], c[1]) {
			if s.Mark {
				s.Text = "[" + s.Text + "]"
			}
			got += s.Text
		}
		if got != c[2] {
			t.Errorf("%q in %q: %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

// TestBranchesAreToldApart: no two branches of a chat are called the same, and what is said anew names its branch.
func TestBranchesAreToldApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1", &orchestrator.Item{Kind: orchestrator.ItemUser, Text: "Hello"}, &orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "atlas", Text: "Yes?"})
	w.post("/c/c1/name", url.Values{"name": {"Sea · branch line"}}).want(t, 303)
	items, err := w.st.Items(t.Context(), "c1", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	branch := func(of string, item int64) (id, title string) {
		t.Helper()
		at := w.post(fmt.Sprintf("/c/%s/branch/%d", of, item), nil).want(t, 303).Header.Get("Location")
		return strings.TrimPrefix(at, "/c/"), textOf(byID(w.get(at).want(t, 200).doc, "title"))
	}
	one, first := branch("c1", items[1].ID)
	_, second := branch("c1", items[0].ID)
	theirs, err := w.st.Items(t.Context(), one, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	_, third := branch(one, theirs[0].ID)
	if want := "Sea · branch line · branch"; first != want || second != want+" 2" || third != want+" 3" {
		t.Errorf("called %q, %q, %q", first, second, third)
	}
	for i, want := range []string{"Hello again", "Hello again · branch", "Hello again · branch 2"} {
		at := w.post("/say", url.Values{"conversation": {"c1"}, "branch": {fmt.Sprint(items[0].ID)}, "text": {"**Hello** again"}}).want(t, 303).Header.Get("Location")
		if got := textOf(byID(w.get(at).want(t, 200).doc, "title")); got != want {
			t.Errorf("edit %d is called %q, want %q", i, got, want)
		}
	}
}
