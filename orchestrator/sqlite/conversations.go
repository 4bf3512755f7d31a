package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"iter"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/tail"
	"parley/orchestrator/words"
)

const upsertConversation = `INSERT INTO conversations (key, id, title, recipient, created, updated, pinned, state, last_text, name)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (key) DO UPDATE SET title = excluded.title, recipient = excluded.recipient, created = excluded.created,
		updated = excluded.updated, state = excluded.state, last_text = excluded.last_text,
		pinned = CASE WHEN title IS NULL THEN excluded.pinned ELSE pinned END,
		name = CASE WHEN title IS NULL THEN excluded.name ELSE name END`

func (b *batch) conversation(c *orchestrator.Conversation) {
	s := b.add(upsertConversation, conversationID(c.ID), c.ID, c.Title, c.To, column.Milli(c.Created), column.Milli(c.Updated), c.Pinned,
		string(c.State), c.LastText, c.Name)
	s.last = "conversation " + c.ID
	b.change(orchestrator.Change{ConversationID: c.ID})
}

// mark puts in place what a person sets of a conversation.
func (b *batch) mark(m orchestrator.ChatMark) {
	var name, pinned any
	if m.Name != nil {
		name = *m.Name
	}
	if m.Pinned != nil {
		pinned = *m.Pinned
	}
	b.add(`UPDATE conversations SET name = coalesce(?, name), pinned = coalesce(?, pinned) WHERE id = ?`, name, pinned, m.ConversationID)
	b.change(orchestrator.Change{ConversationID: m.ConversationID})
}

const conversationColumns = `SELECT id, title, name, recipient, created, updated, pinned, state, last_text FROM conversations `

func scanConversation(row scanner) (*orchestrator.Conversation, error) {
	var c orchestrator.Conversation
	var created, updated int64
	err := row.Scan(&c.ID, &c.Title, &c.Name, &c.To, &created, &updated, &c.Pinned, &c.State, &c.LastText)
	if err != nil {
		return nil, missing(err)
	}
	c.Created, c.Updated = column.Time(created), column.Time(updated)
	return &c, nil
}

// Conversation returns a conversation.
func (db *DB) Conversation(ctx context.Context, id string) (*orchestrator.Conversation, error) {
	return scanConversation(db.read.QueryRowContext(ctx, conversationColumns+`WHERE id = ? AND title IS NOT NULL`, id))
}

// ListConversations returns a page of conversations: pinned ones first, then newest first.
func (db *DB) ListConversations(ctx context.Context, after string, n int) ([]*orchestrator.Conversation, error) {
	const order = ` ORDER BY pinned DESC, updated DESC, id DESC LIMIT ?`
	if after == "" {
		return list(ctx, db, scanConversation, conversationColumns+`WHERE title IS NOT NULL`+order, n)
	}
	last, err := db.Conversation(ctx, after)
	if err != nil {
		return nil, err
	}
	return list(ctx, db, scanConversation, conversationColumns+`WHERE title IS NOT NULL
		AND (pinned, updated, id) < (?, ?, ?)`+order, last.Pinned, column.Milli(last.Updated), last.ID, n)
}

func (b *batch) item(it *orchestrator.Item) {
	indexed := words.Indexed(it.Text)
	var s *statement
	if it.ID == 0 {
		s = b.add(`INSERT INTO items (conversation, run, kind, agent, at, text, data) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			conversationID(it.ConversationID), runID(it.RunID), string(it.Kind), it.AgentID, column.Milli(it.At), it.Text,
			[]byte(it.Data))
	} else {
		s = b.add(`INSERT OR REPLACE INTO items (conversation, run, kind, agent, at, text, data, id)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			conversationID(it.ConversationID), runID(it.RunID), string(it.Kind), it.AgentID, column.Milli(it.At), it.Text,
			[]byte(it.Data), it.ID)
	}
	conversation := conversationID(it.ConversationID)
	s.then = func(w *writer, r driver.Result) error {
		id, err := r.LastInsertId()
		if err != nil {
			return err
		}
		b.given = append(b.given, id)
		key, err := w.key(conversation)
		if err != nil {
			return err
		}
		_, err = w.c.exec(`INSERT OR REPLACE INTO items_fts (rowid, text) VALUES (?, ?)`, id, inConversation(key, indexed))
		return err
	}
	b.items = append(b.items, it)
	b.size += 2 * len(it.Text)
	b.change(orchestrator.Change{ConversationID: it.ConversationID})
}

const itemColumns = `SELECT i.id, r.id, i.kind, i.agent, i.at, i.text, i.data FROM items i
	LEFT JOIN runs r ON r.key = i.run `

func scanItem(conversation string) func(scanner) (*orchestrator.Item, error) {
	return func(row scanner) (*orchestrator.Item, error) {
		it := &orchestrator.Item{ConversationID: conversation}
		var run sql.NullString
		var at int64
		err := row.Scan(&it.ID, &run, &it.Kind, &it.AgentID, &at, &it.Text, (*[]byte)(&it.Data))
		it.RunID, it.At = run.String, column.Time(at)
		return it, err
	}
}

// Items returns the newest n items with ID < before, oldest first.
func (db *DB) Items(ctx context.Context, conversation string, before int64, n int) ([]*orchestrator.Item, error) {
	if before == 0 {
		before = 1<<63 - 1
	}
	items, err := list(ctx, db, scanItem(conversation), itemColumns+`
		WHERE i.conversation = (SELECT key FROM conversations WHERE id = ?) AND i.id < ?
		ORDER BY i.id DESC LIMIT ?`, conversation, before, n)
	for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
		items[i], items[j] = items[j], items[i]
	}
	return items, err
}

// EachItem yields all items, oldest first. It reads in pages, so that a slow reader keeps no snapshot of the database
// open.
func (db *DB) EachItem(ctx context.Context, conversation string) iter.Seq2[*orchestrator.Item, error] {
	const page = 256
	return func(yield func(*orchestrator.Item, error) bool) {
		for after := int64(0); ; {
			items, err := list(ctx, db, scanItem(conversation), itemColumns+`
				WHERE i.conversation = (SELECT key FROM conversations WHERE id = ?) AND i.id > ?
				ORDER BY i.id LIMIT ?`, conversation, after, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			if len(items) < page {
				return
			}
			after = items[page-1].ID
		}
	}
}

// Artifact returns an artifact of a run as its events have it so far.
func (db *DB) Artifact(ctx context.Context, run, artifact string) (*a2a.Artifact, error) {
	return tail.Artifact(db.ReadRun(ctx, run, 0), artifact)
}
