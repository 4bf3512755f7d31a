package app_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"parley/app"
)

// unresumed are demo agents that cannot take up what was left open.
type unresumed struct{ app.DemoServer }

func (unresumed) Resume(context.Context) error { return errors.New("no room") }

// A store that takes no writes keeps nothing from being served: what is stored can be read, and the demo agents that were
// there before are there again without a write.
func TestServeReadOnly(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"first": t.TempDir(), "again": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "again" {
				startIn(t, dir).stop()
			}
			log := &logBuffer{}
			a, err := app.Open(t.Context(), &app.Config{
				Data: dir, Version: "test", UI: "127.0.0.1:0", A2A: "127.0.0.1:0", EnvToken: envToken,
				Demo: func(ctx context.Context, o *app.DemoOptions) (app.DemoServer, error) {
					s, err := demoAgents(ctx, o)
					return unresumed{s}, err
				},
				Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			other, err := sql.Open("sqlite3", filepath.Join(dir, "parley.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			other.SetMaxOpenConns(1)
			if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
				t.Fatal(err)
			}
			p := &program{App: a, T: t, dir: dir, log: log}
			p.ready, err = a.Serve(t.Context())
			if err != nil {
				t.Errorf("it does not serve: %v", err)
			} else if name == "again" {
				if r := p.call("agents/echo", envToken, "ListTasks", `{}`); r.StatusCode != 200 {
					t.Errorf("reading: %d %s", r.StatusCode, r.body)
				}
			}
			if _, err := other.Exec("ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			p.stop()
			if s := log.String(); strings.Contains(s, "could not be stored") != (name == "first") || !strings.Contains(s, "no room") {
				t.Errorf("the log:\n%s", s)
			}
		})
	}
}
