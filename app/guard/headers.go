package guard

import (
	"maps"
	"net/http"
)

// PageCSP is the Content-Security-Policy of the pages: nothing from elsewhere, nothing inline, no eval, no frame around.
const PageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; " +
	"font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types parley"

// AnswerCSP is the policy of what is no page: JSON, events, cards.
const AnswerCSP = "default-src 'none'; frame-ancestors 'none'"

const permissions = "accelerometer=(), autoplay=(self), browsing-topics=(), camera=(), clipboard-read=(), clipboard-write=(self), " +
	"display-capture=(), fullscreen=(self), geolocation=(), gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), " +
	"payment=(), publickey-credentials-get=(), serial=(), usb=(), xr-spatial-tracking=()"

// Headers sets the security headers of every response before the handler runs, so that a route with other needs can set
// its own over them. There are no CORS headers among them: nothing here is for another origin.
func Headers(csp string) Middleware {
	// Shared by all responses: Set and Add of a handler make a slice of their own.
	all := http.Header{
		"Content-Security-Policy":      {csp},
		"X-Content-Type-Options":       {"nosniff"},
		"Referrer-Policy":              {"no-referrer"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Permissions-Policy":           {permissions},
		"X-Frame-Options":              {"DENY"},
		"X-Dns-Prefetch-Control":       {"off"}, // a browser would look up the host of a link before anybody follows it
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), all)
			next.ServeHTTP(w, r)
		})
	}
}

// AnswerHeaders is Headers for a listener without pages: what a browser that was brought there must be told, and no more,
// for programs pay for every byte.
func AnswerHeaders(csp string) Middleware {
	policy, sniff, referrer := []string{csp}, []string{"nosniff"}, []string{"no-referrer"} // shared, as above
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h["Content-Security-Policy"], h["X-Content-Type-Options"], h["Referrer-Policy"] = policy, sniff, referrer
			next.ServeHTTP(w, r)
		})
	}
}
