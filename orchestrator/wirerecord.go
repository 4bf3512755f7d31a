package orchestrator

import (
	"context"
	"time"
)

// WireRecord is one HTTP exchange as it was on the wire, for the inspector. It is a help, not a part of the history:
// under load records are dropped, and old ones go first.
type WireRecord struct {
	ID       int64 // set by the log, rising
	At       time.Time
	Inbound  bool   // a client called us; otherwise we called an agent
	Peer     string // principal or agent id
	RunID    string // "" when it belongs to none
	TaskID   string // as the peer calls it; "" when not known
	Method   string // of the dialect, e.g. message/send
	Dialect  string // "v1.0", "v0.3"
	URL      string
	Status   int // HTTP status; 0 when there was no answer
	Took     time.Duration
	Header   map[string][]string // of the request
	Request  []byte
	Response []byte   // of a stream: nil, its frames are the events Events[0] to Events[1]
	Events   [2]int64 // Seq of the first and the last event the exchange caused; 0 when none
	Err      string
}

// WireLog keeps wire records, within bounds of size and age.
type WireLog interface {
	// RecordWire queues a record and returns at once. Secrets in its URL, headers and bodies are masked before anything is
	// stored. r is not to be changed afterwards.
	RecordWire(r *WireRecord)

	// WireRecords returns records, newest first.
	WireRecords(ctx context.Context, q WireQuery) ([]*WireRecord, error)
}

// WireQuery selects wire records. Empty fields select all.
type WireQuery struct {
	RunID  string
	TaskID string
	Peer   string
	Before int64 // ID to go on from; 0 = the newest
	Limit  int   // 0 = 50
}
