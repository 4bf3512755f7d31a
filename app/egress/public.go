package egress

import (
	"context"
	"net/netip"
	"strconv"
)

// CheckPublic says why a client with Policy.Public can never reach an address, as far as that shows without a look-up:
// nil for a name, which is judged when it is dialled.
func CheckPublic(rawURL string) error {
	o, err := parseOrigin(rawURL)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(o.port, 10, 16)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(o.host)
	if err != nil {
		if port != 80 && port != 443 {
			return &Refused{Origin: o.String(), Reason: "its port is not one of the web's", Advice: "Use an address without a port."}
		}
		return nil
	}
	err = judge("tcp4", netip.AddrPortFrom(ip, uint16(port)).String(), o.host, publicOnly(context.Background()))
	if r, ok := err.(*Refused); ok {
		r.Origin = o.String()
	}
	return err
}
