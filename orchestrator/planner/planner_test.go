package planner_test

import (
	"strings"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/planner"
)

func TestChoice(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	for description, want := range map[string]string{
		"Books flights. And more.": "Books flights.",
		"One line\nand another":    "One line",
		"Version 1.0 of an agent":  "Version 1.0 of an agent",
		long:                       strings.TrimSpace(string([]rune(long)[:159])) + "…",
		"":                         "",
	} {
		c := planner.Choice(&orchestrator.Agent{ID: "a", Card: &a2a.AgentCard{Description: description}})
		if c.Detail != want || c.Label != "a" {
			t.Errorf("%.20q: %+v", description, c)
		}
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	cs := []orchestrator.Choice{{ID: "travel-desk", Label: "Travel desk"}, {ID: "b", Label: "Writer"}}
	for text, want := range map[string]string{
		"travel-desk": "travel-desk", " Travel Desk. ": "travel-desk", "2": "b", "\"writer\"": "b", "3": "", "0": "", "": "", "wri": "",
	} {
		if got, ok := planner.Pick(cs, text); got != want || ok != (want != "") {
			t.Errorf("%q picks %q, %v; want %q", text, got, ok, want)
		}
	}
}
