package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/orchestrator"
)

// What earlier processes received is known to the next one, from its first moment; what nobody received is not looked up.
func TestReceivedOverRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(message string) {
		t.Helper()
		b := &orchestrator.Batch{Receipt: &orchestrator.Receipt{Scope: "s", Principal: "p", MessageID: message, RunID: "r", At: time.Now()}}
		if err := db.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		put(fmt.Sprint("old", i))
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if db, err = Open(t.Context(), dir, nil); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if _, err := db.Received(t.Context(), "s", "p", fmt.Sprint("old", i)); err != nil {
				t.Fatalf("old%d: %v", i, err)
			}
		}
		db.background.Wait()
		if !db.received.full.Load() {
			t.Fatal("the receipts of before were not read")
		}
		for _, k := range [][3]string{{"s", "p", "new"}, {"s", "q", "old1"}, {"t", "p", "old1"}, {"sp", "", "old1"}} {
			if _, err := db.Received(t.Context(), k[0], k[1], k[2]); !errors.Is(err, orchestrator.ErrNotFound) {
				t.Errorf("%q: %v", k, err)
			}
		}
	}
	put("late")
	if _, err := db.Received(t.Context(), "s", "p", "late"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A full filter errs seldom: it is to save looks into the file.
func TestReceivedErrsSeldom(t *testing.T) {
	t.Parallel()
	r := newReceived()
	r.full.Store(true)
	for i := range 500_000 {
		r.add("s", "p", fmt.Sprint("m", i))
	}
	wrong := 0
	for i := range 10_000 {
		if r.may("s", "p", fmt.Sprint("other", i)) {
			wrong++
		}
	}
	if wrong > 300 {
		t.Errorf("%d of 10,000 unknown messages would be looked up", wrong)
	}
}
