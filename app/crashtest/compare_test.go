package crashtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // to look into the database from outside
)

// errBroken says that the program did not keep its word.
var errBroken = errors.New("broken promise")

// compare sends messages of the ledger again, by their ids, and compares what comes back with what was acknowledged.
func (h *harness) compare(p *process, ledger []*sent) error {
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Minute)
	defer cancel()
	c := newClient(p.url)
	defer c.http.CloseIdleConnections()
	work := make(chan *sent)
	errs := make(chan error, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for s := range work {
				err := errBusy
				for errors.Is(err, errBusy) {
					if err = c.compare(ctx, s); errors.Is(err, errBusy) {
						time.Sleep(20 * time.Millisecond) // as it was asked to
					}
				}
				if err != nil {
					select {
					case errs <- fmt.Errorf("message %s (%s): %w", s.id, s.text, err):
					default:
					}
				}
			}
		})
	}
	for _, s := range ledger {
		work <- s
	}
	close(work)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (c *client) compare(ctx context.Context, s *sent) error {
	if !s.stream {
		return c.compareReply(ctx, s)
	}
	var all []event
	if err := c.read(ctx, s, 0, func(e event) { all = append(all, e) }); err != nil {
		return err
	}
	for i, e := range all {
		if i > 0 && e.seq <= all[i-1].seq {
			return fmt.Errorf("%w: event %d came after event %d", errBroken, e.seq, all[i-1].seq)
		}
		if e.task != "" && all[0].task != "" && e.task != all[0].task {
			return fmt.Errorf("%w: event %d is of task %s, not %s", errBroken, e.seq, e.task, all[0].task)
		}
	}
	if len(all) == 0 || !all[len(all)-1].end {
		return fmt.Errorf("%w: %d events, and no end", errBroken, len(all))
	}
	if len(s.events) > len(all) || !slices.Equal(s.events, all[:len(s.events)]) {
		return fmt.Errorf("%w: %d events were acknowledged; %s", errBroken, len(s.events), difference(s.events, all))
	}
	s.events = all // they are acknowledged now, all of them
	return nil
}

func difference(want, got []event) string {
	for i := range want {
		switch {
		case i >= len(got):
			return fmt.Sprintf("of them %d are there now", len(got))
		case want[i] != got[i]:
			return fmt.Sprintf("number %d was event %d (%x) and is event %d (%x)", i+1, want[i].seq, want[i].sum[:4], got[i].seq, got[i].sum[:4])
		}
	}
	return "they are the same"
}

// compareReply sends a message again that was answered with a message or a task. What was not acknowledged may have
// been begun or not; from the second time on it is the same.
func (c *client) compareReply(ctx context.Context, s *sent) error {
	sum, task, err := c.send(ctx, s)
	if err != nil {
		return err
	}
	if s.replied && (sum != s.reply || task != s.task) {
		return fmt.Errorf("%w: the acknowledged reply (task %q) is another one now (task %q)", errBroken, s.task, task)
	}
	s.reply, s.task, s.replied = sum, task, true
	return nil
}

// database is the file that the acknowledged events are in.
const database = "parley.db"

// integrity has SQLite check every database below the data directory.
func (h *harness) integrity() error {
	checked := 0
	err := filepath.WalkDir(h.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != database {
			return err
		}
		checked++
		for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
			found, err := query(path, "PRAGMA "+pragma)
			if err != nil {
				return err
			}
			if found != "" && found != "ok" {
				return fmt.Errorf("%w: %s of %s says %s", errBroken, pragma, path, found)
			}
		}
		return nil
	})
	if err == nil && checked == 0 {
		err = fmt.Errorf("there is no %s in %s", database, h.data)
	}
	return err
}

// query returns the first column of the first row, "" when there is none.
func query(path, statement string) (string, error) {
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var s string
	if err := db.QueryRow(statement).Scan(&s); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	return s, nil
}

// damage plants the fault that was asked for, in an event that was acknowledged.
func (h *harness) damage(ledger []*sent) error {
	if h.plant == "" {
		return nil
	}
	statement := map[string]string{
		"lose": "DELETE FROM events WHERE seq = ?",
		"move": "UPDATE events SET seq = (SELECT max(seq) + 1 FROM events) WHERE seq = ?",
	}[h.plant]
	if statement == "" {
		return fmt.Errorf("PLANT=%s is neither lose nor move", h.plant)
	}
	for _, s := range ledger {
		if len(s.events) < 3 {
			continue
		}
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(h.data, database))
		if err != nil {
			return err
		}
		defer db.Close()
		r, err := db.Exec(statement, s.events[1].seq)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n != 1 {
			return fmt.Errorf("the planted fault hit %d events (%v)", n, err)
		}
		return nil
	}
	return nil
}
