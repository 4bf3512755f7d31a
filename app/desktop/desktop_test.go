package desktop

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "window.json")
	if p, known := readPlace(file); known || p != first {
		t.Errorf("before any: %+v %v", p, known)
	}
	want := place{X: 20, Y: 30, Width: 700, Height: 600}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	if p, known := readPlace(file); !known || p != want {
		t.Errorf("kept: %+v %v", p, known)
	}
	for _, bad := range []string{"", "{", `{"Width":379,"Height":480}`, `{"Width":380,"Height":479}`, `{"Width":99999,"Height":600}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, known := readPlace(file); known || p != first {
			t.Errorf("%q: %+v %v", bad, p, known)
		}
	}
	if err := os.WriteFile(file, []byte(`{"Width":380,"Height":480}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, known := readPlace(file); !known {
		t.Error("the smallest window is not taken")
	}
}

// TestWithin has a window that was on a screen which is gone, or larger.
func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, want place }{
		{place{X: 100, Y: 50, Width: 800, Height: 600}, place{X: 100, Y: 50, Width: 800, Height: 600}},
		{place{X: 3000, Y: -900, Width: 800, Height: 600}, place{X: 480, Y: 0, Width: 800, Height: 600}},
		{place{X: -10, Y: 700, Width: 2000, Height: 1500}, place{X: 0, Y: 0, Width: 1280, Height: 900}},
	} {
		if got := c.was.within(1280, 900); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.was, got, c.want)
		}
	}
	if p := (place{X: 5, Y: 5, Width: 400, Height: 500}); p.within(0, 0) != p {
		t.Error("moved on a screen nobody knows the size of")
	}
}

// TestInside has paths that would lead the window elsewhere.
func TestInside(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("http://127.0.0.1:7420/#token=x")
	for path, want := range map[string]string{
		"/c/1#i-2":                   "http://127.0.0.1:7420/c/1#i-2",
		"/connect?address=a%26b":     "http://127.0.0.1:7420/connect?address=a%26b",
		"//evil.example/x":           "http://127.0.0.1:7420/",
		"https://evil.example/":      "http://127.0.0.1:7420/",
		"javascript:alert(1)":        "http://127.0.0.1:7420/",
		"http://u@127.0.0.1:7420/x":  "http://127.0.0.1:7420/",
		"http://127.0.0.1:7421/":     "http://127.0.0.1:7420/",
		"file:///etc/passwd":         "http://127.0.0.1:7420/",
		"http://127.0.0.1:7420/runs": "http://127.0.0.1:7420/runs",
	} {
		if got := inside(base, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
