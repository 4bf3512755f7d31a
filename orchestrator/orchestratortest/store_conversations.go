package orchestratortest

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

// What a person set of a conversation stays, whoever writes its row.
func storeChatMarks(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	row := &orchestrator.Conversation{ID: "c", Title: "Trip", To: orchestrator.Auto, Created: storeTime(1), Updated: storeTime(2)}
	other := &orchestrator.Conversation{ID: "d", Title: "Other", To: orchestrator.Auto, Created: storeTime(1), Updated: storeTime(3)}
	storeWrite(t, s, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{row, other}})
	name, pinned := "A week in Lisbon", true
	check := func(want *orchestrator.Conversation, called string) {
		t.Helper()
		got, err := s.Conversation(t.Context(), "c")
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("conversation: %v (-want +got):\n%s", err, d)
		}
		if got.Called() != called {
			t.Fatalf("it is called %q, want %q", got.Called(), called)
		}
	}
	storeWrite(t, s, &orchestrator.Batch{Marks: []orchestrator.ChatMark{{ConversationID: "c", Name: &name}}})
	storeWrite(t, s, &orchestrator.Batch{Marks: []orchestrator.ChatMark{{ConversationID: "c", Pinned: &pinned}, {ConversationID: "nothing", Pinned: &pinned}}})
	again := *row
	again.LastText, again.Updated = "ok", storeTime(4) // by somebody who had read it before
	storeWrite(t, s, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{&again}})
	want := again
	want.Name, want.Pinned = name, true
	check(&want, name)
	list, err := s.ListConversations(t.Context(), "", 10)
	if d := cmp.Diff([]*orchestrator.Conversation{&want, other}, list); d != "" || err != nil {
		t.Fatalf("list: %v (-want +got):\n%s", err, d)
	}
	name, pinned = "", false
	storeWrite(t, s, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{&again}, Marks: []orchestrator.ChatMark{{ConversationID: "c", Name: &name, Pinned: &pinned}}})
	check(&again, "Trip")
}

func storeConversations(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	_, err := s.Conversation(t.Context(), "c")
	storeNotFound(t, "Conversation", err)
	_, err = s.ListConversations(t.Context(), "c", 10)
	storeNotFound(t, "ListConversations after none", err)
	want := &orchestrator.Conversation{
		ID: "c", Title: "Trip", To: orchestrator.Auto, Created: storeTime(1), Updated: storeTime(2), Pinned: true, LastText: "ok",
		State: orchestrator.ConversationAsking,
	}
	storeWrite(t, s, &orchestrator.Batch{Conversations: []*orchestrator.Conversation{want}})
	got, err := s.Conversation(t.Context(), "c")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Fatalf("conversation: %v (-want +got):\n%s", err, d)
	}
	b := &orchestrator.Batch{}
	for i := range 30 {
		b.Conversations = append(b.Conversations, &orchestrator.Conversation{
			ID: fmt.Sprintf("c%02d", i), Updated: storeTime(i / 2), Pinned: i%10 == 0,
		})
	}
	storeWrite(t, s, b)
	all := append(b.Conversations, want)
	slices.SortFunc(all, func(x, y *orchestrator.Conversation) int {
		if x.Pinned != y.Pinned {
			if x.Pinned {
				return -1
			}
			return 1
		}
		if c := y.Updated.Compare(x.Updated); c != 0 {
			return c
		}
		return strings.Compare(y.ID, x.ID)
	})
	for _, n := range []int{1, 7, 31, 100} {
		var paged []*orchestrator.Conversation
		for after := ""; ; after = paged[len(paged)-1].ID {
			page, err := s.ListConversations(t.Context(), after, n)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
		}
		if d := cmp.Diff(all, paged); d != "" {
			t.Fatalf("pages of %d (-want +got):\n%s", n, d)
		}
	}
}

func storeItem(conversation string, n int) *orchestrator.Item {
	return &orchestrator.Item{
		ConversationID: conversation, RunID: fmt.Sprint("r", n%3), Kind: orchestrator.ItemAgent, AgentID: "a",
		Text: fmt.Sprintf("item number%d of %s", n, conversation), At: storeTime(n),
	}
}

func storeItems(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	const n = 600
	var want []*orchestrator.Item
	for i := range n {
		it := storeItem("c", i)
		if i%5 == 0 {
			it.RunID, it.Data = "", json.RawMessage(`{"files":[]}`)
		}
		want = append(want, it)
	}
	for i := 0; i < n; i += 100 {
		b := &orchestrator.Batch{Items: slices.Clone(want[i : i+100])}
		b.Items = append(b.Items, storeItem("d", i))
		storeWrite(t, s, b)
	}
	for i, it := range want {
		if it.ID == 0 || i > 0 && it.ID <= want[i-1].ID {
			t.Fatalf("item %d was given the ID %d", i, it.ID)
		}
	}
	check := func(what string, want, got []*orchestrator.Item, err error) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("%s: %v (-want +got):\n%s", what, err, d)
		}
	}
	got, err := s.Items(t.Context(), "c", 0, 50)
	check("the newest", want[n-50:], got, err)
	got, err = s.Items(t.Context(), "c", want[100].ID, 50)
	check("those before", want[50:100], got, err)
	got, err = s.Items(t.Context(), "c", want[10].ID, 50)
	check("the oldest", want[:10], got, err)
	got, err = s.Items(t.Context(), "none", 0, 50)
	check("none", nil, got, err)
	each := func() (all []*orchestrator.Item) {
		for it, err := range s.EachItem(t.Context(), "c") {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, it)
		}
		return all
	}
	check("each", want, each(), nil)

	replaced := storeItem("c", 1)
	replaced.ID, replaced.Text = want[1].ID, "replaced"
	storeWrite(t, s, &orchestrator.Batch{Items: []*orchestrator.Item{replaced}})
	want[1] = replaced
	check("each", want, each(), nil)
	if hits := storeHits(t, s, orchestrator.SearchQuery{Text: "replaced"}); len(hits) != 1 || hits[0].Item.ID != replaced.ID {
		t.Errorf("the replaced item: %v", hits)
	}
	if hits := storeHits(t, s, orchestrator.SearchQuery{Text: `"number1 of c"`}); len(hits) != 0 {
		t.Errorf("the text that was replaced is found")
	}
}

func storeArtifact(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	put := func(id, text string, more bool) orchestrator.NewEvent {
		e := &a2a.ArtifactUpdate{
			TaskID: "r", ContextID: "k", Append: more,
			Artifact: a2a.Artifact{ID: id, Name: "report.md", Parts: []a2a.Part{a2a.TextPart(text)}},
		}
		return orchestrator.NewEvent{RunID: "r", Kind: orchestrator.EventArtifact, At: storeTime(1), JSON: a2a.MarshalEvent(e)}
	}
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{
		put("a", "old", false), storeEvent("r", "", 1), put("b", "other", false), put("a", "one", false), put("a", " two", true),
		put("a", strings.Repeat("x", orchestrator.BlobSize), true),
	}})
	got, err := s.Artifact(t.Context(), "r", "a")
	if err != nil {
		t.Fatal(err)
	}
	if text := a2a.Text(got.Parts); text != "one two"+strings.Repeat("x", orchestrator.BlobSize) || got.Name != "report.md" {
		t.Errorf("artifact %q of %d bytes", got.Name, len(text))
	}
	_, err = s.Artifact(t.Context(), "r", "c")
	storeNotFound(t, "Artifact", err)
	_, err = s.Artifact(t.Context(), "q", "a")
	storeNotFound(t, "Artifact", err)
}

// storeHits searches.
func storeHits(t testing.TB, s orchestrator.Conversations, q orchestrator.SearchQuery) []orchestrator.Hit {
	t.Helper()
	hits, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search(%+v): %v", q, err)
	}
	return hits
}

// storeMarked is a hit's snippet with its marks as [].
func storeMarked(h orchestrator.Hit) string {
	var b strings.Builder
	for _, s := range h.Snippet {
		if s.Mark {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func storeSearch(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	texts := []string{
		"The quick brown fox",
		"A café in Zürich, naïve façade",
		"東京スカイツリーに行きます。",
		"来週は関東へ",
		"서울 여행 계획을 세우자",
		"iPhoneを東京で買う",
		"mixed 日本語 and English",
		"他是中国人",
		"C++ and error code 0x80070005",
		strings.Repeat("lorem ipsum ", 200) + "needle " + strings.Repeat("dolor sit ", 200),
	}
	b := &orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: "c", Title: "One"}, {ID: "d", Title: "Two"}}}
	for i, text := range texts {
		b.Items = append(b.Items, &orchestrator.Item{
			ConversationID: []string{"c", "d"}[i%2], RunID: "r", Kind: orchestrator.ItemAgent, AgentID: "a", Text: text, At: storeTime(i),
		})
	}
	storeWrite(t, s, b)
	for _, tt := range []struct {
		query string
		want  []int // texts, newest first
		mark  string
	}{
		{"fox", []int{0}, "The quick brown [fox]"},
		{"FOX quick", []int{0}, "The [quick] brown [fox]"},
		{"qui", []int{0}, "The [quick] brown fox"},
		{"qui ", nil, ""},
		{"qui fox", nil, ""},
		{`"brown fox"`, []int{0}, "The quick [brown fox]"},
		{`"fox brown"`, nil, ""},
		{`"brown fo"`, nil, ""},
		{`"quick brown" fo`, []int{0}, "The [quick brown] [fox]"},
		{"cafe zurich", []int{1}, "A [café] in [Zürich], naïve façade"},
		{"CAFÉ", []int{1}, "A [café] in Zürich, naïve façade"},
		{"naive facade", []int{1}, "A café in Zürich, [naïve] [façade]"},
		{"東京", []int{5, 2}, "iPhoneを[東京]で買う"},
		{"東", []int{5, 3, 2}, "iPhoneを[東]京で買う"},
		{"京", []int{5, 2}, "iPhoneを東[京]で買う"},
		{"東へ", []int{3}, "来週は関[東へ]"},
		{"京東", nil, ""},
		{"スカイツリー", []int{2}, "東京[スカイツリー]に行きます。"},
		{"スカイ", []int{2}, "東京[スカイ]ツリーに行きます。"},
		{"ツリー", []int{2}, "東京スカイ[ツリー]に行きます。"},
		{"スカイ ツリー", []int{2}, "東京[スカイツリー]に行きます。"},
		{"スリー", nil, ""},
		{"여행", []int{4}, "서울 [여행] 계획을 세우자"},
		{"계획", []int{4}, "서울 여행 [계획]을 세우자"},
		{"행", []int{4}, "서울 여[행] 계획을 세우자"},
		{"iphone", []int{5}, "[iPhone]を東京で買う"},
		{"iphoneを東京", []int{5}, "[iPhoneを東京]で買う"},
		{"日本語 english", []int{6}, "mixed [日本語] and [English]"},
		{"中国", []int{7}, "他是[中国]人"},
		{"人", []int{7}, "他是中国[人]"},
		{"c++", []int{8}, "[C]++ and error code 0x80070005"},
		{"0x8007", []int{8}, "C++ and error code [0x80070005]"},
		{"needle", []int{9}, ""},
		{"absent", nil, ""},
		{"", nil, ""},
		{`"`, nil, ""},
		{`"fox`, []int{0}, "The quick brown [fox]"},
		{"AND OR NOT", nil, ""},
		{"fox*", []int{0}, "The quick brown [fox]"},
		{"text:fox", nil, ""},
		{"fox)", []int{0}, "The quick brown [fox]"},
	} {
		for _, ranked := range []bool{false, true} {
			hits := storeHits(t, s, orchestrator.SearchQuery{Text: tt.query, Ranked: ranked})
			var got []int
			for _, h := range hits {
				i := slices.IndexFunc(b.Items, func(it *orchestrator.Item) bool { return it.ID == h.Item.ID })
				got = append(got, i)
				if want := map[int]string{0: "One", 1: "Two"}[i%2]; h.Title != want || h.Item.ConversationID != []string{"c", "d"}[i%2] {
					t.Errorf("%q: hit %d in %q, titled %q", tt.query, i, h.Item.ConversationID, h.Title)
				}
			}
			if ranked {
				slices.SortFunc(got, func(a, b int) int { return b - a })
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q finds %v, want %v (ranked %v)", tt.query, got, tt.want, ranked)
				continue
			}
			if len(hits) > 0 && !ranked && tt.mark != "" && storeMarked(hits[0]) != tt.mark {
				t.Errorf("%q: snippet %q, want %q", tt.query, storeMarked(hits[0]), tt.mark)
			}
		}
	}
	h := storeHits(t, s, orchestrator.SearchQuery{Text: "needle"})[0]
	if got := storeMarked(h); !strings.Contains(got, "lorem ipsum [needle] dolor sit") || len(got) > 400 ||
		!strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") {
		t.Errorf("the snippet of a long text is %q", got)
	}
	for conversation, want := range map[string]int{"c": 1, "d": 1, "e": 0, "": 2} {
		if hits := storeHits(t, s, orchestrator.SearchQuery{Text: "東京", ConversationID: conversation}); len(hits) != want {
			t.Errorf("%d hits in %q, want %d", len(hits), conversation, want)
		}
	}
}

func storeSearchPages(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	b := &orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: "c", Title: "One"}}}
	for i := range 250 {
		b.Items = append(b.Items, storeItem("c", i))
	}
	storeWrite(t, s, b)
	var got []int64
	for before := int64(0); ; before = got[len(got)-1] {
		hits := storeHits(t, s, orchestrator.SearchQuery{Text: "item", Before: before, Limit: 30})
		if len(hits) == 0 {
			break
		}
		if len(hits) > 30 {
			t.Fatalf("%d hits, limit 30", len(hits))
		}
		for _, h := range hits {
			got = append(got, h.Item.ID)
		}
	}
	var want []int64
	for _, it := range slices.Backward(b.Items) {
		want = append(want, it.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages have %v, want %v", got, want)
	}
	if hits := storeHits(t, s, orchestrator.SearchQuery{Text: "item"}); len(hits) != 20 {
		t.Errorf("%d hits without a limit, want 20", len(hits))
	}
	// The best first: the rare word counts more than the common one.
	storeWrite(t, s, &orchestrator.Batch{Items: []*orchestrator.Item{
		{ConversationID: "c", Kind: orchestrator.ItemUser, Text: "zebra " + strings.Repeat("filler ", 300)},
		{ConversationID: "c", Kind: orchestrator.ItemUser, Text: "zebra zebra zebra"},
		{ConversationID: "c", Kind: orchestrator.ItemUser, Text: "zebra " + strings.Repeat("filler ", 300)},
	}})
	hits := storeHits(t, s, orchestrator.SearchQuery{Text: "zebra", Ranked: true})
	if len(hits) != 3 || hits[0].Item.Text != "zebra zebra zebra" {
		t.Errorf("ranked hits: %v", hits)
	}
}

func storeErase(t *testing.T, open OpenStore) {
	place := t.TempDir()
	s := openStore(t, open, place)
	if err := s.Erase(t.Context(), "none"); err == nil {
		t.Error("erased a conversation that is not there")
	}
	big := orchestrator.NewEvent{
		RunID: "ra", ConversationID: "a", Kind: orchestrator.EventFault, At: storeTime(9),
		JSON: []byte(`"` + strings.Repeat("b", orchestrator.BlobSize) + `"`),
	}
	shared := big
	shared.JSON = []byte(`"` + strings.Repeat("s", orchestrator.BlobSize) + `"`)
	of := func(x string) *orchestrator.Batch {
		shared := shared
		shared.RunID, shared.ConversationID = "r"+x, x
		return &orchestrator.Batch{
			Receipt:       &orchestrator.Receipt{Scope: "agent", Principal: "p", MessageID: "m" + x, RunID: "r" + x},
			Events:        []orchestrator.NewEvent{storeEvent("r"+x, x, 1), shared, storeEvent("r"+x, "", 2)},
			Conversations: []*orchestrator.Conversation{{ID: x, Title: x}},
			Runs:          []*orchestrator.Run{{ID: "r" + x, Scope: "agent", Principal: "p", ConversationID: x, State: a2a.TaskStateCompleted}},
			Steps:         []*orchestrator.Step{{ID: "s", RunID: "r" + x, ChildTask: "t" + x}},
			Asks:          []*orchestrator.Ask{{ID: "k" + x, RunID: "r" + x, ConversationID: x, State: orchestrator.AskOpen, Principal: orchestrator.LocalPrincipal}},
			Items:         []*orchestrator.Item{storeItem(x, 1)},
			Contexts:      []*orchestrator.ChildContext{{Key: x, AgentID: "a", ContextID: "k"}},
		}
	}
	a, b := of("a"), of("b")
	a.Events = append(a.Events, big)
	storeWrite(t, s, a)
	storeWrite(t, s, b)
	all := storeCollect(t, s.ReadRun(t.Context(), "rb", 0))
	head, _ := s.Head(t.Context())

	if err := s.Erase(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Conversation(t.Context(), "a")
	storeNotFound(t, "Conversation", err)
	_, err = s.Run(t.Context(), "ra")
	storeNotFound(t, "Run", err)
	_, err = s.Ask(t.Context(), "ka")
	storeNotFound(t, "Ask", err)
	_, err = s.Context(t.Context(), "a", "a")
	storeNotFound(t, "Context", err)
	if steps, _ := s.Steps(t.Context(), "ra"); len(steps) != 0 {
		t.Errorf("steps are left: %v", steps)
	}
	for what, seq := range map[string]iter.Seq2[[]*orchestrator.Event, error]{
		"run": s.ReadRun(t.Context(), "ra", 0), "conversation": s.ReadConversation(t.Context(), "a", 0),
	} {
		if events := storeCollect(t, seq); len(events) != 0 {
			t.Errorf("%d events of the %s are left", len(events), what)
		}
	}
	if items, _ := s.Items(t.Context(), "a", 0, 10); len(items) != 0 {
		t.Errorf("items are left: %v", items)
	}
	if hits := storeHits(t, s, orchestrator.SearchQuery{Text: "item"}); len(hits) != 1 || hits[0].Item.ConversationID != "b" {
		t.Errorf("search finds %v", hits)
	}
	if r, err := s.Received(t.Context(), "agent", "p", "ma"); err != nil || r.RunID != "ra" {
		t.Errorf("the receipt is gone: %v, %v", r, err)
	}
	// The other conversation has all it had, also the blob that both named.
	if d := cmp.Diff(len(all), len(storeCollect(t, s.ReadRun(t.Context(), "rb", 0)))); d != "" {
		t.Errorf("events of the other conversation:\n%s", d)
	}
	storeSame(t, storeCollect(t, s.ReadRun(t.Context(), "rb", 0)), b.Events)

	// What comes later has numbers of its own, also in a conversation with the same id, after all was erased and the
	// store was opened again.
	if err := s.Erase(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = openStore(t, open, place)
	storeWrite(t, s, &orchestrator.Batch{Events: []orchestrator.NewEvent{storeEvent("rc", "a", 1)}})
	again := storeCollect(t, s.ReadConversation(t.Context(), "a", 0))
	if len(again) != 1 || again[0].Seq <= head {
		t.Errorf("an event after the erase: %v, the newest before was %d", again, head)
	}
}

func storeExpire(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	now := storeTime(0).AddDate(0, 1, 0)
	days := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	run := func(id, conversation string, state a2a.TaskState, age int) *orchestrator.Run {
		return &orchestrator.Run{ID: id, Scope: "agent", Principal: "p", ConversationID: conversation, State: state, Updated: days(age)}
	}
	step := func(plan string) *orchestrator.Run { // an old call of a plan
		r := run("step-"+plan, "", a2a.TaskStateCompleted, 11)
		r.Scope = "step/" + plan
		return r
	}
	storeWrite(t, s, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{
			{ID: "old", Updated: days(11)},
			{ID: "pinned", Updated: days(11), Pinned: true},
			{ID: "busy", Updated: days(11)},
			{ID: "edge", Updated: days(10)},
			{ID: "new", Updated: days(9)},
		},
		Runs: []*orchestrator.Run{
			run("r-old", "old", a2a.TaskStateCompleted, 11), run("r-busy", "busy", a2a.TaskStateWorking, 11),
			run("r-pinned", "pinned", a2a.TaskStateCompleted, 11), run("out-old", "", a2a.TaskStateFailed, 11),
			run("out-open", "", a2a.TaskStateInputRequired, 11), run("out-new", "", a2a.TaskStateFailed, 9),
			run("out-message", "", a2a.TaskStateUnspecified, 11),
			step("out-open"), step("out-new"),
		},
		Events: []orchestrator.NewEvent{storeEvent("r-old", "old", 1), storeEvent("out-old", "", 1), storeEvent("out-new", "", 1)},
	})
	for i, age := range []time.Duration{8 * 24 * time.Hour, 7*24*time.Hour + time.Millisecond, 7 * 24 * time.Hour, time.Hour} {
		storeWrite(t, s, &orchestrator.Batch{Receipt: &orchestrator.Receipt{
			Scope: "agent", Principal: "p", MessageID: fmt.Sprint(i), At: now.Add(-age),
		}})
	}
	expire := func(want int) {
		t.Helper()
		if n, err := s.Expire(t.Context(), now); n != want || err != nil {
			t.Errorf("Expire = %d, %v; want %d", n, err, want)
		}
	}
	// Without a setting history is kept for ever; receipts are not history.
	expire(0)
	for i, want := range []bool{false, false, true, true} {
		if _, err := s.Received(t.Context(), "agent", "p", fmt.Sprint(i)); (err == nil) != want {
			t.Errorf("receipt %d: %v", i, err)
		}
	}
	storeWrite(t, s, &orchestrator.Batch{Settings: map[string]string{orchestrator.RetentionDays: "0"}})
	expire(0)
	storeWrite(t, s, &orchestrator.Batch{Settings: map[string]string{orchestrator.RetentionDays: "10"}})
	expire(4)
	expire(0)
	for id, want := range map[string]bool{"old": false, "pinned": true, "busy": true, "edge": true, "new": true} {
		if _, err := s.Conversation(t.Context(), id); (err == nil) != want {
			t.Errorf("conversation %s: %v", id, err)
		}
	}
	for id, want := range map[string]bool{
		"r-old": false, "r-busy": true, "r-pinned": true, "out-old": false, "out-open": true, "out-new": true, "out-message": false,
		"step-out-open": true, "step-out-new": false, // what it gave is wanted as long as its plan goes on
	} {
		if _, err := s.Run(t.Context(), id); (err == nil) != want {
			t.Errorf("run %s: %v", id, err)
		}
	}
	if events := storeCollect(t, s.ReadRun(t.Context(), "out-old", 0)); len(events) != 0 {
		t.Errorf("events of an expired run are left")
	}
	if events := storeCollect(t, s.ReadRun(t.Context(), "out-new", 0)); len(events) != 1 {
		t.Errorf("events of a new run are gone")
	}
}
