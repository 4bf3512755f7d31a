package app

import (
	"context"
	"errors"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
)

var errLater = errors.New("the driver does not carry out plans yet")

func (r *runner) Launch(ctx context.Context, l *orchestrator.Launch) (*orchestrator.Run, error) {
	return nil, errLater
}
func (r *runner) Plan(ctx context.Context, run string) (*orchestrator.Plan, error) {
	return nil, errLater
}
func (r *runner) FollowPlan(ctx context.Context, run string) func(func(*orchestrator.Plan, error) bool) {
	return func(y func(*orchestrator.Plan, error) bool) { y(nil, errLater) }
}
func (r *runner) StopStep(ctx context.Context, run, node string) error  { return errLater }
func (r *runner) RetryStep(ctx context.Context, run, node string) error { return errLater }
func (t runTasks) Launch(ctx context.Context, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (local.Started, error) {
	return local.Started{}, errLater
}
