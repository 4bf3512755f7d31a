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

// Publisher serves the program as an agent.
func (a *App) Publisher() orchestrator.Publisher { return a.publisher }

// ListTasks returns tasks as they are stored.
func (a *App) ListTasks(ctx context.Context, q orchestrator.TaskQuery) ([]*orchestrator.Run, error) {
	return a.store.ListTasks(ctx, q)
}

// Upkeep is what a person does about the program itself.
func (a *App) Upkeep() orchestrator.Upkeep { return upkeep{a} }

// Setting returns a setting as it is stored.
func (a *App) Setting(ctx context.Context, name string) (string, error) {
	return a.store.Setting(ctx, name)
}

// Write stores a batch.
func (a *App) Write(ctx context.Context, b *orchestrator.Batch) error { return a.store.Write(ctx, b) }

// Check says what is wrong with a configuration before anything is opened.
func (c *Config) Check() error { return c.check() }

// PageAddr is where the page listens, whatever it is called by.
func (a *App) PageAddr() string { return a.servers[0].Addr }

// Carefully is the window as the page has it.
func Carefully(s Shell) Shell { return carefully(s) }
