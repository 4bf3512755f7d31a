package a2aclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// call makes one exchange and returns the decoded result.
func (c *Client) call(ctx context.Context, op wire.Op, params any) (any, error) {
	var v any
	err := c.attempt(func(d wire.Dialect) error {
		x, err := c.begin(ctx, d, op, params, "")
		if err != nil {
			return err
		}
		v, err = x.result()
		return err
	})
	return v, err
}

// attempt runs f in the dialect the agent is thought to speak, and once in the other generation when the answer shows that
// it does not, which also means that nothing was carried out.
func (c *Client) attempt(f func(wire.Dialect) error) error {
	d := c.Dialect()
	err := f(d)
	if understood(err) && !c.proven.Load() {
		c.settle(d)
	}
	if !wrongDialect(err) {
		return err
	}
	other := c.Dialect() // another call may have found out meanwhile
	switch {
	case other != d:
	case c.proven.Load():
		return err
	case d == wire.MID:
		other = wire.NEW
	default:
		other = wire.MID
	}
	again := f(other)
	if wrongDialect(again) || !understood(again) {
		if e := (*Error)(nil); errors.As(again, &e) && e.MayHaveRun {
			return again // the second request must not be taken for one that was certainly not carried out
		}
		return err
	}
	c.settle(other)
	return again
}

// settle remembers that the agent speaks d.
func (c *Client) settle(d wire.Dialect) {
	if was := wire.Dialect(c.dialect.Swap(uint32(d))); was != d {
		c.log.Info("an agent speaks another version than its card says", "agent", c.o.Peer, "card", was.String(), "speaks", d.String())
	}
	c.proven.Store(true)
}

// understood reports whether the outcome shows that the agent speaks the dialect: a result, or an error in its terms.
func understood(err error) bool {
	if err == nil {
		return true
	}
	_, ok := protocol(err)
	return ok && !wrongDialect(err)
}

// wrongDialect reports whether err is what agents answer to methods of another generation.
func wrongDialect(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	ae, ok := protocol(err)
	if !ok {
		return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
	}
	switch ae.Kind {
	case a2a.KindMethodNotFound, a2a.KindVersionNotSupported:
		return true
	case a2a.KindInvalidRequest, a2a.KindInvalidParams, a2a.KindParse:
		return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusUnprocessableEntity
	}
	return false
}

// exchange is a request whose answer has begun.
type exchange struct {
	c       *Client
	ctx     context.Context // the caller's
	op      wire.Op
	dialect wire.Dialect
	url     *url.URL
	sent    []byte
	resp    *http.Response
	kill    context.CancelCauseFunc // ends the exchange, with the reason
	started time.Time
	task    string       // for Tap
	bytes   atomic.Int64 // of the body, as it came
	closed  bool
}

// begin sends a request and returns when the header of the answer is there. lastEvent resumes a stream behind that event.
func (c *Client) begin(ctx context.Context, d wire.Dialect, op wire.Op, params any, lastEvent string) (*exchange, error) {
	id := strconv.FormatUint(c.lastID.Add(1), 10) // a string on the wire: one SDK takes nothing else
	body, err := wire.AppendCall(nil, d, op, id, params)
	if err != nil {
		var ae *a2a.Error
		if errors.As(err, &ae) {
			return nil, c.answered(op, 0, nil, ae)
		}
		return nil, err
	}
	x := &exchange{c: c, ctx: ctx, op: op, dialect: d, sent: body, started: time.Now(), task: taskOf(params)}
	limit := c.o.HeaderTime
	if op == wire.OpSend {
		limit = c.o.SendTime
	}
	inner, kill := context.WithCancelCause(ctx)
	x.kill = kill
	timer := time.AfterFunc(limit, func() { kill(card.ErrSlow) })
	defer timer.Stop()
	for again := false; ; again = true {
		x.url = c.url.Load()
		x.resp, err = c.post(inner, x.url, d, op, body, lastEvent)
		if err != nil {
			if cause := context.Cause(inner); cause != nil && ctx.Err() == nil {
				err = cause
			}
			err = card.Broken(ctx, x.url, err, x.acts())
			x.end(nil, err)
			return nil, err
		}
		if x.resp.StatusCode < 300 || x.resp.StatusCode > 399 {
			break
		}
		to := slashRedirect(x.url, x.resp)
		x.resp.Body.Close()
		if again || to == nil {
			err = card.Refused(x.url, x.resp, nil)
			x.end(nil, err)
			return nil, err
		}
		c.url.Store(to)
	}
	return x, nil
}

func (c *Client) post(ctx context.Context, u *url.URL, d wire.Dialect, op wire.Op, body []byte, lastEvent string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "identity") // counting is simpler, and streams come without delay
	if op == wire.OpStream || op == wire.OpSubscribe {
		h.Set("Accept", "text/event-stream") // this alone: there are servers that compare it
	} else {
		h.Set("Accept", "application/json, application/a2a+json")
	}
	extensions := "X-A2A-Extensions"
	if d == wire.NEW {
		h.Set("A2A-Version", "1.0")
		extensions = "A2A-Extensions"
	}
	if active := c.extensions(); active != "" {
		h.Set(extensions, active)
	}
	if lastEvent != "" {
		h.Set("Last-Event-ID", lastEvent)
	}
	if c.o.Authorize != nil {
		if err := c.o.Authorize(ctx, req); err != nil {
			return nil, &Error{
				Kind: card.KindUnauthenticated, Where: card.WhereSignIn, Err: err,
				What: fmt.Sprintf("The sign-in for %s could not be used.", c.name()),
				Do:   "Sign in to this agent again.",
			}
		}
		if origin, err := card.Origin(req.URL.String()); err != nil || origin != c.origin || req.Host != "" && req.Host != req.URL.Host {
			return nil, &Error{
				Kind: card.KindBlocked, Where: card.WhereUs,
				What: fmt.Sprintf("The sign-in for %s belongs to another address; nothing was sent.", c.name()),
			}
		}
	}
	return c.http.Do(req)
}

// extensions lists those that both the card and the caller know.
func (c *Client) extensions() string {
	var out []string
	for _, uri := range c.o.Extensions {
		for _, x := range c.card.Capabilities.Extensions {
			if x.URI == uri {
				out = append(out, uri)
			}
		}
	}
	return strings.Join(out, ", ")
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

// result reads the whole answer and decodes it. A JSON-RPC body counts whatever the HTTP status is.
func (x *exchange) result() (any, error) {
	if x.streams() {
		return x.folded()
	}
	body, err := x.body()
	if err != nil {
		x.end(body, err)
		return nil, err
	}
	v, err := x.decode(x.op, body)
	x.end(body, err)
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
		return x.c.answered(x.op, x.resp.StatusCode, x.resp.Header, ae)
	}
	return card.Broken(x.ctx, x.url, err, x.acts())
}

// acts reports whether the request asks the agent to do something, not only to tell something.
func (x *exchange) acts() bool {
	return x.op == wire.OpSend || x.op == wire.OpStream || x.op == wire.OpCancel
}

// decode reads one reply, or one frame of a stream.
func (x *exchange) decode(op wire.Op, body []byte) (any, error) {
	code := x.resp.StatusCode
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return nil, card.Refused(x.url, x.resp, body)
	}
	v, err := wire.DecodeReply(x.dialect, op, body)
	if err == nil {
		return v, nil
	}
	var ae *a2a.Error
	if !errors.As(err, &ae) {
		return nil, err
	}
	if ae.Code == 0 && (code < 200 || code > 299) {
		return nil, card.Refused(x.url, x.resp, body)
	}
	e := x.c.answered(x.op, code, x.resp.Header, ae)
	if ae.Code == 0 {
		e.Raw, _ = card.Text(string(body[:min(len(body), 2000)]), 500)
		if card.IsHTML(x.resp.Header, body) {
			e.What = fmt.Sprintf("%s shows a web page where the agent should answer.", x.url.Host)
			e.Do = "Look for the agent again; there may be a sign-in page in front of it."
		}
	}
	return nil, e
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

// folded reads a stream that came as the answer to a single request: the task as it stands at the end, or the message.
func (x *exchange) folded() (any, error) {
	if x.op != wire.OpSend {
		err := x.c.garbage(x.op, "a stream came where one answer was due")
		x.end(nil, err)
		return nil, err
	}
	var task *a2a.Task
	for ev, err := range x.events() {
		if err != nil {
			x.end(nil, err)
			return nil, err
		}
		switch e := ev.event.(type) {
		case *a2a.Message:
			if task == nil {
				x.end(nil, nil)
				return e, nil
			}
		default:
			if task == nil {
				task = first(e)
			} else {
				task.Apply(e)
			}
		}
		if task != nil && ended(task.Status.State) {
			break
		}
	}
	if task == nil {
		err := x.c.garbage(x.op, "the stream ended without an answer")
		x.end(nil, err)
		return nil, err
	}
	x.end(nil, nil)
	return task, nil
}

// end closes the exchange and tells the tap.
func (x *exchange) end(response []byte, err error) {
	if x.closed {
		return
	}
	x.closed = true
	x.kill(context.Canceled)
	if x.resp != nil {
		x.resp.Body.Close()
	}
	if x.c.o.Tap == nil {
		return
	}
	e := &wire.Exchange{
		At: x.started, Peer: x.c.o.Peer, TaskID: x.task, Method: wire.MethodName(x.dialect, x.op), Dialect: x.dialect,
		URL: x.url.String(), Took: time.Since(x.started), Request: x.sent, Response: response,
	}
	if x.resp != nil {
		e.Status = x.resp.StatusCode
	}
	if err != nil {
		e.Err = err.Error()
	}
	x.c.o.Tap(x.ctx, e)
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
