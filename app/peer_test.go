package app_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
	"parley/app"
)

// peer is somebody else's agent, on an address of its own.
type peer struct {
	url   string
	agent *a2aserver.Agent

	mu   sync.Mutex
	seen []http.Header // of every request
	old  bool          // it knows no method of v1.0, whatever its card says
	new  int           // requests of v1.0 since then
	need string        // Authorization that every call must have; "" = none
}

// newPeer serves an agent that answers with a Message of what it was told; "wait" makes a task that goes on until it is
// canceled, "file" one whose artifact is two files by their addresses, the first its own.
func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{}
	srv := httptest.NewUnstartedServer(nil)
	p.url = "http://" + srv.Listener.Addr().String() + "/"
	card := &a2a.AgentCard{
		Name: "Outside", Description: "Somebody else's.", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Interfaces: []a2a.AgentInterface{{URL: p.url, Binding: a2a.BindingJSONRPC, Version: "1.0"}},
		Skills:     []a2a.AgentSkill{{ID: "x", Name: "X", Description: "Nothing much", Tags: []string{"zymurgy"}}},
	}
	p.agent = a2aserver.NewAgent(p, a2aserver.NewMemoryLog(), nil)
	h := a2aserver.NewHandler(p.agent, func(context.Context, *http.Request) *a2a.AgentCard { return card }, &a2aserver.HandlerOptions{
		Authenticate: func(r *http.Request) (string, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.seen = append(p.seen, r.Header.Clone())
			if p.need != "" && r.Header.Get("Authorization") != p.need {
				return "", a2a.ErrUnauthenticated
			}
			return "us", nil
		},
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("A2A-Version") == "1.0" && p.refusesNew() {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"Method not found"}}`)
			return
		}
		h.ServeHTTP(w, r)
	})
	mux.HandleFunc("/notes/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/markdown")
		_, _ = io.WriteString(w, "notes of "+r.URL.RawQuery)
	})
	srv.Config.Handler = mux
	srv.Start()
	t.Cleanup(func() {
		h.Drain()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.agent.Close(ctx)
		srv.CloseClientConnections()
		srv.Close()
	})
	return p
}

func (p *peer) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if a2a.Text(t.Message.Parts) == "file" {
			yield(&a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "notes", Parts: []a2a.Part{
				{Kind: a2a.PartURL, URL: p.url + "notes/today.md?tuesday", MediaType: "text/markdown", Filename: "today.md"},
				{Kind: a2a.PartURL, URL: "https://files.example.com/all.md"},
			}}}, nil)
			return
		}
		if a2a.Text(t.Message.Parts) == "wait" {
			u := &a2a.StatusUpdate{}
			u.Status.State = a2a.TaskStateWorking
			if yield(u, nil) {
				<-ctx.Done()
			}
			return
		}
		yield(&a2a.Message{Parts: t.Message.Parts}, nil)
	}
}

// refusesNew counts a request of v1.0 and reports whether it is one too new.
func (p *peer) refusesNew() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.old {
		p.new++
	}
	return p.old
}

// ages makes the agent forget the methods of v1.0, and what was asked of it in them.
func (p *peer) ages() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.old, p.new = true, 0
}

// newer returns how many requests of v1.0 came since it forgot them.
func (p *peer) newer() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.new
}

// wants makes the agent ask for a token from now on.
func (p *peer) wants(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.need = "Bearer " + token
}

// sent reports whether a request came with an Authorization that holds a text.
func (p *peer) sent(authorization string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.seen, func(h http.Header) bool { return h.Get("Authorization") == authorization })
}

// connect finds an agent and approves it, as `agents add --yes` does.
func (p *program) connect(at *peer, id string, c *app.Credential) app.AgentInfo {
	p.Helper()
	find := app.FindAgent{Input: at.url, ID: id, Credential: c}
	found := verb[[]app.AgentInfo](p, "agents.preview", find)
	if len(found) != 1 || found[0].Fault != nil {
		b, _ := json.Marshal(found)
		p.Fatalf("%s: %s", at.url, b)
	}
	find.Origins = found[0].Origins
	return verb[app.AgentInfo](p, "agents.add", find)
}
