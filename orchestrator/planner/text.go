package planner

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// token is a word of a text written with spaces, or a run of East Asian letters, which is not.
type token struct {
	text  string // as it was written
	word  string // folded: lower case, no accents; for a run the letters themselves
	stem  string // "" for a run
	run   bool
	aside bool // pasted or quoted: it is what the request is about, seldom what is to be done
}

// number reports whether the word is of digits only.
func (t token) number() bool { return strings.Trim(t.word, "0123456789") == "" }

// maxRunes bounds what a long message costs to read: its beginning says what is wanted.
const maxRunes = 4000

// tokens reads a text. An apostrophe within a word is left out (hasn't is hasnt, as many write it), but after one or two
// letters it ends a word (l'avion).
func tokens(s string) []token {
	if len(s) > 4*maxRunes {
		s = s[:4*maxRunes]
	}
	s = norm.NFKC.String(s)
	var all []token
	var raw, word strings.Builder
	var quote rune // that ends what is quoted; 0 outside
	run, pasted, begun := false, false, false
	flush := func() {
		if raw.Len() > 0 {
			t := token{text: raw.String(), word: canon(word.String()), run: run, aside: pasted || quote != 0}
			if !run {
				t.stem = stem(t.word)
			}
			all = append(all, t)
		}
		raw.Reset()
		word.Reset()
	}
	rs := []rune(s)
	if len(rs) > maxRunes {
		rs = rs[:maxRunes]
	}
	for i, r := range rs {
		letter := unicode.IsLetter(r) || unicode.IsNumber(r)
		switch ea := letter && eastAsian(r); {
		case letter:
			if ea != run {
				flush()
				run = ea
			}
			raw.WriteRune(r)
			if ea {
				word.WriteRune(r)
			} else {
				fold(&word, r)
			}
			begun = true
		case unicode.Is(unicode.Mn, r):
		case isApostrophe(r) && i > 0 && unicode.IsLetter(rs[i-1]) && i+1 < len(rs) && unicode.IsLetter(rs[i+1]):
			if word.Len() <= 2 {
				flush()
			} else {
				raw.WriteRune(r)
			}
		default:
			flush()
			switch {
			case quote != 0 && r == quote:
				quote = 0
			case quote == 0 && begun:
				quote = closing(rs[i:])
			}
			pasted = pasted || begun && r == '\n'
		}
	}
	flush()
	return all
}

// closing returns the mark that ends the quotation that begins at rs, or 0 if none begins there or it never ends.
func closing(rs []rune) rune {
	end := map[rune]rune{'"': '"', '“': '”', '„': '“', '«': '»', '「': '」', '\'': '\''}[rs[0]]
	if end == 0 {
		return 0
	}
	for _, r := range rs[1:] {
		if r == end {
			return end
		}
	}
	return 0
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// eastAsian reports whether r is written without spaces between words, or, in Korean, with endings that grow on them.
func eastAsian(r rune) bool {
	return r == 'ー' || r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// fold writes a letter in lower case without accents.
func fold(b *strings.Builder, r rune) {
	if r < 0x80 {
		b.WriteRune(unicode.ToLower(r))
		return
	}
	if r == 'ß' {
		b.WriteString("ss")
		return
	}
	for _, c := range norm.NFD.String(string(r)) {
		if !unicode.Is(unicode.Mn, c) {
			b.WriteRune(unicode.ToLower(c))
		}
	}
}

// umlauts lets ü be written as ue or as u.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

func canon(word string) string { return umlauts.Replace(word) }

// stem takes the commonest endings of English, German, Spanish and French off a folded word. It is the same for all of
// them: what it gets wrong it gets wrong in cards, requests and the lexicon alike.
func stem(w string) string {
	cut := func(min int, endings ...string) bool {
		for _, e := range endings {
			if len(w)-len(e) >= min && strings.HasSuffix(w, e) {
				w = w[:len(w)-len(e)]
				return true
			}
		}
		return false
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is"):
	default:
		cut(3, "s")
	}
	if cut(4, "ing", "ed", "en", "em") {
		if n := len(w); n > 4 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
			w = w[:n-1]
		}
	}
	cut(4, "e", "a", "o")
	return w
}
