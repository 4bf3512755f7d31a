package app_test

import (
	"fmt"
	"mime"
	"strings"
	"testing"

	"parley/app"
)

// Callers from elsewhere get a file that only we can reach from us, each caller by an address of its own; an address that
// everybody can reach stays as the agent gave it.
func TestFilesForOutsideCallers(t *testing.T) {
	t.Parallel()
	const public = "https://parley.example.com/"
	p := start(t, func(c *app.Config) { c.PublicURL = public })
	outside := newPeer(t)
	p.connect(outside, "outside", nil)
	mine := p.token(app.TokenInfo{Name: "a", Agents: []string{"*"}})
	other := p.token(app.TokenInfo{Name: "b", Agents: []string{"*"}})

	r := p.call("agents/outside", mine, "SendMessage", say("m1", "file"))
	address := r.result(t, "task.artifacts.0.parts.0.url")
	if !strings.HasPrefix(address, public+"files/") || !strings.HasSuffix(address, "/today.md") || strings.Contains(address, "127.0.0.1") {
		t.Fatalf("the caller is given %s", address)
	}
	if got := r.get("result.task.artifacts.0.parts.1.url"); got != "https://files.example.com/all.md" {
		t.Errorf("an address that everybody can reach became %s", got)
	}
	if again := p.call("agents/outside", mine, "GetTask", about(r.get("result.task.id"))); again.get("result.artifacts.0.parts.0.url") != address {
		t.Errorf("read again, the address is %s, not %s", again.get("result.artifacts.0.parts.0.url"), address)
	}
	s := p.stream("agents/outside", mine, "SendStreamingMessage", say("m2", "file"))
	if e := s.until("/today.md"); !strings.Contains(string(e.data), address) {
		t.Errorf("the stream says %s", e.data)
	}

	here := p.ready.A2A + strings.TrimPrefix(address, public)
	got := p.do("GET", here, "", "Authorization", "Bearer "+mine)
	if got.StatusCode != 200 || string(got.body) != "notes of tuesday" || got.Header.Get("Content-Type") != "text/markdown" ||
		!strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the file: %d %v %s", got.StatusCode, got.Header, got.body)
	}
	// Whatever the file is called, the name that a caller may store it under is a name, and leads nowhere.
	for name, want := range map[string]string{"..%5C..%5Cevil.exe": "evil.exe", "a%E2%80%AEgpj.exe": "agpj.exe", "..%2F..%2Fetc%2Fpasswd": "passwd", "%2e%2e": "file", "x%0D%0AX-Evil: 1": "xX-Evil_ 1"} {
		r := p.do("GET", strings.Replace(here, "today.md", name, 1), "", "Authorization", "Bearer "+mine)
		if _, params, err := mime.ParseMediaType(r.Header.Get("Content-Disposition")); err != nil || params["filename"] != want {
			t.Errorf("%s is stored as %q, %v", name, params["filename"], err)
		}
	}
	for what, r := range map[string]*reply{
		"somebody else's address": p.do("GET", here, "", "Authorization", "Bearer "+other),
		"an address made up":      p.do("GET", p.ready.A2A+"files/QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo/x", "", "Authorization", "Bearer "+mine),
		"a broken address":        p.do("GET", strings.Replace(here, "files/", "files/A", 1), "", "Authorization", "Bearer "+mine),
	} {
		if r.StatusCode != 404 {
			t.Errorf("%s: %d %s", what, r.StatusCode, r.body)
		}
	}
	if r := p.do("GET", here, ""); r.StatusCode != 401 {
		t.Errorf("without a token: %d", r.StatusCode)
	}
	if r := p.do("POST", here, "{}", "Authorization", "Bearer "+mine, "Content-Type", "application/json"); r.StatusCode != 405 {
		t.Errorf("POST: %d", r.StatusCode)
	}
	verb[struct{}](p, "agents.remove", app.Named{ID: "outside"})
	if r := p.do("GET", here, "", "Authorization", "Bearer "+mine); r.StatusCode != 404 {
		t.Errorf("of an agent that was removed: %d %s", r.StatusCode, r.body)
	}
}

// Callers on this machine can reach what its agents can.
func TestFilesForCallersHere(t *testing.T) {
	t.Parallel()
	p := start(t)
	outside := newPeer(t)
	p.connect(outside, "outside", nil)
	r := p.call("agents/outside", envToken, "SendMessage", say("m1", "file"))
	if got := r.result(t, "task.artifacts.0.parts.0.url"); !strings.HasPrefix(got, outside.url) {
		t.Errorf("the address became %s", got)
	}
}

// What callers say themselves names no files, and an agent names no files of another: whatever it repeats, a caller gets
// only what that agent's own host has.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.PublicURL = "https://parley.example.com/" })
	outside, inside := newPeer(t), newPeer(t)
	p.connect(outside, "outside", nil)
	p.connect(inside, "inside", nil)
	mine := p.token(app.TokenInfo{Name: "a", Agents: []string{"outside"}})

	for from, status := range map[*peer]int{outside: 200, inside: 404} {
		said := from.url + "notes/x.md?monday"
		message := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"look"},{"url":%q}]}}`, said, said)
		address := p.call("agents/outside", mine, "SendMessage", message).result(t, "message.parts.1.url")
		here := p.ready.A2A + strings.TrimPrefix(address, "https://parley.example.com/")
		if r := p.do("GET", here, "", "Authorization", "Bearer "+mine); r.StatusCode != status {
			t.Errorf("a file at %s: %d %s, not %d", address, r.StatusCode, r.body, status)
		}
		r := p.call("", mine, "SendMessage", message)
		got := r.result(t, "task.history.0.parts.1.url")
		if got != said {
			t.Errorf("the caller's own %s became %s", said, got)
		}
	}
}

// What our own agent repeats of an agent that it asked counts no further than the caller's token: a file at an agent that
// the token does not reach is not had by having another agent name it.
func TestFilesThroughOurOwnAgent(t *testing.T) {
	t.Parallel()
	const public = "https://parley.example.com/"
	p := start(t, func(c *app.Config) { c.PublicURL = public })
	outside, inside := newPeer(t), newPeer(t)
	p.connect(outside, "outside", nil)
	p.connect(inside, "inside", nil)
	one := p.token(app.TokenInfo{Name: "one", Agents: []string{"outside"}})
	both := p.token(app.TokenInfo{Name: "both", Agents: []string{"outside", "inside"}})
	for i, c := range []struct {
		token  string
		at     *peer
		status int
	}{{one, outside, 200}, {one, inside, 404}, {both, inside, 200}} {
		message := fmt.Sprintf(`{"message":{"messageId":"m%d","role":"ROLE_USER","metadata":{"urn:parley:agent":"outside"},`+
			`"parts":[{"text":"look"},{"url":%q}]}}`, i, c.at.url+"notes/x.md?monday")
		r := p.call("", c.token, "SendMessage", message)
		address := r.get("result.message.parts.1.url")
		if !strings.HasPrefix(address, public+"files/") {
			t.Fatalf("the caller is given %q: %s", address, r.body)
		}
		got := p.do("GET", p.ready.A2A+strings.TrimPrefix(address, public), "", "Authorization", "Bearer "+c.token)
		if got.StatusCode != c.status {
			t.Errorf("%d: %d %s, not %d", i, got.StatusCode, got.body, c.status)
		}
	}
}
