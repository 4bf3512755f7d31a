package sqlite

import (
	"testing"

	"parley/orchestrator"
)

// Of several runs as many are read at once as fit, each of them whole.
func TestReadRunsBound(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := func(run string, n int) {
		b := &orchestrator.Batch{}
		for range n {
			b.Events = append(b.Events, orchestrator.NewEvent{RunID: run, Kind: orchestrator.EventGap, JSON: []byte(`{"reason":"x"}`)})
		}
		if err := db.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	write("first", runsEvents-2)
	for n := 1; n <= 3; n++ {
		write("second", 1)
		got, err := db.ReadRuns(t.Context(), []string{"second", "first"})
		if err != nil {
			t.Fatal(err)
		}
		want := n
		if runsEvents-2+n > runsEvents {
			want = 0
		}
		if len(got["first"]) != runsEvents-2 || len(got["second"]) != want {
			t.Errorf("%d of %d and %d of %d events, want %d of the second", len(got["first"]), runsEvents-2, len(got["second"]), n, want)
		}
	}
}
