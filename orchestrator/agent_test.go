package orchestrator_test

import (
	"slices"
	"testing"

	"parley/orchestrator"
)

// What is noted of an agent's version counts until it is known better; every other note stays.
func TestRemarks(t *testing.T) {
	t.Parallel()
	const (
		assumed = "The card does not say which version of A2A it is for: 0.2 is assumed."
		unknown = "The card is of the first kind, which says no version of A2A; the first message will tell which one the agent speaks."
		binding = "Interface 1 does not name its binding: JSON-RPC is assumed."
		other   = "The card names another host (b) than the one it came from (a)."
	)
	all := []string{assumed, unknown, binding, other}
	for known, want := range map[orchestrator.KnownBy][]string{
		orchestrator.KnownByCard: all, orchestrator.KnownByAnswer: {binding, other}, orchestrator.KnownByPerson: {binding, other},
	} {
		a := &orchestrator.Agent{Known: known, Notes: slices.Clone(all)}
		if got := a.Remarks(); !slices.Equal(got, want) {
			t.Errorf("known by %q: %q", known, got)
		}
		if !slices.Equal(a.Notes, all) {
			t.Errorf("known by %q: the notes are changed", known)
		}
	}
}
