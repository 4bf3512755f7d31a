package guard

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// hosts are the values of Host that a listener answers to.
type hosts struct {
	names    map[string]bool
	loopback bool // bound to this machine alone
	port     string
	bare     bool // the port is the scheme's own, so browsers leave it out
}

func newHosts(addr net.Addr, secure bool, more []string) *hosts {
	h := &hosts{names: map[string]bool{}}
	ip, port := split(addr)
	h.port = strconv.Itoa(int(port))
	h.loopback = ip.IsLoopback()
	h.bare = h.port == "80" && !secure || h.port == "443" && secure
	for _, name := range []string{"127.0.0.1", "[::1]", "localhost"} {
		h.add(name)
	}
	if !ip.IsUnspecified() && ip.IsValid() {
		h.add(bracketed(ip))
	}
	for _, name := range more {
		if name != "" {
			h.names[strings.ToLower(name)] = true
		}
	}
	return h
}

func (h *hosts) add(name string) {
	h.names[name+":"+h.port] = true
	if h.bare {
		h.names[name] = true
	}
}

// only lets through requests for the names of the listener. It looks at nothing but the request line and Host: a header
// that a proxy might have set is whatever a client likes it to be.
func (h *hosts) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		var sentence string
		switch {
		case !strings.HasPrefix(r.RequestURI, "/"), r.URL.Host != "", r.URL.Scheme != "":
			status, sentence = http.StatusBadRequest, "Ask for a path, not for a whole address."
		case len(r.Header["Host"]) > 0:
			status, sentence = http.StatusBadRequest, "One Host is enough."
		case !h.answer(r.Host, localAddr(r.Context())):
			status, sentence = http.StatusMisdirectedRequest, "This program does not answer to that name."
		default:
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // nor is the body waited for
		refuse(w, r, status, sentence)
	})
}

func localAddr(ctx context.Context) net.Addr {
	local, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return local
}

// answer reports whether a name is one of the listener, or the address that the connection came in at, where the listener
// is open to a network. A name can be rebound; an address cannot.
func (h *hosts) answer(host string, local net.Addr) bool {
	if h.names[strings.ToLower(host)] {
		return true
	}
	if h.loopback || local == nil {
		return false
	}
	ip, port := split(local)
	if !ip.IsValid() || strconv.Itoa(int(port)) != h.port {
		return false
	}
	return host == bracketed(ip)+":"+h.port || h.bare && host == bracketed(ip)
}

func split(addr net.Addr) (netip.Addr, uint16) {
	if addr == nil {
		return netip.Addr{}, 0
	}
	ap, _ := netip.ParseAddrPort(addr.String())
	return ap.Addr().Unmap().WithZone(""), ap.Port()
}

func bracketed(ip netip.Addr) string {
	if ip.Is6() {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}
