//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// cpu is what the process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rate reports rows a second and processor time a row.
func rate(b *testing.B, rows int, used time.Duration) {
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64((cpu()-used).Nanoseconds())/float64(rows)/1000, "cpu-us/row")
	b.ReportMetric(0, "ns/op")
}

var benchBody = append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 300)...), '"')

func benchEvent(run string) orchestrator.NewEvent {
	return orchestrator.NewEvent{RunID: run, Kind: orchestrator.EventArtifact, JSON: benchBody}
}

// BenchmarkWrite: callers that each wait for their commit.
func BenchmarkWrite(b *testing.B) {
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", synchronous, callers), func(b *testing.B) {
				db := open(b, b.TempDir(), &Options{Sync: synchronous})
				used := cpu()
				b.ResetTimer()
				var wg sync.WaitGroup
				for c := range callers {
					wg.Go(func() {
						run := fmt.Sprint("r", c)
						for i := c; i < b.N; i += callers {
							if err := db.Write(context.Background(), &orchestrator.Batch{Events: []orchestrator.NewEvent{benchEvent(run)}}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				rate(b, b.N, used)
			})
		}
	}
}

// BenchmarkFlood: streams that each have at most 64 events in flight.
func BenchmarkFlood(b *testing.B) {
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		for _, streams := range []int{1, 20} {
			b.Run(fmt.Sprintf("%s/streams=%d", synchronous, streams), func(b *testing.B) {
				db := open(b, b.TempDir(), &Options{Sync: synchronous})
				used := cpu()
				b.ResetTimer()
				flood(b, db, streams, b.N)
				rate(b, b.N, used)
			})
		}
	}
}

func flood(b *testing.B, db *DB, streams, n int) {
	var wg sync.WaitGroup
	for s := range streams {
		wg.Go(func() {
			run := fmt.Sprint("r", s)
			flight := make(chan struct{}, 64)
			for i := s; i < n; i += streams {
				flight <- struct{}{}
				db.Enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{benchEvent(run)}}, func(_ []*a2a.Entry, err error) {
					if err != nil {
						b.Error(err)
					}
					<-flight
				})
			}
			for range cap(flight) {
				flight <- struct{}{}
			}
		})
	}
	wg.Wait()
}

// BenchmarkFan: one stream, followed by many.
func BenchmarkFan(b *testing.B) {
	for _, followers := range []int{0, 1, 100} {
		b.Run(fmt.Sprint("followers=", followers), func(b *testing.B) {
			db := open(b, b.TempDir(), nil)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var wg, ready sync.WaitGroup
			write(b, db, &orchestrator.Batch{Events: []orchestrator.NewEvent{benchEvent("r0")}})
			ready.Add(followers)
			for range followers {
				wg.Go(func() {
					n := 0
					for page, err := range db.FollowRun(ctx, "r0", 0) {
						if err != nil {
							b.Error(err)
							return
						}
						if n == 0 {
							ready.Done()
						}
						if n += len(page); n == b.N+1 {
							return
						}
					}
				})
			}
			ready.Wait()
			used := cpu()
			b.ResetTimer()
			flood(b, db, 1, b.N)
			wg.Wait()
			b.ReportMetric(float64(b.N*max(followers, 1))/b.Elapsed().Seconds(), "deliveries/s")
			rate(b, b.N, used)
		})
	}
}

// seeded opens a store with n items, in conversations of 10,000 and, at the end, many of 20. Large ones are kept in the
// directory that PARLEY_BENCH_DIR names, because they take a while.
func seeded(b *testing.B, n int) *DB {
	b.Helper()
	dir := b.TempDir()
	if keep := os.Getenv("PARLEY_BENCH_DIR"); keep != "" {
		dir = fmt.Sprintf("%s/%d", keep, n)
	}
	begun := time.Now()
	db := open(b, dir, nil)
	b.Logf("opened in %v", time.Since(begun))
	if have, _ := db.Setting(context.Background(), "bench"); have == "" {
		seed(b, db, n)
		write(b, db, &orchestrator.Batch{Settings: map[string]string{"bench": "1"}})
	}
	return db
}

func seed(b *testing.B, db *DB, n int) {
	words := zipf()
	for i := 0; i < n; {
		batch := &orchestrator.Batch{}
		for ; i < n && len(batch.Items) < 500; i++ {
			conversation := fmt.Sprint("c", i/20)
			if i < n/2 {
				conversation = fmt.Sprint("big", i/10_000)
			}
			batch.Items = append(batch.Items, &orchestrator.Item{
				ConversationID: conversation, RunID: fmt.Sprint("r", i/2), Kind: orchestrator.ItemAgent, AgentID: "a",
				Text: words(20), At: time.UnixMilli(int64(i)),
			})
			batch.Conversations = append(batch.Conversations, &orchestrator.Conversation{
				ID: conversation, Title: conversation, Updated: time.UnixMilli(int64(i)),
			})
		}
		write(b, db, batch)
	}
}

// zipf returns a source of texts whose words are as unevenly frequent as those of a language.
func zipf() func(n int) string {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.07, 1, 50_000)
	return func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteString("w" + strconv.FormatUint(z.Uint64(), 10) + " ")
		}
		return s.String()
	}
}

// benchItems is how many items the databases of the next benchmarks have: PARLEY_BENCH_ITEMS, 20,000 when it is not set.
func benchItems() int {
	if n, err := strconv.Atoi(os.Getenv("PARLEY_BENCH_ITEMS")); err == nil {
		return n
	}
	return 20_000
}

func BenchmarkOpen(b *testing.B) {
	db := seeded(b, benchItems())
	db.Close()
	b.ResetTimer()
	for b.Loop() {
		again, err := Open(context.Background(), db.dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkItems(b *testing.B) {
	db := seeded(b, benchItems())
	for b.Loop() {
		items, err := db.Items(context.Background(), "big0", 0, 50)
		if err != nil || len(items) != 50 {
			b.Fatal(len(items), err)
		}
	}
}

func BenchmarkEachItem(b *testing.B) {
	db := seeded(b, benchItems())
	for b.Loop() {
		n := 0
		for _, err := range db.EachItem(context.Background(), "big0") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	db := seeded(b, benchItems())
	for _, q := range []struct{ name, text, conversation string }{
		{"rare", "w49000", ""},
		{"mid", "w4000", ""},
		{"common", "w1", ""},
		{"two", "w10 w20", ""},
		{"phrase", `"w1 w2"`, ""},
		{"prefix1", "w", ""},
		{"prefix2", "w1", ""},
		{"prefix3", "w10", ""},
		{"prefix4", "w400", ""},
		{"prefix5", "w4000", ""},
		{"common in one", "w1", "big0"},
		{"rare in one", "w49000", "big0"},
		{"prefix in one", "w", "c49999"},
	} {
		for _, ranked := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/ranked=%v", q.name, ranked), func(b *testing.B) {
				text := q.text
				if !strings.HasPrefix(q.name, "prefix") {
					text += " " // no prefix
				}
				for b.Loop() {
					if _, err := db.Search(context.Background(), orchestrator.SearchQuery{
						Text: text, ConversationID: q.conversation, Ranked: ranked,
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkInsertItem(b *testing.B) {
	db := seeded(b, benchItems())
	words := zipf()
	for b.Loop() {
		write(b, db, &orchestrator.Batch{
			Items:         []*orchestrator.Item{{ConversationID: "c1", Kind: orchestrator.ItemAgent, Text: words(20)}},
			Conversations: []*orchestrator.Conversation{{ID: "c1", Title: "c1", Updated: time.UnixMilli(int64(b.N))}},
		})
	}
}

// BenchmarkRead: the reads of one row that come with a request.
func BenchmarkRead(b *testing.B) {
	db := open(b, b.TempDir(), nil)
	batch := &orchestrator.Batch{Receipt: &orchestrator.Receipt{Scope: "agent", Principal: "p", MessageID: "m", RunID: "r"}}
	for i := range 1000 {
		run := fmt.Sprint("r", i)
		batch.Events = append(batch.Events, benchEvent(run), benchEvent(run), benchEvent(run))
		batch.Runs = append(batch.Runs, &orchestrator.Run{ID: run, Scope: "agent", Principal: "p", State: a2a.TaskStateWorking})
	}
	write(b, db, batch)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, read := range map[string]func() error{
		"Run":      func() error { _, err := db.Run(ctx, "r500"); return err },
		"Received": func() error { _, err := db.Received(ctx, "agent", "p", "m"); return err },
		"ReadRun": func() error {
			for _, err := range db.ReadRun(ctx, "r500", 0) {
				return err
			}
			return nil
		},
		"Unknown": func() error {
			if _, err := db.Received(ctx, "agent", "p", "x"); err != orchestrator.ErrNotFound {
				return err
			}
			return nil
		},
		"Setting": func() error { _, err := db.Setting(ctx, "x"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			used := cpu()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu()-used).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}
