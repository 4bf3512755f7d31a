package sqlite

import (
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Words are found in Go, the same way for the index, for what a person types and for the marks in a snippet: what FTS5
// gets has nothing left to fold or to split. A word is a run of letters and digits, in lower case and without accents.
// East Asian text has no spaces to split at, so there each letter is a word together with the one after it, and the last
// of a run is one by itself: 東京駅 is 東京 京駅 駅. That finds every part of such a text, a single letter by its prefix.

// word is a word of a text and where it stands.
type word struct {
	text       string
	start, end int
	pair       bool // of East Asian letters: one or two of them
}

// words yields the words of s, which is in NFC.
func words(s string) iter.Seq[word] {
	return func(yield func(word) bool) {
		var folded strings.Builder
		start := -1 // of the word being read
		flush := func(end int) bool {
			if start < 0 {
				return true
			}
			w := word{text: folded.String(), start: start, end: end}
			start = -1
			folded.Reset()
			return w.text == "" || yield(w)
		}
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case eastAsian(r):
				if !flush(i) {
					return
				}
				end := i + n
				if next, m := utf8.DecodeRuneInString(s[end:]); eastAsian(next) {
					end += m
				}
				if !yield(word{text: s[i:end], start: i, end: end, pair: true}) {
					return
				}
			case unicode.IsLetter(r) || unicode.IsNumber(r):
				if start < 0 {
					start = i
				}
				fold(&folded, r)
			case start >= 0 && unicode.Is(unicode.Mn, r):
				// An accent that has no composed form stays with its letter.
			default:
				if !flush(i) {
					return
				}
			}
			i += n
		}
		flush(len(s))
	}
}

// eastAsian reports whether r is written without spaces between words.
func eastAsian(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r == 'ー' || r == '々' || r == '〆' || r == 'ｰ':
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) &&
		(unicode.IsLetter(r) || unicode.IsNumber(r))
}

// fold writes a letter in lower case, without accents, and in its usual width.
func fold(b *strings.Builder, r rune) {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		b.WriteByte(byte(r))
		return
	case 0xFF01 <= r && r <= 0xFF5E:
		fold(b, r-0xFEE0)
		return
	}
	var buf [utf8.UTFMax]byte
	d := norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition()
	if d == nil {
		b.WriteRune(unicode.ToLower(r))
		return
	}
	for _, c := range string(d) {
		if !unicode.Is(unicode.Mn, c) {
			b.WriteRune(unicode.ToLower(c))
		}
	}
}

// indexed returns the words of a text as FTS5 gets them.
func indexed(s string) string {
	s = norm.NFC.String(s)
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for w := range words(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// mark begins the word that stands for an item's conversation. It is a letter to FTS5 and to nobody else, so that no
// text has it and no query that a person types.
const mark = '\uE000'

// inConversation puts the word of a conversation before those of an item.
func inConversation(key any, words string) string {
	return conversationWord(key) + " " + words
}

func conversationWord(key any) string {
	n, _ := key.(int64)
	return string(mark) + strconv.FormatInt(n, 10)
}

// term is what a query asks for: words in a row, the last of them possibly only begun.
type term struct {
	words  []string
	pairs  []bool
	prefix bool
}

// terms reads what a person typed: words that must all be there, "…" for words in a row, the last word taken as a prefix.
// There is no input that it refuses.
func terms(typed string) []term {
	typed = norm.NFC.String(typed)
	var all []term
	add := func(s string, prefix bool) {
		var t term
		for w := range words(s) {
			t.prefix = prefix && w.end == len(s)
			// Of a run of East Asian letters the last is there as the second of a pair.
			if n := len(t.words); w.pair && utf8.RuneCountInString(w.text) == 1 && n > 0 && t.pairs[n-1] &&
				strings.HasSuffix(t.words[n-1], w.text) && w.start > 0 && eastAsianBefore(s, w.start) {
				continue
			}
			t.words, t.pairs = append(t.words, w.text), append(t.pairs, w.pair)
		}
		if n := len(t.words); n > 0 {
			// A single East Asian letter stands for every pair that begins with it.
			if t.pairs[n-1] {
				t.prefix = utf8.RuneCountInString(t.words[n-1]) == 1
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

// match writes terms as an FTS5 query that wants them all.
func match(all []term) string {
	var b strings.Builder
	for i, t := range all {
		if i > 0 {
			b.WriteString(" AND ")
		}
		// Words hold letters and digits only, so nothing needs to be escaped.
		b.WriteString(`"` + strings.Join(t.words, " ") + `"`)
		if t.prefix {
			b.WriteByte('*')
		}
	}
	return b.String()
}
