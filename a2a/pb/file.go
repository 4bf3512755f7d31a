package pb

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// The Python and Go SDKs of v0.3 put the base64 text of a file into the bytes of a2a.v1, the JavaScript one the file
// itself, and nothing in a message says which it is.

// wrapFile makes the bytes of a2a.v1 of a file: its base64 text.
func wrapFile(raw []byte) []byte { return base64.StdEncoding.AppendEncode(nil, raw) }

// unwrapFile reads the bytes of a2a.v1: base64 text is decoded, anything else is the file itself. A word of a text file that
// merely looks like base64 is told by what would come out of it: no text.
func unwrapFile(b []byte, mediaType string) []byte {
	if len(b) == 0 || len(b)%4 != 0 {
		return b
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(b)))
	n, err := base64.StdEncoding.Strict().Decode(raw, b)
	if err != nil || bytes.ContainsAny(b, "\r\n") { // which Decode passes over
		return b
	}
	if raw = raw[:n:n]; len(b) < aWord && strings.HasPrefix(strings.ToLower(mediaType), "text/") && !isText(raw) {
		return b
	}
	return raw
}

// aWord is the length from which on no text is one word that happens to look like base64.
const aWord = 16

// isText reports whether b is UTF-8 without control characters other than white space.
func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1b' || c == 0x7f
	})
}
