package egress

import (
	"net/url"
	"testing"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://agent.example":                      "https://agent.example",
		"https://agent.example:443/a?b#c":            "https://agent.example",
		"HTTP://Agent.Example:80":                    "http://agent.example",
		"http://agent.example:443":                   "http://agent.example:443",
		"https://agent.example:8443/":                "https://agent.example:8443",
		"http://127.0.0.1:7421":                      "http://127.0.0.1:7421",
		"http://[::1]:80/":                           "http://[::1]",
		"http://[0:0:0:0:0:0:0:1]:81":                "http://[::1]:81",
		"http://[::ffff:10.0.0.1]:81":                "http://10.0.0.1:81",
		"http://[::FFFF:a00:1]:81":                   "http://10.0.0.1:81",
		"https://bücher.example":                     "https://xn--bcher-kva.example",
		"http://①②⑦.⓪.⓪.①":                           "http://127.0.0.1",
		"http://under_score.example":                 "http://under_score.example",
		"http://agent.example@evil.example":          "",
		"http://user:pass@agent.example":             "",
		"http://agent.example.":                      "",
		"http://agent.example:":                      "",
		"http://agent.example:0":                     "",
		"http://agent.example:080":                   "",
		"http://agent.example:65536":                 "",
		"http://[fe80::1%25eth0]":                    "",
		"http://2130706433":                          "",
		"http://0x7f000001":                          "",
		"http://0x7f.1":                              "",
		"http://127.1":                               "",
		"http://0177.0.0.1":                          "",
		"http://127.0.0.1.":                          "",
		"http://1.2.3.4.5":                           "",
		"http://agent.0x10":                          "",
		"http://0":                                   "",
		"http://":                                    "",
		"http:agent.example":                         "",
		"//agent.example":                            "",
		"agent.example":                              "",
		"ftp://agent.example":                        "",
		"file:///etc/passwd":                         "",
		"javascript:alert(1)":                        "",
		"ws://agent.example":                         "",
		"http://a b.example":                         "",
		"http://agent.example\r\nHost: evil.example": "",
		"http://%61gent.exa%2fmple":                  "",
	} {
		got, err := Origin(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Origin(%q) = %q, %v; want %q", in, got, err, want)
		}
		if err != nil && !isRefused(err) {
			t.Errorf("Origin(%q): %T is not a *Refused", in, err)
		}
	}
}

// FuzzOrigin checks that an origin is its own origin, and that it means the host that net/http would ask.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://agent.example:8443/x", "http://[::1]:81", "http://①②⑦.⓪.⓪.①", "http://a%2eb", "http://0x7f.1", "http://xn--a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Origin(s)
		if err != nil {
			return
		}
		again, err := Origin(got)
		if err != nil || again != got {
			t.Errorf("Origin(%q) = %q, and of that %q, %v", s, got, again, err)
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme+"://"+u.Host != got || u.User != nil {
			t.Errorf("Origin(%q) = %q, which reads as %v, %v", s, got, u, err)
		}
	})
}
