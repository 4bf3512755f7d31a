package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/tail"
)

// What a page of events holds at most when they are read from the file.
const (
	pageEvents = 512
	pageBytes  = 1 << 20
)

// What ReadRuns returns at most.
const (
	runsEvents = 8192
	runsBytes  = 4 << 20
)

// Head returns the Seq of the newest committed event.
func (db *DB) Head(context.Context) (int64, error) {
	return db.hub.Head(), nil
}

// ReadRun yields the events of a run so far.
func (db *DB) ReadRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return tail.Read(ctx, tail.Stream{ID: run}, after, db.page)
}

// ReadRuns returns the events so far of several runs: the first that fit into what is held at once, whole.
func (db *DB) ReadRuns(ctx context.Context, runs []string) (map[string][]*orchestrator.Event, error) {
	ids, err := json.Marshal(runs)
	if err != nil {
		return nil, err
	}
	rows, err := db.read.QueryContext(ctx, runsPage, string(ids), runsEvents+1)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	all := make(map[string][]*orchestrator.Event, len(runs))
	n, bytes := 0, 0
	for rows.Next() {
		var run, conversation sql.NullString
		e, err := db.scanned(rows, &run, &conversation)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		e.RunID, e.ConversationID = run.String, conversation.String
		n, bytes = n+1, bytes+len(e.JSON)
		if n > runsEvents || bytes > runsBytes {
			delete(all, e.RunID) // there may be more of it
			break
		}
		all[e.RunID] = append(all[e.RunID], e)
	}
	return all, rows.Err()
}

// FollowRun yields the events of a run so far and those to come.
func (db *DB) FollowRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return db.hub.Follow(ctx, tail.Stream{ID: run}, after, db.page)
}

// ReadConversation yields the events of a conversation so far.
func (db *DB) ReadConversation(ctx context.Context, conversation string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return tail.Read(ctx, tail.Stream{Conversation: true, ID: conversation}, after, db.page)
}

// FollowConversation yields the events of a conversation so far and those to come.
func (db *DB) FollowConversation(ctx context.Context, conversation string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return db.hub.Follow(ctx, tail.Stream{Conversation: true, ID: conversation}, after, db.page)
}

// What a page is read with: the id that the stream does not tell, and the rest of the event.
const (
	runPage = `SELECT c.id, e.seq, e.kind, e.at, e.body, e.blob
		FROM events e LEFT JOIN conversations c ON c.key = e.conversation
		WHERE e.run = (SELECT key FROM runs WHERE id = ?) AND e.seq > ? ORDER BY e.seq LIMIT ?`
	conversationPage = `SELECT r.id, e.seq, e.kind, e.at, e.body, e.blob
		FROM events e LEFT JOIN runs r ON r.key = e.run
		WHERE e.conversation = (SELECT key FROM conversations WHERE id = ?) AND e.seq > ? ORDER BY e.seq LIMIT ?`
	runsPage = `SELECT r.id, c.id, e.seq, e.kind, e.at, e.body, e.blob
		FROM events e LEFT JOIN runs r ON r.key = e.run LEFT JOIN conversations c ON c.key = e.conversation
		WHERE e.run IN (SELECT key FROM runs WHERE id IN (SELECT value FROM json_each(?))) ORDER BY e.run, e.seq LIMIT ?`
)

// page reads the events of a stream with Seq > after; more says that there may be others behind them. A page is small
// and is not interrupted.
func (db *DB) page(ctx context.Context, s tail.Stream, after int64) (page []*orchestrator.Event, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	query := runPage
	if s.Conversation {
		query = conversationPage
	}
	rows, err := db.read.QueryContext(context.WithoutCancel(ctx), query, s.ID, after, pageEvents)
	if err != nil {
		return nil, false, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	bytes := 0
	for rows.Next() {
		e, err := db.scanEvent(rows, s)
		if err != nil {
			return nil, false, fmt.Errorf("read events: %w", err)
		}
		page = append(page, e)
		if bytes += len(e.JSON); bytes > pageBytes {
			return page, true, nil
		}
	}
	return page, len(page) == pageEvents, rows.Err()
}

func (db *DB) scanEvent(row scanner, s tail.Stream) (*orchestrator.Event, error) {
	var other sql.NullString
	e, err := db.scanned(row, &other)
	if err != nil {
		return nil, err
	}
	e.RunID, e.ConversationID = s.ID, other.String
	if s.Conversation {
		e.RunID, e.ConversationID = other.String, s.ID
	}
	return e, nil
}

// scanned reads an event, and the ids that come before it in its row.
func (db *DB) scanned(row scanner, ids ...any) (*orchestrator.Event, error) {
	var (
		e          orchestrator.Event
		seq, at    int64
		body, blob []byte
	)
	if err := row.Scan(append(ids, &seq, &e.Kind, &at, &body, &blob)...); err != nil {
		return nil, err
	}
	if blob != nil {
		var err error
		if body, err = db.blobs.get(hash(blob)); err != nil {
			return nil, err
		}
	}
	e.Entry = a2a.NewEntry(seq, column.Time(at), body, nil)
	return &e, nil
}

// Changes yields hints of what changed until ctx is done or the store is closed.
func (db *DB) Changes(ctx context.Context) iter.Seq[orchestrator.Change] { return db.hub.Changes(ctx) }
