package column_test

import (
	"testing"
	"time"

	"parley/orchestrator/column"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	for _, want := range []time.Time{{}, at, time.UnixMilli(-1).UTC()} {
		if got := column.Time(column.Milli(want)); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s came back as %s", want, got)
		}
	}
	for later, want := range map[time.Duration]int64{-1: 0, 0: 0, 1: 1, time.Millisecond: 1} {
		if got := column.CeilMilli(at.Add(later)) - column.Milli(at); got != want {
			t.Errorf("%s later: %d ms, want %d", later, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, empty := range []any{nil, []string{}, []string(nil), map[string]int{}, struct{}{}, (*int)(nil)} {
		if b, err := column.JSON(empty); b != nil || err != nil {
			t.Errorf("%#v is stored as %s, %v", empty, b, err)
		}
	}
	b, err := column.JSON([]string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{"before"}
	if err := column.Read(nil, &got); err != nil || got[0] != "before" {
		t.Errorf("nothing was read as %v, %v", got, err)
	}
	if err := column.Read(b, &got); err != nil || len(got) != 1 || got[0] != "a" {
		t.Errorf("%s was read as %v, %v", b, got, err)
	}
	if _, err := column.JSON(make(chan int)); err == nil {
		t.Error("a channel was stored")
	}
	if err := column.Read([]byte("{"), &got); err == nil {
		t.Error("half an object was read")
	}
}
