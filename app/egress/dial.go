package egress

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// dialer returns a dial function for a transport. Each address that a name leads to is judged right before the connect,
// by the operating system's own form of it; there is no other look-up in between.
func (e *Egress) dialer(r rule) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		name, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		host, err := canonicalHost(name)
		if err != nil {
			return nil, &Refused{Reason: err.Error(), Advice: "Write the host as a plain name or address."}
		}
		may := r(ctx)
		d := net.Dialer{
			Timeout:  e.o.DialTime,
			Resolver: e.o.Resolver,
			Control: func(network, address string, _ syscall.RawConn) error {
				err := judge(network, address, host, may)
				if e.o.OnDial != nil {
					if seen := e.o.OnDial(network, address, err); err == nil {
						err = seen
					}
				}
				return err
			},
		}
		return d.DialContext(ctx, network, address)
	}
}

// judge is the verdict on one address.
func judge(network, address, host string, may leave) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || to.Addr().Zone() != "" {
		return &Refused{Reason: "it leads to something that is not an internet address", Advice: "Use another address."}
	}
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if what := forbids(to.Addr()); what != "" {
		return &Refused{Reason: to.Addr().String() + " is never reached: " + what, Advice: "Use another address; this one cannot be granted."}
	}
	return may(host, to)
}

func portOf(to netip.AddrPort) string { return strconv.Itoa(int(to.Port())) }

// Origins returns what a person has to grant for an origin to be reached now: the origin, and, when its name leads to
// private addresses that the name alone does not open, the origins with these addresses in its place. It is for the
// review of an agent. It connects to nothing.
func (e *Egress) Origins(ctx context.Context, rawURL string) ([]string, error) {
	o, err := parseOrigin(rawURL)
	if err != nil {
		return nil, err
	}
	all := []string{o.String()}
	ctx, cancel := context.WithTimeout(ctx, e.o.DialTime)
	defer cancel()
	resolver := e.o.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ips, err := resolver.LookupNetIP(ctx, "ip", o.host)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips {
		ip = ip.Unmap()
		if what := forbids(ip); what != "" {
			return nil, &Refused{Origin: o.String(), Reason: ip.String() + " is never reached: " + what, Advice: "Use another address; this one cannot be granted."}
		}
		if !nameMayLeadTo(o.host, ip) {
			all = append(all, origin{o.scheme, ip.String(), o.port}.String())
		}
	}
	return all, nil
}
