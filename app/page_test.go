package app_test

import (
	"testing"

	"parley/app"
)

// opened is a window that notes what it was to open.
type opened struct {
	app.Shell
	urls []string
}

func (o *opened) OpenURL(address string) error {
	o.urls = append(o.urls, address)
	return nil
}

// What only the programs of a system would read in their own way never reaches one.
func TestWindowOpens(t *testing.T) {
	t.Parallel()
	window := &opened{}
	shell := app.Carefully(window)
	for _, address := range []string{"mailto:a@b.example?attach=/etc/passwd", "file:///etc/passwd", "parley://x", "https://a@b.example/", "-h", ""} {
		if err := shell.OpenURL(address); err == nil {
			t.Errorf("%q was opened", address)
		}
	}
	if err := shell.OpenURL("https://b.example/$(id)?a='b'"); err != nil || len(window.urls) != 1 || window.urls[0] != "https://b.example/%24%28id%29?a=%27b%27" {
		t.Errorf("opened %q, %v", window.urls, err)
	}
	if app.Carefully(nil) != nil {
		t.Error("a browser has a window")
	}
}
