package a2aclient

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// transport carries operations to an agent over one binding. It knows nothing of which dialect the agent speaks: each
// request names its own.
type transport interface {
	// begin sends a request and returns when its answer has begun. When there is none, the error is an *Error, or ctx's own
	// when that has ended.
	begin(ctx context.Context, q *request) (answer, error)

	// close gives back what the transport holds. Nothing is asked of it afterwards.
	close()
}

// request is one operation as a transport is to send it.
type request struct {
	way       *way         // that it goes, see way.begin
	dialect   wire.Dialect // NEW, MID or OLD over JSON-RPC; NEW or PROTO over HTTP+JSON and gRPC
	op        wire.Op
	params    any    // as wire.AppendCall takes them
	lastEvent string // resumes a stream behind the event of that id
}

// acts reports whether the request asks the agent to do something, not only to tell something.
func (q *request) acts() bool {
	return q.op == wire.OpSend || q.op == wire.OpStream || q.op == wire.OpCancel
}

// answer is an exchange whose answer has begun. Its errors are those of transport; what the agent itself answered is an
// *Error around an *a2a.Error with a Code, see answered.
type answer interface {
	// streams reports whether a stream of events came, not a single answer.
	streams() bool

	// result reads the single answer, decodes it and ends the exchange.
	result() (any, error)

	// events yields what the request was answered with, be it a stream, a single answer or an array of them. An error is the
	// last thing yielded. The caller ends the exchange.
	events() iter.Seq2[frame, error]

	// heard is how much came so far, in whatever unit: it tells a silent connection from a slow one. From any goroutine.
	heard() int64

	// kill breaks the exchange for that reason. From any goroutine.
	kill(cause error)

	// end closes the exchange and tells Options.Tap; task is what it was about ("" = as in the request). Only the first call
	// counts.
	end(task string, err error)
}

// frame is one event as it came. bad is set instead of event when it could not be read.
type frame struct {
	id    string
	data  []byte // as it came, valid until the next frame; nil where the binding has no text
	event a2a.Event
	bad   error
	final bool // the agent says that nothing follows
}

// dial returns the transport of a way.
func (c *Client) dial(w *way) (transport, error) {
	i := w.iface
	switch {
	case i.Binding == "", strings.EqualFold(i.Binding, a2a.BindingJSONRPC):
		return newJSONRPC(c, w)
	case strings.EqualFold(i.Binding, a2a.BindingREST):
		return newREST(c, w)
	case strings.EqualFold(i.Binding, a2a.BindingGRPC):
		return newRPC(c, w)
	}
	return nil, &Error{
		Kind: card.KindNoInterface, Where: card.WhereUs,
		What: fmt.Sprintf("%s is to be reached over %s, which Parley does not speak.", c.name(), i.Binding),
	}
}

// call makes one exchange and returns the decoded result.
func (c *Client) call(ctx context.Context, op wire.Op, params any) (any, error) {
	var v any
	r, _ := params.(*a2a.SendRequest)
	err := c.attempt(op, r != nil && r.Message.TaskID == "", func(w *way, d wire.Dialect) error {
		q := &request{dialect: d, op: op, params: params}
		if r != nil && d == wire.OLD {
			q.params = named(r)
		}
		x, err := w.begin(ctx, q)
		if err != nil {
			return err
		}
		if v, err = x.result(); err == nil && r != nil && d == wire.OLD {
			grouped(v, q.params.(*a2a.SendRequest))
		}
		return err
	})
	return v, err
}
