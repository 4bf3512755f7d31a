package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
)

// TestFailsAlone: of those that share a transaction, the one at fault fails alone, and all hear of it in order.
func TestFailsAlone(t *testing.T) {
	t.Parallel()
	db := open(t, at(t, t.TempDir()), nil)
	busy, goOn := make(chan struct{}), make(chan struct{})
	go func() {
		_ = db.writer.waitFor(context.Background(), &op{do: func(context.Context, *pgx.Conn) error {
			close(busy)
			<-goOn
			return nil
		}})
	}()
	<-busy
	// Two tokens with one hash cannot be: that shows in the middle of the transaction, after events were written.
	token := func(id string) []*orchestrator.Token { return []*orchestrator.Token{{ID: id, Hash: [32]byte{1}}} }
	event := func(run string) []orchestrator.NewEvent {
		return []orchestrator.NewEvent{{RunID: run, ConversationID: "c", Kind: orchestrator.EventFault, JSON: []byte(`1`)}}
	}
	receipt := &orchestrator.Receipt{Scope: "agent", Principal: "p", MessageID: "m"}
	var ended []string
	done := make(chan struct{})
	for _, b := range []*orchestrator.Batch{
		{Events: event("a"), Tokens: token("1")},
		{Events: event("b"), Tokens: token("2")},
		{Events: event("c"), Items: []*orchestrator.Item{{ConversationID: "c", Text: "hello"}}, Receipt: receipt},
		{Events: event("b")},
		{Events: event("d"), Receipt: receipt}, // twice in one transaction
		{Events: event("e"), Claims: map[string]int64{"e": 7}},
		{Settings: map[string]string{"x": "y"}},
	} {
		db.Enqueue(b, func(entries []*a2a.Entry, err error) {
			s := fmt.Sprint(len(entries), err == nil)
			if len(b.Items) > 0 && b.Items[0].ID == 0 {
				t.Error("an item without an ID")
			}
			if ended = append(ended, s); b.Settings != nil {
				close(done)
			}
		})
	}
	close(goOn)
	<-done
	if got, want := fmt.Sprint(ended), "[1 true 0 false 1 true 0 false 0 false 0 false 0 true]"; got != want {
		t.Errorf("ended %s, want %s", got, want)
	}
	var got []string
	for events, err := range db.ReadConversation(t.Context(), "c", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got = append(got, fmt.Sprint(e.RunID, e.Seq))
		}
	}
	if want := "[a1 c2]"; fmt.Sprint(got) != want {
		t.Errorf("stored %v, want %s", got, want)
	}
}

// TestClaimGivenUp: a claim that nobody waits for any more may still be made, and disturbs nobody by that.
func TestClaimGivenUp(t *testing.T) {
	t.Parallel()
	db := open(t, at(t, t.TempDir()), nil)
	for i := range 10 {
		busy, goOn := make(chan struct{}), make(chan struct{})
		go func() {
			_ = db.writer.waitFor(context.Background(), &op{do: func(context.Context, *pgx.Conn) error {
				close(busy)
				<-goOn
				return nil
			}})
		}()
		<-busy
		ctx, cancel := context.WithCancel(t.Context())
		claimed := make(chan error, 1)
		go func() {
			_, err := db.Claim(ctx, fmt.Sprint("r", i))
			claimed <- err
		}()
		eventually(t, "the claim waits", func() bool {
			db.writer.mu.Lock()
			defer db.writer.mu.Unlock()
			return len(db.writer.queue) == 1
		})
		cancel() // while the claim is being made
		close(goOn)
		if err := <-claimed; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if n, err := db.Claim(t.Context(), "last"); err != nil || n < 1 || n > 11 {
		t.Errorf("the last claim is %d, %v", n, err)
	}
}

// TestGroups: what waits while a transaction is under way goes into the next as one.
func TestGroups(t *testing.T) {
	t.Parallel()
	db := open(t, at(t, t.TempDir()), nil)
	commits := func() (n int64) {
		t.Helper()
		if err := db.row(t.Context(), `SELECT count(DISTINCT xmin::text) FROM events`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const n = groupOps + 1
	done := make(chan error, n)
	db.writer.mu.Lock() // all of them are queued before the writer looks
	for i := range n {
		db.writer.queue = append(db.writer.queue, &op{
			batch: db.ready(&orchestrator.Batch{Events: []orchestrator.NewEvent{{RunID: fmt.Sprint(i), Kind: orchestrator.EventFault, JSON: []byte(`1`)}}}),
			done:  func(_ []*a2a.Entry, err error) { done <- err },
		})
	}
	db.writer.mu.Unlock()
	if err := db.Write(t.Context(), &orchestrator.Batch{Settings: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := commits(); got != 2 {
		t.Errorf("%d transactions of %d batches, want 2", got, n)
	}
}

// TestBlobs: a large body is stored once, goes with the last event that names it, and is put back when an erase took it
// between its batch and its commit.
func TestBlobs(t *testing.T) {
	t.Parallel()
	db := open(t, at(t, t.TempDir()), nil)
	count := func() (n int) {
		t.Helper()
		if err := db.row(t.Context(), `SELECT count(*) FROM blobs`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	body := bytes.Repeat([]byte("1"), orchestrator.BlobSize+1)
	of := func(x string) *orchestrator.Batch {
		return &orchestrator.Batch{
			Conversations: []*orchestrator.Conversation{{ID: x}},
			Events:        []orchestrator.NewEvent{{RunID: "r" + x, ConversationID: x, Kind: orchestrator.EventFault, JSON: body}},
		}
	}
	for _, x := range []string{"a", "b"} {
		if err := db.Write(t.Context(), of(x)); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range []string{"a", "b"} {
		if n := count(); n != 1 {
			t.Errorf("%d blobs", n)
		}
		if err := db.Erase(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != 1-i {
			t.Errorf("%d blobs are left", n)
		}
	}
	ready := db.ready(of("c")) // its body is stored; now it is erased with another conversation
	if _, err := db.read.Exec(t.Context(), `DELETE FROM blobs`); err != nil {
		t.Fatal(err)
	}
	if err := db.writer.waitFor(t.Context(), &op{batch: ready}); err != nil {
		t.Fatal(err)
	}
	for events, err := range db.ReadRun(t.Context(), "rc", 0) {
		if err != nil || len(events) != 1 || !bytes.Equal(events[0].JSON, body) {
			t.Errorf("%d events, %v", len(events), err)
		}
	}
	// One that no event names is left behind by a process that ended; younger ones wait for their event.
	for i, age := range []int64{0, orphanAge.Milliseconds() - 60_000, orphanAge.Milliseconds() + 60_000} {
		if _, err := db.read.Exec(t.Context(), insertBlob, []byte{byte(i)}, []byte("x"), db.now().UnixMilli()-age); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Expire(t.Context(), db.now()); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 3 {
		t.Errorf("%d blobs after the sweep, want the named one and two young ones", n)
	}
}

// TestTexts: what a text of the database cannot hold fails nothing, and is found again by what it was.
func TestTexts(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, at(t, t.TempDir()), nil), t.Context()
	const odd = "a\x00b\xffc"
	if err := db.Write(ctx, &orchestrator.Batch{
		Receipt:       &orchestrator.Receipt{Scope: "agent", Principal: odd, MessageID: odd, RunID: odd},
		Events:        []orchestrator.NewEvent{{RunID: odd, ConversationID: odd, Kind: orchestrator.EventFault, JSON: []byte(`1`)}},
		Conversations: []*orchestrator.Conversation{{ID: odd, Title: odd}},
		Runs:          []*orchestrator.Run{{ID: odd, Scope: "agent", Principal: odd, ConversationID: odd, ContextID: odd, State: a2a.TaskStateWorking}},
		Items:         []*orchestrator.Item{{ConversationID: odd, Text: odd + " word"}},
		Settings:      map[string]string{odd: odd},
	}); err != nil {
		t.Fatal(err)
	}
	r, err := db.Run(ctx, odd)
	if err != nil || r.LastSeq != 1 || r.ContextID != "a\uFFFDb\uFFFDc" {
		t.Errorf("Run = %+v, %v", r, err)
	}
	if got, err := db.Received(ctx, "agent", odd, odd); err != nil || got.MessageID != odd {
		t.Errorf("Received = %+v, %v", got, err)
	}
	if _, err := db.Received(ctx, "agent", odd, "a\uFFFDb\uFFFDc"); !errors.Is(err, orchestrator.ErrNotFound) {
		t.Errorf("another message's receipt: %v", err)
	}
	if n, err := db.Claim(ctx, odd); err != nil {
		t.Error(err)
	} else if err := db.Write(ctx, &orchestrator.Batch{Claims: map[string]int64{odd: n}, Settings: map[string]string{"a": "b"}}); err != nil {
		t.Error(err)
	}
	if hits, err := db.Search(ctx, orchestrator.SearchQuery{Text: odd + " wo"}); err != nil || len(hits) != 1 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	if runs, n, err := db.ListRuns(ctx, "agent", odd, &a2a.ListRequest{ContextID: odd}, nil, 10); err != nil || n != 1 || len(runs) != 1 {
		t.Errorf("%d runs of %d, %v", len(runs), n, err)
	}
	if err := db.Erase(ctx, odd); err != nil {
		t.Error(err)
	}
}

// TestLongTexts: in a text with more words than the index has places for, words in a row are found all the same, and only
// where they stand in a row.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, at(t, t.TempDir()), nil), t.Context()
	filler := strings.Repeat("いろはにほへとちりぬるを ", 2000)
	var b orchestrator.Batch
	for i, text := range []string{
		filler + "富士山の上に月 far behind all", filler + "月の上に富士山 behind all far", strings.Repeat("same ", 1000) + "same again", "far behind",
		strings.Repeat("x", 5000),
	} {
		b.Items = append(b.Items, &orchestrator.Item{ConversationID: fmt.Sprint("c", i), Text: text})
	}
	var distinct strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&distinct, "word%06d ", i)
	}
	b.Items = append(b.Items, &orchestrator.Item{ConversationID: "c5", Text: distinct.String()})
	if err := db.Write(ctx, &b); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"富士山": "c1 c0", "富士山の上": "c0", "上に富士山": "c1", `"far behind"`: "c3 c0", `"behind all"`: "c1 c0", "far behind": "c3 c1 c0",
		`"same again"`: "c2", `"again same"`: "", strings.Repeat("x", 4999): "", strings.Repeat("x", 5000): "c4", strings.Repeat("x", 5001): "",
		"word000001": "c5", `"word000001 word000002"`: "c5", `"word000002 word000001"`: "",
	} {
		for _, ranked := range []bool{false, true} {
			hits, err := db.Search(ctx, orchestrator.SearchQuery{Text: query + " ", Ranked: ranked})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hits {
				got = append(got, h.Item.ConversationID)
			}
			if g := strings.Join(got, " "); !ranked && g != want || len(g) != len(want) {
				t.Errorf("%.20q finds %q, want %q (ranked %v)", query, g, want, ranked)
			}
		}
	}
	// A page is filled up with what lies behind those that only seemed to be hits.
	for i := range 5 {
		b.Items[0].ID, b.Items[1].ID = 0, 0
		if err := db.Write(ctx, &orchestrator.Batch{Items: []*orchestrator.Item{{ConversationID: "c6", Text: b.Items[1].Text}, {ConversationID: "c7", Text: "far behind"}}}); err != nil {
			t.Fatal(i, err)
		}
	}
	if hits, err := db.Search(ctx, orchestrator.SearchQuery{Text: `"far behind"`, Limit: 6}); err != nil || len(hits) != 6 {
		t.Errorf("%d hits, %v; want 6", len(hits), err)
	}
}

// TestWireBounds: old records make room for new ones.
func TestWireBounds(t *testing.T) {
	t.Parallel()
	db := open(t, at(t, t.TempDir()), &Options{wireBytes: 1 << 20})
	body := bytes.Repeat([]byte("x"), 4<<10)
	const n = 1000
	for i := range n {
		db.RecordWire(&orchestrator.WireRecord{Peer: "p", Request: body, Status: i})
		if i%100 == 99 {
			eventually(t, "the queue is empty", func() bool { return db.wire.queue.Empty() })
		}
	}
	eventually(t, "the newest is stored, within bounds", func() bool {
		id, stored, most, err := db.WireHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := db.WireRecord(t.Context(), id)
		return err == nil && r.Status == n-1 && stored <= most && stored > most/2
	})
}
