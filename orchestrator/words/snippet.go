package words

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/orchestrator"
)

// snippetLength is how many bytes a snippet has, about.
const snippetLength = 200

// Plain is the text of spans.
func Plain(spans []orchestrator.Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// span is a marked part of a text.
type span struct{ start, end int }

// Has reports whether all of the terms are in a text. A store asks that finds words that only seem to stand in a row (cluster/postgres).
func Has(text string, wanted []Term) bool {
	all := slices.Collect(Of(norm.NFC.String(text)))
	for _, t := range wanted {
		found := false
		for i := 0; i < len(all) && !found; i++ {
			found = t.at(all[i:]) > 0
		}
		if !found {
			return false
		}
	}
	return true
}

// Snippet cuts the part of a text around its first hit, with the hits marked.
func Snippet(text string, wanted []Term) []orchestrator.Span {
	text = norm.NFC.String(text)
	all := slices.Collect(Of(text))
	var marks []span
	for i := range all {
		for _, t := range wanted {
			if n := t.at(all[i:]); n > 0 {
				m := span{all[i].Start, all[i+n-1].End}
				if last := all[i+n-1]; t.Prefix && last.pair {
					// Of a pair that was found by its first letter, the second is not a hit.
					_, size := utf8.DecodeRuneInString(last.Text)
					m.end = last.Start + size
				}
				marks = append(marks, m)
			}
		}
	}
	slices.SortFunc(marks, func(a, b span) int { return a.start - b.start })
	from := 0
	if len(marks) > 0 {
		from = cutBefore(text, marks[0].start-snippetLength/3)
	}
	to := cutAfter(text, from+snippetLength)

	var spans []orchestrator.Span
	add := func(s string, mark bool) {
		if s == "" {
			return
		}
		if n := len(spans); n > 0 && spans[n-1].Mark == mark {
			spans[n-1].Text += s
			return
		}
		spans = append(spans, orchestrator.Span{Text: s, Mark: mark})
	}
	if from > 0 {
		add("…", false)
	}
	at := from
	for _, m := range marks {
		m.start, m.end = max(m.start, at), min(m.end, to)
		if m.start >= m.end {
			continue
		}
		add(text[at:m.start], false)
		add(text[m.start:m.end], true)
		at = m.end
	}
	add(text[at:to], false)
	if to < len(text) {
		add("…", false)
	}
	return spans
}

// at returns how many words the term takes at the beginning of ws, 0 when it is not there.
func (t Term) at(ws []Word) int {
	if len(ws) < len(t.Words) {
		return 0
	}
	for i, w := range t.Words {
		last := i == len(t.Words)-1
		if ws[i].Text != w && !(last && t.Prefix && strings.HasPrefix(ws[i].Text, w)) {
			return 0
		}
	}
	return len(t.Words)
}

// cutBefore returns a place at or shortly before i where a text may be cut: behind white space when there is some near.
func cutBefore(s string, i int) int {
	if i <= 0 {
		return 0
	}
	if j := strings.LastIndexAny(s[max(0, i-24):i], " \n\t"); j >= 0 {
		return max(0, i-24) + j + 1
	}
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// cutAfter returns a place at or shortly after i where a text may be cut.
func cutAfter(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if j := strings.IndexAny(s[i:min(len(s), i+24)], " \n\t"); j >= 0 {
		return i + j
	}
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}
