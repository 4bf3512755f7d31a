package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/app"
	"parley/orchestrator"
)

// outgoing returns the newest recorded call to an agent.
func (p *program) outgoing(agent string, text string) *orchestrator.WireRecord {
	p.Helper()
	var found *orchestrator.WireRecord
	p.wire(orchestrator.WireQuery{Peer: agent, Way: orchestrator.WireOut}, "the call to "+agent, func(all []*orchestrator.WireRecord) bool {
		for _, r := range all {
			if bytes.Contains(r.Request, []byte(text)) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

func kind(err error) string {
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return fmt.Sprint(err)
}

// A recorded request is sent once more to the agent it went to, with its credential and a new id; and nowhere else.
func TestReplay(t *testing.T) {
	t.Parallel()
	p := start(t)
	one, other := newPeer(t), newPeer(t)
	one.wants("canary-credential")
	p.connect(one, "one", &app.Credential{Kind: "bearer", Secret: "canary-credential"})
	p.connect(other, "other", nil)
	p.tell(t, "one", "say it")
	rec := p.outgoing("one", "say it")
	if v := rec.Header["A2a-Version"]; len(v) != 1 || v[0] != "1.0" {
		t.Errorf("the recorded version is %q", v)
	}
	look := p.Inspector()
	body := bytes.ReplaceAll(rec.Request, []byte("say it"), []byte("say it again"))
	now, err := look.Replay(t.Context(), rec, body)
	if err != nil {
		t.Fatal(err)
	}
	if now.ID <= rec.ID || now.Status != http.StatusOK || !bytes.Contains(now.Response, []byte("say it again")) {
		t.Errorf("the replay: %d, %d %s %s", now.ID, now.Status, now.Response, now.Err)
	}
	id := func(b []byte) string {
		var r struct {
			Params struct {
				Message struct{ MessageID string }
			}
		}
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		return r.Params.Message.MessageID
	}
	if a, b := id(rec.Request), id(now.Request); a == "" || b == "" || a == b {
		t.Errorf("the message %q became %q", a, b)
	}
	if bytes.Contains(append(now.Request, now.Response...), []byte("canary")) {
		t.Error("the replay shows the credential")
	}

	inbound := *rec
	inbound.Inbound = true
	elsewhere := *rec
	elsewhere.URL = other.url // granted, and to another agent
	masked := bytes.ReplaceAll(body, []byte("say it again"), []byte("[masked]"))
	for _, tt := range []struct {
		kind string
		r    *orchestrator.WireRecord
		body []byte
	}{
		{"no-replay", &inbound, body}, {"not-granted", &elsewhere, body}, {"no-replay", rec, masked}, {"no-replay", rec, []byte("{")},
	} {
		if _, err := look.Replay(t.Context(), tt.r, tt.body); kind(err) != tt.kind {
			t.Errorf("%s to %s: %v, want %s", tt.body, tt.r.URL, err, tt.kind)
		}
	}
	if other.sent("Bearer canary-credential") {
		t.Error("the credential went to another agent")
	}
	verb[struct{}](p, "agents.remove", app.Named{ID: "one"})
	if _, err := look.Replay(t.Context(), rec, body); err == nil {
		t.Error("a removed agent was sent to")
	}
}

// No secret that was used or sent is on any view of the wire, nor in what is exported of it.
func TestWirePageHidesSecrets(t *testing.T) {
	t.Parallel()
	p := start(t)
	one, two := newPeer(t), newPeer(t)
	one.wants("canary-bearer")
	p.connect(one, "one", &app.Credential{Kind: "bearer", Secret: "canary-bearer"})
	p.connect(two, "two", &app.Credential{Kind: "header", Name: "X-Chosen-By-Me", Secret: "canary-chosen"})
	p.tell(t, "one", "hello one")
	p.tell(t, "two", "hello two")
	p.call("agents/two", envToken, "SendMessage", say("m", "hello three", `,"metadata":{"password":"canary-password"}`), "X-Custom-Auth", "canary-custom")
	p.outgoing("two", "hello three")
	p.wire(orchestrator.WireQuery{Way: orchestrator.WireIn}, "the call that came in", func(all []*orchestrator.WireRecord) bool { return len(all) > 0 })
	cookie := p.login()
	pages := []string{"wire", "wire/export.json?", "wire/export.har?"}
	for _, r := range p.wire(orchestrator.WireQuery{}, "records", func(all []*orchestrator.WireRecord) bool { return len(all) >= 4 }) {
		for _, show := range []string{"", "raw", "headers"} {
			pages = append(pages, fmt.Sprintf("wire?id=%d&show=%s", r.ID, show))
		}
	}
	masked := 0
	for _, path := range pages {
		r := p.do("GET", p.page()+path, "", "Cookie", cookie)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		for _, secret := range []string{"canary", envToken} {
			if bytes.Contains(r.body, []byte(secret)) {
				t.Errorf("%s shows %s", path, secret)
			}
		}
		masked += bytes.Count(r.body, []byte(`class="mask"`)) + bytes.Count(r.body, []byte("[masked]"))
	}
	if masked < 5 {
		t.Errorf("only %d secrets are shown as masked", masked)
	}
}

// Whosever a task is, it can be stopped; what is with an agent is asked for there.
func TestInspectTasks(t *testing.T) {
	t.Parallel()
	p := start(t)
	at := newPeer(t)
	p.connect(at, "one", nil)
	look := p.Inspector()
	task := p.call("agents/one", envToken, "SendMessage", say("m", "wait", `},"configuration":{"returnImmediately":true`)).result(t, "task.id")
	var far string
	eventually(t, "the task at the agent", func() bool {
		tasks, err := look.TasksAt(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) == 1 {
			far = tasks[0].ID
		}
		return far != ""
	})
	if got, err := look.TaskAt(t.Context(), "one", far); err != nil || got.Status.State != a2a.TaskStateWorking {
		t.Fatalf("%+v, %v", got, err)
	}
	ended := make(chan a2a.TaskState, 1)
	go func() {
		last := a2a.TaskStateUnspecified
		for e, err := range look.AwaitAt(t.Context(), "one", far) {
			if err == nil && a2a.EventState(e) != a2a.TaskStateUnspecified {
				last = a2a.EventState(e)
			}
		}
		ended <- last
	}()
	if err := look.CancelTask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if s := <-ended; s != a2a.TaskStateCanceled {
		t.Errorf("who followed it heard %s last", s)
	}
	eventually(t, "the caller's task is canceled", func() bool {
		return p.call("agents/one", envToken, "GetTask", about(task)).get("result.status.state") == string(a2a.TaskStateCanceled)
	})
	if err := look.CancelTask(t.Context(), "none"); !errors.Is(err, orchestrator.ErrNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
	if _, err := look.TaskAt(t.Context(), "one", "none"); err == nil {
		t.Error("a task that the agent does not know was found")
	}
}

// A caller's webhook is told the task as it stands, once for each test, with its token, beside what it is owed.
func TestTestPush(t *testing.T) {
	t.Parallel()
	p := start(t, localPush)
	at := newPeer(t)
	p.connect(at, "one", nil)
	var mu sync.Mutex
	var got []string
	status := http.StatusOK
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("A2A-Notification-Token")+" "+r.Header.Get("Webhook-Id")+" "+string(b))
		w.WriteHeader(status)
	}))
	defer hook.Close()
	task := p.call("agents/one", envToken, "SendMessage", say("m", "wait", `},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"`+hook.URL+`/hook?secret=canary","token":"the-token"}`)).result(t, "task.id")
	look := p.Inspector()
	var pushes []*orchestrator.Push
	eventually(t, "the registration", func() bool {
		var err error
		if pushes, err = look.Pushes(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(pushes) != 1 || len(got) == 0 {
			return false
		}
		// All that comes by itself: the agent is at work and says no more. Its id ends in the number that the row then has.
		id, body, _ := strings.Cut(strings.TrimPrefix(got[len(got)-1], "the-token "), " ")
		return strings.Contains(body, "TASK_STATE_WORKING") && strings.HasSuffix(id, fmt.Sprintf("-%d", pushes[0].Seq))
	})
	if h := pushes[0]; h.Ours || h.Who != "env" || strings.Contains(h.URL, "canary") || h.State != "live" {
		t.Errorf("the registration: %+v", h)
	}
	mu.Lock()
	before := len(got)
	mu.Unlock()
	for range 2 {
		if status, err := look.TestPush(t.Context(), task, pushes[0].ID); status != http.StatusOK || err != nil {
			t.Fatalf("%d, %v", status, err)
		}
	}
	mu.Lock()
	if len(got) != before+2 || !strings.HasPrefix(got[before], "the-token ") || !strings.Contains(got[before], task) || got[before] == got[before+1] {
		t.Errorf("delivered: %q", got[before:])
	}
	status = http.StatusServiceUnavailable
	mu.Unlock()
	if status, err := look.TestPush(t.Context(), task, pushes[0].ID); status != http.StatusServiceUnavailable || kind(err) != "push" {
		t.Errorf("a webhook that is out of service: %d, %v", status, err)
	}
	after, err := look.Pushes(t.Context(), task)
	if err != nil || len(after) != 1 || after[0].Seq != pushes[0].Seq || after[0].Attempts != 0 {
		t.Errorf("a test changed where the registration stands: %+v, %v", after, err)
	}
	if _, err := look.TestPush(t.Context(), task, "none"); !errors.Is(err, orchestrator.ErrNotFound) {
		t.Errorf("a webhook that is not there: %v", err)
	}
}

// Our own webhook at an agent is seen, tested at the address that the agent was given, and shows its secret nowhere.
func TestTestOwnHook(t *testing.T) {
	t.Parallel()
	r := newReporter(t, "1.0")
	p := start(t)
	a := verb[[]app.AgentInfo](p, "agents.preview", app.FindAgent{Input: r.url})[0]
	verb[app.AgentInfo](p, "agents.add", app.FindAgent{Input: r.url, ID: "reporter", Origins: a.Origins})
	task := p.call("agents/reporter", envToken, "SendMessage", say("m", "go", `},"configuration":{"returnImmediately":true`)).result(t, "task.id")
	look := p.Inspector()
	var hook *orchestrator.Push
	eventually(t, "our webhook", func() bool {
		pushes, err := look.Pushes(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		if len(pushes) == 1 {
			hook = pushes[0]
		}
		return hook != nil
	})
	if !hook.Ours || hook.Who != "reporter" || strings.Contains(hook.URL, hook.ID) {
		t.Errorf("our webhook: %+v", hook)
	}
	if status, err := look.TestPush(t.Context(), task, hook.ID); status != http.StatusOK || err != nil {
		t.Errorf("the test: %d, %v", status, err)
	}
	p.wire(orchestrator.WireQuery{RunID: task, Way: orchestrator.WirePush}, "its record", func(all []*orchestrator.WireRecord) bool {
		for _, r := range all {
			if r.Inbound && r.Status == http.StatusOK {
				return true
			}
		}
		return false
	})
	close(r.goOn)
}
