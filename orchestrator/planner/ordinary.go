package planner

import (
	_ "embed"
	"strings"
)

//go:embed ordinary.txt
var ordinaryText string

type wordKind uint8

const (
	plainWord wordKind = iota
	weakWord           // says little: it counts, but not for much
	stopWord           // says nothing
)

func ordinaryWords() map[string]wordKind {
	m := map[string]wordKind{}
	for _, line := range ordinaryLines() {
		for _, w := range line.words {
			m[w] = max(m[w], line.kind)
		}
	}
	return m
}

type ordinaryLine struct {
	kind  wordKind
	lang  string
	words []string
}

func ordinaryLines() []ordinaryLine {
	var all []ordinaryLine
	for line := range strings.Lines(ordinaryText) {
		head, words, ok := strings.Cut(strings.TrimSpace(line), ":")
		kind, lang, two := strings.Cut(head, " ")
		if !ok || !two || strings.HasPrefix(line, "#") {
			continue
		}
		l := ordinaryLine{kind: weakWord, lang: lang}
		if kind == "stop" {
			l.kind = stopWord
		}
		for _, t := range tokens(words) {
			l.words = append(l.words, t.word)
		}
		all = append(all, l)
	}
	return all
}
