package app

import (
	"log/slog"
	"testing"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/sqlite"
)

// TestHeardAfterTheStore: a call that ends while the program does holds nobody up.
func TestHeardAfterTheStore(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(db)
	g := &orchestrator.Agent{ID: "x", Trust: orchestrator.TrustApproved}
	if err := s.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{g}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agent(t.Context(), "x"); err != nil { // it is in memory from now on
		t.Fatal(err)
	}
	r := &registry{store: s, log: slog.New(slog.DiscardHandler)}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.heard(g, nil)
	}()
	select {
	case <-over:
	case <-time.After(5 * time.Second):
		t.Fatal("it hangs")
	}
}
