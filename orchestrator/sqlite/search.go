package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/orchestrator"
)

const (
	searchLimit   = 20   // hits of a page when none is asked for
	searchMost    = 100  // hits of a page at most
	rankedOf      = 1000 // the newest hits among which the best are found
	snippetLength = 200  // bytes of a snippet, about
)

// Search finds items by words.
func (db *DB) Search(ctx context.Context, q orchestrator.SearchQuery) ([]orchestrator.Hit, error) {
	wanted := terms(q.Text)
	if len(wanted) == 0 {
		return nil, nil
	}
	query := match(wanted)
	if q.ConversationID != "" {
		var key int64
		err := db.read.QueryRowContext(ctx, `SELECT key FROM conversations WHERE id = ?`, q.ConversationID).Scan(&key)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		query = `"` + conversationWord(key) + `" AND ` + query
	}
	before, limit := q.Before, q.Limit
	if before <= 0 {
		before = 1<<63 - 1
	}
	if limit <= 0 {
		limit = searchLimit
	}
	limit = min(limit, searchMost)
	found := `SELECT rowid FROM items_fts WHERE items_fts MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3`
	order := `i.id DESC`
	if q.Ranked {
		found = `SELECT rowid, score FROM (SELECT rowid, bm25(items_fts) AS score FROM items_fts
			WHERE items_fts MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?4) ORDER BY score, rowid DESC LIMIT ?3`
		order = `found.score, i.id DESC`
	}
	args := []any{query, before, limit}
	if q.Ranked {
		args = append(args, rankedOf)
	}
	return listUntil(ctx, db, func(row scanner) (h orchestrator.Hit, err error) {
		var it orchestrator.Item
		var run, title sql.NullString
		var at int64
		err = row.Scan(&it.ID, &it.ConversationID, &title, &run, &it.Kind, &it.AgentID, &at, &it.Text)
		it.RunID, it.At, h.Title = run.String, fromMilli(at), title.String
		h.Snippet = snippet(it.Text, wanted)
		it.Text = plain(h.Snippet)
		h.Item = &it
		return h, err
	}, `SELECT i.id, c.id, c.title, r.id, i.kind, i.agent, i.at, i.text FROM (`+found+`) AS found
		JOIN items i ON i.id = found.rowid JOIN conversations c ON c.key = i.conversation
		LEFT JOIN runs r ON r.key = i.run ORDER BY `+order, args...)
}

func plain(spans []orchestrator.Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// span is a marked part of a text.
type span struct{ start, end int }

// snippet cuts the part of a text around its first hit, with the hits marked.
func snippet(text string, wanted []term) []orchestrator.Span {
	text = norm.NFC.String(text)
	all := slices.Collect(words(text))
	var marks []span
	for i := range all {
		for _, t := range wanted {
			if n := t.at(all[i:]); n > 0 {
				m := span{all[i].start, all[i+n-1].end}
				if last := all[i+n-1]; t.prefix && last.pair {
					// Of a pair that was found by its first letter, the second is not a hit.
					_, size := utf8.DecodeRuneInString(last.text)
					m.end = last.start + size
				}
				marks = append(marks, m)
			}
		}
	}
	slices.SortFunc(marks, func(a, b span) int { return a.start - b.start })
	from := 0
	if len(marks) > 0 {
		from = cutBefore(text, marks[0].start-snippetLength/3)
	}
	to := cutAfter(text, from+snippetLength)

	var spans []orchestrator.Span
	add := func(s string, mark bool) {
		if s == "" {
			return
		}
		if n := len(spans); n > 0 && spans[n-1].Mark == mark {
			spans[n-1].Text += s
			return
		}
		spans = append(spans, orchestrator.Span{Text: s, Mark: mark})
	}
	if from > 0 {
		add("…", false)
	}
	at := from
	for _, m := range marks {
		m.start, m.end = max(m.start, at), min(m.end, to)
		if m.start >= m.end {
			continue
		}
		add(text[at:m.start], false)
		add(text[m.start:m.end], true)
		at = m.end
	}
	add(text[at:to], false)
	if to < len(text) {
		add("…", false)
	}
	return spans
}

// at returns how many words the term takes at the beginning of ws, 0 when it is not there.
func (t term) at(ws []word) int {
	if len(ws) < len(t.words) {
		return 0
	}
	for i, w := range t.words {
		last := i == len(t.words)-1
		if ws[i].text != w && !(last && t.prefix && strings.HasPrefix(ws[i].text, w)) {
			return 0
		}
	}
	return len(t.words)
}

// cutBefore returns a place at or shortly before i where a text may be cut: behind white space when there is some near.
func cutBefore(s string, i int) int {
	if i <= 0 {
		return 0
	}
	if j := strings.LastIndexAny(s[max(0, i-24):i], " \n\t"); j >= 0 {
		return max(0, i-24) + j + 1
	}
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// cutAfter returns a place at or shortly after i where a text may be cut.
func cutAfter(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if j := strings.IndexAny(s[i:min(len(s), i+24)], " \n\t"); j >= 0 {
		return i + j
	}
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}
