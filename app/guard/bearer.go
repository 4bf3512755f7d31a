package guard

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Lookup finds the principal of a token by its hash. Ok is false for a token that is not known, or revoked.
type Lookup = func(ctx context.Context, hash [sha256.Size]byte) (principal string, ok bool, err error)

// BearerOptions of Bearer. The zero value of a field means the default that its comment gives.
type BearerOptions struct {
	Public   func(r *http.Request) bool  // requests that need no token: none
	Requests int                         // of one principal at a time: 2,048
	Random   func(principal string) bool // whose token nobody can guess, for it was drawn: let in from a source that is locked out, too. None
	Now      func() time.Time            // time.Now
	Refuse   Refusal                     // how a request is turned away: with a line of plain text
	Logger   *slog.Logger                // nil discards
}

type principalKey struct{}

// Principal returns who Bearer found to be calling, "" when the request needed no token and had none.
func Principal(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// Keys knows callers by their bearer tokens, whatever way they come: Bearer is its middleware for requests, Enter is for
// calls over something else. Ten different wrong tokens from one source within a minute lock it out; one wrong token sent
// again and again does not, or a client with an old token would lock out all others on the same machine. Those whose tokens
// are Random are not locked out with it: behind a proxy, or in one network, others come from there as well.
type Keys struct {
	lookup   Lookup
	o        BearerOptions
	failures *failures
	running  *running
}

// NewKeys returns the keys that lookup finds. Nil options are fine.
func NewKeys(lookup Lookup, o *BearerOptions) *Keys {
	k := &Keys{lookup: lookup}
	if o != nil {
		k.o = *o
	}
	set(&k.o.Requests, 2048)
	if k.o.Public == nil {
		k.o.Public = func(*http.Request) bool { return false }
	}
	if k.o.Refuse == nil {
		k.o.Refuse = refuse
	}
	if k.o.Logger == nil {
		k.o.Logger = slog.New(slog.DiscardHandler)
	}
	k.failures, k.running = newFailures(k.o.Now), &running{max: k.o.Requests, by: map[string]int{}}
	return k
}

// Bearer lets through requests with a good bearer token and tells the handler whose it is.
func (k *Keys) Bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := r.Header["Authorization"]
		if len(values) == 0 && k.o.Public(r) {
			next.ServeHTTP(w, r)
			return
		}
		principal, denied := k.admit(r.Context(), r.RemoteAddr, values)
		if denied != nil {
			denied.answer(w, r, k.o.Refuse)
			return
		}
		defer k.running.leave(principal)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, principal)))
	})
}

// Enter returns whose token a call carries: values are what it has in the place of Authorization, address is where it came
// from. leave is to be called when the call is over.
func (k *Keys) Enter(ctx context.Context, address string, values []string) (principal string, leave func(), denied *Denied) {
	if principal, denied = k.admit(ctx, address, values); denied != nil {
		return "", nil, denied
	}
	return principal, func() { k.running.leave(principal) }, nil
}

// admit counts the call as one that runs.
func (k *Keys) admit(ctx context.Context, address string, values []string) (principal string, denied *Denied) {
	from := sourceOf(address)
	locked := k.failures.denial(from)
	if locked != nil && k.o.Random == nil {
		return "", locked
	}
	if len(values) == 0 {
		return "", unauthorized("", "This needs a bearer token.")
	}
	const bad = "This token is not good, or no longer."
	token, ok := bearerToken(values)
	if !ok {
		return "", unauthorized("invalid_token", bad)
	}
	hash := sha256.Sum256([]byte(token))
	principal, ok, err := k.lookup(ctx, hash)
	if err != nil {
		k.o.Logger.ErrorContext(ctx, "tokens cannot be read", "err", err)
		return "", &Denied{Status: http.StatusServiceUnavailable, Sentence: "Tokens cannot be checked right now.", RetryAfter: 5 * time.Second}
	}
	if locked != nil && (!ok || !k.o.Random(principal)) {
		return "", locked
	}
	if !ok {
		k.failures.add(from, hash)
		return "", unauthorized("invalid_token", bad)
	}
	if !k.running.enter(principal) {
		return "", &Denied{
			Status: http.StatusTooManyRequests, Sentence: "Too many requests of this client are open at once.", RetryAfter: time.Second,
		}
	}
	return principal, nil
}

// Denied is why a caller was turned away.
type Denied struct {
	Status     int // of HTTP
	Sentence   string
	Challenge  string // of a 401
	RetryAfter time.Duration
}

func (d *Denied) answer(w http.ResponseWriter, r *http.Request, refuse Refusal) {
	if d.Challenge != "" {
		w.Header().Set("WWW-Authenticate", d.Challenge)
	}
	if d.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((d.RetryAfter+time.Second-1)/time.Second)))
	}
	refuse(w, r, d.Status, d.Sentence)
}

// bearerToken reads the token of the one Authorization header that a request may have.
func bearerToken(values []string) (string, bool) {
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, len(values) == 1 && strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken
}

const maxToken = 4096 // bytes; ours have 43

func unauthorized(code, sentence string) *Denied {
	challenge := `Bearer realm="parley"`
	if code != "" {
		challenge += `, error="` + code + `"`
	}
	return &Denied{Status: http.StatusUnauthorized, Sentence: sentence, Challenge: challenge}
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
