package card

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"parley/a2a"
)

// maxEntries bounds how many agents one input may name.
const maxEntries = 64

// entry is one agent that a person named: by address, or by its card.
type entry struct {
	text  string     // as given, shortened for cards
	card  []byte     // the card itself, or nil
	bases []*url.URL // addresses to look at, the likeliest first
}

// entries takes an input apart. files says whether an entry may be the path of a file.
func entries(input string, files bool) ([]entry, error) {
	input = strings.TrimSpace(strings.TrimPrefix(input, "\ufeff"))
	switch {
	case input == "":
		return nil, badAddress("There is no address.", nil)
	case input[0] == '{':
		return []entry{{text: "the pasted card", card: []byte(input)}}, nil
	case input[0] == '[' && json.Valid([]byte(input)):
		return list([]byte(input))
	}
	var out []entry
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if len(out) == maxEntries {
			return nil, badAddress(fmt.Sprintf("That is more than %d agents at once.", maxEntries), nil)
		}
		if line[0] == '{' { // one card a line
			out = append(out, entry{text: "the pasted card", card: []byte(line)})
			continue
		}
		es, err := one(line, files)
		if err != nil {
			return nil, err
		}
		out = append(out, es...)
	}
	if len(out) == 0 {
		return nil, badAddress("There is no address.", nil)
	}
	return out, nil
}

// Typed returns the origins that an input is an address of, as Find would look there: for one without a scheme those of
// both. A card has none, whatever addresses it holds.
func Typed(input string) []string {
	es, err := entries(input, false)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range es {
		for _, u := range e.bases {
			if o, err := originOf(u); err == nil {
				out = append(out, o)
			}
		}
	}
	return out
}

// list reads a JSON list of addresses and cards.
func list(b []byte) ([]entry, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(b, &items); err != nil {
		return nil, badAddress("The list is not JSON.", err)
	}
	if len(items) == 0 || len(items) > maxEntries {
		return nil, badAddress(fmt.Sprintf("A list names 1 to %d agents; this one has %d.", maxEntries, len(items)), nil)
	}
	var out []entry
	for n, item := range items {
		var address string
		switch {
		case item[0] == '{':
			out = append(out, entry{text: fmt.Sprintf("card %d of the list", n+1), card: item})
		case json.Unmarshal(item, &address) == nil:
			es, err := one(strings.TrimSpace(address), false)
			if err != nil {
				return nil, err
			}
			out = append(out, es...)
		default:
			return nil, badAddress(fmt.Sprintf("Entry %d of the list is neither an address nor a card.", n+1), nil)
		}
	}
	return out, nil
}

// one reads a single address or path.
func one(s string, files bool) ([]entry, error) {
	s = unquote(s)
	if files {
		if b, name, err := readFile(s); err != nil {
			return nil, err
		} else if b != nil {
			es, err := entries(string(b), false)
			for i := range es {
				if es[i].card != nil && len(es) == 1 {
					es[i].text = name
				}
			}
			return es, err
		}
	}
	bases, err := addresses(s)
	if err != nil {
		return nil, err
	}
	return []entry{{text: s, bases: bases}}, nil
}

func unquote(s string) string {
	for _, q := range []string{`""`, `''`, "``", "<>"} {
		if len(s) > 2 && s[0] == q[0] && s[len(s)-1] == q[1] {
			return strings.TrimSpace(s[1 : len(s)-1])
		}
	}
	return strings.TrimRight(s, ",;")
}

// readFile reads the file that s names. Nil without an error means that s names none.
func readFile(s string) ([]byte, string, error) {
	path := s
	explicit := strings.HasPrefix(s, "file:")
	if explicit {
		u, err := url.Parse(s)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return nil, "", badAddress("The address of the file is not one on this computer.", err)
		}
		path = filepath.FromSlash(u.Path)
	} else if strings.Contains(s, "://") {
		return nil, "", nil
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	explicit = explicit || filepath.IsAbs(path) || strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../")
	info, err := os.Stat(path)
	switch {
	case err != nil && !explicit:
		return nil, "", nil
	case err != nil:
		return nil, "", badAddress("The file cannot be read.", err)
	case !info.Mode().IsRegular() && !explicit:
		return nil, "", nil // a directory may be called like a host
	case !info.Mode().IsRegular():
		return nil, "", badAddress("That path is not a file.", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", badAddress("The file cannot be read.", err)
	}
	defer f.Close()
	most := int64(a2a.Limits.Card) * maxEntries
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, "", badAddress("The file cannot be read.", err)
	case int64(len(b)) > most:
		return nil, "", badAddress("The file is too large to hold agent cards.", nil)
	case len(bytes.TrimSpace(b)) == 0:
		return nil, "", badAddress("The file is empty.", nil)
	}
	return b, filepath.Base(path), nil
}

// addresses returns what to look at for an address that a person typed: as given when it says how, else over https and,
// where that is usual, over http.
func addresses(s string) ([]*url.URL, error) {
	s = linked(s)
	scheme, _, hasScheme := strings.Cut(s, "://")
	if !hasScheme {
		s = "//" + strings.TrimLeft(s, "/")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, badAddress("That is not an address.", nil) // not err: it repeats what may hold a password
	case u.User != nil:
		e := badAddress("A name or password does not belong into an address.", nil)
		e.Do = "Leave it out; Parley asks for the sign-in when the agent wants one."
		return nil, e
	case u.Hostname() == "" || strings.ContainsAny(u.Host, " \t\\%") || !namesHost(u.Hostname(), hasScheme):
		return nil, badAddress("That is not an address.", nil)
	case hasScheme && u.Scheme != "http" && u.Scheme != "https":
		e := badAddress(fmt.Sprintf("Agents are not reached by %s: addresses.", shorten(scheme)), nil)
		return nil, e
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	stripTyped(u)
	if hasScheme {
		return []*url.URL{u}, nil
	}
	plain, secure := *u, *u
	plain.Scheme, secure.Scheme = "http", "https"
	switch {
	case Loopback(u.Hostname()) || unspecified(u.Hostname()):
		return []*url.URL{&plain, &secure}, nil
	case local(u):
		return []*url.URL{&secure, &plain}, nil
	}
	return []*url.URL{&secure}, nil
}

// linked turns the links that other programs make for us into plain addresses: a2a://host/path, a2a:https://host/path and
// a2a://connect?url=https://host/path, also with the prefix web+.
func linked(s string) string {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(s, "web+"), "a2a:")
	if !ok {
		return s
	}
	if u, err := url.Parse("a2a:" + rest); err == nil {
		if to := u.Query().Get("url"); to != "" {
			return to
		}
	}
	return strings.TrimPrefix(rest, "//")
}

// stripTyped takes the path of a single operation off an address that was copied from somewhere; card paths stay.
func stripTyped(u *url.URL) {
	if !strings.Contains(u.Path, "/.well-known/") {
		stripOperation(u)
	}
}

// local reports whether an address looks like one of the house: there, and on odd ports, plain http is usual.
func local(u *url.URL) bool {
	return house(u.Hostname()) || u.Port() != "" && u.Port() != "443"
}

// house reports whether a host is one of the house by its name or address alone.
func house(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".lan") ||
		strings.HasSuffix(host, ".internal")
}

// namesHost tells a host from words: without a scheme it needs a dot or be an address or be known to be local.
func namesHost(host string, sure bool) bool {
	if sure || net.ParseIP(host) != nil {
		return true
	}
	for _, r := range host {
		if r <= ' ' || strings.ContainsRune(`"'<>{}|^`+"`", r) {
			return false
		}
	}
	return true
}

func badAddress(what string, err error) *Error {
	e := &Error{
		Kind: KindAddress, Where: WhereUs, What: what, Err: err,
		Do: "Give the agent's address (https://agent.example), the address of its card, or the card itself.",
	}
	if err != nil {
		e.Raw = shorten(err.Error())
	}
	return e
}
