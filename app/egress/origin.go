package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// origin is a scheme, a host and a port, in the one form in which two of them can be compared with ==.
type origin struct {
	scheme string // http or https
	host   string // a name in lower-case ASCII, or an address as netip writes it, without brackets
	port   string // always there
}

// Origin returns the origin of a URL as a browser writes it: scheme://host, and the port unless it is the scheme's own.
// It is the form to store grants in. It refuses what is not http or https, user names, trailing dots, zones, and hosts
// that are a number in disguise (2130706433, 0x7f.1, 127.1).
func Origin(rawURL string) (string, error) {
	o, err := parseOrigin(rawURL)
	if err != nil {
		return "", err
	}
	return o.String(), nil
}

func (o origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port == defaultPort(o.scheme) {
		return o.scheme + "://" + host
	}
	return o.scheme + "://" + host + ":" + o.port
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

func parseOrigin(s string) (origin, error) {
	u, err := url.Parse(s)
	if err != nil {
		// The text of a url.Error repeats the whole address, which may hold a secret.
		return origin{}, &Refused{Reason: "this is not a web address", Advice: "Check the spelling."}
	}
	return originOf(u)
}

// originOf returns the origin of a URL, or a *Refused that says what is wrong with it.
func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: strings.ToLower(u.Scheme), port: u.Port()}
	shown := o.scheme + "://" + u.Host
	if o.scheme != "http" && o.scheme != "https" {
		return origin{}, &Refused{Origin: shown, Reason: "only http and https addresses can be reached", Advice: "Use an address that begins with https://."}
	}
	if u.User != nil {
		return origin{}, &Refused{Origin: shown, Reason: "a user name or password does not belong into an address", Advice: "Give the sign-in separately."}
	}
	if u.Opaque != "" {
		return origin{}, &Refused{Origin: shown, Reason: "this is not a web address", Advice: "Check the spelling."}
	}
	if o.port == "" {
		if strings.HasSuffix(u.Host, ":") {
			return origin{}, &Refused{Origin: shown, Reason: "the port is missing after the colon", Advice: "Write the port, or leave out the colon."}
		}
		o.port = defaultPort(o.scheme)
	} else if n, err := strconv.ParseUint(o.port, 10, 16); err != nil || n == 0 || o.port[0] == '0' {
		return origin{}, &Refused{Origin: shown, Reason: "the port is not a number from 1 to 65535", Advice: "Check the port."}
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return origin{}, &Refused{Origin: shown, Reason: err.Error(), Advice: "Write the host as a plain name or address."}
	}
	o.host = host
	return o, nil
}

// canonicalHost returns a host in the form that origins are compared in.
func canonicalHost(host string) (string, error) {
	if !plain(host) {
		ascii, err := idna.Lookup.ToASCII(host)
		if !utf8.ValidString(host) || err != nil && !strings.Contains(host, ":") {
			return "", errors.New("the host is not a valid name")
		}
		if err == nil {
			host = ascii
		}
	}
	host = strings.ToLower(host)
	switch {
	case host == "":
		return "", errors.New("the host is missing")
	case strings.HasSuffix(host, "."):
		return "", errors.New("the host ends in a dot")
	case strings.Contains(host, "%"):
		return "", errors.New("an address with a zone cannot be reached")
	}
	if strings.Contains(host, ":") || endsInNumber(host) {
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return "", fmt.Errorf("%q is neither a name nor a plain address", host)
		}
		return ip.Unmap().String(), nil
	}
	return host, nil
}

// plain reports whether a host is lower-case ASCII of the kind that needs no mapping.
func plain(host string) bool {
	for i := range len(host) {
		c := host[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

// endsInNumber reports whether the last label is a number, decimal or hexadecimal: then some resolvers take the whole
// for an IPv4 address.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
