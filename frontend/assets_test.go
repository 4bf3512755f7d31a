package frontend

import (
	"mime"
	"net/http/httptest"
	"path"
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
