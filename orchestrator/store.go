package orchestrator

import (
	"context"
	"errors"
	"iter"
	"time"

	"parley/a2a"
)

// Store keeps everything. Reads see what is committed.
type Store interface {
	Log
	Agents
	Conversations
	Runs
	Workflows
	Settings

	// Healthy returns nil, or an *a2a.Error of kind a2a.KindUnavailable saying in plain words why the store takes no
	// writes now (disk full, I/O error, locked, corrupt). Reads go on working.
	Healthy() error

	// Changes yields what lists must read again: a conversation, an agent, a run, a workflow, a token, a setting changed. Hints may be merged or
	// lost; what they hint at is in the store. It ends with ctx.
	Changes(ctx context.Context) iter.Seq[Change]
}

// Log is the one log.
type Log interface {
	// Write commits b, all of it or nothing, and returns when it is on disk. When ctx ends first, b may still be written.
	Write(ctx context.Context, b *Batch) error

	// Enqueue queues b and returns at once. done, which may be nil, is called after the commit or its failure, in the
	// order of the calls, from the writer: it must not block. entries are those of b.Events. After a failure the later
	// batches with events of the same run fail too, until a Write for that run succeeds; an ErrDuplicate of Write, whose
	// caller knows before it goes on, is no such failure. An event over BlobSize is on disk before Enqueue returns.
	Enqueue(b *Batch, done func(entries []*a2a.Entry, err error))

	// ReadRun and ReadConversation yield the events so far with Seq > after, oldest first; FollowRun and
	// FollowConversation do the same and then wait for more until ctx is done. Each item is what was ready, never
	// empty. A slow reader is a cursor that is behind: it delays nobody.
	ReadRun(ctx context.Context, run string, after int64) iter.Seq2[[]*Event, error]
	FollowRun(ctx context.Context, run string, after int64) iter.Seq2[[]*Event, error]
	ReadConversation(ctx context.Context, conversation string, after int64) iter.Seq2[[]*Event, error]
	FollowConversation(ctx context.Context, conversation string, after int64) iter.Seq2[[]*Event, error]

	// ReadRuns returns all events so far of several runs, by run and oldest first. What would be much to hold at once is
	// left out: a run that is not in the answer is read by ReadRun.
	ReadRuns(ctx context.Context, runs []string) (map[string][]*Event, error)

	// Head returns the Seq of the newest event of all.
	Head(ctx context.Context) (int64, error)
}

// Batch is what one transaction writes: events appended in order, then rows put in place (inserted or replaced whole).
// Empty fields are left alone. Events and their JSON are kept, not copied; the rows may be changed once Write or Enqueue
// has returned, but for the ID of new items, which is set before Write returns or done is called. Times are kept to the
// millisecond.
type Batch struct {
	Events        []NewEvent
	Receipt       *Receipt // ErrDuplicate, and nothing written, when the message is known
	Agents        []*Agent
	Grants        []Grant
	Conversations []*Conversation // but for Name and Pinned of one that is there: see ChatMark
	Marks         []ChatMark      // after Conversations
	Runs          []*Run
	Steps         []*Step
	Contexts      []*ChildContext
	Asks          []*Ask
	Items         []*Item // ID 0: appended, and given the next ID
	Tokens        []*Token
	Workflows     []*Workflow
	Settings      map[string]string

	// Claims are the runs that the batch goes by, each with its claim: ErrMoved, and nothing written, when somebody claimed
	// one of them since. Only a store that is Shared looks at it.
	Claims map[string]int64
}

// NewEvent is an event before it has its place. JSON over BlobSize goes to the blob store; the row holds its hash.
type NewEvent struct {
	RunID          string
	ConversationID string
	Kind           EventKind
	At             time.Time
	JSON           []byte
	Event          a2a.Event // decoded, when at hand; saves readers the work
}

// BlobSize is the length above which the JSON of an event lives in the blob store.
const BlobSize = 128 << 10

// ErrDuplicate says that a Receipt was there already.
var ErrDuplicate = errors.New("this message was received before")

// Shared is what a Store offers beside when several processes write it at the same time. Whoever carries a run on, or
// changes it, claims it first and reads it then; what was known of it before counts no more.
type Shared interface {
	// Claim makes the caller the only one whose batches may name the run, and returns the claim. What was written under
	// an earlier claim is readable then, or is never written. Changes tells every process of it.
	Claim(ctx context.Context, run string) (int64, error)

	// Claimed returns the newest claim of a run; 0 when nobody ever claimed it.
	Claimed(ctx context.Context, run string) (int64, error)

	// OpenCount returns how many runs of a principal have not ended: those that go on, and those that wait for somebody.
	OpenCount(ctx context.Context, principal string) (running, interrupted int, err error)
}

// Leader is what a Shared store offers beside, for what only one process may do at a time.
type Leader interface {
	// Lead calls lead while this process is the one of all that share the store that does what name stands for, until ctx
	// is done. lead's context ends when it no longer is, or is not known to be; lead is to end then. It may be called again.
	Lead(ctx context.Context, name string, lead func(ctx context.Context))
}

// ErrMoved says that somebody else claimed a run.
var ErrMoved = errors.New("somebody else carries the run on")

// ErrNotFound is returned by reads of a single row that is not there.
var ErrNotFound = errors.New("not found")

// Agents is the registry.
type Agents interface {
	Agent(ctx context.Context, id string) (*Agent, error)
	ListAgents(ctx context.Context) ([]*Agent, error) // by name, without removed ones
	Grants(ctx context.Context, agent string) ([]Grant, error)
	RevokeGrant(ctx context.Context, g Grant) error

	Token(ctx context.Context, hash [32]byte) (*Token, error) // also revoked ones
	ListTokens(ctx context.Context) ([]*Token, error)
}

// Conversations are the chats and their items.
type Conversations interface {
	Conversation(ctx context.Context, id string) (*Conversation, error)

	// ListConversations returns pinned ones first, then newest first; at most n, starting after the conversation
	// named by after ("" = from the top).
	ListConversations(ctx context.Context, after string, n int) ([]*Conversation, error)

	// Items returns the newest n items with ID < before (0 = the newest of all), oldest first.
	Items(ctx context.Context, conversation string, before int64, n int) ([]*Item, error)

	// EachItem yields all items, oldest first, without holding them.
	EachItem(ctx context.Context, conversation string) iter.Seq2[*Item, error]

	// Artifact returns an artifact of a run as its events have it so far.
	Artifact(ctx context.Context, run, artifact string) (*a2a.Artifact, error)

	// Search finds items by words, newest first (rank only within the newest 1,000 hits when ranked is asked for).
	Search(ctx context.Context, q SearchQuery) ([]Hit, error)

	// Erase removes a conversation with its runs, events, blobs and wire records. It cannot be undone.
	Erase(ctx context.Context, conversation string) error
}

// SearchQuery is what a person typed, with its page.
type SearchQuery struct {
	Text           string // words must all be there; the last is taken as a prefix; "…" is a phrase
	ConversationID string // "" = everywhere
	Ranked         bool
	Before         int64 // item id to go on from; 0 = the first page
	Limit          int   // 0 = 20
}

// Hit is one item found.
type Hit struct {
	Item    *Item // Text shortened to the snippet
	Title   string
	Snippet []Span
}

// Span is a run of text, marked where it matched.
type Span struct {
	Text string
	Mark bool
}

// Runs are the requests, their steps and asks.
type Runs interface {
	Run(ctx context.Context, id string) (*Run, error)

	// ListRuns returns a principal's runs in a scope in the order (Updated, ID) descending, at most limit, that match
	// the request's ContextID, Status and StatusTimestampAfter and come after the row `before` when it is given; and
	// how many match in all. Runs answered by a Message are left out.
	ListRuns(ctx context.Context, scope, principal string, r *a2a.ListRequest, before *Run, limit int) ([]*Run, int, error)

	// OpenRuns yields the runs of a scope (a scope ending in "/" = all that start with it) that have not ended.
	OpenRuns(ctx context.Context, scope string) iter.Seq2[*Run, error]

	// RunsOf returns the runs of a conversation that have not ended, oldest first.
	RunsOf(ctx context.Context, conversation string) ([]*Run, error)

	Received(ctx context.Context, scope, principal, messageID string) (*Receipt, error)
	Steps(ctx context.Context, run string) ([]*Step, error)
	Context(ctx context.Context, key, agent string) (*ChildContext, error)

	Ask(ctx context.Context, id string) (*Ask, error)
	// OpenAsks returns the open asks of the local person, or of one run when run is not "".
	OpenAsks(ctx context.Context, run string) ([]*Ask, error)
}

// Settings are named values.
type Settings interface {
	Setting(ctx context.Context, name string) (string, error) // "" when unset

	// Expire removes what is older than the retention setting says: conversations, ended runs, receipts, wire records.
	Expire(ctx context.Context, now time.Time) (removed int, err error)
}

// RetentionDays is the setting that says how many days of history are kept; "" or "0" = for ever.
const RetentionDays = "retention.days"

// ErrorMapping is the setting that says which edition of v1.0 the HTTP and gRPC statuses of our errors are those of:
// "1.0.0", or "1.0.1", which is also meant by "".
const ErrorMapping = "a2a.errorMapping"

// Change hints at a row that changed. Empty fields did not change.
type Change struct {
	ConversationID string
	AgentID        string
	RunID          string
	AskID          string
	WorkflowID     string
	TokenID        string
	Setting        string // its name
}
