// Package jsontext reads and writes JSON text for packages a2a and wire, without reflection and without values in
// between. Check validates a whole text once; a Reader then walks it and trusts its syntax, so that what is left to
// go wrong is a member of the wrong type. The Append functions write JSON that is always valid and holds no line break.
package jsontext

import (
	"strconv"
)

// Kind classifies an Error.
type Kind uint8

const (
	Syntax Kind = iota + 1 // not JSON, or not UTF-8
	Deep                   // nested too deeply, well-formed otherwise
	Type                   // a value of the wrong type or form
)

// Error is what was found wrong at a place in a text. Msg completes a sentence: "must be a string".
type Error struct {
	Kind   Kind
	Offset int
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

// Path names the value at an offset of a checked text: "params.message.parts[2].text".
func Path(b []byte, offset int) string {
	r := NewReader(b)
	var path []byte
	for {
		r.space()
		if r.i >= offset {
			return string(path)
		}
		switch r.b[r.i] {
		case '{':
			r.i++
			if path = r.pathMember(path, offset); path == nil {
				return ""
			}
		case '[':
			r.i++
			n := 0
			for {
				r.space()
				start := r.i
				if r.b[start] == ',' {
					r.i++
					n++
					continue
				}
				if r.b[start] == ']' {
					return string(path)
				}
				if r.Skip(); r.i > offset {
					r.i = start
					break
				}
			}
			path = append(path, '[')
			path = strconv.AppendInt(path, int64(n), 10)
			path = append(path, ']')
		default:
			return string(path)
		}
	}
}

// pathMember adds the member that holds offset to path and leaves r at its value.
func (r *Reader) pathMember(path []byte, offset int) []byte {
	for r.MemberOrNull() {
		start := r.i
		if r.Skip(); r.i > offset {
			r.i = start
			if len(path) > 0 {
				path = append(path, '.')
			}
			return append(path, r.Key()...)
		}
	}
	return nil
}
