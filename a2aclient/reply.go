package a2aclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

func (x *exchange) events() iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		if !x.streams() {
			x.single(yield)
			return
		}
		r, err := card.Body(x.resp, 0)
		if err != nil {
			yield(frame{}, x.unreadable(err))
			return
		}
		for ev, err := range wire.ReadSSE(pulse{r, x}) {
			if err != nil {
				yield(frame{}, x.interrupted(err))
				return
			}
			if !x.frame(yield, ev.ID, ev.Data) {
				return
			}
		}
	}
}

// frame decodes one reply and yields it; false ends the stream.
func (x *exchange) frame(yield func(frame, error) bool, id string, data []byte) bool {
	f := frame{id: id, data: data}
	op := x.q.op
	if op == wire.OpSend {
		op = wire.OpStream // answered with a stream that nobody asked for
	}
	v, err := x.decode(op, data)
	if err == nil && v == nil {
		return true // some servers of v0.1 have frames of their own
	}
	if err == nil {
		f.final = x.q.dialect != wire.NEW && says(v, data)
		var ok bool
		if f.event, ok = v.(a2a.Event); !ok {
			f.bad = x.web.c.garbage(x.q.op, "a frame of the stream holds no event")
		}
		return yield(f, nil)
	}
	if _, told := protocol(err); told {
		yield(frame{}, err)
		return false
	}
	f.bad = err
	return yield(f, nil)
}

// says reports whether a frame says that it is the last one, though its event does not end a task.
func says(v any, data []byte) bool {
	switch e := v.(type) {
	case *a2a.StatusUpdate:
		if ended(e.Status.State) {
			return false
		}
	case *a2a.ArtifactUpdate:
	default:
		return false
	}
	return bytes.Contains(data, []byte(`"final"`)) && wire.Final(data)
}

// single yields an answer that is no stream.
func (x *exchange) single(yield func(frame, error) bool) {
	body, err := x.body()
	if err != nil {
		yield(frame{}, err)
		return
	}
	body = bytes.TrimSpace(body)
	ok := x.resp.StatusCode >= 200 && x.resp.StatusCode <= 299
	if ok && len(body) == 0 {
		return
	}
	var items []json.RawMessage
	if ok && body[0] == '[' && json.Unmarshal(body, &items) == nil {
		for _, item := range items {
			if !x.frame(yield, "", item) {
				return
			}
		}
		return
	}
	v, err := x.decode(x.q.op, body)
	if err != nil {
		yield(frame{}, err)
		return
	}
	if e, ok := v.(a2a.Event); ok {
		yield(frame{event: e}, nil)
		return
	}
	yield(frame{}, x.web.c.garbage(x.q.op, "the answer is no event"))
}

// interrupted tells what ended the reading of a stream.
func (x *exchange) interrupted(err error) error {
	if x.ctx.Err() == nil {
		if cause := context.Cause(x.inner); cause != nil {
			err = cause
		}
	}
	return x.unreadable(err)
}

// pulse counts what comes in, so that a silent connection can be told from a slow one.
type pulse struct {
	r io.Reader
	x *exchange
}

func (p pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.x.bytes.Add(int64(n))
	return n, err
}
