package frontend

import (
	"embed"
	"encoding/json"
	"net/http"
	"path"
)

//go:embed static
var static embed.FS

// assets are the files of the bundle, by the names they had before their hashes.
type assets struct{ names map[string]string }

func newAssets() *assets {
	a := &assets{}
	b, err := static.ReadFile("static/manifest.json")
	if err == nil {
		err = json.Unmarshal(b, &a.names)
	}
	if err != nil {
		panic("frontend: the bundle has no manifest: " + err.Error()) // it is part of the program
	}
	return a
}

func (a *assets) url(name string) string { return "/static/" + a.names[name] }

// bundle names what a page is made with, so that one of another version of the program is known.
func (a *assets) bundle() string { return a.url("app.js") + " " + a.url("app.css") }

// ServeHTTP serves a file under its hashed name for ever; its plain name leads there.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if to, ok := a.names[name]; ok {
		http.Redirect(w, r, "/static/"+to, http.StatusFound)
		return
	}
	if kind := kindOf(name); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeFileFS(w, r, static, "static/"+name)
}

// kindOf is the media type of a file of the bundle. What the system says of endings does not count: a script of another
// type is not run.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".json":
		return "application/json"
	case ".woff2":
		return "font/woff2"
	}
	return ""
}
