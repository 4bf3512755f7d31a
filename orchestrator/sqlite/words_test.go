package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"parley/orchestrator"
)

func TestIndexed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   "",
		" -- ":               "",
		"Hello, World":       "hello world",
		"don't":              "don t",
		"x2 2x":              "x2 2x",
		"Ünïcödé ÇA":         "unicode ca",
		"e\u0301te\u0301":    "ete",
		"Ｆｕｌｌ１２":             "full12",
		"Straße":             "straße",
		"ПРИВЕТ Ёлка":        "привет елка",
		"東京":                 "東京 京",
		"東京駅":                "東京 京駅 駅",
		"東 京":                "東 京",
		"東、京":                "東 京",
		"スカイツリー":             "スカ カイ イツ ツリ リー ー",
		"か\u3099く":           "がく く",
		"여행":                 "여행 행",
		"iPhoneを買う2台":        "iphone を買 買う う 2 台",
		"佐々木":                "佐々 々木 木",
		"a\uE0001b":          "a 1b",
		"\xff\xfebroken\xff": "broken",
	} {
		if got := indexed(in); got != want {
			t.Errorf("indexed(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                "",
		"a":               `"a"*`,
		"a ":              `"a"`,
		"one two":         `"one" AND "two"*`,
		`"one two"`:       `"one two"`,
		`one "two three`:  `"one" AND "two three"`,
		`“one two” three`: `"one two" AND "three"*`,
		`one""two`:        `"one" AND "two"*`,
		"e-mail":          `"e mail"*`,
		"e-":              `"e"`,
		"東":               `"東"*`,
		"東京":              `"東京"`,
		"東京駅":             `"東京 京駅"`,
		"東京 駅":            `"東京" AND "駅"*`,
		"x東":              `"x 東"*`,
		"東x":              `"東 x"*`,
		"NEAR(a b)":       `"near a" AND "b"`,
		"-a +b ^c d* {e}": `"a" AND "b" AND "c" AND "d" AND "e"`,
	} {
		if got := match(terms(in)); got != want {
			t.Errorf("match(terms(%q)) = %s, want %s", in, got, want)
		}
	}
}

// FuzzSearch: no query is an error, and an item is found by each of its own words and marked there.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{
		"hello", `"`, `""`, `a"b`, "東京", "여행", "スカイツリー", "AND", "NEAR(a, 2)", "a*", "*", "^a", "text:a", "-a", "(", "{}", "a\x00b", "'", "\\",
		"\uE0001", "ﬁ", "İ", "ß", "e\u0301", "\u0301", "ﾊﾟ", "々", "𠮷野家", "👩‍👩‍👧", "\u200b", "x\u0301\u0302", "ㄱ가", "１２", "²", "Ⅷ", "\xff", "𞤀𞤣𞤤𞤢𞤥", "Ა", "𑄃𑄋", "𝒳", "Ꭓ",
	} {
		f.Add(s, s)
	}
	db, err := Open(f.Context(), filepath.Join(f.TempDir(), "data"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	f.Fuzz(func(t *testing.T, query, text string) {
		if len(text) > 10_000 || len(query) > 1000 {
			return
		}
		it := &orchestrator.Item{ConversationID: "c", Kind: orchestrator.ItemUser, Text: text}
		write(t, db, &orchestrator.Batch{Items: []*orchestrator.Item{it}})
		for _, ranked := range []bool{false, true} {
			for _, conversation := range []string{"", "c"} {
				if _, err := db.Search(t.Context(), orchestrator.SearchQuery{Text: query, Ranked: ranked, ConversationID: conversation}); err != nil {
					t.Fatalf("Search(%q): %v", query, err)
				}
			}
		}
		if _, err := db.MatchAgents(t.Context(), query, 3); err != nil {
			t.Fatalf("MatchAgents(%q): %v", query, err)
		}
		if !utf8.ValidString(text) {
			return
		}
		clean := norm.NFC.String(text)
		tried := 0
		for w := range words(clean) {
			if tried++; tried > 5 {
				break
			}
			part := clean[w.start:w.end]
			hits, err := db.Search(t.Context(), orchestrator.SearchQuery{Text: part, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(hits) == 0 || hits[0].Item.ID != it.ID {
				t.Fatalf("%q is not found by its word %q (%q)", text, part, match(terms(part)))
			}
			marked := false
			for _, s := range hits[0].Snippet {
				marked = marked || s.Mark
			}
			if !marked {
				t.Fatalf("the snippet of %q has no mark for %q", text, part)
			}
		}
		whole := snippet(text, nil)
		if s := strings.TrimSuffix(plain(whole), "…"); !strings.HasPrefix(clean, s) {
			t.Fatalf("the snippet %q is not of %q", s, clean)
		}
	})
}

func TestMaskBody(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                            ``,
		`plain text`:                  `plain text`,
		`{"a":"b","n":1.50}`:          `{"a":"b","n":1.50}`,
		`{"token":"s"}`:               `{"token":"[masked]"}`,
		`{ "Token" : "s" , "a":"b" }`: `{ "Token" : "[masked]" , "a":"b" }`,
		`{"accessToken":{"x":["s",{"y":"s"}]},"a":"b"}`: `{"accessToken":{"x":["[masked]",{"y":"[masked]"}]},"a":"b"}`,
		`{"password":null,"a":"b"}`:                     `{"password":null,"a":"b"}`,
		`{"token_count":7,"a":["b"]}`:                   `{"token_count":7,"a":["b"]}`,
		`{"client_secret":"a\"b\\","x":"y"}`:            `{"client_secret":"[masked]","x":"y"}`,
		`{"credentials":"s`:                             `{"credentials":"[masked]"`,
		`data: {"api_key":"s"}`:                         `data: {"api_key":"[masked]"}`,
		`{"x":"Bearer abcdefgh1"}`:                      `{"x":"[masked]"}`,
		`{"x":"Bearer of news"}`:                        `{"x":"Bearer of news"}`,
		`{"x":"Basic abcdefgh"}`:                        `{"x":"[masked]"}`,
		`grant_type=a&client_secret=s&x=1`:              `grant_type=a&client_secret=%5Bmasked%5D&x=1`,
		`["token","s"]`:                                 `["token","s"]`,
		`{"token":"s"}{"a":"b"}`:                        `{"token":"[masked]"}{"a":"b"}`,
		`{"text":"my token is \"x\" ok"}`:               `{"text":"my token is \"x\" ok"}`,
		`{"token":["s"],"a":{"b":"c"}}`:                 `{"token":["[masked]"],"a":{"b":"c"}}`,
	} {
		if got := string(maskBody([]byte(in))); got != want {
			t.Errorf("maskBody(%s)\n got %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"https://a.test/b?c=d":          "https://a.test/b?c=d",
		"https://u:p@a.test/":           "https://%5Bmasked%5D@a.test/",
		"https://a.test/?x=1&Api-Key=s": "https://a.test/?x=1&Api-Key=%5Bmasked%5D",
		"https://a.test/%zz?token=s":    "https://a.test/%zz",
		"%zz://u:p@a.test":              "a.test",
	} {
		if got := maskURL(in); got != want {
			t.Errorf("maskURL(%s) = %s, want %s", in, got, want)
		}
	}
	if d := cmp.Diff(`{"A":["1","2"],"x-api-key":["[masked]"]}`, string(maskHeader(map[string][]string{"A": {"1", "2"}, "x-api-key": {"s"}}))); d != "" {
		t.Errorf("header:\n%s", d)
	}
}

// FuzzMaskBody: whatever the bytes, what follows a secret name is gone, and JSON stays JSON of the same shape.
func FuzzMaskBody(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"a":[`, `"`, `\`, `{"a":"\`, `a=b`, `[[[`, `}}}`, `{"token":{`, `,`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := string(b)
		out := maskBody(b)
		if string(b) != kept {
			t.Fatal("the body of the record was changed")
		}
		if again := maskBody(out); string(again) != string(out) {
			t.Fatalf("masked %q, again %q", out, again)
		}
		const canary = "canary0123456789"
		body := `{"x":` + quoted(string(b)) + `,"password":"` + canary + `"}`
		if strings.Contains(string(maskBody([]byte(body))), canary) && !strings.Contains(string(b), canary) {
			t.Fatalf("a secret is left in %q", maskBody([]byte(body)))
		}
	})
}

// quoted is s as a JSON string.
func quoted(s string) string { return string((&batch{}).marshal(s)) }

// TestWireBounds: old records make room for new ones, and what comes too fast is dropped.
func TestWireBounds(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	onWriter(t, db, func(*conn) error {
		db.writer.wire.most = 1 << 20
		return nil
	})
	body := []byte(strings.Repeat("x", 4<<10))
	const n = 2000
	for i := range n {
		db.RecordWire(&orchestrator.WireRecord{Peer: "p", Request: body, Status: i})
		if i%100 == 99 {
			eventually(t, "the queue is empty", func() bool { return !db.writer.wire.due(0) })
		}
	}
	all, err := db.WireRecords(t.Context(), orchestrator.WireQuery{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	if kept := len(all) * len(body); kept > 1<<20 || kept < 100<<10 || all[0].Status != n-1 {
		t.Errorf("%d bytes are kept, the newest is %d", kept, all[0].Status)
	}
	var counted, stored int64
	onWriter(t, db, func(c *conn) (err error) {
		counted, _, err = c.integer(`SELECT value FROM counters WHERE name = 'wire.bytes'`)
		if err == nil {
			stored, _, err = c.integer(`SELECT sum(size) FROM wire`)
		}
		return err
	})
	if counted != stored {
		t.Errorf("%d bytes are counted, %d are stored", counted, stored)
	}

	// While the writer is busy, the queue is bounded.
	began, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- db.writer.waitFor(t.Context(), &op{do: func(*conn) error {
			close(began)
			<-goOn
			return nil
		}})
	}()
	<-began
	for range 10_000 {
		db.RecordWire(&orchestrator.WireRecord{Peer: "p", Request: body})
	}
	q := &db.writer.wire
	q.mu.Lock()
	if q.bytes > wireWaits || len(q.records) > wireQueued || q.dropped < 10_000-wireQueued {
		t.Errorf("%d records of %d bytes wait, %d were dropped", len(q.records), q.bytes, q.dropped)
	}
	q.mu.Unlock()
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}

	long := []byte(strings.Repeat("y", wireBody+1))
	eventually(t, "the queue is empty", func() bool { return !db.writer.wire.due(0) })
	db.RecordWire(&orchestrator.WireRecord{Peer: "long", Request: long[:wireBody], Response: long})
	eventually(t, "the long one", func() bool {
		all, err = db.WireRecords(t.Context(), orchestrator.WireQuery{Peer: "long"})
		return err == nil && len(all) == 1
	})
	if len(all[0].Request) != wireBody || len(all[0].Response) != wireBody {
		t.Errorf("bodies of %d and %d bytes", len(all[0].Request), len(all[0].Response))
	}
}
