// Package crashtest kills the real program under load, again and again, and holds it to what it had acknowledged.
//
// Clients send messages and read streams over HTTP, and keep a ledger of every event they have read to its end and of
// every reply. The program is killed (SIGKILL) at a random instant and started again on the same data directory. Then
// every message of the ledger is sent again with its message id: what comes back must hold each acknowledged event,
// with its id and its bytes, in order, none twice; and nothing may have been begun twice. At the end everything is
// compared once more, the database is checked, and SIGTERM must end the program with status 0.
//
//	go test ./app/crashtest -run TestCrash -v -cycles 200 -seed 42
//	go test ./app/crashtest -run TestPlans -v -runs 300 -seed 42
//
// PLANT=lose deletes one acknowledged event from the database after each kill, PLANT=move puts one at the end: the
// test must then fail. TestPlantedFaults sees to that in every run.
package crashtest

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	cycles = flag.Int("cycles", 6, "how many times the program is killed, over all tests")
	seed   = flag.Uint64("seed", 0, "of the random choices; 0 = a new one")
)

// program is the binary under test.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		log.Fatal(err)
	}
	program = filepath.Join(dir, "parley")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../..").CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// targets are the two ways into the program that acknowledge: an agent of its own, and a run of the orchestrator that
// has an agent do the work.
var targets = []target{
	{"agent", []string{"demo", "--addr", "127.0.0.1:0"}, "bench/"},
	{"run", []string{"serve", "--demo", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0"}, "agents/bench/"},
}

func TestCrash(t *testing.T) {
	t.Parallel()
	for i, tg := range targets {
		t.Run(tg.name, func(t *testing.T) {
			t.Parallel()
			n := *cycles / len(targets)
			if i == 0 {
				n = *cycles - n*(len(targets)-1)
			}
			h := newHarness(t, tg, os.Getenv("PLANT"))
			if err := h.run(n); err != nil {
				t.Error(err)
			}
			t.Logf("%d kills, %d messages, %d events acknowledged; longest start %s", h.kills, len(h.ledger), h.acknowledged(), h.longestStart)
		})
	}
}

// TestPlantedFaults shows that the harness sees what it is there to see.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for _, plant := range []string{"lose", "move"} {
		t.Run(plant, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, targets[0], plant)
			if err := h.run(2); !errors.Is(err, errBroken) {
				t.Errorf("the harness reports %v", err)
			}
		})
	}
}

// harness is one data directory, the ledger of what was acknowledged about it, and the random choices.
type harness struct {
	t      *testing.T
	target target
	plant  string
	data   string
	random *rand.Rand

	ledger       []*sent
	kills        int
	longestStart time.Duration
}

func newHarness(t *testing.T, tg target, plant string) *harness {
	n := *seed
	if n == 0 {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", n)
	return &harness{t: t, target: tg, plant: plant, data: t.TempDir(), random: rand.New(rand.NewPCG(n, 0))}
}

func (h *harness) acknowledged() int {
	n := 0
	for _, s := range h.ledger {
		n += len(s.events)
	}
	return n
}

// run kills the program n times, and then ends it in good order.
func (h *harness) run(n int) error {
	fresh := 0 // from where the ledger was not compared yet
	for range n {
		if h.random.IntN(8) == 0 { // sometimes while it is starting
			if err := h.killAtStart(); err != nil {
				return err
			}
		}
		p, err := h.start()
		if err != nil {
			return err
		}
		if err := h.compare(p, h.ledger[fresh:]); err != nil {
			p.kill()
			return fmt.Errorf("after kill %d: %w", h.kills, err)
		}
		fresh = len(h.ledger)
		if err := h.load(p); err != nil {
			return err
		}
		h.kills++
		if err := h.damage(h.ledger[fresh:]); err != nil {
			return err
		}
	}
	p, err := h.start()
	if err != nil {
		return err
	}
	if err := h.compare(p, h.ledger); err != nil {
		p.kill()
		return fmt.Errorf("at the end: %w", err)
	}
	if err := p.terminate(); err != nil {
		return err
	}
	return h.integrity()
}
