package a2a

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"parley/a2a/internal/jsontext"
)

// MarshalEvent returns e as a StreamResponse object of v1.0.
func MarshalEvent(e Event) []byte {
	b := scratch.Get().(*[]byte)
	*b = AppendEvent((*b)[:0], e)
	out := bytes.Clone(*b)
	if cap(*b) <= maxScratch {
		scratch.Put(b)
	}
	return out
}

// scratch holds events while they are written, so that what is kept of each is as long as it is.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

const maxScratch = 64 << 10

// AppendEvent appends e as a StreamResponse object of v1.0.
func AppendEvent(b []byte, e Event) []byte {
	switch e := e.(type) {
	case *Task:
		b = e.AppendJSON(append(b, `{"task":`...))
	case *Message:
		b = e.AppendJSON(append(b, `{"message":`...))
	case *StatusUpdate:
		b = e.AppendJSON(append(b, `{"statusUpdate":`...))
	case *ArtifactUpdate:
		b = e.AppendJSON(append(b, `{"artifactUpdate":`...))
	}
	return append(b, '}')
}

// UnmarshalEvent reads a StreamResponse object of v1.0.
func UnmarshalEvent(b []byte) (Event, error) {
	var e Event
	err := unmarshal(b, func(r *jsontext.Reader) { e = ReadEvent(r) })
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ReadEvent is UnmarshalEvent for package wire, within a larger text. It returns nil when r fails.
func ReadEvent(r *jsontext.Reader) Event {
	start := r.Offset()
	var e Event
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "task":
			t := new(Task)
			t.ReadJSON(r, (*Part).ReadJSON)
			e = t
		case "message":
			m := new(Message)
			m.ReadJSON(r, (*Part).ReadJSON)
			e = m
		case "statusUpdate":
			u := new(StatusUpdate)
			u.ReadJSON(r, (*Part).ReadJSON)
			e = u
		case "artifactUpdate":
			u := new(ArtifactUpdate)
			u.ReadJSON(r, (*Part).ReadJSON)
			e = u
		default:
			r.Skip()
		}
	}
	if e == nil {
		r.Fail(start, "must hold a task, a message, a statusUpdate or an artifactUpdate")
	}
	if r.Err() != nil {
		return nil
	}
	return e
}

// wrapping is how much deeper what we accepted once may lie in what we keep.
const wrapping = 16

// unmarshal checks b and reads it; an error is an *Error.
func unmarshal(b []byte, read func(*jsontext.Reader)) error {
	err := jsontext.Check(b, Limits.JSONDepth+wrapping)
	if err == nil {
		r := jsontext.NewReader(b)
		read(r)
		err = r.Err()
	}
	return JSONError(b, err)
}

// JSONError turns an error from reading b as JSON into an *Error, for package wire; nil stays nil.
func JSONError(b []byte, err error) error {
	if err == nil {
		return nil
	}
	var at *jsontext.Error
	if !errors.As(err, &at) {
		return &Error{Kind: KindParse, Message: "the JSON cannot be read", Err: err}
	}
	if at.Kind == jsontext.Syntax {
		return &Error{Kind: KindParse, Message: fmt.Sprintf("the text is not valid JSON: it %s at byte %d", at.Msg, at.Offset), Err: err}
	}
	field := jsontext.Path(b, at.Offset)
	if at.Kind == jsontext.Deep {
		field = shorten(field)
	}
	if len(field) > maxField { // names of members are the sender's
		field = strings.ToValidUTF8(field[:maxField], "") + "…"
	}
	subject := field
	if subject == "" {
		subject = "the JSON"
	}
	return &Error{Kind: KindInvalidParams, Message: subject + " " + at.Msg, Field: field, Err: err}
}

// maxField bounds what an error repeats of what it was given.
const maxField = 200

// shorten cuts the path of something deep to where it begins.
func shorten(path string) string {
	end := 0
	for range 5 {
		n := strings.IndexAny(path[end:], ".[")
		if n < 0 {
			return path
		}
		end += n + 1
	}
	return strings.TrimRight(path[:end-1], ".[")
}

// ParseTaskState reads the name of a state in any spelling that was ever used (TASK_STATE_CANCELED, canceled,
// cancelled, input-required, input_required, …). What it does not know is TaskStateUnspecified.
func ParseTaskState(s string) TaskState {
	for _, known := range states {
		if s == string(known) {
			return known
		}
	}
	s = strings.TrimPrefix(strings.ToUpper(strings.ReplaceAll(s, "-", "_")), "TASK_STATE_")
	if s == "CANCELLED" {
		return TaskStateCanceled
	}
	for _, known := range states[1:] {
		if s == string(known[len("TASK_STATE_"):]) {
			return known
		}
	}
	return TaskStateUnspecified
}

// states holds the task states by their numbers in protobuf.
var states = [...]TaskState{
	TaskStateUnspecified, TaskStateSubmitted, TaskStateWorking, TaskStateCompleted, TaskStateFailed, TaskStateCanceled,
	TaskStateInputRequired, TaskStateRejected, TaskStateAuthRequired,
}

// ParseRole reads the name of a role in any spelling. What it does not know is "".
func ParseRole(s string) Role {
	switch strings.ToUpper(s) {
	case "ROLE_USER", "USER":
		return RoleUser
	case "ROLE_AGENT", "AGENT":
		return RoleAgent
	}
	return ""
}

var roles = [...]Role{"", RoleUser, RoleAgent}

// ReadTaskState reads the name or the number of a state, for package wire.
func ReadTaskState(r *jsontext.Reader) TaskState {
	if r.Peek() == '"' {
		return ParseTaskState(string(r.Text()))
	}
	if n := r.Int(); n >= 0 && n < len(states) {
		return states[n]
	}
	return TaskStateUnspecified
}

// ReadRole reads the name or the number of a role, for package wire.
func ReadRole(r *jsontext.Reader) Role {
	if r.Peek() == '"' {
		return ParseRole(string(r.Text()))
	}
	if n := r.Int(); n >= 0 && n < len(roles) {
		return roles[n]
	}
	return ""
}
