package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

const upsertAgent = `INSERT INTO agents (id, name, trust, card_url, card_json, card, card_hash, interface, dialect, known,
		notes, hue, local, idempotent, added, checked, fault, signature, latency, changed, muted)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
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

func scanAgent(row scanner) (*orchestrator.Agent, error) {
	var (
		a                        orchestrator.Agent
		card, iface, notes, flaw []byte
		signature, changed       []byte
		added, checked, latency  int64
	)
	err := row.Scan(&a.ID, &a.Name, &a.Trust, &a.CardURL, &a.CardJSON, &card, &a.CardHash, &iface, &a.Dialect, &a.Known, &notes,
		&a.Hue, &a.Local, &a.Idempotent, &added, &checked, &flaw, &signature, &latency, &changed, &a.Muted)
	if err != nil {
		return nil, err
	}
	a.Added, a.Health.Checked, a.Health.Latency = column.Time(added), column.Time(checked), time.Duration(latency)*time.Millisecond
	err = errors.Join(column.Read(card, &a.Card), column.Read(iface, &a.Interface), column.Read(notes, &a.Notes),
		column.Read(flaw, &a.Health.Fault), column.Read(signature, &a.Signature), column.Read(changed, &a.Changed))
	return &a, err
}

// Agent returns an agent, also a removed one.
func (db *DB) Agent(ctx context.Context, id string) (*orchestrator.Agent, error) {
	return scanAgent(db.row(ctx, agentColumns+`WHERE id = $1`, id))
}

// ListAgents returns the agents by name, without removed ones.
func (db *DB) ListAgents(ctx context.Context) ([]*orchestrator.Agent, error) {
	return list(ctx, db, scanAgent, agentColumns+`WHERE trust <> $1 ORDER BY lower(name), id`, string(orchestrator.TrustRemoved))
}

// Grants returns the origins an agent may be reached at.
func (db *DB) Grants(ctx context.Context, agent string) ([]orchestrator.Grant, error) {
	return list(ctx, db, func(row scanner) (g orchestrator.Grant, err error) {
		var given int64
		err = row.Scan(&g.AgentID, &g.Origin, &given)
		g.Given = column.Time(given)
		return g, err
	}, `SELECT agent, origin, given FROM grants WHERE agent = $1 ORDER BY origin`, agent)
}

// RevokeGrant takes a grant back. One that is not there is no error.
func (db *DB) RevokeGrant(ctx context.Context, g orchestrator.Grant) error {
	b := &batch{}
	b.add(`DELETE FROM grants WHERE agent = $1 AND origin = $2`, g.AgentID, g.Origin)
	b.change(orchestrator.Change{AgentID: g.AgentID})
	return db.writer.waitFor(ctx, &op{batch: b})
}

// token puts a token in place. Another process may store its use without knowing yet that it was revoked: that stays.
func (b *batch) token(t *orchestrator.Token) {
	b.add(`INSERT INTO tokens (id, name, hash, agents, read_only, credentials, workflows, rate, created, used, revoked)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, hash = excluded.hash, agents = excluded.agents,
			read_only = excluded.read_only, credentials = excluded.credentials, workflows = excluded.workflows,
			rate = excluded.rate, created = excluded.created, used = greatest(tokens.used, excluded.used),
			revoked = CASE tokens.revoked WHEN 0 THEN excluded.revoked ELSE tokens.revoked END`,
		t.ID, t.Name, bytes.Clone(t.Hash[:]), b.json(t.Agents), t.ReadOnly, t.Credentials, t.Workflows, int64(t.RatePerMin),
		column.Milli(t.Created), column.Milli(t.Used), column.Milli(t.Revoked))
	b.change(orchestrator.Change{TokenID: t.ID})
}

const tokenColumns = `SELECT id, name, hash, agents, read_only, credentials, workflows, rate, created, used, revoked FROM tokens `

func scanToken(row scanner) (*orchestrator.Token, error) {
	var (
		t                      orchestrator.Token
		hash, agents           []byte
		created, used, revoked int64
	)
	err := row.Scan(&t.ID, &t.Name, &hash, &agents, &t.ReadOnly, &t.Credentials, &t.Workflows, &t.RatePerMin, &created, &used, &revoked)
	if err != nil {
		return nil, err
	}
	copy(t.Hash[:], hash)
	t.Created, t.Used, t.Revoked = column.Time(created), column.Time(used), column.Time(revoked)
	return &t, column.Read(agents, &t.Agents)
}

// Token returns the token with a hash, also a revoked one.
func (db *DB) Token(ctx context.Context, hash [32]byte) (*orchestrator.Token, error) {
	return scanToken(db.row(ctx, tokenColumns+`WHERE hash = $1`, hash[:]))
}

// ListTokens returns all tokens, oldest first.
func (db *DB) ListTokens(ctx context.Context) ([]*orchestrator.Token, error) {
	return list(ctx, db, scanToken, tokenColumns+`ORDER BY created, id`)
}
