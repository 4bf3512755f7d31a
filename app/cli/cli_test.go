package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
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
			// ready FILE waits for the ready line in a file and sets the variables it names, in capitals.
			"ready": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: ready file")
				}
				wait(ts, "a ready line in "+args[0], func() bool {
					b, _ := os.ReadFile(ts.MkAbs(args[0]))
					if !bytes.HasPrefix(b, []byte("ready ")) || !bytes.HasSuffix(b, []byte("\n")) {
						return false
					}
					for field := range strings.FieldsSeq(string(b)) {
						if name, value, ok := strings.Cut(field, "="); ok {
							ts.Setenv(strings.ToUpper(name), value)
						}
					}
					return true
				})
			},
			// task STATE VARIABLE waits for a task in a state and sets a variable to its id.
			"task": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: task STATE VARIABLE")
				}
				wait(ts, "a task in "+args[0], func() bool {
					var page struct{ Tasks []taskView }
					if call(ts, "task.list", app.ListTasks{}, &page) != nil {
						return false
					}
					for _, t := range page.Tasks {
						if t.Metadata.Plan == "" && t.Status.State == "TASK_STATE_"+args[0] {
							ts.Setenv(args[1], t.ID)
							return true
						}
					}
					return false
				})
			},
			// signin waits for a task that needs a sign-in, and signs in on the page it names.
			"signin": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: signin TASK")
				}
				ctx, stop := context.WithTimeout(context.Background(), time.Minute)
				defer stop()
				ctl, err := app.Dial(ctx, ts.Getenv("PARLEY_DATA"))
				ts.Check(err)
				done := errors.New("done")
				err = ctl.Stream(ctx, "task.subscribe", app.TaskRef{ID: args[0]}, func(raw []byte) error {
					var l app.Line
					if err := json.Unmarshal(raw, &l); err != nil || l.Kind != "ask" {
						return err
					}
					resp, err := http.PostForm(l.Ask.Links[0].URL, url.Values{"decision": {"yes"}})
					if err != nil {
						return err
					}
					resp.Body.Close()
					return done
				})
				if !errors.Is(err, done) {
					ts.Fatalf("signin: %v", err)
				}
			},
			// ask KIND VARIABLE waits for an open question of a kind and sets a variable to its id.
			"ask": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: ask KIND VARIABLE")
				}
				wait(ts, "a question of kind "+args[0], func() bool {
					var asks []app.AskInfo
					if call(ts, "asks.list", struct{}{}, &asks) != nil {
						return false
					}
					for _, k := range asks {
						if string(k.Kind) == args[0] {
							ts.Setenv(args[1], k.ID)
							return true
						}
					}
					return false
				})
			},
			// unfinished leaves a request at the page whose body does not end: a server that drains waits for it.
			"unfinished": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: unfinished")
				}
				u, err := url.Parse(ts.Getenv("UI"))
				ts.Check(err)
				conn, err := net.Dial("tcp", u.Host)
				ts.Check(err)
				ts.Defer(func() { conn.Close() })
				_, err = fmt.Fprintf(conn, "POST /session HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\n"+
					"Content-Length: 20\r\nExpect: 100-continue\r\n\r\n", u.Host, u.Host)
				ts.Check(err)
				line, err := bufio.NewReader(conn).ReadString('\n') // it is being read
				if err != nil || !strings.Contains(line, "100 Continue") {
					ts.Fatalf("unfinished: %q, %v", line, err)
				}
			},
			// draining waits until the server that was told to end turns calls away.
			"draining": func(ts *testscript.TestScript, neg bool, args []string) {
				wait(ts, "the server drains", func() bool {
					resp, err := http.Get(ts.Getenv("A2A") + ".well-known/agent-card.json")
					if err != nil {
						return true
					}
					resp.Body.Close()
					return resp.StatusCode == http.StatusServiceUnavailable
				})
			},
			// call PATH FILE makes an A2A call with the token of the environment.
			"call": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: call PATH FILE")
				}
				r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, ts.Getenv("A2A")+args[0], strings.NewReader(ts.ReadFile(args[1])))
				ts.Check(err)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("A2A-Version", "1.0")
				r.Header.Set("Authorization", "Bearer "+ts.Getenv("PARLEY_A2A_TOKEN"))
				resp, err := http.DefaultClient.Do(r)
				ts.Check(err)
				defer resp.Body.Close()
				_, err = io.Copy(ts.Stdout(), resp.Body)
				ts.Check(err)
			},
			// waiting waits until a webhook waits for its next attempt, and sets PUSH to it.
			"waiting": func(ts *testscript.TestScript, neg bool, args []string) {
				wait(ts, "a webhook fails", func() bool {
					var hooks []app.PushInfo
					if call(ts, "push.list", struct{}{}, &hooks) != nil || len(hooks) == 0 || hooks[0].State != "waiting" {
						return false
					}
					ts.Setenv("PUSH", hooks[0].ID)
					return true
				})
			},
			"certified": certified,
			"endpoint":  endpoint(t),
			// serving waits until a program serves the data directory.
			"serving": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: serving")
				}
				wait(ts, "somebody serves "+ts.Getenv("PARLEY_DATA"), func() bool {
					var s app.Status
					if call(ts, "status", struct{}{}, &s) != nil || !s.Serving {
						return false
					}
					ts.Setenv("A2A", s.A2A)
					ts.Setenv("UI", s.UI)
					ts.Setenv("DEMO", s.Demo)
					return true
				})
			},
		},
	})
}

// call asks the program that has the script's data directory.
func call(ts *testscript.TestScript, verb string, in, out any) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	c, err := app.Dial(ctx, ts.Getenv("PARLEY_DATA"))
	if err != nil {
		return err
	}
	return c.Call(ctx, verb, in, out)
}

// wait waits for what becomes true soon.
func wait(ts *testscript.TestScript, what string, ok func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("it did not happen: %s", what)
		}
	}
}
