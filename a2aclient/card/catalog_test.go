package card_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2aclient/card"
)

// named is a card of that name.
func named(name, url string) string {
	return strings.Replace(cardAt(url), `"Calc"`, fmt.Sprintf("%q", name), 1)
}

func names(found []*card.Found) (out []string) {
	for _, f := range found {
		if f.Err != nil {
			out = append(out, "error: "+f.Input)
			continue
		}
		out = append(out, f.Card.Name)
	}
	return out
}

// An address where there is no card but a catalogue, in whichever of its forms, names all the agents in there.
func TestCatalog(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"AI Catalog": `{"specVersion":"1.0","host":{"displayName":"Acme"},"entries":[
			{"identifier":"urn:air:acme:a","type":"application/a2a-agent-card+json","url":"/cards/a.json"},
			{"identifier":"urn:air:acme:m","type":"application/mcp-server-card+json","url":"/mcp"},
			{"identifier":"urn:air:acme:b","type":"application/a2a-agent-card+json","data":$B}]}`,
		"media types":   `{"specVersion":"0.9","entries":[{"mediaType":"application/a2a-agent-card+json","url":"$URL/cards/a.json"},{"mediaType":"application/a2a-agent-card+json","data":$B}]}`,
		"first draft":   `{"specVersion":"1.0.0","agents":[{"id":"a","name":"A","cardUrl":"cards/../../cards/a.json"},{"id":"b","cardUrl":"/b"}]}`,
		"cards":         `[$A,$B]`,
		"addresses":     `["$URL/cards/a.json","/b"]`,
		"both":          `[{"url":"$URL/cards/a.json"},$B]`,
		"within others": `{"entries":[{"type":"application/ai-catalog+json","url":"/more.json"}],"collections":[{"url":"/last.json"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *site
			fill := func(body string) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					a, b := named("A", s.URL+"/a"), named("B", s.URL+"/b/rpc")
					says(strings.NewReplacer("$A", a, "$B", b, "$URL", s.URL).Replace(body))(w, r)
				}
			}
			s = newSite(t, map[string]http.HandlerFunc{
				catalog: fill(body), "/cards/a.json": fill("$A"), "/b" + wellKnown: fill("$B"),
				"/more.json": fill(`{"entries":[{"url":"/cards/a.json"}]}`), "/last.json": fill(`{"entries":[{"url":"/b"}]}`),
			})
			for _, typed := range []string{s.URL, s.URL + catalog} {
				found, err := card.Find(t.Context(), typed, &card.Options{HTTP: client(t)})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]string{"A", "B"}, names(found)); d != "" {
					t.Errorf("%s: %s", typed, d)
				}
				for _, f := range found {
					if f.Catalog != s.URL+catalog || f.Interface.URL == "" || f.Hash == "" || f.Input == "" {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
}

// A registry may list its agents at an address of its own, below a host that is an agent itself.
func TestCatalogAtAnAddress(t *testing.T) {
	t.Parallel()
	var s *site
	s = newSite(t, map[string]http.HandlerFunc{
		"/agents": func(w http.ResponseWriter, r *http.Request) { says("["+named("A", s.URL+"/a")+"]")(w, r) },
		wellKnown: func(w http.ResponseWriter, r *http.Request) { says(named("Host", s.URL))(w, r) },
		catalog:   func(w http.ResponseWriter, r *http.Request) { t.Error("a card hides no catalogue, and was found") },
	})
	if f := find(t, s.URL+"/agents", &card.Options{HTTP: client(t)}); f.Card.Name != "A" {
		t.Errorf("found %s", f.Card.Name)
	}
	if f := find(t, s.URL, &card.Options{HTTP: client(t)}); f.Card.Name != "Host" || f.Catalog != "" {
		t.Errorf("found %+v", f)
	}
}

// What cannot be found in a catalogue says so and hides nothing else; what is no catalogue is none.
func TestCatalogFailures(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	serve := func(body string) {
		s.Config.Handler = s.handler(map[string]http.HandlerFunc{catalog: says(body), "/a.json": says(named("A", s.URL))})
	}
	o := &card.Options{HTTP: client(t)}
	serve(`{"entries":[{"url":"/gone.json"},{"url":"/a.json"},{"url":"ftp://x.example/"},{"type":"application/a2a-agent-card+json","data":{"name":""}}]}`)
	found, err := card.Find(t.Context(), s.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"error: " + s.URL + "/gone.json", "A", "error: entry 4 of the catalogue"}
	if d := cmp.Diff(want, names(found)); d != "" {
		t.Error(d)
	}
	serve(`{"entries":[{"url":"/gone.json"}]}`)
	failure(t, s.URL, o, card.KindNotFound)
	serve(`{"entries":[{"type":"application/mcp-server-card+json","url":"/mcp"}]}`)
	failure(t, s.URL, o, card.KindCardNotFound)
	for _, body := range []string{`[]`, `[1,2]`, `{"entries":[]}`, `{"entries":"x"}`, `"x"`} {
		serve(body)
		_, err := card.Find(t.Context(), s.URL, o)
		var e *card.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", body, err)
		}
	}
	// One too many is left out.
	var list []string
	for n := range 70 {
		list = append(list, named(fmt.Sprintf("A%d", n), s.URL))
	}
	serve("[" + strings.Join(list, ",") + "]")
	if found, err := card.Find(t.Context(), s.URL, o); err != nil || len(found) != 64 {
		t.Errorf("%d found, %v", len(found), err)
	}
}

// The credentials for a catalogue go to no other origin that it names, and a card in it opens no way to this machine.
func TestCatalogIsNotTrusted(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another origin was given the credentials")
		}
		says(cardAt("http://"+r.Host))(w, r)
	}))
	t.Cleanup(other.Close)
	s := newSite(t, nil)
	asked := 0
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			t.Errorf("%s without credentials", r.URL.Path)
		}
		if r.URL.Path == catalog {
			asked++
			fmt.Fprintf(w, `{"entries":[{"url":%q}]}`, other.URL+"/card.json")
			return
		}
		http.NotFound(w, r)
	})
	found, err := card.Find(t.Context(), s.URL, &card.Options{HTTP: client(t), Authorize: bearer})
	if err != nil || len(found) != 1 || found[0].Card == nil || asked != 1 {
		t.Errorf("%v, %v", found, err)
	}

	tls := httptest.NewTLSServer(says(`[` + cardAt("http://127.0.0.1:22/") + `,"http://plain.example/card.json"]`))
	t.Cleanup(tls.Close)
	found, err = card.Find(t.Context(), "https://registry.example/list", &card.Options{HTTP: web(t, tls, nil)})
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	if o := found[0].Origins(); len(o) != 0 {
		t.Errorf("grants %v", o)
	}
	if found[1].Err == nil || !strings.Contains(found[1].Err.Error(), "without encryption") {
		t.Errorf("%+v", found[1])
	}
}
