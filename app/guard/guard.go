// Package guard is what stands in front of every listener: it decides who may knock before any other code sees them.
//
//	listener ── connections ── log ── limits ── drain ── Host ── headers ── (session | bearer) ── handler
//
// What it guarantees:
//
//   - A handler runs only for a Host that this listener answers to, with the exact port it is bound to. A web page whose
//     name was rebound to this machine is turned away before routing and before a byte of the body is read.
//   - The sizes of headers and bodies, the time they may take, and the number of connections are bounded.
//   - The pages are open only to a browser that presented a one-time link; what changes something, and every WebSocket,
//     must come from the page's own origin as well.
//   - The agent side knows its callers by bearer tokens, of which only hashes are compared.
//   - Whoever guesses is locked out by where he comes from; no caller can say that of himself, see Proxies.
//   - No response carries a CORS header; every one carries the security headers; no token, query or body is logged.
//
// Every part is a plain middleware, func(http.Handler) http.Handler, and can be used alone.
package guard

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Middleware wraps a handler.
type Middleware = func(http.Handler) http.Handler

// Options of New. The zero value of a field means the default that its comment gives.
type Options struct {
	Hosts       []string         // more values of Host that this listener answers to, as clients send them
	Proxies     Proxies          // in front of the listener: they say where a request comes from. None
	Header      int              // bytes of a request header: 32 KiB
	Body        int64            // bytes of a request body: 8 MiB
	Bodies      map[string]int64 // the same where it is another, by path
	BodyTime    time.Duration    // for a request body to arrive: 60 s
	WriteTime   time.Duration    // for a client to take what was written, over HTTP/2: 60 s
	HeaderTime  time.Duration    // for a request header to arrive: 5 s
	IdleTime    time.Duration    // between requests on a connection: 60 s
	Connections int              // open at a time: 4,096
	CSP         string           // Content-Security-Policy: PageCSP, or AnswerCSP without pages
	NoPages     bool             // what is served here is read by programs: only the headers that matter then
	Refuse      Refusal          // how a request is turned away: with a line of plain text
	Secret      []string         // path prefixes after which nothing is logged: /hooks/
	Drain       *Drain           // shared by all listeners; nil makes one
	TLS         *tls.Config      // the listener speaks TLS, 1.2 or newer
	Logger      *slog.Logger     // nil discards
}

// Guard stands in front of one listener.
type Guard struct {
	o     Options
	hosts *hosts
}

// New returns the guard of the listener bound to addr. Nil options are fine.
func New(addr net.Addr, o *Options) *Guard {
	g := &Guard{}
	if o != nil {
		g.o = *o
	}
	set(&g.o.Header, 32<<10)
	set(&g.o.Body, 8<<20)
	set(&g.o.BodyTime, time.Minute)
	set(&g.o.WriteTime, time.Minute)
	set(&g.o.HeaderTime, 5*time.Second)
	set(&g.o.IdleTime, time.Minute)
	set(&g.o.Connections, 4096)
	if g.o.NoPages {
		set(&g.o.CSP, AnswerCSP)
	}
	set(&g.o.CSP, PageCSP)
	if g.o.Refuse == nil {
		g.o.Refuse = refuse
	}
	if g.o.Secret == nil {
		g.o.Secret = []string{"/hooks/"}
	}
	if g.o.Drain == nil {
		g.o.Drain = NewDrain()
	}
	if g.o.Logger == nil {
		g.o.Logger = slog.New(slog.DiscardHandler)
	}
	if g.o.TLS != nil {
		g.o.TLS = g.o.TLS.Clone()
		g.o.TLS.MinVersion = max(g.o.TLS.MinVersion, tls.VersionTLS12)
		g.o.TLS.NextProtos = []string{"h2", "http/1.1"} // read by the listener, which agrees on one, and by the server, which speaks it
	}
	g.hosts = newHosts(addr, g.o.TLS != nil, g.o.Hosts)
	return g
}

func set[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Wrap puts everything that every listener has in front of a handler.
func (g *Guard) Wrap(h http.Handler) http.Handler {
	if g.o.NoPages {
		h = AnswerHeaders(g.o.CSP)(h)
	} else {
		h = Headers(g.o.CSP)(h)
	}
	h = g.hosts.only(h)
	h = g.o.Drain.refuse(h, g.o.Refuse)
	// The time for a body must be set before anything is refused: the server reads what is left of one, for ever if it may.
	h = limit(h, g.o.Header, g.o.Body, g.o.Bodies, g.o.BodyTime, g.o.Refuse)
	return g.o.Proxies.behind(patience(Log(g.o.Logger, g.o.Secret)(h), g.o.WriteTime))
}

// Server returns a server for the listener, with the handler wrapped. It has no write timeout, for it streams: a handler
// that may block on a slow reader sets its own through http.ResponseController. Over HTTP/2 each write has one.
func (g *Guard) Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      g.Wrap(h),
		DisableGeneralOptionsHandler: true, // OPTIONS * is no exception
		ReadHeaderTimeout:            g.o.HeaderTime,
		IdleTimeout:                  g.o.IdleTime,
		MaxHeaderBytes:               g.o.Header,
		TLSConfig:                    g.o.TLS,
		ErrorLog:                     slog.NewLogLogger(g.o.Logger.Handler(), slog.LevelDebug),
	}
}

// Listen bounds the open connections of a listener and speaks TLS on it where the options say so. Each listener has its
// own bound, so that a flood of one never shuts out the person at another. Call Serve with the result, never ServeTLS.
func (g *Guard) Listen(ln net.Listener) net.Listener {
	ln = netutil.LimitListener(ln, g.o.Connections)
	if g.o.TLS != nil {
		ln = tls.NewListener(ln, g.o.TLS)
	}
	return ln
}

// Answers reports whether the listener answers to a name, as a client sends it in the place of Host, on a connection that
// came in at local.
func (g *Guard) Answers(host string, local net.Addr) bool { return g.hosts.answer(host, local) }

// From is where a call comes from that came in from address: itself, or whom a proxy of ours names in X-Forwarded-For.
func (g *Guard) From(address string, forwarded []string) string {
	return g.o.Proxies.client(address, forwarded)
}

// Refusal answers a request that is turned away, with a status and a sentence for people. What else the answer says in its
// header (WWW-Authenticate, Retry-After) is set already.
type Refusal func(w http.ResponseWriter, r *http.Request, status int, sentence string)

// refuse answers in plain text.
func refuse(w http.ResponseWriter, _ *http.Request, status int, sentence string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	http.Error(w, sentence, status)
}
