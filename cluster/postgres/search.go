package postgres

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/words"
)

const (
	searchLimit = 20   // hits of a page when none is asked for
	searchMost  = 100  // hits of a page at most
	rankedOf    = 1000 // the newest hits among which the best are found
)

// What a tsvector holds at most. Beyond its places, and with longer words, a text is long: what is asked of it is looked
// for in the text itself, too. Beyond its size, which takes some hundred thousand different words, a text is not searched.
const (
	lastPlace   = 1<<14 - 1
	mostPlaces  = 255 // of one word
	wordBytes   = 500
	vectorBytes = 900 << 10
)

// vector is a text as the index gets it: the words of package words with their places, so that the server has nothing
// left to fold or to split.
func vector(s string) (v string, long bool) {
	places := map[string][]int{}
	var order []string
	size, place := 0, 0
	for w := range words.Of(norm.NFC.String(text(s))) {
		place++
		word := short(w.Text)
		long = long || len(word) < len(w.Text)
		at, known := places[word]
		if !known {
			if size += len(word) + 4; size > vectorBytes {
				long = true
				break
			}
			order = append(order, word)
		}
		if place > lastPlace || len(at) >= mostPlaces {
			long = true
		} else {
			size += 2
			at = append(at, place)
		}
		places[word] = at
	}
	var b strings.Builder
	for _, word := range order {
		b.WriteString(quoted(word))
		for i, place := range places[word] {
			fmt.Fprintf(&b, "%c%d", ":,"[min(i, 1)], place)
		}
		b.WriteByte(' ')
	}
	return b.String(), long
}

// short is a word as the index has it.
func short(word string) string {
	if len(word) <= wordBytes {
		return word
	}
	n := wordBytes
	for !utf8.RuneStart(word[n]) {
		n--
	}
	return word[:n]
}

var quotes = strings.NewReplacer(`'`, `''`, `\`, `\\`)

func quoted(word string) string { return `'` + quotes.Replace(word) + `'` }

// queries writes terms as two tsqueries: all their words, and all of them where they stand in a row.
func queries(all []words.Term) (each, rows string) {
	var ands, ins []string
	for _, t := range all {
		parts := make([]string, len(t.Words))
		for i, w := range t.Words {
			parts[i] = quoted(short(w))
			if t.Prefix && i == len(t.Words)-1 {
				parts[i] += `:*`
			}
		}
		ands = append(ands, parts...)
		ins = append(ins, `(`+strings.Join(parts, ` <-> `)+`)`)
	}
	return strings.Join(ands, ` & `), strings.Join(ins, ` & `)
}

// found is a hit as the database has it.
type found struct {
	orchestrator.Hit
	long bool
}

// Search finds items by words.
func (db *DB) Search(ctx context.Context, q orchestrator.SearchQuery) ([]orchestrator.Hit, error) {
	wanted := words.Terms(text(q.Text))
	if len(wanted) == 0 {
		return nil, nil
	}
	limit := q.Limit
	if limit <= 0 {
		limit = searchLimit
	}
	limit = min(limit, searchMost)
	before := q.Before
	if before <= 0 {
		before = 1<<63 - 1
	}
	var hits []orchestrator.Hit
	for len(hits) < limit {
		page, err := db.search(ctx, q, wanted, before, limit)
		if err != nil {
			return nil, err
		}
		for _, f := range page {
			before = f.Item.ID
			if f.long && !words.Has(f.Item.Text, wanted) {
				continue
			}
			f.Snippet = words.Snippet(f.Item.Text, wanted)
			f.Item.Text = words.Plain(f.Snippet)
			if hits = append(hits, f.Hit); len(hits) == limit {
				break
			}
		}
		if len(page) < limit || q.Ranked {
			break
		}
	}
	return hits, nil
}

func (db *DB) search(ctx context.Context, q orchestrator.SearchQuery, wanted []words.Term, before int64, limit int) ([]found, error) {
	each, rows := queries(wanted)
	var w where
	w.and(`words @@ $::text::tsquery`, each)
	w.and(`(long OR words @@ $::text::tsquery)`, rows)
	w.and(`id < $`, before)
	if q.ConversationID != "" {
		w.and(`conversation = $`, q.ConversationID)
	}
	order := ` ORDER BY i.id DESC`
	w.sql.WriteString(` ORDER BY id DESC`)
	if q.Ranked {
		w.write(` LIMIT $`, rankedOf)
		order = ` ORDER BY i.score DESC, i.id DESC`
	} else {
		w.write(` LIMIT $`, limit)
	}
	query := `SELECT i.id, i.conversation, coalesce(nullif(c.name, ''), c.title, ''), i.run, i.kind, i.agent, i.at, i.text, i.long FROM (
		SELECT items.*, ts_rank(words, $1::text::tsquery, 1) AS score FROM items` + w.sql.String() + `) AS i
		LEFT JOIN conversations c ON c.id = i.conversation` + order + fmt.Sprintf(` LIMIT %d`, limit)
	return list(ctx, db, func(row scanner) (f found, err error) {
		it := &orchestrator.Item{}
		var at int64
		err = row.Scan(&it.ID, &it.ConversationID, &f.Title, &it.RunID, &it.Kind, &it.AgentID, &at, &it.Text, &f.long)
		it.At, f.Item = column.Time(at), it
		return f, err
	}, query, w.args...)
}
