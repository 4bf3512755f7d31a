package card

import (
	"net/http"
	"strings"
)

// Challenge is one way to sign in that a server asks for in WWW-Authenticate (RFC 9110 section 11.6.1).
type Challenge struct {
	Scheme string            // as written: "Bearer", "Basic"
	Params map[string]string // names in lower case: realm, scope, error, resource_metadata
	Token  string            // of a scheme that carries one value instead of parameters
}

// SchemeCertificate is the Scheme of a Challenge by TLS itself: a server that wants a client certificate.
const SchemeCertificate = "Certificate"

// Challenges reads every WWW-Authenticate header of h. What it cannot make sense of it leaves out.
func Challenges(h http.Header) []Challenge {
	var out []Challenge
	for _, v := range h.Values("WWW-Authenticate") {
		out = appendChallenges(out, v)
	}
	return out
}

func appendChallenges(out []Challenge, s string) []Challenge {
	const most = 16
	for len(out) < most {
		s = strings.TrimLeft(s, " \t,")
		word := token(s)
		if word == "" {
			return out
		}
		rest := s[len(word):]
		after := strings.TrimLeft(rest, " \t")
		// A name followed by "=" belongs to the challenge before it; anything else opens a new one.
		if value, tail, ok := param(after); ok && len(out) > 0 {
			c := &out[len(out)-1]
			if c.Params == nil {
				c.Params = map[string]string{}
			}
			c.Params[strings.ToLower(word)] = value
			s = tail
			continue
		}
		c := Challenge{Scheme: word}
		if t := token68(after); t != "" && rest != after {
			c.Token, after = t, after[len(t):]
		}
		out = append(out, c)
		s = after
	}
	return out
}

// param reads `= value` at the start of s, quoted or not.
func param(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '=' {
		return "", s, false
	}
	s = strings.TrimLeft(s[1:], " \t")
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), "", true // the closing quote is missing
}

// token returns the token at the start of s.
func token(s string) string {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return s[:i]
		}
	}
	return s
}

// token68 returns the base64-like value at the start of s when it stands alone: up to a comma or the end, and no
// parameter name.
func token68(s string) string {
	i := 0
	for i < len(s) && (isAlnum(s[i]) || strings.IndexByte("-._~+/", s[i]) >= 0) {
		i++
	}
	for i < len(s) && s[i] == '=' {
		i++
	}
	if i == 0 {
		return ""
	}
	if rest := strings.TrimLeft(s[i:], " \t"); rest != "" && rest[0] != ',' {
		return ""
	}
	return s[:i]
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
