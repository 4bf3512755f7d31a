package wire

import (
	"context"
	"time"

	"parley/a2a"
)

// Exchange is one HTTP exchange as it was on the wire, for the inspector. Secrets are masked by whoever stores it.
type Exchange struct {
	At       time.Time
	Inbound  bool   // a client called us; otherwise we called an agent
	Peer     string // principal or agent id
	TaskID   string // "" when not known
	Method   string // of the dialect, e.g. message/send
	Dialect  Dialect
	URL      string
	Status   int // HTTP status; 0 when there was no answer
	Took     time.Duration
	Header   map[string][]string // of the request, as it is: to be read, not changed
	Request  []byte
	Response []byte // of a stream: nil, its frames are the task's events Events[0] to Events[1]
	Events   [2]int64
	Err      string
	Kind     a2a.ErrorKind // of Err, where it is an answer in A2A's terms
}

// Tap is told of every exchange once it is over, with the context of the call. It must not block and keeps what it is
// given; nil means nobody listens.
type Tap func(context.Context, *Exchange)
