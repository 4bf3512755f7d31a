package orchestratortest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

// TestShared checks what a Store promises beside where several processes write it at the same time: it opens one place
// twice. The stores must be orchestrator.Shared.
func TestShared(t *testing.T, open OpenStore) {
	tests := []struct {
		name string
		test func(t *testing.T, a, b orchestrator.Store)
	}{
		{"Order", sharedOrder},
		{"Follow", sharedFollow},
		{"Receipts", sharedReceipts},
		{"Items", sharedItems},
		{"Changes", sharedChanges},
		{"Claims", sharedClaims},
		{"Fence", sharedFence},
		{"Erase", sharedErase},
		{"OpenCount", sharedOpenCount},
		{"Tokens", sharedTokens},
		{"Lead", sharedLead},
		{"Conversation", sharedConversation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			place := t.TempDir()
			tt.test(t, openStore(t, open, place), openStore(t, open, place))
		})
	}
}

// sharedOrder: both write as fast as they can, and whoever reads or follows in either sees every event, once, in the
// order of the numbers: no number appears below one that was seen.
func sharedOrder(t *testing.T, a, b orchestrator.Store) {
	const writers, each = 8, 100
	var wg sync.WaitGroup
	stores := []orchestrator.Store{a, b}
	for w := range writers {
		wg.Go(func() {
			s := stores[w%2]
			done := make(chan error, each)
			for i := range each {
				e := storeEvent(fmt.Sprint("r", w), "c", i)
				if w < 4 {
					s.Enqueue(&orchestrator.Batch{Events: []orchestrator.NewEvent{e}}, func(_ []*a2a.Entry, err error) { done <- err })
					continue
				}
				done <- s.Write(t.Context(), &orchestrator.Batch{Events: []orchestrator.NewEvent{e}})
			}
			for range each {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	}
	check := func(who string, all []*orchestrator.Event) {
		storeRising(t, all)
		if len(all) != writers*each {
			t.Errorf("%s saw %d events, want %d", who, len(all), writers*each)
			return
		}
		next := map[string]int{}
		for _, e := range all {
			want := storeEvent(e.RunID, "c", next[e.RunID])
			if next[e.RunID]++; string(e.JSON) != string(want.JSON) {
				t.Errorf("%s saw %s out of turn", who, e.JSON)
				return
			}
		}
		if last := all[len(all)-1].Seq; last != all[0].Seq+writers*each-1 {
			t.Errorf("%s: %d numbers are missing", who, last-all[0].Seq+1-writers*each)
		}
	}
	for i, s := range stores {
		wg.Go(func() {
			check(fmt.Sprint("follower ", i), storeTake(t, writers*each, func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
				return s.FollowConversation(ctx, "c", 0)
			}))
		})
		wg.Go(func() { // reads as one who polls does
			var all []*orchestrator.Event
			after := int64(0)
			for end := time.Now().Add(time.Minute); len(all) < writers*each && time.Now().Before(end); {
				all = append(all, storeCollect(t, s.ReadConversation(t.Context(), "c", after))...)
				if n := len(all); n > 0 {
					after = all[n-1].Seq
				}
			}
			check(fmt.Sprint("reader ", i), all)
		})
	}
	wg.Wait()
	heads := [2]int64{}
	for i, s := range stores {
		var err error
		if heads[i], err = s.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if heads[0] != heads[1] {
		t.Errorf("heads %v", heads)
	}
}

// sharedFollow: what one writes the other's followers see, whether they began before or after, large bodies too, between
// what was written on their own side.
func sharedFollow(t *testing.T, a, b orchestrator.Store) {
	big := orchestrator.NewEvent{RunID: "r", ConversationID: "c", Kind: orchestrator.EventFault, At: storeTime(2), JSON: make([]byte, orchestrator.BlobSize+1)}
	for i := range big.JSON {
		big.JSON[i] = '1'
	}
	var want []orchestrator.NewEvent
	for i := range 40 {
		if want = append(want, storeEvent("r", "c", i)); i%10 == 5 {
			want = append(want, big)
		}
	}
	var wg sync.WaitGroup
	follow := func(s orchestrator.Store) {
		wg.Go(func() {
			storeSame(t, storeTake(t, len(want), func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
				return s.FollowRun(ctx, "r", 0)
			}), want)
		})
		wg.Go(func() {
			storeSame(t, storeTake(t, len(want), func(ctx context.Context) iter.Seq2[[]*orchestrator.Event, error] {
				return s.FollowConversation(ctx, "c", 0)
			}), want)
		})
	}
	for i := range want {
		s := a
		if i%3 == 0 {
			s = b
		}
		storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("noise", "", i), want[i]}})
		if i%8 == 0 {
			follow(a)
			follow(b)
		}
	}
	wg.Wait()
}

// sharedReceipts: of those who received the same message in both, one wins.
func sharedReceipts(t *testing.T, a, b orchestrator.Store) {
	for round := range 20 {
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			s := []orchestrator.Store{a, b}[i%2]
			wg.Go(func() {
				err := s.Write(t.Context(), &orchestrator.Batch{
					Receipt: &orchestrator.Receipt{Scope: "agent", Principal: "p", MessageID: fmt.Sprint(round), RunID: fmt.Sprint("r", i)},
					Events:  []orchestrator.NewEvent{storeEvent(fmt.Sprint("r", i), fmt.Sprint("c", round), i)},
				})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, orchestrator.ErrDuplicate) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		events := storeCollect(t, a.ReadConversation(t.Context(), fmt.Sprint("c", round), 0))
		r, err := b.Received(t.Context(), "agent", "p", fmt.Sprint(round))
		if err != nil || won.Load() != 1 || len(events) != 1 || events[0].RunID != r.RunID {
			t.Fatalf("round %d: %d won, %d events, receipt %+v, %v", round, won.Load(), len(events), r, err)
		}
	}
}

// sharedItems: items of both have IDs of their own, in the order in which they were written.
func sharedItems(t *testing.T, a, b orchestrator.Store) {
	var want []*orchestrator.Item
	for i := range 20 {
		s := []orchestrator.Store{a, b}[i%2]
		it := storeItem("c", i)
		storeWrite(t, s, &orchestrator.Batch{Items: []*orchestrator.Item{it}})
		want = append(want, it)
	}
	for _, s := range []orchestrator.Store{a, b} {
		got, err := s.Items(t.Context(), "c", 0, 100)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("items: %v (-want +got):\n%s", err, d)
		}
		if hits := storeHits(t, s, orchestrator.SearchQuery{Text: "number7"}); len(hits) != 1 {
			t.Errorf("%d hits", len(hits))
		}
	}
}

// sharedChanges: what one changes the other hints at.
func sharedChanges(t *testing.T, a, b orchestrator.Store) {
	rows := func() {
		storeWrite(t, a, &orchestrator.Batch{
			Conversations: []*orchestrator.Conversation{{ID: "c"}},
			Agents:        []*orchestrator.Agent{{ID: "a"}},
			Runs:          []*orchestrator.Run{{ID: "r", ConversationID: "c"}},
			Asks:          []*orchestrator.Ask{{ID: "k", RunID: "r", ConversationID: "c"}},
			Workflows:     []*orchestrator.Workflow{{ID: "w"}},
			Tokens:        []*orchestrator.Token{{ID: "t"}},
			Settings:      map[string]string{"s": "1"},
		})
	}
	storeHinted(t, b, rows, []orchestrator.Change{
		{ConversationID: "c"},
		{AgentID: "a"},
		{RunID: "r", ConversationID: "c"},
		{AskID: "k", RunID: "r", ConversationID: "c"},
		{WorkflowID: "w"},
		{TokenID: "t"},
		{Setting: "s"},
	})
	storeHinted(t, b, func() {
		rows()
		if err := a.Erase(t.Context(), "c"); err != nil {
			t.Error(err)
		}
	}, []orchestrator.Change{{ConversationID: "c"}, {RunID: "r"}})
	// More than any single message holds: many long ids in one batch.
	many := &orchestrator.Batch{}
	var wanted []orchestrator.Change
	for i := range 300 {
		id := fmt.Sprintf("%0100d", i)
		many.Agents = append(many.Agents, &orchestrator.Agent{ID: id})
		wanted = append(wanted, orchestrator.Change{AgentID: id})
	}
	storeHinted(t, b, func() { storeWrite(t, a, many) }, wanted)
}

// sharedClaims: a batch that goes by an old claim is refused, wherever it is written.
func sharedClaims(t *testing.T, a, b orchestrator.Store) {
	claim := func(s orchestrator.Store) int64 {
		t.Helper()
		n, err := s.(orchestrator.Shared).Claim(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	claimed := func(want int64) {
		t.Helper()
		for _, s := range []orchestrator.Store{a, b} {
			if n, err := s.(orchestrator.Shared).Claimed(t.Context(), "r"); n != want || err != nil {
				t.Errorf("Claimed = %d, %v; want %d", n, err, want)
			}
		}
	}
	event := 0
	by := func(claim int64) *orchestrator.Batch {
		event++
		return &orchestrator.Batch{
			Claims: map[string]int64{"r": claim},
			Events: []orchestrator.NewEvent{storeEvent("r", "c", event)},
			Items:  []*orchestrator.Item{storeItem("c", event)},
		}
	}
	queue := func(s orchestrator.Store, x *orchestrator.Batch) error {
		done := make(chan error, 1)
		s.Enqueue(x, func(_ []*a2a.Entry, err error) { done <- err })
		return <-done
	}
	moved := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, orchestrator.ErrMoved) {
			t.Errorf("%s: %v, want ErrMoved", what, err)
		}
	}
	storeWrite(t, a, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: "c"}},
		Runs:          []*orchestrator.Run{{ID: "r", Scope: "agent", ConversationID: "c", State: a2a.TaskStateWorking}},
	})
	claimed(0)
	moved("a claim that nobody made", a.Write(t.Context(), by(1)))
	first := claim(a)
	claimed(first)
	storeWrite(t, a, by(first))
	if err := queue(a, by(first)); err != nil {
		t.Error(err)
	}
	storeWrite(t, b, by(first)) // it is the claim that counts, not who brings it
	second := claim(b)
	if second <= first {
		t.Errorf("claim %d after %d", second, first)
	}
	claimed(second)
	moved("a Write by the old claim", a.Write(t.Context(), by(first)))
	moved("an Enqueue by the old claim", queue(a, by(first)))
	storeWrite(t, b, by(second))
	// Who claims again goes on, also by Enqueue, whatever failed before.
	third := claim(a)
	if err := queue(a, by(third)); err != nil {
		t.Errorf("after the claim: %v", err)
	}
	moved("the one before", b.Write(t.Context(), by(second)))
	// Two claims in a row in one process: what is queued between them goes by the first.
	var errs [3]error
	var wg sync.WaitGroup
	wg.Add(2)
	a.Enqueue(by(third), func(_ []*a2a.Entry, err error) { errs[0] = err; wg.Done() })
	fourth := claim(a)
	a.Enqueue(by(third), func(_ []*a2a.Entry, err error) { errs[1] = err; wg.Done() })
	wg.Wait()
	if errs[0] != nil {
		t.Errorf("what was queued before the claim: %v", errs[0])
	}
	moved("what was queued behind it", errs[1])
	claim(a)
	for range 50 { // the same, as fast as it goes
		n := claim(a)
		before, behind := make(chan error, 1), make(chan error, 1)
		a.Enqueue(by(n), func(_ []*a2a.Entry, err error) { before <- err })
		next := make(chan int64, 1)
		go func() { next <- claim(a) }()
		newest := <-next
		a.Enqueue(by(n), func(_ []*a2a.Entry, err error) { behind <- err })
		if err := <-before; err != nil {
			t.Error(err)
		}
		moved("behind the claim", <-behind)
		claimed(newest)
	}
	if err := b.Erase(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	claimed(0)
	moved("of a run that was erased", a.Write(t.Context(), by(fourth)))
	if n := claim(b); n <= fourth {
		t.Errorf("claim %d after an erase, %d before", n, fourth)
	}
	if events := storeCollect(t, a.ReadRun(t.Context(), "r", 0)); len(events) != 0 {
		t.Errorf("%d events of the erased run", len(events))
	}
}

// sharedFence: many claim one run and write under their claim until they lose it. In the log no event of an older claim
// stands behind one of a newer, and what a claim's holder reads first has all that was written before.
func sharedFence(t *testing.T, a, b orchestrator.Store) {
	storeWrite(t, a, &orchestrator.Batch{Runs: []*orchestrator.Run{{ID: "r", Scope: "agent", State: a2a.TaskStateWorking}}})
	var wg sync.WaitGroup
	var total atomic.Int64
	for w := range 6 {
		s := []orchestrator.Store{a, b}[w%2]
		wg.Go(func() {
			for range 8 {
				n, err := s.(orchestrator.Shared).Claim(t.Context(), "r")
				if err != nil {
					t.Error(err)
					return
				}
				known := len(storeCollect(t, s.ReadRun(t.Context(), "r", 0)))
				for i := range 20 {
					err := s.Write(t.Context(), &orchestrator.Batch{
						Claims: map[string]int64{"r": n},
						Events: []orchestrator.NewEvent{{
							RunID: "r", Kind: orchestrator.EventFault, At: storeTime(0), JSON: fmt.Appendf(nil, "[%d,%d]", n, known+i),
						}},
					})
					if errors.Is(err, orchestrator.ErrMoved) {
						break
					}
					if err != nil {
						t.Error(err)
						return
					}
					total.Add(1)
				}
			}
		})
	}
	wg.Wait()
	all := storeCollect(t, b.ReadRun(t.Context(), "r", 0))
	if int64(len(all)) != total.Load() || len(all) == 0 {
		t.Errorf("%d events, %d were acknowledged", len(all), total.Load())
	}
	var newest int64
	for i, e := range all {
		var claim int64
		var place int
		if _, err := fmt.Sscanf(string(e.JSON), "[%d,%d]", &claim, &place); err != nil {
			t.Fatal(err)
		}
		if claim < newest {
			t.Errorf("event %d is of claim %d, there was one of %d before", i, claim, newest)
		}
		if newest = claim; place != i {
			t.Errorf("event %d was taken for the %dth by its writer", i, place)
		}
	}
}

// sharedErase: what one erases the other does not know any more, also not from memory.
func sharedErase(t *testing.T, a, b orchestrator.Store) {
	of := func(x string) *orchestrator.Batch {
		return &orchestrator.Batch{
			Conversations: []*orchestrator.Conversation{{ID: x}},
			Runs:          []*orchestrator.Run{{ID: "r" + x, Scope: "agent", ConversationID: x, State: a2a.TaskStateCompleted}},
			Events:        []orchestrator.NewEvent{storeEvent("r"+x, x, 1), storeEvent("r"+x, x, 2)},
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan int, 8)
	go func() { // keeps the events of the conversation in memory
		n := 0
		for page := range b.FollowConversation(ctx, "gone", 0) {
			n += len(page)
			seen <- n
		}
	}()
	storeWrite(t, a, of("gone"))
	storeWrite(t, b, of("stays"))
	for n := 0; n < 2; n = <-seen {
	}
	if err := a.Erase(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	storeEventually(t, "the follower's store forgets", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		for page := range b.FollowConversation(ctx, "gone", 0) {
			if len(page) > 0 {
				return false
			}
		}
		return true
	})
	if _, err := b.Run(t.Context(), "rgone"); !errors.Is(err, orchestrator.ErrNotFound) {
		t.Errorf("the run: %v", err)
	}
	if events := storeCollect(t, a.ReadRun(t.Context(), "rstays", 0)); len(events) != 2 {
		t.Errorf("%d events of another conversation", len(events))
	}
	storeWrite(t, b, of("later"))
	head, err := a.Head(t.Context())
	if events := storeCollect(t, a.ReadRun(t.Context(), "rlater", 0)); err != nil || len(events) != 2 || events[1].Seq != head || head != 6 {
		t.Errorf("events %v behind the erase, head %d, %v", events, head, err)
	}
}

// sharedTokens: a token that one revoked stays revoked, whatever the other, who did not know, stores of its use.
func sharedTokens(t *testing.T, a, b orchestrator.Store) {
	known := orchestrator.Token{ID: "t", Hash: [32]byte{1}, Created: storeTime(1)}
	storeWrite(t, a, &orchestrator.Batch{Tokens: []*orchestrator.Token{&known}})
	revoked, used := known, known
	revoked.Revoked, used.Used = storeTime(2), storeTime(3)
	storeWrite(t, a, &orchestrator.Batch{Tokens: []*orchestrator.Token{&revoked}})
	storeWrite(t, b, &orchestrator.Batch{Tokens: []*orchestrator.Token{&used}})
	storeWrite(t, a, &orchestrator.Batch{Tokens: []*orchestrator.Token{&revoked}})
	revoked.Used = used.Used
	got, err := b.Token(t.Context(), known.Hash)
	if d := cmp.Diff(&revoked, got); d != "" || err != nil {
		t.Errorf("token: %v (-want +got):\n%s", err, d)
	}
}

// sharedLead: one of two leads at a time; the other follows when it is gone.
func sharedLead(t *testing.T, a, b orchestrator.Store) {
	if _, ok := a.(orchestrator.Leader); !ok {
		t.Skip("this store does not say who leads")
	}
	var leading, most atomic.Int64
	began := make(chan string, 8)
	ctx := t.Context()
	inA, leaveA := context.WithCancel(ctx)
	inB, leaveB := context.WithCancel(ctx)
	var wg sync.WaitGroup
	lead := func(ctx context.Context, s orchestrator.Store, who, what string) {
		wg.Go(func() {
			s.(orchestrator.Leader).Lead(ctx, what, func(ctx context.Context) {
				if what == "it" {
					most.Store(max(most.Load(), leading.Add(1)))
					defer leading.Add(-1)
				}
				began <- who
				<-ctx.Done()
			})
		})
	}
	lead(inA, a, "a", "it")
	if who := <-began; who != "a" {
		t.Errorf("%s leads", who)
	}
	lead(inB, b, "b", "it")
	lead(inB, b, "other", "something else")
	if who := <-began; who != "other" {
		t.Errorf("%s leads while a does", who)
	}
	leaveA()
	if who := <-began; who != "b" {
		t.Errorf("%s leads after a", who)
	}
	leaveB()
	wg.Wait()
	if most.Load() != 1 || leading.Load() != 0 {
		t.Errorf("%d led at once, %d at the end", most.Load(), leading.Load())
	}
}

func sharedOpenCount(t *testing.T, a, b orchestrator.Store) {
	batch := &orchestrator.Batch{}
	add := func(id, scope, principal string, state a2a.TaskState) {
		batch.Runs = append(batch.Runs, &orchestrator.Run{ID: id, Scope: scope, Principal: principal, State: state})
	}
	add("1", "agent", "p", a2a.TaskStateWorking)
	add("2", "agents/x", "p", a2a.TaskStateSubmitted)
	add("3", "agent", "p", a2a.TaskStateInputRequired)
	add("4", "agent", "p", a2a.TaskStateAuthRequired)
	add("5", "agents/y", "p", a2a.TaskStateAuthRequired)
	add("6", "agent", "p", a2a.TaskStateCompleted)
	add("7", "agent", "p", a2a.TaskStateUnspecified)
	add("8", "demo/z", "p", a2a.TaskStateWorking)
	add("9", "agent", "q", a2a.TaskStateWorking)
	storeWrite(t, a, batch)
	for principal, want := range map[string][2]int{"p": {2, 3}, "q": {1, 0}, "nobody": {}} {
		running, interrupted, err := b.(orchestrator.Shared).OpenCount(t.Context(), principal)
		if running != want[0] || interrupted != want[1] || err != nil {
			t.Errorf("OpenCount(%q) = %d, %d, %v; want %v", principal, running, interrupted, err, want)
		}
	}
}

// sharedConversation: two processes carry on two runs of one conversation, each with the row as it last knew it. The row
// says how both stand.
func sharedConversation(t *testing.T, a, b orchestrator.Store) {
	row := func(n int, text string, state orchestrator.ConversationState) *orchestrator.Conversation {
		return &orchestrator.Conversation{ID: "c", Title: "Trip", To: "auto", Updated: storeTime(n), LastText: text, State: state}
	}
	run := func(id string, state a2a.TaskState) []*orchestrator.Run {
		return []*orchestrator.Run{{ID: id, Scope: "agent", ConversationID: "c", State: state}}
	}
	check := func(what string, want *orchestrator.Conversation) {
		t.Helper()
		got, err := b.Conversation(t.Context(), "c")
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, d)
		}
	}
	const working, asking, failed = orchestrator.ConversationWorking, orchestrator.ConversationAsking, orchestrator.ConversationFailed
	storeWrite(t, a, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row(1, "first", working)}, Runs: run("1", a2a.TaskStateWorking)})
	ask := &orchestrator.Ask{ID: "k", RunID: "2", ConversationID: "c", State: orchestrator.AskOpen}
	storeWrite(t, b, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{row(5, "asked", asking)}, Runs: run("2", a2a.TaskStateInputRequired), Asks: []*orchestrator.Ask{ask},
	})
	storeWrite(t, a, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row(3, "done", "")}, Runs: run("1", a2a.TaskStateCompleted)})
	check("one ended, one asks", row(5, "asked", asking))
	ask.State = orchestrator.AskAnswered
	storeWrite(t, b, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{row(6, "answered", working)}, Runs: run("2", a2a.TaskStateWorking), Asks: []*orchestrator.Ask{ask},
	})
	check("it was answered", row(6, "answered", working))
	storeWrite(t, a, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row(7, "again", asking)}, Runs: run("1", a2a.TaskStateCompleted)})
	check("the other goes on", row(7, "again", working))
	storeWrite(t, b, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row(8, "failed", failed)}, Runs: run("2", a2a.TaskStateFailed)})
	check("it failed", row(8, "failed", failed))
	storeWrite(t, a, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row(9, "late", working)}, Runs: run("1", a2a.TaskStateCompleted)})
	check("nothing goes on, whatever is said of it", row(9, "late", ""))
	// A batch without runs says what it wants.
	storeWrite(t, a, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row(2, "as it is", failed)}})
	check("the row alone", row(2, "as it is", failed))
	if got := slices.Collect(func(yield func(string) bool) {
		all, _ := b.RunsOf(t.Context(), "c")
		for _, r := range all {
			yield(r.ID)
		}
	}); len(got) != 0 {
		t.Errorf("open runs %v", got)
	}
}
