package guard

import (
	"maps"
	"mime"
	"net/http"
	"strings"
)

// PageCSP is the Content-Security-Policy of the pages: nothing from elsewhere, nothing inline, no eval, no frame around.
const PageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; " +
	"font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types parley"

// AnswerCSP is the policy of what is no page: JSON, events, cards.
const AnswerCSP = "default-src 'none'; frame-ancestors 'none'"

// fileCSP makes a file harmless also when a browser is brought to show it. A PDF goes without the sandbox, in which
// browsers refuse to start their viewer; the viewer is a sandbox of its own.
const (
	pdfCSP  = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; object-src 'self'; frame-ancestors 'self'"
	fileCSP = pdfCSP + "; sandbox"
)

const permissions = "accelerometer=(), autoplay=(self), browsing-topics=(), camera=(), clipboard-read=(), clipboard-write=(self), " +
	"display-capture=(), fullscreen=(self), geolocation=(), gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), " +
	"payment=(), publickey-credentials-get=(), serial=(), usb=(), xr-spatial-tracking=()"

// Headers sets the security headers of every response before the handler runs, so that a route with other needs can set
// its own over them (see Frame and File). There are no CORS headers among them: nothing here is for another origin.
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

// Frame gives a route its own policy and lets our own pages show it in a frame. The policy must have its own sandbox and
// frame-ancestors 'self'.
func Frame(csp string) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", csp)
			w.Header().Set("X-Frame-Options", "SAMEORIGIN")
			next.ServeHTTP(w, r)
		})
	}
}

// File sets the headers of a file that somebody else made: it is downloaded under a clean name, never sniffed, and runs
// nothing. With inline it may be shown in a page of ours as well (an image, a film, a PDF); a type that can hold scripts
// is downloaded all the same.
func File(w http.ResponseWriter, name, mediaType string, inline bool) {
	kind, params, err := mime.ParseMediaType(mediaType)
	if err != nil {
		kind, params = "application/octet-stream", nil
	}
	disposition := "attachment"
	if inline && showable(kind) {
		disposition = "inline"
	}
	h := w.Header()
	h.Set("Content-Type", mime.FormatMediaType(kind, params))
	// An empty name, or one that FormatMediaType cannot write, leaves the bare word.
	if full := mime.FormatMediaType(disposition, map[string]string{"filename": CleanName(name)}); full != "" {
		disposition = full
	}
	h.Set("Content-Disposition", disposition)
	h.Set("Content-Security-Policy", fileCSP)
	if kind == "application/pdf" {
		h.Set("Content-Security-Policy", pdfCSP)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "SAMEORIGIN")
}

// showable reports whether a browser can show a type without running what is in it.
func showable(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "application/pdf", "text/plain":
		return true
	}
	return strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

// CleanName makes a file name that is safe to write to a disk and to show: no folders, no control or direction
// characters, no leading dot, none of the characters and names that Windows keeps for itself, at most 120 characters.
func CleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\ufeff', r >= '\u200b' && r <= '\u200d', r == '\ufffd':
			return -1
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > maxName {
		stem, ext := name, ""
		if dot := strings.LastIndexByte(name, '.'); dot > 0 && len([]rune(name[dot:])) <= 16 {
			stem, ext = name[:dot], name[dot:]
		}
		name = string([]rune(stem)[:maxName-len([]rune(ext))]) + ext
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch {
	case name == "":
		return "file"
	case stem == "CON", stem == "PRN", stem == "AUX", stem == "NUL", len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")):
		return "_" + name
	}
	return name
}

const maxName = 120
