package jsontext

import (
	"math/bits"
	"unicode/utf8"
)

// hardDepth bounds the recursion of Check: nothing deeper is looked at.
const hardDepth = 10_000

// Check reports whether b is exactly one JSON value in UTF-8, nested at most depth deep (an object in an array is 2).
// A text that is too deep and well-formed otherwise gives an Error of kind Deep, and can be read.
func Check(b []byte, depth int) error {
	c := checker{b: b, limit: depth, deep: -1}
	i, msg := c.value(skipSpace(b, 0), 1)
	if msg == "" {
		if i = skipSpace(b, i); i < len(b) {
			msg = "has something after its end"
		} else if !utf8.Valid(b) {
			msg = "is not UTF-8"
		}
	}
	switch {
	case msg != "":
		return &Error{Syntax, i, msg}
	case c.deep >= 0:
		return &Error{Deep, c.deep, "is nested too deeply"}
	}
	return nil
}

type checker struct {
	b     []byte
	limit int
	deep  int // where the limit was passed first; -1
}

// value checks the value at i and returns where it ends; msg is not empty when there is something wrong at i.
func (c *checker) value(i, depth int) (end int, msg string) {
	b := c.b
	if i >= len(b) {
		return i, "ends too early"
	}
	switch ch := b[i]; ch {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		if depth > c.limit && c.deep < 0 {
			c.deep = i
		}
		if depth > hardDepth {
			return i, "is nested too deeply"
		}
		return c.container(i, depth)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	}
	return numberEnd(b, i)
}

func (c *checker) container(i, depth int) (end int, msg string) {
	b := c.b
	object, closing := b[i] == '{', b[i]+2 // { } and [ ] are two apart
	if i = skipSpace(b, i+1); i < len(b) && b[i] == closing {
		return i + 1, ""
	}
	for {
		if object {
			if i >= len(b) || b[i] != '"' {
				return i, "needs a member name"
			}
			if i, msg = stringEnd(b, i); msg != "" {
				return i, msg
			}
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return i, "needs a colon"
			}
			i = skipSpace(b, i+1)
		}
		if i, msg = c.value(i, depth+1); msg != "" {
			return i, msg
		}
		i = skipSpace(b, i)
		switch {
		case i >= len(b):
			return i, "ends too early"
		case b[i] == closing:
			return i + 1, ""
		case b[i] != ',':
			return i, "needs a comma"
		}
		i = skipSpace(b, i+1)
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') }

func literal(b []byte, i int, word string) (int, string) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, "is not JSON"
	}
	return i + len(word), ""
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd returns where the first byte from i on is that does not stand for itself within a string, eight at a time: the
// high bit of a byte that is less than a space, a quotation mark or a backslash comes out set.
func plainEnd[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		odd := ((x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) &^ x & highs
		if odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}

// plain holds the bytes that stand for themselves within a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

func stringEnd(b []byte, i int) (int, string) {
	for i = plainEnd(b, i+1); i < len(b); i = plainEnd(b, i+1) {
		switch b[i] {
		case '"':
			return i + 1, ""
		case '\\':
			if i++; i >= len(b) {
				return i, "ends too early"
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(b) || unhex(b[i]) < 0 {
						return i, "has a bad escape"
					}
				}
			default:
				return i, "has a bad escape"
			}
		default:
			return i, "has a control character in a string"
		}
	}
	return i, "ends too early"
}

func unhex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return rune(c - 'A' + 10)
	}
	return -1
}

func numberEnd(b []byte, i int) (int, string) {
	if b[i] == '-' {
		i++
	}
	start := i
	if i = digits(b, i); i == start || b[start] == '0' && i > start+1 {
		return start, "is not JSON"
	}
	if i < len(b) && b[i] == '.' {
		if start, i = i, digits(b, i+1); i == start+1 {
			return i, "has a bad number"
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if start, i = i, digits(b, i); i == start {
			return i, "has a bad number"
		}
	}
	return i, ""
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}
