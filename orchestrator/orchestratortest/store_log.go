package orchestratortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
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

func storeRead(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const n = 3000
	var want []orchestrator.NewEvent
	b := &orchestrator.Batch{}
	for i := range n {
		want = append(want, storeEvent("r", "c", i))
		b.Events = append(b.Events, want[i], storeEvent("noise", "", i))
	}
	storeWrite(t, s, b)
	all := storeCollect(t, s.ReadRun(t.Context(), "r", 0))
	storeSame(t, all, want)
	for _, i := range []int{0, 1, 511, 512, 513, n - 2, n - 1} {
		storeSame(t, storeCollect(t, s.ReadRun(t.Context(), "r", all[i].Seq)), want[i+1:])
		storeSame(t, storeCollect(t, s.ReadConversation(t.Context(), "c", all[i].Seq)), want[i+1:])
	}
	for range s.ReadRun(t.Context(), "r", 0) {
		break // may be left at any time
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	for _, err = range s.ReadRun(ctx, "r", 0) {
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled read ended with %v", err)
	}
}

func storeFollow(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const n = 500
	var want []orchestrator.NewEvent
	for i := range n {
		want = append(want, storeEvent("r", "c", i))
	}
	for i := range n / 2 {
		storeWrite(t, s, &orchestrator.Batch{Events: want[i : i+1]})
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got := storeTake(t, n, func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
				if i%2 == 0 {
					return s.FollowRun(ctx, "r", 0)
				}
				return s.FollowConversation(ctx, "c", 0)
			})
			storeSame(t, got, want)
		})
	}
	for i := n / 2; i < n; i++ {
		storeWrite(t, s, &orchestrator.Batch{Events: append([]orchestrator.NewEvent{storeEvent("noise", "d", i)}, want[i])})
	}
	wg.Wait()
}

// storeFollowFromAnywhere: followers that begin while others write, at any place, miss nothing and see nothing twice.
func storeFollowFromAnywhere(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const n = 4000
	var want []orchestrator.NewEvent
	for i := range n {
		want = append(want, storeEvent("r", "c", i))
	}
	var wg sync.WaitGroup
	var begun atomic.Int64
	wg.Go(func() {
		for i := 0; i < n; i += 8 {
			s.Enqueue(&orchestrator.Batch{Events: want[i : i+8]}, func(_ []*a2a.Entry, err error) {
				if err != nil {
					t.Error(err)
				}
			})
			for i > 8*100 && begun.Load() < int64(i)/8/100 {
				runtime.Gosched()
			}
		}
	})
	rnd := rand.New(rand.NewPCG(3, 4))
	for range n / 8 / 100 * 4 {
		after := rnd.Int64N(n)
		wg.Go(func() {
			begun.Add(1)
			got := storeTake(t, n-int(after), func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
				return s.FollowRun(ctx, "r", after)
			})
			storeSame(t, got, want[after:])
		})
	}
	wg.Wait()
}

// storeFollowShares: followers near the end of the log get the same entry, with the event that came with it.
func storeFollowShares(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	event := &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("hello")}}
	first := make(chan *orchestrator.Event, 2)
	var wg sync.WaitGroup
	ready := make(chan struct{}, 2)
	for range 2 {
		wg.Go(func() {
			got := storeTake(t, 2, func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
				return func(yield func([]*orchestrator.Event, error) bool) {
					for page, err := range s.FollowRun(ctx, "r", 0) {
						if len(page) > 0 && page[len(page)-1].Kind == orchestrator.EventStatus {
							ready <- struct{}{}
						}
						if !yield(page, err) {
							return
						}
					}
				}
			})
			first <- got[1]
		})
	}
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("r", "", 1)}})
	<-ready
	<-ready
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{
		{RunID: "r", Kind: orchestrator.EventMessage, At: storeTime(1), JSON: a2a.MarshalEvent(event), Event: event},
	}})
	wg.Wait()
	a, b := <-first, <-first
	if a.Entry != b.Entry {
		t.Error("two followers got two entries of one event")
	}
	if got, err := a.Event(); err != nil || got != a2a.Event(event) {
		t.Errorf("Event = %v, %v; want the one that was written", got, err)
	}
}

// storeSlowFollower: one that does not read delays neither the writers nor the others, holds little, and goes on where
// it was.
func storeSlowFollower(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const n, size = 2500, 16 << 10
	body := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), size-2)...), '"')
	event := func(i int) orchestrator.NewEvent {
		return orchestrator.NewEvent{RunID: "r", Kind: orchestrator.EventFault, At: storeTime(i), JSON: body}
	}
	stalled, goOn, seen := make(chan struct{}), make(chan struct{}), make(chan int)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var count int
		var last int64
		for page, err := range s.FollowRun(ctx, "r", 0) {
			if err != nil {
				t.Error(err)
				break
			}
			if count == 0 {
				close(stalled)
				<-goOn
			}
			for _, e := range page {
				if e.Seq <= last {
					t.Errorf("Seq %d after %d", e.Seq, last)
				}
				last = e.Seq
			}
			if count += len(page); count == n {
				break
			}
		}
		seen <- count
	}()
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{event(0)}})
	<-stalled
	heap := storeHeap()
	healthy := make(chan struct{})
	go func() {
		defer close(healthy)
		storeTake(t, n, func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] { return s.FollowRun(ctx, "r", 0) })
	}()
	for i := 1; i < n; i += 8 {
		b := &orchestrator.Batch{}
		for j := i; j < min(i+8, n); j++ {
			b.Events = append(b.Events, event(j))
		}
		storeWrite(t, s, b)
	}
	<-healthy
	if grown := storeHeap() - heap; grown > 16<<20 {
		t.Errorf("%d KiB are held for a reader that stands still and %d KiB behind it", grown>>10, n*size>>10)
	}
	close(goOn)
	if count := <-seen; count != n {
		t.Errorf("the slow follower saw %d events, want %d", count, n)
	}
}

func storeHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// storeFollowEnds: a follower ends with its context, without an error, also where nothing happens.
func storeFollowEnds(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("r", "c", 1)}})
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		follow := func(seq iter.Seq2[[]*orchestrator.Event, error]) {
			for _, err := range seq {
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}
		go follow(s.FollowRun(ctx, "r", 0))
		go follow(s.FollowConversation(ctx, "c", 1<<40))
		go func() {
			for range s.Changes(ctx) {
			}
			ended <- nil
		}()
		runtime.Gosched()
		cancel()
		for range 3 {
			if err := <-ended; err != nil {
				t.Errorf("ended with %v", err)
			}
		}
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := map[orchestrator.Change]bool{
		{ConversationID: "c"}:                         true,
		{AgentID: "a"}:                                true,
		{RunID: "r", ConversationID: "c"}:             true,
		{AskID: "k", RunID: "r", ConversationID: "c"}: true,
	}
	write := func() {
		storeWrite(t, s, &orchestrator.Batch{
			Conversations: []*orchestrator.Conversation{{ID: "c"}},
			Agents:        []*orchestrator.Agent{{ID: "a"}},
			Runs:          []*orchestrator.Run{{ID: "r", ConversationID: "c"}},
			Asks:          []*orchestrator.Ask{{ID: "k", RunID: "r", ConversationID: "c"}},
		})
	}
	// Hints begin with the first step of the iterator, so write until one came.
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
				write()
			}
		}
	})
	for c := range s.Changes(ctx) {
		if delete(want, c); len(want) == 0 {
			return
		}
	}
	t.Errorf("no hint of %v", want)
}
