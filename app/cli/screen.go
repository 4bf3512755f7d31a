package cli

import (
	"io"
	"unicode/utf8"
)

// screen is a terminal that is told what others wrote: agents, cards, servers. They may not command it, so that of the
// characters that a terminal obeys only the end of a line and the tab reach it. The others are shown as what they are
// (␛ for an escape); so are those that turn the direction of writing around, which would show an address as another one.
//
// Where output goes into a file or to another program it is left as it is.
type screen struct {
	to   io.Writer
	rest []byte // of a character that was cut in two
}

// onScreen is w, as a screen where it is a terminal.
func onScreen(w io.Writer) io.Writer {
	if terminal(w) {
		return &screen{to: w}
	}
	return w
}

func (s *screen) Write(b []byte) (int, error) {
	n := len(b)
	b = append(s.rest, b...)
	s.rest = nil
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			s.rest = append([]byte(nil), b...)
			break
		}
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if r == '\r' && len(b) > 0 && b[0] == '\n' {
			continue
		}
		out = utf8.AppendRune(out, shown(r))
	}
	if _, err := s.to.Write(out); err != nil {
		return 0, err
	}
	return n, nil
}

// shown is a character that a terminal shows in place of one that it would obey.
func shown(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < 0x20:
		return 0x2400 + r
	case r == 0x7f:
		return '␡'
	case r >= 0x80 && r <= 0x9f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return utf8.RuneError
	}
	return r
}
