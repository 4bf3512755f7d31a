package orchestratortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

func storeAppend(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	if head, err := s.Head(t.Context()); head != 0 || err != nil {
		t.Fatalf("Head of a new store = %d, %v", head, err)
	}
	want := []orchestrator.NewEvent{storeEvent("r1", "c", 1), storeEvent("r2", "", 2), storeEvent("r1", "c", 3)}
	storeWrite(t, s, &orchestrator.Batch{Events: want[:2]})
	var entries []*a2a.Entry
	done := make(chan error, 1)
	s.Enqueue(&orchestrator.Batch{Events: want[2:]}, func(e []*a2a.Entry, err error) {
		entries = e
		done <- err
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	head, err := s.Head(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Seq != head {
		t.Fatalf("Head = %d, %v; entries = %v", head, err, entries)
	}
	if !entries[0].At.Equal(want[2].At) || !bytes.Equal(entries[0].JSON, want[2].JSON) {
		t.Errorf("entry = %+v", entries[0])
	}
	got := storeCollect(t, s.ReadRun(t.Context(), "r1", 0))
	storeSame(t, got, []orchestrator.NewEvent{want[0], want[2]})
	if got[1].Seq != head {
		t.Errorf("the last event has Seq %d, Head is %d", got[1].Seq, head)
	}
	storeSame(t, storeCollect(t, s.ReadRun(t.Context(), "r2", 0)), want[1:2])
	storeSame(t, storeCollect(t, s.ReadConversation(t.Context(), "c", 0)), []orchestrator.NewEvent{want[0], want[2]})
	for _, unknown := range []string{"", "r3"} {
		storeSame(t, storeCollect(t, s.ReadRun(t.Context(), unknown, 0)), nil)
		storeSame(t, storeCollect(t, s.ReadConversation(t.Context(), unknown, 0)), nil)
	}
	if err := s.Healthy(); err != nil {
		t.Errorf("Healthy: %v", err)
	}
}

// storeReadRuns: what ReadRuns answers of a run is all of it, and as it is in the log. What is much is left out, and may be all.
func storeReadRuns(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	want := map[string][]orchestrator.NewEvent{}
	var runs []string
	for r := range 7 {
		run, conversation := fmt.Sprint("r", r), ""
		if runs = append(runs, run); r%2 == 0 {
			conversation = "c"
		}
		for i := range 1 + r*700 { // 14,707 in all
			want[run] = append(want[run], storeEvent(run, conversation, i))
		}
	}
	large := storeEvent("r1", "", 1)
	large.JSON = append(append([]byte(`"`), bytes.Repeat([]byte("x"), orchestrator.BlobSize)...), '"')
	want["r1"] = append(want["r1"], large)
	b := &orchestrator.Batch{}
	for i := range 7 * 700 { // side by side
		for _, run := range runs {
			if i < len(want[run]) {
				b.Events = append(b.Events, want[run][i])
			}
		}
		if len(b.Events) > 500 {
			s.Enqueue(b, nil)
			b = &orchestrator.Batch{}
		}
	}
	s.Enqueue(b, nil)
	storeWrite(t, s, &orchestrator.Batch{Settings: map[string]string{"all": "there"}})
	for _, asked := range [][]string{nil, {"unknown"}, {"r1", "r0", "unknown"}, {"r5", "r3"}, runs} {
		got, err := s.ReadRuns(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		for run, events := range got {
			if !slices.Contains(asked, run) || len(events) == 0 {
				t.Errorf("%v: %d events of %q", asked, len(events), run)
			}
			storeSame(t, events, want[run])
		}
	}
}

// storeOrder: done is called in the order of the calls, and the events are in that order.
func storeOrder(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const n = 2000
	var got []int
	var seqs []int64
	done := make(chan struct{})
	for i := range n {
		b := &orchestrator.Batch{}
		if i%7 != 0 {
			b.Events = []orchestrator.NewEvent{storeEvent(fmt.Sprint("r", i%5), "c", i), storeEvent(fmt.Sprint("r", i%5), "c", i)}
		} else {
			b.Settings = map[string]string{"i": fmt.Sprint(i)}
		}
		s.Enqueue(b, func(entries []*a2a.Entry, err error) {
			if err != nil {
				t.Error(err)
			}
			if len(entries) != len(b.Events) {
				t.Errorf("%d entries of %d events", len(entries), len(b.Events))
			}
			got = append(got, i)
			for _, e := range entries {
				seqs = append(seqs, e.Seq)
			}
			if len(got) == n {
				close(done)
			}
		})
	}
	<-done
	for i := range got {
		if got[i] != i {
			t.Fatalf("done %d was called for batch %d", i, got[i])
		}
	}
	events := storeCollect(t, s.ReadConversation(t.Context(), "c", 0))
	storeRising(t, events)
	if len(events) != len(seqs) {
		t.Fatalf("%d events, want %d", len(events), len(seqs))
	}
	for i := range events {
		if events[i].Seq != seqs[i] {
			t.Fatalf("event %d has Seq %d, its entry had %d", i, events[i].Seq, seqs[i])
		}
	}
}

// storeWriters: many write at once; each sees its own in order, nothing is lost and nothing is there twice.
func storeWriters(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const writers, each = 64, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				run := fmt.Sprint("r", w)
				err := s.Write(t.Context(), &orchestrator.Batch{
					Events: []orchestrator.NewEvent{storeEvent(run, "c", i)},
					Runs:   []*orchestrator.Run{{ID: run, Scope: "agent", Principal: "p", State: a2a.TaskStateWorking, Updated: storeTime(i)}},
				})
				if err != nil {
					t.Error(err)
					return
				}
				// What Write has returned from is there for all.
				r, err := s.Run(t.Context(), run)
				if err != nil || !r.Updated.Equal(storeTime(i)) {
					t.Errorf("Run after Write = %+v, %v", r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	all := storeCollect(t, s.ReadConversation(t.Context(), "c", 0))
	storeRising(t, all)
	if len(all) != writers*each {
		t.Fatalf("%d events, want %d", len(all), writers*each)
	}
	for w := range writers {
		var want []orchestrator.NewEvent
		for i := range each {
			want = append(want, storeEvent(fmt.Sprint("r", w), "c", i))
		}
		storeSame(t, storeCollect(t, s.ReadRun(t.Context(), fmt.Sprint("r", w), 0)), want)
	}
}

func storeDurable(t *testing.T, open OpenStore) {
	place := t.TempDir()
	var want []orchestrator.NewEvent
	var last int64
	for round := range 3 {
		s := openStore(t, open, place)
		for i := range 10 {
			want = append(want, storeEvent("r", "c", 10*round+i))
			storeWrite(t, s, &orchestrator.Batch{Events: want[len(want)-1:]})
		}
		all := storeCollect(t, s.ReadRun(t.Context(), "r", 0))
		storeRising(t, all)
		storeSame(t, all, want)
		storeSame(t, storeTake(t, len(want), func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
			return s.FollowConversation(ctx, "c", 0)
		}), want)
		head, err := s.Head(t.Context())
		if err != nil || head <= last || head != all[len(all)-1].Seq {
			t.Fatalf("Head = %d, %v after %d", head, err, last)
		}
		last = head
		closeStore(t, s)
		if err := s.Write(t.Context(), &orchestrator.Batch{Events: want[:1]}); err == nil {
			if _, ok := s.(interface{ Close() error }); ok {
				t.Error("a closed store acknowledged a write")
			}
		}
	}
}

// storeBlobs: bodies of any size are read as they were written, live and from the store.
func storeBlobs(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []orchestrator.NewEvent
	for _, n := range []int{0, 1, orchestrator.BlobSize - 1, orchestrator.BlobSize, orchestrator.BlobSize + 1, 8 << 20} {
		body := make([]byte, n)
		for i := range body {
			body[i] = byte('a' + rnd.IntN(26))
		}
		if n > 2 {
			body[0], body[n-1] = '"', '"'
		}
		want = append(want, orchestrator.NewEvent{RunID: "r", Kind: orchestrator.EventFault, At: storeTime(n), JSON: body})
	}
	want = append(want, want[len(want)-1]) // the same again
	live := make(chan []*orchestrator.Event)
	go func() {
		live <- storeTake(t, len(want), func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
			return s.FollowRun(ctx, "r", 0)
		})
	}()
	for i := range want {
		storeWrite(t, s, &orchestrator.Batch{Events: want[i : i+1]})
	}
	storeSame(t, <-live, want)
	storeSame(t, storeCollect(t, s.ReadRun(t.Context(), "r", 0)), want)
}

// storeFailure: a batch that fails leaves nothing behind, its neighbours are stored, and what follows it for the same
// run fails until a Write succeeds.
func storeFailure(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	receipt := func() *orchestrator.Receipt {
		return &orchestrator.Receipt{Scope: "agent", Principal: "p", MessageID: "m", RunID: "first", At: storeTime(0)}
	}
	storeWrite(t, s, &orchestrator.Batch{Receipt: receipt(), Events: []orchestrator.NewEvent{storeEvent("first", "c", 0)}})

	errs := make(chan error, 16)
	enqueue := func(b *orchestrator.Batch) {
		s.Enqueue(b, func(entries []*a2a.Entry, err error) {
			if err != nil && len(entries) > 0 {
				t.Error("entries of what was not stored")
			}
			errs <- err
		})
	}
	enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("good", "c", 1)}})
	enqueue(&orchestrator.Batch{
		Receipt: receipt(),
		Events:  []orchestrator.NewEvent{storeEvent("bad", "c", 2)},
		Runs:    []*orchestrator.Run{{ID: "bad", Scope: "agent", Principal: "p", State: a2a.TaskStateWorking}},
		Items:   []*orchestrator.Item{{ConversationID: "c", Kind: orchestrator.ItemUser, Text: "bad"}},
	})
	enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("good", "c", 3)}})
	enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("bad", "c", 4)}})
	enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("other", "c", 5), storeEvent("bad", "c", 5)}})
	for i, want := range []bool{true, false, true, false, false} {
		if err := <-errs; (err == nil) != want {
			t.Errorf("batch %d: error %v, want success: %v", i, err, want)
		} else if i == 1 && !errors.Is(err, orchestrator.ErrDuplicate) {
			t.Errorf("batch %d: error %v, want ErrDuplicate", i, err)
		}
	}
	storeSame(t, storeCollect(t, s.ReadConversation(t.Context(), "c", 0)),
		[]orchestrator.NewEvent{storeEvent("first", "c", 0), storeEvent("good", "c", 1), storeEvent("good", "c", 3)})
	_, err := s.Run(t.Context(), "bad")
	storeNotFound(t, "the run of the failed batch", err)

	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("bad", "c", 6)}})
	enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("bad", "c", 7)}})
	if err := <-errs; err != nil {
		t.Errorf("after a Write that succeeded: %v", err)
	}
	// A duplicate that its caller waited for has nothing in flight behind it, and does not stop a run.
	err = s.Write(t.Context(), &orchestrator.Batch{Receipt: receipt(), Events: []orchestrator.NewEvent{storeEvent("good", "c", 8)}})
	if !errors.Is(err, orchestrator.ErrDuplicate) {
		t.Errorf("error %v, want ErrDuplicate", err)
	}
	enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("good", "c", 9)}})
	if err := <-errs; err != nil {
		t.Errorf("after a duplicate Write: %v", err)
	}
}

func storeReceipts(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const rounds, racers = 20, 16
	for round := range rounds {
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				err := s.Write(t.Context(), &orchestrator.Batch{
					Receipt: &orchestrator.Receipt{
						Scope: "agent", Principal: "p", MessageID: fmt.Sprint("m", round), RunID: fmt.Sprintf("r%d-%d", round, i),
						Digest: [32]byte{byte(i)}, After: int64(i), At: storeTime(i),
					},
					Events: []orchestrator.NewEvent{storeEvent(fmt.Sprintf("r%d-%d", round, i), fmt.Sprint("c", round), 1)},
				})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, orchestrator.ErrDuplicate):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("%d writers of the same message won", n)
		}
		r, err := s.Received(t.Context(), "agent", "p", fmt.Sprint("m", round))
		if err != nil {
			t.Fatal(err)
		}
		events := storeCollect(t, s.ReadConversation(t.Context(), fmt.Sprint("c", round), 0))
		if len(events) != 1 || events[0].RunID != r.RunID {
			t.Fatalf("receipt %+v, events %v", r, events)
		}
		i := int(r.After)
		if r.Digest != [32]byte{byte(i)} || !r.At.Equal(storeTime(i)) || r.Scope != "agent" || r.Principal != "p" ||
			r.MessageID != fmt.Sprint("m", round) {
			t.Errorf("receipt %+v", r)
		}
	}
	// The same id of another caller, or at another door, is another message.
	for _, r := range []orchestrator.Receipt{
		{Scope: "agent", Principal: "q", MessageID: "m0"}, {Scope: "agents/x", Principal: "p", MessageID: "m0"},
	} {
		_, err := s.Received(t.Context(), r.Scope, r.Principal, r.MessageID)
		storeNotFound(t, "a message of another", err)
		storeWrite(t, s, &orchestrator.Batch{Receipt: &r})
	}
}

func storeChanges(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	rows := func() {
		storeWrite(t, s, &orchestrator.Batch{
			Conversations: []*orchestrator.Conversation{{ID: "c"}},
			Agents:        []*orchestrator.Agent{{ID: "a"}},
			Runs:          []*orchestrator.Run{{ID: "r", ConversationID: "c"}},
			Asks:          []*orchestrator.Ask{{ID: "k", RunID: "r", ConversationID: "c"}},
			Tokens:        []*orchestrator.Token{{ID: "t"}},
			Settings:      map[string]string{"s": "1"},
		})
	}
	storeHinted(t, s, rows, []orchestrator.Change{
		{ConversationID: "c"},
		{AgentID: "a"},
		{RunID: "r", ConversationID: "c"},
		{AskID: "k", RunID: "r", ConversationID: "c"},
		{TokenID: "t"},
		{Setting: "s"},
	})
	storeHinted(t, s, func() {
		rows()
		if err := s.Erase(t.Context(), "c"); err != nil {
			t.Error(err)
		}
	}, []orchestrator.Change{{ConversationID: "c"}, {RunID: "r"}})
}

// storeHinted repeats change until Changes has hinted at all that is wanted: hints begin with the first step of the
// iterator, and may be lost.
func storeHinted(t *testing.T, s orchestrator.Store, change func(), wanted []orchestrator.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	enough := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(enough)
	wg.Go(func() {
		for {
			select {
			case <-enough:
				return
			default:
				change()
			}
		}
	})
	missing := map[orchestrator.Change]bool{}
	for _, c := range wanted {
		missing[c] = true
	}
	for c := range s.Changes(ctx) {
		if delete(missing, c); len(missing) == 0 {
			return
		}
	}
	t.Errorf("no hint of %v", missing)
}
