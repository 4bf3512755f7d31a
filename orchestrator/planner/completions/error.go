package completions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what went wrong.
type Kind string

const (
	Unreachable Kind = "unreachable" // no connection
	Blocked     Kind = "blocked"     // our own side does not let the request out
	Timeout     Kind = "timeout"     // no answer, or not all of it, in time
	BadKey      Kind = "key"         // 401, 403
	NoModel     Kind = "no-model"    // the endpoint has no such model
	NoAPI       Kind = "no-api"      // there is no such API at this address
	NoTools     Kind = "no-tools"    // the model, or the endpoint, cannot call tools
	TooLong     Kind = "too-long"    // the request does not fit into the model's context
	RateLimited Kind = "rate"        // 429, again and again, or for too long
	NoCredit    Kind = "credit"      // 402, or 429 for a quota that is used up
	BadRequest  Kind = "request"     // any other 4xx
	Failed      Kind = "failed"      // 5xx, or an error within a stream
	Garbage     Kind = "garbage"     // an answer that is none
	Cut         Kind = "cut"         // an answer that ended before its end
)

// Error is a request that failed.
type Error struct {
	Kind   Kind
	Status int           // of the response; 0 when there was none
	Said   string        // what the endpoint said, shortened
	After  time.Duration // in which it wants to be asked again; 0 = it did not say
	Err    error         // the cause, where there is one
}

func (e *Error) Error() string {
	s := "the model's endpoint: " + string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Said != "" {
		s += ": " + e.Said
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// again reports whether the same request may succeed after attempt n. Where nobody listens nobody will in a moment.
func (e *Error) again(n int) bool {
	switch e.Kind {
	case RateLimited, Failed, Cut:
		return true
	case Unreachable:
		return n == 1
	}
	return false
}

// maxSaid bounds what is kept of an error's text, and maxErrorBody what is read to find it.
const (
	maxSaid      = 500
	maxErrorBody = 64 << 10
)

// errorOf reads the error that a response with a status of 300 or more is.
func errorOf(resp *http.Response) *Error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := &Error{Status: resp.StatusCode, Err: err, After: retryAfter(resp.Header)}
	code := ""
	code, e.Said = saidIn(raw)
	e.Kind = kindOf(resp.StatusCode, code, e.Said)
	return e
}

// saidIn finds the code and the words of an error: {"error": {"message": …, "code": …}}, {"error": "…"},
// {"message": …}, {"detail": …}, or plain text.
func saidIn(raw []byte) (code, said string) {
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	// A field of another type than here is left out; the others are read all the same.
	if err := json.Unmarshal(raw, &v); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("<")) {
			return "", "" // a page, for nobody here
		}
		return "", short(string(raw))
	}
	var in struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Param   string `json:"param"`
	}
	said = v.Message
	if json.Unmarshal(v.Error, &said) != nil {
		_ = json.Unmarshal(v.Error, &in)
		if in.Message != "" {
			said = in.Message
		}
		if in.Param != "" && !strings.Contains(said, in.Param) {
			said += " (" + in.Param + ")"
		}
	}
	if said == "" && len(v.Detail) > 0 {
		if json.Unmarshal(v.Detail, &said) != nil {
			said = string(v.Detail)
		}
	}
	if in.Code != nil {
		code = fmt.Sprint(in.Code)
	}
	return code + " " + in.Type, short(said)
}

var (
	longWords  = regexp.MustCompile(`(?i)context[_ ](length|window|size)|maximum context|too many tokens|prompt is too long|reduce the length|input is too long|exceeds? the (available|model)`)
	toolWords  = regexp.MustCompile(`(?i)\btools?\b|tool[_ ](choice|use|call)|function[_ ]?call`)
	wroteWords = regexp.MustCompile(`(?i)\b(fail|pars|malformed|unexpected|tool_use_failed)`) // the model wrote a call that the server could not read
	goneWords  = regexp.MustCompile(`(?i)\bmodel\b.*(not (found|exist|available|supported|loaded)|does(n't| not) exist|unknown|invalid|pull)|(unknown|invalid|no such|not a valid) model`)
)

func kindOf(status int, code, said string) Kind {
	all := code + " " + said
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return BadKey
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests && strings.Contains(all, "insufficient_quota"):
		return NoCredit
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestEntityTooLarge, longWords.MatchString(all):
		return TooLong
	case strings.Contains(all, "model_not_found"):
		return NoModel
	case toolWords.MatchString(all) && wroteWords.MatchString(all):
		return Garbage
	case toolWords.MatchString(all):
		return NoTools
	case status < 500 && goneWords.MatchString(all):
		return NoModel
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status < 400:
		return NoAPI
	case status == http.StatusRequestTimeout, status >= 500:
		return Failed
	}
	return BadRequest
}

// retryAfter reads in which time a server wants to be asked again (RFC 9110, section 10.2.3, and OpenAI's milliseconds).
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// sendError is the error of a request that got no response, or no more of it.
func sendError(err error) *Error {
	var blocked interface {
		Blocked() (reason, advice string)
	}
	var timeout net.Error
	switch {
	case errors.As(err, &blocked):
		return &Error{Kind: Blocked, Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Kind: Timeout, Err: err}
	}
	return &Error{Kind: Unreachable, Err: err}
}

func short(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	if len(s) <= maxSaid {
		return s
	}
	s = s[:maxSaid]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
