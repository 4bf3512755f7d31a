package a2a

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind classifies a failure in the protocol's own terms. Each dialect and binding maps it to its code.
type ErrorKind string

const (
	KindParse                ErrorKind = "PARSE"           // not JSON
	KindInvalidRequest       ErrorKind = "INVALID_REQUEST" // not a request
	KindMethodNotFound       ErrorKind = "METHOD_NOT_FOUND"
	KindInvalidParams        ErrorKind = "INVALID_PARAMS"
	KindInternal             ErrorKind = "INTERNAL"
	KindTaskNotFound         ErrorKind = "TASK_NOT_FOUND" // also for tasks of others
	KindTaskNotCancelable    ErrorKind = "TASK_NOT_CANCELABLE"
	KindPushNotSupported     ErrorKind = "PUSH_NOTIFICATION_NOT_SUPPORTED"
	KindUnsupportedOperation ErrorKind = "UNSUPPORTED_OPERATION"
	KindContentType          ErrorKind = "CONTENT_TYPE_NOT_SUPPORTED"
	KindInvalidAgentResponse ErrorKind = "INVALID_AGENT_RESPONSE"
	KindExtendedCardNotSet   ErrorKind = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
	KindExtensionRequired    ErrorKind = "EXTENSION_SUPPORT_REQUIRED"
	KindVersionNotSupported  ErrorKind = "VERSION_NOT_SUPPORTED"
	KindTaskTerminal         ErrorKind = "TASK_TERMINAL" // a message for a task that has ended
	KindUnauthenticated      ErrorKind = "UNAUTHENTICATED"
	KindForbidden            ErrorKind = "FORBIDDEN"
	KindRateLimited          ErrorKind = "RATE_LIMITED"
	KindTooLarge             ErrorKind = "TOO_LARGE"
	KindUnavailable          ErrorKind = "UNAVAILABLE" // shutting down, read-only, storage full
)

// Error is a protocol error: a kind for programs and a sentence for people. Message never holds an address of this
// machine, a stack trace or SQL.
type Error struct {
	Kind       ErrorKind
	Message    string
	Metadata   map[string]string // e.g. taskId; goes into ErrorInfo.metadata
	Field      string            // for KindInvalidParams: the member at fault, dotted
	RetryAfter time.Duration     // for KindRateLimited and KindUnavailable; 0 = unknown
	Code       int               // as received, when the error came from an agent; 0 otherwise
	Data       []byte            // as received
	Err        error             // the cause, for logs only
}

func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Kind)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// FinalKey is true in the metadata of an error, and of the message with which a task fails, where the same request would
// fail again, whenever and however it is made: as one that goes round in a circle. Only Parley says so.
const FinalKey = "urn:parley:final"

// Final reports whether e says so.
func (e *Error) Final() bool { return e.Metadata[FinalKey] == "true" }

// Is makes errors.Is(err, ErrTaskNotFound) hold for every error of the same kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind
}

// Errorf returns an error of the kind with a message for people; %w keeps the cause.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// KindOf returns the kind of err: KindInternal for an error that is no *Error, "" for nil.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// Sentinels for errors.Is.
var (
	ErrTaskNotFound         = &Error{Kind: KindTaskNotFound, Message: "task not found"}
	ErrTaskNotCancelable    = &Error{Kind: KindTaskNotCancelable, Message: "the task has ended and cannot be canceled"}
	ErrPushNotSupported     = &Error{Kind: KindPushNotSupported, Message: "push notifications are not supported"}
	ErrUnsupportedOperation = &Error{Kind: KindUnsupportedOperation, Message: "this operation is not supported"}
	ErrTaskTerminal         = &Error{Kind: KindTaskTerminal, Message: "the task is in a terminal state"}
	ErrUnauthenticated      = &Error{Kind: KindUnauthenticated, Message: "authentication is required"}
)
