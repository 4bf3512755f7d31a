package app_test

import (
	"strings"
	"testing"

	"parley/app"
)

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
