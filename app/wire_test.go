package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/app"
	"parley/orchestrator"
)

// wire returns what was recorded, once ok says that it is all there.
func (p *program) wire(q orchestrator.WireQuery, what string, ok func([]*orchestrator.WireRecord) bool) []*orchestrator.WireRecord {
	p.Helper()
	q.Limit = 500
	var all []*orchestrator.WireRecord
	eventually(p.T, what, func() bool {
		var err error
		if all, err = p.WireRecords(p.Context(), q); err != nil {
			p.Fatal(err)
		}
		return ok(all)
	})
	return all
}

// What went over the wire is kept with the run it belongs to, from both sides of a hop.
func TestWireRecords(t *testing.T) {
	t.Parallel()
	p := start(t)
	task := p.call("agents/bench", envToken, "SendMessage", say("m", "#bench task", `,"metadata":{"apiKey":"canary-in-a-message"}`)).result(t, "task.id")
	bad := p.call("agents/bench", envToken, "GetTask", about("nothing"))
	all := p.wire(orchestrator.WireQuery{RunID: task}, "both sides of the hop", func(all []*orchestrator.WireRecord) bool { return len(all) >= 2 })
	var in, out *orchestrator.WireRecord
	for _, r := range all {
		if r.Inbound {
			in = r
		} else {
			out = r
		}
	}
	if in == nil || in.Peer != "env" || in.Method != "SendMessage" || in.Dialect != "v1.0" || in.Status != 200 || in.TaskID != task || !bytes.Contains(in.Request, []byte("#bench task")) || len(in.Response) == 0 {
		t.Errorf("what came in: %+v", in)
	}
	if out == nil || out.Peer != "bench" || !strings.HasPrefix(out.URL, p.ready.Demo+"bench") || out.Status != 200 || !bytes.Contains(out.Request, []byte("#bench task")) {
		t.Errorf("what went out: %+v", out)
	}
	for _, r := range all {
		if bytes.Contains(r.Request, []byte("canary")) || !bytes.Contains(r.Request, []byte("[masked]")) {
			t.Errorf("a secret is not masked: %s", r.Request)
		}
	}
	if bad.get("error.code") != "-32001" {
		t.Fatalf("%s", bad.body)
	}
	p.wire(orchestrator.WireQuery{TaskID: "nothing"}, "a call about nothing", func(all []*orchestrator.WireRecord) bool {
		return len(all) == 1 && all[0].RunID == "" && all[0].Err != ""
	})
}

// A test of an agent asks for a task that cannot be. That it is refused is no failure in the inspector.
func TestProbesAreNoFailures(t *testing.T) {
	t.Parallel()
	p := start(t)
	verb[[]app.Check](p, "doctor", struct{}{})
	verb[orchestrator.AgentTest](p, "agents.test", app.Named{ID: "echo"})
	p.wire(orchestrator.WireQuery{Method: "GetTask", Peer: "echo"}, "two probes of echo", func(all []*orchestrator.WireRecord) bool {
		return len(all) == 2 && all[0].Err == orchestrator.WireRefused && all[1].Err == orchestrator.WireRefused && len(all[0].Response) > 0
	})
	if all, err := p.WireRecords(t.Context(), orchestrator.WireQuery{Failed: true}); err != nil || len(all) != 0 {
		t.Errorf("%d failures, the first %+v, %v", len(all), all, err)
	}
	if page := p.shown("/wire"); !strings.Contains(page, "refused, as expected") || strings.Contains(page, `class="tag fail"`) {
		t.Error("the page shows a failure, or no probe")
	}
	p.call("agents/echo", envToken, "GetTask", `{"id":"nothing"}`)
	p.wire(orchestrator.WireQuery{Failed: true}, "a caller's failure", func(all []*orchestrator.WireRecord) bool { return len(all) == 1 })
}

// With a conversation goes what went over the wire for it, also what was on its way.
func TestEraseTakesWireRecords(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie, origin := p.login(), strings.TrimSuffix(p.page(), "/")
	erase := func(conversation string) {
		t.Helper()
		r := p.do("POST", p.page()+"c/"+conversation+"/delete", "", "Cookie", cookie, "Origin", origin, "Content-Type", "application/x-www-form-urlencoded")
		if r.StatusCode >= 400 {
			t.Fatalf("delete: %d %s", r.StatusCode, r.body)
		}
	}
	const canary = "canary-of-the-conversation"
	done := p.tell(t, "bench", "#bench task "+canary)
	p.wire(orchestrator.WireQuery{RunID: done.lines[0].Run}, "its records", func(all []*orchestrator.WireRecord) bool { return len(all) > 0 })
	quick := p.tell(t, "bench", "#bench task "+canary) // erased while its records wait to be stored
	erase(quick.lines[0].Conversation)
	erase(done.lines[0].Conversation)
	kept := p.tell(t, "echo", "kept").lines[0].Run
	p.wire(orchestrator.WireQuery{RunID: kept}, "a later record", func(all []*orchestrator.WireRecord) bool { return len(all) > 0 })
	p.wire(orchestrator.WireQuery{}, "nothing is left of the erased", func(all []*orchestrator.WireRecord) bool {
		for _, r := range all {
			if bytes.Contains(r.Request, []byte(canary)) || bytes.Contains(r.Response, []byte(canary)) {
				return false
			}
		}
		return true
	})
}

// No secret that goes in comes out anywhere but where it belongs.
func TestCanaries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const env, bearer, basic, key = "canary-environment-token", "canary-bearer-credential", "canary-basic-password", "canary-header-key"
	p := startIn(t, dir, func(c *app.Config) { c.EnvToken = env })
	canaries := map[string]string{"environment": env, "bearer": bearer, "basic": basic, "key": key}
	canaries["token"] = p.token(app.TokenInfo{Name: "made", Agents: []string{"*"}, Credentials: true})
	_, canaries["link"], _ = strings.Cut(p.ready.UI, "#token=")
	cookie := p.login()
	_, canaries["cookie"], _ = strings.Cut(cookie, "=")

	one, two, three := newPeer(t), newPeer(t), newPeer(t)
	one.wants(bearer)
	p.connect(one, "one", &app.Credential{Kind: "bearer", Secret: bearer})
	p.connect(two, "two", &app.Credential{Kind: "basic", User: "me", Secret: basic})
	p.connect(three, "three", &app.Credential{Kind: "header", Name: "X-Api-Key", Secret: key})
	answers := [][]byte{}
	for _, id := range []string{"one", "two", "three", "echo"} {
		p.tell(t, id, "hello")
		for _, token := range []string{env, canaries["token"]} {
			answers = append(answers, p.call("agents/"+id, token, "SendMessage", say("m-"+id+token[:8], "hello")).body)
		}
	}
	one.wants("another-one-now") // the agent refuses from now on
	s := p.tell(t, "one", "hello again")
	failed, _ := json.Marshal(s.lines)
	answers = append(answers, failed,
		p.call("", "wrong-"+bearer, "ListTasks", "{}").body,
		p.do("POST", p.page()+"session", `{"token":"`+canaries["link"]+`x"}`, "Content-Type", "application/json", "Origin", strings.TrimSuffix(p.page(), "/")).body,
		p.do("GET", p.page()+"agents/one", "", "Cookie", cookie).body,
		p.do("GET", p.page(), "", "Cookie", cookie).body,
	)
	if !one.sent("Bearer " + bearer) {
		t.Error("the credential was not used")
	}
	var export bytes.Buffer
	for _, format := range []string{"md", "json"} {
		if err := p.ctl.Stream(t.Context(), "export", app.ExportQuery{Format: format}, func(b []byte) error { export.Write(b); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(export.String(), "hello again") {
		t.Errorf("the export: %s", export.String())
	}
	records := p.wire(orchestrator.WireQuery{}, "records", func(all []*orchestrator.WireRecord) bool { return len(all) > 10 })
	recorded, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "doctor", "agents.list", "token.list"} {
		answers = append(answers, verb[json.RawMessage](p, name, struct{}{}))
	}
	look := func(where string, b []byte) {
		for name, secret := range canaries {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("the %s is in %s", name, where)
			}
		}
	}
	files := func(when string) {
		n := 0
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				b, err := os.ReadFile(path)
				if err != nil {
					return nil // came and went
				}
				n++
				look(path+" "+when, b)
			}
			return nil
		})
		if n < 3 {
			t.Errorf("%d files %s", n, when)
		}
	}
	time.Sleep(200 * time.Millisecond) // what is written later than its answer is written by now
	files("while it runs")
	p.stop()
	files("afterwards")
	look("the log", []byte(p.log.String()))
	look("the export", export.Bytes())
	for _, r := range records {
		look("a wire record", r.Request)
		look("a wire record", r.Response)
	}
	look("the wire records", recorded)
	for _, b := range answers {
		look("an answer", b)
	}
}

// The two ways in are apart: no answer of ours lets another origin read it.
func TestNoCORS(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie := p.login()
	for _, url := range []string{p.page(), p.page() + "agents", p.a2a(""), p.a2a(cardPath), p.a2a("agents/echo/" + cardPath), p.ready.Demo, p.ready.Demo + "echo/" + cardPath} {
		for _, method := range []string{http.MethodGet, http.MethodOptions, http.MethodPost} {
			r := p.do(method, url, "", "Origin", "http://evil.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization",
				"Cookie", cookie, "Authorization", "Bearer "+envToken)
			for name := range r.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %s", method, url, name)
				}
			}
		}
	}
}

// Of the tasks that a message refers to, the first hundred are passed on, by the names that the agent has for them.
func TestReferences(t *testing.T) {
	t.Parallel()
	p := start(t)
	known := p.call("agents/bench", envToken, "SendMessage", say("first", "#bench task")).result(t, "task.id")
	for _, others := range []int{99, 100} {
		id := fmt.Sprint("after", others)
		list := strings.Repeat(`"nobody's",`, others) + fmt.Sprintf("%q", known)
		task := p.call("agents/bench", envToken, "SendMessage",
			strings.Replace(say(id, "#bench task"), `"role"`, `"referenceTaskIds":[`+list+`],"role"`, 1)).result(t, "task.id")
		p.wire(orchestrator.WireQuery{RunID: task}, "what was sent to the agent", func(all []*orchestrator.WireRecord) bool {
			for _, r := range all {
				if !r.Inbound {
					if passed := bytes.Contains(r.Request, []byte("referenceTaskIds")); passed != (others < 100) {
						t.Errorf("behind %d others: passed on %v", others, passed)
					}
					return true
				}
			}
			return false
		})
	}
}
