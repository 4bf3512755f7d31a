package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// exchange is one call being answered.
type exchange struct {
	*Handler
	w         http.ResponseWriter
	r         *http.Request
	call      *wire.Call
	principal string
	record    *wire.Exchange // for the tap; nil without one
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
	if err == nil && h.streams.draining() {
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
	x := &exchange{Handler: h, w: w, r: r, principal: principal}
	x.call, err = wire.DecodeCall(body)
	if h.o.Tap != nil {
		x.record = &wire.Exchange{
			At: time.Now(), Inbound: true, Peer: principal, Method: x.call.Method, Dialect: x.call.Dialect,
			URL: r.URL.String(), Request: body,
		}
		defer func() {
			x.record.Took = time.Since(x.record.At)
			h.o.Tap(r.Context(), x.record)
		}()
	}
	if err == nil {
		err = checkVersion(r, x.call)
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
	ctx, c := x.r.Context(), x.call
	card := x.card(ctx, x.r)
	if card == nil {
		http.NotFound(x.w, x.r)
		return nil
	}
	switch c.Op {
	case wire.OpStream, wire.OpSubscribe:
		if !card.Capabilities.Streaming {
			return &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "this agent does not stream"}
		}
	}
	if c.Send != nil {
		if c.Send.Configuration.Push != nil {
			return a2a.ErrPushNotSupported
		}
		if err := negotiateExtensions(x.w, x.r, c, card); err != nil {
			return err
		}
		if err := negotiateModes(c.Send, card); err != nil {
			return err
		}
	}
	var result any
	var err error
	switch c.Op {
	case wire.OpSend:
		result, err = x.send(ctx)
	case wire.OpStream:
		return x.stream(ctx)
	case wire.OpSubscribe:
		return x.subscribe(ctx)
	case wire.OpGet:
		x.about(c.Get.ID)
		result, err = x.tasks.Task(ctx, x.principal, c.Get)
	case wire.OpCancel:
		x.about(c.Cancel.ID)
		result, err = x.tasks.Cancel(ctx, x.principal, c.Cancel)
	case wire.OpList:
		result, err = x.tasks.List(ctx, x.principal, c.List)
	case wire.OpPushSet, wire.OpPushGet, wire.OpPushList, wire.OpPushDelete:
		err = a2a.ErrPushNotSupported
	case wire.OpExtendedCard:
		if c.Dialect == wire.NEW && !card.Capabilities.ExtendedAgentCard {
			return &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "this agent has no extended card"}
		}
		return &a2a.Error{Kind: a2a.KindExtendedCardNotSet, Message: "no extended card is configured"}
	default:
		err = a2a.Errorf(a2a.KindMethodNotFound, "there is no method of that name")
	}
	if err != nil {
		return err
	}
	x.reply(result)
	return nil
}

// about notes which task the exchange is about.
func (x *exchange) about(task string) {
	if x.record != nil {
		x.record.TaskID = task
	}
}

// send starts what the message asks for and waits for the answer: a Message, or the task once it has ended or waits for
// somebody; or, when the caller does not want to wait, the task as soon as there is one.
func (x *exchange) send(ctx context.Context) (any, error) {
	send := x.call.Send
	started, err := x.tasks.Start(ctx, x.principal, send)
	if err != nil {
		return nil, err
	}
	x.about(started.TaskID)
	wait, done := context.WithTimeout(ctx, x.o.BlockingTimeout)
	defer done()
	answer, err := x.await(wait, started)
	if ctx.Err() != nil {
		return nil, &a2a.Error{Kind: a2a.KindUnavailable, Message: "the caller has gone", Err: ctx.Err()}
	}
	if answer != nil {
		return answer, nil
	}
	if err != nil && !errors.Is(err, ErrClosing) {
		return nil, lost(err)
	}
	task, missing := x.tasks.Task(ctx, x.principal, &a2a.GetRequest{ID: started.TaskID, HistoryLength: send.Configuration.HistoryLength})
	if missing != nil {
		return nil, cmp.Or(err, lost(missing))
	}
	return task, nil
}

// await returns the Message that is the answer, or nil once the task is in a state to be returned.
func (x *exchange) await(ctx context.Context, s Started) (*a2a.Message, error) {
	for entries, err := range x.tasks.Events(ctx, x.principal, s.TaskID, s.After) {
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			event, err := e.Event()
			if err != nil {
				return nil, err
			}
			if m, ok := event.(*a2a.Message); ok && !isReply(event) {
				return m, nil
			}
			state := a2a.EventState(event)
			if x.call.Send.Configuration.ReturnImmediately || state.Terminal() || state.Interrupted() {
				return nil, nil
			}
		}
	}
	return nil, nil
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
