package egress

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"code.dny.dev/ssrf"
)

// publicAddr knows the special-purpose registries of the IANA; public knows the ports of the web as well.
var (
	publicAddr = ssrf.New(ssrf.WithAnyPort())
	publicWeb  = ssrf.New()
)

// forbidden are the addresses that no grant opens. Cloud providers hand out a machine's credentials at them, or they
// are another spelling of an address, by which such a one could be reached.
var forbidden = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local addresses, where cloud providers serve a machine's credentials"},
	{netip.MustParsePrefix("fe80::/10"), "link-local addresses"},
	{netip.MustParsePrefix("fec0::/10"), "site-local addresses"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("fd20:ce::/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("fd00:c1::/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("0.0.0.0/8"), "not the address of a host (write 127.0.0.1 for this machine)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("64:ff9b::/96"), "an IPv4 address in disguise"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an IPv4 address in disguise"},
	{netip.MustParsePrefix("2001::/32"), "an IPv4 address in disguise"},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address in disguise"},
	{netip.MustParsePrefix("::/96"), "an IPv4 address in disguise"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "an IPv4 address in disguise"},
}

// forbids says what an address is when nothing may reach it, "" otherwise.
func forbids(ip netip.Addr) string {
	if ip == netip.IPv6Loopback() {
		return ""
	}
	for _, f := range forbidden {
		if f.prefix.Contains(ip) {
			return f.what
		}
	}
	return ""
}

// leave judges an address: host is the name or address that was asked for, to is where it led.
type leave func(host string, to netip.AddrPort) error

// rule returns the leave that holds at the moment of a dial.
type rule func(ctx context.Context) leave

// publicOnly lets through public addresses on the ports of the web.
func publicOnly(context.Context) leave {
	return func(_ string, to netip.AddrPort) error {
		if err := publicWeb.SafeAddrPort(to); err != nil {
			return &Refused{Reason: to.String() + " is not a public web address", Advice: "Give its own address to Parley if you trust it."}
		}
		return nil
	}
}

// anyBut lets through whatever a typed origin leads to, but for the forbidden. A name that led to a public address just now
// leads to no other: whoever answers for it could have us ask this machine, by an address that the card he served first gave.
func (e *Egress) anyBut(typed origin) rule {
	return func(context.Context) leave {
		return func(host string, to netip.AddrPort) error {
			if host != typed.host || portOf(to) != typed.port {
				return &Refused{Reason: "it is not the address that was typed", Advice: "Type this address if it is the one that is meant."}
			}
			if e.rebound(host, to.Addr()) {
				return &Refused{Reason: host + " led to a public address just now and leads to " + to.Addr().String() + " all at once", Advice: "Type the address itself if it is the one that is meant."}
			}
			return nil
		}
	}
}

// ledOut is how long it is remembered that a name led to a public address: much longer than it takes to connect an agent.
const ledOut = 10 * time.Minute

// rebound reports whether a name that led to a public address just now leads to one that is not.
func (e *Egress) rebound(host string, ip netip.Addr) bool {
	if publicAddr.SafeAddr(ip) != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		at, was := e.out[host]
		return was && time.Since(at) < ledOut
	}
	if _, err := netip.ParseAddr(host); err == nil || LocalName(host) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.out, func(_ string, at time.Time) bool { return time.Since(at) >= ledOut })
	e.out[host] = time.Now()
	return false
}

// grantsOf lets through what a person granted. A granted address is that address and no other. A granted name leads to
// public addresses; localhost to this machine; a name that public DNS cannot answer for (one label, .local, .internal,
// .home.arpa, .test) to private ones too. Any other private address a name leads to must have been granted itself.
func grantsOf(granted []origin) leave {
	return func(host string, to netip.AddrPort) error {
		ip, port := to.Addr().String(), portOf(to)
		if has(granted, ip, port) {
			return nil
		}
		if has(granted, host, port) && nameMayLeadTo(host, to.Addr()) {
			return nil
		}
		return &Refused{Reason: host + " led to " + to.String() + ", which is not public and was not granted", Advice: "Approve this address for the agent if it is where the agent should be."}
	}
}

func has(granted []origin, host, port string) bool {
	return slices.ContainsFunc(granted, func(o origin) bool { return o.host == host && o.port == port })
}

func nameMayLeadTo(host string, ip netip.Addr) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return host == ip.String()
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return ip.IsLoopback()
	}
	if publicAddr.SafeAddr(ip) == nil {
		return true
	}
	return LocalName(host) && (ip.IsPrivate() || ip.IsLoopback())
}

// LocalName reports whether a name cannot be registered by a stranger, so that what it leads to is the work of the
// person's own network.
func LocalName(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".local", ".internal", ".home.arpa", ".test"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
