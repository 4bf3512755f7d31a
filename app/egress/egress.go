// Package egress is the one way out: every connection that the program opens to somebody else is made here.
//
//	*http.Client ── origin in the policy? ── address allowed at the dial? ── response within its caps ── caller
//
// What it guarantees:
//
//   - A request goes only to an origin (scheme, host and port, exactly) that its Policy names: one that a person granted
//     to the agent, one that a person typed, or, where the policy says so, a public one. Any other fails with a *Refused
//     before a name is looked up.
//   - The address is judged when it is dialled, after the name was resolved, so a name that answers differently the
//     second time gains nothing. Cloud metadata services and their kind are never reached, granted or not.
//   - A credential is attached to a request for its own origin, and to no other, and never to a redirected one.
//   - A POST is not redirected: the caller sees the 3xx. A GET follows three redirects, never from https to http, and
//     leaves every header of the caller behind when it changes origin.
//   - A response has a largest decoded size, a largest rate of expansion, and deadlines for each phase.
//   - No proxy of the environment is used: behind one, the address that counts could not be seen.
//   - Connections of one agent are never used for another.
package egress

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limit is the most that one response may cost.
type Limit struct {
	Bytes int64         // of the decoded body
	Time  time.Duration // from the header to the last byte
}

// Options of New. The zero value of a field means the default that its comment gives.
type Options struct {
	// Grants returns the origins that a person granted to an agent. It is asked before every request, so that a revoked
	// grant ends at once: answer from memory. Nil grants nothing.
	Grants func(ctx context.Context, agent string) []string

	Logger   *slog.Logger  // refusals; nil discards
	Resolver *net.Resolver // nil is the system's

	Card   Limit // agent cards, keys: 256 KiB in 30 s
	Answer Limit // answers to calls: 8 MiB in 2 min. A stream of events has neither: its reader caps each event
	File   Limit // files: 32 MiB in 10 min

	Header      int           // bytes of a response header: 32 KiB
	DialTime    time.Duration // look-up and connect: 5 s
	TLSTime     time.Duration // handshake: 5 s
	HeaderTime  time.Duration // from the last byte of the request to the header of the response: 30 s
	IdleTime    time.Duration // silence within a body: 60 s
	StreamTime  time.Duration // silence within a stream of events: 5 min. TCP notices a dead peer before that
	IdlePerHost int           // connections kept for the next request, per agent and host: 512

	// OnDial sees every address about to be connected to, with the verdict on it. An error returned for an allowed
	// address refuses it; a refused one stays refused. It is for tests and for a program that must not leave the machine.
	OnDial func(network, address string, verdict error) error

	tls *tls.Config // roots of the tests
}

// Egress opens connections. It is safe for concurrent use.
type Egress struct {
	o      Options
	log    *slog.Logger
	public *http.Transport

	mu     sync.Mutex
	agents map[string]*agent
	out    map[string]time.Time // names that were typed, and when they last led to a public address
	closed bool
}

// New returns an Egress. Nil options grant nothing: only typed and public origins can be reached.
func New(o *Options) *Egress {
	e := &Egress{agents: map[string]*agent{}, out: map[string]time.Time{}}
	if o != nil {
		e.o = *o
	}
	setDefaults(&e.o)
	e.log = e.o.Logger
	e.public = e.transport(e.o.HeaderTime, publicOnly)
	e.public.DisableKeepAlives = true // shared by all, so nothing of one caller's connection is left to another
	return e
}

func setDefaults(o *Options) {
	set(&o.Card, Limit{256 << 10, 30 * time.Second})
	set(&o.Answer, Limit{8 << 20, 2 * time.Minute})
	set(&o.File, Limit{32 << 20, 10 * time.Minute})
	set(&o.Header, 32<<10)
	set(&o.DialTime, 5*time.Second)
	set(&o.TLSTime, 5*time.Second)
	set(&o.HeaderTime, 30*time.Second)
	set(&o.IdleTime, time.Minute)
	set(&o.StreamTime, 5*time.Minute)
	set(&o.IdlePerHost, 512)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Grants == nil {
		o.Grants = func(context.Context, string) []string { return nil }
	}
}

func set[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Client returns a client for a policy. It is cheap: clients of the same agent share their connections.
func (e *Egress) Client(p Policy) *http.Client {
	t := &trip{e: e, policy: p, headerTime: p.HeaderTime}
	set(&t.headerTime, e.o.HeaderTime)
	switch p.Content {
	case Card:
		t.limit = e.o.Card
	case File:
		t.limit = e.o.File
	default:
		t.limit = e.o.Answer
	}
	if p.Typed != "" {
		if t.typed, t.typedErr = parseOrigin(p.Typed); t.typedErr == nil {
			t.typedWay = e.transport(t.headerTime, e.anyBut(t.typed))
			t.typedWay.DisableKeepAlives = true // used for a moment; nothing to close afterwards
		}
	}
	return &http.Client{Transport: t, CheckRedirect: t.redirect}
}

// Forget ends every connection of an agent, also those in use. Call it when an agent is removed or a grant revoked.
func (e *Egress) Forget(agent string) {
	e.mu.Lock()
	a := e.agents[agent]
	delete(e.agents, agent)
	e.mu.Unlock()
	if a != nil {
		a.end()
	}
}

// Close ends every connection; later requests are refused. It may be called twice.
func (e *Egress) Close() {
	e.mu.Lock()
	agents := e.agents
	e.agents, e.closed = nil, true
	e.mu.Unlock()
	for _, a := range agents {
		a.end()
	}
	e.public.CloseIdleConnections()
}

// idleConn is how long a connection is kept that nobody uses: less than the minute, or the 75 s, after which servers close
// theirs (guard's among them), so that a call that must not be made twice hardly ever meets a connection that just ended.
const idleConn = 45 * time.Second

// transport returns a transport whose every connection is judged by rule.
func (e *Egress) transport(headerTime time.Duration, r rule) *http.Transport {
	config := e.o.tls.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.MinVersion = tls.VersionTLS12
	config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            e.dialer(r),
		TLSClientConfig:        config,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    e.o.TLSTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: int64(e.o.Header),
		IdleConnTimeout:        idleConn,
		MaxIdleConnsPerHost:    e.o.IdlePerHost,
		ReadBufferSize:         2 << 10, // both stay for as long as the connection, also while it is silent:
		WriteBufferSize:        2 << 10, // enough for a few events, or a request with a usual message
		DisableCompression:     true,    // what comes compressed all the same is expanded and counted in body.go
	}
}

// onlyHTTP2 makes a transport speak HTTP/2 at once, without TLS too, as gRPC does. Connections are asked now and then
// whether they still live: a stream of gRPC may be silent for long.
func onlyHTTP2(t *http.Transport) {
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
}

// agent holds what one agent's requests share.
type agent struct {
	id    string
	alive context.Context // ends when the agent is forgotten
	kill  context.CancelFunc

	mu      sync.Mutex
	ways    map[wayKey]*http.Transport
	granted []string // what Grants last answered,
	origins []origin // and the same, read
	seen    map[origin]Seen
}

// agent returns the state of an agent, nil after Close.
func (e *Egress) agent(id string) *agent {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.agents[id]
	if a == nil && !e.closed {
		a = &agent{id: id, ways: map[wayKey]*http.Transport{}}
		a.alive, a.kill = context.WithCancel(context.Background())
		e.agents[id] = a
	}
	return a
}

// wayKey is what the requests have in common that may share connections: the time allowed for a header, whether they are
// calls of gRPC, and, where a certificate is shown, it and the one origin that sees it.
type wayKey struct {
	headerTime time.Duration
	grpc       bool
	origin     origin
	cert       *tls.Certificate
}

// way returns the transport of the agent for a key. One with a certificate takes the place of those with the one before.
func (a *agent) way(e *Egress, k wayKey) *http.Transport {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.ways[k]
	if t == nil {
		t = e.transport(k.headerTime, func(ctx context.Context) leave { return grantsOf(a.grants(ctx, e)) })
		if k.grpc {
			onlyHTTP2(t)
		}
		if k.cert != nil {
			t.TLSClientConfig.Certificates = []tls.Certificate{*k.cert}
			for old, way := range a.ways {
				if old.cert != nil && old.origin == k.origin && old.cert != k.cert {
					delete(a.ways, old)
					way.CloseIdleConnections()
				}
			}
		}
		a.ways[k] = t
	}
	return t
}

func (a *agent) end() {
	a.kill()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.ways {
		t.CloseIdleConnections()
	}
}
