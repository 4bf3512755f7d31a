package wire

import (
	"encoding/json"
	"strconv"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// family is one JSON family: what its methods are called, and how its params, results and events look. A new family is
// one new file and a line in families.
type family interface {
	method(Op) string // "" when there is no such operation

	readParams(*jsontext.Reader, *Call) // fills in the field of c that belongs to c.Op
	appendParams(b []byte, op Op, params any) []byte

	appendResult(b []byte, c *Call, result any) []byte
	readResult(*jsontext.Reader, Op) any // nil when r fails

	appendEvent([]byte, a2a.Event) []byte // the result of a stream's frame; OLD needs more than one and an Index

	code(a2a.ErrorKind) int
	kind(code int) a2a.ErrorKind
	details() bool // whether errors carry ErrorInfo
}

var families = [...]family{NEW: newFamily{}, MID: midFamily{}, OLD: oldFamily{}, PROTO: protoFamily{}}

func of(d Dialect) family { return families[d] }

type operation struct {
	dialect Dialect
	op      Op
}

// operations finds what a method name means. Where families share a name, the newer one is meant.
var operations = func() map[string]operation {
	m := map[string]operation{}
	for d, f := range families {
		for op := OpSend; op <= OpExtendedCard; op++ {
			name := f.method(op)
			if _, known := m[name]; name != "" && !known {
				m[name] = operation{Dialect(d), op}
			}
		}
	}
	return m
}()

// maxID bounds what every frame of a stream repeats.
const maxID = 1024

var null = json.RawMessage("null")

// DecodeCall reads a request of any family, told apart by its method name; tasks/get, tasks/cancel and tasks/resubscribe
// are MID (see Call.AsOLD). The size of body is the caller's business, every other limit of a2a.Limits is checked here. The call is never
// nil: with an error (an *a2a.Error) it holds the ID, Dialect and Method as far as they could be read, for the reply.
func DecodeCall(body []byte) (*Call, error) {
	c := &Call{ID: null, Dialect: MID}
	deep := jsontext.Check(body, a2a.Limits.JSONDepth)
	if e, ok := deep.(*jsontext.Error); ok && e.Kind == jsontext.Syntax {
		return c, a2a.JSONError(body, deep)
	}
	r := jsontext.NewReader(body)
	switch r.Peek() {
	case '{':
	case '[':
		return c, a2a.Errorf(a2a.KindInvalidRequest, "batches are not supported")
	default:
		return c, a2a.Errorf(a2a.KindInvalidRequest, "a request must be an object")
	}
	var version, method, params, id []byte
	for r.Object(); r.MemberOrNull(); {
		switch string(r.Key()) {
		case "jsonrpc":
			version = r.Span()
		case "id":
			id = r.Span()
		case "method":
			if method = nil; r.Peek() == '"' {
				method = r.Text()
			} else {
				r.Skip()
			}
		case "params":
			params = r.Span()
		default:
			r.Skip()
		}
	}
	switch {
	case id == nil:
		return c, a2a.Errorf(a2a.KindInvalidRequest, "the request has no id")
	case !validID(id):
		return c, a2a.Errorf(a2a.KindInvalidRequest, "the id must be a string, a number or null, of at most %d bytes", maxID)
	}
	c.ID = append(json.RawMessage(nil), id...)
	op, known := operations[string(method)]
	if known {
		c.Method, c.Dialect, c.Op = of(op.dialect).method(op.op), op.dialect, op.op
	} else {
		c.Method = string(method)
		if len(method) > 0 && 'A' <= method[0] && method[0] <= 'Z' {
			c.Dialect = NEW
		}
	}
	switch {
	case string(version) != `"2.0"`:
		return c, a2a.Errorf(a2a.KindInvalidRequest, `jsonrpc must be "2.0"`)
	case len(method) == 0:
		return c, a2a.Errorf(a2a.KindInvalidRequest, "the request has no method")
	case !known:
		return c, a2a.Errorf(a2a.KindMethodNotFound, "there is no method of that name")
	}
	if deep != nil {
		if err := jsontext.Check(params, a2a.Limits.JSONDepth-1); err != nil {
			return c, a2a.JSONError(params, err)
		}
		return c, a2a.Errorf(a2a.KindInvalidRequest, "the request is nested too deeply")
	}
	switch {
	case len(params) == 0 || params[0] == 'n':
		params = []byte("{}")
	case params[0] != '{':
		return c, invalid("params", "must be an object").err()
	}
	if err := readParamsOf(c, params); err != nil {
		return c, err
	}
	if c.Dialect == OLD {
		c.Index = NewIndex(c.TaskID())
	}
	return c, checkCall(c).err()
}

// readParamsOf reads a checked text of params into c.
func readParamsOf(c *Call, params []byte) error {
	r := jsontext.NewReader(params)
	c.begin()
	of(c.Dialect).readParams(r, c)
	return a2a.JSONError(params, r.Err())
}

func validID(id []byte) bool {
	switch c := id[0]; {
	case len(id) > maxID:
		return false
	case c == '"', c == 'n', c == '-', '0' <= c && c <= '9':
		return true
	}
	return false
}

// appendHead begins a JSON-RPC reply up to its result or error.
func appendHead(b []byte, id json.RawMessage) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if len(id) == 0 {
		id = null
	}
	return append(b, id...)
}

// AppendResult appends a reply to c. result is *a2a.Task or *a2a.Message for OpSend, *a2a.Task for OpGet and OpCancel,
// *a2a.TaskPage for OpList, *a2a.PushConfig for OpPushSet and OpPushGet, *a2a.PushConfigPage for OpPushList, nil for
// OpPushDelete, *a2a.AgentCard for OpExtendedCard. The credentials of push configurations are never written.
func AppendResult(b []byte, c *Call, result any) []byte {
	if c.REST {
		return of(c.Dialect).appendResult(b, c, result)
	}
	b = append(appendHead(b, c.ID), `,"result":`...)
	b = of(c.Dialect).appendResult(b, c, result)
	return append(b, '}')
}

// AppendFrame appends an SSE frame with an entry to b: "id: <seq>", "data: <reply>" and an empty line. An entry that
// several read is put into the dialect for the first and once for all others. OLD has a frame for each of what an entry of v1.0 may hold at once, and no ids.
func AppendFrame(b []byte, c *Call, e *a2a.Entry) ([]byte, error) {
	if c.Dialect != NEW || c.REST {
		return appendOtherFrame(b, c, e)
	}
	b = strconv.AppendInt(append(b, "id: "...), e.Seq, 10)
	b = append(b, "\ndata: "...)
	b = append(appendHead(b, c.ID), `,"result":`...)
	b = append(b, e.JSON...)
	return append(b, "}\n\n"...), nil
}

// appendOtherFrame is for all but JSON-RPC of NEW.
func appendOtherFrame(b []byte, c *Call, e *a2a.Entry) ([]byte, error) {
	result := e.JSON
	var event a2a.Event
	var f family
	switch c.Dialect {
	case NEW:
	case OLD:
		event, err := e.Event()
		if err != nil {
			return b, err
		}
		return appendOldFrames(b, c, event), nil
	default:
		form := c.form()
		var err error
		if e.First(form) {
			event, err = e.Event()
			f = writers[form]
		} else {
			result, err = e.Form(form, forms[form])
		}
		if err != nil {
			return b, err
		}
	}
	b = strconv.AppendInt(append(b, "id: "...), e.Seq, 10)
	b = append(b, "\ndata: "...)
	if !c.REST {
		b = append(appendHead(b, c.ID), `,"result":`...)
	}
	if f != nil {
		b = f.appendEvent(b, event)
	} else {
		b = append(b, result...)
	}
	if !c.REST {
		b = append(b, '}')
	}
	return append(b, "\n\n"...), nil
}

// singleForm is the form of PROTO entries whose files are encoded once.
const singleForm = int(PROTO) + 1

// form is the number of the form that c's entries have.
func (c *Call) form() int {
	if c.Dialect == PROTO && c.SingleBase64 {
		return singleForm
	}
	return int(c.Dialect)
}

// writers are those whose entries have forms, by the forms' numbers, and forms makes these.
var (
	writers = [...]family{MID: midFamily{}, PROTO: protoFamily{}, singleForm: protoFamily{single: true}}
	forms   = [...]func(*a2a.Entry) ([]byte, error){MID: form(writers[MID]), PROTO: form(writers[PROTO]), singleForm: form(writers[singleForm])}
)

func form(f family) func(*a2a.Entry) ([]byte, error) {
	return func(e *a2a.Entry) ([]byte, error) {
		event, err := e.Event()
		if err != nil {
			return nil, err
		}
		return f.appendEvent(make([]byte, 0, len(e.JSON)+128), event), nil
	}
}

// AppendEventFrame does the same for an event that is not in the log (a snapshot); seq 0 writes no id.
func AppendEventFrame(b []byte, c *Call, seq int64, e a2a.Event) []byte {
	if c.Dialect == OLD {
		return appendOldFrames(b, c, e)
	}
	if seq != 0 {
		b = append(strconv.AppendInt(append(b, "id: "...), seq, 10), '\n')
	}
	b = append(b, "data: "...)
	f := of(c.Dialect)
	if c.SingleBase64 && c.Dialect == PROTO {
		f = protoFamily{single: true}
	}
	if c.REST {
		return append(f.appendEvent(b, e), "\n\n"...)
	}
	b = append(appendHead(b, c.ID), `,"result":`...)
	b = f.appendEvent(b, e)
	return append(b, "}\n\n"...)
}

// AppendErrorFrame appends an SSE frame with an error reply.
func AppendErrorFrame(b []byte, c *Call, err error, m ErrorMapping) []byte {
	if c.REST && c.Dialect != NEW {
		b = append(b, "event: error\n"...)
	}
	b = AppendCallError(append(b, "data: "...), c, err, m)
	return append(b, "\n\n"...)
}

// AppendCall appends a JSON-RPC request as a client writes it. params is *a2a.SendRequest for OpSend and OpStream,
// *a2a.GetRequest, *a2a.ListRequest, *a2a.CancelRequest, *a2a.SubscribeRequest, *a2a.PushConfig, *a2a.PushGetRequest,
// *a2a.PushListRequest, *a2a.PushDeleteRequest, and *a2a.ExtendedCardRequest or nil for OpExtendedCard. An operation the
// dialect does not have is an *a2a.Error of kind KindUnsupportedOperation. Messages of OLD need a TaskID, which the client
// makes.
func AppendCall(b []byte, d Dialect, op Op, id string, params any) ([]byte, error) {
	method := MethodName(d, op)
	if method == "" {
		return b, unsupported(d)
	}
	if s, ok := params.(*a2a.SendRequest); ok && d == OLD && s.Message.TaskID == "" {
		return b, invalid("message.taskId", "must not be empty: clients of v0.1 name the task").err()
	}
	b = jsontext.AppendString(append(b, `{"jsonrpc":"2.0","id":`...), id)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = of(d).appendParams(b, op, params)
	return append(b, '}'), nil
}

func unsupported(d Dialect) error {
	return a2a.Errorf(a2a.KindUnsupportedOperation, "agents of A2A %s do not have this operation", d)
}

// MethodName is what d calls op; "" when it has no such operation.
func MethodName(d Dialect, op Op) string {
	return families[d].method(op)
}

// DecodeReply reads a reply to op: an a2a.Event (*a2a.Task or *a2a.Message) for OpSend, otherwise what AppendResult was
// given; from a stream it reads one frame's data: any a2a.Event, which OLD gives as updates only, and nil for what is no event
// of OLD. A JSON-RPC error is returned as an *a2a.Error with Code and Data as received, its kind read in the terms of d. A body
// that is no reply is an *a2a.Error of kind KindInvalidAgentResponse.
func DecodeReply(d Dialect, op Op, body []byte) (any, error) {
	if err := jsontext.Check(body, a2a.Limits.JSONDepth); err != nil {
		return nil, invalidReply(a2a.JSONError(body, err))
	}
	r := jsontext.NewReader(body)
	if r.Peek() != '{' {
		return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the agent's reply is not an object")
	}
	var result, fault []byte
	var code, message bool
	for r.Object(); r.Member(); {
		switch string(r.Key()) {
		case "result":
			result = r.Span()
		case "error":
			fault = r.Span()
		case "code":
			code = true
			r.Skip()
		case "message":
			message = r.Peek() == '"'
			r.Skip()
		default:
			r.Skip()
		}
	}
	switch {
	case fault != nil:
		return nil, readError(d, fault)
	case result == nil && code && message: // an error frame without an envelope
		return nil, readError(d, body)
	case result == nil && op == OpPushDelete: // many leave out an empty one
		return nil, nil
	case result == nil:
		return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the agent's reply has no result")
	}
	return decodeResult(of(d), op, result)
}

// decodeResult reads a checked text.
func decodeResult(f family, op Op, result []byte) (any, error) {
	switch op {
	case OpPushDelete:
		return nil, nil
	case OpExtendedCard:
		card, _, err := DecodeCard(result)
		if err != nil {
			return nil, invalidReply(err)
		}
		return card, nil
	}
	r := jsontext.NewReader(result)
	v := f.readResult(r, op)
	if err := r.Err(); err != nil {
		return nil, invalidReply(a2a.JSONError(result, err))
	}
	switch wrong := checkReply(v); {
	case wrong == nil:
		return v, nil
	case wrong.kind == a2a.KindTooLarge:
		return nil, wrong.err()
	default:
		return nil, invalidReply(wrong.err())
	}
}

// invalidReply says of an error in a reply that it is the agent's.
func invalidReply(err error) error {
	return a2a.Errorf(a2a.KindInvalidAgentResponse, "the agent's reply cannot be read: %w", err)
}
