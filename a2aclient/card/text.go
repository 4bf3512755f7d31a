package card

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/a2a"
)

// How much of an agent's own words is shown, in characters.
const (
	MaxName        = 128
	MaxDescription = 1024
	MaxSkill       = 512
)

// Text makes words that came from outside fit to be shown: characters that cannot be seen or that turn the reading
// direction are taken out (line ends and tabs stay), bytes that are no UTF-8 are replaced, and what is longer than max
// characters ends in an ellipsis. It reports whether anything had to be done.
func Text(s string, max int) (string, bool) {
	if plain(s, max) {
		return s, false
	}
	var b strings.Builder
	n, changed := 0, false
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				changed = true
			}
		}
		if hidden(r) {
			changed = true
			continue
		}
		if n++; n > max {
			kept := b.String()
			_, last := utf8.DecodeLastRuneInString(kept)
			return kept[:len(kept)-last] + "…", true
		}
		b.WriteRune(r)
	}
	return b.String(), changed
}

// Name is Text for one line: line ends and runs of space become single spaces.
func Name(s string, max int) (string, bool) {
	t, changed := Text(strings.Join(strings.Fields(s), " "), max)
	return t, changed
}

// plain reports whether s is short printable ASCII, as nearly everything is.
func plain(s string, max int) bool {
	if len(s) > max {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// hidden reports whether r is a control, a direction mark, or has no width.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		return true // Cf holds the bidi controls, zero-width marks, tags and the soft hyphen
	case r == 0x2028 || r == 0x2029: // line and paragraph separator
		return true
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0: // Hangul fillers, blank
		return true
	case r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r == 0x034f || r == 0x180b || r == 0x180c || r == 0x180d: // joiner and selectors without a shape
		return true
	}
	return false
}

// clean makes every word of the card that is meant for people fit to be shown. Identifiers, addresses and media types
// stay as they are: they are compared, not read.
func clean(c *a2a.AgentCard) (notes []string) {
	fix := func(what string, s *string, max int, f func(string, int) (string, bool)) {
		t, changed := f(*s, max)
		if *s = t; changed {
			notes = append(notes, fmt.Sprintf("The %s held hidden characters or was too long; it is shown without them.", what))
		}
	}
	fix("agent's name", &c.Name, MaxName, Name)
	fix("agent's description", &c.Description, MaxDescription, Text)
	fix("agent's version", &c.Version, MaxName, Name)
	if c.Provider != nil {
		p := *c.Provider
		fix("provider's name", &p.Organization, MaxName, Name)
		c.Provider = &p
	}
	for i := range c.Skills {
		s := &c.Skills[i]
		fix("name of a skill", &s.Name, MaxName, Name)
		fix("description of a skill", &s.Description, MaxSkill, Text)
		for j := range s.Tags {
			fix("tag of a skill", &s.Tags[j], MaxName, Name)
		}
		for j := range s.Examples {
			fix("example of a skill", &s.Examples[j], MaxSkill, Text)
		}
	}
	for i := range c.Capabilities.Extensions {
		fix("description of an extension", &c.Capabilities.Extensions[i].Description, MaxSkill, Text)
	}
	return notes
}
