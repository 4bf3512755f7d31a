package postgres

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"parley/cluster/postgres/postgrestest"
	"parley/orchestrator"
	"parley/orchestrator/orchestratortest"
)

var server *postgrestest.Server

func TestMain(m *testing.M) {
	if address := os.Getenv(otherProcess); address != "" {
		other(address)
		return
	}
	os.Exit(func() int {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var err error
		if server, err = postgrestest.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() {
			if err := server.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
		return m.Run()
	}())
}

// at is the address of the schema that belongs to a place.
func at(t testing.TB, place string) string {
	t.Helper()
	address, err := server.Schema(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// open opens a store and closes it with the test.
func open(t testing.TB, address string, o *Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestStore(t *testing.T) {
	t.Parallel()
	orchestratortest.TestStore(t, func(t testing.TB, place string) orchestrator.Store {
		db, err := Open(t.Context(), at(t, place), nil)
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

// TestShared: two open stores of one schema are what two processes have. They never look at the log without a hint here.
func TestShared(t *testing.T) {
	t.Parallel()
	orchestratortest.TestShared(t, func(t testing.TB, place string) orchestrator.Store {
		db, err := Open(t.Context(), at(t, place), &Options{Poll: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
