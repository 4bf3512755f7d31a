package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
)

// breaker stands between a store and the server, and breaks connections.
type breaker struct {
	t       *testing.T
	to      string
	armed   atomic.Bool
	stalled atomic.Bool // nothing is passed on any more, to the client
	breaks  atomic.Int64

	mu  sync.Mutex
	rnd *rand.Rand
}

// newBreaker returns one, and the address of the schema through it.
func newBreaker(t *testing.T, address string, seed uint64) (*breaker, string) {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	b := &breaker{t: t, to: filepath.Join(q.Get("host"), ".s.PGSQL.5432"), rnd: rand.New(rand.NewPCG(seed, 1))}
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go b.pass(c)
		}
	}()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return b, u.String()
}

// How a connection breaks: before what was sent arrives, in the middle of it, or before its answer does.
const (
	passes = iota
	breaksBefore
	breaksWithin
	breaksBehind
)

func (b *breaker) roll() int {
	if !b.armed.Load() {
		return passes
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rnd.IntN(12) > 0 {
		return passes
	}
	b.breaks.Add(1)
	return 1 + b.rnd.IntN(3)
}

func (b *breaker) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", b.to)
	if err != nil {
		return
	}
	defer server.Close()
	var deaf atomic.Bool // the client hears nothing any more
	go func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if deaf.Load() && n > 0 {
				return // the server has done what it was asked for
			}
			if n > 0 && !b.stalled.Load() {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		switch b.roll() {
		case breaksBefore:
			return
		case breaksWithin:
			_, _ = server.Write(buf[:n/2])
			return
		case breaksBehind:
			deaf.Store(true)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestBreaks: whatever breaks, and when, what was reported as stored is in the log, once and under the number that was
// reported, and what was reported as failed is not.
func TestBreaks(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	address := at(t, t.TempDir())
	sound := open(t, address, nil)
	b, through := newBreaker(t, address, seed)
	db := open(t, through, &Options{Timeout: 5 * time.Second})
	b.armed.Store(true)

	type outcome struct {
		seq  int64
		item int64
		err  error
	}
	var mu sync.Mutex
	outcomes := map[string]outcome{}
	ended := func(id string, o outcome) {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := outcomes[id]; twice {
			t.Errorf("%s ended twice", id)
		}
		outcomes[id] = o
	}
	batch := func(id, run string) *orchestrator.Batch {
		return &orchestrator.Batch{
			Events: []orchestrator.NewEvent{{RunID: run, ConversationID: "c", Kind: orchestrator.EventFault, JSON: []byte(`"` + id + `"`)}},
			Items:  []*orchestrator.Item{{ConversationID: "c", Kind: orchestrator.ItemAgent, Text: id}},
		}
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			var flying sync.WaitGroup
			// At least so many, and on until enough has broken: many that wait for one commit are one message.
			for i := 0; i < 60 || i < 1000 && b.breaks.Load() < 5; i++ {
				id := fmt.Sprintf("w%d-%d", w, i)
				x := batch(id, fmt.Sprint("r", w))
				if i%3 > 0 { // in a pipeline, each of a run of its own: a failure does not fail the next
					x.Events[0].RunID = id
					flying.Add(1)
					db.Enqueue(x, func(entries []*a2a.Entry, err error) {
						o := outcome{err: err}
						if err == nil {
							o.seq, o.item = entries[0].Seq, x.Items[0].ID
						}
						ended(id, o)
						flying.Done()
					})
					continue
				}
				err := db.Write(context.Background(), x)
				ended(id, outcome{item: x.Items[0].ID, err: err})
				if err != nil {
					var unavailable *a2a.Error
					if !errors.As(err, &unavailable) || unavailable.Kind != a2a.KindUnavailable {
						t.Errorf("%s: %v", id, err)
					}
					eventuallyHealthy(t, db)
				}
				if i%10 == 9 { // what follows a failure is refused until a Write succeeds
					flying.Wait()
				}
			}
			flying.Wait()
		})
	}
	wg.Wait()
	b.armed.Store(false)
	stored, failed := 0, 0
	found := map[string]int64{}
	for events, err := range sound.ReadConversation(t.Context(), "c", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			id := string(e.JSON[1 : len(e.JSON)-1])
			if found[id] != 0 {
				t.Errorf("%s is there twice", id)
			}
			found[id] = e.Seq
		}
	}
	items := map[string]int64{}
	for it, err := range sound.EachItem(t.Context(), "c") {
		if err != nil {
			t.Fatal(err)
		}
		items[it.Text] = it.ID
	}
	for id, o := range outcomes {
		switch {
		case o.err != nil:
			if failed++; found[id] != 0 || items[id] != 0 {
				t.Errorf("%s was reported as failed (%v) and is stored", id, o.err)
			}
		case found[id] == 0 || items[id] == 0:
			t.Errorf("%s was reported as stored and is not", id)
		default:
			if stored++; o.seq != 0 && o.seq != found[id] || o.item != items[id] {
				t.Errorf("%s: reported as event %d and item %d, it is %d and %d", id, o.seq, o.item, found[id], items[id])
			}
		}
	}
	t.Logf("%d stored, %d failed, %d connections broke", stored, failed, b.breaks.Load())
	if stored == 0 || b.breaks.Load() < 5 {
		t.Error("nothing was tried")
	}
	// The hub has them all, too, in order, and what others write.
	if err := sound.Write(t.Context(), batch("last", "last")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n, last := 0, int64(0)
	for events, err := range db.FollowConversation(ctx, "c", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Seq <= last {
				t.Errorf("event %d behind %d", e.Seq, last)
			}
			last = e.Seq
		}
		if n += len(events); n == stored+1 {
			break
		}
	}
	if n != stored+1 {
		t.Errorf("followed %d events, want %d", n, stored+1)
	}
}

func eventuallyHealthy(t *testing.T, db *DB) {
	t.Helper()
	eventually(t, "the store takes writes again", func() bool { return db.Healthy() == nil })
}

// TestStalls: a server that says nothing any more is found out, and the write is known to have failed or not.
func TestStalls(t *testing.T) {
	t.Parallel()
	address := at(t, t.TempDir())
	sound := open(t, address, nil)
	b, through := newBreaker(t, address, 1)
	db := open(t, through, &Options{Timeout: time.Second, Poll: 100 * time.Millisecond})
	event := func(id string) *orchestrator.Batch {
		return &orchestrator.Batch{Events: []orchestrator.NewEvent{{RunID: id, Kind: orchestrator.EventFault, JSON: []byte(`1`)}}}
	}
	if err := db.Write(t.Context(), event("before")); err != nil {
		t.Fatal(err)
	}
	b.stalled.Store(true)
	done := make(chan error, 1)
	go func() { done <- db.Write(context.Background(), event("during")) }()
	eventually(t, "it is noticed", func() bool { return db.Healthy() != nil })
	b.stalled.Store(false)
	err := <-done
	eventuallyHealthy(t, db)
	n := 0
	for events := range sound.ReadRun(t.Context(), "during", 0) {
		n += len(events)
	}
	if (err == nil) != (n == 1) {
		t.Errorf("the write ended with %v, %d events are stored", err, n)
	}
	eventually(t, "it writes again", func() bool { return db.Write(t.Context(), event("after")) == nil })
}

// TestTurn: who waits for its turn for too long does not write later, when it has been told that it failed.
func TestTurn(t *testing.T) {
	t.Parallel()
	address := at(t, t.TempDir())
	sound := open(t, address, nil)
	db := open(t, address, &Options{Timeout: time.Second})
	holds, letGo := make(chan struct{}), make(chan struct{})
	go func() {
		_ = sound.writer.waitFor(context.Background(), &op{do: func(context.Context, *pgx.Conn) error {
			close(holds)
			<-letGo
			return nil
		}})
	}()
	<-holds
	err := db.Write(t.Context(), &orchestrator.Batch{Events: []orchestrator.NewEvent{{RunID: "r", Kind: orchestrator.EventFault, JSON: []byte(`1`)}}})
	var unavailable *a2a.Error
	if !errors.As(err, &unavailable) || unavailable.Kind != a2a.KindUnavailable || db.Healthy() == nil {
		t.Errorf("Write = %v, Healthy = %v", err, db.Healthy())
	}
	close(letGo)
	eventuallyHealthy(t, db)
	eventually(t, "it writes again", func() bool {
		return db.Write(t.Context(), &orchestrator.Batch{Settings: map[string]string{"a": "b"}}) == nil
	})
	for range sound.ReadRun(t.Context(), "r", 0) {
		t.Error("what failed was written")
	}
}

// TestAskForAnother: after a crash the server may give the number of a transaction that came to nothing to another one.
// That it was committed says nothing then.
func TestAskForAnother(t *testing.T) {
	t.Parallel()
	db := open(t, at(t, t.TempDir()), nil)
	b := &orchestrator.Batch{Events: []orchestrator.NewEvent{{RunID: "r", Kind: orchestrator.EventFault, JSON: []byte(`1`)}}}
	if err := db.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w := &writer{db: db}
	defer w.drop()
	var name string
	if err := db.row(t.Context(), `SELECT e.xmin::text, c.name FROM events e JOIN commits c ON c.xmin = e.xmin`).Scan(&w.xid, &name); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		stored bool
	}{{name, true}, {"another", false}} {
		w.name = tt.name
		if stored, known := w.ask([]*op{{batch: db.ready(b)}}, errors.New("lost")); stored != tt.stored || !known {
			t.Errorf("stored %v, known %v; want %v", stored, known, tt.stored)
		}
	}
	if len(w.events) != 1 || w.events[0].Seq != 1 {
		t.Errorf("events %v", w.events)
	}
}
