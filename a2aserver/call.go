package a2aserver

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// exchange is one HTTP request being answered.
type exchange struct {
	asked
	w      http.ResponseWriter
	r      *http.Request
	record *wire.Exchange // for the tap; nil without one
}

// serveCall answers a call: over JSON-RPC, or over HTTP+JSON.
func (h *Handler) serveCall(w http.ResponseWriter, r *http.Request, rest bool) {
	x := &exchange{w: w, r: r}
	x.Handler, x.request = h, r
	var err error
	if x.principal, err = h.authenticate(r); err != nil {
		x.refuse(rest, 0, err)
		return
	}
	var body []byte
	if r.Method == http.MethodPost {
		if err := checkContentType(r, rest); err != nil {
			x.refuse(rest, http.StatusUnsupportedMediaType, err)
			return
		}
		if body, err = readBody(w, r); err != nil {
			x.refuse(rest, 0, err)
			return
		}
	}
	if rest {
		x.call, err = wire.DecodeREST(r.Method, r.URL.EscapedPath(), query(r), body)
	} else {
		x.call, err = wire.DecodeCall(body)
	}
	x.read()
	if h.o.Tap != nil {
		x.record = &wire.Exchange{
			At: time.Now(), Inbound: true, Peer: x.principal, Method: x.call.Method, Dialect: x.call.Dialect,
			URL: r.URL.String(), Header: r.Header, Request: body,
		}
		defer func() {
			x.record.Took = time.Since(x.record.At)
			x.record.TaskID, x.record.Dialect = x.task, x.call.Dialect
			h.o.Tap(r.Context(), x.record)
		}()
	}
	if err == nil {
		err = x.serve()
	}
	if err != nil {
		x.fail(0, err)
	}
}

// read takes in what the headers say.
func (x *exchange) read() {
	x.version = requestedVersion(x.r)
	x.extensions = requestedExtensions(x.r)
	x.lastEvent = lastEventID(x.r)
	if x.call.Dialect == wire.NEW {
		return
	}
	agent := x.r.UserAgent()
	x.call.Named = strings.HasPrefix(agent, "trpc-a2a-go-client/")
	x.call.SingleBase64 = agent == "node" || strings.HasPrefix(agent, "undici")
}

// query returns the query of a request, nil when there is none.
func query(r *http.Request) url.Values {
	if r.URL.RawQuery == "" {
		return nil
	}
	return r.URL.Query()
}

// serve answers a call, or returns why it cannot, nothing written.
func (x *exchange) serve() error {
	result, events, err := x.answer(x.r.Context())
	if len(x.active) > 0 {
		name := "A2A-Extensions"
		if x.call.Dialect != wire.NEW {
			name = "X-A2A-Extensions"
		}
		x.w.Header().Set(name, strings.Join(x.active, ", "))
	}
	switch {
	case err != nil:
		return err
	case events != nil:
		return x.stream(events)
	}
	x.reply(result)
	return nil
}

// lastEventID is the position up to which the client has the stream; 0 when it does not say.
func lastEventID(r *http.Request) int64 {
	v := r.Header["Last-Event-Id"] // the canonical form
	if len(v) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(v[0], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// buffers hold replies and frames while they are written.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the size above which a buffer is not kept.
const maxBuffer = 64 << 10

func putBuffer(b *[]byte) {
	if cap(*b) <= maxBuffer {
		buffers.Put(b)
	}
}

// reply writes the result of the call.
func (x *exchange) reply(result any) {
	b := buffers.Get().(*[]byte)
	*b = wire.AppendResult((*b)[:0], x.call, result)
	header := x.w.Header()
	header["Content-Type"] = jsonType
	if x.call.REST && onlyA2A(x.r.Header["Accept"]) {
		header["Content-Type"] = a2aType
	}
	if x.call.Op == wire.OpExtendedCard { // for this caller only
		header["Cache-Control"] = []string{"private, no-cache"}
	}
	x.w.Write(*b)
	x.tell(http.StatusOK, *b, nil)
	putBuffer(b)
}

var (
	jsonType = []string{"application/json"}
	a2aType  = []string{"application/a2a+json"}
)

// onlyA2A reports whether a client takes application/a2a+json and nothing else.
func onlyA2A(accept []string) bool {
	for _, list := range accept {
		for v := range strings.SplitSeq(list, ",") {
			if t, _, _ := strings.Cut(v, ";"); !strings.EqualFold(strings.TrimSpace(t), "application/a2a+json") {
				return false
			}
		}
	}
	return len(accept) > 0
}

// refuse answers a request whose call was not read, with a status of its own or that of the error.
func (x *exchange) refuse(rest bool, status int, err error) {
	if rest {
		x.call, _ = wire.DecodeREST(x.r.Method, x.r.URL.EscapedPath(), nil, nil)
	} else {
		x.call = &wire.Call{Dialect: wire.MID}
		if strings.HasPrefix(requestedVersion(x.r), "1") {
			x.call.Dialect = wire.NEW
		}
	}
	x.fail(status, err)
}

// fail writes an error reply, with a status of its own or that of the error.
func (x *exchange) fail(status int, err error) {
	if err == errNoAgent {
		http.NotFound(x.w, x.r)
		return
	}
	err = x.naming(err)
	if a2a.KindOf(err) == a2a.KindInternal && x.r.Context().Err() == nil {
		x.o.Logger.Error("call failed", "method", x.call.Method, "error", err)
	}
	mapping := x.mapping()
	if status == 0 {
		status = wire.Status(x.call, err, mapping)
	}
	header := x.w.Header()
	x.setErrorHeader(header, err)
	if wrong, ok := errors.AsType[*wire.MethodError](err); ok {
		header.Set("Allow", wrong.Allow)
	}
	var b []byte
	if status == http.StatusOK && x.refusesStream() {
		setStreamHeader(header)
		b = wire.AppendErrorFrame(nil, x.call, err, mapping)
	} else {
		b = wire.AppendStatusError(nil, x.call, err, mapping, status)
	}
	x.w.WriteHeader(status)
	x.w.Write(b)
	x.tell(status, b, err)
}

// refusesStream reports whether the client can read an error in a frame only: over JSON-RPC, those of v0.3 and before take
// nothing but a stream for a call that asks for one. v1.0 wants a plain reply.
func (x *exchange) refusesStream() bool {
	c := x.call
	return (c.Op == wire.OpStream || c.Op == wire.OpSubscribe) && c.Dialect != wire.NEW && !c.REST
}

// tell completes the record for the tap.
func (x *exchange) tell(status int, response []byte, err error) {
	if x.record == nil {
		return
	}
	x.record.Status = status
	x.record.Response = append([]byte(nil), response...)
	if err != nil {
		x.record.Err = err.Error()
	}
}
