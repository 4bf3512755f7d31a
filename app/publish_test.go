package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/app"
	"parley/orchestrator"
)

// While Parley is not published nobody reaches it, or an agent through it; its page works all the same.
func TestUnpublished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	card := func() int { return p.do(http.MethodGet, p.ready.A2A+".well-known/agent-card.json", "").StatusCode }
	if card() != 200 {
		t.Fatal("it is not served at first")
	}
	if err := p.Publisher().Publish(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".well-known/agent-card.json", "", "agents/echo/"} {
		if got := p.do(http.MethodPost, p.ready.A2A+path, `{}`, "Authorization", "Bearer "+envToken).StatusCode; got != 404 {
			t.Errorf("/%s answers %d", path, got)
		}
	}
	p.stop()
	p = startIn(t, dir)
	if got := card(); got != 404 {
		t.Errorf("after a restart: %d", got)
	}
	cookie := p.login()
	if body := string(p.do(http.MethodGet, p.page()+"my-agent", "", "Cookie", cookie).body); !strings.Contains(body, "Not published") {
		t.Error("the page does not say so")
	}
	if err := p.Publisher().Publish(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := card(); got != 200 {
		t.Errorf("published again: %d", got)
	}
	served, err := p.Publisher().Published(t.Context())
	if err != nil || len(served.Cards) != 3 || served.Fingerprint == "" {
		t.Fatalf("%+v, %v", served, err)
	}
	for i, want := range []string{`"supportedInterfaces"`, `"protocolVersion":"0.3`, `"authentication"`} {
		if !strings.Contains(strings.ReplaceAll(string(served.Cards[i].JSON), " ", ""), want) {
			t.Errorf("the card of %s has no %s: %.300s", served.Cards[i].Version, want, served.Cards[i].JSON)
		}
	}
}

// The first task of a new caller waits for the person: yes lets it in for good, no revokes its token.
func TestAskFirst(t *testing.T) {
	t.Parallel()
	p := start(t)
	if err := p.Publisher().AskFirst(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	secret := map[string]string{}
	for _, name := range []string{"friend", "stranger"} {
		secret[name] = p.token(app.TokenInfo{Name: name, Agents: []string{"*"}})
	}
	waiting := func(name string) (id string) {
		t.Helper()
		eventually(t, name+" waits", func() bool {
			served, err := p.Publisher().Published(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range served.Callers {
				if c.Name == name && !c.Waiting.IsZero() {
					id = c.ID
				}
			}
			return id != ""
		})
		return id
	}
	ask := func(name, message string) chan string {
		done := make(chan string, 1)
		go func() {
			r := p.call("agents/echo", secret[name], "SendMessage", say(message, "hello"))
			done <- string(r.body)
		}()
		return done
	}
	got := ask("friend", "m1")
	id := waiting("friend")
	if tasks, err := p.ListTasks(t.Context(), orchestrator.TaskQuery{Principal: id}); err != nil || len(tasks) != 0 {
		t.Errorf("stored before anybody said yes: %d tasks, %v", len(tasks), err)
	}
	if err := p.Publisher().LetIn(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	if body := <-got; !strings.Contains(body, `"task"`) && !strings.Contains(body, `"message"`) {
		t.Errorf("the friend got %s", body)
	}
	select {
	case body := <-ask("friend", "m2"):
		if strings.Contains(body, `"error"`) {
			t.Errorf("the friend's second: %s", body)
		}
	case <-time.After(10 * time.Second):
		t.Error("the friend waits again")
	}
	got = ask("stranger", "m3")
	if err := p.Publisher().LetIn(t.Context(), waiting("stranger"), false); err != nil {
		t.Fatal(err)
	}
	if body := <-got; !strings.Contains(body, "did not let you in") {
		t.Errorf("the stranger got %s", body)
	}
	if r := p.call("agents/echo", secret["stranger"], "SendMessage", say("m4", "hello")); r.StatusCode != 401 {
		t.Errorf("its token still counts: %d", r.StatusCode)
	}
}
