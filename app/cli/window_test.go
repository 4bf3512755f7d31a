package cli

import (
	"errors"
	"testing"

	"parley/app/guard"
)

// TestLinked has links from anywhere: they show a page, and never do anything.
func TestLinked(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"a2a://agent.example":                             "/connect?input=https%3A%2F%2Fagent.example",
		"a2a://agent.example:8443/a/b?x=1":                "/connect?input=https%3A%2F%2Fagent.example%3A8443%2Fa%2Fb%3Fx%3D1",
		"parley://connect?address=http%3A%2F%2Flocalhost": "/connect?input=http%3A%2F%2Flocalhost",
		"parley://chat/0199":                              "/c/0199",
		"parley://chat/..":                                "/c/..",
		"parley://inbox":                                  "/inbox",
		"parley://inbox/":                                 "/inbox",
		"parley:":                                         "/",
	} {
		if got, err := linked(link); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", link, got, err, want)
		}
	}
	for _, bad := range []string{
		"", "serv", "https://agent.example", "a2a:", "a2a:///x", "a2a://u:p@agent.example", "parley://chat", "parley://chat/a/b",
		"parley://runs/1/stop", "parley://connect.evil/x", "javascript:alert(1)", "file:///etc/passwd", "parley://%zz",
	} {
		if got, err := linked(bad); err == nil {
			t.Errorf("%q leads to %s", bad, got)
		}
	}
}

// What only programs of the system would read in their own way never reaches one.
func TestWindowOpens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"mailto:a@b.example?attach=/etc/passwd", "file:///etc/passwd", "parley://x", "https://a@b.example/", "-h", ""} {
		if err := (shell{}).OpenURL(address); !errors.Is(err, guard.ErrURL) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
