package app

import (
	"context"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/orchestrator"
)

// record keeps an exchange for the inspector. One of our own belongs to the run it was made for; one of a caller to the
// task it is about, which is a run of ours, unless the call failed: then there may be no such task.
func (a *App) record(ctx context.Context, x *wire.Exchange) {
	r := wireRecord(x)
	switch {
	case !x.Inbound:
		from := orchestrator.OriginOf(ctx)
		r.RunID = from.RunID
		if from.Probe && x.Kind == a2a.KindTaskNotFound {
			r.Err = orchestrator.WireRefused
		}
		a.registry.kept.contacted(x)
	case x.Err == "":
		r.RunID = x.TaskID
	}
	a.store.RecordWire(r)
}

// wireRecord is an exchange as it is kept, of no run yet.
func wireRecord(x *wire.Exchange) *orchestrator.WireRecord {
	return &orchestrator.WireRecord{
		At: x.At, Inbound: x.Inbound, Peer: x.Peer, TaskID: x.TaskID, Method: x.Method, Dialect: x.Dialect.String(), URL: x.URL,
		Status: x.Status, Took: x.Took, Request: x.Request, Response: x.Response, Events: x.Events, Err: x.Err,
		Header: x.Header,
	}
}

var _ wire.Tap = (*App)(nil).record
