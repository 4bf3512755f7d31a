// Package column is how values stand in the columns of a store, the same way in every store: a time as milliseconds since
// 1970, and whatever has parts of its own as JSON. What is empty takes no room: the zero time is 0, an empty value NULL.
package column

import (
	"encoding/json"
	"fmt"
	"time"
)

// Milli is a time as it is stored; the zero time is 0.
func Milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// CeilMilli is the first stored time that is not before t.
func CeilMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// Time reads what Milli wrote.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// JSON is v as stored JSON, nil for an empty one.
func JSON(v any) ([]byte, error) {
	j, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("store %T: %w", v, err)
	}
	switch string(j) {
	case "null", "[]", "{}":
		return nil, nil
	}
	return j, nil
}

// Read reads what JSON wrote into v, which stays as it is where that was empty.
func Read(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}
