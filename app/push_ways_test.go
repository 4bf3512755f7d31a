package app

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"parley/a2a"
	"parley/a2aserver"
	"parley/app/egress"
)

// TestCheck37Addresses: which addresses a webhook may have, by what they say.
func TestCheck37Addresses(t *testing.T) {
	t.Parallel()
	dialled := func(network, address string, _ error) error {
		t.Errorf("%s %s was dialled", network, address)
		return errors.New("no")
	}
	e := egress.New(&egress.Options{OnDial: dialled, Grants: pushGrants(func(context.Context, string) []string { return nil })})
	t.Cleanup(e.Close)
	open, shut := &pushWays{egress: e, loopback: true}, &pushWays{egress: e}
	for _, host := range []string{
		"10.0.0.1", "172.16.3.4", "192.168.1.1", "100.64.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "0.0.0.0",
		"0.0.0.1", "198.18.0.1", "192.0.2.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[::]", "[fe80::1]", "[fe80::1%25eth0]",
		"[fc00::1]", "[fd00:ec2::254]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]",
		"[2002:7f00:1::]", "[::127.0.0.1]", "[ff02::1]", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "hooks.example:8443",
	} {
		for _, ways := range []*pushWays{open, shut} {
			u, err := url.Parse("https://" + host + "/hook")
			if err != nil {
				continue // refused before it comes here
			}
			if _, err := ways.target(u); err == nil {
				t.Errorf("%s was let through", host)
			}
		}
	}
	for _, host := range []string{"93.184.215.14", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]", "hooks.example"} {
		u, _ := url.Parse("https://" + host + "/hook")
		if way, err := shut.target(u); err != nil || way.Connections != pushConnections || way.Rate != pushRate {
			t.Errorf("%s: %v, %v", host, way, err)
		}
	}
	for _, host := range []string{"hooks.example:443", "HOOKS.example", "ｈooks.example"} { // all share what one origin gets
		u, _ := url.Parse("https://" + host + "/hook")
		if way, err := shut.target(u); err != nil || way.Origin != "https://hooks.example" {
			t.Errorf("%s: %+v, %v", host, way, err)
		}
	}
	for _, host := range []string{"127.0.0.1:4711", "localhost", "[::1]:4711", "127.8.8.8"} {
		u, _ := url.Parse("http://" + host + "/hook")
		if _, err := open.target(u); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if _, err := shut.target(u); err == nil {
			t.Errorf("%s was let through without leave", host)
		}
	}
}

// oneEvent are tasks of one event each.
type oneEvent struct{ a2aserver.Tasks }

func (oneEvent) Events(_ context.Context, _, task string, _ int64) iter.Seq2[[]*a2a.Entry, error] {
	return func(yield func([]*a2a.Entry, error) bool) {
		ev := &a2a.StatusUpdate{TaskID: task, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
		yield([]*a2a.Entry{a2a.NewEntry(1, time.Now(), a2a.MarshalEvent(ev), ev)}, nil)
	}
}

// TestCheck37Rebinding: a name is judged by where it leads at each dial. One that leads to this machine, to a private
// network or to a metadata service is never connected to, whatever it led to before; nor is the target of a redirect.
func TestCheck37Rebinding(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	hits := 0
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hits++
		http.Redirect(w, r, "https://93.184.215.14/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(canary.Close)
	answers := []string{"127.0.0.1", "93.184.215.14", "10.1.2.3", "169.254.169.254", "93.184.215.14", "127.0.0.1"}
	asked := 0
	let := map[string]bool{}
	var refused []string
	e := egress.New(&egress.Options{
		Grants: pushGrants(func(context.Context, string) []string { return nil }),
		Resolver: nameServer(t, func() netip.Addr {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return netip.MustParseAddr(answers[(asked-1)%len(answers)])
		}),
		OnDial: func(_, address string, verdict error) error {
			mu.Lock()
			defer mu.Unlock()
			host, _, _ := net.SplitHostPort(address)
			if verdict != nil {
				refused = append(refused, host)
				return nil
			}
			let[address] = true
			if "http://"+address == canary.URL {
				return nil
			}
			return errors.New("the test lets nothing leave this machine")
		},
	})
	t.Cleanup(e.Close)
	ways := &pushWays{egress: e, loopback: true}
	s := a2aserver.NewPushSender(&a2aserver.PushOptions{
		Tasks: func(string) a2aserver.Tasks { return oneEvent{} }, Target: ways.target,
		Retries: slices.Repeat([]time.Duration{time.Millisecond}, 11),
	})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	for task, hook := range map[string]string{"by-name": "https://hooks.example/hook", "redirected": canary.URL} {
		if _, err := s.For("s").Set(t.Context(), &a2aserver.PushRegistration{Config: a2a.PushConfig{TaskID: task, URL: hook}}); err != nil {
			t.Fatal(err)
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(30 * time.Second)
	for dead := 0; dead < 2; <-tick.C {
		if dead = 0; time.Now().After(deadline) {
			t.Fatal("the deliveries were not given up")
		}
		rows, err := s.Registrations(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.State == a2aserver.PushDead {
				dead++
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if hits != 12 {
		t.Errorf("the granted webhook was asked %d times, want 12", hits)
	}
	for address := range let {
		if address != "93.184.215.14:443" && "http://"+address != canary.URL {
			t.Errorf("%s was let through", address)
		}
	}
	for _, host := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254"} {
		if !slices.Contains(refused, host) {
			t.Errorf("%s was never refused, so it was never tried (refused: %v)", host, refused)
		}
	}
}

// nameServer answers every question for an IPv4 address with what next says, good for no time.
func nameServer(t *testing.T, next func() netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
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
			a := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, Authoritative: true}, Questions: q.Questions}
			if name := q.Questions[0].Name; q.Questions[0].Type == dnsmessage.TypeA && strings.HasPrefix(name.String(), "hooks.") {
				a.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}, Body: &dnsmessage.AResource{A: next().As4()},
				}}
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
