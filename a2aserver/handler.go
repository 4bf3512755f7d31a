package a2aserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"parley/a2a"
	"parley/a2a/wire"
)

// HandlerOptions are the choices of a Handler; the zero value serves anonymous callers.
type HandlerOptions struct {
	// Authenticate returns who is calling. An error is answered with 401, or with 403 when it is an *a2a.Error of kind
	// a2a.KindForbidden. nil = everybody is the principal "".
	Authenticate  func(*http.Request) (principal string, err error)
	Challenge     string // WWW-Authenticate of a 401; "" = Bearer
	CardNeedsAuth bool   // the card, too, is for authenticated callers only

	// Rate returns the limiter of a principal; nil, or a nil limiter, = no limit.
	Rate func(principal string) *rate.Limiter

	// Agent tells this agent from others that keep their tasks in the same place: what v0.1 clients call their tasks is
	// kept apart by it.
	Agent string

	// Tenant reports whether a request may name the tenant; nil = it may when an interface of the card does.
	Tenant func(ctx context.Context, principal, tenant string) bool

	// ExtendedCard returns the card shown to a principal who signed in, or nil; it is asked where the card says that there
	// is one. nil = there is none.
	ExtendedCard func(ctx context.Context, principal string) *a2a.AgentCard

	Push Pusher // nil = there are no push notifications

	// ErrorMapping says which edition of v1.0 the statuses of errors over HTTP+JSON and gRPC are those of; nil = 1.0.1.
	ErrorMapping func() wire.ErrorMapping

	BlockingTimeout time.Duration // a blocking send is answered with the task as it stands then; 0 = 5 minutes
	DrainTime       time.Duration // blocking sends under way are answered in the same way this long after Drain; 0 = 5 seconds
	KeepAlive       time.Duration // a silent stream gets a comment this often; 0 = 15 seconds
	Tap             wire.Tap
	Logger          *slog.Logger // nil = discard
}

// Handler serves one agent in every dialect: over JSON-RPC at one address, told apart by the method's name, and over
// HTTP+JSON at addresses of their own.
//
//	POST {mount} or {mount}/                       JSON-RPC, v1.0, v0.3, v0.2 and v0.1
//	     {mount}/message:send, /tasks/…            HTTP+JSON, v1.0; a tenant may stand before it
//	     {mount}/v1/message:send, /v1/tasks/…      HTTP+JSON, v0.3
//	GET  {mount}/.well-known/agent-card.json       the card, for readers of every version, or of the one they ask for
//	GET  {mount}/.well-known/agent.json            the card as v0.3 and before have it
//	GET  {mount}/agent/authenticatedExtendedCard   the extended card as v0.2 has it
//
// Where it is mounted below the root, the mount takes the prefix away (http.StripPrefix). Checks of Host and Origin, and
// time limits on reading a request, are for whoever stands in front of it.
type Handler struct {
	tasks   Tasks
	card    func(context.Context, *http.Request) *a2a.AgentCard
	o       HandlerOptions
	feeds   feeds
	streams streams

	waits   context.Context // of blocking sends: done when the drain has lasted long enough
	release func()          // ends waits
}

// NewHandler returns a handler. card returns the agent's card for a request; it is asked for every call, so it should be
// cheap, and the card is not to be changed after. It may return nil: then there is no agent (404).
func NewHandler(tasks Tasks, card func(context.Context, *http.Request) *a2a.AgentCard, o *HandlerOptions) *Handler {
	if o == nil {
		o = &HandlerOptions{}
	}
	h := &Handler{tasks: tasks, card: card, o: *o}
	h.o.Challenge = cmp.Or(o.Challenge, "Bearer")
	h.o.BlockingTimeout = cmp.Or(o.BlockingTimeout, 5*time.Minute)
	h.o.DrainTime = cmp.Or(o.DrainTime, 5*time.Second)
	if h.o.Logger == nil {
		h.o.Logger = slog.New(slog.DiscardHandler)
	}
	h.streams.keepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	h.streams.patience = 30 * time.Second
	h.waits, h.release = context.WithCancel(context.Background())
	return h
}

// Drain ends the open streams, each after a whole event, so that clients can resume them elsewhere or later, and refuses
// new calls. Blocking sends go on for a while and are then answered with the task as it stands.
func (h *Handler) Drain() {
	h.feeds.drain()
	time.AfterFunc(h.o.DrainTime, h.release)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "", "/":
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "A2A calls are POST requests; the card is at .well-known/agent-card.json", http.StatusMethodNotAllowed)
			return
		}
		h.serveCall(w, r, false)
	case cardPath, oldCardPath:
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the card is read with GET", http.StatusMethodNotAllowed)
			return
		}
		h.serveCard(w, r)
	default:
		h.serveCall(w, r, true)
	}
}

// mapping is the edition of the statuses in force.
func (h *Handler) mapping() wire.ErrorMapping {
	if h.o.ErrorMapping == nil {
		return wire.Mapping101
	}
	return h.o.ErrorMapping()
}

// authenticate returns the principal, after its rate limit.
func (h *Handler) authenticate(r *http.Request) (string, error) {
	var principal string
	if h.o.Authenticate != nil {
		var err error
		if principal, err = h.o.Authenticate(r); err != nil {
			if e, ok := errors.AsType[*a2a.Error](err); ok {
				return "", e
			}
			return "", &a2a.Error{Kind: a2a.KindUnauthenticated, Message: a2a.ErrUnauthenticated.Message, Err: err}
		}
	}
	return principal, h.limit(principal)
}

// limit refuses a principal's request when it has made too many.
func (h *Handler) limit(principal string) error {
	if h.o.Rate == nil {
		return nil
	}
	l := h.o.Rate(principal)
	if l == nil {
		return nil
	}
	rv := l.Reserve()
	if rv.OK() && rv.Delay() == 0 {
		return nil
	}
	wait := cmp.Or(rv.Delay(), time.Second)
	rv.Cancel()
	return &a2a.Error{Kind: a2a.KindRateLimited, Message: "too many requests; slow down", RetryAfter: min(wait, time.Minute)}
}

// setErrorHeader sets what a reply with err says in its header.
func (h *Handler) setErrorHeader(header http.Header, err error) {
	header.Set("Content-Type", "application/json")
	e, ok := errors.AsType[*a2a.Error](err)
	if !ok {
		return
	}
	switch e.Kind {
	case a2a.KindUnauthenticated:
		header.Set("WWW-Authenticate", h.o.Challenge)
	case a2a.KindRateLimited, a2a.KindUnavailable:
		seconds := max(1, int((e.RetryAfter+time.Second-1)/time.Second))
		header.Set("Retry-After", strconv.Itoa(seconds))
	}
}

// checkContentType refuses what a web page may send without being asked, and what is no JSON. Over HTTP+JSON there may be
// nothing at all, which pages can send, too, but not without saying where they are from.
func checkContentType(r *http.Request, rest bool) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return a2a.Errorf(a2a.KindContentType, "the request body must not be compressed")
	}
	ct := r.Header.Get("Content-Type")
	switch {
	case ct == "application/json":
		return nil
	case ct == "":
		if r.Header.Get("Origin") != "" {
			break
		}
		if auth := r.Header.Get("Authorization"); len(auth) > 7 && strings.EqualFold(auth[:7], "Bearer ") {
			return nil
		}
		if rest && r.ContentLength == 0 {
			return nil
		}
	default:
		if t, _, err := mime.ParseMediaType(ct); err == nil && (t == "application/json" || t == "application/a2a+json") {
			return nil
		}
	}
	return a2a.Errorf(a2a.KindContentType, "the Content-Type must be application/json")
}

// readBody reads a request body of at most a2a.Limits.RequestBody.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limit := int64(a2a.Limits.RequestBody)
	tooLarge := func() error {
		return a2a.Errorf(a2a.KindTooLarge, "the request body has more than %d bytes", limit)
	}
	if r.ContentLength > limit {
		return nil, tooLarge()
	}
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), 64<<10)) + bytes.MinRead) // a length that is only claimed costs no more
	if _, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, tooLarge()
		}
		return nil, &a2a.Error{Kind: a2a.KindParse, Message: "the request body ended early", Err: err}
	}
	return b.Bytes(), nil
}
