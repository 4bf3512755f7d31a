package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// tokens is a table of tokens by hash.
type tokens struct {
	mu  sync.Mutex
	by  map[[sha256.Size]byte]string
	err error
}

func (s *tokens) lookup(_ context.Context, hash [sha256.Size]byte) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.by[hash]
	return p, ok, s.err
}

func (s *tokens) add(principal string) string {
	token, hash := NewToken()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[[sha256.Size]byte]string{}
	}
	s.by[hash] = principal
	return token
}

func ask(h http.Handler, path string, authorization ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, nil)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	w := recorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBearer(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &tokens{}
	token := s.add("alice")
	h := NewKeys(s.lookup, &BearerOptions{
		Public: func(r *http.Request) bool { return r.URL.Path == "/.well-known/agent-card.json" },
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}).Bearer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "principal "+Principal(r.Context())) }))

	for _, a := range []string{"Bearer " + token, "bearer " + token, "BEARER " + token, "Bearer  " + token + " "} {
		if w := ask(h, "/", a); w.Code != 200 || w.Body.String() != "principal alice" {
			t.Errorf("%q: %d %s", a, w.Code, w.Body)
		}
	}
	if w := ask(h, "/.well-known/agent-card.json"); w.Code != 200 || w.Body.String() != "principal " {
		t.Errorf("the card: %d %s", w.Code, w.Body)
	}
	for _, a := range [][]string{nil, {""}, {"Bearer"}, {"Bearer "}, {token}, {"Basic " + token}, {"Bearer " + token, "Bearer " + token}, {"Bearer " + token[1:]}, {"Bearer " + strings.ToLower(token)}, {"Bearer " + strings.Repeat("x", 5000)}} {
		w := ask(h, "/", a...)
		challenge := w.Header().Get("WWW-Authenticate")
		if w.Code != 401 || !strings.HasPrefix(challenge, `Bearer realm="parley"`) || (len(a) > 0) != strings.Contains(challenge, "invalid_token") {
			t.Errorf("%.60q: %d %q", a, w.Code, challenge)
		}
		if strings.Contains(w.Body.String(), token) {
			t.Errorf("the answer repeats the token: %s", w.Body)
		}
	}
	s.err = errors.New("the database is gone")
	if w := ask(h, "/", "Bearer "+token); w.Code != 503 || strings.Contains(w.Body.String(), "database") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if strings.Contains(log.String(), token) {
		t.Errorf("the log knows the token:\n%s", log.String())
	}
}

func TestBearerGuessing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := &tokens{}
	good := s.add("alice")
	h := NewKeys(s.lookup, &BearerOptions{Now: func() time.Time { return now }}).Bearer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	guess := 0
	wrong := func(n, want int) {
		t.Helper()
		for range n {
			guess++
			if w := ask(h, "/", "Bearer guess-"+strconv.Itoa(guess)); w.Code != want {
				t.Fatalf("guess %d: %d, want %d", guess, w.Code, want)
			}
		}
	}
	// A client that goes on with its old token is told so, and locks nobody out.
	for range 50 {
		if w := ask(h, "/", "Bearer revoked"); w.Code != 401 {
			t.Fatalf("an old token: %d", w.Code)
		}
	}
	now = now.Add(time.Minute)
	wrong(9, 401)
	if w := ask(h, "/", "Bearer "+good); w.Code != 200 {
		t.Errorf("a good token after 9 wrong ones: %d", w.Code)
	}
	wrong(1, 401)
	wrong(1, 429)
	if w := ask(h, "/", "Bearer "+good); w.Code != 429 || w.Header().Get("Retry-After") != "60" {
		t.Errorf("locked out: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	now = now.Add(time.Minute)
	if w := ask(h, "/", "Bearer "+good); w.Code != 200 {
		t.Errorf("after a minute: %d", w.Code)
	}
}

// TestOpenRequests holds the open requests of a principal at one less than allowed, as many, and one more.
func TestOpenRequests(t *testing.T) {
	t.Parallel()
	const limit = 3
	s := &tokens{}
	alice, bob := s.add("alice"), s.add("bob")
	started, finish := make(chan struct{}), make(chan struct{})
	h := NewKeys(s.lookup, &BearerOptions{Requests: limit}).Bearer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			started <- struct{}{}
			<-finish
		}
	}))
	var wg sync.WaitGroup
	for n := 1; n <= limit; n++ {
		wg.Go(func() {
			if w := ask(h, "/wait", "Bearer "+alice); w.Code != 200 {
				t.Errorf("request %d: %d", n, w.Code)
			}
		})
		<-started
		want := 200
		if n == limit {
			want = 429
		}
		w := ask(h, "/", "Bearer "+alice)
		if w.Code != want || (want == 429) != (w.Header().Get("Retry-After") != "") {
			t.Errorf("beside %d: %d, want %d", n, w.Code, want)
		}
		if w := ask(h, "/", "Bearer "+bob); w.Code != 200 {
			t.Errorf("another client: %d", w.Code)
		}
	}
	close(finish)
	wg.Wait()
	if w := ask(h, "/", "Bearer "+alice); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// TestKeysEnter knows callers that do not come over HTTP by the same keys, with the same bounds.
func TestKeysEnter(t *testing.T) {
	t.Parallel()
	good := sha256.Sum256([]byte("good"))
	k := NewKeys(func(_ context.Context, hash [sha256.Size]byte) (string, bool, error) { return "one", hash == good, nil }, &BearerOptions{Requests: 1})
	const from = "192.0.2.1:4000"
	who, leave, denied := k.Enter(t.Context(), from, []string{"bearer good"})
	if denied != nil || who != "one" {
		t.Fatalf("%q, %+v", who, denied)
	}
	if _, _, denied := k.Enter(t.Context(), from, []string{"Bearer good"}); denied == nil || denied.Status != http.StatusTooManyRequests || denied.RetryAfter == 0 {
		t.Errorf("one too many: %+v", denied)
	}
	leave()
	for _, values := range [][]string{nil, {"Basic good"}, {"Bearer good", "Bearer good"}, {"Bearer wrong"}} {
		if _, _, denied := k.Enter(t.Context(), from, values); denied == nil || denied.Status != http.StatusUnauthorized || denied.Challenge == "" {
			t.Errorf("%q: %+v", values, denied)
		}
	}
	for i := range maxFailures - 1 { // with the wrong one above these are ten
		k.Enter(t.Context(), from, []string{fmt.Sprintf("Bearer wrong%d", i)})
	}
	if _, _, denied := k.Enter(t.Context(), from, []string{"Bearer good"}); denied == nil || denied.Status != http.StatusTooManyRequests {
		t.Errorf("locked out: %+v", denied)
	}
	if _, leave, denied := k.Enter(t.Context(), "192.0.2.2:4000", []string{"Bearer good"}); denied != nil {
		t.Errorf("somebody else: %+v", denied)
	} else {
		leave()
	}
}
