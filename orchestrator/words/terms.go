package words

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Term is what a query asks for: words in a row, the last of them possibly only begun.
type Term struct {
	Words  []string
	Prefix bool // of the last
	pairs  []bool
}

// Terms reads what a person typed: words that must all be there, "…" for words in a row, the last word taken as a prefix.
// There is no input that it refuses.
func Terms(typed string) []Term {
	typed = norm.NFC.String(typed)
	var all []Term
	add := func(s string, prefix bool) {
		var t Term
		for w := range Of(s) {
			t.Prefix = prefix && w.End == len(s)
			// Of a run of East Asian letters the last is there as the second of a pair.
			if n := len(t.Words); w.pair && utf8.RuneCountInString(w.Text) == 1 && n > 0 && t.pairs[n-1] &&
				strings.HasSuffix(t.Words[n-1], w.Text) && w.Start > 0 && eastAsianBefore(s, w.Start) {
				continue
			}
			t.Words, t.pairs = append(t.Words, w.Text), append(t.pairs, w.pair)
		}
		if n := len(t.Words); n > 0 {
			// A single East Asian letter stands for every pair that begins with it.
			if t.pairs[n-1] {
				t.Prefix = utf8.RuneCountInString(t.Words[n-1]) == 1
			}
			all = append(all, t)
		}
	}
	for typed != "" {
		open := strings.IndexAny(typed, `"“”„«»`)
		plain, rest := typed, ""
		if open >= 0 {
			plain, rest = typed[:open], typed[open:]
		}
		fields := strings.Fields(plain)
		for i, f := range fields {
			add(f, rest == "" && i == len(fields)-1 && !strings.HasSuffix(plain, " "))
		}
		if rest == "" {
			break
		}
		_, n := utf8.DecodeRuneInString(rest)
		phrase, after := rest[n:], ""
		if shut := strings.IndexAny(phrase, `"“”„«»`); shut >= 0 {
			_, n := utf8.DecodeRuneInString(phrase[shut:])
			phrase, after = phrase[:shut], phrase[shut+n:]
		}
		add(phrase, false)
		typed = after
	}
	return all
}

func eastAsianBefore(s string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return eastAsian(r)
}
