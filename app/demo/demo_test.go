package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// serveDemo serves the agents at a real address.
func serveDemo(t *testing.T, o Options) string {
	t.Helper()
	hs := httptest.NewUnstartedServer(nil)
	o.Base = "http://" + hs.Listener.Addr().String()
	s, err := Handler(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	hs.Config.Handler = s
	hs.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Close(ctx)
		hs.CloseClientConnections()
		hs.Close()
	})
	return o.Base
}

func post(t *testing.T, url, method, params string) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func text(s, taskID string) string { return parts(fmt.Sprintf(`[{"text":%q}]`, s), taskID) }

func parts(ps, taskID string) string {
	if taskID != "" {
		taskID = fmt.Sprintf(`,"taskId":%q`, taskID)
	}
	return fmt.Sprintf(`{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":%s%s}}`, time.Now().UnixNano(), ps, taskID)
}

// task makes a call whose answer is a task.
func task(t *testing.T, url, method, params string) *a2a.Task {
	t.Helper()
	var v struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.NewDecoder(post(t, url, method, params).Body).Decode(&v); err != nil || v.Error != nil {
		t.Fatalf("%s %s: %v %s", url, method, err, v.Error)
	}
	if method != "SendMessage" {
		v.Result = []byte(`{"task":` + string(v.Result) + `}`)
	}
	e, err := a2a.UnmarshalEvent(v.Result)
	if err != nil {
		t.Fatal(err)
	}
	out, ok := e.(*a2a.Task)
	if !ok {
		t.Fatalf("the answer is a %T: %s", e, v.Result)
	}
	return out
}

// stream yields the events of a streamed answer.
func stream(t *testing.T, url, params string) []a2a.Event {
	t.Helper()
	var out []a2a.Event
	lines := bufio.NewReader(post(t, url, "SendStreamingMessage", params).Body)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			var v struct{ Result json.RawMessage }
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatalf("frame %s: %v", data, err)
			}
			e, err := a2a.UnmarshalEvent(v.Result)
			if err != nil {
				t.Fatalf("frame %s: %v", data, err)
			}
			out = append(out, e)
		}
		if err != nil {
			return out
		}
	}
}

func TestCards(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{Token: "secret"})
	s, _ := Handler(t.Context(), &Options{Base: base})
	if len(s.Names()) != 8 {
		t.Fatalf("names: %v", s.Names())
	}
	for _, name := range s.Names() {
		for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} {
			res, err := http.Get(base + "/" + name + path)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			if res.StatusCode != http.StatusOK || !bytes.Contains(b, []byte(base+"/"+name+`"`)) || !bytes.Contains(b, []byte(`"bearer"`)) {
				t.Errorf("card of %s: %d\n%s", name, res.StatusCode, b)
			}
		}
		res := post(t, base+"/"+name, "SendMessage", text("x", ""))
		if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a token: %d", name, res.StatusCode)
		}
		req, _ := http.NewRequest(http.MethodPost, base+"/"+name+"/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer secret")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s with its token: %d", name, res.StatusCode)
		}
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	res, err := http.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	for _, want := range []string{"/writer", "/static/style.css", "Plans a trip"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("the index lacks %q:\n%s", want, b)
		}
	}
}

// Whoever is given the address of them all finds each of them, flaky or not.
func TestCatalog(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{Token: "secret"})
	read := func(url string, into any) {
		t.Helper()
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", url, res.StatusCode, err)
		}
	}
	var all catalog
	read(base+"/.well-known/ai-catalog.json", &all)
	if len(all.Entries) != 8 {
		t.Errorf("it names %d agents", len(all.Entries))
	}
	for _, e := range all.Entries {
		var c struct{ Name string }
		if read(e.URL, &c); c.Name == "" || c.Name != e.DisplayName || e.Type != "application/a2a-agent-card+json" {
			t.Errorf("%+v has the card of %q", e, c.Name)
		}
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/x", "127.0.0.1:80"} {
		if _, err := Handler(t.Context(), &Options{Base: base}); err == nil {
			t.Errorf("base %q was taken", base)
		}
	}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	start := time.Now()
	events := stream(t, base+"/writer", text("Write about tide tables.", ""))
	if d := time.Since(start); d < 3*time.Second { // nobody could read along
		t.Errorf("it took %v", d)
	}
	var b strings.Builder
	chunks := 0
	for _, e := range events {
		if u, ok := e.(*a2a.ArtifactUpdate); ok {
			chunks++
			b.WriteString(a2a.Text(u.Artifact.Parts))
		}
	}
	if chunks < 40 || chunks > 80 {
		t.Errorf("%d chunks", chunks)
	}
	if b.String() != strings.ReplaceAll(article, "{topic}", "tide tables") {
		t.Errorf("the article came out as\n%s", b.String())
	}
	if got := a2a.EventState(events[len(events)-1]); got != a2a.TaskStateCompleted {
		t.Errorf("it ended %s", got)
	}
}

func TestWriterResumes(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	w := writer{pace: time.Millisecond}
	first := a2aserver.NewAgent(writer{pace: 20 * time.Millisecond}, log, nil)
	s, err := first.Start(t.Context(), "", &a2a.SendRequest{Message: a2a.Message{ID: "m", Parts: []a2a.Part{a2a.TextPart("about bees")}}})
	if err != nil {
		t.Fatal(err)
	}
	for entries := range first.Events(t.Context(), "", s.TaskID, 0) {
		if entries[len(entries)-1].Seq > 10 {
			break
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	first.Close(gone)
	second := a2aserver.NewAgent(w, log, nil)
	if err := second.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer second.Close(gone)
	for range second.Events(t.Context(), "", s.TaskID, 0) {
	}
	done, err := second.Task(t.Context(), "", &a2a.GetRequest{ID: s.TaskID})
	if err != nil || done.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("%v %+v", err, done)
	}
	if got := a2a.Text(done.Artifacts[0].Parts); got != strings.ReplaceAll(article, "{topic}", "bees") {
		t.Errorf("the article came out as\n%s", got)
	}
}

func TestTravel(t *testing.T) {
	t.Parallel()
	url := serveDemo(t, Options{}) + "/travel"

	tk := task(t, url, "SendMessage", text("Plan a trip to Bergen", ""))
	if tk.Status.State != a2a.TaskStateInputRequired || len(tk.Status.Message.Parts) != 2 || tk.Status.Message.Parts[1].Kind != a2a.PartData {
		t.Fatalf("first answer: %+v", tk.Status)
	}
	var form struct {
		Properties map[string]struct{ Type, Default string }
	}
	if err := json.Unmarshal(tk.Status.Message.Parts[1].Data, &form); err != nil {
		t.Fatal(err)
	}
	if f := form.Properties; len(f) != 4 || f["to"].Default != "Bergen" || f["from"].Default != "" || f["from"].Type != "string" {
		t.Errorf("the form is %+v", f)
	}
	tk = task(t, url, "SendMessage", text("Oslo", tk.ID))
	if want := "I still need to know when you leave, when you come back."; a2a.Text(tk.Status.Message.Parts) != want {
		t.Fatalf("second answer: %s", a2a.Text(tk.Status.Message.Parts))
	}
	tk = task(t, url, "SendMessage", parts(`[{"data":{"depart":"2026-06-01","return":"2026-06-05"}}]`, tk.ID))
	if tk.Status.State != a2a.TaskStateCompleted || len(tk.Artifacts) != 1 {
		t.Fatalf("third answer: %+v", tk)
	}
	var got struct{ Trip trip }
	if err := json.Unmarshal(tk.Artifacts[0].Parts[0].Data, &got); err != nil {
		t.Fatal(err)
	}
	if want := (trip{"Oslo", "Bergen", "2026-06-01", "2026-06-05"}); got.Trip != want {
		t.Errorf("trip %+v, want %+v", got.Trip, want)
	}

	for say, want := range map[string]trip{
		"A trip from Oslo to Bergen, 2026-06-01 until 2026-06-05":       {"Oslo", "Bergen", "2026-06-01", "2026-06-05"},
		"to New York from Rio de Janeiro on 2026-06-01 back 2026-07-05": {"Rio de Janeiro", "New York", "2026-06-01", "2026-07-05"},
		"I want to plan a trip": {},
		"東京":                    {},
	} {
		var p trip
		p.learn(&a2a.Message{Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(say)}}, false)
		if p != want {
			t.Errorf("%q is read as %+v", say, p)
		}
	}
}

// A trip cannot end before it begins; it may on the day on which it does.
func TestTravelBackTooSoon(t *testing.T) {
	t.Parallel()
	u := serveDemo(t, Options{})
	trip := func(back string) *a2a.Task {
		return task(t, u+"/travel", "SendMessage", parts(`[{"data":{"from":"Oslo","to":"Bergen","depart":"2026-06-05","return":"`+back+`"}}]`, ""))
	}
	tk := trip("2026-06-04")
	if want := "You would be back before you leave. I still need to know when you come back."; tk.Status.State != a2a.TaskStateInputRequired || a2a.Text(tk.Status.Message.Parts) != want {
		t.Errorf("%s: %v", tk.Status.State, tk.Status.Message)
	}
	for _, back := range []string{"2026-06-05", "2026-06-06"} {
		if tk := trip(back); tk.Status.State != a2a.TaskStateCompleted {
			t.Errorf("back on %s: %s", back, tk.Status.State)
		}
	}
}

func TestVault(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	for decision, want := range map[string]a2a.TaskState{"yes": a2a.TaskStateCompleted, "no": a2a.TaskStateRejected} {
		tk := task(t, base+"/vault", "SendMessage", text("Open the vault", ""))
		page := base + "/vault/sign-in/" + tk.ID
		if tk.Status.State != a2a.TaskStateAuthRequired || !strings.Contains(a2a.Text(tk.Status.Message.Parts), page) {
			t.Fatalf("first answer: %+v", tk.Status)
		}
		res, err := http.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") || bytes.Contains(b, []byte("<script")) {
			t.Errorf("page: %d %s", res.StatusCode, b)
		}
		evil, _ := http.NewRequest(http.MethodPost, page, strings.NewReader("decision=yes"))
		evil.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		evil.Header.Set("Sec-Fetch-Site", "cross-site")
		if res, err = http.DefaultClient.Do(evil); err != nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("cross-site form: %v %v", res, err)
		}
		if res, err = http.PostForm(page, url.Values{"decision": {decision}}); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("form: %v %v", res, err)
		}
		deadline := time.Now().Add(5 * time.Second)
		for ; tk.Status.State != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after %q it is %s", decision, tk.Status.State)
			}
			tk = task(t, base+"/vault", "GetTask", fmt.Sprintf(`{"id":%q}`, tk.ID))
		}
		if res, _ = http.Get(page); res.StatusCode != http.StatusNotFound {
			t.Errorf("the page is still there: %d", res.StatusCode)
		}
	}
}

func TestVaultWaitsAgainAfterRestart(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	logs := func(agent string) a2aserver.Log {
		if agent == "vault" {
			return log
		}
		return a2aserver.NewMemoryLog()
	}
	first := serveDemo(t, Options{Log: logs})
	tk := task(t, first+"/vault", "SendMessage", text("Open the vault", ""))
	second := serveDemo(t, Options{Log: logs})
	page := second + "/vault/sign-in/" + tk.ID
	deadline := time.Now().Add(5 * time.Second)
	for {
		res, err := http.PostForm(page, url.Values{"decision": {"yes"}})
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the sign-in")
		}
		time.Sleep(5 * time.Millisecond)
	}
	for ; tk.Status.State != a2a.TaskStateCompleted; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is %s", tk.Status.State)
		}
		tk = task(t, second+"/vault", "GetTask", fmt.Sprintf(`{"id":%q}`, tk.ID))
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	tk := task(t, base+"/files", "SendMessage", parts(`[{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain"}]`, ""))
	if len(tk.Artifacts) != 1+len(sampleTypes) || !bytes.Contains(tk.Artifacts[0].Parts[0].Data, []byte(`"bytes":2`)) {
		t.Fatalf("artifacts: %+v", tk.Artifacts)
	}
	for i, s := range sampleTypes {
		part := tk.Artifacts[1+i].Parts[0]
		address := base + "/files/samples/" + s.name
		if s.linked != (part.URL != "") || s.linked && part.URL != address || part.MediaType != s.mediaType || part.Filename != s.name {
			t.Errorf("%s came as %+v", s.name, part)
		}
		res, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if !s.linked && !bytes.Equal(b, part.Raw) || len(b) == 0 || !strings.HasPrefix(res.Header.Get("Content-Type"), s.mediaType) {
			t.Errorf("%s: %d bytes, %d by address as %s", s.name, len(part.Raw), len(b), res.Header.Get("Content-Type"))
		}
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	events := stream(t, base+"/slow", text("#slow 2s", ""))
	var said []string
	for _, e := range events {
		if u, ok := e.(*a2a.StatusUpdate); ok {
			said = append(said, a2a.Text(u.Status.Message.Parts))
		}
	}
	if got := strings.Join(said, " | "); got != "0 of 2 seconds | 1 of 2 seconds | Done, after 2 seconds." {
		t.Error(got)
	}
}

func TestFlaky(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	flaky := base + "/flaky"
	if res := post(t, flaky, "SendMessage", text("#flaky 500", "")); res.StatusCode != 500 {
		t.Errorf("500: %d", res.StatusCode)
	}
	if _, err := http.Post(flaky, "application/json", strings.NewReader(`#flaky reset`)); err == nil {
		t.Error("reset: there was an answer")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, flaky, strings.NewReader("#flaky hang"))
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Error("hang: there was an answer")
	}
	b, _ := io.ReadAll(post(t, flaky, "SendStreamingMessage", text("#flaky garbage", "")).Body)
	if !bytes.Contains(b, []byte("oops")) || !bytes.Contains(b, []byte("COMPLETED")) {
		t.Errorf("garbage:\n%s", b)
	}
	b, _ = io.ReadAll(post(t, flaky, "SendStreamingMessage", text("#flaky no-end", "")).Body)
	if bytes.Contains(b, []byte("COMPLETED")) || !bytes.Contains(b, []byte("artifactUpdate")) {
		t.Errorf("no-end:\n%s", b)
	}
	b, _ = io.ReadAll(post(t, flaky, "SendStreamingMessage", text("#flaky repeat", "")).Body)
	if n := bytes.Count(b, []byte("COMPLETED")); n != 2 {
		t.Errorf("repeat: %d times", n)
	}
	res, err := http.Get(flaky + "/html-card/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if ct := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(ct, "text/html") {
		t.Errorf("html-card: %d %s", res.StatusCode, ct)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	url := serveDemo(t, Options{}) + "/bench"
	tk := task(t, url, "SendMessage", text("#bench task", ""))
	if tk.Status.State != a2a.TaskStateCompleted || a2a.Text(tk.Artifacts[0].Parts) != "#bench task" {
		t.Errorf("task: %+v", tk)
	}
	var last string
	chunks := 0
	for _, e := range stream(t, url, text("#bench stream n=500 b=64", "")) {
		if u, ok := e.(*a2a.ArtifactUpdate); ok {
			s := a2a.Text(u.Artifact.Parts)
			if len(s) != 64 || !strings.HasPrefix(s, "~T") || s[21] != '~' || s[:22] < last {
				t.Fatalf("chunk %d is %q, after %q", chunks, s, last)
			}
			last = s[:22]
			chunks++
		}
	}
	if chunks != 500 {
		t.Errorf("%d chunks", chunks)
	}
	states := 0
	for _, e := range stream(t, url, text("#bench status n=3 every=1ms", "")) {
		if u, ok := e.(*a2a.StatusUpdate); ok && u.Status.State == a2a.TaskStateWorking {
			states++
		}
	}
	if states != 3 {
		t.Errorf("%d status updates", states)
	}
	start := time.Now()
	if tk = task(t, url, "SendMessage", text("#bench hold for=300ms", "")); time.Since(start) < 300*time.Millisecond {
		t.Errorf("it did not hold: %+v", tk)
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	b, _ := io.ReadAll(post(t, serveDemo(t, Options{})+"/echo", "SendMessage", text("hello", "")).Body)
	if !bytes.Contains(b, []byte(`"message":`)) || !bytes.Contains(b, []byte("hello")) {
		t.Errorf("%s", b)
	}
}
