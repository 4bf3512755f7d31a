package a2a

import "errors"

// MarshalEvent returns e as a StreamResponse object of v1.0.
func MarshalEvent(e Event) []byte { panic("json.go: being written") }

// UnmarshalEvent reads a StreamResponse object of v1.0.
func UnmarshalEvent(b []byte) (Event, error) { return nil, errors.New("json.go: being written") }
