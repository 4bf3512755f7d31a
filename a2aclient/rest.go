package a2aclient

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"parley/a2a"
	"parley/a2a/wire"
)

// rest is HTTP+JSON: an address and a verb for each operation, and bodies without an envelope. Where implementations
// differ it finds out what this one takes, and keeps to it.
type rest struct {
	web
	get    atomic.Bool  // it lets itself be subscribed to by GET
	strict atomic.Bool  // it takes push configurations in the strict form of a2a.v1 only
	nested atomic.Bool  // the address that its card names holds the /v1 of v0.3 already
	base64 atomic.Int32 // how often it wants the bytes of files encoded, 0 = not known
}

func newREST(c *Client, w *way) (*rest, error) {
	t := &rest{}
	return t, t.init(c, w)
}

func (t *rest) begin(ctx context.Context, q *request) (answer, error) {
	get, strict, nested := t.get.Load(), t.strict.Load(), t.nested.Load()
	var once bool
	if q.dialect == wire.PROTO && files(q) {
		once = t.encodesOnce(ctx)
	}
	x, err := t.ask(ctx, q, get, strict, nested, once)
	if err != nil {
		return nil, err
	}
	// None of what follows sends a message again that may have been taken: nothing is at an address that is not found.
	switch status := x.resp.StatusCode; {
	case q.dialect == wire.PROTO && status == http.StatusNotFound && !nested && strings.HasSuffix(t.url.Load().Path, "/v1"):
		return t.instead(x, &t.nested, true, func() (*exchange, error) { return t.ask(ctx, q, get, strict, true, once) })
	case q.op == wire.OpSubscribe && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented):
		return t.instead(x, &t.get, !get, func() (*exchange, error) { return t.ask(ctx, q, !get, strict, nested, once) })
	case q.op == wire.OpPushSet && q.dialect == wire.PROTO && status == http.StatusBadRequest:
		return t.instead(x, &t.strict, !strict, func() (*exchange, error) { return t.ask(ctx, q, get, !strict, nested, once) })
	}
	return x, nil
}

// instead asks in another way than the one that x refused, and keeps to it when it is not refused there. Where it is refused as
// well, the first answer counts.
func (t *rest) instead(x *exchange, way *atomic.Bool, to bool, ask func() (*exchange, error)) (answer, error) {
	other, err := ask()
	if err != nil || other.resp.StatusCode >= 400 {
		if err == nil {
			other.finish(nil, nil)
		}
		if x.ctx.Err() != nil {
			x.finish(nil, err)
			return nil, err
		}
		return x, nil
	}
	x.finish(nil, nil)
	way.Store(to)
	return other, nil
}

// ask sends q in one of the ways in which it can be put.
func (t *rest) ask(ctx context.Context, q *request, get, strict, nested, once bool) (*exchange, error) {
	var options []wire.RESTOption
	if strict {
		options = append(options, wire.StrictPush)
	}
	if once {
		options = append(options, wire.SingleBase64)
	}
	r, err := wire.EncodeREST(q.dialect, q.op, q.params, options...)
	if err != nil {
		return nil, t.unwritten(q.op, err)
	}
	if q.op == wire.OpSubscribe {
		if r.Method = http.MethodPost; get {
			r.Method, r.Body = http.MethodGet, nil
		}
	}
	x := t.exchange(ctx, q, t.read)
	x.method, x.sent = r.Method+" "+r.Path, r.Body
	if _, err := x.open(r.Method, t.at(r, nested)); err != nil {
		return nil, err
	}
	if t.base64.Load() == 0 {
		t.base64.Store(encodes(x.resp.Header))
	}
	return x, nil
}

// at is the address of a request.
func (t *rest) at(r *wire.RESTRequest, nested bool) *url.URL {
	u := *t.url.Load()
	base := strings.TrimSuffix(u.EscapedPath(), "/")
	if nested {
		base = strings.TrimSuffix(base, "/v1")
	}
	u.RawPath = base + r.Path
	if path, err := url.PathUnescape(u.RawPath); err == nil {
		u.Path = path
	} else {
		u.Path, u.RawPath = u.RawPath, ""
	}
	if query := r.Query.Encode(); query != "" {
		if u.RawQuery != "" {
			query = u.RawQuery + "&" + query
		}
		u.RawQuery = query
	}
	return &u
}

// files reports whether q carries the bytes of a file.
func files(q *request) bool {
	r, ok := q.params.(*a2a.SendRequest)
	if !ok {
		return false
	}
	for i := range r.Message.Parts {
		if r.Message.Parts[i].Kind == a2a.PartRaw {
			return true
		}
	}
	return false
}

// encodesOnce reports whether the agent takes the bytes of a file encoded once, as a2a.v1 has it. Python and Go want them
// encoded twice, and only what is around an answer tells which it is: before its first file the agent is asked for its card.
func (t *rest) encodesOnce(ctx context.Context) bool {
	if t.base64.Load() == 0 {
		q := &request{dialect: wire.PROTO, op: wire.OpExtendedCard, params: &a2a.ExtendedCardRequest{Tenant: t.way.iface.Tenant}}
		if x, err := t.ask(ctx, q, false, false, t.nested.Load(), false); err == nil {
			x.finish(nil, nil)
		}
	}
	return t.base64.Load() == 1
}

// encodes tells by the header of an answer how often the agent encodes bytes: the JavaScript SDK lives in Express.
func encodes(h http.Header) int32 {
	if strings.EqualFold(h.Get("X-Powered-By"), "Express") {
		return 1
	}
	return 2
}

func (t *rest) read(x *exchange, op wire.Op, body []byte) (any, error) {
	status, kind := x.resp.StatusCode, x.resp.Header.Get("Content-Type")
	if t.base64.Load() == 1 {
		return wire.DecodeRESTReply(x.q.dialect, op, status, kind, body, wire.SingleBase64)
	}
	return wire.DecodeRESTReply(x.q.dialect, op, status, kind, body)
}
