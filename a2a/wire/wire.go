// Package wire reads and writes A2A on the wire: JSON-RPC (envelope.go), HTTP+JSON (rest.go), SSE framing, agent cards,
// webhooks (push.go), and the JSON families: new.go for v1.0, mid.go for v0.2 and v0.3, proto.go for the same over
// HTTP+JSON, old.go for v0.1 and the drafts before it. Everything above it sees package a2a only.
//
// Reading is lenient where peers are known to differ, writing is strict: no member that the dialect does not define, all
// that its strictest reader requires. What another dialect cannot say is listed in package wiretest; everything else
// survives canonical → dialect → canonical unchanged.
package wire

import (
	"encoding/json"

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

// Call is a request as received, over JSON-RPC or HTTP+JSON. Exactly the field that belongs to Op is set.
type Call struct {
	ID      json.RawMessage // as it was written; "null" when unreadable, and over HTTP+JSON
	Method  string          // of the dialect; over HTTP+JSON the verb and the route, such as "GET /tasks/{id}"
	Dialect Dialect
	Op      Op
	REST    bool // came over HTTP+JSON: replies and frames are bare, without the JSON-RPC envelope

	Send       *a2a.SendRequest // OpSend, OpStream
	Get        *a2a.GetRequest
	List       *a2a.ListRequest
	Cancel     *a2a.CancelRequest
	Subscribe  *a2a.SubscribeRequest
	Push       *a2a.PushConfig // OpPushSet
	PushGet    *a2a.PushGetRequest
	PushList   *a2a.PushListRequest
	PushDelete *a2a.PushDeleteRequest
	Card       *a2a.ExtendedCardRequest

	Index        *Index // OLD: numbers the artifacts of this exchange's task; replies and frames use and extend it
	Named        bool   // OLD: frames say event: task_status_update or task_artifact_update, which trpc-a2a-go needs
	SingleBase64 bool   // PROTO: the bytes of files are encoded once in replies; see SingleBase64
}
