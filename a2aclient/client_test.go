package a2aclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

func TestNew(t *testing.T) {
	t.Parallel()
	h := &http.Client{}
	ok := a2a.AgentInterface{URL: "https://a.example/", Binding: "JSONRPC", Version: "1.0"}
	for name, x := range map[string]struct {
		iface a2a.AgentInterface
		o     *a2aclient.Options
	}{
		"no options":     {ok, nil},
		"no HTTP client": {ok, &a2aclient.Options{}},
		"another way":    {a2a.AgentInterface{URL: "https://a.example/", Binding: "PIGEON", Version: "1.0"}, &a2aclient.Options{HTTP: h}},
		"v0.1 over REST": {a2a.AgentInterface{URL: "https://a.example/", Binding: "HTTP+JSON", Version: "0.1"}, &a2aclient.Options{HTTP: h}},
		"v2.0":           {a2a.AgentInterface{URL: "https://a.example/", Binding: "JSONRPC", Version: "2.0"}, &a2aclient.Options{HTTP: h}},
		"relative":       {a2a.AgentInterface{URL: "/rpc", Binding: "JSONRPC", Version: "1.0"}, &a2aclient.Options{HTTP: h}},
		"credentials":    {a2a.AgentInterface{URL: "https://a:b@a.example/", Binding: "JSONRPC", Version: "1.0"}, &a2aclient.Options{HTTP: h}},
		"no web address": {a2a.AgentInterface{URL: "ftp://a.example/", Binding: "JSONRPC", Version: "1.0"}, &a2aclient.Options{HTTP: h}},
		"no address":     {a2a.AgentInterface{URL: "%zz", Binding: "JSONRPC", Version: "1.0"}, &a2aclient.Options{HTTP: h}},
	} {
		if c, err := a2aclient.New(&a2a.AgentCard{}, x.iface, x.o); err == nil {
			t.Errorf("%s: %v", name, c)
		}
	}
	c, err := a2aclient.New(nil, ok, &a2aclient.Options{HTTP: h})
	if err != nil || c.Dialect() != wire.NEW {
		t.Errorf("%v, %v", c, err)
	}
	mid := wire.MID
	if c, err = a2aclient.New(nil, ok, &a2aclient.Options{HTTP: h, Override: &a2aclient.Override{Dialect: &mid}}); err != nil || c.Dialect() != wire.MID {
		t.Errorf("%v, %v", c, err)
	}
}

// An agent that knows no method we know.
func TestSpeaksSomethingElse(t *testing.T) {
	t.Parallel()
	a := newAgent(t, nil)
	got := collect(t, a.client("1.0", nil).Stream(ctx(t), hello()))
	if e := kindOf(t, got.err, card.KindVersion); e.MayHaveRun {
		t.Errorf("%+v", e)
	}
}

// What a request carries, by dialect.
func TestRequests(t *testing.T) {
	t.Parallel()
	known, other := "https://ext.example/known", "https://ext.example/other"
	ac := streaming()
	ac.Capabilities.Extensions = []a2a.AgentExtension{{URI: known, Required: true}, {URI: other}}
	check := func(version, header string) func(*turn) {
		return func(t *turn) {
			for name, want := range map[string]string{
				"Content-Type": "application/json", "A2A-Version": version, header: known, "Accept": "application/json, application/a2a+json",
				"Cookie": "",
			} {
				if got := t.asked(name); got != want {
					t.t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if string(t.ID) == "" || t.ID[0] != '"' {
				t.t.Errorf("id %s is no string", t.ID)
			}
			var p struct{ Tenant string }
			json.Unmarshal(t.Params, &p)
			if want := map[string]string{"1.0": "acme"}[version]; p.Tenant != want {
				t.t.Errorf("tenant %q in %s, want %q", p.Tenant, t.Params, want)
			}
			http.SetCookie(t.ResponseWriter, &http.Cookie{Name: "track", Value: "you"})
			if version == "" {
				t.result(`{"kind":"message","messageId":"r","role":"agent","parts":[{"kind":"text","text":"hi"}]}`)
				return
			}
			t.result(`{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`)
		}
	}
	a := newAgent(t, map[string]func(*turn){"SendMessage": check("1.0", "A2A-Extensions"), "message/send": check("", "X-A2A-Extensions")})
	for _, version := range []string{"1.0", "0.3"} {
		c, err := a2aclient.New(ac, a2a.AgentInterface{URL: a.URL, Binding: "JSONRPC", Version: version, Tenant: "acme"},
			quick(&a2aclient.Options{Extensions: []string{known, "https://ext.example/unasked"}}))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := hello()
			if e, err := c.Send(ctx(t), r); err != nil || short(e) != "message:hi" || r.Tenant != "" {
				t.Errorf("%v, %v", e, err)
			}
		}
	}
}

// A required extension that nobody knows is refused before anything is sent.
func TestRequiredExtension(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) { t.result(task("COMPLETED")) }})
	ac := &a2a.AgentCard{Name: "X", Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{{URI: "https://ext.example/must", Required: true}}}}
	c := a.clientOf(ac, "1.0", nil)
	_, err := c.Send(ctx(t), hello())
	e := kindOf(t, err, card.KindExtension)
	if d := cmp.Diff([]string{"https://ext.example/must"}, e.URIs); d != "" || !strings.Contains(e.What, e.URIs[0]) {
		t.Errorf("%+v", e)
	}
	kindOf(t, collect(t, c.Stream(ctx(t), hello())).err, card.KindExtension)
	if a.called() != "" {
		t.Errorf("called %s", a.called())
	}
	if _, err := a.clientOf(ac, "1.0", &a2aclient.Options{SendAnyway: true}).Send(ctx(t), hello()); err != nil {
		t.Error(err)
	}
}

func TestFileTypes(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"SendMessage": func(t *turn) { t.result(task("COMPLETED")) }})
	for _, x := range []struct {
		modes, skill []string
		metadata     string
		file         string
		ok           bool
	}{
		{[]string{"text/plain"}, nil, "", "image/png", false},
		{[]string{"text/plain", "image/png"}, nil, "", "image/png", true},
		{[]string{"text/plain"}, []string{"image/*"}, "", "image/png", true},
		{[]string{"text/plain"}, []string{"image/*"}, `{"skillId":"s"}`, "image/png", true},
		{[]string{"text/plain", "application/pdf"}, []string{"image/*"}, `{"skillId":"s"}`, "application/pdf", false},
		{[]string{"*/*"}, nil, "", "image/png", true},
		{[]string{"file"}, nil, "", "image/png", true},
		{[]string{"image"}, nil, "", "image/png", true},
		{[]string{"text"}, nil, "", "text/csv", true},
		{[]string{"data"}, nil, "", "application/json", true},
		{[]string{"TEXT/CSV; charset=utf-8"}, nil, "", "text/csv;header=present", true},
		{[]string{"text/plain"}, nil, "", "", true},
		{nil, nil, "", "image/png", true},
		{[]string{"image/pn"}, nil, "", "image/png", false},
	} {
		ac := &a2a.AgentCard{Name: "X", DefaultInputModes: x.modes, Skills: []a2a.AgentSkill{{ID: "s", InputModes: x.skill}}}
		r := hello()
		r.Message.Parts = append(r.Message.Parts, a2a.Part{Kind: a2a.PartRaw, Raw: []byte("x"), Filename: "cat.png", MediaType: x.file})
		r.Metadata = a2a.Metadata(x.metadata)
		_, err := a.clientOf(ac, "1.0", nil).Send(ctx(t), r)
		if x.ok {
			if err != nil {
				t.Errorf("%+v: %v", x, err)
			}
			continue
		}
		e := kindOf(t, err, card.KindFileType)
		if len(e.Accepted) == 0 || !strings.Contains(e.What, e.Accepted[0]) || !strings.Contains(e.What, "cat.png") {
			t.Errorf("%+v: %+v", x, e)
		}
	}
}

// refusing is an HTTP client with rules of its own.
type refusing struct{ error }

func (refusing) Blocked() (string, string) { return "nobody approved it", "Approve it." }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r }

func TestCancel(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){"CancelTask": func(t *turn) {
		if t.N == 0 {
			t.result(bare("WORKING")) // it will see
			return
		}
		t.fail(-32002, "Task cannot be canceled")
	}})
	c := a.client("1.0", nil)
	if task, err := c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"}); err != nil || task.Status.State != a2a.TaskStateWorking {
		t.Errorf("%v, %v", task, err)
	}
	_, err := c.Cancel(ctx(t), &a2a.CancelRequest{ID: "T"})
	if kindOf(t, err, card.KindTaskEnded); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	page := func(next string, tasks ...string) string {
		return fmt.Sprintf(`{"tasks":[%s],"nextPageToken":%q,"pageSize":100,"totalSize":9}`, strings.Join(tasks, ","), next)
	}
	with := func(id, context, message string) string {
		return fmt.Sprintf(`{"id":%q,"contextId":%q,"status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"x"}]}]}`, id, context, message)
	}
	a := newAgent(t, map[string]func(*turn){"ListTasks": func(t *turn) {
		var p struct {
			ContextID, PageToken string
			HistoryLength        int
		}
		json.Unmarshal(t.Params, &p)
		if p.HistoryLength == 0 {
			t.t.Errorf("params %s", t.Params)
		}
		if p.PageToken == "" {
			t.result(page("p2", with("1", "C", "m1"), with("2", "D", "m2")))
			return
		}
		t.result(page("", with("3", "C", "m3")))
	}, "GetTask": func(t *turn) { // a list is without artifacts
		var p struct{ ID string }
		json.Unmarshal(t.Params, &p)
		t.result(fmt.Sprintf(`{"id":%q,"contextId":"C","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"made"}]}]}`, p.ID))
	}})
	c := a.client("1.0", nil)
	for message, want := range map[string]string{"m1": "1", "m3": "3", "m2": "", "m9": ""} {
		task, err := c.Find(ctx(t), "C", message)
		got := ""
		if task != nil {
			got = task.ID
		}
		if err != nil || got != want {
			t.Errorf("%s is in task %q, %v; want %q", message, got, err, want)
		}
		if task != nil && len(task.Artifacts) != 1 {
			t.Errorf("%s was found without what its task made", message)
		}
	}
	if task, err := c.Find(ctx(t), "", "m2"); err != nil || task == nil || task.ID != "2" {
		t.Errorf("%v, %v", task, err)
	}
	// Agents before v1.0 cannot list.
	old := newAgent(t, nil)
	if task, err := old.client("0.3", nil).Find(ctx(t), "C", "m"); task != nil || err != nil {
		t.Errorf("%v, %v", task, err)
	}
	if old.called() != "" && !strings.HasPrefix(old.called(), "ListTasks") {
		t.Errorf("called %s", old.called())
	}
}

func TestListAndExtendedCard(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"ListTasks": func(t *turn) {
			t.result(`{"tasks":[` + bare("COMPLETED") + `],"nextPageToken":"","pageSize":50,"totalSize":1}`)
		},
		"GetExtendedAgentCard": func(t *turn) {
			t.result(`{"name":"More","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`)
		},
	})
	c := a.client("1.0", nil)
	if p, err := c.List(ctx(t), &a2a.ListRequest{}); err != nil || len(p.Tasks) != 1 || p.Tasks[0].ID != "T" {
		t.Errorf("%v, %v", p, err)
	}
	if x, err := c.ExtendedCard(ctx(t)); err != nil || x.Name != "More" {
		t.Errorf("%v, %v", x, err)
	}
}

func TestTap(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []*wire.Exchange
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING"), status("COMPLETED")) },
		"GetTask":              func(t *turn) { t.fail(-32001, "Task not found") },
	})
	c := a.client("1.0", &a2aclient.Options{Peer: "calc", Tap: func(_ context.Context, x *wire.Exchange) {
		mu.Lock()
		seen = append(seen, x)
		mu.Unlock()
	}})
	collect(t, c.Stream(ctx(t), hello()))
	c.Get(ctx(t), &a2a.GetRequest{ID: "U"})
	a.Close()
	c.Get(ctx(t), &a2a.GetRequest{ID: "V"})
	mu.Lock()
	defer mu.Unlock()
	var got []string
	for _, x := range seen {
		got = append(got, fmt.Sprintf("%s %s %s %d %v %v %v", x.Peer, x.Method, x.TaskID, x.Status, len(x.Request) > 0, len(x.Response) > 0, x.Err != ""))
		if x.At.IsZero() || x.Took <= 0 || x.URL == "" || x.Inbound {
			t.Errorf("%+v", x)
		}
	}
	want := []string{
		"calc SendStreamingMessage T 200 true false false",
		"calc GetTask U 200 true true true",
		"calc GetTask V 0 true false true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// One client serves many callers at once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"message/stream": func(t *turn) {
			t.open()
			t.frames(`{"kind":"task","id":"T","contextId":"C","status":{"state":"working"}}`)
			for range 20 {
				t.frames(`{"kind":"artifact-update","taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]},"append":true}`)
			}
			t.frames(`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"completed"},"final":true}`)
		},
	})
	c := a.client("1.0", nil) // all find out at once that the card is wrong
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got := collect(t, c.Stream(ctx(t), hello()))
			if got.err != nil || len(got.events) != 22 {
				t.Errorf("%d events, %v", len(got.events), got.err)
			}
		})
	}
	wg.Wait()
}
