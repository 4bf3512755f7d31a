package cli

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/app"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"parley": func() { os.Exit(Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// The scripts run the whole program: real processes, real listeners on loopback, a real database.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PARLEY_DATA", e.WorkDir+"/data")
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// serving waits until a program serves the data directory.
			"serving": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: serving")
				}
				ctx, stop := context.WithTimeout(context.Background(), time.Minute)
				defer stop()
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for {
					if c, err := app.Dial(ctx, ts.Getenv("PARLEY_DATA")); err == nil {
						var s app.Status
						if err := c.Call(ctx, "status", struct{}{}, &s); err == nil && s.Serving {
							ts.Setenv("A2A", s.A2A)
							ts.Setenv("UI", s.UI)
							ts.Setenv("DEMO", s.Demo)
							return
						}
					}
					select {
					case <-ctx.Done():
						ts.Fatalf("nobody serves %s", ts.Getenv("PARLEY_DATA"))
					case <-tick.C:
					}
				}
			},
		},
	})
}
