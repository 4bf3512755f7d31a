package card

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
)

// bindings are those that are spoken, the one to be preferred first where an agent has no preference itself.
var bindings = []string{a2a.BindingJSONRPC, a2a.BindingREST, a2a.BindingGRPC}

// Speaks returns the dialect in which an interface of that version and binding ("" = JSON-RPC) is spoken, if it can be. Only
// major and minor count. An interface without a version gets MID, as the cards that leave it out are of that age; the client
// finds out if it is not. Before v0.2 there was JSON-RPC alone.
func Speaks(version, binding string) (wire.Dialect, bool) {
	rpc := binding == "" || strings.EqualFold(binding, a2a.BindingJSONRPC)
	version = strings.TrimPrefix(version, "v")
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	switch {
	case major == "1":
		return wire.NEW, true
	case version != "" && (major != "0" || rest == ""):
		return 0, false
	case version == "" || minor == "2" || minor == "3":
		if rpc {
			return wire.MID, true
		}
		return wire.PROTO, true
	case minor == "0" || minor == "1":
		return wire.OLD, rpc
	}
	return 0, false
}

// rank orders versions, the one to be preferred first.
func rank(version string) int {
	switch d, _ := Speaks(version, ""); {
	case d == wire.NEW:
		return 0
	case d == wire.OLD:
		return 4
	case strings.HasPrefix(strings.TrimPrefix(version, "v"), "0.3"):
		return 1
	case version != "":
		return 2
	}
	return 3
}

// Choose picks the interface to use, the first of those that usable returns.
func Choose(c *a2a.AgentCard) (a2a.AgentInterface, error) {
	can, others, unknown := usable(c)
	if len(can) > 0 {
		return can[0], nil
	}
	name := c.Name
	switch {
	case len(unknown) > 0:
		return a2a.AgentInterface{}, &Error{
			Kind: KindVersion, Where: WhereUs,
			What: fmt.Sprintf("%s speaks version %s of A2A; Parley speaks 1.0, 0.3, 0.2 and 0.1.", name, shorten(strings.Join(unknown, " and "))),
			Do:   "Ask whoever runs the agent for another version of it.",
		}
	case len(others) > 0:
		return a2a.AgentInterface{}, &Error{
			Kind: KindNoInterface, Where: WhereUs,
			What: fmt.Sprintf("%s can be reached over %s only, which Parley does not speak.", name, shorten(strings.Join(others, " and "))),
			Do:   "Ask whoever runs the agent to offer JSON-RPC as well.",
		}
	}
	return a2a.AgentInterface{}, invalid("supportedInterfaces", "it names no address at which the agent can be reached")
}

// Interfaces returns the interfaces of a card that are spoken, in order of preference, so that the next can be tried where
// one is not served: each address once for each binding. at is where the card was found, "" for one that was given itself;
// the addresses are repaired by it like that of Found.Interface, which is the first.
func Interfaces(c *a2a.AgentCard, at string) []a2a.AgentInterface {
	found := placeOf(at)
	can, _, _ := usable(c)
	out := can[:0:0]
	for _, i := range can {
		repair(&i, found)
		if !slices.ContainsFunc(out, func(o a2a.AgentInterface) bool {
			return o.Binding == i.Binding && o.Tenant == i.Tenant && Address(&o) == Address(&i)
		}) {
			out = append(out, i)
		}
	}
	return out
}

// placeOf is where a card was found, nil for one that was given itself.
func placeOf(at string) *url.URL {
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		return u
	}
	return nil
}

// usable orders the interfaces of a card: the highest version that both sides speak first, then the agent's own order.
// Cards before v1.0 order nothing but their main address, which comes first; among the others the binding decides. Bindings
// and versions that nobody here speaks are left out, and returned by name.
func usable(c *a2a.AgentCard) (can []a2a.AgentInterface, others, unknown []string) {
	type offer struct {
		a2a.AgentInterface
		rank, place int
	}
	var offers []offer
	for n, i := range c.Interfaces {
		if i.Binding == "" {
			i.Binding = a2a.BindingJSONRPC
		}
		at := slices.IndexFunc(bindings, func(b string) bool { return strings.EqualFold(b, i.Binding) })
		if at < 0 {
			others = appendNew(others, i.Binding)
			continue
		}
		if _, ok := Speaks(i.Version, i.Binding); !ok {
			unknown = appendNew(unknown, i.Version)
			continue
		}
		i.Binding = bindings[at]
		o := offer{i, rank(i.Version), n}
		if n > 0 && strings.HasPrefix(i.Version, "0.") {
			o.place = 1 + at
		}
		offers = append(offers, o)
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place))
	})
	for _, o := range offers {
		can = append(can, o.AgentInterface)
	}
	return can, others, unknown
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// invalid is a card that cannot be used because of one member.
func invalid(field, why string) *Error {
	return &Error{
		Kind: KindCardInvalid, Where: WhereAgent, Field: field,
		What: fmt.Sprintf("The agent's card cannot be used: %s (%s).", why, field),
		Do:   "Tell whoever runs the agent which field of its card is wrong.",
	}
}

// resolve makes every address in the card absolute, by the address the card came from, and takes out the interfaces that
// have none that could be used.
func resolve(c *a2a.AgentCard, base *url.URL) (notes []string, err error) {
	kept := c.Interfaces[:0:0]
	var fault *Error
	for n, i := range c.Interfaces {
		if strings.EqualFold(i.Binding, a2a.BindingGRPC) {
			kept = append(kept, i) // host:port, not a URL
			continue
		}
		field := fmt.Sprintf("supportedInterfaces[%d].url", n)
		u, e := absolute(i.URL, base, field)
		if e != nil {
			fault = e
			notes = append(notes, e.What)
			continue
		}
		if stripped := stripOperation(u); stripped != "" {
			notes = append(notes, fmt.Sprintf("The card named the address of one operation (…%s); the agent's own address is used.", stripped))
		}
		i.URL = u.String()
		kept = append(kept, i)
	}
	c.Interfaces = kept
	if len(kept) == 0 && fault != nil {
		return notes, fault
	}
	return notes, nil
}

func absolute(s string, base *url.URL, field string) (*url.URL, *Error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, invalid(field, "an address in it is none")
	case u.User != nil:
		return nil, invalid(field, "an address in it holds a name or password")
	case u.Scheme == "" && u.Host == "" && base == nil:
		return nil, invalid(field, "an address in it is relative, and nothing says to what")
	case u.Scheme == "" && base == nil:
		u.Scheme = "https"
	case u.Scheme == "":
		u = base.ResolveReference(u)
	}
	if u.Scheme = strings.ToLower(u.Scheme); u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalid(field, "an address in it is neither http nor https")
	}
	if u.Hostname() == "" || strings.ContainsAny(u.Host, " \t\r\n\\") {
		return nil, invalid(field, "an address in it has no host")
	}
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Host), "", ""
	return u, nil
}

// operations are the paths that servers put behind their own address; a card that names one of them means the address.
var operations = []string{
	"/v1/message:send", "/v1/message:stream", "/message:send", "/message:stream",
	"/.well-known/agent-card.json", "/.well-known/agent.json",
}

// stripOperation takes a known operation off the end of the path and returns it, "" when there was none.
func stripOperation(u *url.URL) string {
	path := strings.TrimSuffix(u.Path, "/")
	for _, op := range operations {
		if base, ok := strings.CutSuffix(path, op); ok {
			u.Path, u.RawPath = base, ""
			if u.Path == "" {
				u.Path = "/"
			}
			return op
		}
	}
	return ""
}

// repair changes the address of the chosen interface where it certainly cannot be reached as written, given where the card
// was found. note says what was done, "" when nothing was. typed is the same interface at the place where the card was
// found when that is another host than the card names: only a person can know which is right.
func repair(i *a2a.AgentInterface, found *url.URL) (note string, typed *a2a.AgentInterface) {
	if found == nil {
		return "", nil
	}
	u, err := url.Parse(i.URL)
	if strings.EqualFold(i.Binding, a2a.BindingGRPC) {
		return repairGRPC(i, found)
	}
	if err != nil {
		return "", nil
	}
	moved := *u
	moved.Scheme, moved.Host = found.Scheme, found.Host
	switch {
	case u.Host == found.Host && u.Scheme == found.Scheme:
		return "", nil
	case unspecified(u.Hostname()), Loopback(u.Hostname()) && !Loopback(found.Hostname()):
		note = fmt.Sprintf("The card says that the agent is at %s, which from here would be this computer; the address you typed (%s) is used.",
			u.Host, found.Host)
	case u.Scheme == "http" && found.Scheme == "https" && u.Hostname() == found.Hostname():
		note = fmt.Sprintf("The card names %s without encryption, though it was itself fetched over https; https is used.", u.Host)
	case strings.EqualFold(u.Hostname(), found.Hostname()) || Loopback(u.Hostname()) && Loopback(found.Hostname()):
		return "", nil // another port of the same machine
	default:
		other := *i
		other.URL = moved.String()
		return "", &other
	}
	// An unspecified address on the machine itself keeps its port: it may well be another one.
	if unspecified(u.Hostname()) && Loopback(found.Hostname()) && u.Port() != "" {
		moved.Scheme, moved.Host = u.Scheme, net.JoinHostPort(found.Hostname(), u.Port())
		note = fmt.Sprintf("The card says that the agent is at %s, which is no address; %s is used.", u.Host, moved.Host)
	}
	i.URL = moved.String()
	return note, nil
}

// repairGRPC does the same for host:port, where the port is the interface's own.
func repairGRPC(i *a2a.AgentInterface, found *url.URL) (note string, typed *a2a.AgentInterface) {
	u, err := url.Parse(Address(i))
	if err != nil || u.Hostname() == "" || strings.EqualFold(u.Hostname(), found.Hostname()) ||
		Loopback(u.Hostname()) && Loopback(found.Hostname()) {
		return "", nil
	}
	moved := *i
	moved.URL = strings.Replace(i.URL, bracketed(u.Hostname()), bracketed(found.Hostname()), 1)
	if unspecified(u.Hostname()) || Loopback(u.Hostname()) {
		note = fmt.Sprintf("The card says that the agent is at %s, which from here would be this computer; the host you typed (%s) is used.",
			u.Host, found.Hostname())
		i.URL = moved.URL
		return note, nil
	}
	return "", &moved
}

// bracketed is a host as it stands in an address.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// Address is where an interface is, as a URL. gRPC may have no scheme, and then stands for https except on this machine, or
// one of its own: grpc for plain text, grpcs for TLS.
func Address(i *a2a.AgentInterface) string {
	if !strings.EqualFold(i.Binding, a2a.BindingGRPC) {
		return i.URL
	}
	address := strings.TrimPrefix(i.URL, "dns:///")
	switch scheme, rest, ok := strings.Cut(address, "://"); {
	case ok && strings.EqualFold(scheme, "grpc"):
		return "http://" + rest
	case ok && strings.EqualFold(scheme, "grpcs"):
		return "https://" + rest
	case ok:
		return address
	}
	if u, err := url.Parse("//" + address); err == nil && (Loopback(u.Hostname()) || unspecified(u.Hostname())) {
		return "http://" + address
	}
	return "https://" + address
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsUnspecified()
}

// Origin returns scheme://host of an address, and the port unless it is the scheme's own: the form in which grants and
// credentials are bound to it.
func Origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%q is no address", shorten(address))
	}
	return originOf(u)
}

func originOf(u *url.URL) (string, error) {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if host == "" || scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("%q has no http or https origin", Show(u))
	}
	host = bracketed(host)
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[scheme] {
		host += ":" + port
	}
	return scheme + "://" + host, nil
}

// Origins lists every origin that using the card may lead to, the chosen interface's first: where the card came from, all
// its interfaces where they are called, and the sign-in servers it names. Approving an agent grants exactly these. Links a person may click
// (documentation, provider, icon) are not among them, nor is this machine when the card came from another.
func (f *Found) Origins() []string {
	var out []string
	from, err := url.Parse(cmp.Or(f.URL, f.Catalog))
	away := err == nil && from.Host != "" && !Loopback(from.Hostname())
	add := func(address string) {
		if address == "" {
			return
		}
		u, err := url.Parse(address)
		if err != nil || away && (Loopback(u.Hostname()) || unspecified(u.Hostname())) {
			return
		}
		if o, err := originOf(u); err == nil {
			out = appendNew(out, o)
		}
	}
	add(Address(&f.Interface))
	add(f.URL)
	for _, i := range f.Card.Interfaces {
		if i.URL != f.Declared { // which was replaced: nothing goes there
			repair(&i, placeOf(f.URL))
			add(Address(&i))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Card.SecuritySchemes)) {
		s := f.Card.SecuritySchemes[name]
		add(s.OpenIDConnectURL)
		add(s.OAuth2MetadataURL)
		for _, flow := range s.Flows {
			add(flow.AuthorizationURL)
			add(flow.DeviceAuthorizationURL)
			add(flow.TokenURL)
			add(flow.RefreshURL)
		}
	}
	return out
}
