package jsontext

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Reader walks a text that passed Check:
//
//	for r.Object(); r.Member(); {
//		switch string(r.Name()) {
//		case "messageId":
//			m.ID = r.String()
//		default:
//			r.Skip()
//		}
//	}
//
// Every value must be read or skipped. The first value of a wrong type ends all loops; Err tells of it. Whatever is
// returned is a copy, but for Name, Key, Text, Span and Since.
type Reader struct {
	b    []byte
	i    int
	err  *Error
	key  []byte
	room [32]byte // for a name in lowerCamelCase
}

// NewReader returns a reader of b.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err returns the *Error that stopped the reader, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fail stops the reader because of the value that begins at offset.
func (r *Reader) Fail(offset int, msg string) {
	if r.err == nil {
		r.err = &Error{Type, offset, msg}
	}
	r.i = len(r.b)
}

// Offset is where the next value begins.
func (r *Reader) Offset() int {
	r.space()
	return r.i
}

func (r *Reader) space() { r.i = skipSpace(r.b, r.i) }

// Peek returns the first byte of the next value: one of { [ " t f n - 0…9, or 0 at the end.
func (r *Reader) Peek() byte {
	if r.space(); r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

// Object enters an object.
func (r *Reader) Object() { r.enter('{', "must be an object") }

// Array enters an array.
func (r *Reader) Array() { r.enter('[', "must be an array") }

func (r *Reader) enter(c byte, msg string) {
	if r.Peek() != c {
		r.Fail(r.i, msg)
		return
	}
	r.i++
}

// Member goes to the next member of an object that is not null; false means that the object is over.
func (r *Reader) Member() bool {
	for r.MemberOrNull() {
		if !r.Null() {
			return true
		}
	}
	return false
}

// MemberOrNull goes to the next member of an object.
func (r *Reader) MemberOrNull() bool {
	if r.err != nil {
		return false
	}
	c := r.Peek()
	if c == ',' {
		r.i++
		c = r.Peek()
	}
	if c == '}' {
		r.i++
		return false
	}
	var escaped bool
	if r.key, escaped = r.quoted(); escaped {
		r.key = unescape(nil, r.key)
	}
	r.space()
	r.i++ // the colon
	r.space()
	return true
}

// Element goes to the next element of an array that is not null; false means that the array is over.
func (r *Reader) Element() bool {
	for r.err == nil {
		c := r.Peek()
		if c == ',' {
			r.i++
			c = r.Peek()
		}
		if c == ']' {
			r.i++
			return false
		}
		if !r.Null() {
			return true
		}
	}
	return false
}

// Null passes over a null, if there is one.
func (r *Reader) Null() bool {
	if r.i < len(r.b) && r.b[r.i] == 'n' {
		r.i += 4
		return true
	}
	return false
}

// Key is the name of the member as it was written; valid until the next one.
func (r *Reader) Key() []byte { return r.key }

// Name is the name of the member, snake_case turned into lowerCamelCase; valid until the next one.
func (r *Reader) Name() []byte {
	if bytes.IndexByte(r.key, '_') < 0 {
		return r.key
	}
	name := r.room[:0]
	up := false
	for _, c := range r.key {
		switch {
		case c == '_':
			up = true
			continue
		case up && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		name = append(name, c)
	}
	return name
}

// Skip passes over a value.
func (r *Reader) Skip() {
	if r.err != nil {
		return
	}
	b, i, depth := r.b, r.Offset(), 0
	if i >= len(b) {
		r.Fail(i, "is missing")
		return
	}
	for {
		switch b[i] {
		case '"':
			i = closing(b, i) + 1
		case '{', '[':
			i++
			depth++
		case '}', ']':
			i++
			depth--
		case ' ', '\n', '\r', '\t', ',', ':':
			i++
			continue
		default: // a number, true, false or null
			for i++; i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']'; {
				i++
			}
		}
		if depth == 0 {
			r.i = i
			return
		}
	}
}

// closing returns where the string at i has its closing quotation mark.
func closing(b []byte, i int) int {
	for i++; ; i += 2 { // a backslash and what it escapes
		if i = plainEnd(b, i); b[i] == '"' {
			return i
		}
	}
}

// quoted passes over a string and returns what is between its quotation marks.
func (r *Reader) quoted() (s []byte, escaped bool) {
	b := r.b
	i := plainEnd(b, r.i+1)
	if b[i] != '"' {
		escaped = true
		i = closing(b, r.i)
	}
	s = b[r.i+1 : i]
	r.i = i + 1
	return s, escaped
}

// Text reads a string; what it returns may lie in the text itself.
func (r *Reader) Text() []byte {
	if r.err != nil {
		return nil
	}
	if r.Peek() != '"' {
		r.Fail(r.i, "must be a string")
		return nil
	}
	s, escaped := r.quoted()
	if escaped {
		s = unescape(make([]byte, 0, len(s)), s)
	}
	return s
}

// String reads a string.
func (r *Reader) String() string { return string(r.Text()) }

// Strings reads an array of strings; nil when it is empty.
func (r *Reader) Strings() (list []string) {
	for r.Array(); r.Element(); {
		list = append(list, r.String())
	}
	return list
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch r.Peek() {
	case 't':
		r.i += 4
		return true
	case 'f':
		r.i += 5
	default:
		r.Fail(r.i, "must be true or false")
	}
	return false
}

// Int reads a whole number of 32 bits, also in quotation marks.
func (r *Reader) Int() int {
	start := r.Offset()
	var s []byte
	if r.Peek() == '"' {
		s = r.Text()
	} else {
		s = r.number()
	}
	if n, err := strconv.ParseInt(string(s), 10, 32); err == nil {
		return int(n)
	}
	if f, err := strconv.ParseFloat(string(s), 64); err == nil && f == float64(int32(f)) {
		return int(f)
	}
	r.Fail(start, "must be a whole number")
	return 0
}

// number returns the next value if it is a number, else nothing.
func (r *Reader) number() []byte {
	if c := r.Peek(); c != '-' && (c < '0' || c > '9') {
		return nil
	}
	start := r.i
	r.Skip()
	return r.b[start:r.i]
}

// Bytes reads base64, standard or URL-safe, with or without padding; never nil.
func (r *Reader) Bytes() []byte {
	start := r.Offset()
	s := bytes.TrimRight(r.Text(), "=")
	enc := base64.RawStdEncoding
	if bytes.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	raw := make([]byte, enc.DecodedLen(len(s)))
	n, err := enc.Decode(raw, s)
	if err != nil {
		r.Fail(start, "is not base64")
	}
	return raw[:n:n]
}

// Raw reads any value as it is, without white space outside strings.
func (r *Reader) Raw() json.RawMessage {
	start := r.Offset()
	r.Skip()
	return appendCompact(make([]byte, 0, r.i-start), r.b[start:r.i])
}

// RawObject is Raw for an object.
func (r *Reader) RawObject() json.RawMessage {
	if r.Peek() != '{' {
		r.Fail(r.i, "must be an object")
		return nil
	}
	return r.Raw()
}

// Span reads any value and returns it where it lies.
func (r *Reader) Span() []byte {
	start := r.Offset()
	r.Skip()
	return r.b[start:r.i]
}

// Since returns what was read from offset on, where it lies.
func (r *Reader) Since(offset int) []byte { return r.b[offset:r.i] }

// Time reads a point in time: RFC 3339, the same without a zone (UTC), or seconds or milliseconds since 1970. It is
// UTC, to the millisecond; zero when it cannot be understood.
func (r *Reader) Time() time.Time {
	var t time.Time
	switch c := r.Peek(); {
	case c == '"':
		s := r.String()
		var err error
		for _, layout := range layouts {
			if t, err = time.Parse(layout, s); err == nil {
				break
			}
		}
	default:
		f, err := strconv.ParseFloat(string(r.Span()), 64)
		switch {
		case err != nil || f <= 0 || f > 1e15:
		case f > 1e11:
			t = time.UnixMilli(int64(f))
		default:
			t = time.UnixMilli(int64(f * 1000))
		}
	}
	t = t.UTC().Truncate(time.Millisecond)
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}
	}
	return t
}

var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"}

// unescape appends what the inside of a string stands for.
func unescape(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			n := bytes.IndexByte(s[i:], '\\')
			if n < 0 {
				n = len(s) - i
			}
			dst = append(dst, s[i:i+n]...)
			i += n
			continue
		}
		i += 2
		switch c := s[i-1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			c := hex4(s[i:])
			i += 4
			if utf16.IsSurrogate(c) {
				full := utf8.RuneError
				if len(s) >= i+6 && s[i] == '\\' && s[i+1] == 'u' {
					full = utf16.DecodeRune(c, hex4(s[i+2:]))
				}
				if c = full; full != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func hex4(s []byte) (c rune) {
	for _, h := range s[:4] {
		c = c<<4 | unhex(h)
	}
	return c
}
