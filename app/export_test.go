package app

import (
	"context"

	"parley/orchestrator"
)

// WireRecords returns what was recorded of the wire.
func (a *App) WireRecords(ctx context.Context, q orchestrator.WireQuery) ([]*orchestrator.WireRecord, error) {
	return a.store.WireRecords(ctx, q)
}

// Agent returns an agent as it is stored.
func (a *App) Agent(ctx context.Context, id string) (*orchestrator.Agent, error) {
	return a.store.Storage.Agent(ctx, id)
}
