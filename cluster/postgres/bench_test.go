package postgres

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/cluster/postgres/postgrestest"
	"parley/orchestrator"
)

// otherProcess is the variable that makes of the test binary the second process of a benchmark. Its value is the address
// of the store.
const otherProcess = "PARLEY_POSTGRES_OTHER"

// other answers every event of the run "ping", and writes with 32 writers as long as standard input says so.
func other(address string) {
	ctx := context.Background()
	db, err := Open(ctx, address, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for events := range db.FollowRun(ctx, "ping", 0) {
			for _, e := range events {
				_ = db.Write(ctx, benchBatch("pong", string(e.JSON)))
			}
		}
	}()
	fmt.Println("ready")
	var stop chan struct{}
	var n atomic.Int64
	var writing sync.WaitGroup
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "write":
			stop = make(chan struct{})
			n.Store(0)
			benchWriters(db, 32, "other", stop, &n, &writing)
		case "stop":
			close(stop)
			writing.Wait()
			fmt.Println(n.Load())
		}
	}
}

func benchBatch(run, id string) *orchestrator.Batch {
	return &orchestrator.Batch{
		Events: []orchestrator.NewEvent{{RunID: run, Kind: orchestrator.EventStatus, JSON: []byte(id)}},
		Runs:   []*orchestrator.Run{{ID: run, Scope: "agent", Principal: "p", State: a2a.TaskStateWorking, Updated: time.Now()}},
	}
}

// benchWriters writes as fast as it can, with n writers, each to a run of its own: an event and the row of its run.
func benchWriters(db *DB, n int, name string, stop chan struct{}, count *atomic.Int64, wg *sync.WaitGroup) {
	event := `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"final":false}}`
	for w := range n {
		wg.Go(func() {
			run := fmt.Sprint(name, w)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := db.Write(context.Background(), benchBatch(run, event)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				count.Add(1)
			}
		})
	}
}

// durable is a server that syncs, with an open store and its address.
func durable(b *testing.B) (*DB, string) {
	b.Helper()
	s, err := postgrestest.Start(b.Context(), "fsync=on")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return open(b, s.Address(""), nil), s.Address("")
}

// BenchmarkWrite: what a lone writer waits for, and how many commits there are in a second with many, from one process.
func BenchmarkWrite(b *testing.B) {
	db, _ := durable(b)
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("writers=", n), func(b *testing.B) {
			var next atomic.Int64
			var wg sync.WaitGroup
			for w := range n {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if err := db.Write(context.Background(), benchBatch(fmt.Sprint("r", w), `{"a":"b"}`)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// second starts a second process on the store.
func second(b *testing.B, address string) (say func(string), hear func() string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), otherProcess+"="+address)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	hear = func() string {
		lines.Scan()
		return lines.Text()
	}
	if s := hear(); s != "ready" {
		b.Fatal(s)
	}
	return func(s string) { fmt.Fprintln(in, s) }, hear
}

// BenchmarkTwoProcesses: commits a second of two processes that write at the same time, 32 writers each.
func BenchmarkTwoProcesses(b *testing.B) {
	db, address := durable(b)
	say, hear := second(b, address)
	var n atomic.Int64
	for b.Loop() {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		benchWriters(db, 32, "mine", stop, &n, &wg)
		say("write")
		time.Sleep(3 * time.Second)
		close(stop)
		say("stop")
		wg.Wait()
		var theirs int64
		fmt.Sscan(hear(), &theirs)
		n.Add(theirs)
	}
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkAcross: from a write in one process until a follower in another has it, half of the way there and back: each
// way has a commit in it.
func BenchmarkAcross(b *testing.B) {
	db, address := durable(b)
	second(b, address)
	pong := make(chan string, 16)
	go func() {
		for events := range db.FollowRun(b.Context(), "pong", 0) {
			for _, e := range events {
				pong <- strings.Trim(string(e.JSON), `"`)
			}
		}
	}()
	var all []time.Duration
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint(i)
		began := time.Now()
		if err := db.Write(context.Background(), benchBatch("ping", `"`+id+`"`)); err != nil {
			b.Fatal(err)
		}
		for <-pong != id {
		}
		all = append(all, time.Since(began)/2)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs-p99")
}
