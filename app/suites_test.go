package app

import (
	"context"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aserver"
	"parley/a2aserver/logtest"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/sqlite"
)

// openStore opens the real store in a directory.
func openStore(t *testing.T, dir string) *store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return newStore(db)
}

// An agent's log in the store keeps what every log must.
func TestAgentLog(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) (a2aserver.Log, func() a2aserver.Log) {
		dir := t.TempDir()
		s := openStore(t, dir)
		return NewAgentLog(s, "demo/a"), func() a2aserver.Log {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, dir)
			return NewAgentLog(s, "demo/a")
		}
	})
}

// The driver keeps its promises on the real store, too.
func TestDriverOnSQLite(t *testing.T) {
	t.Parallel()
	orchestratortest.RunDriver(t, newSuiteDriver, newSuiteStore)
}

func TestPlansOnSQLite(t *testing.T) {
	t.Parallel()
	orchestratortest.RunPlans(t, newSuiteDriver, newSuiteStore)
}

func newSuiteDriver(_ testing.TB, s orchestrator.Store, c orchestrator.Caller) orchestratortest.Driver {
	return suiteDriver{local.New(s, c, &local.Options{
		PollMin: 5 * time.Millisecond, PollMax: 20 * time.Millisecond, CancelWait: time.Second, StopGrace: time.Second,
	})}
}

func newSuiteStore(tb testing.TB) orchestrator.Store {
	db, err := sqlite.Open(tb.Context(), tb.TempDir(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return newStore(db)
}

// suiteDriver gives the driver the suite's own types.
type suiteDriver struct{ *local.Driver }

func (d suiteDriver) Tasks(agent string) orchestratortest.Tasks {
	return suiteTasks{d.Driver.Tasks(agent)}
}

type suiteTasks struct{ *local.Tasks }

func (t suiteTasks) Start(ctx context.Context, principal string, r *a2a.SendRequest) (string, int64, bool, error) {
	s, err := t.Tasks.Start(ctx, principal, r)
	return s.TaskID, s.After, s.Repeated, err
}

func (t suiteTasks) Launch(ctx context.Context, principal string, r *a2a.SendRequest, l *orchestrator.Launch) (string, int64, bool, error) {
	s, err := t.Tasks.Launch(ctx, principal, r, l)
	return s.TaskID, s.After, s.Repeated, err
}
