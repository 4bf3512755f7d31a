package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of those who stand in front of a listener, and whose X-Forwarded-For is believed. Nobody else's
// is: a caller could write into it whatever he likes. They must append the address that a request came from, as proxies do,
// or put it in place of what was there.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks (192.0.2.1, 2001:db8::/64), separated by commas or blanks; "" is none.
func ParseProxies(s string) (Proxies, error) {
	var all Proxies
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		p, err := netip.ParsePrefix(word)
		if ip, ok := hop(word); ok {
			p, err = ip.Prefix(ip.BitLen())
		}
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%s is no address and no network", word)
		}
		if p.Bits() == 0 {
			return nil, fmt.Errorf("%s is everybody: name the proxies alone", word)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (p Proxies) has(ip netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// client is where a request comes from that came in from address: itself, or, where that is a proxy, the last one named by
// forwarded who is none. What stands before that was written by him. Where a proxy names nobody, it is the proxy.
func (p Proxies) client(address string, forwarded []string) string {
	from, err := netip.ParseAddrPort(address)
	if err != nil || !p.has(from.Addr().Unmap().WithZone("")) {
		return address
	}
	for _, word := range slices.Backward(strings.Split(strings.Join(forwarded, ","), ",")) {
		ip, ok := hop(strings.TrimSpace(word))
		if !ok {
			break
		}
		address = net.JoinHostPort(ip.String(), "0")
		if !p.has(ip) {
			break
		}
	}
	return address
}

// hop reads an address, which some proxies write with a port or in brackets.
func hop(word string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.Trim(word, "[]"))
	if err != nil {
		var with netip.AddrPort
		with, err = netip.ParseAddrPort(word)
		ip = with.Addr()
	}
	return ip.Unmap().WithZone(""), err == nil
}

// behind has everything after it see the client in the place of a proxy.
func (p Proxies) behind(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := p.client(r.RemoteAddr, r.Header["X-Forwarded-For"]); from != r.RemoteAddr {
			r = r.WithContext(r.Context()) // a copy
			r.RemoteAddr = from
		}
		next.ServeHTTP(w, r)
	})
}
