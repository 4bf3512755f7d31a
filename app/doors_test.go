package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"parley/app"
)

const (
	cardPath    = ".well-known/agent-card.json"
	oldCardPath = ".well-known/agent.json"
)

// Only the card of our own agent is for everybody.
func TestDoorsWithoutToken(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, path := range []string{cardPath, oldCardPath} {
		r := p.do("GET", p.a2a(path), "")
		if r.StatusCode != 200 || r.get("name") != "Parley" {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", path, name)
			}
		}
		if r := p.do("GET", p.a2a(path), "", "If-None-Match", r.Header.Get("ETag")); r.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its ETag: %d", path, r.StatusCode)
		}
	}
	for _, request := range [][2]string{
		{"POST", ""},
		{"GET", ""},
		{"POST", "rpc"},
		{"OPTIONS", ""},
		{"DELETE", "x"},
		{"POST", "agents/echo"},
		{"POST", "agents/echo/rpc"},
		{"GET", "agents/echo/" + cardPath},
		{"GET", "agents/echo/" + oldCardPath},
		{"GET", "agents/nobody/" + cardPath},
		{"POST", "agents/nobody"},
		{"GET", "agents/"},
		{"GET", "anything"},
		{"GET", "//" + cardPath},
		{"GET", "%2e/" + cardPath + "/x"},
	} {
		for _, token := range []string{"", "wrong", strings.ToUpper(envToken), envToken + "x"} {
			r := p.do(request[0], p.a2a(request[1]), `{"jsonrpc":"2.0","id":7,"method":"ListTasks","params":{}}`, authorized(token, nil)...)
			if r.StatusCode != 401 || !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), `Bearer realm="parley"`) {
				t.Errorf("%s /%s with token %q: %d %q", request[0], request[1], token, r.StatusCode, r.Header.Get("WWW-Authenticate"))
			}
			if r.Header.Get("Content-Type") != "application/json" || r.get("jsonrpc") != "2.0" || !bytes.Contains(r.body, []byte(`"id":null`)) || r.get("error.message") == "" {
				t.Errorf("%s /%s with token %q is refused as %s", request[0], request[1], token, r.body)
			}
		}
	}
}

// What an answer to a program says beside itself: nothing for browsers but what keeps them from harm.
func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	p := start(t)
	known := []string{
		"Content-Type", "Content-Length", "Date", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy",
	}
	for name, r := range map[string]*reply{
		"call":  p.call("", envToken, "ListTasks", "{}"),
		"error": p.call("", envToken, "GetTask", about("x")),
		"demo":  p.do("POST", p.ready.Demo+"echo", request("ListTasks", "{}"), "Content-Type", "application/json"),
	} {
		size := 0
		for header, values := range r.Header {
			size += len(header) + len(values[0]) + 4
			if !strings.Contains(strings.Join(known, " ")+" Www-Authenticate", header) {
				t.Errorf("%s: %s: %s", name, header, values)
			}
		}
		if r.Header.Get("Content-Security-Policy") != "default-src 'none'; frame-ancestors 'none'" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, r.Header)
		}
		if size > 350 {
			t.Errorf("%s: %d bytes of header", name, size)
		}
	}
	page := p.do("GET", p.ready.Demo+"vault/sign-in/nothing", "")
	if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "form-action 'self'") || strings.Contains(csp, "script-src") {
		t.Errorf("the sign-in page: %s", csp)
	}
}

// A token reaches what it names: our own agent always, others only when told; what it does not reach is not there.
func TestTokenScopes(t *testing.T) {
	t.Parallel()
	p := start(t)
	own, named, all := p.token(app.TokenInfo{Name: "own"}), p.token(app.TokenInfo{Name: "named", Agents: []string{"echo"}}), p.token(app.TokenInfo{Name: "all", Agents: []string{"*"}})
	verb[struct{}](p, "agents.remove", app.Named{ID: "files"})
	for _, tt := range []struct {
		token, path string
		status      int
	}{
		{own, "", 200},
		{own, "agents/echo", 404},
		{named, "", 200},
		{named, "agents/echo", 200},
		{named, "agents/bench", 404},
		{all, "agents/bench", 200},
		{all, "agents/nobody", 404},
		{all, "agents/files", 404},
		{envToken, "agents/travel", 200},
		{all, "agents/agent", 404},
		{all, "agents/auto", 404},
		{all, "agents/", 404},
		{all, "agents/echo/other", 404},
		{all, "other", 404},
	} {
		if r := p.call(tt.path, tt.token, "ListTasks", "{}"); r.StatusCode != tt.status {
			t.Errorf("/%s: %d, want %d: %s", tt.path, r.StatusCode, tt.status, r.body)
		}
	}
	same := func(path string) string {
		var all []string
		for _, r := range []*reply{
			p.do("GET", p.a2a(path+cardPath), "", "Authorization", "Bearer "+own),
			p.call(path, own, "SendMessage", say("m", "hi")),
		} {
			r.Header.Del("Date")
			all = append(all, fmt.Sprint(r.StatusCode, r.Header, string(r.body)))
		}
		return strings.Join(all, "\n")
	}
	forbidden, unknown, removed := same("agents/echo/"), same("agents/nobody/"), same("agents/files/")
	if forbidden != unknown || removed != unknown || !strings.HasPrefix(unknown, "404") {
		t.Errorf("an agent can be told apart from none:\n%s\n%s\n%s", forbidden, unknown, removed)
	}
}

// The own card as a caller with a token sees it names the agents that the token may reach; a remote agent's card has no
// such other form.
func TestExtendedCard(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(app.TokenInfo{Agents: []string{"echo"}})
	for who, want := range map[string][2]bool{token: {true, false}, envToken: {true, true}} {
		r := p.call("", who, "GetExtendedAgentCard", "{}")
		if r.result(t, "name") != "Parley" || !strings.Contains(r.get("result.skills"), "orchestrate") {
			t.Errorf("%s", r.body)
		}
		for i, id := range []string{"agent-echo", "agent-travel"} {
			if strings.Contains(r.get("result.skills"), `"`+id+`"`) != want[i] {
				t.Errorf("%s among the skills: %v", id, !want[i])
			}
		}
	}
	for _, path := range []string{"extendedAgentCard", "v1/card"} {
		if r := p.do("GET", p.a2a(path), "", "Authorization", "Bearer "+token, "A2A-Version", "1.0"); r.StatusCode != 200 || !strings.Contains(string(r.body), "agent-echo") {
			t.Errorf("/%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if r := p.call("agents/echo", token, "GetExtendedAgentCard", "{}"); r.get("error.code") != "-32004" {
		t.Errorf("a remote agent's: %s", r.body)
	}
	if r := p.do("POST", p.a2a(""), request("GetExtendedAgentCard", "{}")); r.StatusCode != 401 {
		t.Errorf("without a token: %d", r.StatusCode)
	}
}

func TestReadOnlyToken(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(app.TokenInfo{Agents: []string{"echo"}, ReadOnly: true})
	for _, path := range []string{"", "agents/echo"} {
		for _, c := range [][2]string{
			{"SendMessage", say("m", "hi")},
			{"SendStreamingMessage", say("m", "hi")},
			{"message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}`},
			{"CancelTask", about("x")},
			{"tasks/cancel", about("x")},
		} {
			if r := p.call(path, token, c[0], c[1]); r.StatusCode != 403 || !strings.Contains(r.get("error.message"), "only read") {
				t.Errorf("/%s %s: %d %s", path, c[0], r.StatusCode, r.body)
			}
		}
		for _, c := range [][2]string{{"ListTasks", "{}"}, {"GetTask", about("x")}, {"SubscribeToTask", about("x")}} {
			if r := p.call(path, token, c[0], c[1]); r.StatusCode != 200 {
				t.Errorf("/%s %s: %d %s", path, c[0], r.StatusCode, r.body)
			}
		}
	}
}

func TestRevokedToken(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(app.TokenInfo{Name: "gone"})
	if r := p.call("", token, "ListTasks", "{}"); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	eventually(t, "its use is known", func() bool { return verb[[]app.TokenInfo](p, "token.list", struct{}{})[0].Used != nil })
	verb[struct{}](p, "token.revoke", app.Named{ID: "gone"})
	if r := p.call("", token, "ListTasks", "{}"); r.StatusCode != 401 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	p.stop()
	p = startIn(t, p.dir)
	if r := p.call("", token, "ListTasks", "{}"); r.StatusCode != 401 {
		t.Errorf("after a restart: %d %s", r.StatusCode, r.body)
	}
}

// Whoever is let in no more hears nothing more either, on the streams that he has open, too; others go on.
func TestRevokedStreams(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(app.TokenInfo{Name: "gone", Agents: []string{"bench"}})
	ctx, cancel := context.WithTimeout(bearing(t.Context(), token), 30*time.Second)
	defer cancel()
	rpc, err := lf.NewA2AServiceClient(p.rpc()).SendStreamingMessage(ctx, rpcSay("bench", "m1", "#bench status n=100000 every=50ms"))
	if err != nil {
		t.Fatal(err)
	}
	his, other := p.stream("agents/bench", token, "SendStreamingMessage", say("m2", "#bench status n=100000 every=50ms")), p.stream("agents/bench", envToken, "SendStreamingMessage", say("m3", "#bench status n=100000 every=50ms"))
	if _, err := rpc.Recv(); err != nil {
		t.Fatal(err)
	}
	his.until("WORKING")
	other.until("WORKING")
	verb[struct{}](p, "token.revoke", app.Named{ID: "gone"})
	ended := make(chan []frame, 1)
	go func() { ended <- his.rest() }()
	select {
	case rest := <-ended:
		if len(rest) == 0 || !strings.Contains(string(rest[len(rest)-1].data), "error") {
			t.Errorf("it ends without a word: %d events", len(rest))
		}
	case <-time.After(20 * time.Second):
		t.Error("the stream of a revoked token goes on")
	}
	for err = nil; err == nil; {
		_, err = rpc.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("over gRPC it ends with %v", err)
	}
	if _, ok := other.next(); !ok {
		t.Error("the stream of another caller ended, too")
	}
}

// A name may be given again, also while a token has it: what is revoked by it is the one that is valid, and never one of
// several.
func TestRevokedByName(t *testing.T) {
	t.Parallel()
	p := start(t)
	valid := func(tokens ...string) (n int) {
		for _, token := range tokens {
			if p.call("", token, "ListTasks", "{}").StatusCode == 200 {
				n++
			}
		}
		return n
	}
	revoke := func(id string) error { return p.ctl.Call(t.Context(), "token.revoke", app.Named{ID: id}, nil) }
	one := p.token(app.TokenInfo{Name: "ci"})
	if err := revoke("ci"); err != nil || valid(one) != 0 {
		t.Fatalf("%v, %d valid", err, valid(one))
	}
	two := p.token(app.TokenInfo{Name: "ci"})
	if err := revoke("ci"); err != nil || valid(two) != 0 {
		t.Errorf("%v, %d valid once the second was revoked", err, valid(two))
	}
	if err := revoke("ci"); err != nil {
		t.Errorf("once more: %v", err)
	}
	three, four := p.token(app.TokenInfo{Name: "ci"}), p.token(app.TokenInfo{Name: "ci"})
	if err := revoke("ci"); err == nil || valid(three, four) != 2 {
		t.Errorf("%v, %d valid where two have the name", err, valid(three, four))
	}
	for _, k := range verb[[]app.TokenInfo](p, "token.list", struct{}{}) {
		if err := revoke(k.ID); err != nil {
			t.Error(err)
		}
	}
	if n := valid(three, four); n != 0 {
		t.Errorf("%d valid once all were revoked by their ids", n)
	}
	if err := revoke("nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("none: %v", err)
	}
}

// TestTokenRate holds a token to its rate at one less than allowed, as many, and one more.
func TestTokenRate(t *testing.T) {
	t.Parallel()
	p := start(t)
	token, other := p.token(app.TokenInfo{Name: "a", RatePerMin: 3}), p.token(app.TokenInfo{Name: "b"})
	for n := 1; n <= 4; n++ {
		r := p.call("", token, "ListTasks", "{}")
		switch {
		case n <= 3 && r.StatusCode != 200:
			t.Errorf("request %d: %d %s", n, r.StatusCode, r.body)
		case n > 3 && (r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || r.get("error.code") == ""):
			t.Errorf("request %d: %d %v %s", n, r.StatusCode, r.Header, r.body)
		}
	}
	if r := p.call("", other, "ListTasks", "{}"); r.StatusCode != 200 {
		t.Errorf("another token: %d", r.StatusCode)
	}
}

// Without tokens there are our own agent and the demo agents, for programs of this machine.
func TestOpenA2A(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := newPeer(t)
	p := startIn(t, dir)
	p.connect(outside, "outside", nil)
	p.stop()
	p = startIn(t, dir, func(c *app.Config) { c.OpenA2A = true })
	if r := p.do("GET", p.a2a(cardPath), ""); r.StatusCode != 200 || r.get("securitySchemes") != "" {
		t.Errorf("the card: %s", r.body)
	}
	for path, status := range map[string]int{"": 200, "agents/echo": 200, "agents/outside": 404, "agents/nobody": 404} {
		if r := p.call(path, "", "ListTasks", "{}"); r.StatusCode != status {
			t.Errorf("/%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	r := p.call("agents/echo", "", "SendMessage", say("m", "hello"))
	if r.result(t, "message.parts.0.text") != "hello" {
		t.Errorf("%s", r.body)
	}
	for _, header := range [][]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Content-Type", "text/plain"}, {"Content-Type", ""}} {
		if r := p.call("agents/echo", "", "SendMessage", say("m2", "hello"), header...); r.StatusCode != 403 && r.StatusCode != 415 {
			t.Errorf("%v: %d %s", header, r.StatusCode, r.body)
		}
	}
	if !strings.Contains(p.log.String(), "a2a-auth none") {
		t.Error("nobody was warned")
	}
	for _, change := range []func(*app.Config){
		func(c *app.Config) { c.A2A = "0.0.0.0:0" }, func(c *app.Config) { c.PublicURL = "https://parley.example" },
	} {
		cfg := &app.Config{Data: t.TempDir(), OpenA2A: true}
		change(cfg)
		if a, err := app.Open(t.Context(), cfg); err == nil {
			_ = a.Close(t.Context())
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// A request with a token needs no Content-Type; a browser's request does, and other types are refused.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, tt := range []struct {
		status int
		header []string
	}{
		{200, []string{"Content-Type", ""}},
		{200, []string{"Content-Type", "application/json; charset=utf-8"}},
		{200, []string{"Content-Type", "application/a2a+json"}},
		{415, []string{"Content-Type", "", "Origin", "http://evil.example"}},
		{415, []string{"Content-Type", "text/plain"}},
		{415, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{415, []string{"Content-Encoding", "gzip"}},
	} {
		r := p.call("", envToken, "ListTasks", "{}", tt.header...)
		if r.StatusCode != tt.status || tt.status == 415 && r.get("error.code") != "-32005" {
			t.Errorf("%v: %d %s", tt.header, r.StatusCode, r.body)
		}
	}
	part := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"aGk=","mediaType":"image/png"}]}}`
	if r := p.call("agents/bench", envToken, "SendMessage", part); r.StatusCode != 200 || r.get("error.code") != "-32005" {
		t.Errorf("a part that the agent does not take: %d %s", r.StatusCode, r.body)
	}
}

// Every plane answers to its own names only.
func TestHosts(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.PublicURL = "https://parley.example" })
	for _, plane := range []string{p.page(), p.ready.A2A, p.ready.Demo} {
		u, err := url.Parse(plane)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"evil.example", "evil.example:" + u.Port(), "127.0.0.1", "127.0.0.1:1", "127.0.0.1.nip.io:" + u.Port(), "0.0.0.0:" + u.Port(), "localhost.:" + u.Port()} {
			r := p.do("GET", plane+cardPath, "", "Host", host, "X-Forwarded-Host", u.Host)
			if r.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s as %s: %d", plane, host, r.StatusCode)
			}
		}
		if r := p.do("GET", plane+cardPath, "", "Host", "localhost:"+u.Port()); r.StatusCode == http.StatusMisdirectedRequest {
			t.Errorf("%s as localhost: %d", plane, r.StatusCode)
		}
		public := p.do("GET", plane+cardPath, "", "Host", "parley.example").StatusCode != http.StatusMisdirectedRequest
		if public != (plane == p.ready.A2A) {
			t.Errorf("%s answers to the public name: %v", plane, public)
		}
	}
	if r := p.do("GET", p.a2a(cardPath), ""); !strings.Contains(string(r.body), "https://parley.example/") || strings.Contains(string(r.body), p.ready.A2A) {
		t.Errorf("the card names another address: %s", r.body)
	}
}

// page is the address of the page.
func (p *program) page() string {
	address, _, _ := strings.Cut(p.ready.UI, "#")
	return address
}

// login takes the one-time link and returns the session's cookie.
func (p *program) login() string {
	p.Helper()
	_, token, ok := strings.Cut(verb[struct{ URL string }](p, "open", struct{}{}).URL, "#token=")
	if !ok {
		p.Fatal("the link has no token")
	}
	r := p.do("POST", p.page()+"session", `{"token":"`+token+`"}`, "Content-Type", "application/json", "Origin", strings.TrimSuffix(p.page(), "/"))
	if r.StatusCode != 204 || len(r.Cookies()) != 1 {
		p.Fatalf("the link: %d %s", r.StatusCode, r.body)
	}
	c := r.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		p.Errorf("the cookie: %v", c)
	}
	return c.Name + "=" + c.Value
}

func TestPageSession(t *testing.T) {
	t.Parallel()
	p := start(t)
	origin := strings.TrimSuffix(p.page(), "/")
	_, token, _ := strings.Cut(p.ready.UI, "#token=")
	enter := func(token, origin string) *reply {
		return p.do("POST", p.page()+"session", `{"token":"`+token+`"}`, "Content-Type", "application/json", "Origin", origin)
	}
	for _, path := range []string{"", "agents", "c/x", "ws", "search?q=x", "settings", "runs/x/artifacts/a/0", "nowhere"} {
		if r := p.do("GET", p.page()+path, ""); r.StatusCode != 401 {
			t.Errorf("GET /%s without a session: %d", path, r.StatusCode)
		}
	}
	if r := enter(token, "http://evil.example"); r.StatusCode != 403 {
		t.Errorf("the link from elsewhere: %d", r.StatusCode)
	}
	first := enter(token, origin)
	if first.StatusCode != 204 || len(first.Cookies()) != 1 {
		t.Fatalf("the link: %d %s", first.StatusCode, first.body)
	}
	if r := enter(token, origin); r.StatusCode != 401 || len(r.Cookies()) != 0 {
		t.Errorf("the same link again: %d", r.StatusCode)
	}
	cookie := first.Cookies()[0].Name + "=" + first.Cookies()[0].Value
	r := p.do("GET", p.page(), "", "Cookie", cookie)
	if r.StatusCode != 200 || !strings.Contains(r.Header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'") {
		t.Errorf("the page: %d %v", r.StatusCode, r.Header)
	}
	// The doors do not open each other.
	if r := p.do("POST", p.a2a(""), request("ListTasks", "{}"), "Content-Type", "application/json", "Cookie", cookie); r.StatusCode != 401 {
		t.Errorf("a cookie at the A2A plane: %d", r.StatusCode)
	}
	if r := p.do("GET", p.page(), "", "Authorization", "Bearer "+envToken); r.StatusCode != 401 {
		t.Errorf("a token at the page: %d", r.StatusCode)
	}
	for name, header := range map[string][]string{
		"no origin": nil, "foreign": {"Origin", "http://evil.example"}, "other port": {"Origin", "http://127.0.0.1:1"}, "null": {"Origin", "null"},
		"https": {"Origin", strings.Replace(origin, "http:", "https:", 1)}, "wails": {"Origin", "wails://wails"},
	} {
		header = append(header, "Cookie", cookie, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
		if resp := p.send("GET", p.page()+"ws", "", header...); resp.StatusCode != 403 {
			t.Errorf("a socket, %s: %d", name, resp.StatusCode)
		}
	}
}

// Every route that changes something is closed to other sites, and to whoever has no session.
func TestForgery(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie := p.login()
	origin := strings.TrimSuffix(p.page(), "/")
	table, err := os.ReadFile("../frontend/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`page\("(POST|PUT|PATCH|DELETE) (/[^"]*)"`).FindAllStringSubmatch(string(table), -1)
	if n := bytes.Count(table, []byte(`"POST `)); len(routes) < 8 || len(routes) != n {
		t.Fatalf("%d of the table's %d routes were found", len(routes), n)
	}
	before := verb[json.RawMessage](p, "agents.list", struct{}{})
	for _, route := range routes {
		path := strings.NewReplacer("{id}", "echo", "{preview}", "x").Replace(route[2])
		for name, header := range map[string][]string{
			"a form of another site": {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site", "Content-Type", "application/x-www-form-urlencoded"},
			"text of another site":   {"Origin", "http://evil.example", "Content-Type", "text/plain"},
			"files of another site":  {"Origin", "http://evil.example", "Content-Type", "multipart/form-data; boundary=x"},
			"JSON of another site":   {"Origin", "http://evil.example", "Content-Type", "application/json"},
			"no origin":              {"Content-Type", "application/x-www-form-urlencoded"},
			"a null origin":          {"Origin", "null", "Content-Type", "application/x-www-form-urlencoded"},
			"another port":           {"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site", "Content-Type", "application/x-www-form-urlencoded"},
		} {
			if r := p.do(route[1], origin+path, "text=forged&to=echo", append(header, "Cookie", cookie)...); r.StatusCode != 403 {
				t.Errorf("%s, %s: %d", path, name, r.StatusCode)
			}
		}
		if r := p.do(route[1], origin+path, "text=forged&to=echo", "Origin", origin, "Content-Type", "application/x-www-form-urlencoded"); r.StatusCode != 401 {
			t.Errorf("%s without a session: %d", path, r.StatusCode)
		}
		// GET changes nothing: it is not served at all where only POST is.
		if r := p.do("GET", origin+path, "", "Cookie", cookie); r.StatusCode >= 500 {
			t.Errorf("GET %s: %d", path, r.StatusCode)
		}
	}
	if after := verb[json.RawMessage](p, "agents.list", struct{}{}); !bytes.Equal(before, after) {
		t.Errorf("a forged request changed an agent:\n%s\n%s", before, after)
	}
	if all := verb[app.TaskPage](p, "task.list", app.ListTasks{}); len(all.Tasks) != 0 {
		t.Errorf("a forged request was carried out: %v", all)
	}
}

// Which edition of v1.0 the statuses of errors are those of is a setting that holds at once, and after a restart.
func TestErrorMappingIsASetting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	set := func(p *program, edition string) {
		r := p.do("POST", p.page()+"settings", url.Values{"edition": {edition}}.Encode(), "Cookie", p.login(),
			"Content-Type", "application/x-www-form-urlencoded", "Origin", strings.TrimSuffix(p.page(), "/"))
		if r.StatusCode >= 400 {
			t.Fatalf("the settings page: %d %s", r.StatusCode, r.body)
		}
	}
	status := func(p *program) int {
		task := p.call("agents/bench", envToken, "SendMessage", say(rand.Text(), "#bench task")).result(t, "task.id")
		return p.do("POST", p.a2a("agents/bench/tasks/"+task+":cancel"), "{}", "Authorization", "Bearer "+envToken, "A2A-Version", "1.0").StatusCode
	}
	if got := status(p); got != 400 {
		t.Errorf("cancel of an ended task in 1.0.1: %d", got)
	}
	set(p, "1.0.0")
	if got := status(p); got != 409 {
		t.Errorf("the same in 1.0.0: %d", got)
	}
	p.stop()
	p = startIn(t, dir)
	if got := status(p); got != 409 {
		t.Errorf("the same after a restart: %d", got)
	}
	set(p, "1.0.1")
	if got := status(p); got != 400 {
		t.Errorf("back in 1.0.1: %d", got)
	}
}

// Who has no token is told so in the form of the binding that was spoken.
func TestRefusedInItsOwnForm(t *testing.T) {
	t.Parallel()
	p := start(t)
	for what, want := range map[string]string{
		"POST ":                         `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"This needs a bearer token."`,
		"POST agents/echo/":             `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"This needs a bearer token."`,
		"GET tasks":                     `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"This needs a bearer token."`,
		"POST agents/echo/message:send": `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"This needs a bearer token."`,
		"GET v1/tasks/x":                `{"code":-32600,"message":"This needs a bearer token."`,
	} {
		method, path, _ := strings.Cut(what, " ")
		r := p.do(method, p.a2a(path), "{}", "Content-Type", "application/json")
		if r.StatusCode != 401 || r.Header.Get("WWW-Authenticate") == "" || !strings.HasPrefix(string(r.body), want) {
			t.Errorf("%s: %d %s", what, r.StatusCode, r.body)
		}
	}
}
