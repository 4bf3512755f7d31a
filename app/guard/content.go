package guard

import (
	"mime"
	"net/http"
	"slices"
)

// ContentType lets through requests that change something only with one of the given types: a form, or text/plain, can be
// sent by any web page. A request without a type passes only when it has a bearer token and comes from no page.
func ContentType(types ...string) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !safe(r.Method) && r.Method != http.MethodDelete && !typed(r, types) {
				refuse(w, r, http.StatusUnsupportedMediaType, "Send JSON, with its Content-Type.")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func typed(r *http.Request, types []string) bool {
	values := r.Header["Content-Type"]
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return (Principal(r.Context()) != "" || r.Header.Get("Authorization") != "") && len(r.Header["Origin"]) == 0
	}
	kind, _, err := mime.ParseMediaType(values[0])
	return err == nil && len(values) == 1 && slices.Contains(types, kind)
}
