package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"
)

// dns answers every question for an address with the next of a list, and a time to live of zero.
func dns(t *testing.T, answers func(name string, n int64) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		var n int64
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var q dnsmessage.Message
			if q.Unpack(buf[:size]) != nil || len(q.Questions) != 1 {
				continue
			}
			a := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: q.Questions}
			name := q.Questions[0].Name
			h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}
			if q.Questions[0].Type == dnsmessage.TypeA {
				n++
			}
			for _, ip := range answers(strings.TrimSuffix(name.String(), "."), n) {
				switch {
				case q.Questions[0].Type == dnsmessage.TypeA && ip.Is4():
					a.Answers = append(a.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
				case q.Questions[0].Type == dnsmessage.TypeAAAA && ip.Is6():
					a.Answers = append(a.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
				}
			}
			if packed, err := a.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// rebind fetches 500 times from a name that leads to a public address and to this machine by turns, and returns how
// often this machine was reached.
func rebind(t *testing.T, judged bool) int64 {
	var hits atomic.Int64
	canary := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	port := portIn(t, canary)
	public, own := netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("127.0.0.1")
	s := (&spy{}).let(canary)
	granted := "http://rebind.example:" + port
	e := newEgress(t, &Options{
		OnDial: s.see, Grants: grants{"a": {granted}}.of,
		Resolver: dns(t, func(_ string, n int64) []netip.Addr {
			switch n % 3 {
			case 0:
				return []netip.Addr{own}
			case 1:
				return []netip.Addr{public}
			}
			return []netip.Addr{public, own, netip.IPv6Loopback()}
		}),
	})
	clients := []*http.Client{e.Client(Policy{Agent: "a"}), e.Client(Policy{Public: true})}
	if !judged {
		a := e.agent("a")
		a.ways[wayKey{headerTime: e.o.HeaderTime}] = unjudged(e, func(string, netip.AddrPort) error { return nil })
	}
	for i := range 500 {
		u := granted
		if i%2 == 1 {
			u = "http://rebind.example"
		}
		if err := fetch(t, clients[i%2], u); err == nil && judged {
			t.Fatalf("fetch %d: reached something", i)
		}
	}
	if judged && len(s.refused) == 0 {
		t.Error("nothing was refused, so nothing was tried")
	}
	for _, a := range s.through() {
		if judged && !strings.HasPrefix(a, public.String()+":") {
			t.Errorf("let through: %s", a)
		}
	}
	return hits.Load()
}

// unjudged is a transport of e whose dials nobody judges: the fault that the tests must find.
func unjudged(e *Egress, may leave) *http.Transport {
	tr := e.transport(e.o.HeaderTime, func(context.Context) leave { return may })
	tr.DisableKeepAlives = true
	return tr
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	if hits := rebind(t, true); hits > 0 {
		t.Errorf("this machine was reached %d times", hits)
	}
}

// TestPlantedDial takes the check at the dial away and shows that the tests above would see it.
func TestPlantedDial(t *testing.T) {
	t.Parallel()
	if hits := rebind(t, false); hits == 0 {
		t.Error("without the check nothing was reached either: TestRebinding proves nothing")
	}
	if through := forms(t, false); len(through) == 0 {
		t.Error("without the check nothing was let through either: TestDisguises proves nothing")
	}
}

// TestOriginsToGrant says what a person is asked to grant for a name.
func TestOriginsToGrant(t *testing.T) {
	t.Parallel()
	addrs := map[string][]netip.Addr{
		"public.example":  {netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("2606:2800:21f::1")},
		"corp.example":    {netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fd12::1")},
		"box.local":       {netip.MustParseAddr("192.168.1.9")},
		"trap.example":    {netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("169.254.169.254")},
		"tailnet.example": {netip.MustParseAddr("100.64.0.7")},
	}
	e := newEgress(t, &Options{Resolver: dns(t, func(name string, _ int64) []netip.Addr { return addrs[name] })})
	for in, want := range map[string][]string{
		"https://public.example/a":  {"https://public.example"},
		"http://corp.example:8080":  {"http://corp.example:8080", "http://10.1.2.3:8080", "http://[fd12::1]:8080"},
		"http://box.local:8080":     {"http://box.local:8080"},
		"http://127.0.0.1:8080/rpc": {"http://127.0.0.1:8080"},
		"http://localhost:8080":     {"http://localhost:8080"},
		"https://tailnet.example":   {"https://tailnet.example", "https://100.64.0.7"},
		"http://trap.example":       nil,
		"http://169.254.169.254":    nil,
		"nonsense":                  nil,
	} {
		got, err := e.Origins(t.Context(), in)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
		if err != nil && !isRefused(err) {
			t.Errorf("%s: %v is not a *Refused", in, err)
		}
	}
	if _, err := e.Origins(t.Context(), "http://missing.example"); err == nil || isRefused(err) {
		t.Errorf("a name that leads nowhere: %v", err)
	}
	// What Origins names is what opens the way.
	all, err := e.Origins(t.Context(), "http://corp.example:8080")
	if err != nil {
		t.Fatal(err)
	}
	s := &spy{}
	o := e.o
	o.OnDial, o.Grants = s.see, grants{"a": all}.of
	if err := fetch(t, newEgress(t, &o).Client(Policy{Agent: "a"}), "http://corp.example:8080"); !errors.Is(err, errSpy) {
		t.Errorf("with all of them granted: %v", err)
	}
}

// TestTypedRebinding: a name that a person typed leads to this machine if it does so from the beginning, and not once it has led
// to a public address: what is asked for then is named by whoever was there.
func TestTypedRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	canary := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	port := portIn(t, canary)
	own, public := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("93.184.215.14")
	var out atomic.Bool
	s := (&spy{}).let(canary)
	e := newEgress(t, &Options{
		OnDial: s.see,
		Resolver: dns(t, func(string, int64) []netip.Addr {
			if out.Load() {
				return []netip.Addr{public}
			}
			return []netip.Addr{own}
		}),
	})
	ask := func(host string) error { // each time by a client of its own, as a card and its keys are
		u := "http://" + host + ":" + port
		return fetch(t, e.Client(Policy{Typed: u}), u+"/named/by/the/card")
	}
	for _, host := range []string{"inside.example", "inside.example", "other.example", "agent.internal"} {
		if err := ask(host); err != nil {
			t.Errorf("%s, which leads here from the beginning: %v", host, err)
		}
	}
	before := hits.Load()
	out.Store(true)
	for _, host := range []string{"rebind.example", "agent.internal"} {
		if err := ask(host); err == nil {
			t.Fatal("a public address was reached")
		}
	}
	out.Store(false)
	var refused *Refused
	for range 3 {
		if err := ask("rebind.example"); !errors.As(err, &refused) {
			t.Errorf("it led elsewhere before: %v", err)
		}
	}
	if n := hits.Load(); n != before {
		t.Errorf("this machine was reached %d times", n-before)
	}
	if err := ask("agent.internal"); err != nil { // whose answers are those of the person's own network
		t.Errorf("a local name: %v", err)
	}
	if err := ask("other.example"); err != nil {
		t.Errorf("another name: %v", err)
	}
}
