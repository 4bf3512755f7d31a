package wire

import (
	"net/http"
	"net/url"

	"parley/a2a"
)

// MethodError says that an address exists and takes other verbs. It is an *a2a.Error of kind KindMethodNotFound.
type MethodError struct {
	Allow string // for the header of that name
}

func (e *MethodError) Error() string { return "this address takes " + e.Allow + " only" }

func (e *MethodError) Unwrap() error {
	return &a2a.Error{Kind: a2a.KindMethodNotFound, Message: e.Error()}
}

// DecodeREST reads a request over HTTP+JSON. path is escaped and below the mount, such as "/message:send",
// "/acme/tasks/x:cancel" or "/v1/message:stream"; it says the dialect: PROTO below /v1, else NEW; MID for
// /agent/authenticatedExtendedCard. The size of body is the caller's business, every other limit of a2a.Limits is checked
// here. The call is never nil; with an error (an *a2a.Error or a *MethodError) it holds the Dialect and Method for the
// reply, as far as they are known.
func DecodeREST(method, path string, query url.Values, body []byte) (*Call, error) {
	return &Call{ID: null, REST: true}, a2a.Errorf(a2a.KindMethodNotFound, "there is nothing at this address")
}

// RESTRequest is a request over HTTP+JSON as a client sends it.
type RESTRequest struct {
	Method string // GET, POST or DELETE
	Path   string // escaped; to be appended to the interface's URL
	Query  url.Values
	Body   []byte // nil = none
}

// RESTOption changes how EncodeREST writes PROTO, where implementations differ.
type RESTOption uint8

const (
	// SingleBase64 encodes the bytes of files once, as the protocol has it and JavaScript peers do. Python and Go peers
	// encode them twice, and so does EncodeREST unless it is told otherwise.
	SingleBase64 RESTOption = iota + 1
	// StrictPush puts the id of a push configuration into the query and the bare configuration into the body.
	StrictPush
)

// EncodeREST returns a request of NEW or PROTO; params are those of AppendCall. An operation the dialect does not have is an
// *a2a.Error of kind KindUnsupportedOperation.
func EncodeREST(d Dialect, op Op, params any, options ...RESTOption) (*RESTRequest, error) {
	return nil, a2a.Errorf(a2a.KindUnsupportedOperation, "agents of A2A %s do not have this operation", d)
}

// DecodeRESTReply reads a reply over HTTP+JSON, or one frame of a stream (then status is 200): what DecodeReply returns,
// and nil for OpPushDelete. Any status of 400 and above is an *a2a.Error, whatever the body holds.
func DecodeRESTReply(d Dialect, op Op, status int, contentType string, body []byte) (any, error) {
	return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the agent's reply cannot be read")
}

// ErrorMapping says which edition of v1.0 the statuses of errors are taken from.
type ErrorMapping uint8

const (
	Mapping101 ErrorMapping = iota // v1.0.1
	Mapping100                     // v1.0.0
)

// Status is the HTTP status of an error reply to c: over JSON-RPC that of HTTPStatus, over HTTP+JSON that of the table in
// the dialect's specification.
func Status(c *Call, err error, m ErrorMapping) int {
	if !c.REST {
		return HTTPStatus(err)
	}
	return http.StatusInternalServerError
}

// AppendCallError appends an error reply to c in its binding and dialect.
func AppendCallError(b []byte, c *Call, err error, m ErrorMapping) []byte {
	return AppendError(b, c.Dialect, c.ID, err)
}
