package frontend

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/frontend/view"
	"parley/orchestrator"
)

// secrets are tokens that were made and not yet shown. Each is shown once.
type secrets struct {
	mu   sync.Mutex
	byID map[string]view.MadeToken
}

const maxSecrets = 16

func (s *secrets) put(m view.MadeToken) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil || len(s.byID) >= maxSecrets {
		s.byID = map[string]view.MadeToken{}
	}
	id := newID()
	s.byID[id] = m
	return id
}

func (s *secrets) take(id string) *view.MadeToken {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.byID[id]
	if !ok {
		return nil
	}
	delete(s.byID, id)
	return &m
}

// myAgentRoutes are the page of our own agent, where it is served.
func (s *Site) myAgentRoutes(page func(string, func(http.ResponseWriter, *http.Request) error)) {
	p := s.opts.Publisher
	if p == nil {
		return
	}
	do := func(place string, f func(context.Context, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, r *http.Request) error {
			r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
			if err := f(r.Context(), r); err != nil {
				return err
			}
			return moved(w, r, "/my-agent"+place)
		}
	}
	page("GET /my-agent", s.myAgentPage)
	page("POST /my-agent/publish", do("", func(ctx context.Context, r *http.Request) error { return p.Publish(ctx, r.FormValue("on") != "") }))
	page("POST /my-agent/ask-first", do("#callers", func(ctx context.Context, r *http.Request) error { return p.AskFirst(ctx, r.FormValue("on") != "") }))
	page("POST /my-agent/caller", do("", func(ctx context.Context, r *http.Request) error {
		return p.LetIn(ctx, r.FormValue("caller"), r.FormValue("yes") != "")
	}))
	page("POST /my-agent/tokens/revoke", do("#tokens", func(ctx context.Context, r *http.Request) error { return p.RevokeToken(ctx, r.FormValue("id")) }))
	page("POST /my-agent/tokens", s.makeToken)
}

func (s *Site) makeToken(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return err
	}
	t := &orchestrator.Token{
		Name: strings.TrimSpace(r.PostForm.Get("name")), Agents: r.PostForm["agent"], ReadOnly: r.PostForm.Get("read") != "",
		Credentials: r.PostForm.Get("credentials") != "", Workflows: r.PostForm.Get("workflows") != "",
	}
	if slices.Contains(t.Agents, "*") {
		t.Agents = []string{"*"}
	}
	if v := strings.TrimSpace(r.PostForm.Get("rate")); v != "" {
		var err error
		if t.RatePerMin, err = strconv.Atoi(v); err != nil || t.RatePerMin < 0 {
			return badRequest("Requests a minute are a whole number.")
		}
	}
	secret, err := s.opts.Publisher.NewToken(r.Context(), t)
	if err != nil {
		return err
	}
	return moved(w, r, "/my-agent?made="+s.secrets.put(view.MadeToken{Name: t.Name, Secret: secret.Reveal()}))
}

func (s *Site) myAgentPage(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	pub, err := s.opts.Publisher.Published(ctx)
	if err != nil {
		return err
	}
	m := view.MyAgent{
		On: pub.On, Open: pub.Open, AskFirst: pub.AskFirst, Address: pub.Address, Public: pub.Public, GRPC: pub.GRPC, Key: pub.Fingerprint,
		Snippets: snippets(pub.Address, pub.Open), Call: r.FormValue("call"), Card: r.FormValue("card"),
		Made: s.secrets.take(r.FormValue("made")),
	}
	if reachable(pub.Address) {
		m.QR = qrOf(pub.Address)
	}
	for _, c := range pub.Cards {
		read := "GET " + c.Path
		if c.Header != "" {
			read += ", " + c.Header
		}
		m.Cards = append(m.Cards, view.CardTab{Version: c.Version, Read: read, JSON: pretty(c.JSON)})
	}
	if !slices.ContainsFunc(m.Snippets, func(x view.Snippet) bool { return x.ID == m.Call }) {
		m.Call = m.Snippets[0].ID
	}
	if !slices.ContainsFunc(m.Cards, func(x view.CardTab) bool { return x.Version == m.Card }) && len(m.Cards) > 0 {
		m.Card = m.Cards[0].Version
	}
	if m.MayReach, err = s.agents(ctx); err != nil {
		return err
	}
	tokens, err := s.opts.Publisher.Tokens(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(tokens, func(a, b *orchestrator.Token) int {
		return cmp.Compare(btoi(!a.Revoked.IsZero()), btoi(!b.Revoked.IsZero()))
	})
	for _, t := range tokens {
		m.Tokens = append(m.Tokens, s.tokenRow(ctx, t))
	}
	for _, c := range pub.Callers {
		row := view.CallerRow{ID: c.ID, Name: c.Name, Tasks: strconv.Itoa(c.Tasks), Open: c.Open, Revoked: c.Revoked}
		if c.Tasks >= 500 {
			row.Tasks = "500+"
		}
		if !c.Last.IsZero() {
			row.Last = s.when(ctx, c.Last)
		}
		if !c.Waiting.IsZero() {
			row.Since = s.when(ctx, c.Waiting)
			m.Waiting = append(m.Waiting, row)
		}
		if c.Tasks > 0 {
			m.Callers = append(m.Callers, row)
		}
	}
	return s.write(w, r, http.StatusOK, view.MyAgentPage(s.page(r, view.T(ctx, "My agent"), view.Side{Section: "my-agent"}), m))
}

// reachable reports whether another machine, such as a phone, may reach an address.
func reachable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost") {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Site) tokenRow(ctx context.Context, t *orchestrator.Token) view.TokenRow {
	v := view.TokenRow{ID: t.ID, Name: t.Name, Revoked: !t.Revoked.IsZero(), Used: view.T(ctx, "never used")}
	if !t.Used.IsZero() {
		v.Used = view.T(ctx, "last used %s", s.when(ctx, t.Used))
	}
	switch {
	case slices.Contains(t.Agents, "*"):
		v.Reach = view.T(ctx, "Parley and all agents")
	case len(t.Agents) > 0:
		var names []string
		for _, id := range t.Agents {
			names = append(names, s.people.link(ctx, id).Name)
		}
		v.Reach = view.T(ctx, "Parley and %s", strings.Join(names, ", "))
	default:
		v.Reach = view.T(ctx, "Parley itself")
	}
	for _, l := range []struct {
		on   bool
		word string
	}{{t.ReadOnly, view.T(ctx, "only reads")}, {t.Credentials, view.T(ctx, "uses credentials")}, {t.Workflows, view.T(ctx, "runs workflows")}} {
		if l.on {
			v.Leave = append(v.Leave, l.word)
		}
	}
	if t.RatePerMin > 0 {
		v.Leave = append(v.Leave, view.T(ctx, "%d a minute", t.RatePerMin))
	}
	return v
}

// snippets show how to send us a message in A2A v1.0 with nothing but what each language brings along.
func snippets(address string, open bool) []view.Snippet {
	const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"Hello"}]}}}`
	fill := func(s string) string {
		if open {
			var lines []string
			for _, l := range strings.Split(s, "\n") {
				if !strings.Contains(l, "PARLEY_TOKEN") {
					lines = append(lines, l)
				}
			}
			s = strings.Join(lines, "\n")
		}
		return strings.NewReplacer("ADDRESS", address, "BODY", body).Replace(s)
	}
	return []view.Snippet{
		{ID: "curl", Name: "curl", Text: fill(`curl ADDRESS \
  -H "Authorization: Bearer $PARLEY_TOKEN" \
  -H "Content-Type: application/json" -H "A2A-Version: 1.0" \
  -d 'BODY'`)},
		{ID: "python", Name: "Python", Text: fill(`import json, os, urllib.request, uuid

message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
headers = {
    "Authorization": "Bearer " + os.environ["PARLEY_TOKEN"],
    "Content-Type": "application/json",
    "A2A-Version": "1.0",
}
request = urllib.request.Request("ADDRESS", json.dumps(call).encode(), headers)
print(json.load(urllib.request.urlopen(request))["result"])`)},
		{ID: "js", Name: "JavaScript", Text: fill(`const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "Hello" }] };
const answer = await fetch("ADDRESS", {
  method: "POST",
  headers: {
    "Authorization": "Bearer " + process.env.PARLEY_TOKEN,
    "Content-Type": "application/json",
    "A2A-Version": "1.0",
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
});
console.log((await answer.json()).result);`)},
		{ID: "go", Name: "Go", Text: fill(`package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := ` + "`BODY`" + `
	r, _ := http.NewRequest("POST", "ADDRESS", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+os.Getenv("PARLEY_TOKEN"))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	io.Copy(os.Stdout, answer.Body)
}`)},
		{ID: "cli", Name: "Parley", Text: fill(`parley agents add ADDRESS --bearer PARLEY_TOKEN
parley send --to parley "Hello"`)},
	}
}
