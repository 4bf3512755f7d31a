package card_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a/wire"
	"parley/a2aclient/card"
)

const (
	wellKnown = "/.well-known/agent-card.json"
	legacy    = "/.well-known/agent.json"
	catalog   = "/.well-known/ai-catalog.json"
)

// Every form in which a person may have an agent's address leads to its card.
func TestFindForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	root := says(cardAt(s.URL + "/rpc"))
	s.Config.Handler = s.handler(map[string]http.HandlerFunc{
		wellKnown:                root,
		"/agents/calc" + legacy:  root,
		"/cards/calc":            root,
		"/static/calc-card.json": root,
	})
	host := s.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(host)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, input := range map[string]string{
		"host and port":        host,
		"localhost":            "localhost:" + port,
		"base":                 s.URL,
		"base with slash":      s.URL + "/",
		"spaces":               "  " + s.URL + "\n",
		"quoted":               `"` + s.URL + `"`,
		"angle brackets":       "<" + s.URL + ">",
		"fragment":             s.URL + "/#about",
		"card address":         s.URL + wellKnown,
		"legacy path":          s.URL + legacy,
		"path, legacy card":    s.URL + "/agents/calc",
		"path with slash":      s.URL + "/agents/calc/",
		"an operation":         s.URL + "/agents/calc/v1/message:send",
		"unknown path":         s.URL + "/some/where",
		"card of a registry":   s.URL + "/cards/calc",
		"card file on the web": s.URL + "/static/calc-card.json",
		"link":                 "a2a://" + host,
		"link with address":    "a2a:" + s.URL,
		"link with query":      "a2a://connect?url=" + s.URL,
		"web link":             "web+a2a://" + host + "/agents/calc",
		"pasted":               cardAt(s.URL + "/rpc"),
		"file with address":    file("address.txt", s.URL+"\n"),
		"file with card":       file("card.json", cardAt(s.URL+"/rpc")),
		"file address":         "file://" + file("card 2.json", cardAt(s.URL+"/rpc")),
		"list of one":          `["` + s.URL + `"]`,
		"comment and line":     "# mine\n" + s.URL + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := find(t, input, &card.Options{HTTP: client(t)})
			if f.Card.Name != "Calc" || f.Interface.URL != s.URL+"/rpc" || f.Dialect != wire.NEW || f.Hash == "" || len(f.JSON) == 0 {
				t.Errorf("found %+v", f)
			}
		})
	}
}

func TestFindSeveral(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{})
	s.Config.Handler = s.handler(map[string]http.HandlerFunc{wellKnown: says(cardAt(s.URL))})
	for name, input := range map[string]string{
		"lines": s.URL + "\n\nhttp://127.0.0.1:1/\n" + strings.ReplaceAll(cardAt(s.URL), "\n", ""),
		"list":  `["` + s.URL + `", "http://127.0.0.1:1/", ` + cardAt(s.URL) + `]`,
	} {
		found, err := card.Find(t.Context(), input, &card.Options{HTTP: client(t)})
		if err != nil || len(found) != 3 {
			t.Fatalf("%s: %d found, %v", name, len(found), err)
		}
		if found[0].Err != nil || found[2].Err != nil || found[0].Card.Name != "Calc" || found[2].Card.Name != "Calc" {
			t.Errorf("%s: %v, %v", name, found[0].Err, found[2].Err)
		}
		var e *card.Error
		if !errors.As(found[1].Err, &e) || e.Kind != card.KindRefused {
			t.Errorf("%s: %v", name, found[1].Err)
		}
	}
}

func TestFindNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for input, kind := range map[string]card.Kind{
		"":                                card.KindAddress,
		"  \n# only a comment\n":          card.KindAddress,
		"hello there, friend":             card.KindAddress,
		"ftp://agent.example":             card.KindAddress,
		"https://me:secret@agent.example": card.KindAddress,
		"https://":                        card.KindAddress,
		"[]":                              card.KindAddress,
		"[17]":                            card.KindAddress,
		dir + "/missing.json":             card.KindAddress,
		dir:                               card.KindAddress,
		empty:                             card.KindAddress,
		"{":                               card.KindCardInvalid,
		`{"name":"x","name":"y","supportedInterfaces":[{"url":"http://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`: card.KindCardInvalid,
		`{"name":17}`:                            card.KindCardInvalid,
		`{"name":"x"}`:                           card.KindCardInvalid,
		strings.Repeat("http://a.example\n", 65): card.KindAddress,
	} {
		e := failure(t, input, &card.Options{HTTP: client(t)}, kind)
		if strings.Contains(fmt.Sprintf("%+v", e), "secret") {
			t.Errorf("the error repeats the password: %+v", e)
		}
	}
}

func TestFilesOnlyForTheirOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(path, []byte(cardAt("http://127.0.0.1/")), 0o600); err != nil {
		t.Fatal(err)
	}
	find(t, path, nil)
	failure(t, "file://"+path, &card.Options{NoFiles: true, HTTP: client(t)}, card.KindAddress)
}

// The field at fault is named.
func TestInvalidCardField(t *testing.T) {
	t.Parallel()
	for field, body := range map[string]string{
		"name":                       `{"description":"x","supportedInterfaces":[{"url":"http://a.example/"}]}`,
		"supportedInterfaces":        `{"name":"x","supportedInterfaces":[]}`,
		"supportedInterfaces[0].url": `{"name":"x","supportedInterfaces":[{"url":"ftp://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
	} {
		s := newSite(t, map[string]http.HandlerFunc{wellKnown: says(body)})
		e := failure(t, s.URL, &card.Options{HTTP: client(t)}, card.KindCardInvalid)
		if e.Field != field || !strings.Contains(e.What, field) || len(e.Tried) == 0 {
			t.Errorf("field %q in %q, tried %v; want field %q", e.Field, e.What, e.Tried, field)
		}
	}
}

func TestCardNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	e := failure(t, s.URL+"/agents/x", &card.Options{HTTP: client(t)}, card.KindCardNotFound)
	var tried []string
	for _, x := range e.Tried {
		if x.Status != 404 || x.Result != "not found" {
			t.Errorf("%+v", x)
		}
		tried = append(tried, strings.TrimPrefix(x.URL, s.URL))
	}
	want := []string{"/agents/x" + wellKnown, "/agents/x" + legacy, "/agents/x", "/agents/x" + catalog, wellKnown, legacy}
	if d := cmp.Diff(want, tried); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, s.paths()); d != "" {
		t.Error(d)
	}
}

func TestCardIsHTML(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><title>Welcome</title>")
	})
	e := failure(t, s.URL, &card.Options{HTTP: client(t)}, card.KindCardHTML)
	if !strings.Contains(e.Raw, "Welcome") {
		t.Errorf("raw is %q", e.Raw)
	}
	// A website that answers every path does not hide a card at the origin.
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == legacy {
			says(cardAt(s.URL))(w, r)
			return
		}
		fmt.Fprint(w, "<html>")
	})
	if f := find(t, s.URL+"/docs", &card.Options{HTTP: client(t)}); !f.Elsewhere || !strings.Contains(fmt.Sprint(f.Notes), "not under the path you typed") {
		t.Errorf("notes %q", f.Notes)
	}
}

// Without a scheme https comes first, except for this machine; http is tried in the house only.
func TestSchemeGuess(t *testing.T) {
	t.Parallel()
	plain := newSite(t, map[string]http.HandlerFunc{wellKnown: says(cardAt("/"))})
	f := find(t, "box.lan:8080", &card.Options{HTTP: web(t, plain.Server, nil)})
	if f.URL != "http://box.lan:8080"+wellKnown || !strings.Contains(fmt.Sprint(f.Notes), "plain http") {
		t.Errorf("found at %s, notes %q", f.URL, f.Notes)
	}
	var dialled []string
	failure(t, "agent.example", &card.Options{HTTP: web(t, plain.Server, &dialled)}, card.KindTLS)
	if d := cmp.Diff([]string{"agent.example:443"}, dialled); d != "" {
		t.Error(d)
	}
}

// With a sign-in a host without a scheme is asked over plain http in the house only, an odd port or not.
func TestSchemeGuessWithSignIn(t *testing.T) {
	t.Parallel()
	plain := newSite(t, map[string]http.HandlerFunc{wellKnown: says(cardAt("/"))})
	authorize := func(_ context.Context, r *http.Request) error { r.Header.Set("Authorization", "Bearer x"); return nil }
	o := func() *card.Options { return &card.Options{HTTP: web(t, plain.Server, nil), Authorize: authorize} }
	failure(t, "agent.example:8080", o(), card.KindTLS)
	failure(t, "8.8.8.8:8080", o(), card.KindTLS)
	if n := len(plain.paths()); n > 0 {
		t.Errorf("%d requests came over plain http", n)
	}
	for _, in := range []string{"box.lan:8080", "10.0.0.1:8080", "localhost:8080", "http://agent.example:8080"} {
		find(t, in, o())
	}
	find(t, "agent.example:8080", &card.Options{HTTP: web(t, plain.Server, nil)})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		cardAt("http://127.0.0.1/"), `["a",{"name":"x"}]`, "a2a://x?url=y", "http://[::1]:80/x", "\ufeff{}", "[::1]", "//x", "a:b:c",
		`{"name":"x","url":"//evil","protocolVersion":"0.3.0"}`, "%zz", "http://%41/", "x\\y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found, err := card.Find(t.Context(), s, &card.Options{NoFiles: true})
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d found, error %v", len(found), err)
		}
		for _, x := range found {
			if x.Err != nil {
				continue
			}
			if x.Interface.URL == "" || x.Hash == "" || !json.Valid(x.JSON) {
				t.Fatalf("found %+v", x)
			}
			x.Origins()
		}
	})
}
