package frontend

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

// clock is the time of the tests.
var clock = time.Date(2026, 11, 20, 14, 5, 0, 0, time.UTC)

// memory is a store in memory that also hints at changes and finds what a test says.
type memory struct {
	*orchestratortest.MemoryStore
	mu   sync.Mutex
	subs []chan orchestrator.Change
	hits []orchestrator.Hit
	seen orchestrator.SearchQuery
}

func (m *memory) Changes(ctx context.Context) iter.Seq[orchestrator.Change] {
	ch := make(chan orchestrator.Change, 64)
	m.mu.Lock()
	m.subs = append(m.subs, ch)
	m.mu.Unlock()
	return func(yield func(orchestrator.Change) bool) {
		for {
			select {
			case c := <-ch:
				if !yield(c) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (m *memory) hint(c orchestrator.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ch := range m.subs {
		select {
		case ch <- c:
		default:
		}
	}
}

// nowhere is a word that no message has.
const nowhere = "qqqq"

func (m *memory) Search(_ context.Context, q orchestrator.SearchQuery) ([]orchestrator.Hit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = q
	if q.Text == nowhere {
		return nil, nil
	}
	return m.hits, nil
}

// person is a runner and a registry that do what they are told.
type person struct {
	mu       sync.Mutex
	said     []*orchestrator.Say
	answers  map[string]*orchestrator.Answer
	stopped  []string
	retried  []string
	err      error
	play     func(*orchestrator.Say) *orchestrator.Run // what becomes of what was said; nil = nothing
	reply    func(string, *orchestrator.Answer)        // what becomes of an answer
	previews []*orchestrator.Candidate
	asked    *orchestrator.Credential
	approved []*orchestrator.Candidate
	removed  []string
	spoken   map[string]*a2a.AgentInterface
	kept     *orchestrator.Credential
}

func (p *person) Say(_ context.Context, s *orchestrator.Say) (*orchestrator.Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	p.said = append(p.said, s)
	if p.play != nil {
		return p.play(s), nil
	}
	return &orchestrator.Run{ID: "r-new", ConversationID: cmp.Or(s.ConversationID, "c-new")}, nil
}

func (p *person) Answer(_ context.Context, id string, a *orchestrator.Answer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.answers == nil {
		p.answers = map[string]*orchestrator.Answer{}
	}
	p.answers[id] = a
	if p.reply != nil {
		p.reply(id, a)
	}
	return nil
}

func (p *person) Stop(_ context.Context, run string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = append(p.stopped, run)
	return p.err
}

func (p *person) Retry(_ context.Context, run string) (*orchestrator.Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retried = append(p.retried, run)
	return &orchestrator.Run{ID: "r-again", ConversationID: "c1"}, p.err
}

func (p *person) Preview(_ context.Context, _ string, c *orchestrator.Credential) ([]*orchestrator.Candidate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = c
	return p.previews, p.err
}

func (p *person) Approve(_ context.Context, c *orchestrator.Candidate) (*orchestrator.Agent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approved = append(p.approved, c)
	return c.Agent, p.err
}

func (p *person) Remove(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = append(p.removed, id)
	return p.err
}

func (p *person) Speak(_ context.Context, id string, at *a2a.AgentInterface) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spoken == nil {
		p.spoken = map[string]*a2a.AgentInterface{}
	}
	p.spoken[id] = at
	return p.err
}

func (p *person) SetCredential(_ context.Context, _ string, c *orchestrator.Credential) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = c
	return p.err
}

func (p *person) fails(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// world is a site over a store in memory, served over real HTTP.
type world struct {
	*testing.T
	*Site
	st  *memory
	who *person
	srv *httptest.Server
}

func newWorld(t *testing.T, opts *Options) *world {
	t.Helper()
	w := &world{T: t, st: &memory{MemoryStore: orchestratortest.NewMemoryStore()}, who: &person{}}
	o := Options{Now: func() time.Time { return clock }, Linger: 50 * time.Millisecond}
	if opts != nil {
		if opts.Now == nil {
			opts.Now = o.Now
		}
		if opts.Linger == 0 {
			opts.Linger = o.Linger
		}
		o = *opts
	}
	w.Site = New(w.st, w.who, w.who, &o)
	w.srv = httptest.NewServer(w.Handler())
	t.Cleanup(func() {
		w.Close("the test is over")
		w.srv.Close()
	})
	w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{agent("atlas", "Atlas Research"), agent("quill", "Quill")}})
	return w
}

func agent(id, name string) *orchestrator.Agent {
	card := &a2a.AgentCard{
		Name: name, Description: "Finds **sources**.", Version: "3.4.0", Provider: &a2a.AgentProvider{Organization: "Labs"},
		Interfaces:   []a2a.AgentInterface{{URL: "https://" + id + ".example/a2a", Binding: a2a.BindingJSONRPC, Version: "1.0"}},
		Capabilities: a2a.AgentCapabilities{Streaming: true},
		Skills:       []a2a.AgentSkill{{ID: "s", Name: "Search", Description: "Searches.", Tags: []string{"web"}, Examples: []string{"Find out about " + id}}},
	}
	return &orchestrator.Agent{
		ID: id, Name: name, Trust: orchestrator.TrustApproved, Card: card, CardJSON: []byte(`{"name":"x"}`), Interface: card.Interfaces[0],
		Dialect: "v1.0", Hue: 3, Added: clock,
	}
}

func (w *world) write(b *orchestrator.Batch) {
	w.Helper()
	if err := w.st.Write(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

// chatWith makes a conversation with these items, all of run r0.
func (w *world) chatWith(id string, items ...*orchestrator.Item) {
	for _, it := range items {
		it.ConversationID = id
		if it.At.IsZero() {
			it.At = clock
		}
	}
	w.write(&orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: id, Title: "Edge log store", To: "atlas", Created: clock, Updated: clock}},
		Items:         items,
	})
}

// begin starts a run, as a driver would.
func (w *world) begin(conversation, run, text string) {
	m := a2a.Message{ID: "m-" + run, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}
	w.tell(conversation, run, &a2a.Task{ID: run, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}, History: []a2a.Message{m}}, &orchestrator.Batch{
		Runs:  []*orchestrator.Run{{ID: run, ConversationID: conversation, To: "atlas", State: a2a.TaskStateSubmitted, Created: clock, Updated: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}},
		Items: []*orchestrator.Item{{ConversationID: conversation, RunID: run, Kind: orchestrator.ItemUser, Text: text, At: clock}},
	})
}

// tell appends an A2A event, and the rows of b with it.
func (w *world) tell(conversation, run string, e a2a.Event, b *orchestrator.Batch) {
	w.Helper()
	if b == nil {
		b = &orchestrator.Batch{}
	}
	b.Events = append(b.Events, orchestrator.NewEvent{RunID: run, ConversationID: conversation, Kind: orchestrator.KindOfEvent(e), At: clock, JSON: a2a.MarshalEvent(e), Event: e})
	w.write(b)
}

func (w *world) note(conversation, run string, kind orchestrator.EventKind, body any, b *orchestrator.Batch) {
	w.Helper()
	j, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	if b == nil {
		b = &orchestrator.Batch{}
	}
	b.Events = append(b.Events, orchestrator.NewEvent{RunID: run, ConversationID: conversation, Kind: kind, At: clock, JSON: j})
	w.write(b)
}

func chunk(run, text string, more bool) *a2a.ArtifactUpdate {
	return &a2a.ArtifactUpdate{TaskID: run, Append: more, Artifact: a2a.Artifact{ID: "art", Parts: []a2a.Part{a2a.TextPart(text)}}}
}

func status(run string, s a2a.TaskState, text string) *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{TaskID: run, Status: a2a.TaskStatus{State: s, Timestamp: clock}}
	if text != "" {
		u.Status.Message = &a2a.Message{ID: "st", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}
	}
	return u
}

// end ends a run with the items it leaves.
func (w *world) end(conversation, run string, s a2a.TaskState, items ...*orchestrator.Item) {
	for _, it := range items {
		it.ConversationID, it.RunID, it.At = conversation, run, clock
	}
	w.tell(conversation, run, status(run, s, ""), &orchestrator.Batch{
		Runs: []*orchestrator.Run{{ID: run, ConversationID: conversation, To: "atlas", State: s, Created: clock, Updated: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}}, Items: items,
	})
}

// answer is what a request got.
type reply struct {
	*http.Response
	body string
	doc  *html.Node
}

func (w *world) do(r *http.Request) *reply {
	w.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	doc, err := html.Parse(strings.NewReader(string(b)))
	if err != nil {
		w.Fatal(err)
	}
	return &reply{res, string(b), doc}
}

func (w *world) get(path string) *reply {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.srv.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	return w.do(r)
}

func (w *world) post(path string, form url.Values, header ...string) *reply {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.srv.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.do(r)
}

func (r *reply) want(t testing.TB, status int, texts ...string) *reply {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("%s %s: got %d, want %d:\n%.800s", r.Request.Method, r.Request.URL.Path, r.StatusCode, status, r.body)
	}
	shown := textOf(r.doc)
	for _, s := range texts {
		if !strings.Contains(shown, s) {
			t.Errorf("%s does not show %q:\n%.3000s", r.Request.URL.Path, s, shown)
		}
	}
	return r
}

// find returns the elements for which keep holds.
func find(n *html.Node, keep func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && keep(c) {
			out = append(out, c)
		}
	}
	return out
}

func byTag(tag string) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.Data == tag }
}

func byClass(class string) func(*html.Node) bool {
	return func(n *html.Node) bool { return slices.Contains(strings.Fields(attr(n, "class")), class) }
}

func byID(n *html.Node, id string) *html.Node {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && attr(c, "id") == id {
			return c
		}
	}
	return nil
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// eventually waits until f is nil. It asks less and less often: who is asked may need the processor for the answer.
func eventually(t testing.TB, f func() error) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for pause := 2 * time.Millisecond; ; pause = min(pause*3/2, 30*time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(pause)
	}
}
