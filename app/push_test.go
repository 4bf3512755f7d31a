package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/app"
)

// webhook is somebody's webhook on this machine.
type webhook struct {
	*httptest.Server
	mu   sync.Mutex
	got  []webhookPost
	down bool
}

type webhookPost struct {
	path   string
	header http.Header
	body   []byte
	ok     bool
}

func newWebhook(t *testing.T) *webhook {
	h := &webhook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, webhookPost{r.URL.Path, r.Header, b, !h.down})
		if h.down {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// at are the posts at a path that were taken.
func (h *webhook) at(path string) (out []webhookPost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.got {
		if p.path == path && p.ok {
			out = append(out, p)
		}
	}
	return out
}

func (h *webhook) set(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

func localPush(c *app.Config) { c.LocalPush = true }

// pushing is the params of a message that wants its task reported.
func pushing(id, text, url, more string) string {
	return strings.TrimSuffix(say(id, text), "}") +
		fmt.Sprintf(`,"configuration":{"taskPushNotificationConfig":{"url":%q%s}}}`, url, more)
}

// A caller's webhook is told of the tasks of our own agent and of one behind the gateway, under our own ids, with the
// caller's credentials.
func TestPushToCallers(t *testing.T) {
	t.Parallel()
	p, h := start(t, localPush), newWebhook(t)
	for _, agent := range []string{"", "agents/writer"} {
		path := "/" + strings.ReplaceAll(agent, "/", "-")
		text := "Write a short article about tide tables"
		r := p.call(agent, envToken, "SendMessage", pushing("m"+path, text, h.URL+path,
			`,"token":"tok","authentication":{"scheme":"Bearer","credentials":"s3cret"}`))
		task := r.result(t, "task.id")
		if r.get("result.task.status.state") != completed {
			t.Fatalf("%s", r.body)
		}
		eventually(t, "the end is reported", func() bool {
			posts := h.at(path)
			return len(posts) > 2 && bytes.Contains(posts[len(posts)-1].body, []byte(completed))
		})
		for _, post := range h.at(path) {
			if !bytes.Contains(post.body, []byte(task)) || post.header.Get("Authorization") != "Bearer s3cret" || post.header.Get("X-A2A-Notification-Token") != "tok" {
				t.Errorf("%s: %v %s", path, post.header, post.body)
			}
		}
		list := p.call(agent, envToken, "ListTaskPushNotificationConfigs", fmt.Sprintf(`{"taskId":%q}`, task))
		if list.result(t, "configs.0.url") != h.URL+path || bytes.Contains(list.body, []byte("s3cret")) {
			t.Errorf("%s", list.body)
		}
		// Nobody else can know of it.
		other := p.token(app.TokenInfo{Agents: []string{"*"}})
		for _, method := range []string{"ListTaskPushNotificationConfigs", "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"} {
			if r := p.call(agent, other, method, fmt.Sprintf(`{"taskId":%q,"id":"x"}`, task)); r.get("error.code") != "-32001" {
				t.Errorf("%s by another caller: %s", method, r.body)
			}
		}
	}
	if infos := verb[[]app.PushInfo](p, "push.list", struct{}{}); len(infos) != 0 {
		t.Errorf("left over: %v", infos)
	}
}

// Without leave nothing is sent to this machine, and a token that may only read registers nothing; in both cases no
// work begins.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	p, h := start(t), newWebhook(t)
	r := p.call("agents/echo", envToken, "SendMessage", pushing("m", "hello", h.URL, ""))
	if r.get("error.code") != "-32602" {
		t.Errorf("%s", r.body)
	}
	reader := p.token(app.TokenInfo{Agents: []string{"*"}, ReadOnly: true})
	r = p.call("agents/echo", reader, "CreateTaskPushNotificationConfig", `{"taskId":"x","url":"https://hooks.example/"}`)
	if code := r.get("error.code"); code != "-32001" && r.StatusCode != 403 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if all := p.call("agents/echo", envToken, "ListTasks", "{}"); all.result(t, "totalSize") != "0" {
		t.Errorf("work began: %s", all.body)
	}
}

// What a webhook is owed is owed after a restart and with another signing key, too, with the credentials it was registered
// with; they are nowhere in the database. What was given up can be seen and replayed.
func TestPushAfterRestart(t *testing.T) {
	t.Parallel()
	dir, h := t.TempDir(), newWebhook(t)
	h.set(true)
	p := startIn(t, dir, localPush)
	r := p.call("agents/writer", envToken, "SendMessage", pushing("m", "Write about the sea", h.URL+"/x?key=hidden",
		`,"token":"t0ken-t0ken","authentication":{"scheme":"Bearer","credentials":"s3cret-s3cret"}`))
	task := r.result(t, "task.id")
	eventually(t, "it fails", func() bool {
		infos := verb[[]app.PushInfo](p, "push.list", struct{}{})
		return len(infos) == 1 && infos[0].State == "waiting"
	})
	for range 2 { // what is sealed is not lost with the key that signs
		if _, err := p.Upkeep().RotateKey(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.stop()
	for _, name := range []string{"parley.db", "parley.db-wal"} {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		for _, secret := range []string{"s3cret-s3cret", "t0ken-t0ken"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
	h.set(false)
	p = startIn(t, dir, localPush)
	infos := verb[[]app.PushInfo](p, "push.list", struct{}{})
	if len(infos) != 1 || infos[0].Task != task || infos[0].Caller != "env" || infos[0].Agent != "writer" ||
		strings.Contains(infos[0].URL, "hidden") || !strings.Contains(infos[0].Error, "502") {
		t.Fatalf("%+v", infos)
	}
	if n := verb[int](p, "push.replay", app.Named{ID: infos[0].ID}); n != 1 {
		t.Errorf("%d replayed", n)
	}
	eventually(t, "all of it comes", func() bool { return len(verb[[]app.PushInfo](p, "push.list", struct{}{})) == 0 })
	posts := h.at("/x")
	if first, last := posts[0].body, posts[len(posts)-1].body; !bytes.Contains(first, []byte(`"task"`)) || !bytes.Contains(last, []byte(completed)) {
		t.Errorf("first %s\nlast %s", first, last)
	}
	if got := posts[0].header.Get("Authorization"); got != "Bearer s3cret-s3cret" {
		t.Errorf("Authorization: %s", got)
	}
	if got := posts[0].header.Get("A2A-Notification-Token"); got != "t0ken-t0ken" {
		t.Errorf("A2A-Notification-Token: %s", got)
	}
}

// TestPushAfterRevocation: whoever's token was revoked is told nothing more of the tasks that were begun with it.
func TestPushAfterRevocation(t *testing.T) {
	t.Parallel()
	p, h := start(t, localPush), newWebhook(t)
	secret := p.token(app.TokenInfo{Name: "leaked", Agents: []string{"*"}})
	for path, token := range map[string]string{"/leaked": secret, "/mine": envToken} {
		r := p.call("agents/bench", token, "SendMessage", strings.Replace(
			pushing("m"+path, "#bench hold for=2s", h.URL+path, ""), `"configuration":{`, `"configuration":{"returnImmediately":true,`, 1))
		r.result(t, "task.id")
		eventually(t, "the first event", func() bool { return len(h.at(path)) > 0 })
	}
	verb[struct{}](p, "token.revoke", app.Named{ID: "leaked"})
	before := len(h.at("/leaked"))
	eventually(t, "the end is reported to others", func() bool {
		posts := h.at("/mine")
		return bytes.Contains(posts[len(posts)-1].body, []byte(completed))
	})
	eventually(t, "nothing is left over", func() bool { return len(verb[[]app.PushInfo](p, "push.list", struct{}{})) == 0 })
	if posts := h.at("/leaked"); len(posts) > before+1 || bytes.Contains(posts[len(posts)-1].body, []byte(completed)) {
		t.Errorf("%d posts before, then %s", before, posts[len(posts)-1].body)
	}
}
