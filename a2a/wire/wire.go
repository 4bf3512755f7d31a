// Package wire reads and writes A2A on the wire: the JSON-RPC envelope, SSE framing, agent cards, and one file per JSON
// family (new.go for v1.0, mid.go for v0.2 and v0.3). Everything above it sees package a2a only.
//
// Reading is lenient where peers are known to differ, writing is strict: no member that the dialect does not define, all
// that its strictest reader requires. What another dialect cannot say is listed in package wiretest; everything else
// survives canonical → dialect → canonical unchanged.
package wire

import (
	"encoding/json"
	"io"
	"iter"

	"parley/a2a"
)

// Op is an operation of A2A, whatever a dialect calls it.
type Op uint8

const (
	OpSend Op = iota + 1
	OpStream
	OpGet
	OpList
	OpCancel
	OpSubscribe
	OpPushSet
	OpPushGet
	OpPushList
	OpPushDelete
	OpExtendedCard
)

// Call is a JSON-RPC request as received. Exactly the field that belongs to Op is set; push operations have none yet.
type Call struct {
	ID      json.RawMessage // as it was written; "null" when unreadable
	Method  string
	Dialect Dialect
	Op      Op

	Send      *a2a.SendRequest // OpSend, OpStream
	Get       *a2a.GetRequest
	List      *a2a.ListRequest
	Cancel    *a2a.CancelRequest
	Subscribe *a2a.SubscribeRequest
}

// DecodeCall reads a request of any family, told apart by its method name; tasks/get, tasks/cancel and tasks/resubscribe
// are MID. The size of body is the caller's business, every other limit of a2a.Limits is checked here. The call is never
// nil: with an error (an *a2a.Error) it holds the ID, Dialect and Method as far as they could be read, for the reply.
func DecodeCall(body []byte) (*Call, error) { panic("unwritten") }

// AppendResult appends a JSON-RPC reply to c. result is *a2a.Task or *a2a.Message for OpSend, *a2a.Task for OpGet and
// OpCancel, *a2a.TaskPage for OpList, *a2a.AgentCard for OpExtendedCard.
func AppendResult(b []byte, c *Call, result any) []byte { panic("unwritten") }

// AppendError appends a JSON-RPC error reply. An error that is no *a2a.Error is written as an internal error without its
// text. NEW replies carry ErrorInfo.
func AppendError(b []byte, d Dialect, id json.RawMessage, err error) []byte { panic("unwritten") }

// HTTPStatus is the status of a JSON-RPC error reply: 200 but for 401, 403, 413, 415, 429 and 503.
func HTTPStatus(err error) int { panic("unwritten") }

// AppendFrame appends an SSE frame with an entry to b: "id: <seq>", "data: <JSON-RPC reply>" and an empty line. The entry
// is put into the dialect once and shared.
func AppendFrame(b []byte, c *Call, e *a2a.Entry) ([]byte, error) { panic("unwritten") }

// AppendEventFrame does the same for an event that is not in the log (a snapshot); seq 0 writes no id.
func AppendEventFrame(b []byte, c *Call, seq int64, e a2a.Event) []byte { panic("unwritten") }

// AppendErrorFrame appends an SSE frame with an error reply.
func AppendErrorFrame(b []byte, c *Call, err error) []byte { panic("unwritten") }

// AppendCall appends a request as a client writes it. params is *a2a.SendRequest for OpSend and OpStream, *a2a.GetRequest,
// *a2a.ListRequest, *a2a.CancelRequest, *a2a.SubscribeRequest, or nil for OpExtendedCard. An operation the dialect does
// not have is an *a2a.Error of kind KindUnsupportedOperation.
func AppendCall(b []byte, d Dialect, op Op, id string, params any) ([]byte, error) {
	panic("unwritten")
}

// DecodeReply reads a reply to op: an a2a.Event (*a2a.Task or *a2a.Message) for OpSend, *a2a.Task, *a2a.TaskPage or
// *a2a.AgentCard otherwise; from a stream it reads one frame's data: any a2a.Event. A JSON-RPC error is returned as an
// *a2a.Error with Code and Data as received, its kind read in the terms of d. A body that is no reply is an *a2a.Error of
// kind KindInvalidAgentResponse.
func DecodeReply(d Dialect, op Op, body []byte) (any, error) { panic("unwritten") }

// MethodName is what d calls op; "" when it has no such operation.
func MethodName(d Dialect, op Op) string { panic("unwritten") }

// CardForm says which dialects a written card serves.
type CardForm uint8

const (
	CardNEW      CardForm = iota // pure v1.0, for RPC results
	CardMID                      // pure v0.3
	CardSuperset                 // both at once, for /.well-known/agent-card.json
)

// DecodeCard reads a card of any version (also OLD ones, as far as their fields go) into canonical form. notes say in
// plain words what was missing or repaired; err (an *a2a.Error, Field set where one member is at fault) means that it
// cannot be used at all.
func DecodeCard(b []byte) (card *a2a.AgentCard, notes []string, err error) { panic("unwritten") }

// AppendCard appends a card.
func AppendCard(b []byte, f CardForm, card *a2a.AgentCard) []byte { panic("unwritten") }

// SSEEvent is one event of a text/event-stream.
type SSEEvent struct {
	Name string // of the event: line; "" = message
	ID   string
	Data []byte // lines joined by \n; valid until the next event
}

// ReadSSE reads a stream as the HTML standard says, leniently: CR, LF and CRLF, missing space after the colon, comments,
// a byte order mark. Lines and events over a2a.Limits.SSELine and SSEEvent end it with an *a2a.Error of kind KindTooLarge.
func ReadSSE(r io.Reader) iter.Seq2[SSEEvent, error] { panic("unwritten") }
