package app

import (
	"context"

	"parley/a2a/wire"
	"parley/orchestrator"
)

// record keeps an exchange for the inspector. One of our own belongs to the run it was made for; one of a caller to the
// task it is about, which is a run of ours, unless the call failed: then there may be no such task.
func (a *App) record(ctx context.Context, x *wire.Exchange) {
	r := &orchestrator.WireRecord{
		At: x.At, Inbound: x.Inbound, Peer: x.Peer, TaskID: x.TaskID, Method: x.Method, Dialect: x.Dialect.String(), URL: x.URL,
		Status: x.Status, Took: x.Took, Request: x.Request, Response: x.Response, Events: x.Events, Err: x.Err,
	}
	switch {
	case !x.Inbound:
		r.RunID = orchestrator.OriginOf(ctx).RunID
	case x.Err == "":
		r.RunID = x.TaskID
	}
	a.store.RecordWire(r)
}

var _ wire.Tap = (*App)(nil).record
