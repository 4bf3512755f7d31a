package cli

import (
	"bytes"
	"strings"
	"testing"

	"parley/orchestrator"
)

func TestScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wrote []string
		shows string
	}{
		{"text", []string{"Grüße, 世界\n\tand more\r\n"}, "Grüße, 世界\n\tand more\n"},
		{"a title for the window, and the clipboard", []string{"\x1b]0;owned\a\x1b]52;c;cm0=\x1b\\"}, "␛]0;owned␇␛]52;c;cm0=␛\\"},
		{"a line that is written over", []string{"Pay 1000\rPay 1"}, "Pay 1000␍Pay 1"},
		{"erased letters", []string{"a\b\x7fb"}, "a␈␡b"},
		{"the second set of controls", []string{"\u009b31mred\u0090"}, "\ufffd31mred\ufffd"},
		{"a byte of it alone", []string{"\x9b31m"}, "\ufffd31m"},
		{"writing that is turned around", []string{"https://\u202emoc.live\u2069"}, "https://\ufffdmoc.live\ufffd"},
		{"a character cut in two", []string{"\xe4\xb8", "\x96!"}, "世!"},
		{"an escape after half a character", []string{"\xe4", "\x1b[2J"}, "\ufffd␛[2J"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			s := &screen{to: &b}
			for _, w := range c.wrote {
				if n, err := s.Write([]byte(w)); err != nil || n != len(w) {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if b.String() != c.shows {
				t.Errorf("shows %q, want %q", b.String(), c.shows)
			}
		})
	}
}

// What a plan's steps are called comes from files and agents; what draws them over one another is our own.
func TestProgressOnScreen(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &progress{out: &screen{to: &b}, width: 80, plan: hostilePlan()}
	p.draw()
	p.draw()
	if got := b.String(); strings.Contains(got, "\x1b]0;") || !strings.Contains(got, "␛]0;owned") || strings.Count(got, "\x1b[2K") != 2 || !strings.Contains(got, "\x1b[1A") {
		t.Errorf("drawn: %q", got)
	}
	var file bytes.Buffer
	if onScreen(&file) != &file {
		t.Error("what is no terminal is taken for one")
	}
}

func hostilePlan() *orchestrator.Plan {
	return &orchestrator.Plan{Nodes: []orchestrator.PlanNode{{ID: "a", Title: "\x1b]0;owned\a", Kind: "call", State: "running"}}}
}
