package planner

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/orchestrator"
)

// A card and a request become features: topics of the lexicon, stems of words, and pairs of East Asian letters. A card's
// score is the sum, over the features that both have, of the weight in the request, the weight in the card and how rare
// the feature is among the cards.

// feature is "t:" and the number of a topic, "w:" and a stem, or "p:" and two letters.
type feature struct {
	kind byte
	num  int
	text string
}

const (
	ofTopic = 't'
	ofWord  = 'w'
	ofPair  = 'p'
)

// How the fields of a card count.
const (
	inName         = 3.0
	inDescription  = 2.0
	inSkillName    = 3.0
	inSkillDetails = 1.5
	inTags         = 3.0
	inExamples     = 1.0
)

// What the kinds of features count.
const (
	wordWeight  = 0.7
	pairWeight  = 0.3
	weakWeight  = 0.15 // of an ordinary word
	shapeWeight = 2.5
	asideShare  = 0.6 // of what is quoted or pasted
	guessShare  = 0.6 // of a mended word, or a part of one
	sameTongue  = 1.3 // a card in the language of a request that is not English

	half     = 4.0 // the sum at which a feature of a card counts half of what it can
	aim      = 1.0 // how much a card's lesser topics count less still: most are words that mean something else there
	fewCards = 20  // rareness among fewer cards is taken as among so many: there it tells less

	repeats = 0.9 // the power that the sum of a feature in a request is taken to
)

// roster is the approved agents, ready to be ranked.
type roster struct {
	lex   *lexicon
	cards []*card
	stems map[string]bool // of the cards
	known known           // nil when the cards are read
	in    map[feature][]posting
}

// posting says that a card has a feature, and what it adds to the card's score for each weight of it in a request.
type posting struct {
	card   int
	weight float64
}

type card struct {
	agent    *orchestrator.Agent
	weights  map[feature]float64
	language string
	name     []token
	sure     bool // its name is no word of the languages we know: it means this agent wherever it stands
}

func newRoster(agents []*orchestrator.Agent) *roster {
	r := &roster{lex: readLexicon(), stems: map[string]bool{}, known: known{}, in: map[feature][]posting{}}
	for _, a := range agents {
		r.cards = append(r.cards, r.read(a))
	}
	mean, meanWords := 0.0, 0.0
	for _, c := range r.cards {
		t, w := c.norms()
		mean += t / float64(len(r.cards))
		meanWords += w / float64(len(r.cards))
	}
	for _, c := range r.cards {
		t, w := c.norms()
		for f, x := range c.weights {
			if f.kind == ofTopic {
				c.weights[f] = x / (normShift*mean + (1-normShift)*t)
			} else {
				c.weights[f] = x / (normShift*meanWords + (1-normShift)*w)
			}
		}
	}
	df := map[feature]float64{}
	for _, c := range r.cards {
		most := 0.0
		for f, w := range c.weights {
			if f.kind == ofTopic {
				most = max(most, w)
			}
		}
		for f, w := range c.weights {
			if f.kind == ofTopic {
				df[f] += w / most
			} else {
				df[f]++
			}
		}
	}
	for i, c := range r.cards {
		for f, w := range c.weights {
			rare := math.Log(1 + float64(max(fewCards, len(r.cards)))/(0.5+df[f]))
			if f.kind == ofTopic {
				rare *= r.lex.topics[f.num].weight
			}
			r.in[f] = append(r.in[f], posting{i, w * rare})
		}
	}
	for _, c := range r.cards {
		c.name = tokens(c.agent.Name)
		c.sure = r.sure(c.name)
	}
	r.known = nil
	return r
}

// normShift says how far cards that speak of much are put on a level with those that speak of little: 1 not at all,
// 0 all the way. A card that is stuffed with every word must not match everything best.
const normShift = 0.6

// norms returns the lengths of a card's topics and of its words.
func (c *card) norms() (topics, words float64) {
	for f, w := range c.weights {
		if f.kind == ofTopic {
			topics += w * w
		} else {
			words += w * w
		}
	}
	return max(math.Sqrt(topics), 1e-9), max(math.Sqrt(words), 1e-9)
}

func (r *roster) read(a *orchestrator.Agent) *card {
	c := &card{agent: a, weights: map[feature]float64{}}
	type part struct {
		weight float64
		tokens []token
	}
	var parts []part
	field := func(weight float64, texts ...string) {
		for _, s := range texts {
			parts = append(parts, part{weight, tokens(s)})
		}
	}
	field(inName, a.Name)
	if a.Card != nil {
		field(inDescription, a.Card.Description)
		for i := range a.Card.Skills {
			s := &a.Card.Skills[i]
			field(inSkillName, s.Name)
			field(inSkillDetails, s.Description)
			field(inTags, s.Tags...)
			field(inExamples, s.Examples...)
		}
	}
	var all []token
	for _, p := range parts {
		all = append(all, p.tokens...)
	}
	c.language = language(all)
	for _, p := range parts {
		r.features(p.tokens, c.language, false, func(f feature, w float64, _ string) { c.weights[f] += p.weight * w })
		for _, t := range p.tokens {
			if !t.run {
				r.stems[t.stem] = true
			}
		}
	}
	for f, w := range c.weights {
		c.weights[f] = w / (w + half)
	}
	most := 0.0
	for f, w := range c.weights {
		if f.kind == ofTopic {
			most = max(most, w)
		}
	}
	for f, w := range c.weights {
		if f.kind == ofTopic {
			c.weights[f] = w * math.Pow(w/most, aim)
		}
	}
	return c
}

// features tells what a text has: each feature, its weight, and the words that it was found by. English words of a request
// have also the topics they are near to: a card says what it is about in plain words.
func (r *roster) features(ts []token, tongue string, request bool, found func(f feature, weight float64, words string)) {
	l := r.lex
	var runs []token
	for i, t := range ts {
		share := 1.0
		if request && t.aside {
			share = asideShare
		}
		if t.run {
			runs = append(runs, t)
			continue
		}
		if len(runs) > 0 {
			r.runFeatures(runs, request, found)
			runs = nil
		}
		l.phrase(ts[i:], func(e entry, n int) {
			words := t.text
			for _, more := range ts[i+1 : i+n] {
				words += " " + more.text
			}
			found(feature{kind: ofTopic, num: e.topic}, share*e.weight, words)
		})
		kind := l.ordinary[t.word]
		if t.number() || kind == stopWord || utf8.RuneCountInString(t.word) < 2 {
			continue
		}
		es, whole := r.topics(t, kind, foreign(tongue))
		guess := 1.0
		if !whole {
			guess = guessShare
		}
		if len(es) == 0 && request && kind == plainWord && !r.stems[t.stem] {
			if w, ok := l.mend(t.word); ok {
				m := token{word: w, stem: stem(w)}
				es, guess = l.word(m), guessShare
				found(feature{kind: ofWord, text: m.stem}, share*wordWeight*guess, t.text)
			}
		}
		if kind == weakWord {
			guess = weakWeight
		}
		spread := 1 / math.Sqrt(max(1, float64(len(es))))
		for _, e := range es {
			found(feature{kind: ofTopic, num: e.topic}, share*guess*e.weight*spread, t.text)
		}
		if request && kind == plainWord && !foreign(tongue) {
			for _, e := range l.senses.of(strings.ToLower(t.text)) {
				found(feature{kind: ofTopic, num: e.topic}, share*e.weight, t.text)
			}
		}
		w := share * wordWeight
		if kind == weakWord {
			w *= weakWeight
		}
		found(feature{kind: ofWord, text: t.stem}, w, t.text)
	}
	if len(runs) > 0 {
		r.runFeatures(runs, request, found)
	}
}

// topics returns the topics of a word, or if it has none those of its parts, and then those of the English word for it.
func (r *roster) topics(t token, kind wordKind, foreign bool) (es []entry, whole bool) {
	key := knownKey{t.word, foreign}
	k, ok := r.known[key]
	if !ok {
		k.topics = r.lex.word(t)
		if len(k.topics) == 0 && kind == plainWord {
			k.topics, k.parts = r.lex.parts(t), true
			if len(k.topics) == 0 && foreign {
				k.topics, k.parts = r.lex.gloss(t), false
			}
		}
		if r.known != nil {
			r.known[key] = k
		}
	}
	return k.topics, !k.parts
}

// runFeatures does so for East Asian text: the longest words of the lexicon that are in it, and pairs of letters.
func (r *roster) runFeatures(runs []token, request bool, found func(f feature, weight float64, words string)) {
	var rs []rune
	var aside []bool
	for _, t := range runs {
		for _, c := range t.word {
			rs, aside = append(rs, c), append(aside, t.aside && request)
		}
	}
	share := func(i int) float64 {
		if aside[i] {
			return asideShare
		}
		return 1
	}
	for i := 0; i < len(rs); {
		n := min(r.lex.longest, len(rs)-i)
		for ; n > 0; n-- {
			s := string(rs[i : i+n])
			es := r.lex.runs[s]
			for _, e := range es {
				found(feature{kind: ofTopic, num: e.topic}, share(i)*e.weight/math.Sqrt(float64(len(es))), s)
			}
			if len(es) > 0 {
				break
			}
		}
		i += max(n, 1)
	}
	for i := range len(rs) - 1 {
		s := string(rs[i : i+2])
		if !hiragana(rs[i]) || !hiragana(rs[i+1]) {
			found(feature{kind: ofPair, text: s}, share(i)*pairWeight, s)
		}
	}
}

func hiragana(r rune) bool { return r >= 0x3041 && r <= 0x309F }

// match is an agent with its score and the words of the request that speak for it, most telling first.
type match struct {
	agent *orchestrator.Agent
	score float64
	words []string
}

// rank returns the agents whose cards have something of the text to speak of, best first; equal ones by id.
func (r *roster) rank(text string) []match {
	type part struct {
		feature
		weight float64
		words  string
	}
	ts := tokens(text)
	var parts []part
	seen := map[part]bool{} // without weights
	add := func(f feature, w float64, words string) {
		if key := (part{feature: f, words: words}); !seen[key] {
			seen[key] = true
			parts = append(parts, part{f, w, words})
		}
	}
	for _, s := range shapes() {
		if s.re.MatchString(text) {
			for _, e := range r.lex.shapes[s.name] {
				add(feature{kind: ofTopic, num: e.topic}, shapeWeight, s.what)
			}
		}
	}
	tongue := language(ts)
	r.features(ts, tongue, true, add)
	r.lex.recall(ts, func(f feature, w float64, words string) { parts = append(parts, part{f, w, words}) })
	total := map[feature]float64{}
	for _, p := range parts {
		total[p.feature] += p.weight
	}
	scores := make([]float64, len(r.cards))
	by := make([]map[string]float64, len(r.cards))
	for _, p := range parts {
		// A feature that the request has again and again counts less each time.
		weight := p.weight * math.Pow(total[p.feature], repeats-1)
		for _, in := range r.in[p.feature] {
			if by[in.card] == nil {
				by[in.card] = map[string]float64{}
			}
			scores[in.card] += weight * in.weight
			by[in.card][p.words] += weight * in.weight
		}
	}
	var all []match
	for i, c := range r.cards {
		m := match{agent: c.agent, score: scores[i]}
		if foreign(tongue) && c.language == tongue {
			m.score *= sameTongue
		}
		if m.score < Enough/5 {
			continue
		}
		for w := range by[i] {
			m.words = append(m.words, w)
		}
		slices.SortFunc(m.words, func(a, b string) int { return cmp.Or(cmp.Compare(by[i][b], by[i][a]), cmp.Compare(a, b)) })
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.agent.ID, b.agent.ID))
	})
	return all
}
