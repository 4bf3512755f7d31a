package guard

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Lookup finds the principal of a token by its hash. Ok is false for a token that is not known, or revoked.
type Lookup = func(ctx context.Context, hash [sha256.Size]byte) (principal string, ok bool, err error)

// BearerOptions of Bearer. The zero value of a field means the default that its comment gives.
type BearerOptions struct {
	Public   func(r *http.Request) bool // requests that need no token: none
	Requests int                        // of one principal at a time: 2,048
	Now      func() time.Time           // time.Now
	Refuse   Refusal                    // how a request is turned away: with a line of plain text
	Logger   *slog.Logger               // nil discards
}

type principalKey struct{}

// Principal returns who Bearer found to be calling, "" when the request needed no token and had none.
func Principal(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// Bearer lets through requests with a good bearer token and tells the handler whose it is. Ten different wrong tokens
// from one source within a minute lock it out; one wrong token sent again and again does not, or a client with an old
// token would lock out all others on the same machine.
func Bearer(lookup Lookup, o *BearerOptions) Middleware {
	var opts BearerOptions
	if o != nil {
		opts = *o
	}
	set(&opts.Requests, 2048)
	if opts.Public == nil {
		opts.Public = func(*http.Request) bool { return false }
	}
	if opts.Refuse == nil {
		opts.Refuse = refuse
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	failures, running := newFailures(opts.Now), &running{max: opts.Requests, by: map[string]int{}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			values := r.Header["Authorization"]
			if len(values) == 0 && opts.Public(r) {
				next.ServeHTTP(w, r)
				return
			}
			if failures.locked(w, r, opts.Refuse) {
				return
			}
			if len(values) == 0 {
				opts.unauthorized(w, r, "", "This needs a bearer token.")
				return
			}
			const bad = "This token is not good, or no longer."
			token, ok := bearerToken(values)
			if !ok {
				opts.unauthorized(w, r, "invalid_token", bad)
				return
			}
			hash := sha256.Sum256([]byte(token))
			principal, ok, err := lookup(r.Context(), hash)
			if err != nil {
				opts.Logger.ErrorContext(r.Context(), "tokens cannot be read", "err", err)
				w.Header().Set("Retry-After", "5")
				opts.Refuse(w, r, http.StatusServiceUnavailable, "Tokens cannot be checked right now.")
				return
			}
			if !ok {
				failures.add(r, hash)
				opts.unauthorized(w, r, "invalid_token", bad)
				return
			}
			if !running.enter(principal) {
				w.Header().Set("Retry-After", "1")
				opts.Refuse(w, r, http.StatusTooManyRequests, "Too many requests of this client are open at once.")
				return
			}
			defer running.leave(principal)
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, principal)))
		})
	}
}

// bearerToken reads the token of the one Authorization header that a request may have.
func bearerToken(values []string) (string, bool) {
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, len(values) == 1 && strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken
}

const maxToken = 4096 // bytes; ours have 43

func (o *BearerOptions) unauthorized(w http.ResponseWriter, r *http.Request, code, sentence string) {
	challenge := `Bearer realm="parley"`
	if code != "" {
		challenge += `, error="` + code + `"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	o.Refuse(w, r, http.StatusUnauthorized, sentence)
}

// running counts the open requests of each principal.
type running struct {
	max int
	mu  sync.Mutex
	by  map[string]int
}

func (n *running) enter(principal string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by[principal] >= n.max {
		return false
	}
	n.by[principal]++
	return true
}

func (n *running) leave(principal string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by[principal]--; n.by[principal] == 0 {
		delete(n.by, principal)
	}
}

// NoBrowser turns away what a web page could make a browser send without asking: it is for a listener where no token is
// wanted. A2A clients are programs; one in a page would need CORS, which is never given here.
func NoBrowser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		if len(r.Header["Origin"]) > 0 || site != "" && site != "none" {
			refuse(w, r, http.StatusForbidden, "Web pages cannot call this.")
			return
		}
		next.ServeHTTP(w, r)
	})
}
