package a2aclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// web is what the bindings over HTTP share: the address, and how a request is sent there and nowhere else.
type web struct {
	c      *Client
	way    *way // that this is the transport of
	origin string
	grpc   bool // requests are calls of gRPC
	http   http.RoundTripper
	url    atomic.Pointer[url.URL] // of the interface, repaired when a redirect said so
}

func (w *web) init(c *Client, on *way) error {
	address := card.Address(&on.iface)
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("a2aclient: the interface has no valid URL")
	}
	if w.origin, err = card.Origin(address); err != nil || u.User != nil {
		return errors.New("a2aclient: the interface's URL must be absolute, http or https, without credentials")
	}
	if w.c, w.way, w.http = c, on, c.o.HTTP.Transport; w.http == nil {
		w.http = through{&http.Client{
			Transport:     c.o.HTTP.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	}
	w.url.Store(u)
	return nil
}

// through is the way of an HTTP client that has no transport of its own.
type through struct{ client *http.Client }

func (t through) RoundTrip(r *http.Request) (*http.Response, error) { return t.client.Do(r) }

// close does nothing: connections belong to the HTTP client that was given.
func (w *web) close() {}

// unwritten tells what it means that a request cannot be written in a dialect.
func (w *web) unwritten(op wire.Op, err error) error {
	var ae *a2a.Error
	if errors.As(err, &ae) {
		return w.c.answered(op, 0, nil, ae)
	}
	return err
}

// exchange returns an exchange that is still to be opened.
func (w *web) exchange(ctx context.Context, q *request, read func(*exchange, wire.Op, []byte) (any, error)) *exchange {
	return &exchange{web: w, ctx: ctx, q: q, read: read, started: time.Now(), task: taskOf(q.params)}
}

// open sends x.sent and returns when the header of the answer is there. One redirect is followed, to the same address but
// for a slash at its end: repaired says that x.url is that.
func (x *exchange) open(method string, u *url.URL) (repaired bool, err error) {
	limit := x.web.c.o.HeaderTime
	if x.q.op == wire.OpSend || x.q.op == wire.OpStream && x.web.grpc { // where the header may come with the first event
		limit = x.web.c.o.SendTime
	}
	x.inner, x.cancel = context.WithCancelCause(x.ctx)
	timer := time.AfterFunc(limit, func() { x.cancel(card.ErrSlow) })
	defer timer.Stop()
	for x.url = u; ; repaired = true {
		x.resp, err = x.web.send(x.inner, x.q, method, x.url, x.sent)
		if err != nil {
			if cause := context.Cause(x.inner); cause != nil && x.ctx.Err() == nil {
				err = cause
			}
			err = card.Broken(x.ctx, x.url, err, x.q.acts())
			x.finish(nil, err)
			return false, err
		}
		if x.resp.StatusCode < 300 || x.resp.StatusCode > 399 {
			if c := x.web.c; c.extensions != nil {
				c.activated(x.resp.Header)
			}
			return repaired, nil
		}
		to := slashRedirect(x.url, x.resp)
		x.resp.Body.Close()
		if repaired || to == nil {
			err = card.Refused(x.url, x.resp, nil)
			x.finish(nil, err)
			return false, err
		}
		x.url = to
	}
}

// Values of headers, shared by all requests.
var (
	typeJSON   = []string{"application/json"}
	acceptJSON = []string{"application/json, application/a2a+json"}
	acceptSSE  = []string{"text/event-stream"} // this alone: there are servers that compare it
	identity   = []string{"identity"}          // counting is simpler, and streams come without delay
	versionOne = []string{"1.0"}               // exactly this: one SDK compares it
)

func (w *web) send(ctx context.Context, q *request, method string, u *url.URL, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "", nil) // whose address is parsed already
	if err != nil {
		return nil, err
	}
	req.URL, req.Host = u, u.Host
	h := req.Header
	h["Accept-Encoding"] = identity
	if q.op == wire.OpStream || q.op == wire.OpSubscribe {
		h["Accept"] = acceptSSE
	} else {
		h["Accept"] = acceptJSON
	}
	if q.dialect == wire.NEW {
		h["A2a-Version"] = versionOne
	}
	if w.c.extensions != nil {
		known := w.way.speech.Load().proven()
		if q.dialect == wire.NEW || !known {
			h["A2a-Extensions"] = w.c.extensions
		}
		if q.dialect != wire.NEW || !known {
			h["X-A2a-Extensions"] = w.c.extensions
		}
	}
	if !q.acts() {
		// A connection may end in the moment in which it is used again. What only tells something is then sent once more by
		// net/http, over another: this says that it may be, and is not itself sent (see http.Transport).
		h["Idempotency-Key"] = nil
	}
	if q.lastEvent != "" {
		h["Last-Event-Id"] = []string{q.lastEvent}
	}
	if len(body) > 0 {
		h["Content-Type"] = typeJSON
		if w.grpc {
			h["Content-Type"], h["Te"] = typeGRPC, trailers
			delete(h, "Accept")
		}
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	if w.c.o.Authorize != nil {
		to := *u // which may be given a key
		req.URL = &to
		if err := w.authorize(ctx, req); err != nil {
			return nil, err
		}
	}
	return w.http.RoundTrip(req)
}

// authorize adds the credentials, which are for the interface's own origin alone.
func (w *web) authorize(ctx context.Context, req *http.Request) error {
	if err := w.c.o.Authorize(ctx, req); err != nil {
		return &Error{
			Kind: card.KindUnauthenticated, Where: card.WhereSignIn, Err: err,
			What: fmt.Sprintf("The sign-in for %s could not be used.", w.c.name()),
			Do:   "Sign in to this agent again.",
		}
	}
	if origin, err := card.Origin(req.URL.String()); err != nil || origin != w.origin || req.Host != "" && req.Host != req.URL.Host {
		return &Error{
			Kind: card.KindBlocked, Where: card.WhereUs,
			What: fmt.Sprintf("The sign-in for %s belongs to another address; nothing was sent.", w.c.name()),
		}
	}
	return nil
}

// slashRedirect returns the target of a redirect that may be followed with the message: the same address but for a slash
// at the end of the path.
func slashRedirect(from *url.URL, resp *http.Response) *url.URL {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	loc := resp.Header.Get("Location")
	to, err := from.Parse(loc)
	if err != nil || loc == "" || to.User != nil || to.Scheme != from.Scheme || !strings.EqualFold(to.Host, from.Host) ||
		to.RawQuery != from.RawQuery {
		return nil
	}
	a, b := from.EscapedPath(), to.EscapedPath()
	if a == b || strings.TrimSuffix(a, "/") != strings.TrimSuffix(b, "/") {
		return nil
	}
	to.Fragment, to.RawFragment = "", ""
	return to
}
