package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/words"
)

const (
	searchLimit = 20   // hits of a page when none is asked for
	searchMost  = 100  // hits of a page at most
	rankedOf    = 1000 // the newest hits among which the best are found
)

// Search finds items by words.
func (db *DB) Search(ctx context.Context, q orchestrator.SearchQuery) ([]orchestrator.Hit, error) {
	wanted := words.Terms(q.Text)
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
		it.RunID, it.At, h.Title = run.String, column.Time(at), title.String
		h.Snippet = words.Snippet(it.Text, wanted)
		it.Text = words.Plain(h.Snippet)
		h.Item = &it
		return h, err
	}, `SELECT i.id, c.id, coalesce(nullif(c.name, ''), c.title), r.id, i.kind, i.agent, i.at, i.text FROM (`+found+`) AS found
		JOIN items i ON i.id = found.rowid JOIN conversations c ON c.key = i.conversation
		LEFT JOIN runs r ON r.key = i.run ORDER BY `+order, args...)
}
