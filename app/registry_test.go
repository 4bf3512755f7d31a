package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/app"
)

// Agents of one name that are added at the same time are given ids of their own.
func TestAddedAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.Demo = nil })
	var finds []app.FindAgent
	for range 8 {
		find := app.FindAgent{Input: newPeer(t).url}
		find.Origins = verb[[]app.AgentInfo](p, "agents.preview", find)[0].Origins
		finds = append(finds, find)
	}
	var wg sync.WaitGroup
	for _, find := range finds {
		wg.Go(func() {
			if err := p.ctl.Call(t.Context(), "agents.add", find, nil); err != nil {
				t.Errorf("%s: %v", find.Input, err)
			}
		})
	}
	wg.Wait()
	if got := verb[[]app.AgentInfo](p, "agents.list", struct{}{}); len(got) != len(finds) {
		t.Errorf("%d agents are there, %d were added", len(got), len(finds))
	}
}

// The id of a removed agent stays its own: it may have it again, a stranger under the same name is given another.
func TestRemovedID(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.Demo = nil })
	first, stranger := newPeer(t), newPeer(t)
	id := p.connect(first, "", nil).ID
	verb[struct{}](p, "agents.remove", app.Named{ID: id})
	if got := p.connect(stranger, "", nil).ID; got == id || got == "" {
		t.Errorf("a stranger was given the id %q", got)
	} else {
		verb[struct{}](p, "agents.remove", app.Named{ID: got})
	}
	find := app.FindAgent{Input: stranger.url, ID: id}
	find.Origins = verb[[]app.AgentInfo](p, "agents.preview", find)[0].Origins
	if err := p.ctl.Call(t.Context(), "agents.add", find, nil); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("a stranger asking for the id: %v", err)
	}
	if got := p.connect(first, "", nil).ID; got != id {
		t.Errorf("the agent came back as %q, was %q", got, id)
	}
}

// Only what was typed may be anywhere: what an address on the net leads to, by a redirect or a catalogue, is not asked for
// on this machine, whatever else of it stands in the address.
func TestOnlyTheTypedAddressMayBeAnywhere(t *testing.T) {
	t.Parallel()
	p := start(t, func(c *app.Config) { c.Demo = nil })
	var asked atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(inner.Close)
	at, err := url.Parse(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	redirects := http.RedirectHandler(inner.URL+"/admin", http.StatusFound)
	lists := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `[%q]`, inner.URL+"/admin")
	})
	for what, c := range map[string]struct {
		answer http.Handler
		more   string
	}{
		"a redirect to another port":                    {redirects, ""},
		"a redirect to what stands in the path":         {redirects, "/" + at.Host},
		"a redirect to what stands in the query":        {redirects, "/?of=" + at.Host},
		"a catalogue of another port":                   {lists, "/agents.json"},
		"a catalogue of what stands in the query of it": {lists, "/agents.json?of=" + at.Host},
	} {
		outer := httptest.NewServer(c.answer)
		t.Cleanup(outer.Close)
		var found []app.AgentInfo
		err := p.ctl.Call(t.Context(), "agents.preview", app.FindAgent{Input: outer.URL + c.more}, &found)
		if err == nil && (len(found) != 1 || found[0].Fault == nil) {
			t.Errorf("%s: found %v", what, found)
		}
		if n := asked.Swap(0); n != 0 {
			t.Errorf("%s: was asked %d times", what, n)
		}
	}
	_ = p.ctl.Call(t.Context(), "agents.preview", app.FindAgent{Input: inner.URL}, nil)
	if asked.Load() == 0 {
		t.Error("what was typed was not asked")
	}
}
