package planner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSenses(t *testing.T) {
	t.Parallel()
	topics := []topic{{name: "tea"}, {name: "rain"}, {name: "new"}}
	s := newSenses("rain,gone,tea\nboat 00z\nbus 01z02f\ncup 02z00a\nzoo 00500z\n", topics)
	one := func(topic, much int) []entry { return []entry{{topic, float64(much) / 35}} }
	for word, want := range map[string][]entry{
		"boat":  one(1, 35),
		"bus":   one(0, 15), // its other topic is gone
		"cup":   {{0, 1}, {1, float64(10) / 35}},
		"zoo":   {{1, float64(5) / 35}, {1, 1}},
		"":      nil,
		"a":     nil,
		"bu":    nil,
		"busy":  nil,
		"zzz":   nil,
		"Boat":  nil,
		"雨":     nil,
		"\n":    nil,
		"boat ": nil,
	} {
		if diff := cmp.Diff(want, s.of(word), cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", word, diff)
		}
	}
	for _, text := range []string{"", "rain", "rain\n", "rain\ncup"} {
		if es := newSenses(text, topics).of("cup"); es != nil {
			t.Errorf("%q has %v", text, es)
		}
	}
}

// TestSensesTable holds what the search for a word relies on, and that the table was made for the lexicon's topics.
func TestSensesTable(t *testing.T) {
	t.Parallel()
	l := readLexicon()
	head, words, _ := strings.Cut(sensesText, "\n")
	if names := strings.Split(head, ","); len(names) != len(l.topics) || slices.Contains(l.senses.topics, -1) {
		t.Error("the table is for other topics than the lexicon has: run build/senses.go")
	}
	var keys []string
	for line := range strings.Lines(words) {
		word, near, ok := strings.Cut(line, " ")
		near, ended := strings.CutSuffix(near, "\n")
		es := l.senses.read(near)
		if !ok || !ended || word == "" || len(es) == 0 || len(near) != 3*len(es) {
			t.Fatalf("%q is no line of the table", line)
		}
		for _, e := range es {
			if e.weight <= 0 || e.weight > 1 {
				t.Fatalf("%q weighs %v", line, e.weight)
			}
		}
		keys = append(keys, word)
	}
	if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Error("the words are not sorted, or one is there twice")
	}
	for range 1000 {
		if w := keys[rand.N(len(keys))]; l.senses.of(w) == nil {
			t.Fatalf("%q is not found", w)
		}
	}
	for _, w := range []string{keys[0], keys[len(keys)-1]} {
		if l.senses.of(w) == nil {
			t.Errorf("%q is not found", w)
		}
	}
}

// TestSensesOfRequests holds that a word that neither the lexicon nor a card has finds the card for its matter, and that
// it is not taken for English in another language.
func TestSensesOfRequests(t *testing.T) {
	t.Parallel()
	r := newRoster(approved(deskCards...))
	for _, w := range []string{"roubles", "turboprop"} {
		if r.lex.word(token{word: w, stem: stem(w)}) != nil {
			t.Fatalf("the lexicon has %q: take another word", w)
		}
	}
	for text, want := range map[string]string{"the roubles": "currency", "the turboprop": "travel-desk"} {
		if ms := r.rank(text); len(ms) == 0 || ms[0].agent.ID != want {
			t.Errorf("%q: %+v", text, ms)
		}
	}
	if ms := r.rank("und wo ist die roubles"); len(ms) != 0 {
		t.Errorf("an English sense in German: %+v", ms)
	}
}
