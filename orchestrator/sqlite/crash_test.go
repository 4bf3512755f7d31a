package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/a2a"
	"parley/orchestrator"
)

// The crash harness: a child process writes under load and notes in a ledger what was acknowledged and what followers
// were shown; it is killed at a random moment, again and again. Whatever the ledger has must be in the store, once and
// without holes. PLANT=ack-before-commit makes the child note what is not stored yet: then the harness must turn red.
const (
	crashDir   = "PARLEY_CRASH_DIR" // set in the child
	crashPlant = "PLANT"
	planted    = "ack-before-commit"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := crashChild(dir, os.Getenv(crashPlant) == planted); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const crashWriters = 8

// crashChild writes until it is killed. Even writers wait for each commit, odd ones keep 64 events in flight. Every tenth
// event lives in a blob.
func crashChild(dir string, early bool) error {
	db, err := Open(context.Background(), filepath.Join(dir, "data"), nil)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	note := func(verb, run string, n int) {
		// One write a line: what it returned from survives the process.
		if _, err := fmt.Fprintf(f, "%s %s %d\n", verb, run, n); err != nil {
			failed <- err
		}
	}
	for w := range crashWriters {
		run := fmt.Sprint("r", w)
		var begin int
		var after int64
		switch r, err := db.Run(context.Background(), run); {
		case err == nil:
			begin, _ = strconv.Atoi(string(r.Engine))
			begin, after = begin+1, r.LastSeq
		case !errors.Is(err, orchestrator.ErrNotFound):
			return err
		}
		go func() {
			flight := make(chan struct{}, 64)
			for n := begin; ; n++ {
				b := crashBatch(run, n)
				if early {
					note("ack", run, n)
				}
				if w%2 == 0 {
					if err := db.Write(context.Background(), b); err != nil {
						failed <- err
						return
					}
					if !early {
						note("ack", run, n)
					}
					continue
				}
				flight <- struct{}{}
				db.Enqueue(b, func(_ []*a2a.Entry, err error) {
					if err != nil {
						failed <- err
						return
					}
					if !early {
						note("ack", run, n)
					}
					<-flight
				})
			}
		}()
		go func() {
			n := begin
			for events, err := range db.FollowRun(context.Background(), run, after) {
				if err != nil {
					failed <- err
					return
				}
				n += len(events)
				note("saw", run, n-1)
			}
		}()
	}
	fmt.Println("ready")
	return <-failed
}

func crashBatch(run string, n int) *orchestrator.Batch {
	body := fmt.Sprintf(`"%s %d"`, run, n)
	if n%10 == 9 {
		body = fmt.Sprintf(`"%s %d %s"`, run, n, strings.Repeat("x", orchestrator.BlobSize))
	}
	return &orchestrator.Batch{
		Receipt: &orchestrator.Receipt{Scope: "agent", Principal: "p", MessageID: fmt.Sprint(run, "-", n), RunID: run},
		Events:  []orchestrator.NewEvent{{RunID: run, ConversationID: "c", Kind: orchestrator.EventFault, JSON: []byte(body)}},
		Runs:    []*orchestrator.Run{{ID: run, Scope: "agent", Principal: "p", State: a2a.TaskStateWorking, Engine: []byte(strconv.Itoa(n))}},
		Items:   []*orchestrator.Item{{ConversationID: "c", RunID: run, Kind: orchestrator.ItemAgent, Text: fmt.Sprintf("%sx%d", run, n)}},
	}
}

// crash runs one child in dir and kills it after a while.
func crash(t *testing.T, dir string, after time.Duration, plant string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashPlant+"="+plant)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		cmd.Wait()
		t.Fatalf("the child did not start: %s", stderr.String())
	}
	time.Sleep(after)
	cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || strings.Contains(stderr.String(), "error") {
		t.Fatalf("the child ended by itself: %v %s", err, stderr.String())
	}
}

// crashSeen is how far a run was compared before.
type crashSeen struct {
	n   int
	seq int64
}

// crashLost compares what is new in the store with the ledger and returns what is wrong.
func crashLost(t *testing.T, dir string, seen map[string]crashSeen) (wrong []string) {
	t.Helper()
	promised := map[string]int{} // the highest number, by run
	b, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "ledger"), 0); err != nil { // what it has is compared now
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var verb, run string
		var n int
		if _, err := fmt.Sscan(line, &verb, &run, &n); err != nil {
			t.Fatalf("ledger line %q: %v", line, err)
		}
		promised[run] = max(promised[run], n)
	}
	db, err := Open(t.Context(), filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for w := range crashWriters {
		run := fmt.Sprint("r", w)
		n, last := seen[run].n, seen[run].seq
		for events, err := range db.ReadRun(t.Context(), run, last) {
			if err != nil {
				complain("%s: %v", run, err)
				break
			}
			for _, e := range events {
				if want := crashBatch(run, n).Events[0].JSON; !bytes.Equal(e.JSON, want) {
					complain("%s: event %d is %.20s", run, n, e.JSON)
				}
				n, last = n+1, e.Seq
			}
		}
		seen[run] = crashSeen{n, last}
		if last, ok := promised[run]; ok && n <= last {
			complain("%s: event %d was acknowledged, %d are stored", run, last, n)
		}
		if n == 0 {
			continue
		}
		// The other rows of the last batch came with its event.
		if r, err := db.Run(t.Context(), run); err != nil || string(r.Engine) != strconv.Itoa(n-1) {
			complain("%s: run %+v, %v", run, r, err)
		}
		if _, err := db.Received(t.Context(), "agent", "p", fmt.Sprint(run, "-", n-1)); err != nil {
			complain("%s: receipt %d: %v", run, n-1, err)
		}
		if hits, err := db.Search(t.Context(), orchestrator.SearchQuery{Text: fmt.Sprintf(`"%sx%d"`, run, n-1)}); err != nil || len(hits) != 1 {
			complain("%s: item %d: %v, %v", run, n-1, hits, err)
		}
	}
	if err := quickCheck(t.Context(), db.read); err != nil {
		complain("quick_check: %v", err)
	}
	return wrong
}

// TestCrash kills the store again and again. PARLEY_CRASH_CYCLES says how often, PARLEY_CRASH_SEED replays the moments.
func TestCrash(t *testing.T) {
	t.Parallel()
	cycles, seed := 10, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("PARLEY_CRASH_CYCLES")); err == nil {
		cycles = n
	}
	if n, err := strconv.ParseUint(os.Getenv("PARLEY_CRASH_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("PARLEY_CRASH_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	dir, seen := t.TempDir(), map[string]crashSeen{}
	for i := range cycles {
		crash(t, dir, time.Duration(rnd.IntN(150))*time.Millisecond, os.Getenv(crashPlant))
		if wrong := crashLost(t, dir, seen); len(wrong) > 0 {
			t.Fatalf("after kill %d: %s", i+1, strings.Join(wrong, "\n"))
		}
	}
}

// TestCrashIsNoticed: the harness sees a store that acknowledges too early.
func TestCrashIsNoticed(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	wrong := make([][]string, 3)
	for i := range wrong {
		wg.Go(func() {
			dir := t.TempDir()
			crash(t, dir, 50*time.Millisecond, planted)
			wrong[i] = crashLost(t, dir, map[string]crashSeen{})
		})
	}
	wg.Wait()
	if !slices.ContainsFunc(wrong, func(w []string) bool { return len(w) > 0 }) {
		t.Error("the planted fault was not found")
	}
}
