package pb

import (
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"parley/a2a"
	"parley/a2a/wire"
)

// codesNEW are those of v1.0.1 (section 5.4); the other edition, and a2a.v1, differ in a few.
var codesNEW = map[a2a.ErrorKind]codes.Code{
	a2a.KindParse:                codes.InvalidArgument,
	a2a.KindInvalidRequest:       codes.InvalidArgument,
	a2a.KindMethodNotFound:       codes.Unimplemented,
	a2a.KindInvalidParams:        codes.InvalidArgument,
	a2a.KindInternal:             codes.Internal,
	a2a.KindTaskNotFound:         codes.NotFound,
	a2a.KindTaskNotCancelable:    codes.FailedPrecondition,
	a2a.KindPushNotSupported:     codes.FailedPrecondition,
	a2a.KindUnsupportedOperation: codes.FailedPrecondition,
	a2a.KindContentType:          codes.InvalidArgument,
	a2a.KindInvalidAgentResponse: codes.Internal,
	a2a.KindExtendedCardNotSet:   codes.FailedPrecondition,
	a2a.KindExtensionRequired:    codes.FailedPrecondition,
	a2a.KindVersionNotSupported:  codes.FailedPrecondition,
	a2a.KindTaskTerminal:         codes.FailedPrecondition,
	a2a.KindUnauthenticated:      codes.Unauthenticated,
	a2a.KindForbidden:            codes.PermissionDenied,
	a2a.KindRateLimited:          codes.ResourceExhausted,
	a2a.KindTooLarge:             codes.InvalidArgument,
	a2a.KindUnavailable:          codes.Unavailable,
}

// codeOf is the code of a kind of error.
func codeOf(d wire.Dialect, k a2a.ErrorKind, m wire.ErrorMapping) codes.Code {
	switch k {
	case a2a.KindPushNotSupported, a2a.KindUnsupportedOperation, a2a.KindVersionNotSupported:
		if m == wire.Mapping100 || d != wire.NEW {
			return codes.Unimplemented
		}
	case a2a.KindTaskTerminal:
		if d != wire.NEW {
			return codes.InvalidArgument
		}
		if m == wire.Mapping100 {
			return codes.Unimplemented
		}
	case a2a.KindExtensionRequired:
		if d != wire.NEW { // it has no such error, and its SDKs take FAILED_PRECONDITION for a task that cannot be canceled
			return codes.InvalidArgument
		}
	}
	if c, ok := codesNEW[k]; ok {
		return c
	}
	return codes.Internal
}

// errorDomain is the domain of the reasons that A2A defines.
const errorDomain = "a2a-protocol.org"

// terminalText is in the message of every KindTaskTerminal: no dialect has a code of its own for it.
const terminalText = "terminal state"

// Status makes the status of a failed call: the code of the dialect, a message for people, and what errdetails say of the
// reason (ErrorInfo), the member at fault (BadRequest) and when to come back (RetryInfo). An error that is no *a2a.Error
// becomes an internal one without its text.
func Status(d wire.Dialect, err error, m wire.ErrorMapping) *status.Status {
	var e *a2a.Error
	if !errors.As(err, &e) || e.Kind == a2a.KindInternal {
		e = &a2a.Error{Kind: a2a.KindInternal, Message: "internal error"}
	}
	message := str(e.Message)
	if message == "" {
		message = strings.ToLower(strings.ReplaceAll(string(e.Kind), "_", " "))
	}
	reason := e.Kind
	if e.Kind == a2a.KindTaskTerminal {
		reason = a2a.KindUnsupportedOperation
		if !strings.Contains(message, terminalText) {
			message += " (the task is in a terminal state)"
		}
	}
	info := &errdetails.ErrorInfo{Reason: string(reason), Domain: errorDomain}
	for k, v := range e.Metadata {
		if info.Metadata == nil {
			info.Metadata = map[string]string{}
		}
		info.Metadata[str(k)] = str(v)
	}
	details := []protoadapt.MessageV1{info}
	if e.Field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: str(e.Field), Description: message},
		}})
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	s := status.New(codeOf(d, e.Kind, m), message)
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed
	}
	return s
}

// classNames are how the Python SDK of v0.3 begins its messages; it has no details.
var classNames = map[string]a2a.ErrorKind{
	"TaskNotFoundError":                           a2a.KindTaskNotFound,
	"TaskNotCancelableError":                      a2a.KindTaskNotCancelable,
	"PushNotificationNotSupportedError":           a2a.KindPushNotSupported,
	"UnsupportedOperationError":                   a2a.KindUnsupportedOperation,
	"ContentTypeNotSupportedError":                a2a.KindContentType,
	"InvalidAgentResponseError":                   a2a.KindInvalidAgentResponse,
	"AuthenticatedExtendedCardNotConfiguredError": a2a.KindExtendedCardNotSet,
	"MethodNotFoundError":                         a2a.KindMethodNotFound,
	"InvalidParamsError":                          a2a.KindInvalidParams,
	"InvalidRequestError":                         a2a.KindInvalidRequest,
	"JSONParseError":                              a2a.KindParse,
	"InternalError":                               a2a.KindInternal,
}

// Error reads the status that an agent answered op with: by the reason in its details, then by what its message says, then
// by its code. The result holds the code that the same error has over JSON-RPC, never 0.
func Error(op wire.Op, s *status.Status) *a2a.Error {
	e := &a2a.Error{Message: s.Message(), Kind: kindOf(op, s.Code())}
	if class, _, ok := strings.Cut(s.Message(), ":"); ok && classNames[class] != "" {
		e.Kind = classNames[class]
	}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if k := a2a.ErrorKind(d.GetReason()); wire.Code(wire.NEW, k) != 0 {
				e.Kind = k
			}
			e.Metadata = d.GetMetadata()
		case *errdetails.BadRequest:
			if v := d.GetFieldViolations(); len(v) > 0 {
				e.Field = v[0].GetField()
			}
		case *errdetails.RetryInfo:
			if d.GetRetryDelay().IsValid() {
				e.RetryAfter = max(0, d.GetRetryDelay().AsDuration())
			}
		}
	}
	switch e.Kind {
	case a2a.KindInvalidParams, a2a.KindInvalidRequest, a2a.KindUnsupportedOperation:
		if strings.Contains(e.Message, terminalText) {
			e.Kind = a2a.KindTaskTerminal
		}
	}
	if e.Message == "" {
		e.Message = "the agent answered with an error that says nothing"
	}
	e.Code = wire.Code(wire.NEW, e.Kind)
	return e
}

// kindOf reads a code; where several kinds share one it names the plainest for the operation.
func kindOf(op wire.Op, c codes.Code) a2a.ErrorKind {
	switch c {
	case codes.InvalidArgument, codes.OutOfRange:
		return a2a.KindInvalidParams
	case codes.NotFound:
		if op == wire.OpExtendedCard {
			return a2a.KindExtendedCardNotSet
		}
		return a2a.KindTaskNotFound
	case codes.FailedPrecondition:
		switch op {
		case wire.OpCancel:
			return a2a.KindTaskNotCancelable
		case wire.OpPushSet, wire.OpPushGet, wire.OpPushList, wire.OpPushDelete:
			return a2a.KindPushNotSupported
		case wire.OpExtendedCard:
			return a2a.KindExtendedCardNotSet
		}
		return a2a.KindUnsupportedOperation
	case codes.Unimplemented:
		return a2a.KindMethodNotFound
	case codes.Unauthenticated:
		return a2a.KindUnauthenticated
	case codes.PermissionDenied:
		return a2a.KindForbidden
	case codes.ResourceExhausted:
		return a2a.KindRateLimited
	case codes.Unavailable:
		return a2a.KindUnavailable
	}
	return a2a.KindInternal
}
