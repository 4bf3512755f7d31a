package guard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestParseProxies(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "[]", " , ": "[]", "127.0.0.1": "[127.0.0.1/32]", "::1,10.1.2.3/8": "[::1/128 10.0.0.0/8]", "2001:db8::/32 ::ffff:192.0.2.1": "[2001:db8::/32 192.0.2.1/32]",
	} {
		if got, err := ParseProxies(in); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v %v, want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{"proxy.example", "127.0.0.1/33", "0.0.0.0/0", "::/0", "::ffff:0:0/96", "10.0.0.0/8;::1"} {
		if got, err := ParseProxies(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestForwarded: only a proxy of ours says where a request comes from, and what a caller wrote before it counts for nothing.
func TestForwarded(t *testing.T) {
	t.Parallel()
	p, err := ParseProxies("127.0.0.1, 10.0.0.0/8, 2001:db8::/32")
	if err != nil {
		t.Fatal(err)
	}
	const proxy = "127.0.0.1:4000"
	for _, c := range []struct {
		from      string
		forwarded []string
		want      string
	}{
		{"192.0.2.9:1", []string{"198.51.100.1"}, "192.0.2.9:1"}, // no proxy of ours
		{proxy, nil, proxy},                                                     // it names nobody
		{proxy, []string{""}, proxy},                                            //
		{proxy, []string{"198.51.100.1"}, "198.51.100.1:0"},                     //
		{proxy, []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1:0"},            // 1.1.1.1 is the caller's word
		{proxy, []string{"1.1.1.1", "198.51.100.1"}, "198.51.100.1:0"},          // in a header of its own
		{proxy, []string{"1.1.1.1, 198.51.100.1, 10.0.0.7"}, "198.51.100.1:0"},  // two proxies
		{proxy, []string{"10.0.0.8, 10.0.0.7"}, "10.0.0.8:0"},                   // from a proxy itself
		{proxy, []string{"1.1.1.1, unknown"}, proxy},                            // nobody it could name
		{proxy, []string{"1.1.1.1, unknown, 10.0.0.7"}, "10.0.0.7:0"},           //
		{proxy, []string{"198.51.100.1:5000"}, "198.51.100.1:0"},                //
		{proxy, []string{"[2001:db9::1]:5000"}, "[2001:db9::1]:0"},              //
		{proxy, []string{"[2001:db9::1]"}, "[2001:db9::1]:0"},                   //
		{proxy, []string{"fe80::1%eth0"}, "[fe80::1]:0"},                        //
		{proxy, []string{"::ffff:198.51.100.1"}, "198.51.100.1:0"},              //
		{"[::ffff:127.0.0.1]:4000", []string{"198.51.100.1"}, "198.51.100.1:0"}, //
		{"[2001:db8::9]:4000", []string{"198.51.100.1"}, "198.51.100.1:0"},      //
		{proxy, []string{"198.51.100.1" + strings.Repeat(",", 30_000)}, proxy},  //
		{proxy, []string{"127.0.0.1, 198.51.100.1 "}, "198.51.100.1:0"},         //
		{proxy, []string{"198.51.100.1\t"}, "198.51.100.1:0"},                   //
		{"@", []string{"198.51.100.1"}, "@"},                                    //
		{proxy, []string{"0x7f.1"}, proxy},                                      //
		{proxy, []string{`for="198.51.100.1"`}, proxy},                          //
	} {
		if got := p.client(c.from, c.forwarded); got != c.want {
			t.Errorf("%s, %.60q: %s, want %s", c.from, c.forwarded, got, c.want)
		}
	}
	if got := Proxies(nil).client(proxy, []string{"198.51.100.1"}); got != proxy {
		t.Errorf("without proxies: %s", got)
	}
}

// TestGuessingThroughProxy: who guesses through a proxy locks himself out and nobody else, whatever he says of himself.
func TestGuessingThroughProxy(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l, _ := OpenLogin(t.TempDir(), passphrase)
	p := &pages{}
	p.plane = open(t, &Options{Proxies: proxies}, func(addr net.Addr, h http.Handler) http.Handler {
		if p.Sessions, err = OpenSessions(t.TempDir(), addr, &SessionOptions{Login: l}); err != nil {
			t.Fatal(err)
		}
		return p.Protect(h)
	})
	enter := func(said, forwarded string) int {
		return p.do(t, "POST", "/session", `{"passphrase":"`+said+`"}`, append(p.own(), "X-Forwarded-For", forwarded)...).StatusCode
	}
	for i := range maxFailures {
		if got := enter("not the right one", fmt.Sprintf("192.0.2.%d, 198.51.100.1", i)); got != 401 {
			t.Fatalf("attempt %d: %d", i, got)
		}
	}
	for forged, want := range map[string]int{"198.51.100.1": 429, "192.0.2.77, 198.51.100.1": 429, "198.51.100.2": 204} {
		if got := enter(passphrase, forged); got != want {
			t.Errorf("%s: %d, want %d", forged, got, want)
		}
	}
	if log := p.log.String(); !strings.Contains(log, `"from":"198.51.100.1"`) {
		t.Errorf("the log does not name the one who guessed:\n%s", log)
	}
}

// TestRandomTokens: a token that nobody can guess is good while its source is locked out; one that a person chose is not.
func TestRandomTokens(t *testing.T) {
	t.Parallel()
	s := &tokens{}
	drawn, chosen := s.add("drawn"), s.add("chosen")
	now := time.Now()
	k := NewKeys(s.lookup, &BearerOptions{Random: func(who string) bool { return who == "drawn" }, Now: func() time.Time { return now }})
	h := k.Bearer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	code := func(token string) int { return ask(h, "/", "Bearer "+token).Code }
	for i := range maxFailures {
		if got := code(fmt.Sprint("guess", i)); got != 401 {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	for token, want := range map[string]int{drawn: 200, chosen: 429, "another guess": 429, "guess0": 429} {
		if got := code(token); got != want {
			t.Errorf("%.8s: %d, want %d", token, got, want)
		}
	}
	if _, _, denied := k.Enter(t.Context(), "192.0.2.1:1", []string{"Bearer " + drawn}); denied != nil {
		t.Errorf("not over HTTP: %+v", denied)
	}
	now = now.Add(time.Minute)
	if got := code(chosen); got != 200 {
		t.Errorf("after a minute: %d", got)
	}
	broken := NewKeys(func(context.Context, [sha256.Size]byte) (string, bool, error) { return "", false, nil }, nil)
	if broken.o.Random != nil {
		t.Error("tokens are taken for random where nobody says so")
	}
}

// TestBehindProxy: a browser that speaks TLS with a proxy in front is served as one that speaks it with us.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	const host = "parley.example"
	p := &pages{}
	p.plane = open(t, &Options{Hosts: []string{host}}, func(addr net.Addr, h http.Handler) http.Handler {
		var err error
		if p.Sessions, err = OpenSessions(t.TempDir(), addr, &SessionOptions{URL: "https://" + host}); err != nil {
			t.Fatal(err)
		}
		return p.Protect(h)
	})
	enter := func(host, origin string) *http.Response {
		token, _ := p.Token(time.Minute)
		return p.do(t, "POST", "/session", `{"token":"`+token+`"}`, "Host", host, "Origin", origin, "Sec-Fetch-Site", "same-origin", "Content-Type", "application/json")
	}
	resp := enter(host, "https://"+host)
	if resp.StatusCode != 204 {
		t.Fatalf("a page behind the proxy is turned away: %d %s", resp.StatusCode, text(t, resp))
	}
	c := resp.Cookies()[0]
	if c.Name != "__Host-parley_"+p.plane.port || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie: %+v", c)
	}
	good := c.Name + "=" + c.Value
	for cookie, want := range map[string]int{
		good: 200, "parley_" + p.plane.port + "=" + c.Value: 401, // set without TLS, or by a neighbour
		good + "; parley_" + p.plane.port + "=x": 200, good + "; " + good: 401,
	} {
		if got := p.do(t, "GET", "/", "", "Host", host, "Cookie", cookie).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", cookie, got, want)
		}
	}
	if got := p.do(t, "POST", "/say", "", "Host", host, "Cookie", good, "Origin", "https://"+host).StatusCode; got != 200 {
		t.Errorf("a form: %d", got)
	}
	for _, origin := range []string{"http://" + host, "https://evil.example", "https://" + host + ":444", "null"} {
		if got := enter(host, origin).StatusCode; got != 403 {
			t.Errorf("%s: %d", origin, got)
		}
		if got := p.do(t, "POST", "/say", "", "Host", host, "Cookie", good, "Origin", origin).StatusCode; got != 403 {
			t.Errorf("a form of %s: %d", origin, got)
		}
	}
	// On this machine all is as before.
	if resp := enter(p.addr, "http://"+p.addr); resp.StatusCode != 204 || resp.Cookies()[0].Secure {
		t.Errorf("on this machine: %d", resp.StatusCode)
	}
	if got := enter(p.addr, "https://"+p.addr).StatusCode; got != 403 {
		t.Errorf("TLS that nobody speaks: %d", got)
	}
}
