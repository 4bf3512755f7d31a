package planner

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed lexicon.txt
var lexiconText string

// lexicon is lexicon.txt, read.
type lexicon struct {
	topics   []topic
	words    map[string][]entry  // by stem
	prefixes map[string][]entry  // word*
	phrases  map[string][]phrase // by the stem of the first word
	runs     map[string][]entry  // East Asian
	shapes   map[string][]entry
	longest  int                 // runes of the longest of runs
	byLetter map[byte][]string   // the words, to mend typing errors by
	ordinary map[string]wordKind // by word
	senses   *senses
	glossed  map[string][]entry // foreign words that words and prefixes lack, by stem; see glossary.go
	taught   map[string][]entry // by stem or East Asian letters; see taught.go
}

// known is what was found out about words while many texts are read.
type known map[knownKey]knownWord

type knownKey struct {
	word    string
	foreign bool
}

type knownWord struct {
	topics []entry
	parts  bool // they are of its parts
}

type topic struct {
	name   string
	weight float64
}

// entry says that a word is of a topic.
type entry struct {
	topic  int
	weight float64
}

type phrase struct {
	rest   []string // stems of the words after the first
	prefix bool     // the last is the beginning of a word
	entry
}

// readLexicon returns the lexicon. It is read when it is first asked for.
var readLexicon = sync.OnceValue(func() *lexicon { return parseLexicon(lexiconText, glossaryText) })

// hint is the weight of a ~word, phraseWeight of words in a row, which are surer than one.
const (
	hint         = 0.4
	phraseWeight = 1.4
)

func parseLexicon(text, glossary string) *lexicon {
	l := &lexicon{
		words: map[string][]entry{}, prefixes: map[string][]entry{}, phrases: map[string][]phrase{},
		runs: map[string][]entry{}, shapes: map[string][]entry{}, byLetter: map[byte][]string{}, ordinary: ordinaryWords(),
		glossed: map[string][]entry{},
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			name, weight, _ := strings.Cut(line[1:], "]")
			t := topic{name: name, weight: 1}
			if w, err := strconv.ParseFloat(strings.TrimSpace(weight), 64); err == nil {
				t.weight = w
			}
			l.topics = append(l.topics, t)
			continue
		}
		_, words, _ := strings.Cut(line, ":")
		for _, w := range strings.Fields(words) {
			l.add(w, len(l.topics)-1)
		}
	}
	l.senses = newSenses(sensesText, l.topics)
	l.readGlossary(glossary)
	l.learn(lessons(requestsText, l.topics))
	return l
}

func (l *lexicon) add(w string, topic int) {
	e := entry{topic: topic, weight: 1}
	if strings.HasPrefix(w, "<") {
		l.shapes[w] = append(l.shapes[w], e)
		return
	}
	if strings.HasPrefix(w, "~") {
		e.weight, w = hint, w[1:]
	}
	w, prefix := strings.CutSuffix(w, "*")
	ts := tokens(strings.ReplaceAll(w, "_", " "))
	if len(ts) == 0 {
		return
	}
	if ts[0].run {
		s := joined(ts)
		l.runs[s] = append(l.runs[s], e)
		l.longest = max(l.longest, utf8.RuneCountInString(s))
		return
	}
	first, last := ts[0], ts[len(ts)-1]
	switch {
	case len(ts) > 1:
		p := phrase{prefix: prefix, entry: e}
		p.weight *= phraseWeight
		for _, t := range ts[1:] {
			p.rest = append(p.rest, t.stem)
		}
		if prefix {
			p.rest[len(p.rest)-1] = last.word
		}
		l.phrases[first.stem] = append(l.phrases[first.stem], p)
	case len(first.word) < 2:
	case prefix:
		l.prefixes[first.word] = append(l.prefixes[first.word], e)
		l.byLetter[first.word[0]] = append(l.byLetter[first.word[0]], first.word)
	default:
		l.words[first.stem] = append(l.words[first.stem], e)
		l.byLetter[first.word[0]] = append(l.byLetter[first.word[0]], first.word)
	}
}

// joined returns the words of ts with nothing between.
func joined(ts []token) string {
	var s strings.Builder
	for _, t := range ts {
		s.WriteString(t.word)
	}
	return s.String()
}

// word returns the topics of a word.
func (l *lexicon) word(t token) []entry {
	found := append([]entry(nil), l.words[t.stem]...)
	for n := 2; n <= len(t.word); n++ {
		found = append(found, l.prefixes[t.word[:n]]...)
	}
	return found
}

// parts returns the topics of a word that is put together of others, as German words are: of the longest word that ends
// it, and of the longest that begins it.
func (l *lexicon) parts(t token) []entry {
	if len(t.word) < 8 {
		return nil
	}
	var found []entry
	for i := 3; i <= len(t.word)-4; i++ {
		tail := token{word: t.word[i:], stem: stem(t.word[i:])}
		if l.ordinary[tail.word] != plainWord {
			continue
		}
		if es := l.word(tail); len(es) > 0 {
			found = append(found, es...)
			break
		}
	}
	for i := len(t.word) - 3; i >= 5; i-- {
		head := t.word[:i]
		if l.ordinary[head] != plainWord {
			continue
		}
		if es := l.words[stem(head)]; len(es) > 0 {
			found = append(found, es...)
			break
		}
	}
	return found
}

// phrase returns the topics of the rows of words that begin at the first of ts, and how many words each has.
func (l *lexicon) phrase(ts []token, found func(e entry, n int)) {
	for _, p := range l.phrases[ts[0].stem] {
		if len(p.rest) >= len(ts) {
			continue
		}
		ok := true
		for i, want := range p.rest {
			t := ts[i+1]
			if t.run {
				ok = false
				break
			}
			if p.prefix && i == len(p.rest)-1 {
				ok = strings.HasPrefix(t.word, want)
			} else {
				ok = t.stem == want
			}
			if !ok {
				break
			}
		}
		if ok {
			found(p.entry, 1+len(p.rest))
		}
	}
}

// mend returns the word that a mistyped one was meant to be: one that differs in a single letter left out, put in,
// swapped with the next or, in a long one, changed. Its first letter is taken to be right: short words that differ in a
// letter are mostly different words.
func (l *lexicon) mend(word string) (string, bool) {
	if len(word) < 6 {
		return "", false
	}
	for _, w := range l.byLetter[word[0]] {
		if len(w) >= 6 && oneSlip(word, w) {
			return w, true
		}
	}
	return "", false
}

func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return true
	}
	return len(a) >= 8 && a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
