package pb_test

import (
	"testing"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

// What is written in v1.0 holds no member that its protocol buffers do not define, whatever it is about: there are readers
// that refuse a reply for one.
func TestCheck06NewBodiesAreStrict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		strict := func(what string, body []byte, into proto.Message) {
			if err := protojson.Unmarshal(body, into); err != nil {
				t.Fatalf("%s: %v\n%s", what, err, body)
			}
		}
		call := func(op wire.Op) *wire.Call { return &wire.Call{Dialect: wire.NEW, Op: op, REST: true} }
		e := wiretest.Event().Draw(t, "event")
		strict("an event", a2a.MarshalEvent(e), &lf.StreamResponse{})
		switch e := e.(type) {
		case *a2a.Task:
			strict("a reply", wire.AppendResult(nil, call(wire.OpSend), e), &lf.SendMessageResponse{})
			strict("a task", wire.AppendResult(nil, call(wire.OpGet), e), &lf.Task{})
			page := &a2a.TaskPage{Tasks: []a2a.Task{*e}, PageSize: 50, TotalSize: 1}
			strict("a page", wire.AppendResult(nil, call(wire.OpList), page), &lf.ListTasksResponse{})
		case *a2a.Message:
			strict("a reply", wire.AppendResult(nil, call(wire.OpSend), e), &lf.SendMessageResponse{})
		}
		card := wiretest.Card().Draw(t, "card")
		strict("a card", wire.AppendResult(nil, call(wire.OpExtendedCard), &card), &lf.AgentCard{})
		push := wiretest.Push().Draw(t, "push")
		strict("a push configuration", wire.AppendResult(nil, call(wire.OpPushSet), &push), &lf.TaskPushNotificationConfig{})
		request := wiretest.Request().Draw(t, "request")
		r, err := wire.EncodeREST(wire.NEW, wire.OpSend, &request)
		if err != nil {
			t.Fatal(err)
		}
		strict("a request", r.Body, &lf.SendMessageRequest{})
	})
}
