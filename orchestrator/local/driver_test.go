package local_test

import (
	"context"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// driver fits the local driver to the suite.
type driver struct{ *local.Driver }

func (d driver) Tasks(agent string) orchestratortest.Tasks { return tasks{d.Driver.Tasks(agent)} }

type tasks struct{ *local.Tasks }

func (t tasks) Start(ctx context.Context, principal string, r *a2a.SendRequest) (string, int64, bool, error) {
	s, err := t.Tasks.Start(ctx, principal, r)
	return s.TaskID, s.After, s.Repeated, err
}

func (t tasks) Launch(ctx context.Context, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (string, int64, bool, error) {
	s, err := t.Tasks.Launch(ctx, principal, r, l)
	return s.TaskID, s.After, s.Repeated, err
}

func newDriver(_ testing.TB, store orchestrator.Store, caller orchestrator.Caller) orchestratortest.Driver {
	return driver{local.New(store, caller, &local.Options{
		StopGrace: 100 * time.Millisecond, PollMin: 2 * time.Millisecond, PollMax: 20 * time.Millisecond, PollFailures: 1000,
	})}
}

func TestDriver(t *testing.T) {
	t.Parallel()
	orchestratortest.RunDriver(t, newDriver, nil)
}

func TestPlans(t *testing.T) {
	t.Parallel()
	orchestratortest.RunPlans(t, newDriver, nil)
}
