package a2aclient

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"

	"parley/a2a/wire"
)

// jsonrpc is the binding that every dialect has: one address, and a JSON-RPC 2.0 envelope around everything.
type jsonrpc struct {
	web
	lastID atomic.Uint64
}

func newJSONRPC(c *Client, w *way) (*jsonrpc, error) {
	t := &jsonrpc{}
	return t, t.init(c, w)
}

func (t *jsonrpc) begin(ctx context.Context, q *request) (answer, error) {
	id := strconv.FormatUint(t.lastID.Add(1), 10) // a string on the wire: one SDK takes nothing else
	body, err := wire.AppendCall(make([]byte, 0, 1<<10), q.dialect, q.op, id, q.params)
	if err != nil {
		return nil, t.unwritten(q.op, err)
	}
	x := t.exchange(ctx, q, jsonrpcReply)
	x.method, x.sent = wire.MethodName(q.dialect, q.op), body
	repaired, err := x.open(http.MethodPost, t.url.Load())
	if err != nil {
		return nil, err
	}
	if repaired {
		t.url.Store(x.url)
	}
	return x, nil
}

// jsonrpcReply reads a reply. It counts whatever the HTTP status is.
func jsonrpcReply(x *exchange, op wire.Op, body []byte) (any, error) {
	return wire.DecodeReply(x.q.dialect, op, body)
}
