package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

const upsertAgent = `INSERT INTO agents (id, name, trust, card_url, card_json, card, card_hash, interface, dialect, known,
		notes, hue, local, idempotent, added, checked, fault, signature, latency, changed, muted)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET name = excluded.name, trust = excluded.trust, card_url = excluded.card_url,
		card_json = excluded.card_json, card = excluded.card, card_hash = excluded.card_hash,
		interface = excluded.interface, dialect = excluded.dialect, known = excluded.known, notes = excluded.notes, hue = excluded.hue,
		local = excluded.local, idempotent = excluded.idempotent, added = excluded.added, checked = excluded.checked,
		fault = excluded.fault, signature = excluded.signature, latency = excluded.latency, changed = excluded.changed,
		muted = excluded.muted`

func (b *batch) agent(a *orchestrator.Agent) {
	b.add(upsertAgent, a.ID, a.Name, string(a.Trust), a.CardURL, a.CardJSON, b.json(a.Card), a.CardHash,
		b.json(a.Interface), a.Dialect, string(a.Known), b.json(a.Notes), int64(a.Hue), a.Local, a.Idempotent, column.Milli(a.Added),
		column.Milli(a.Health.Checked), b.json(a.Health.Fault), b.json(a.Signature), a.Health.Latency.Milliseconds(), b.json(a.Changed), a.Muted)
	b.change(orchestrator.Change{AgentID: a.ID})
}

const agentColumns = `SELECT id, name, trust, card_url, card_json, card, card_hash, interface, dialect, known, notes, hue, local,
	idempotent, added, checked, fault, signature, latency, changed, muted FROM agents `

// scanner is a row of database/sql.
type scanner interface{ Scan(dest ...any) error }

func scanAgent(row scanner) (*orchestrator.Agent, error) {
	var (
		a                        orchestrator.Agent
		card, iface, notes, flaw []byte
		signature, changed       []byte
		added, checked, latency  int64
	)
	err := row.Scan(&a.ID, &a.Name, &a.Trust, &a.CardURL, &a.CardJSON, &card, &a.CardHash, &iface, &a.Dialect, &a.Known, &notes,
		&a.Hue, &a.Local, &a.Idempotent, &added, &checked, &flaw, &signature, &latency,
		&changed, &a.Muted)
	if err != nil {
		return nil, missing(err)
	}
	a.Added, a.Health.Checked, a.Health.Latency = column.Time(added), column.Time(checked), time.Duration(latency)*time.Millisecond
	err = errors.Join(column.Read(card, &a.Card), column.Read(iface, &a.Interface), column.Read(notes, &a.Notes),
		column.Read(flaw, &a.Health.Fault), column.Read(signature, &a.Signature), column.Read(changed, &a.Changed))
	return &a, err
}

// missing turns the driver's word for no row into ours.
func missing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return orchestrator.ErrNotFound
	}
	return err
}

// list reads all rows of a query, which are few. It is not interrupted: to watch a context costs more than such a query.
func list[T any](ctx context.Context, db *DB, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return listUntil(context.WithoutCancel(ctx), db, scan, query, args...)
}

// listUntil reads all rows of a query that may take a while, at most until ctx is done.
func listUntil[T any](ctx context.Context, db *DB, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		x, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, rows.Err()
}

// Agent returns an agent, also a removed one.
func (db *DB) Agent(ctx context.Context, id string) (*orchestrator.Agent, error) {
	return scanAgent(db.read.QueryRowContext(ctx, agentColumns+`WHERE id = ?`, id))
}

// ListAgents returns the agents by name, without removed ones.
func (db *DB) ListAgents(ctx context.Context) ([]*orchestrator.Agent, error) {
	return list(ctx, db, scanAgent, agentColumns+`WHERE trust <> ? ORDER BY name COLLATE NOCASE, id`,
		string(orchestrator.TrustRemoved))
}

// Grants returns the origins an agent may be reached at.
func (db *DB) Grants(ctx context.Context, agent string) ([]orchestrator.Grant, error) {
	return list(ctx, db, func(row scanner) (g orchestrator.Grant, err error) {
		var given int64
		err = row.Scan(&g.AgentID, &g.Origin, &given)
		g.Given = column.Time(given)
		return g, err
	}, `SELECT agent, origin, given FROM grants WHERE agent = ? ORDER BY origin`, agent)
}

// RevokeGrant takes a grant back. One that is not there is no error.
func (db *DB) RevokeGrant(ctx context.Context, g orchestrator.Grant) error {
	b := &batch{}
	b.add(`DELETE FROM grants WHERE agent = ? AND origin = ?`, g.AgentID, g.Origin)
	b.change(orchestrator.Change{AgentID: g.AgentID})
	return db.writer.waitFor(ctx, &op{batch: b})
}

func (b *batch) token(t *orchestrator.Token) {
	b.add(`INSERT INTO tokens (id, name, hash, agents, read_only, credentials, rate, created, used, revoked, workflows)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, hash = excluded.hash, agents = excluded.agents,
			read_only = excluded.read_only, credentials = excluded.credentials, rate = excluded.rate,
			created = excluded.created, used = excluded.used, revoked = excluded.revoked, workflows = excluded.workflows`, t.ID, t.Name, bytes.Clone(t.Hash[:]), b.json(t.Agents), t.ReadOnly, t.Credentials,
		int64(t.RatePerMin), column.Milli(t.Created), column.Milli(t.Used), column.Milli(t.Revoked), t.Workflows)
	b.change(orchestrator.Change{TokenID: t.ID})
}

const tokenColumns = `SELECT id, name, hash, agents, read_only, credentials, rate, created, used, revoked, workflows FROM tokens `

func scanToken(row scanner) (*orchestrator.Token, error) {
	var (
		t                      orchestrator.Token
		hash, agents           []byte
		created, used, revoked int64
	)
	err := row.Scan(&t.ID, &t.Name, &hash, &agents, &t.ReadOnly, &t.Credentials, &t.RatePerMin, &created, &used, &revoked, &t.Workflows)
	if err != nil {
		return nil, missing(err)
	}
	copy(t.Hash[:], hash)
	t.Created, t.Used, t.Revoked = column.Time(created), column.Time(used), column.Time(revoked)
	return &t, column.Read(agents, &t.Agents)
}

// Token returns the token with a hash, also a revoked one.
func (db *DB) Token(ctx context.Context, hash [32]byte) (*orchestrator.Token, error) {
	return scanToken(db.read.QueryRowContext(ctx, tokenColumns+`WHERE hash = ?`, hash[:]))
}

// ListTokens returns all tokens, oldest first.
func (db *DB) ListTokens(ctx context.Context) ([]*orchestrator.Token, error) {
	return list(ctx, db, scanToken, tokenColumns+`ORDER BY created, id`)
}
