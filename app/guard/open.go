package guard

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ErrURL is what SafeURL refuses with.
var ErrURL = errors.New("only a plain http or https address can be opened")

// SafeURL returns an address that may be handed to the program that opens links: http or https with a host, written anew
// from its parts, without characters that a shell, a command line or a terminal reads in its own way. Hand on what it
// returns, never what it was given.
func SafeURL(raw string) (string, error) {
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return "", ErrURL
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.User != nil {
		return "", ErrURL
	}
	if name := u.Hostname(); !strings.Contains(name, ":") {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return "", ErrURL
		}
		if again, err := idna.Lookup.ToASCII(ascii); err != nil || again != ascii { // made of bytes that are no letters
			return "", ErrURL
		}
		u.Host = ascii + strings.TrimPrefix(u.Host, name)
	}
	if u.Hostname() == "" || !cleanHost(u.Host) {
		return "", ErrURL
	}
	return escapeRest.Replace(u.String()), nil
}

// escapeRest escapes what an address may hold by the letter of the standard and a shell would stumble over.
var escapeRest = strings.NewReplacer(`"`, "%22", "'", "%27", "`", "%60", "<", "%3C", ">", "%3E", "|", "%7C", "^", "%5E",
	"{", "%7B", "}", "%7D", "$", "%24", "(", "%28", ")", "%29", ";", "%3B", "!", "%21")

// cleanHost reports whether a host is a name or an address and nothing else.
func cleanHost(host string) bool {
	return !strings.HasPrefix(host, "-") && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == ""
}
