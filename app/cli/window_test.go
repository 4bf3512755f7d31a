package cli

import "testing"

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
