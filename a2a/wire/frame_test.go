package wire_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// Every reader of an entry gets the same frame: the first, for whom it is made in place, and those for whom it is kept.
func TestFrameOfEveryReader(t *testing.T) {
	event := &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Message: &a2a.Message{
		ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("words")},
	}}}
	for _, c := range []*wire.Call{
		{Dialect: wire.MID, ID: []byte("1")},
		{Dialect: wire.PROTO, REST: true},
		{Dialect: wire.PROTO, REST: true, SingleBase64: true},
		{Dialect: wire.NEW, REST: true},
		{Dialect: wire.NEW, ID: []byte("1")},
	} {
		want := wire.AppendEventFrame(nil, c, 7, event)
		e := a2a.NewEntry(7, time.Time{}, a2a.MarshalEvent(event), nil)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				got, err := wire.AppendFrame([]byte("before "), c, e)
				if err != nil || !bytes.Equal(bytes.TrimPrefix(got, []byte("before ")), want) {
					t.Errorf("%s: %v, %s; want %s", c.Dialect, err, got, want)
				}
			})
		}
		wait.Wait()
	}
}
