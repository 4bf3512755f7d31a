package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/tail"
)

// A person sets the name, and whether it is pinned, by a mark: the row of one that is there does not.
const insertConversation = `INSERT INTO conversations AS c (id, title, recipient, created, updated, pinned, state, last_text, name)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET `

const replaceConversation = insertConversation + `title = excluded.title, recipient = excluded.recipient,
	created = excluded.created, updated = excluded.updated, state = excluded.state, last_text = excluded.last_text`

// mergeConversation is for the row that comes with a run. Runs of one conversation may be carried on by several
// processes, none of which knows the newest row: it says how things are now.
const mergeConversation = insertConversation + `
	title = CASE c.title WHEN '' THEN excluded.title ELSE c.title END,
	updated = greatest(c.updated, excluded.updated),
	last_text = CASE WHEN excluded.updated >= c.updated THEN excluded.last_text ELSE c.last_text END,
	state = CASE
		WHEN EXISTS (SELECT 1 FROM runs WHERE conversation = c.id AND open AND (state = ANY ($10)
			OR EXISTS (SELECT 1 FROM asks WHERE run = runs.id AND state = 'open'))) THEN $11
		WHEN EXISTS (SELECT 1 FROM runs WHERE conversation = c.id AND open) THEN $12
		WHEN excluded.state IN ($11, $12) THEN ''
		ELSE excluded.state END`

func (b *batch) conversation(c *orchestrator.Conversation, merge bool) {
	query, name := replaceConversation, "conversation "
	args := []any{c.ID, c.Title, c.To, column.Milli(c.Created), column.Milli(c.Updated), c.Pinned, string(c.State), c.LastText, c.Name}
	if merge {
		query, name = mergeConversation, "conversation of a run "
		args = append(args, []string{string(a2a.TaskStateInputRequired), string(a2a.TaskStateAuthRequired)},
			string(orchestrator.ConversationAsking), string(orchestrator.ConversationWorking))
	}
	s := b.add(query, args...)
	s.last, s.late = name+c.ID, merge
	b.change(orchestrator.Change{ConversationID: c.ID})
}

// mark puts in place what a person sets of a conversation.
func (b *batch) mark(m orchestrator.ChatMark) {
	s := b.add(`UPDATE conversations SET name = coalesce($2, name), pinned = coalesce($3, pinned) WHERE id = $1`,
		m.ConversationID, m.Name, m.Pinned)
	s.last, s.late = fmt.Sprintf("mark %p %d", b, len(b.rows)), true
	b.change(orchestrator.Change{ConversationID: m.ConversationID})
}

const conversationColumns = `SELECT id, title, name, recipient, created, updated, pinned, state, last_text FROM conversations `

func scanConversation(row scanner) (*orchestrator.Conversation, error) {
	var c orchestrator.Conversation
	var created, updated int64
	err := row.Scan(&c.ID, &c.Title, &c.Name, &c.To, &created, &updated, &c.Pinned, &c.State, &c.LastText)
	if err != nil {
		return nil, err
	}
	c.Created, c.Updated = column.Time(created), column.Time(updated)
	return &c, nil
}

// Conversation returns a conversation.
func (db *DB) Conversation(ctx context.Context, id string) (*orchestrator.Conversation, error) {
	return scanConversation(db.row(ctx, conversationColumns+`WHERE id = $1`, id))
}

// ListConversations returns a page of conversations: pinned ones first, then newest first.
func (db *DB) ListConversations(ctx context.Context, after string, n int) ([]*orchestrator.Conversation, error) {
	const order = ` ORDER BY pinned DESC, updated DESC, id DESC LIMIT $1`
	if after == "" {
		return list(ctx, db, scanConversation, conversationColumns+order, n)
	}
	last, err := db.Conversation(ctx, after)
	if err != nil {
		return nil, err
	}
	return list(ctx, db, scanConversation, conversationColumns+`WHERE (pinned, updated, id) < ($2, $3, $4)`+order,
		n, last.Pinned, column.Milli(last.Updated), last.ID)
}

func (b *batch) item(it *orchestrator.Item) {
	words, long := vector(it.Text)
	args := []any{it.ConversationID, it.RunID, string(it.Kind), it.AgentID, column.Milli(it.At), it.Text, []byte(it.Data), words, long}
	query := `INSERT INTO items (conversation, run, kind, agent, at, text, data, words, long)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::tsvector, $9) RETURNING id`
	if it.ID != 0 {
		query = `INSERT INTO items (conversation, run, kind, agent, at, text, data, words, long, id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::tsvector, $9, $10)
			ON CONFLICT (id) DO UPDATE SET conversation = excluded.conversation, run = excluded.run, kind = excluded.kind,
				agent = excluded.agent, at = excluded.at, text = excluded.text, data = excluded.data, words = excluded.words,
				long = excluded.long RETURNING id`
		args = append(args, it.ID)
	}
	b.add(query, args...).then = func(row pgx.Row) error {
		var id int64
		err := row.Scan(&id)
		b.given = append(b.given, id)
		return err
	}
	b.items = append(b.items, it)
	b.size += 2 * len(it.Text)
	b.change(orchestrator.Change{ConversationID: it.ConversationID})
}

const itemColumns = `SELECT id, conversation, run, kind, agent, at, text, data FROM items `

func scanItem(row scanner) (*orchestrator.Item, error) {
	it := &orchestrator.Item{}
	var at int64
	var data []byte
	err := row.Scan(&it.ID, &it.ConversationID, &it.RunID, &it.Kind, &it.AgentID, &at, &it.Text, &data)
	it.At, it.Data = column.Time(at), data
	return it, err
}

// Items returns the newest n items with ID < before, oldest first.
func (db *DB) Items(ctx context.Context, conversation string, before int64, n int) ([]*orchestrator.Item, error) {
	if before == 0 {
		before = 1<<63 - 1
	}
	items, err := list(ctx, db, scanItem, itemColumns+`WHERE conversation = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
		conversation, before, n)
	slices.Reverse(items)
	return items, err
}

// EachItem yields all items, oldest first. It reads in pages, so that a slow reader keeps no snapshot of the database
// open.
func (db *DB) EachItem(ctx context.Context, conversation string) iter.Seq2[*orchestrator.Item, error] {
	const page = 256
	return func(yield func(*orchestrator.Item, error) bool) {
		for after := int64(0); ; {
			items, err := list(ctx, db, scanItem, itemColumns+`WHERE conversation = $1 AND id > $2 ORDER BY id LIMIT $3`,
				conversation, after, page)
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
