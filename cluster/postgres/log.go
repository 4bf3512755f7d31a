package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/column"
	"parley/orchestrator/tail"
)

// What a page of events holds at most when they are read from the database.
const (
	pageEvents = 512
	pageBytes  = 1 << 20
)

// Head returns the Seq of the newest committed event, of any process.
func (db *DB) Head(ctx context.Context) (head int64, err error) {
	err = db.row(ctx, newestEvent).Scan(&head)
	return head, err
}

// ReadRun yields the events of a run so far.
func (db *DB) ReadRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return tail.Read(ctx, tail.Stream{ID: run}, after, db.page)
}

// ReadRuns leaves all runs to ReadRun: where processes share a store, each run is read by whoever claims it.
func (db *DB) ReadRuns(context.Context, []string) (map[string][]*orchestrator.Event, error) {
	return nil, nil
}

// FollowRun yields the events of a run so far and those to come.
func (db *DB) FollowRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return db.hub.Follow(ctx, tail.Stream{ID: run}, after, db.patiently)
}

// ReadConversation yields the events of a conversation so far.
func (db *DB) ReadConversation(ctx context.Context, conversation string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return tail.Read(ctx, tail.Stream{Conversation: true, ID: conversation}, after, db.page)
}

// FollowConversation yields the events of a conversation so far and those to come.
func (db *DB) FollowConversation(ctx context.Context, conversation string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return db.hub.Follow(ctx, tail.Stream{Conversation: true, ID: conversation}, after, db.patiently)
}

const (
	eventColumns     = `SELECT seq, run, conversation, kind, at, body, blob FROM events `
	runPage          = eventColumns + `WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3`
	conversationPage = eventColumns + `WHERE conversation = $1 AND conversation <> '' AND seq > $2 ORDER BY seq LIMIT $3`
)

// stored is an event as its row has it: where blob is set, its body is there.
type stored struct {
	*orchestrator.Event
	blob []byte
}

// page reads the events of a stream with Seq > after; more says that there may be others behind them.
func (db *DB) page(ctx context.Context, s tail.Stream, after int64) (page []*orchestrator.Event, more bool, err error) {
	query := runPage
	if s.Conversation {
		query = conversationPage
	}
	rows, err := db.rows(ctx, query, s.ID, after, pageEvents)
	if err != nil {
		return nil, false, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	var found []stored
	for bytes := 0; rows.Next() && !more; {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, false, fmt.Errorf("read events: %w", err)
		}
		found = append(found, e)
		bytes += len(e.JSON)
		more = bytes > pageBytes
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("read events: %w", explain(err))
	}
	page, err = db.whole(ctx, found)
	return page, more || len(found) == pageEvents || len(page) < len(found), err
}

// patiently is page for those who follow: while the database cannot be reached, they wait.
func (db *DB) patiently(ctx context.Context, s tail.Stream, after int64) (page []*orchestrator.Event, more bool, err error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, probeEvery) {
		page, more, err = db.page(ctx, s, after)
		if !lost(err) || db.stopped.Err() != nil {
			return page, more, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-db.stopped.Done():
			return nil, false, tail.ErrClosed
		case <-time.After(wait):
		}
	}
}

func scanEvent(row pgx.CollectableRow) (e stored, err error) {
	var seq, at int64
	var kind string
	var body []byte
	e.Event = &orchestrator.Event{}
	err = row.Scan(&seq, &e.RunID, &e.ConversationID, &kind, &at, &body, &e.blob)
	e.Kind, e.Entry = orchestrator.EventKind(kind), a2a.NewEntry(seq, column.Time(at), body, nil)
	return e, err
}

// whole returns events with the bodies that are in blobs, as many as make a page: it may be shorter.
func (db *DB) whole(ctx context.Context, found []stored) ([]*orchestrator.Event, error) {
	page := make([]*orchestrator.Event, 0, len(found))
	bytes := 0
	for _, e := range found {
		if e.blob != nil {
			if bytes > pageBytes {
				break
			}
			var body []byte
			if err := db.row(ctx, `SELECT body FROM blobs WHERE hash = $1`, e.blob).Scan(&body); err != nil {
				return nil, fmt.Errorf("read a large event: %w", err)
			}
			if sum := sha256.Sum256(body); string(sum[:]) != string(e.blob) {
				return nil, fmt.Errorf("the large body %x is damaged", e.blob)
			}
			e.Entry = a2a.NewEntry(e.Seq, e.At, body, nil)
		}
		bytes += len(e.JSON)
		page = append(page, e.Event)
	}
	return page, nil
}
