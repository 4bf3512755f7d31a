package temporal

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"parley/cluster/temporal/servertest"
	"parley/orchestrator"
	"parley/orchestrator/local"
)

var update = flag.Bool("update", false, "record the histories that testdata does not have")

// scripted leaves each run as it is told, one rest after the other; the last rest again and again.
type scripted struct {
	rests []func() (local.Rest, error)

	mu      sync.Mutex
	carried int
	told    chan int // how often it was carried, each time
}

func (s *scripted) Carry(ctx context.Context, _ string) (local.Rest, error) {
	s.mu.Lock()
	i := min(s.carried, len(s.rests)-1)
	s.carried++
	s.mu.Unlock()
	if s.told != nil {
		select {
		case s.told <- i + 1:
		case <-ctx.Done():
		}
	}
	return s.rests[i]()
}

func (s *scripted) OpenRuns(context.Context) iter.Seq2[*orchestrator.Run, error] {
	return func(func(*orchestrator.Run, error) bool) {}
}

func rest(r local.Rest) func() (local.Rest, error) {
	return func() (local.Rest, error) { return r, nil }
}

// begin starts a worker that carries as s says, and wakes a run.
func begin(t *testing.T, s *scripted) (c client.Client, h *Host, run string) {
	t.Helper()
	server, err := servertest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	if c, err = Dial(t.Context(), client.Options{HostPort: server.Address, Namespace: server.Namespace, Logger: Log(nil), Identity: "parley/test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	o := &Options{Heartbeat: time.Minute, Sweep: time.Hour} // nobody dies here, and how often it is carried is counted
	h, run = NewHost(c, o), uuid.NewString()
	w := NewWorker(c, s, o)
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	if err := h.Wake(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	return c, h, run
}

func history(t *testing.T, c client.Client, id, execution string) *historypb.History {
	t.Helper()
	h := &historypb.History{}
	for events := c.GetWorkflowHistory(t.Context(), id, execution, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// The histories of testdata were written by programs of before. Open runs have such histories: a change of the workflow
// under which one of them cannot be replayed leaves those runs standing.
func TestReplay(t *testing.T) {
	if *update {
		record(t)
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			register(r, (&Options{}).defaults())
			if err := r.ReplayWorkflowHistoryFromJSONFile(Log(nil), f); err != nil {
				t.Error(err)
			}
			// Nothing private is in them.
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "secret") {
				t.Error("the history tells what the error said")
			}
		})
	}
}

// A change that breaks open runs, or the backstop, is seen: here workflows that sleep first.
func TestReplayBroken(t *testing.T) {
	r := worker.NewWorkflowReplayer()
	w := &workflows{(&Options{}).defaults()}
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, run string) error {
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return err
		}
		return w.run(ctx, run)
	}, workflow.RegisterOptions{Name: runWorkflow})
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return err
		}
		return w.backstop(ctx)
	}, workflow.RegisterOptions{Name: backstopWorkflow})
	for _, f := range []string{"testdata/run.json", "testdata/backstop.json"} {
		if err := r.ReplayWorkflowHistoryFromJSONFile(Log(nil), f); err == nil {
			t.Errorf("%s: a workflow that asks for something else replays", f)
		}
	}
}

// record writes the histories that are not there yet: of a run that saw all there is (a time to wait for, a claim by
// somebody else, an error, a wake by a signal, and its end), and of the backstop, which has begun to look.
func record(t *testing.T) {
	s := &scripted{told: make(chan int), rests: []func() (local.Rest, error){
		func() (local.Rest, error) { return local.Rest{Wake: time.Now().Add(100 * time.Millisecond)}, nil },
		rest(local.Rest{Moved: true}),
		func() (local.Rest, error) { return local.Rest{}, fmt.Errorf("secret") },
		rest(local.Rest{}),
		rest(local.Rest{Ended: true}),
	}}
	c, h, run := begin(t, s)
	for n := range s.told {
		if n == 4 { // it waits for a signal now
			if err := h.Wake(t.Context(), run); err != nil {
				t.Fatal(err)
			}
		}
		if n == 5 {
			break
		}
	}
	id := "parley/run/" + run
	if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]string{"run": id, "backstop": "parley/backstop"} {
		f := "testdata/" + name + ".json"
		if _, err := os.Stat(f); err == nil {
			continue
		}
		b, err := protojson.MarshalOptions{Multiline: true}.Marshal(history(t, c, id, ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A run that is carried often begins a new history now and then, and loses no wake by that.
func TestContinues(t *testing.T) {
	t.Parallel()
	const carries = 2*rounds + 7
	s := &scripted{}
	var h *Host
	var run string
	var c client.Client
	ready := make(chan struct{})
	for range carries - 1 {
		s.rests = append(s.rests, func() (local.Rest, error) {
			<-ready
			return local.Rest{}, h.Wake(t.Context(), run)
		})
	}
	s.rests = append(s.rests, rest(local.Rest{Ended: true}))
	c, h, run = begin(t, s)
	close(ready)
	id := "parley/run/" + run
	if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carried != carries {
		t.Errorf("carried %d times", s.carried)
	}
	last := history(t, c, id, "")
	if n := len(last.Events); n > 20*rounds {
		t.Errorf("its history has %d events", n)
	}
	if first := last.Events[0].GetWorkflowExecutionStartedEventAttributes(); first.ContinuedExecutionRunId == "" {
		t.Error("its history was never begun anew")
	}
}

// Wakes that come while a run is being carried are not lost, however many there are.
func TestWakesMerge(t *testing.T) {
	t.Parallel()
	s := &scripted{told: make(chan int), rests: []func() (local.Rest, error){rest(local.Rest{}), rest(local.Rest{}), rest(local.Rest{Ended: true})}}
	c, h, run := begin(t, s)
	for range 20 { // while the first is held up
		if err := h.Wake(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	<-s.told
	<-s.told
	if err := h.Wake(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	<-s.told
	if err := c.GetWorkflow(t.Context(), "parley/run/"+run, "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// One that has ended can be woken again, and ends again.
	go func() { <-s.told }()
	if err := h.Wake(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := c.GetWorkflow(t.Context(), "parley/run/"+run, "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}
