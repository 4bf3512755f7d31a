package frontend

import (
	"mime"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// A browser runs no script of another type, whatever the system's table of endings says: some of Windows say text/plain.
func TestAssetsHaveTheirTypes(t *testing.T) {
	if err := mime.AddExtensionType(".js", "text/plain"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mime.AddExtensionType(".js", "text/javascript; charset=utf-8") })
	want := map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".woff2": "font/woff2",
	}
	a := newAssets()
	for name, file := range a.names {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", a.url(name), nil))
		if got := w.Header().Get("Content-Type"); w.Code != 200 || got != want[path.Ext(file)] || got == "" {
			t.Errorf("%s: %d %q", file, w.Code, got)
		}
	}
}

func TestStatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, name := range []string{"app.js", "app.css", "inter.woff2", "jetbrains-mono.woff2"} {
		r := w.get(w.assets.url(name)).want(t, 200)
		if !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s is not kept", name)
		}
		if r := w.get("/static/" + name); r.StatusCode != 302 || r.Header.Get("Location") != w.assets.url(name) {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
	w.get("/static/none.js").want(t, 404)
	js := w.get(w.assets.url("app.js")).body
	for _, bad := range []string{"eval(", "new Function", "document.write", "outerHTML", "insertAdjacentHTML"} {
		if strings.Contains(js, bad) {
			t.Errorf("the script has %s", bad)
		}
	}
	if n := strings.Count(js, "innerHTML"); n != 1 {
		t.Errorf("the script sets HTML in %d places, want the one with the policy", n)
	}
}
