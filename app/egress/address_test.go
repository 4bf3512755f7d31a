package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
)

// disguises are ways to write an address that a card, an agent or a client must not send us to.
var disguises = []string{
	"http://127.0.0.1/", "http://127.0.0.1:80/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/",
	"http://0177.0.0.1/", "http://0/", "http://0.0.0.0/", "http://localhost/", "http://LOCALHOST/", "http://localhost./",
	"http://a.localhost/", "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
	"http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::7f00:1]/", "http://[2002:7f00:1::]/",
	"http://[2001:0:7f00:1::]/", "http://[fe80::1%25lo]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[fd00::1]/",
	"http://①②⑦.⓪.⓪.①/", "http://user:pass@127.0.0.1/", "http://93.184.215.14@127.0.0.1/", "http://100.64.0.1/", "http://0.0.0.1/",
	"http://198.18.0.1/", "http://240.0.0.1/", "http://255.255.255.255/", "http://10.0.0.1/", "http://172.16.0.1/",
	"http://192.168.1.1/", "http://224.0.0.1/", "http://[ff02::1]/", "http://93.184.215.14:8080/", "http://93.184.215.14:22/",
}

// metadata are services of cloud providers.
var metadata = []string{
	"http://169.254.169.254", "http://169.254.170.2", "http://169.254.170.23", "http://168.63.129.16", "http://100.100.100.200",
	"http://192.0.0.192", "http://[fd00:ec2::254]", "http://[fd00:ec2::23]", "http://[fd20:ce::254]", "http://[::ffff:169.254.169.254]",
	"http://[64:ff9b::a9fe:a9fe]", "http://[2002:a9fe:a9fe::]", "http://[::a9fe:a9fe]", "http://2852039166", "http://0xa9fea9fe",
	"https://169.254.169.254", "http://169.254.169.254:8080",
}

// forms runs all of them and returns what was let through.
func forms(t *testing.T, judged bool) []string {
	s := &spy{}
	all := grants{"agent": metadata}
	e := newEgress(t, &Options{OnDial: s.see, Grants: all.of})
	if !judged {
		open := func(string, netip.AddrPort) error { return nil }
		e.public = unjudged(e, open)
	}
	for _, u := range disguises {
		err := fetch(t, e.Client(Policy{Public: true}), u)
		if err == nil || judged && !refusedOrInvalid(err) && !notFound(err) {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range metadata {
		for name, p := range map[string]Policy{"public": {Public: true}, "typed": {Typed: u}, "granted": {Agent: "agent"}} {
			if err := fetch(t, e.Client(p), u); err == nil || judged && !refusedOrInvalid(err) && !notFound(err) {
				t.Errorf("%s, %s: %v", u, name, err)
			}
		}
	}
	return s.through()
}

// notFound reports whether a name led nowhere, as a.localhost does where the resolver does not know it.
func notFound(err error) bool { return err != nil && strings.Contains(err.Error(), "no such host") }

func TestDisguises(t *testing.T) {
	t.Parallel()
	if through := forms(t, true); len(through) > 0 {
		t.Errorf("let through: %v", through)
	}
}

// TestDisguisesCgo runs TestDisguises with the other resolver, which reads 0x7f.1 and its like.
func TestDisguisesCgo(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cgo", "go"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDisguises$")
		cmd.Env = append(os.Environ(), "GODEBUG=netdns="+mode)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("netdns=%s: %v\n%s", mode, err, out)
		}
	}
}

// TestRegistries holds the first and the last address of every special-purpose range against the public policy.
func TestRegistries(t *testing.T) {
	t.Parallel()
	var ranges []netip.Prefix
	ranges = append(ranges, ssrf.IPv4DeniedPrefixes...)
	ranges = append(ranges, ssrf.IPv6DeniedPrefixes...)
	// The registry of IPv6 outside of global unicast, of which the library refuses all.
	for _, p := range []string{"::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "5f00::/16", "fc00::/7", "fe80::/10"} {
		ranges = append(ranges, netip.MustParsePrefix(p))
	}
	for _, f := range forbidden {
		ranges = append(ranges, f.prefix)
	}
	for _, p := range ranges {
		for _, ip := range []netip.Addr{first(p), last(p)} {
			if ip.Is4In6() {
				ip = netip.MustParseAddr("::ffff:127.0.0.1")
			}
			network := "tcp4"
			if ip.Is6() {
				network = "tcp6"
			}
			if err := judge(network, hostPort(ip, "443"), "agent.example", publicOnly(t.Context())); !isRefused(err) {
				t.Errorf("%s of %s: %v", ip, p, err)
			}
		}
	}
	for _, ip := range []string{"93.184.215.14", "1.1.1.1", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"} {
		network := "tcp4"
		if strings.Contains(ip, ":") {
			network = "tcp6"
		}
		if err := judge(network, hostPort(netip.MustParseAddr(ip), "443"), "agent.example", publicOnly(t.Context())); err != nil {
			t.Errorf("%s is public: %v", ip, err)
		}
	}
	for _, network := range []string{"udp4", "tcp", "unix", "ip4"} {
		if err := judge(network, "93.184.215.14:443", "agent.example", publicOnly(t.Context())); !isRefused(err) {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// TestForbiddenCannotBeGranted grants every forbidden address itself.
func TestForbiddenCannotBeGranted(t *testing.T) {
	t.Parallel()
	for _, f := range forbidden {
		for _, ip := range []netip.Addr{first(f.prefix), last(f.prefix)} {
			if ip == netip.IPv6Loopback() {
				continue
			}
			o, err := parseOrigin(origin{"http", ip.String(), "80"}.String())
			if err != nil {
				continue // cannot even be written down
			}
			network := "tcp4"
			if ip.Is6() {
				network = "tcp6"
			}
			for name, may := range map[string]leave{"granted": grantsOf([]origin{o}), "typed": New(nil).anyBut(o)(t.Context())} {
				if err := judge(network, hostPort(ip, "80"), o.host, may); !isRefused(err) {
					t.Errorf("%s (%s), %s: %v", ip, f.prefix, name, err)
				}
			}
		}
	}
}

// TestGrantedNames says where a granted name may lead.
func TestGrantedNames(t *testing.T) {
	t.Parallel()
	const public, private, own = "93.184.215.14", "10.1.2.3", "127.0.0.1"
	for _, tt := range []struct {
		grants []string
		host   string
		to     string
		ok     bool
	}{
		{[]string{"https://a.example"}, "a.example", public + ":443", true},
		{[]string{"https://a.example"}, "a.example", public + ":8443", false},
		{[]string{"https://a.example"}, "b.example", public + ":443", false},
		{[]string{"https://a.example"}, "a.example", private + ":443", false},
		{[]string{"https://a.example"}, "a.example", own + ":443", false},
		{[]string{"https://a.example"}, "a.example", "[::1]:443", false},
		{[]string{"https://a.example", "https://10.1.2.3"}, "a.example", private + ":443", true},
		{[]string{"https://a.example", "https://10.1.2.3:8443"}, "a.example", private + ":443", false},
		{[]string{"https://a.example", "https://10.1.2.4"}, "a.example", private + ":443", false},
		{[]string{"http://localhost:9000"}, "localhost", own + ":9000", true},
		{[]string{"http://localhost:9000"}, "localhost", "[::1]:9000", true},
		{[]string{"http://localhost:9000"}, "localhost", "127.0.0.1:9001", false},
		{[]string{"http://localhost:9000"}, "localhost", private + ":9000", false},
		{[]string{"http://localhost:9000"}, "localhost", public + ":9000", false},
		{[]string{"http://a.localhost:9000"}, "a.localhost", own + ":9000", true},
		{[]string{"http://127.0.0.1:9000"}, "127.0.0.1", own + ":9000", true},
		{[]string{"http://127.0.0.1:9000"}, "localhost", "[::1]:9000", false},
		{[]string{"http://127.0.0.1:9000"}, "127.0.0.2", "127.0.0.2:9000", false},
		{[]string{"http://[::1]:9000"}, "::1", "[::1]:9000", true},
		{[]string{"http://[::1]:9000"}, "127.0.0.1", own + ":9000", false},
		{[]string{"http://10.1.2.3:9000"}, "10.1.2.3", private + ":9000", true},
		{[]string{"http://agent:8000"}, "agent", "172.18.0.3:8000", true},
		{[]string{"http://agent:8000"}, "agent", own + ":8000", true},
		{[]string{"http://box.local:8000"}, "box.local", "192.168.1.9:8000", true},
		{[]string{"http://host.docker.internal:8000"}, "host.docker.internal", "192.168.65.254:8000", true},
		{[]string{"http://box.local:8000"}, "box.local", "100.64.0.1:8000", false},
		{[]string{"http://box.local:8000"}, "box.local", "169.254.169.254:8000", false},
		{[]string{"http://local.example:8000"}, "local.example", "192.168.1.9:8000", false},
		{[]string{"not an origin", ""}, "a.example", public + ":443", false},
		{nil, "a.example", public + ":443", false},
	} {
		var origins []origin
		for _, g := range tt.grants {
			if o, err := parseOrigin(g); err == nil {
				origins = append(origins, o)
			}
		}
		network := "tcp4"
		if strings.HasPrefix(tt.to, "[") {
			network = "tcp6"
		}
		if err := judge(network, tt.to, tt.host, grantsOf(origins)); (err == nil) != tt.ok {
			t.Errorf("%v: %s at %s: %v, want ok %v", tt.grants, tt.host, tt.to, err, tt.ok)
		}
	}
}

func TestRefusedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	e := newEgress(t, &Options{OnDial: (&spy{}).see})
	for _, tt := range []struct {
		policy Policy
		url    string
		want   []string
	}{
		{Policy{Agent: "travel"}, "https://travel.example/rpc?key=SECRET", []string{"https://travel.example", "granted", "pprove"}},
		{Policy{Agent: "travel", Typed: "http://a.example"}, "http://b.example", []string{"http://b.example", "http://a.example"}},
		{Policy{Typed: "http://169.254.169.254"}, "http://169.254.169.254/latest", []string{"http://169.254.169.254", "never"}},
		{Policy{Public: true}, "http://10.0.0.1/x", []string{"http://10.0.0.1", "not a public"}},
		{Policy{}, "http://a.example", []string{"http://a.example", "leave"}},
	} {
		err := fetch(t, e.Client(tt.policy), tt.url)
		r, ok := errors.AsType[*Refused](err)
		if !ok {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		for _, want := range tt.want {
			if text := r.Error(); !strings.Contains(text, want) || strings.Contains(text, "SECRET") {
				t.Errorf("%s: %q lacks %q", tt.url, text, want)
			}
		}
		if r.Agent != tt.policy.Agent {
			t.Errorf("%s: agent %q", tt.url, r.Agent)
		}
	}
}

func ExampleOrigin() {
	o, _ := Origin("HTTPS://Agent.Example:443/a2a?x=1")
	fmt.Println(o)
	// Output: https://agent.example
}
