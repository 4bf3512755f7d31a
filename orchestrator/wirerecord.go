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

	Sizes [2]int // stored bytes of Request and Response; set by the log
}

// WireRefused is Err of an exchange that was to be refused, and was: a test asks agents for a task that cannot be. It is no
// failure.
const WireRefused = "refused, as expected"

// WireLog keeps wire records, within bounds of size and age.
type WireLog interface {
	// RecordWire queues a record and returns at once. Secrets in its URL, headers and bodies are masked before anything is
	// stored. r is not to be changed afterwards.
	RecordWire(r *WireRecord)

	// WireRecords returns records, newest first.
	WireRecords(ctx context.Context, q WireQuery) ([]*WireRecord, error)

	// WireRecord returns one record; ErrNotFound when it is gone.
	WireRecord(ctx context.Context, id int64) (*WireRecord, error)

	// WireHead returns the ID of the newest record, 0 without any, and how many bytes all of them take of how many they may.
	WireHead(ctx context.Context) (id, stored, most int64, err error)

	// WireNames returns the peers and the methods of the newest few thousand records, by name.
	WireNames(ctx context.Context) (peers, methods []string, err error)
}

// WireQuery selects wire records. Empty fields select all.
type WireQuery struct {
	RunID  string
	Calls  []string // with RunID: other runs whose records belong to it, those that carry out its steps
	TaskID string
	Peer   string
	Method string
	Way    WireWay
	Failed bool   // only what failed: without an answer, with a status of 400 or more, or with an error
	Text   string // found, without regard to case, in the address, the error or a body of the newest few thousand records
	Bare   bool   // without header and bodies, for a list
	Before int64  // ID to go on from; 0 = the newest
	Limit  int    // 0 = 50, at most 500
}

// WireWay is the direction of an exchange.
type WireWay string

const (
	WireOut  WireWay = "out"  // we called an agent, or delivered to a webhook
	WireIn   WireWay = "in"   // somebody called us
	WirePush WireWay = "push" // webhooks of either direction
)

// WirePushMethod is the Method of what is delivered to a webhook.
const WirePushMethod = "push"
