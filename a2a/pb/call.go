package pb

import (
	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"parley/a2a"
	"parley/a2a/wire"
)

// DecodeCall reads a request of a method. Its size is the caller's business, every other limit of a2a.Limits is checked
// here. The call is never nil; an error is an *a2a.Error.
func DecodeCall(m *Method, request proto.Message) (*wire.Call, error) {
	c := &wire.Call{Method: m.Name, Dialect: m.Dialect, Op: m.Op}
	var r reader
	if m.Dialect == wire.NEW {
		r.newCall(c, request)
	} else {
		r.v03Call(c, request)
	}
	if err := r.err(); err != nil {
		return c, err
	}
	return c, wire.CheckCall(c)
}

// Reply makes the reply to a call. result is as for wire.AppendResult: *a2a.Task or *a2a.Message for OpSend, *a2a.Task for
// OpGet and OpCancel, and so on; nil for OpPushDelete.
func Reply(c *wire.Call, result any) (proto.Message, error) {
	switch {
	case result == nil:
		return &emptypb.Empty{}, nil
	case c.Dialect == wire.NEW:
		return newReply(c.Op, result)
	}
	return v03Reply(c.Op, result)
}

// Event makes one message of a stream.
func Event(d wire.Dialect, e a2a.Event) proto.Message {
	if d == wire.NEW {
		return newEvent(e)
	}
	return v03Event(e)
}

// Final reports whether a message of a stream says that nothing follows it, as a2a.v1 has it.
func Final(m proto.Message) bool {
	r, ok := m.(*v03.StreamResponse)
	return ok && r.GetStatusUpdate().GetFinal()
}

// The forms of an a2a.Entry that hold the messages of a stream, encoded. Package wire has those before them.
const (
	formNEW = 6
	formV03 = 7
)

// EncodeEntry returns an entry's event as an encoded message of a stream, made once and shared from then on.
func EncodeEntry(d wire.Dialect, e *a2a.Entry) ([]byte, error) {
	form := formNEW
	if d != wire.NEW {
		form = formV03
	}
	return e.Form(form, func(e *a2a.Entry) ([]byte, error) {
		event, err := e.Event()
		if err != nil {
			return nil, err
		}
		return proto.Marshal(Event(d, event))
	})
}

// Request makes a request as a client writes it. params is as for wire.AppendCall. An operation the dialect does not have
// is an *a2a.Error of kind KindUnsupportedOperation.
func Request(d wire.Dialect, op wire.Op, params any) (*Method, proto.Message, error) {
	m := MethodOf(d, op)
	if m == nil {
		return nil, nil, a2a.Errorf(a2a.KindUnsupportedOperation, "agents of A2A %s do not have this operation", d)
	}
	var request proto.Message
	if m.Dialect == wire.NEW {
		request = newRequest(op, params)
	} else {
		request = v03Request(op, params)
	}
	if request == nil {
		return nil, nil, a2a.Errorf(a2a.KindInternal, "there is no request of %T", params)
	}
	return m, request, nil
}

// Result reads a reply, or one message of a stream: what wire.DecodeReply returns for the operation. A reply that says
// nothing is an *a2a.Error of kind KindInvalidAgentResponse.
func Result(m *Method, reply proto.Message) (any, error) {
	var r reader
	var v any
	switch reply := reply.(type) {
	case *emptypb.Empty:
		return nil, nil
	case *lf.AgentCard, *v03.AgentCard:
		return readCard(reply)
	default:
		if m.Dialect == wire.NEW {
			v = r.newResult(reply)
		} else {
			v = r.v03Result(reply)
		}
	}
	if v == nil {
		r.fail("the reply", "is empty")
	}
	if err := r.err(); err != nil {
		return nil, invalidReply(err)
	}
	switch err := wire.CheckReply(v); {
	case err == nil:
		return v, nil
	case a2a.KindOf(err) == a2a.KindTooLarge:
		return nil, err
	default:
		return nil, invalidReply(err)
	}
}

// invalidReply says of an error in a reply that it is the agent's.
func invalidReply(err error) error {
	return a2a.Errorf(a2a.KindInvalidAgentResponse, "the agent's reply cannot be read: %w", err)
}
