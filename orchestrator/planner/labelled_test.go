package planner_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// labelledCard is what a request can be matched against: the part of an agent
// card (A2A v1.0) that says what the agent does.
type labelledCard struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Skills      []labelledSkill `json:"skills"`
}

type labelledSkill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
}

// labelledRequest is a request with the agent that a sensible person would
// give it to, and those that she would accept as well.
type labelledRequest struct {
	Text  string   `json:"text"`
	Agent string   `json:"agent"`
	Also  []string `json:"also"`
}

// readLabelled decodes one file of testdata/labelled; a field that nobody
// reads is an error.
func readLabelled[T any](t *testing.T, name string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "labelled", name))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var out []T
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// plainText makes texts that differ only in case and spaces equal.
func plainText(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

// TestLabelledShape holds what testdata/labelled/README.md promises of the
// three files. It calls nothing of the planner: it must not report, of
// held.json, anything but its shape.
func TestLabelledShape(t *testing.T) {
	cards := readLabelled[labelledCard](t, "cards.json")
	if len(cards) != 40 {
		t.Errorf("%d cards, want 40", len(cards))
	}
	known := map[string]bool{}
	seen := map[string]string{} // plain text -> where it stands
	for _, c := range cards {
		if c.ID == "" || known[c.ID] {
			t.Errorf("card id %q is empty or taken twice", c.ID)
		}
		known[c.ID] = true
		if c.Name == "" || c.Description == "" || len(c.Skills) == 0 {
			t.Errorf("card %s lacks a name, a description or skills", c.ID)
		}
		skills := map[string]bool{}
		for _, s := range c.Skills {
			if s.ID == "" || skills[s.ID] {
				t.Errorf("card %s: skill id %q is empty or taken twice", c.ID, s.ID)
			}
			skills[s.ID] = true
			if s.Name == "" || s.Description == "" || len(s.Tags) == 0 {
				t.Errorf("card %s, skill %s lacks a field that A2A requires", c.ID, s.ID)
			}
			for _, e := range s.Examples {
				seen[plainText(e)] = "an example of " + c.ID
			}
		}
	}

	total := map[string]int{}
	for _, name := range []string{"tune.json", "held.json", "held2.json"} {
		requests := readLabelled[labelledRequest](t, name)
		if len(requests) != 100 {
			t.Errorf("%s: %d requests, want 100", name, len(requests))
		}
		count := map[string]int{}
		for i, r := range requests {
			p := plainText(r.Text)
			if p == "" {
				t.Errorf("%s, request %d has no text", name, i)
			}
			if where, twice := seen[p]; twice {
				t.Errorf("%s, request %d stands already in %s", name, i, where)
			}
			seen[p] = name
			for j, id := range append([]string{r.Agent}, r.Also...) {
				if !known[id] {
					t.Errorf("%s, request %d: no card %q", name, i, id)
				}
				if j > 0 && (id == r.Agent || slices.Contains(r.Also[:j-1], id)) {
					t.Errorf("%s, request %d names %q twice", name, i, id)
				}
			}
			count[r.Agent]++
			if name != "held2.json" { // which was not dealt out with the others
				total[r.Agent]++
			}
		}
		for id := range known {
			if n := count[id]; n < 2 || n > 3 {
				t.Errorf("%s: %d requests for %s, want 2 or 3", name, n, id)
			}
		}
	}
	for id := range known {
		if total[id] != 5 {
			t.Errorf("%d requests for %s in the files that were dealt out, want 5", total[id], id)
		}
	}
}
