package wire

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// ErrorMapping says which edition of v1.0 the statuses of errors over HTTP+JSON are taken from.
type ErrorMapping uint8

const (
	Mapping101 ErrorMapping = iota // v1.0.1
	Mapping100                     // v1.0.0
)

// RESTStatus is an error's status in HTTP and in gRPC (v1.0 section 5.4).
type RESTStatus struct {
	HTTP int
	Name string // of the gRPC code, such as NOT_FOUND
}

var statuses = map[a2a.ErrorKind]RESTStatus{
	a2a.KindParse:                {400, "INVALID_ARGUMENT"},
	a2a.KindInvalidRequest:       {400, "INVALID_ARGUMENT"},
	a2a.KindMethodNotFound:       {404, "NOT_FOUND"},
	a2a.KindInvalidParams:        {400, "INVALID_ARGUMENT"},
	a2a.KindInternal:             {500, "INTERNAL"},
	a2a.KindTaskNotFound:         {404, "NOT_FOUND"},
	a2a.KindTaskNotCancelable:    {400, "FAILED_PRECONDITION"},
	a2a.KindPushNotSupported:     {400, "FAILED_PRECONDITION"},
	a2a.KindUnsupportedOperation: {400, "FAILED_PRECONDITION"},
	a2a.KindContentType:          {400, "INVALID_ARGUMENT"},
	a2a.KindInvalidAgentResponse: {500, "INTERNAL"},
	a2a.KindExtendedCardNotSet:   {400, "FAILED_PRECONDITION"},
	a2a.KindExtensionRequired:    {400, "FAILED_PRECONDITION"},
	a2a.KindVersionNotSupported:  {400, "FAILED_PRECONDITION"},
	a2a.KindTaskTerminal:         {400, "FAILED_PRECONDITION"},
	a2a.KindUnauthenticated:      {401, "UNAUTHENTICATED"},
	a2a.KindForbidden:            {403, "PERMISSION_DENIED"},
	a2a.KindRateLimited:          {429, "RESOURCE_EXHAUSTED"},
	a2a.KindTooLarge:             {413, "INVALID_ARGUMENT"},
	a2a.KindUnavailable:          {503, "UNAVAILABLE"},
}

// statuses100 are those that v1.0.0 had otherwise.
var statuses100 = map[a2a.ErrorKind]RESTStatus{
	a2a.KindTaskNotCancelable:    {409, "FAILED_PRECONDITION"},
	a2a.KindPushNotSupported:     {400, "UNIMPLEMENTED"},
	a2a.KindUnsupportedOperation: {400, "UNIMPLEMENTED"},
	a2a.KindTaskTerminal:         {400, "UNIMPLEMENTED"},
	a2a.KindContentType:          {415, "INVALID_ARGUMENT"},
	a2a.KindInvalidAgentResponse: {502, "INTERNAL"},
	a2a.KindVersionNotSupported:  {400, "UNIMPLEMENTED"},
}

// protoStatuses are those of v0.3, as its Python implementation has them: the specification names none.
var protoStatuses = map[a2a.ErrorKind]int{
	a2a.KindInvalidParams:        422,
	a2a.KindTaskTerminal:         422,
	a2a.KindTaskNotCancelable:    409,
	a2a.KindPushNotSupported:     501,
	a2a.KindUnsupportedOperation: 501,
	a2a.KindContentType:          415,
	a2a.KindInvalidAgentResponse: 502,
	a2a.KindExtendedCardNotSet:   404,
}

// StatusOf is the status of an error of v1.0 over HTTP+JSON and gRPC.
func StatusOf(err error, m ErrorMapping) RESTStatus {
	kind := outward(err).Kind
	if s, ok := statuses100[kind]; ok && m == Mapping100 {
		return s
	}
	return statuses[kind]
}

// Status is the HTTP status of an error reply to c: over JSON-RPC that of HTTPStatus, over HTTP+JSON that of the dialect.
func Status(c *Call, err error, m ErrorMapping) int {
	if !c.REST {
		return HTTPStatus(err)
	}
	if wrong := (*MethodError)(nil); errors.As(err, &wrong) {
		return http.StatusMethodNotAllowed
	}
	if c.Dialect != NEW {
		if status, ok := protoStatuses[outward(err).Kind]; ok {
			return status
		}
	}
	return StatusOf(err, m).HTTP
}

// AppendCallError appends an error reply to c in its binding and dialect: of JSON-RPC, {"error":{code,status,message,
// details}} of v1.0 over HTTP+JSON, or {code,message,data} of v0.3.
func AppendCallError(b []byte, c *Call, err error, m ErrorMapping) []byte {
	return AppendStatusError(b, c, err, m, Status(c, err, m))
}

// AppendStatusError does the same for a reply that has another HTTP status than Status says.
func AppendStatusError(b []byte, c *Call, err error, m ErrorMapping, status int) []byte {
	if !c.REST {
		return AppendError(b, c.Dialect, c.ID, err)
	}
	e := outward(err)
	if c.Dialect != NEW {
		b = jsontext.AppendInt(append(b, `{"code":`...), of(c.Dialect).code(e.Kind))
		b = jsontext.AppendString(append(b, `,"message":`...), e.Message)
		return append(appendDetails(append(b, `,"data":`...), e), '}')
	}
	b = jsontext.AppendInt(append(b, `{"error":{"code":`...), status)
	b = jsontext.AppendString(append(b, `,"status":`...), StatusOf(err, m).Name)
	b = jsontext.AppendString(append(b, `,"message":`...), e.Message)
	return append(appendDetails(append(b, `,"details":`...), e), "}}"...)
}

// readRESTError reads an error in every form there is: google.rpc.Status in "error" or bare, problem+json, {code, message},
// {message}, {error: class, message}, {detail}, JSON-RPC, or nothing that can be read. The result is always an error. What it
// is goes by the reason of ErrorInfo, the type of a problem, the class of an exception, the code, and then the status. Code is
// that of JSON-RPC, as received or what the kind has there; 0 where the body says nothing of A2A and may be a proxy's.
func readRESTError(d Dialect, op Op, status int, body []byte) *a2a.Error {
	var f restFault
	if jsontext.Check(body, a2a.Limits.JSONDepth) == nil {
		f.read(jsontext.NewReader(body))
	}
	e := &a2a.Error{Message: first(f.message, f.detail, f.title), Code: min(f.code, 0), Data: f.data}
	reason := a2a.ErrorKind(readDetails(e))
	class, _, _ := strings.Cut(f.message, ":")
	said := true
	switch {
	case codes[reason] != 0:
		e.Kind = reason
	case codes[f.problem()] != 0:
		e.Kind = f.problem()
	case classKind(f.class) != "":
		e.Kind = classKind(f.class)
	case classKind(class) != "":
		e.Kind = classKind(class)
	case f.code < 0:
		e.Kind = of(d).kind(f.code)
	default:
		e.Kind = f.kind(op, status)
		said = f.message != "" && f.class == "" || f.status != ""
	}
	if said && e.Code == 0 {
		e.Code = of(d).code(e.Kind)
	}
	if e.Message == "" {
		e.Message = "the agent answered with HTTP status " + strconv.Itoa(status)
		if f.class != "" {
			e.Message += ": " + f.class
		}
	}
	if strings.Contains(e.Message, terminalText) {
		switch e.Kind {
		case a2a.KindInvalidParams, a2a.KindInvalidRequest, a2a.KindUnsupportedOperation:
			e.Kind = a2a.KindTaskTerminal
		}
	}
	return e
}

// restFault is what an error's body says.
type restFault struct {
	code                        int
	status                      string // name of a gRPC code
	message, detail, title, typ string
	class                       string // of an exception
	data                        []byte
}

func (f *restFault) read(r *jsontext.Reader) {
	if r.Peek() != '{' {
		return
	}
	for r.Object(); r.Member(); {
		name, text := string(r.Name()), r.Peek() == '"'
		switch {
		case name == "error" && text:
			f.class = r.String()
		case name == "error":
			f.read(jsontext.NewReader(r.Span()))
		case name == "code" && !text:
			f.code, _ = strconv.Atoi(string(r.Span()))
		case (name == "data" || name == "details") && !text:
			f.data = r.Raw()
		case name == "message" && text:
			f.message = r.String()
		case name == "detail" && text:
			f.detail = r.String()
		case name == "title" && text:
			f.title = r.String()
		case name == "type" && text:
			f.typ = r.String()
		case name == "status" && text:
			f.status = r.String()
		default:
			r.Skip()
		}
	}
}

// problem reads the end of a problem's type: https://a2a-protocol.org/errors/task-not-found.
func (f *restFault) problem() a2a.ErrorKind {
	tail := strings.TrimSuffix(f.typ[strings.LastIndexByte(f.typ, '/')+1:], "-error")
	return a2a.ErrorKind(strings.ToUpper(strings.ReplaceAll(tail, "-", "_")))
}

// classes are the names of errors in the implementations, without "Error" or "Exception".
var classes = map[string]a2a.ErrorKind{
	"JSONParse":                              a2a.KindParse,
	"InvalidRequest":                         a2a.KindInvalidRequest,
	"MethodNotFound":                         a2a.KindMethodNotFound,
	"InvalidParams":                          a2a.KindInvalidParams,
	"Internal":                               a2a.KindInternal,
	"TaskNotFound":                           a2a.KindTaskNotFound,
	"TaskNotCancelable":                      a2a.KindTaskNotCancelable,
	"PushNotificationNotSupported":           a2a.KindPushNotSupported,
	"UnsupportedOperation":                   a2a.KindUnsupportedOperation,
	"ContentTypeNotSupported":                a2a.KindContentType,
	"InvalidAgentResponse":                   a2a.KindInvalidAgentResponse,
	"AuthenticatedExtendedCardNotConfigured": a2a.KindExtendedCardNotSet,
	"ExtendedAgentCardNotConfigured":         a2a.KindExtendedCardNotSet,
	"ExtendedCardNotConfigured":              a2a.KindExtendedCardNotSet,
	"ExtensionSupportRequired":               a2a.KindExtensionRequired,
	"VersionNotSupported":                    a2a.KindVersionNotSupported,
}

func classKind(class string) a2a.ErrorKind {
	class = class[strings.LastIndexByte(class, '.')+1:]
	return classes[strings.TrimSuffix(strings.TrimSuffix(class, "Error"), "Exception")]
}

// grpcNames are the gRPC codes by their numbers.
var grpcNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
	"UNAUTHENTICATED",
}

// kind goes by the gRPC code, which says little, and the HTTP status, which says less.
func (f *restFault) kind(op Op, status int) a2a.ErrorKind {
	if f.status == "" && 0 < f.code && f.code < len(grpcNames) {
		f.status = grpcNames[f.code]
	}
	switch f.status {
	case "INVALID_ARGUMENT", "OUT_OF_RANGE":
		status = 422
	case "NOT_FOUND":
		status = 404
	case "FAILED_PRECONDITION":
		if op == OpCancel {
			status = 409
		}
	case "UNIMPLEMENTED":
		status = 501
	case "UNAUTHENTICATED":
		status = 401
	case "PERMISSION_DENIED":
		status = 403
	case "RESOURCE_EXHAUSTED":
		status = 429
	case "UNAVAILABLE":
		status = 503
	case "INTERNAL":
		status = 500
	}
	said := f.message != ""
	switch status {
	case 400, 422:
		return a2a.KindInvalidParams
	case 401:
		return a2a.KindUnauthenticated
	case 403:
		return a2a.KindForbidden
	case 404:
		switch {
		case op == OpExtendedCard:
			return a2a.KindExtendedCardNotSet
		case op == OpList || !said && (f.detail != "" || op == OpSend || op == OpStream): // no such address
			return a2a.KindMethodNotFound
		}
		return a2a.KindTaskNotFound
	case 405:
		return a2a.KindMethodNotFound
	case 409:
		if op == OpCancel {
			return a2a.KindTaskNotCancelable
		}
		return a2a.KindInvalidRequest
	case 413:
		return a2a.KindTooLarge
	case 415:
		return a2a.KindContentType
	case 429:
		return a2a.KindRateLimited
	case 501:
		switch op {
		case OpPushSet, OpPushGet, OpPushList, OpPushDelete:
			return a2a.KindPushNotSupported
		}
		return a2a.KindUnsupportedOperation
	case 502:
		if said {
			return a2a.KindInvalidAgentResponse
		}
		return a2a.KindUnavailable
	case 503, 504:
		return a2a.KindUnavailable
	}
	if status < 400 {
		return a2a.KindInvalidAgentResponse
	}
	return a2a.KindInternal
}
