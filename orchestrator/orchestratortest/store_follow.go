package orchestratortest

import (
	"bytes"
	"context"
	"errors"
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
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
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
	// Tests beside this one hold memory for a while, too; a reader that stands still would hold it until it goes on.
	grown := storeHeap() - heap
	for deadline := time.Now().Add(20 * time.Second); grown > 16<<20 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		grown = storeHeap() - heap
	}
	if grown > 16<<20 {
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
