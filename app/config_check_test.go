package app_test

import (
	"strings"
	"testing"

	"parley/app"
)

// What others can reach needs TLS, the page a login and a name besides, and who answers without tokens answers this machine only.
func TestConfig(t *testing.T) {
	t.Parallel()
	tls := func(c *app.Config) *app.Config { c.TLSCert, c.TLSKey = "cert.pem", "key.pem"; return c }
	for _, here := range []string{"127.0.0.1:0", "127.0.0.1:7420", "[::1]:7420", "localhost:7420", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"} {
		for _, c := range []*app.Config{
			{UI: here},
			{A2A: here},
			{A2A: here, OpenA2A: true},
			{GRPC: here},
			{UI: here, PageURL: "http://127.0.0.1:7420"},
			{UI: here, PageURL: "https://parley.example", Proxies: "127.0.0.1, 10.0.0.0/8"},
		} {
			if err := c.Check(); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	for _, there := range []string{":7420", "0.0.0.0:7420", "[::]:7420", "192.168.1.2:7420", "host.example:7420", "localhost.evil.example:1"} {
		for want, c := range map[string]*app.Config{
			"--ui " + there:      {UI: there, PageURL: "https://parley.example"},
			"--a2a " + there:     {A2A: there},
			"--grpc " + there:    {GRPC: there},
			"--a2a-auth none":    tls(&app.Config{A2A: there, OpenA2A: true}),
			"belong together":    {A2A: there, TLSCert: "cert.pem"},
			"is no origin":       tls(&app.Config{UI: there, PageURL: "parley.example"}),
			"is no address":      tls(&app.Config{A2A: there + ":1"}),
			"exclude each other": {PublicURL: "https://parley.example", OpenA2A: true},
			"in clear":           tls(&app.Config{UI: there, PageURL: "http://parley.example"}),
			"is everybody":       {Proxies: "0.0.0.0/0"},
			"and no network":     {Proxies: "127.0.0.1,proxy.example"},
		} {
			if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", c, err, want)
			}
		}
		for _, c := range []*app.Config{{UI: there, PageURL: "https://parley.example"}, {A2A: there}, {GRPC: there}} {
			if err := tls(c).Check(); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
		named := !strings.HasPrefix(there, ":") && !strings.HasPrefix(there, "0.") && !strings.HasPrefix(there, "[::]")
		if err := tls(&app.Config{UI: there}).Check(); (err == nil) != named {
			t.Errorf("the page at %s, without --ui-url: %v", there, err)
		}
	}
}
