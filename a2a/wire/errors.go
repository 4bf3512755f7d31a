package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// codes are those of NEW; MID differs in the few that did not exist then.
var codes = map[a2a.ErrorKind]int{
	a2a.KindParse:                -32700,
	a2a.KindInvalidRequest:       -32600,
	a2a.KindMethodNotFound:       -32601,
	a2a.KindInvalidParams:        -32602,
	a2a.KindInternal:             -32603,
	a2a.KindTaskNotFound:         -32001,
	a2a.KindTaskNotCancelable:    -32002,
	a2a.KindPushNotSupported:     -32003,
	a2a.KindUnsupportedOperation: -32004,
	a2a.KindContentType:          -32005,
	a2a.KindInvalidAgentResponse: -32006,
	a2a.KindExtendedCardNotSet:   -32007,
	a2a.KindExtensionRequired:    -32008,
	a2a.KindVersionNotSupported:  -32009,
	a2a.KindTaskTerminal:         -32004,
	a2a.KindUnauthenticated:      -32600,
	a2a.KindForbidden:            -32600,
	a2a.KindRateLimited:          -32603,
	a2a.KindTooLarge:             -32602,
	a2a.KindUnavailable:          -32603,
}

// Code is the JSON-RPC code of a kind in a dialect; 0 for a kind that nobody defined.
func Code(d Dialect, k a2a.ErrorKind) int { return of(d).code(k) }

// kinds reads the codes; where several kinds share one it names the plain one.
var kinds = map[int]a2a.ErrorKind{
	-32700: a2a.KindParse,
	-32600: a2a.KindInvalidRequest,
	-32601: a2a.KindMethodNotFound,
	-32602: a2a.KindInvalidParams,
	-32603: a2a.KindInternal,
	-32001: a2a.KindTaskNotFound,
	-32002: a2a.KindTaskNotCancelable,
	-32003: a2a.KindPushNotSupported,
	-32004: a2a.KindUnsupportedOperation,
	-32005: a2a.KindContentType,
	-32006: a2a.KindInvalidAgentResponse,
	-32007: a2a.KindExtendedCardNotSet,
	-32008: a2a.KindExtensionRequired,
	-32009: a2a.KindVersionNotSupported,
	-31401: a2a.KindUnauthenticated, // a2a-go
}

// kindOf reads a code; one that nobody defined is an error inside the agent.
func kindOf(code int) a2a.ErrorKind {
	if k, ok := kinds[code]; ok {
		return k
	}
	return a2a.KindInternal
}

// terminalText is in the message of every KindTaskTerminal: no dialect has a code of its own for it.
const terminalText = "terminal state"

// outward is what may be told of err: an internal error keeps its text to itself.
func outward(err error) *a2a.Error {
	var e *a2a.Error
	if !errors.As(err, &e) || e.Kind == a2a.KindInternal {
		return &a2a.Error{Kind: a2a.KindInternal, Message: "internal error"}
	}
	out := *e
	if out.Message == "" {
		out.Message = strings.ToLower(strings.ReplaceAll(string(e.Kind), "_", " "))
	}
	if e.Kind == a2a.KindTaskTerminal && !strings.Contains(out.Message, terminalText) {
		out.Message += " (the task is in a terminal state)"
	}
	return &out
}

// AppendError appends a JSON-RPC error reply. An error that is no *a2a.Error is written as an internal error without its
// text. NEW replies carry ErrorInfo.
func AppendError(b []byte, d Dialect, id json.RawMessage, err error) []byte {
	e := outward(err)
	b = append(appendHead(b, id), `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(of(d).code(e.Kind)), 10)
	b = jsontext.AppendString(append(b, `,"message":`...), e.Message)
	if of(d).details() {
		b = appendDetails(append(b, `,"data":`...), e)
	}
	return append(b, "}}"...)
}

// errorDomain is the domain of the reasons that A2A defines.
const errorDomain = "a2a-protocol.org"

func appendDetails(b []byte, e *a2a.Error) []byte {
	reason := e.Kind
	if reason == a2a.KindTaskTerminal {
		reason = a2a.KindUnsupportedOperation
	}
	b = append(b, `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`...)
	b = jsontext.AppendString(b, string(reason))
	b = append(b, `,"domain":"`+errorDomain+`"`...)
	if len(e.Metadata) > 0 {
		b = append(b, `,"metadata":{`...)
		for i, k := range slices.Sorted(maps.Keys(e.Metadata)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(jsontext.AppendString(b, k), ':')
			b = jsontext.AppendString(b, e.Metadata[k])
		}
		b = append(b, '}')
	}
	b = append(b, '}')
	if e.Field != "" {
		b = append(b, `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":`...)
		b = jsontext.AppendString(b, e.Field)
		b = jsontext.AppendString(append(b, `,"description":`...), e.Message)
		b = append(b, "}]}"...)
	}
	if e.RetryAfter > 0 {
		b = append(b, `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`...)
		b = strconv.AppendFloat(b, e.RetryAfter.Seconds(), 'f', -1, 64)
		b = append(b, `s"}`...)
	}
	return append(b, ']')
}

// HTTPStatus is the status of a JSON-RPC error reply: 200 but for 401, 403, 413, 429 and 503. A content
// type that is not taken is one of the message's parts; that of the request itself is judged before there is a call.
func HTTPStatus(err error) int {
	switch a2a.KindOf(err) {
	case a2a.KindUnauthenticated:
		return http.StatusUnauthorized
	case a2a.KindForbidden:
		return http.StatusForbidden
	case a2a.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case a2a.KindRateLimited:
		return http.StatusTooManyRequests
	case a2a.KindUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// readError reads the error of a reply. Whatever it looks like, the result is an error.
func readError(d Dialect, b []byte) *a2a.Error {
	e := &a2a.Error{}
	r := jsontext.NewReader(b)
	switch r.Peek() {
	case '{':
		for r.Object(); r.Member(); {
			switch string(r.Key()) {
			case "code":
				e.Code = r.Int()
			case "message":
				e.Message = r.String()
			case "data":
				e.Data = r.Raw()
			default:
				r.Skip()
			}
		}
	case '"':
		e.Message = r.String()
	}
	if e.Message == "" {
		e.Message = "the agent answered with an error that says nothing"
	}
	e.Kind = of(d).kind(e.Code)
	if reason := a2a.ErrorKind(readDetails(e)); codes[reason] != 0 {
		e.Kind = reason
	}
	if strings.Contains(e.Message, terminalText) && (e.Code == -32602 || e.Code == -32600 || e.Code == -32004) {
		e.Kind = a2a.KindTaskTerminal
	}
	return e
}

// readDetails takes what ErrorInfo, BadRequest and RetryInfo say into e and returns the reason.
func readDetails(e *a2a.Error) (reason string) {
	r := jsontext.NewReader(e.Data)
	if r.Peek() != '[' {
		return ""
	}
	for r.Array(); r.Element(); {
		if r.Peek() != '{' {
			r.Skip()
			continue
		}
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "reason":
				reason = r.String()
			case "metadata":
				for r.Object(); r.Member(); {
					k := string(r.Key())
					if r.Peek() != '"' {
						r.Skip()
						continue
					}
					if e.Metadata == nil {
						e.Metadata = map[string]string{}
					}
					e.Metadata[k] = r.String()
				}
			case "fieldViolations":
				for r.Array(); r.Element(); {
					for r.Object(); r.Member(); {
						if string(r.Key()) == "field" && r.Peek() == '"' {
							e.Field = r.String()
						} else {
							r.Skip()
						}
					}
				}
			case "retryDelay":
				if d, err := time.ParseDuration(r.String()); err == nil && d > 0 {
					e.RetryAfter = d
				}
			default:
				r.Skip()
			}
		}
	}
	return reason
}
