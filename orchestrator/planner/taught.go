package planner

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"unicode"
)

//go:embed requests.txt
var requestsText string

// What is learned from requests.txt.
const (
	taughtWeight = 0.25
	prior        = 10.0 // requests that each topic is taken to have besides, which are like those of all topics
	fewWords     = 4.0  // words that a request is taken to have besides: one of two words is not twice as sure as one of eight
	letterWeight = 0.7  // of a Chinese letter by itself, against a pair
)

// lesson is a request of which the topic is known.
type lesson struct {
	topic int
	text  string
}

// lessons reads requests by topic. Those of topics that the lexicon does not have are left out.
func lessons(text string, topics []topic) (all []lesson) {
	at := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			at = slices.IndexFunc(topics, func(t topic) bool { return t.name == strings.Trim(line, "[]") })
		case at >= 0:
			all = append(all, lesson{at, line})
		}
	}
	return all
}

// learn finds the words that requests of a topic have more often than others, each with the logarithm of how much more.
// What was seen once counts half.
func (l *lexicon) learn(all []lesson) {
	l.taught = map[string][]entry{}
	requests := make([]float64, len(l.topics))
	seen := map[string]map[int]float64{} // by word, by topic
	for _, x := range all {
		requests[x.topic]++
		l.hints(tokens(x.text), func(key, _ string, _ float64) {
			if seen[key] == nil {
				seen[key] = map[int]float64{}
			}
			seen[key][x.topic]++
		})
	}
	for key, by := range seen {
		have := 0.0
		for _, n := range by {
			have += n
		}
		share := have / float64(len(all))
		for topic := range l.topics {
			n := by[topic]
			if more := math.Log((n + prior*share) / (requests[topic] + prior) / share); n > 0 && more > 0 {
				l.taught[key] = append(l.taught[key], entry{topic, taughtWeight * more * n / (n + 1)})
			}
		}
	}
}

// recall tells the topics of a request that was learned of, with the words that speak for each.
func (l *lexicon) recall(ts []token, found func(f feature, weight float64, words string)) {
	type hit struct {
		entries []entry
		weight  float64
		words   string
	}
	var hits []hit
	sum := fewWords
	l.hints(ts, func(key, words string, weight float64) {
		if es := l.taught[key]; len(es) > 0 {
			hits = append(hits, hit{es, weight, words})
			sum += weight * weight
		}
	})
	if len(hits) < 2 {
		return // a word by itself: the lexicon knows better
	}
	for _, h := range hits {
		for _, e := range h.entries {
			found(feature{kind: ofTopic, num: e.topic}, h.weight*e.weight/math.Sqrt(sum), h.words)
		}
	}
}

// hints tells, each once, what of a text is learned by: the stems of its words, pairs of East Asian letters, and Chinese
// letters by themselves.
func (l *lexicon) hints(ts []token, found func(key, words string, weight float64)) {
	seen := map[string]bool{}
	once := func(key, words string, weight float64) {
		if !seen[key] {
			seen[key] = true
			found(key, words, weight)
		}
	}
	for _, t := range ts {
		weight := 1.0
		if t.aside {
			weight = asideShare
		}
		if !t.run {
			if !t.number() && l.ordinary[t.word] != stopWord {
				once(t.stem, t.text, weight)
			}
			continue
		}
		rs := []rune(t.word)
		for i, r := range rs {
			if i+1 < len(rs) && !(hiragana(r) && hiragana(rs[i+1])) {
				once(string(rs[i:i+2]), string(rs[i:i+2]), weight)
			}
			if unicode.Is(unicode.Han, r) {
				once(string(r), string(r), letterWeight*weight)
			}
		}
	}
}
