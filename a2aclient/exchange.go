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

// exchange is an answer over HTTP.
type exchange struct {
	web     *web
	ctx     context.Context // the caller's
	inner   context.Context // the exchange's own
	cancel  context.CancelCauseFunc
	q       *request
	read    func(x *exchange, op wire.Op, body []byte) (any, error) // one reply, or one frame of a stream
	method  string                                                  // for Tap, as the task
	task    string
	url     *url.URL
	sent    []byte
	shown   []byte // to Tap in place of sent, where that is no text
	resp    *http.Response
	started time.Time
	bytes   atomic.Int64 // of the body, as it came
	closed  bool
}

func (x *exchange) kill(cause error) { x.cancel(cause) }

func (x *exchange) heard() int64 { return x.bytes.Load() }

func (x *exchange) result() (any, error) {
	if x.streams() {
		return x.folded()
	}
	body, err := x.body()
	if err != nil {
		x.finish(body, err)
		return nil, err
	}
	v, err := x.decode(x.q.op, body)
	x.finish(body, err)
	return v, err
}

// bodyTime is how long the whole of an answer may take to arrive, once it has begun.
const bodyTime = 2 * time.Minute

// body reads the whole answer.
func (x *exchange) body() ([]byte, error) {
	defer time.AfterFunc(bodyTime, func() { x.kill(card.ErrSlow) }).Stop()
	r, err := card.Body(x.resp, a2a.Limits.Response)
	if err != nil {
		return nil, x.unreadable(err)
	}
	var b bytes.Buffer
	if n := x.resp.ContentLength; n > 0 {
		b.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	_, err = b.ReadFrom(r)
	if err != nil {
		return b.Bytes(), x.unreadable(err)
	}
	return b.Bytes(), nil
}

// unreadable tells what an error in reading the body means.
func (x *exchange) unreadable(err error) error {
	var ae *a2a.Error
	if errors.As(err, &ae) {
		return x.web.c.answered(x.q.op, x.resp.StatusCode, x.resp.Header, ae)
	}
	return card.Broken(x.ctx, x.url, err, x.q.acts())
}

// decode reads one reply, or one frame of a stream.
func (x *exchange) decode(op wire.Op, body []byte) (any, error) {
	code := x.resp.StatusCode
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return nil, card.Refused(x.url, x.resp, body)
	}
	v, err := x.read(x, op, body)
	if err == nil {
		return v, nil
	}
	var ae *a2a.Error
	if !errors.As(err, &ae) {
		return nil, err
	}
	if ae.Code == 0 && (code < 200 || code > 299) && !lacks(code, ae) {
		return nil, card.Refused(x.url, x.resp, body)
	}
	e := x.web.c.answered(x.q.op, code, x.resp.Header, ae)
	if ae.Code == 0 {
		e.Raw, _ = card.Text(string(body[:min(len(body), 2000)]), 500)
		if card.IsHTML(x.resp.Header, body) {
			e.What = fmt.Sprintf("%s shows a web page where the agent should answer.", x.url.Host)
			e.Do = "Look for the agent again; there may be a sign-in page in front of it."
		}
	}
	return nil, e
}

// lacks reports whether an error without words says that the agent has no such operation.
func lacks(status int, ae *a2a.Error) bool {
	switch ae.Kind {
	case a2a.KindMethodNotFound, a2a.KindUnsupportedOperation, a2a.KindPushNotSupported:
		return status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
	}
	return false
}

// streams reports whether the answer is a stream of events. Some servers call it text/plain.
func (x *exchange) streams() bool {
	ct := strings.ToLower(x.resp.Header.Get("Content-Type"))
	if x.resp.StatusCode < 200 || x.resp.StatusCode > 299 {
		return false
	}
	if strings.HasPrefix(ct, "text/event-stream") {
		return true
	}
	if ct != "" && !strings.HasPrefix(ct, "text/plain") {
		return false
	}
	// What begins with a brace or a bracket is JSON; the beginning goes back to be read.
	var head [1]byte
	for {
		n, err := x.resp.Body.Read(head[:])
		if n > 0 && head[0] > ' ' {
			break
		}
		if err != nil {
			return false
		}
	}
	x.resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader([]byte{head[0]}), x.resp.Body), x.resp.Body}
	return head[0] != '{' && head[0] != '[' && head[0] != '<'
}

// folded reads a stream that came as the answer to a single request: the task as it stands at the end, or the message. It
// may be as large as a single answer, and take as long.
func (x *exchange) folded() (any, error) {
	e, err := x.fold()
	x.finish(nil, err)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (x *exchange) fold() (a2a.Event, error) {
	if x.q.op != wire.OpSend {
		return nil, x.web.c.garbage(x.q.op, "a stream came where one answer was due")
	}
	defer time.AfterFunc(x.web.c.o.SendTime, func() { x.kill(card.ErrSlow) }).Stop()
	var task *a2a.Task
	for ev, err := range x.events() {
		if err != nil {
			return nil, err
		}
		if x.heard() > int64(a2a.Limits.Response) {
			return nil, x.unreadable(a2a.Errorf(a2a.KindTooLarge, "the stream has more than %d bytes", a2a.Limits.Response))
		}
		m, message := ev.event.(*a2a.Message)
		switch {
		case ev.event == nil, message && task != nil:
			continue // not readable, or beside the task
		case message:
			return m, nil
		case task == nil:
			task = first(ev.event)
		case first(ev.event).ID == task.ID:
			task.Apply(ev.event)
		}
		if ended(task.Status.State) {
			break
		}
	}
	if task == nil {
		return nil, x.web.c.garbage(x.q.op, "the stream ended without an answer")
	}
	return task, nil
}

func (x *exchange) end(task string, err error) {
	if task != "" {
		x.task = task
	}
	x.finish(nil, err)
}

// finish closes the exchange and tells the tap.
func (x *exchange) finish(response []byte, err error) {
	if x.closed {
		return
	}
	x.closed = true
	x.cancel(context.Canceled)
	if x.resp != nil {
		x.resp.Body.Close()
	}
	if x.web.c.o.Tap == nil {
		return
	}
	e := &wire.Exchange{
		At: x.started, Peer: x.web.c.o.Peer, TaskID: x.task, Method: x.method, Dialect: x.q.dialect,
		URL: x.url.String(), Took: time.Since(x.started), Request: x.sent, Response: response,
	}
	if x.shown != nil {
		e.Request = x.shown
	}
	if x.resp != nil {
		e.Status = x.resp.StatusCode
		if x.resp.Request != nil {
			e.Header = x.resp.Request.Header
		}
	}
	if err != nil {
		e.Err, e.Kind = err.Error(), answeredKind(err)
	}
	x.web.c.o.Tap(x.ctx, e)
}

// answeredKind is what an agent's own error is; "" for one that is not its own.
func answeredKind(err error) a2a.ErrorKind {
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		return e.Kind
	}
	return ""
}

func taskOf(params any) string {
	switch p := params.(type) {
	case *a2a.SendRequest:
		return p.Message.TaskID
	case *a2a.GetRequest:
		return p.ID
	case *a2a.CancelRequest:
		return p.ID
	case *a2a.SubscribeRequest:
		return p.ID
	}
	return ""
}
