package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"parley/app"
)

// Callers behind a proxy: one who guesses tokens locks himself out, over HTTP and over gRPC together, and no one else.
func TestGuessingBehindProxy(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.Proxies = "127.0.0.1" })
	list := func(token, from string) int {
		return p.call("", token, "ListTasks", "{}", "X-Forwarded-For", from).StatusCode
	}
	for i := range 10 {
		if got := list(fmt.Sprint("guess", i), "203.0.113.9, 198.51.100.1"); got != 401 {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	for from, want := range map[string]int{"198.51.100.1": 429, "198.51.100.2, 198.51.100.1": 429, "198.51.100.2": 200, "": 200} {
		if got := list(envToken, from); got != want {
			t.Errorf("from %q: %d, want %d", from, got, want)
		}
	}
	c := lf.NewA2AServiceClient(p.rpc())
	for from, want := range map[string]codes.Code{"198.51.100.1": codes.ResourceExhausted, "198.51.100.2": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(bearing(t.Context(), envToken), "x-forwarded-for", from)
		if _, err := c.ListTasks(ctx, &lf.ListTasksRequest{}); status.Code(err) != want {
			t.Errorf("over gRPC from %s: %v, want %v", from, err, want)
		}
	}
}

// A token that was made here cannot be guessed, so that others who come from the same address cannot keep its caller out; one
// that a person chose may be.
func TestGuessingBesideOthers(t *testing.T) {
	t.Parallel()
	p := start(t)
	made := p.token(app.TokenInfo{Name: "made", Agents: []string{"*"}})
	for i := range 10 {
		if got := p.call("", fmt.Sprint("guess", i), "ListTasks", "{}", "X-Forwarded-For", fmt.Sprint("198.51.100.", i)).StatusCode; got != 401 {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	for token, want := range map[string]int{made: 200, envToken: 429, "guess0": 429} {
		if got := p.call("", token, "ListTasks", "{}", "X-Forwarded-For", "198.51.100.99").StatusCode; got != want {
			t.Errorf("%.8s: %d, want %d", token, got, want)
		}
	}
}

// The page behind a proxy that speaks TLS for it: its own name is https there, and the cookie is for TLS alone.
func TestPageBehindProxy(t *testing.T) {
	t.Parallel()
	const passphrase = "correct horse battery"
	p := start(t, func(c *app.Config) { c.PageURL, c.Login = "https://parley.example", passphrase })
	at := "http://" + p.PageAddr() + "/"
	own := []string{"Host", "parley.example", "Origin", "https://parley.example", "Sec-Fetch-Site", "same-origin"}
	r := p.do("POST", at+"session", `{"passphrase":"`+passphrase+`"}`, append(own, "Content-Type", "application/json")...)
	if r.StatusCode != http.StatusNoContent || len(r.Cookies()) != 1 || !r.Cookies()[0].Secure || !strings.HasPrefix(r.Cookies()[0].Name, "__Host-") {
		t.Fatalf("the passphrase: %d %s %v", r.StatusCode, r.body, r.Cookies())
	}
	cookie := r.Cookies()[0].Name + "=" + r.Cookies()[0].Value
	if r := p.do("GET", at, "", append(own, "Cookie", cookie)...); r.StatusCode != 200 {
		t.Errorf("the page: %d", r.StatusCode)
	}
	socket := []string{"Cookie", cookie, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	if r := p.send("GET", at+"ws", "", append(own, socket...)...); r.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("the socket: %d", r.StatusCode)
	}
	own[3] = "http://parley.example"
	if r := p.send("GET", at+"ws", "", append(own, socket...)...); r.StatusCode != http.StatusForbidden {
		t.Errorf("the socket of a page without TLS: %d", r.StatusCode)
	}
	if r := p.do("POST", at+"say", "to=echo&text=x", append(own, "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded")...); r.StatusCode != http.StatusForbidden {
		t.Errorf("a form of a page without TLS: %d", r.StatusCode)
	}
}

// Who was let in can leave, from the settings: no copy of the cookie is good afterwards. A window, which would have no way back,
// is not offered it.
func TestSignOut(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie := p.login()
	if r := p.do("GET", p.page()+"settings", "", "Cookie", cookie); r.StatusCode != 200 || !strings.Contains(string(r.body), `action="/session/end"`) {
		t.Fatalf("the settings: %d, without a way out", r.StatusCode)
	}
	origin := strings.TrimSuffix(p.page(), "/")
	if r := p.do("POST", p.page()+"session/end", "", "Cookie", cookie, "Origin", "http://evil.example"); r.StatusCode != http.StatusForbidden {
		t.Errorf("another site signs out: %d", r.StatusCode)
	}
	if r := p.do("POST", p.page()+"session/end", "", "Cookie", cookie, "Origin", origin, "Content-Type", "application/x-www-form-urlencoded"); r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge >= 0 {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	if r := p.do("GET", p.page()+"settings", "", "Cookie", cookie); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie is still good: %d", r.StatusCode)
	}
	w := start(t, func(c *app.Config) { c.Shell = &opened{} })
	if r := w.do("GET", w.page()+"settings", "", "Cookie", w.login()); r.StatusCode != 200 || strings.Contains(string(r.body), "session/end") {
		t.Errorf("in a window: %d", r.StatusCode)
	}
}
