package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/orchestrator"
	"parley/orchestrator/words"
)

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
		if got := match(words.Terms(in)); got != want {
			t.Errorf("match(words.Terms(%q)) = %s, want %s", in, got, want)
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
		if !utf8.ValidString(text) {
			return
		}
		clean := norm.NFC.String(text)
		tried := 0
		for w := range words.Of(clean) {
			if tried++; tried > 5 {
				break
			}
			part := clean[w.Start:w.End]
			hits, err := db.Search(t.Context(), orchestrator.SearchQuery{Text: part, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(hits) == 0 || hits[0].Item.ID != it.ID {
				t.Fatalf("%q is not found by its word %q (%q)", text, part, match(words.Terms(part)))
			}
			marked := false
			for _, s := range hits[0].Snippet {
				marked = marked || s.Mark
			}
			if !marked {
				t.Fatalf("the snippet of %q has no mark for %q", text, part)
			}
		}
		whole := words.Snippet(text, nil)
		if s := strings.TrimSuffix(words.Plain(whole), "…"); !strings.HasPrefix(clean, s) {
			t.Fatalf("the snippet %q is not of %q", s, clean)
		}
	})
}
