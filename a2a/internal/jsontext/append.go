package jsontext

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s in quotation marks. What is not UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	b = append(b, '"')
	for {
		n := plainEnd(s, 0)
		if b = append(b, s[:n]...); n == len(s) {
			return append(b, '"')
		}
		switch c := s[n]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		s = s[n+1:]
	}
}

// AppendName begins a member: a comma unless it is the object's first, the name and a colon. The name is written as it is.
func AppendName(b []byte, name string) []byte {
	if b[len(b)-1] == '{' {
		b = append(b, '"')
	} else {
		b = append(b, ',', '"')
	}
	b = append(b, name...)
	return append(b, '"', ':')
}

// AppendText appends a member that is left out when empty.
func AppendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return AppendString(AppendName(b, name), s)
}

// AppendTrue appends a member that is left out when false.
func AppendTrue(b []byte, name string, v bool) []byte {
	if !v {
		return b
	}
	return append(AppendName(b, name), "true"...)
}

// AppendList appends a member that is left out when empty.
func AppendList(b []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	return AppendStrings(AppendName(b, name), list)
}

// AppendStrings appends an array of strings.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

// AppendInt appends a number.
func AppendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// AppendBytes appends base64, standard and padded.
func AppendBytes(b, raw []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, raw)
	return append(b, '"')
}

// AppendTime appends t in UTC, to the millisecond.
func AppendTime(b []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
}

// AppendObject appends a member that holds a raw object; anything else is left out.
func AppendObject(b []byte, name string, raw []byte) []byte {
	if !IsObject(raw) {
		return b
	}
	return appendCompact(AppendName(b, name), raw)
}

// AppendRaw appends a raw value without white space outside strings; what is not JSON becomes null.
func AppendRaw(b, raw []byte) []byte {
	if Check(raw, hardDepth) != nil {
		return append(b, "null"...)
	}
	return appendCompact(b, raw)
}

// appendCompact appends a checked text without white space outside strings.
func appendCompact(dst, raw []byte) []byte {
	done := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = closing(raw, i)
		case isSpace(c):
			dst = append(dst, raw[done:i]...)
			done = i + 1
		}
	}
	return append(dst, raw[done:]...)
}
