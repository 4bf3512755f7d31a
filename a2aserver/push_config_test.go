package a2aserver_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

// TestPushLimit: a task has so many configurations and no more.
func TestPushLimit(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold")
	set := func(id string) error {
		r := to(h.URL)
		r.Principal, r.Config.TaskID, r.Config.ID = "alice", task, id
		_, err := p.Set(t.Context(), r)
		return err
	}
	n := a2a.Limits.PushConfigs
	for i := range n { // n-1, n
		if err := set(strconv.Itoa(i)); err != nil {
			t.Fatalf("number %d: %v", i+1, err)
		}
	}
	if err := set("one more"); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("number %d: %v", n+1, err)
	}
	if err := set("3"); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	if err := p.Delete(t.Context(), "alice", &a2a.PushDeleteRequest{TaskID: task, ID: "5"}); err != nil {
		t.Fatal(err)
	}
	if err := set("one more"); err != nil {
		t.Errorf("after a delete: %v", err)
	}
	page, err := p.List(t.Context(), "alice", &a2a.PushListRequest{TaskID: task})
	if err != nil || len(page.Configs) != n || page.NextPageToken != "" {
		t.Errorf("%d configurations, %v", len(page.Configs), err)
	}
}

// TestCheck21Configs: what set, get, list and delete answer.
func TestCheck21Configs(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold")
	ctx := t.Context()
	set := func(d wire.Dialect, id, path string) *a2a.PushConfig {
		t.Helper()
		r := to(h.URL + path)
		r.Principal, r.Dialect, r.Config.TaskID, r.Config.ID, r.Config.Token = "alice", d, task, id, "tok"
		r.Config.Authentication = &a2a.PushAuthentication{Scheme: "Basic", Credentials: "YTpi", MoreSchemes: []string{"Bearer"}}
		c, err := p.Set(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	get := func(who, id string) (*a2a.PushConfig, error) {
		return p.Get(ctx, who, &a2a.PushGetRequest{TaskID: task, ID: id})
	}
	if _, err := get("alice", ""); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get without any: %v", err)
	}
	first := set(wire.MID, "", "/1")
	want(t, "default id", first.ID, task)
	want(t, "token", first.Token, "tok")
	want(t, "scheme", first.Authentication.Scheme, "Basic")
	want(t, "credentials", first.Authentication.Credentials, "")
	set(wire.MID, "", "/2") // takes its place
	second := set(wire.NEW, "", "/3")
	if second.ID == "" || second.ID == task {
		t.Errorf("made id %q", second.ID)
	}
	want(t, "same id again", set(wire.NEW, second.ID, "/4").ID, second.ID)
	got, err := get("alice", "")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "newest", got.URL, h.URL+"/4")
	want(t, "credentials of get", got.Authentication.Credentials, "")
	got, err = get("alice", task)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the other", got.URL, h.URL+"/2")
	for _, who := range []string{"", "bob"} {
		if _, err := get(who, task); a2a.KindOf(err) != a2a.KindTaskNotFound {
			t.Errorf("get by %q: %v", who, err)
		}
		page, err := p.List(ctx, who, &a2a.PushListRequest{TaskID: task})
		if err != nil || len(page.Configs) != 0 {
			t.Errorf("list by %q: %v, %v", who, page, err)
		}
		if err := p.Delete(ctx, who, &a2a.PushDeleteRequest{TaskID: task, ID: task}); err != nil {
			t.Errorf("delete by %q: %v", who, err)
		}
	}
	if _, err := p.For("other").Get(ctx, "alice", &a2a.PushGetRequest{TaskID: task}); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get in another scope: %v", err)
	}
	// A list in pages.
	page, err := p.List(ctx, "alice", &a2a.PushListRequest{TaskID: task, PageSize: 1})
	if err != nil || len(page.Configs) != 1 || page.NextPageToken == "" {
		t.Fatalf("first page: %v, %v", page, err)
	}
	want(t, "oldest first", page.Configs[0].ID, task)
	want(t, "credentials of list", page.Configs[0].Authentication.Credentials, "")
	page, err = p.List(ctx, "alice", &a2a.PushListRequest{TaskID: task, PageSize: 1, PageToken: page.NextPageToken})
	if err != nil || len(page.Configs) != 1 || page.NextPageToken != "" || page.Configs[0].ID != second.ID {
		t.Errorf("second page: %v, %v", page, err)
	}
	if _, err := p.List(ctx, "alice", &a2a.PushListRequest{TaskID: task, PageToken: "x"}); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("made-up page token: %v", err)
	}
	for range 2 { // the second time, too
		if err := p.Delete(ctx, "alice", &a2a.PushDeleteRequest{TaskID: task, ID: task}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := get("alice", task); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get after delete: %v", err)
	}
	// A v0.1 client takes its configuration back by setting none.
	old := &a2aserver.PushRegistration{Principal: "alice", Dialect: wire.OLD, Config: a2a.PushConfig{TaskID: task}}
	set(wire.MID, "", "/5")
	if _, err := p.Set(ctx, old); err != nil {
		t.Error(err)
	}
	if _, err := get("alice", task); a2a.KindOf(err) != a2a.KindTaskNotFound {
		t.Errorf("get after clear: %v", err)
	}
}

// TestCheck21Refusals: what a configuration may not say.
func TestCheck21Refusals(t *testing.T) {
	t.Parallel()
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold")
	try := func(c a2a.PushConfig) error {
		c.TaskID = task
		r := &a2aserver.PushRegistration{Principal: "alice", Config: c}
		err := p.Check(t.Context(), r)
		_, setErr := p.Set(t.Context(), r)
		if fmt.Sprint(err) != fmt.Sprint(setErr) {
			t.Errorf("%+v: check says %v, set says %v", c, err, setErr)
		}
		return err
	}
	for _, u := range []string{
		"", "/relative", "hooks.example/x", "https:///x", "ftp://hooks.example/", "https://user:pass@hooks.example/",
		"https://hooks.example/#part", "https://hooks.example/#", "http://hooks.example/", "https:opaque", "https://h.example/\x7f",
		"https://hooks.example/" + strings.Repeat("a", 2048-len("https://hooks.example/")+1),
	} {
		if err := try(a2a.PushConfig{URL: u}); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("url %.60q: %v", u, err)
		}
	}
	for _, u := range []string{
		"https://hooks.example/?a=b", "http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost:1/",
		"https://hooks.example/" + strings.Repeat("a", 2048-len("https://hooks.example/")),
	} {
		if err := try(a2a.PushConfig{URL: u}); err != nil {
			t.Errorf("url %.60q: %v", u, err)
		}
	}
	key := func(in, name, value string) *a2a.PushAuthentication {
		b, _ := json.Marshal(map[string]string{"in": in, "name": name, "value": value})
		return &a2a.PushAuthentication{Scheme: "apikey", Credentials: string(b)}
	}
	const good = "https://hooks.example/"
	for name, a := range map[string]*a2a.PushAuthentication{
		"unknown scheme":            {Scheme: "Digest", Credentials: "x"},
		"no scheme":                 {Credentials: "x"},
		"basic without credentials": {Scheme: "Basic"},
		"bearer without a key":      {Scheme: "Bearer"},
		"line break":                {Scheme: "Bearer", Credentials: "a\r\nX: y"},
		"api key in words":          {Scheme: "ApiKey", Credentials: "secret"},
		"api key in the query":      key("query", "k", "v"),
		"api key without a name":    key("header", "", "v"),
		"api key as host":           key("header", "host", "v"),
		"api key as cookie":         key("header", "Cookie", "v"),
		"api key as length":         key("header", "content-length", "v"),
		"api key as encoding":       key("header", "Transfer-Encoding", "v"),
		"api key as authorization":  key("header", "authorization", "v"),
		"api key as our id":         key("header", "Webhook-Id", "v"),
		"api key as the token":      key("header", "x-a2a-notification-token", "v"),
		"api key with a bad name":   key("header", "a b", "v"),
		"api key with a line break": key("header", "X-Key", "v\nw"),
	} {
		if err := try(a2a.PushConfig{URL: good, Authentication: a}); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, token := range []string{"a\nb", strings.Repeat("t", 4097)} {
		if err := try(a2a.PushConfig{URL: good, Token: token}); a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("token %.10q: %v", token, err)
		}
	}
	if err := try(a2a.PushConfig{URL: good, Token: strings.Repeat("t", 4096)}); err != nil {
		t.Error(err)
	}
	if err := try(a2a.PushConfig{URL: good, ID: strings.Repeat("i", 257)}); a2a.KindOf(err) != a2a.KindInvalidParams {
		t.Errorf("long id: %v", err)
	}
}

// TestPushAuthentication: what goes out under each scheme.
func TestPushAuthentication(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		auth        a2a.PushAuthentication
		name, value string
	}{
		{a2a.PushAuthentication{Scheme: "Bearer", Credentials: "x"}, "Authorization", "Bearer x"},
		{a2a.PushAuthentication{Scheme: "BASIC", Credentials: "YTpi"}, "Authorization", "Basic YTpi"},
		{a2a.PushAuthentication{Scheme: "basic", Credentials: "a:b"}, "Authorization", "Basic YTpi"},
		{a2a.PushAuthentication{Scheme: "Digest", Credentials: "x", MoreSchemes: []string{"bearer"}}, "Authorization", "Bearer x"},
		{a2a.PushAuthentication{Scheme: "ApiKey", Credentials: `{"in":"header","name":"X-Key","value":"v"}`}, "X-Key", "v"},
		{a2a.PushAuthentication{}, "Authorization", ""},
	} {
		h := newHook(t, nil)
		p := newPusher(t, execFunc(obey), nil)
		r := to(h.URL)
		r.Config.Authentication = &c.auth
		p.begin("do it", r)
		want(t, c.auth.Scheme, h.await(1)[0].header.Get(c.name), c.value)
	}
}

// TestPushSigned: Bearer without credentials is a JWT of ours, for that webhook, that task and that body.
func TestPushSigned(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	var mu sync.Mutex
	var claims []map[string]any
	p := newPusher(t, execFunc(obey), &a2aserver.PushOptions{Sign: func(c map[string]any) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		claims = append(claims, c)
		return "h." + strconv.Itoa(len(claims)) + ".s", nil
	}})
	r := to(h.URL + "/hook")
	r.Config.Authentication = &a2a.PushAuthentication{Scheme: "Bearer"}
	task := p.begin("do it", r)
	posts := h.await(len(p.events(task)))
	mu.Lock()
	defer mu.Unlock()
	ids := map[any]bool{}
	for i, c := range claims {
		want(t, "header", posts[i].header.Get("Authorization"), "Bearer h."+strconv.Itoa(i+1)+".s")
		want(t, "aud", c["aud"], any(h.URL))
		want(t, "taskId", c["taskId"], any(task))
		want(t, "life", c["exp"].(int64)-c["iat"].(int64), 300)
		want(t, "body", c["request_body_sha256"], any(sha(posts[i].body)))
		ids[c["jti"]] = true
	}
	want(t, "jti", len(ids), len(posts))
}

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestPushDeleteAndReplace: nothing more comes once a configuration is deleted, and a changed one goes on where it stood.
func TestPushDeleteAndReplace(t *testing.T) {
	t.Parallel()
	down := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	well := newHook(t, nil)
	p := newPusher(t, counting(4), &a2aserver.PushOptions{Retries: a2aserver.PushRetries})
	r := to(down.URL)
	r.Config.ID = "c"
	task := p.begin("count", r)
	down.await(1)
	moved := to(well.URL)
	moved.Principal, moved.Config.TaskID, moved.Config.ID, moved.After = "alice", task, "c", 1<<40
	if _, err := p.Set(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
	if got, want := bodies(well.all()), p.events(task); !slices.Equal(got, want) {
		t.Errorf("%d events came at the new address, of %d", len(got), len(want))
	}

	held := make(chan struct{})
	slow := newHook(t, func(int, http.ResponseWriter, *http.Request) { <-held })
	r = to(slow.URL)
	r.Config.ID = "d"
	task = p.begin("count", r)
	slow.await(1)
	if err := p.Delete(t.Context(), "alice", &a2a.PushDeleteRequest{TaskID: task, ID: "d"}); err != nil {
		t.Fatal(err)
	}
	close(held)
	want(t, "registrations in memory", p.Following(), 0)
	want(t, "posts", len(slow.all()), 1)
}

// TestPushEqualSet: a client that sends its configuration along with each message does not begin it anew.
func TestPushEqualSet(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(obey), nil)
	task := p.begin("hold", to(h.URL))
	h.await(1)
	before := p.row(task)
	r := to(h.URL)
	r.Principal, r.Config = "alice", before.Config
	if _, err := p.Set(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want(t, "registration", p.row(task).UID, before.UID)
}

// TestPushHandshake: the webhook of a v0.1 client is asked first. What does not know the question is no objection, what
// refuses it is.
func TestPushHandshake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		ok     bool
	}{
		"echo":        {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Query().Get("validationToken")) }, true},
		"other text":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, true},
		"posts only":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, true},
		"not found":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, true},
		"forbidden":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, false},
		"gone":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, false},
		"broken":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, false},
		"elsewhere":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) }, false},
		"not serving": {nil, false},
	} {
		asked := 0
		var mu sync.Mutex
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet {
				asked++
				if r.URL.Path == "/there" || r.URL.Query().Get("keep") != "me" {
					t.Errorf("%s: asked at %s", name, r.URL)
				}
				c.answer(w, r)
			}
		}))
		if c.answer == nil {
			s.Close()
		}
		p := newPusher(t, execFunc(obey), nil)
		task := p.begin("hold")
		r := &a2aserver.PushRegistration{
			Principal: "alice", Dialect: wire.OLD, ClientTaskID: "theirs", Config: a2a.PushConfig{TaskID: task, URL: s.URL + "/hook?keep=me"},
		}
		err := p.Check(t.Context(), r)
		_, setErr := p.Set(t.Context(), r)
		if (err == nil) != c.ok || (setErr == nil) != c.ok || err != nil && a2a.KindOf(err) != a2a.KindInvalidParams {
			t.Errorf("%s: check %v, set %v", name, err, setErr)
		}
		mu.Lock()
		if c.ok {
			want(t, name+": questions", asked, 1)
		}
		mu.Unlock()
		s.Close()
	}
}
