package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/cluster/postgres/postgrestest"
	"parley/orchestrator"
)

// TestServerEnds: while the server is away, writes are refused in words for people; once it is back, all goes on by
// itself, and nothing that was acknowledged is missing, also after a crash. Followers just wait.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	s, err := postgrestest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	options := &Options{Timeout: 2 * time.Second, Poll: time.Second}
	stores := []*DB{open(t, s.Address(""), options), open(t, s.Address(""), options)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	followed := make([][]string, len(stores))
	var following sync.WaitGroup
	for i, db := range stores {
		following.Go(func() {
			for events, err := range db.FollowConversation(ctx, "c", 0) {
				if err != nil {
					t.Errorf("follower %d: %v", i, err)
					return
				}
				mu.Lock()
				for _, e := range events {
					followed[i] = append(followed[i], string(e.JSON))
				}
				mu.Unlock()
			}
		})
	}
	acknowledged := map[string]bool{}
	for round := range 4 {
		stop := make(chan struct{})
		var writing sync.WaitGroup
		refused := make(chan error, 2*len(stores))
		for i, db := range stores {
			writing.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					id := fmt.Sprintf(`"%d-%d-%d"`, round, i, n)
					err := db.Write(context.Background(), &orchestrator.Batch{Events: []orchestrator.NewEvent{
						{RunID: fmt.Sprint("r", i), ConversationID: "c", Kind: orchestrator.EventFault, JSON: []byte(id)},
					}})
					if err != nil {
						refused <- err
						return
					}
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				}
			})
		}
		before := 0
		eventually(t, "some are written", func() bool {
			mu.Lock()
			defer mu.Unlock()
			before++
			return len(acknowledged) > (round+1)*50
		})
		if round%2 == 0 {
			s.Kill()
		} else {
			s.Stop()
		}
		for i, db := range stores {
			eventually(t, "it is noticed", func() bool { return db.Healthy() != nil })
			var sick *a2a.Error
			if err := db.Healthy(); !errors.As(err, &sick) || sick.Kind != a2a.KindUnavailable || !strings.HasPrefix(sick.Message, "The database ") {
				t.Errorf("store %d: %v", i, err)
			}
			if _, err := db.Run(t.Context(), "r"); err == nil || errors.Is(err, orchestrator.ErrNotFound) {
				t.Errorf("a read without a server: %v", err)
			}
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, db := range stores {
			eventuallyHealthy(t, db)
		}
		close(stop)
		writing.Wait()
		close(refused)
		for err := range refused {
			var sick *a2a.Error
			if !errors.As(err, &sick) || sick.Kind != a2a.KindUnavailable {
				t.Errorf("refused with %v", err)
			}
		}
	}
	in := map[string]bool{}
	for events, err := range stores[1].ReadConversation(t.Context(), "c", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if in[string(e.JSON)] {
				t.Errorf("%s is there twice", e.JSON)
			}
			in[string(e.JSON)] = true
		}
	}
	for id := range acknowledged {
		if !in[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	if len(in) != len(acknowledged) {
		t.Errorf("%d events, %d were acknowledged", len(in), len(acknowledged))
	}
	for i := range followed {
		eventually(t, "the followers have all", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(followed[i]) >= len(in)
		})
		if len(followed[i]) != len(in) {
			t.Errorf("follower %d saw %d events of %d", i, len(followed[i]), len(in))
		}
	}
	cancel()
	following.Wait()
	t.Logf("%d events", len(in))
}

// TestOpen: what cannot be a store of ours is refused in words, and left as it is.
func TestOpen(t *testing.T) {
	t.Parallel()
	address := at(t, t.TempDir())
	db := open(t, address, nil)
	if !strings.HasPrefix(db.Version(), "PostgreSQL 1") {
		t.Errorf("version %q", db.Version())
	}
	// Several at once find an empty schema: one makes the tables.
	empty := at(t, t.TempDir())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := Open(t.Context(), empty, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()

	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct{ address, want string }{
		"newer":     {address, "newer Parley (its schema is 9999"},
		"no schema": {server.Address("none"), "search_path"},
		"no server": {"postgres:///postgres?host=" + t.TempDir(), "cannot be reached"},
		"nonsense":  {"postgres://[", "address of the database"},
		"stranger":  {server.Address("") + "&user=nobody", ""},
	} {
		db, err := Open(t.Context(), tt.address, nil)
		if err == nil {
			db.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
	// A migration that fails changes nothing.
	steps, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	first, err := fs.ReadFile(steps, "00001_start.sql")
	if err != nil {
		t.Fatal(err)
	}
	half := open(t, at(t, t.TempDir()), nil)
	err = half.migrate(t.Context(), fstest.MapFS{
		"00001_start.sql": {Data: first},
		"00002_half.sql":  {Data: []byte("-- +goose Up\nCREATE TABLE half (x int);\nCREATE TABLE half (y int);")},
	})
	if err == nil {
		t.Error("a migration that cannot be was made")
	}
	var table *string
	if err := half.row(t.Context(), `SELECT to_regclass('half')::text`).Scan(&table); err != nil || table != nil {
		t.Errorf("half a migration is there: %v, %v", table, err)
	}
}
