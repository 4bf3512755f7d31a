package planner

import (
	"sync"
	"unicode"
)

var readTongues = sync.OnceValue(func() map[string]map[string]bool {
	m := map[string]map[string]bool{}
	for _, line := range ordinaryLines() {
		if m[line.lang] == nil {
			m[line.lang] = map[string]bool{}
		}
		for _, w := range line.words {
			m[line.lang][w] = true
		}
	}
	return m
})

// language guesses what language a text is in: by its script, or by the ordinary words it has most of; "" when it has
// none. Chinese is what has Chinese letters and no Japanese ones.
func language(ts []token) string {
	count := map[string]int{}
	han := 0
	for _, t := range ts {
		for _, r := range t.word {
			switch {
			case !t.run:
			case unicode.Is(unicode.Hangul, r):
				count["ko"]++
			case unicode.In(r, unicode.Hiragana, unicode.Katakana):
				count["ja"]++
			case unicode.Is(unicode.Han, r):
				han++
			}
		}
		if t.run {
			continue
		}
		for lang, words := range readTongues() {
			if words[t.word] {
				count[lang] += 2
			}
		}
	}
	if count["ja"] == 0 {
		count["zh"] = han
	}
	best := ""
	for _, lang := range []string{"en", "de", "es", "fr", "ja", "ko", "zh"} {
		if count[lang] > count[best] {
			best = lang
		}
	}
	return best
}

// foreign reports whether a language is known and not English.
func foreign(language string) bool { return language != "" && language != "en" }
