// Package storybook shows every component with sample content, in one page at /storybook, while Parley is developed. The
// same samples are held as text by its tests, so a change of any component is seen in a diff.
package storybook

import (
	"net/http"
	"time"

	"github.com/a-h/templ"

	"parley/frontend/view"
)

// Sample is one component with the content it is shown with.
type Sample struct {
	Name      string
	Component templ.Component
}

// now is the time of all samples.
var now = time.Date(2026, 11, 20, 14, 5, 0, 0, time.UTC)

// Handler serves the storybook. The bundle is taken from /static by its plain names.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := view.Page{
			Title: "Storybook", Theme: r.FormValue("theme"), CSS: "/static/app.css", JS: "/static/app.js", Now: now, Side: side(),
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_ = book(p, Samples()).Render(r.Context(), w)
	})
}
