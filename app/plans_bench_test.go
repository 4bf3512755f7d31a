//go:build unix

package app

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/sqlite"
)

// atOnce is a caller whose agents have done at once what they are asked for, so that what is measured is ours.
type atOnce struct {
	orchestrator.Caller
	calls atomic.Int64
	asked atomic.Int64  // how the tasks of before stand
	last  atomic.Int64  // Unix nanoseconds
	state a2a.TaskState // that the agents leave it in; "": done. Nothing more comes of it then
}

func (a *atOnce) Send(ctx context.Context, _ *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	n := a.calls.Add(1)
	a.last.Store(time.Now().UnixNano())
	return func(yield func(a2a.Event, error) bool) {
		t := &a2a.Task{
			ID: fmt.Sprint("t", n), ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
			Artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("ok")}}},
		}
		if a.state != a2a.TaskStateUnspecified {
			t.Status = a2a.TaskStatus{State: a.state, Message: &a2a.Message{ID: "q", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Which?")}}}
			t.Artifacts = nil
		}
		if yield(t, nil) && a.state == a2a.TaskStateWorking {
			<-ctx.Done()
		}
	}
}

func (a *atOnce) Await(ctx context.Context, _ *orchestrator.Agent, task string) iter.Seq2[a2a.Event, error] {
	a.asked.Add(1)
	return func(yield func(a2a.Event, error) bool) {
		if yield(&a2a.Task{ID: task, ContextID: "c", Status: a2a.TaskStatus{State: a.state}}, nil) {
			<-ctx.Done()
		}
	}
}

// planBench is a driver on the real store, with full commits.
func planBench(b *testing.B, agents int, caller *atOnce) (*local.Driver, *sqlite.DB, string) {
	b.Helper()
	dir := b.TempDir()
	db, err := sqlite.Open(b.Context(), dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	all := orchestratortest.NewAgents()
	batch := &orchestrator.Batch{}
	for i := range agents {
		_, row := all.Add(fmt.Sprint("a", i), nil)
		batch.Agents = append(batch.Agents, row)
	}
	if err := db.Write(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	d := local.New(newStore(db), caller, nil)
	b.Cleanup(func() { _ = d.Close(context.Background()) })
	return d, db, dir
}

// inSequence is a workflow of n calls, one after the other.
func inSequence(n int) []byte {
	var b strings.Builder
	b.WriteString("name: Sequence\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%d, agent: a0, message: go", i)
		if i > 0 {
			fmt.Fprintf(&b, ", needs: s%d", i-1)
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func ended(b *testing.B, d *local.Driver, db orchestrator.Store, run string) {
	b.Helper()
	for events, err := range db.FollowRun(b.Context(), run, 0) {
		if err != nil {
			b.Error(err)
			return
		}
		for _, e := range events {
			if !e.Kind.A2A() {
				continue
			}
			if ev, err := e.Event(); err == nil && a2a.EventState(ev).Terminal() {
				return
			}
		}
	}
}

func outside(id string) *a2a.SendRequest {
	return &a2a.SendRequest{Message: a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")}}}
}

// cpu is what the process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPlans is how many steps a second 64 plans make together, each step a message to an agent that answers at once:
// two commits, each of them on the disk before anything follows from it.
func BenchmarkPlans(b *testing.B) {
	const runs, steps = 64, 20
	d, db, _ := planBench(b, 1, &atOnce{})
	l := &orchestrator.Launch{Source: inSequence(steps)}
	n, used := 0, cpu()
	for b.Loop() {
		var all sync.WaitGroup
		for range runs {
			n++
			id := fmt.Sprint("m", n)
			all.Go(func() {
				s, err := d.Tasks("").Launch(b.Context(), "ann", outside(id), l)
				if err != nil {
					b.Error(err)
					return
				}
				ended(b, d, db, s.TaskID)
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64((cpu()-used).Microseconds())/float64(n*steps), "cpu-µs/step")
	b.ReportMetric(float64(n*steps)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkPlanAlone is one plan by itself, and beside it what its commits alone would take.
func BenchmarkPlanAlone(b *testing.B) {
	const steps = 100
	d, db, _ := planBench(b, 1, &atOnce{})
	l := &orchestrator.Launch{Source: inSequence(steps)}
	n, used := 0, cpu()
	for b.Loop() {
		n++
		s, err := d.Tasks("").Launch(b.Context(), "ann", outside(fmt.Sprint("m", n)), l)
		if err != nil {
			b.Fatal(err)
		}
		ended(b, d, db, s.TaskID)
	}
	b.ReportMetric(float64((cpu()-used).Microseconds())/float64(n*steps), "cpu-µs/step")
	took := b.Elapsed() / time.Duration(n*steps)
	began := time.Now()
	const commits = 500
	for i := range commits {
		if err := db.Write(b.Context(), &orchestrator.Batch{Events: []orchestrator.NewEvent{{
			RunID: "bare", Kind: orchestrator.EventGap, JSON: []byte(`{"reason":"x"}`),
		}}, Settings: map[string]string{"x": fmt.Sprint(i)}}); err != nil {
			b.Fatal(err)
		}
	}
	commit := time.Since(began) / commits
	b.ReportMetric(float64(took.Microseconds()), "µs/step")
	b.ReportMetric(float64(commit.Microseconds()), "µs/commit")
}

// BenchmarkFanOut is the time from the launch of a plan with 100 steps at once to the last agent being called.
func BenchmarkFanOut(b *testing.B) {
	caller := &atOnce{}
	d, db, _ := planBench(b, 100, caller)
	var file strings.Builder
	file.WriteString("name: Fan\nsteps:\n")
	for i := range 100 {
		fmt.Fprintf(&file, "  - {id: s%d, agent: a%d, message: go}\n", i, i)
	}
	l := &orchestrator.Launch{Source: []byte(file.String())}
	var worst time.Duration
	n := 0
	for b.Loop() {
		n++
		before, began := caller.calls.Load(), time.Now()
		s, err := d.Tasks("").Launch(b.Context(), "ann", outside(fmt.Sprint("m", n)), l)
		if err != nil {
			b.Fatal(err)
		}
		for caller.calls.Load() < before+100 {
			time.Sleep(100 * time.Microsecond)
		}
		worst = max(worst, time.Unix(0, caller.last.Load()).Sub(began))
		ended(b, d, db, s.TaskID)
	}
	b.ReportMetric(float64(worst.Milliseconds()), "ms-worst")
}

// BenchmarkWaiting is 10,000 open runs, by themselves or half of them calls of plans, that wait for somebody or whose agents
// are at work: what they take meanwhile, and how long it takes to take them up at a start.
func BenchmarkWaiting(b *testing.B) {
	const runs = 10_000
	for _, shape := range []struct {
		name  string
		plans bool
		state a2a.TaskState
	}{
		{"direct,asking", false, a2a.TaskStateInputRequired},
		{"direct,working", false, a2a.TaskStateWorking},
		{"plans,asking", true, a2a.TaskStateInputRequired},
		{"plans,working", true, a2a.TaskStateWorking},
	} {
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				waiting(b, runs, shape.plans, &atOnce{state: shape.state})
			}
		})
	}
}

func waiting(b *testing.B, runs int, plans bool, caller *atOnce) {
	d, db, _ := planBench(b, 1, caller)
	l := &orchestrator.Launch{Source: []byte("name: Wait\nsteps:\n  - {id: a, agent: a0, message: go}\n")}
	begin := runs
	if plans {
		begin = runs / 2
	}
	var all sync.WaitGroup
	for w := range 64 {
		all.Go(func() {
			for i := w; i < begin; i += 64 {
				// Many callers, as one may have so many that wait.
				by, m := fmt.Sprint("p", i/50), outside(fmt.Sprint("m", i))
				var err error
				if plans {
					_, err = d.Tasks("").Launch(b.Context(), by, m, l)
				} else {
					_, err = d.Tasks("a0").Start(b.Context(), by, m)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	open := func(at a2a.TaskState) (n, there int) {
		for _, scope := range []string{orchestrator.OwnAgent, "agents/", "step/"} {
			for r, err := range db.OpenRuns(b.Context(), scope) {
				if err != nil {
					b.Fatal(err)
				}
				if n++; r.State == at {
					there++
				}
			}
		}
		return n, there
	}
	for {
		if n, there := open(caller.state); n == runs && there == runs {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	waiting := heap()
	goroutines := runtime.NumGoroutine()
	if err := d.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	began, used := time.Now(), cpu()
	again := local.New(newStore(db), caller, nil)
	if err := again.Resume(b.Context()); err != nil {
		b.Fatal(err)
	}
	took, cost := time.Since(began), cpu()-used
	for caller.state == a2a.TaskStateWorking && caller.asked.Load() < int64(begin) {
		time.Sleep(time.Millisecond)
	}
	asked, costAsked := time.Since(began), cpu()-used
	after := heap()
	_ = again.Close(context.Background())
	b.ReportMetric(float64(waiting)/1e6, "MB-waiting")
	b.ReportMetric(float64(after)/1e6, "MB-resumed")
	b.ReportMetric(float64(goroutines), "goroutines")
	b.ReportMetric(float64(took.Milliseconds()), "ms-restart")
	b.ReportMetric(float64(cost.Milliseconds()), "cpu-ms-restart")
	b.ReportMetric(float64(asked.Milliseconds()), "ms-all-asked")
	b.ReportMetric(float64(costAsked.Milliseconds()), "cpu-ms-all-asked")
}
