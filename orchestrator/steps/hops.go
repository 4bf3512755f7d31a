package steps

import (
	"encoding/json"
	"strconv"

	"parley/a2a"
)

// hopsKey is the metadata member that counts how many agents a message came through.
const hopsKey = "urn:parley:hops"

// MaxHops is how many agents a message may come through: more is a circle.
const MaxHops = 8

// Hops returns how many agents a message came through before us.
func Hops(m a2a.Metadata) int {
	if len(m) == 0 {
		return 0
	}
	var v struct {
		Hops int `json:"urn:parley:hops"`
	}
	if json.Unmarshal(m, &v) != nil || v.Hops < 0 {
		return 0
	}
	return v.Hops
}

// Circle is the error with which a message is refused that came through that many agents; nil when they are not too many.
func Circle(hops int) error {
	if hops < MaxHops {
		return nil
	}
	e := a2a.Errorf(a2a.KindUnsupportedOperation, "the message came through %d agents already; this looks like a circle", hops)
	e.Metadata = map[string]string{a2a.FinalKey: "true"}
	return e
}

// withHops returns metadata that says n, and all it said before.
func withHops(m a2a.Metadata, n int) a2a.Metadata {
	var all map[string]json.RawMessage
	if len(m) > 0 && json.Unmarshal(m, &all) != nil {
		return m // no object: not ours to mend
	}
	count := strconv.AppendInt(nil, int64(n), 10)
	if len(all) == 0 {
		return append(append([]byte(`{"`+hopsKey+`":`), count...), '}')
	}
	all[hopsKey] = count
	b, err := json.Marshal(all)
	if err != nil {
		return m
	}
	return b
}
