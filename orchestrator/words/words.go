// Package words finds the words of a text, the same way for the index of a store, for what a person types and for the
// marks in a snippet: what a store's own search gets has nothing left to fold or to split.
//
// A word is a run of letters and digits, in lower case and without accents. East Asian text has no spaces to split at,
// so there each letter is a word together with the one after it, and the last of a run is one by itself: 東京駅 is
// 東京 京駅 駅. That finds every part of such a text, a single letter by its prefix.
package words

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Word is a word of a text and where it stands.
type Word struct {
	Text       string
	Start, End int
	pair       bool // of East Asian letters: one or two of them
}

// Of yields the words of s, which is in NFC.
func Of(s string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		var folded strings.Builder
		start := -1 // of the word being read
		flush := func(end int) bool {
			if start < 0 {
				return true
			}
			w := Word{Text: folded.String(), Start: start, End: end}
			start = -1
			folded.Reset()
			return w.Text == "" || yield(w)
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
				if !yield(Word{Text: s[i:end], Start: i, End: end, pair: true}) {
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

// Indexed returns the words of a text with a space between them.
func Indexed(s string) string {
	s = norm.NFC.String(s)
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for w := range Of(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}
