package guard

import (
	"errors"
	"net/http"
	"strings"
)

// ErrOrigin is why a request that is not from a page of ours is turned away.
var ErrOrigin = errors.New("the request does not come from a page of this program")

// checkOrigin reports whether a request was made by a page of this very listener: same scheme, host and port; secure says
// that the browser speaks TLS. It stands behind the check of Host, which it relies on. A request that does not say where it
// comes from is turned away, for every browser does where it counts.
func checkOrigin(r *http.Request, secure bool) error {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	origins := r.Header["Origin"]
	if len(origins) != 1 || r.Host == "" || origins[0] != scheme+"://"+strings.ToLower(r.Host) {
		return ErrOrigin
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return ErrOrigin
	}
	return nil
}

// sameOrigin lets through what changes nothing, and of the rest only what a page of ours sends.
func (s *Sessions) sameOrigin(next http.Handler) http.Handler {
	// Two checks by two hands: the standard library's, and ours, which also refuses what names no origin at all.
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(denyOrigin))
	return cross.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !safe(r.Method) && checkOrigin(r, s.secure(r)) != nil {
			denyOrigin(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

func denyOrigin(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, http.StatusForbidden, "This can only be done from a page of this program.")
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
