package app_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
	"parley/app"
	"parley/orchestrator"
)

// reporter is somebody else's agent that does not stream, but reports.
type reporter struct {
	url  string
	push *a2aserver.PushSender
	goOn chan struct{} // the task ends once this is closed

	mu   sync.Mutex
	gets int
	told []*a2aserver.PushRegistration
}

// registrations let the test see what Parley registers.
type registrations struct {
	a2aserver.Pusher
	r *reporter
}

func (p registrations) Set(ctx context.Context, r *a2aserver.PushRegistration) (*a2a.PushConfig, error) {
	p.r.mu.Lock()
	p.r.told = append(p.r.told, r)
	p.r.mu.Unlock()
	return p.Pusher.Set(ctx, r)
}

func newReporter(t *testing.T, version string) *reporter {
	t.Helper()
	r := &reporter{goOn: make(chan struct{})}
	srv := httptest.NewUnstartedServer(nil)
	r.url = "http://" + srv.Listener.Addr().String() + "/"
	card := &a2a.AgentCard{
		Name: "Reporter", Description: "Reports.", Version: "1", Capabilities: a2a.AgentCapabilities{PushNotifications: true},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Interfaces: []a2a.AgentInterface{{URL: r.url, Binding: a2a.BindingJSONRPC, Version: version}},
	}
	agent := a2aserver.NewAgent(r, a2aserver.NewMemoryLog(), nil)
	r.push = a2aserver.NewPushSender(&a2aserver.PushOptions{
		Tasks: func(string) a2aserver.Tasks { return agent },
		Target: func(*url.URL) (a2aserver.PushTarget, error) {
			return a2aserver.PushTarget{HTTP: client(t)}, nil
		},
	})
	if err := r.push.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := a2aserver.NewHandler(agent, func(context.Context, *http.Request) *a2a.AgentCard { return card }, &a2aserver.HandlerOptions{
		Push: registrations{r.push.For("s"), r},
	})
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			r.mu.Lock()
			r.gets++
			r.mu.Unlock()
		}
		h.ServeHTTP(w, q)
	})
	srv.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.push.Close(ctx)
		_ = agent.Close(ctx)
		srv.CloseClientConnections()
		srv.Close()
	})
	return r
}

func (r *reporter) Execute(ctx context.Context, _ *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		working := &a2a.StatusUpdate{Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
		if !yield(working, nil) {
			return
		}
		select {
		case <-r.goOn:
		case <-ctx.Done():
			return
		}
		yield(&a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart("the report")}}}, nil)
	}
}

// reports counts the recorded reports of the reporter to a run, "" = to any.
func (p *program) reports(run string) (n int) {
	p.Helper()
	all, err := p.WireRecords(p.Context(), orchestrator.WireQuery{RunID: run})
	if err != nil {
		p.Fatal(err)
	}
	for _, x := range all {
		if x.Method == "push" && x.Inbound && x.Peer == "reporter" && x.Status == 200 {
			n++
		}
	}
	return n
}

// An agent on this machine that does not stream is told of a webhook of ours, and its report ends the wait; what it
// reported is on record. The webhook is gone when the task has ended.
func TestCheck20Hooks(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newReporter(t, version)
			p := start(t)
			a := verb[[]app.AgentInfo](p, "agents.preview", app.FindAgent{Input: r.url})[0]
			if len(a.Notes) > 0 && strings.Contains(fmt.Sprint(a.Notes), "cannot reach Parley") {
				t.Errorf("notes: %v", a.Notes)
			}
			verb[app.AgentInfo](p, "agents.add", app.FindAgent{Input: r.url, ID: "reporter", Origins: a.Origins})
			out := make(chan *reply)
			go func() { out <- p.call("agents/reporter", envToken, "SendMessage", say("m", "go")) }()
			var config a2a.PushConfig
			eventually(t, "a webhook is registered", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				if len(r.told) > 0 {
					config = r.told[0].Config
				}
				return len(r.told) > 0
			})
			if !strings.HasPrefix(config.URL, p.ready.A2A+"hooks/") || config.Token == "" {
				t.Errorf("registered %+v", config)
			}
			eventually(t, "it reports that it works", func() bool { return p.reports("") > 0 }) // the end may be seen before it is reported
			close(r.goOn)
			answer := <-out
			if answer.get("result.task.status.state") != completed || !strings.Contains(answer.get("result.task.artifacts"), "the report") {
				t.Fatalf("%s", answer.body)
			}
			if p.reports(answer.get("result.task.id")) == 0 {
				t.Error("the reports are not on record with their run")
			}
			eventually(t, "the webhook is forgotten", func() bool {
				return p.do("POST", config.URL, "{}", "X-A2A-Notification-Token", config.Token).StatusCode == 404
			})
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.gets > 12 {
				t.Errorf("the agent was called %d times", r.gets)
			}
		})
	}
}

// The address of a webhook of ours wants no bearer token of a caller, and has nothing to say to strangers.
func TestHooksDoor(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, path := range []string{"hooks/", "hooks/x", "hooks/x/y"} {
		for _, header := range [][]string{nil, {"Authorization", "Bearer " + envToken}} {
			for _, method := range []string{"POST", "GET"} {
				if r := p.do(method, p.a2a(path)+"?validationToken=x", "{}", header...); r.StatusCode != 404 {
					t.Errorf("%s %s: %d %s", method, path, r.StatusCode, r.body)
				}
			}
		}
	}
}
