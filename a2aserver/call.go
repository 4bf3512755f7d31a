package a2aserver

import (
	"context"
	"net/http"
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

// serveCall answers a POST.
func (h *Handler) serveCall(w http.ResponseWriter, r *http.Request) {
	principal, err := h.authenticate(r)
	if err == nil {
		if wrong := checkContentType(r); wrong != nil {
			h.refuse(w, r, http.StatusUnsupportedMediaType, wrong)
			return
		}
	}
	if err == nil && h.feeds.draining() {
		err = closingError()
	}
	var body []byte
	if err == nil {
		body, err = readBody(w, r)
	}
	if err != nil {
		h.refuse(w, r, wire.HTTPStatus(err), err)
		return
	}
	x := &exchange{w: w, r: r}
	x.asked = asked{
		Handler: h, principal: principal, request: r,
		version: requestedVersion(r), extensions: requestedExtensions(r), lastEvent: lastEventID(r),
	}
	x.call, err = wire.DecodeCall(body)
	if h.o.Tap != nil {
		x.record = &wire.Exchange{
			At: time.Now(), Inbound: true, Peer: principal, Method: x.call.Method, Dialect: x.call.Dialect,
			URL: r.URL.String(), Request: body,
		}
		defer func() {
			x.record.Took = time.Since(x.record.At)
			x.record.TaskID = x.task
			h.o.Tap(r.Context(), x.record)
		}()
	}
	if err == nil {
		err = x.serve()
	}
	if err != nil {
		x.fail(err)
	}
}

// serve answers a call, or returns why it cannot, nothing written.
func (x *exchange) serve() error {
	ctx, cancel := x.r.Context(), context.CancelFunc(nil)
	if x.call.Op == wire.OpStream || x.call.Op == wire.OpSubscribe {
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	result, events, err := x.answer(ctx)
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
		return x.stream(events, cancel)
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
	x.w.Header()["Content-Type"] = jsonType
	x.w.Write(*b)
	x.tell(http.StatusOK, *b, nil)
	putBuffer(b)
}

var jsonType = []string{"application/json"}

// fail writes an error reply.
func (x *exchange) fail(err error) {
	if err == errNoAgent {
		http.NotFound(x.w, x.r)
		return
	}
	status := wire.HTTPStatus(err)
	if a2a.KindOf(err) == a2a.KindInternal && x.r.Context().Err() == nil {
		x.o.Logger.Error("call failed", "method", x.call.Method, "error", err)
	}
	x.setErrorHeader(x.w.Header(), err)
	x.w.WriteHeader(status)
	b := wire.AppendError(nil, x.call.Dialect, x.call.ID, err)
	x.w.Write(b)
	x.tell(status, b, err)
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
