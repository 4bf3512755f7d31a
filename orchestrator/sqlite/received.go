package sqlite

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"parley/orchestrator"
	"parley/orchestrator/column"
)

// received answers, without looking into the file, that a message was certainly not received before: which is so for
// nearly every message, and each is asked about. It is a Bloom filter of the receipts; past some 500,000 of them it errs
// more often, which costs the look it was to save and nothing else.
type received struct {
	seed maphash.Seed
	bits [receivedWords]atomic.Uint64
	full atomic.Bool // the receipts that were in the file when it was opened are in here
}

// receivedWords makes a mebibyte.
const receivedWords = 1 << 17

// receivedProbes is how many bits stand for one receipt.
const receivedProbes = 5

func newReceived() *received { return &received{seed: maphash.MakeSeed()} }

// probe calls f with the place of every bit of a receipt, until f says stop, and reports whether it never did.
func (r *received) probe(scope, principal, message string, f func(word *atomic.Uint64, bit uint64) bool) bool {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range []string{scope, principal, message} {
		h.WriteString(s)
		h.WriteByte(0)
	}
	sum := h.Sum64()
	step := sum>>32 | 1
	for range receivedProbes {
		if !f(&r.bits[sum>>6%receivedWords], 1<<(sum%64)) {
			return false
		}
		sum += step
	}
	return true
}

// add remembers a receipt. It comes before its commit.
func (r *received) add(scope, principal, message string) {
	r.probe(scope, principal, message, func(word *atomic.Uint64, bit uint64) bool {
		word.Or(bit)
		return true
	})
}

// may reports whether there may be such a receipt.
func (r *received) may(scope, principal, message string) bool {
	return !r.full.Load() || r.probe(scope, principal, message, func(word *atomic.Uint64, bit uint64) bool {
		return word.Load()&bit != 0
	})
}

// load adds the receipts of earlier processes. Until it is through, may says yes to everything.
func (r *received) load(ctx context.Context, db *DB) {
	rows, err := db.read.QueryContext(ctx, `SELECT scope, principal, message FROM receipts`)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var scope, principal, message string
			if err = rows.Scan(&scope, &principal, &message); err != nil {
				break
			}
			r.add(scope, principal, message)
		}
		if err == nil {
			err = rows.Err()
		}
	}
	switch {
	case err == nil:
		r.full.Store(true)
	case ctx.Err() == nil:
		db.log.Warn("the receipts could not be read; every message is looked up", "error", err)
	}
}

// Received returns the receipt of a message.
func (db *DB) Received(ctx context.Context, scope, principal, messageID string) (*orchestrator.Receipt, error) {
	if !db.received.may(scope, principal, messageID) {
		return nil, orchestrator.ErrNotFound
	}
	r := &orchestrator.Receipt{Scope: scope, Principal: principal, MessageID: messageID}
	var digest []byte
	var at int64
	err := db.read.QueryRowContext(ctx, `SELECT digest, run, after, at FROM receipts
		WHERE scope = ? AND principal = ? AND message = ?`, scope, principal, messageID).
		Scan(&digest, &r.RunID, &r.After, &at)
	if err != nil {
		return nil, missing(err)
	}
	copy(r.Digest[:], digest)
	r.At = column.Time(at)
	return r, nil
}
