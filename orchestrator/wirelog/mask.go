package wirelog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// masked stands where a secret was.
const masked = "[masked]"

// secretNames are found anywhere in the name of a header, a parameter or a member whose value is a secret. Names are
// compared in lower case without - and _.
var secretNames = []string{
	"authorization", "cookie", "token", "secret", "password", "passwd", "passphrase", "apikey", "credential", "privatekey",
	"clientassertion", "jwt",
}

var unpunctuated = strings.NewReplacer("-", "", "_", "")

func secretName(name string) bool {
	name = unpunctuated.Replace(strings.ToLower(name))
	for _, s := range secretNames {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// plainHeaders are shown as they are. A credential may come in a header of any other name: a person chooses it.
var plainHeaders = map[string]bool{
	"a2a-extensions": true, "a2a-version": true, "accept": true, "accept-encoding": true, "accept-language": true,
	"connection": true, "content-encoding": true, "content-length": true, "content-type": true, "host": true,
	"last-event-id": true, "origin": true, "traceparent": true, "tracestate": true, "user-agent": true, "webhook-id": true,
	"webhook-timestamp": true, "x-a2a-extensions": true,
}

// maskHeader returns a header as JSON without its secrets, nil for an empty one.
func maskHeader(h map[string][]string) []byte {
	if len(h) == 0 {
		return nil
	}
	shown := make(map[string][]string, len(h))
	for name, values := range h {
		if len(values) == 0 { // it is not sent
			continue
		}
		if !plainHeaders[strings.ToLower(name)] || secretName(name) {
			values = []string{masked}
		}
		shown[name] = values
	}
	b, _ := json.Marshal(shown) // of strings
	return b
}

// maskURL returns an address without user, password and the values of parameters that are secrets.
func maskURL(s string) string {
	if !strings.ContainsAny(s, "?@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		s, _, _ = strings.Cut(s, "?")
		return s[strings.LastIndexByte(s, '@')+1:]
	}
	if u.User != nil {
		u.User = url.User(masked)
	}
	u.RawQuery = maskPairs(u.RawQuery)
	return u.String()
}

// secretPairs are names that stand for a secret in a query or a form, and for much else elsewhere.
var secretPairs = map[string]bool{"key": true, "sig": true, "signature": true, "code": true}

// maskPairs masks in name=value&name=value.
func maskPairs(query string) string {
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		if name, _, ok := strings.Cut(p, "="); ok && (secretName(name) || secretPairs[strings.ToLower(name)]) {
			pairs[i] = name + "=" + url.QueryEscape(masked)
		}
	}
	return strings.Join(pairs, "&")
}

// maskBody masks the strings of JSON that belong to a secret member, also in JSON that is broken or comes in pieces, and
// strings that begin as an Authorization header does, and what is secret in a string that is an address. Numbers stay, and so
// does the rest, byte for byte.
func maskBody(body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	if bytes.IndexByte(body, '"') < 0 {
		if bytes.IndexByte(body, '=') > 0 {
			return []byte(maskPairs(string(body)))
		}
		return body
	}
	var out []byte
	kept := 0 // up to where body is in out
	secret := false
	depth := 0 // of the value of a secret member
	for i := 0; i < len(body); {
		switch c := body[i]; c {
		case '"':
			end := stringEnd(body, i)
			inner := bytes.TrimSuffix(body[i+1:end], []byte{'"'})
			switch {
			case isName(body, end):
				if depth == 0 {
					secret = secretName(string(inner))
				}
			case secret || depth > 0 || credential(inner):
				out = append(append(append(out, body[kept:i]...), '"'), masked...)
				out = append(out, '"')
				kept = end
				secret = false
			default:
				if link, ok := maskLink(inner); ok {
					out = append(append(append(out, body[kept:i]...), '"'), link...)
					out = append(out, '"')
					kept = end
				}
			}
			i = end
			continue
		case '{', '[':
			if secret || depth > 0 {
				depth++
				secret = false
			}
		case '}', ']':
			depth = max(depth-1, 0)
			secret = false
		case ',':
			secret = false
		}
		i++
	}
	if kept == 0 {
		return body
	}
	return append(out, body[kept:]...)
}

// maskLink masks within a string of JSON, without its quotes; ok is false where nothing in it is the secret of an address.
func maskLink(s []byte) (shown []byte, ok bool) {
	if len(s) < len("https://") || !bytes.EqualFold(s[:4], []byte("http")) || !bytes.ContainsAny(s, "?@") {
		return nil, false
	}
	var link string
	if json.Unmarshal(append(append([]byte{'"'}, s...), '"'), &link) != nil || !strings.Contains(link, "://") {
		return nil, false
	}
	u, err := url.Parse(link)
	if err != nil || u.User == nil && maskPairs(u.RawQuery) == u.RawQuery {
		return nil, false
	}
	safe := maskURL(link)
	if safe == link {
		return nil, false
	}
	b, _ := json.Marshal(safe) // of a string
	return b[1 : len(b)-1], true
}

// stringEnd returns the place behind the string that begins at i; an unfinished one ends with b.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// isName reports whether the string that ends at i is the name of a member.
func isName(b []byte, i int) bool {
	for ; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return b[i] == ':'
		}
	}
	return false
}

// credential reports whether a string is a credential by its beginning.
func credential(s []byte) bool {
	scheme, rest, ok := bytes.Cut(s, []byte{' '})
	if !ok || len(rest) < 8 || bytes.IndexByte(rest, ' ') >= 0 {
		return false
	}
	return bytes.EqualFold(scheme, []byte("bearer")) || bytes.EqualFold(scheme, []byte("basic"))
}
