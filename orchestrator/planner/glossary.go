package planner

import (
	_ "embed"
	"math"
	"strings"
	"unicode/utf8"
)

//go:embed glossary.txt
var glossaryText string

// glossWeight is what a topic counts that is found by way of English.
const glossWeight = 0.6

// readGlossary gives foreign words that the lexicon does not have the topics of their English ones: those that the
// lexicon has for them, and those they are near to.
func (l *lexicon) readGlossary(text string) {
	runs := map[string][]entry{}
	for line := range strings.Lines(text) {
		english, words, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || english == "" || english[0] == '#' {
			continue
		}
		es := l.english(english)
		for _, w := range strings.Fields(words) {
			ts := tokens(w)
			switch {
			case len(ts) == 0:
			case ts[0].run:
				s := joined(ts)
				if len(l.runs[s]) == 0 {
					runs[s] = union(runs[s], es)
				}
			case len(l.word(ts[0])) == 0:
				l.glossed[ts[0].stem] = union(l.glossed[ts[0].stem], es)
			}
		}
	}
	for s, es := range runs {
		l.runs[s] = es
		l.longest = max(l.longest, utf8.RuneCountInString(s))
	}
}

// english returns the topics of an English word of the glossary.
func (l *lexicon) english(word string) []entry {
	es := union(l.word(token{word: word, stem: stem(word)}), l.senses.of(word))
	for i := range es {
		es[i].weight *= glossWeight
	}
	return es
}

// union returns the topics of both, each once, with the greater of its weights.
func union(a, b []entry) []entry {
	var all []entry
	at := map[int]int{}
	for _, es := range [][]entry{a, b} {
		for _, e := range es {
			i, ok := at[e.topic]
			if !ok {
				i = len(all)
				at[e.topic] = i
				all = append(all, e)
			}
			all[i].weight = math.Max(all[i].weight, e.weight)
		}
	}
	return all
}

// gloss returns the topics of a foreign word by way of English: its own, or, where it is put together of others, those of
// the longest that ends it.
func (l *lexicon) gloss(t token) []entry {
	if es := l.glossed[t.stem]; len(es) > 0 || len(t.word) < 8 {
		return es
	}
	for i := 3; i <= len(t.word)-4; i++ {
		if es := l.glossed[stem(t.word[i:])]; len(es) > 0 {
			return es
		}
	}
	return nil
}
