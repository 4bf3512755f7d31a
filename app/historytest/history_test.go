// Package historytest measures a Parley with a long history: it seeds messages through the store, starts the real
// program on them, and times its pages the way a browser asks for them.
//
//	go test ./app/historytest -run TestHistory -v -messages 1000000 [-dir DIR]
//
// With -dir the seeded data directory is kept, and used again when it already holds that many messages. Words are drawn
// by Zipf's law from fifty thousand: w0 is in most messages, w40000 in few.
package historytest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/sqlite"
)

var (
	messages = flag.Int("messages", 5_000, "how many messages are seeded")
	dir      = flag.String("dir", "", "keep the data directory here")
)

const (
	long  = 2_000 // messages of the long conversation in the short form of the test; 10,000 from 100,000 messages on
	usual = 100   // messages of every other conversation
	batch = 1_000 // messages of one transaction
)

func longest() int {
	if *messages >= 100_000 {
		return 10_000
	}
	return long
}

func TestHistory(t *testing.T) {
	data := *dir
	if data == "" {
		data = t.TempDir()
	}
	began := time.Now()
	id, fresh, err := seed(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if fresh {
		t.Logf("seeded %d messages in %s", *messages, time.Since(began).Round(time.Millisecond))
	}
	t.Logf("database %d MB", size(t, data)>>20)
	inserts(t, data)

	program := filepath.Join(t.TempDir(), "parley")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	s := start(t, program, data)
	t.Logf("first answer %s after the start; %d MB resident", s.first.Round(time.Millisecond), s.resident()>>20)

	first := s.page(t, "/c/"+id)
	if !strings.Contains(first, "m-last") {
		t.Errorf("the newest message is not on the first page")
	}
	if all := s.page(t, "/c/"+id+"/export.json"); strings.Count(all, "m-") < longest() {
		t.Errorf("%d of %d messages came over HTTP", strings.Count(all, "m-"), longest())
	}
	if hits := s.page(t, "/search?q=zzunique"); !strings.Contains(hits, "zzunique") {
		t.Error("the one message with a word is not found")
	}

	s.time(t, "open the long conversation", 200, "/c/"+id)
	s.time(t, "all of its messages", 20, "/c/"+id+"/export.json")
	s.time(t, "open a usual conversation", 200, "/c/"+conversationID(3))
	s.time(t, "the start page", 200, "/")
	for _, q := range []string{"w40000", "w2000", "w3", "w50 w900", `"w5 w9"`, "w4000", "w1", "東京", "zzunique"} {
		s.time(t, "search "+q, 50, "/search?"+query(q))
	}
	random := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(random, 1.1, 8, 50_000)
	var words []string
	for range 500 {
		words = append(words, "/search?"+query(fmt.Sprintf("w%d", zipf.Uint64())))
	}
	took := s.times(t, words)
	fast := 0
	for _, d := range took {
		if d <= 5*time.Millisecond {
			fast++
		}
	}
	t.Logf("%-32s %5.1f %% within 5 ms, %s", "500 single words", 100*float64(fast)/float64(len(took)), quantiles(took))
}

func conversationID(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// seed fills data with conversations, the longest first, and returns the id of that.
func seed(ctx context.Context, data string) (id string, fresh bool, err error) {
	db, err := sqlite.Open(ctx, data, nil)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	id = conversationID(0)
	if v, err := db.Setting(ctx, "test.seeded"); err != nil || v == fmt.Sprint(*messages) {
		return id, false, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 8, 50_000)
	at := time.Now().Add(-time.Duration(*messages) * time.Second)
	n := 0
	for c := 0; n < *messages; c++ {
		size := usual
		if c == 0 {
			size = longest()
		}
		size = min(size, *messages-n)
		for from := 0; from < size; from += batch {
			b := &orchestrator.Batch{}
			for i := from; i < min(size, from+batch); i++ {
				n++
				at = at.Add(time.Second)
				item := &orchestrator.Item{ConversationID: conversationID(c), Kind: orchestrator.ItemAgent, AgentID: "writer", At: at, Text: text(zipf, n)}
				if i%2 == 0 {
					item.Kind, item.AgentID = orchestrator.ItemUser, ""
				}
				if c == 0 && i == size-1 {
					item.Text += " m-last"
				}
				b.Items = append(b.Items, item)
			}
			b.Conversations = []*orchestrator.Conversation{{
				ID: conversationID(c), Title: fmt.Sprintf("Conversation %d", c), To: "writer", Created: at, Updated: at, LastText: "w1 w2",
			}}
			if err := db.Write(ctx, b); err != nil {
				return "", false, err
			}
		}
	}
	return id, true, db.Write(ctx, &orchestrator.Batch{Settings: map[string]string{"test.seeded": fmt.Sprint(*messages)}})
}

// text draws twenty words. Each message has a word of its own, m-N; some have what is searched for below.
func text(zipf *rand.Zipf, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "m-%d", n)
	for range 20 {
		fmt.Fprintf(&b, " w%d", zipf.Uint64())
	}
	if n%1000 == 0 {
		b.WriteString(" 東京へ行きます")
	}
	if n == 77 {
		b.WriteString(" zzunique")
	}
	return b.String()
}

// inserts times one message at a time into the full, searchable database.
func inserts(t *testing.T, data string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	zipf := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.1, 8, 50_000)
	var took []time.Duration
	for i := range 300 {
		now := time.Now()
		b := &orchestrator.Batch{Items: []*orchestrator.Item{{
			ConversationID: conversationID(1), Kind: orchestrator.ItemUser, At: now, Text: text(zipf, *messages+i+1),
		}}}
		if err := db.Write(t.Context(), b); err != nil {
			var e *a2a.Error
			t.Fatal(err, errors.As(err, &e))
		}
		took = append(took, time.Since(now))
	}
	t.Logf("%-32s %s", "insert one message", quantiles(took))
}

func size(t *testing.T, data string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "parley.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}

func quantiles(took []time.Duration) string {
	slices.Sort(took)
	at := func(p float64) time.Duration {
		return took[min(len(took)-1, int(p*float64(len(took))))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s", at(.5), at(.95), at(.99))
}
