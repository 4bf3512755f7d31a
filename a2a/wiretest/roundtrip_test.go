package wiretest_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

var dialects = []wire.Dialect{wire.NEW, wire.MID, wire.OLD}

// same compares raw JSON by its members: nothing depends on their order, and no members are as good as no object.
var same = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool { return !isRaw(p) }, cmpopts.EquateEmpty()),
	cmp.FilterPath(
		isRaw,
		cmp.Comparer(func(x, y json.RawMessage) bool { return cmp.Equal(parsed(x), parsed(y)) }),
	),
}

func isRaw(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[json.RawMessage]() }

func parsed(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	d.Decode(&v)
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	return v
}

// way is a dialect over a binding.
type way struct {
	wire.Dialect
	rest bool
}

var ways = []way{{wire.NEW, false}, {wire.NEW, true}, {wire.MID, false}, {wire.PROTO, true}, {wire.OLD, false}}

func (w way) String() string {
	if w.rest {
		return w.Dialect.String() + " rest"
	}
	return w.Dialect.String()
}

func (w way) call(op wire.Op) *wire.Call {
	return &wire.Call{ID: json.RawMessage("1"), Dialect: w.Dialect, REST: w.rest, Op: op}
}

// decode reads a reply, or what a frame holds.
func (w way) decode(op wire.Op, b []byte) (any, error) {
	if w.rest {
		return wire.DecodeRESTReply(w.Dialect, op, 200, "application/json", b)
	}
	return wire.DecodeReply(w.Dialect, op, b)
}

// send writes a request and reads it.
func (w way) send(op wire.Op, params any) (text []byte, call *wire.Call, err error) {
	if !w.rest {
		if text, err = wire.AppendCall(nil, w.Dialect, op, "c-1", params); err != nil {
			return nil, nil, err
		}
		if call, err = wire.DecodeCall(text); err == nil && w.Dialect == wire.OLD {
			call.AsOLD(call.TaskID())
		}
		return text, call, err
	}
	r, err := wire.EncodeREST(w.Dialect, op, params)
	if err != nil {
		return nil, nil, err
	}
	text = []byte(r.Method + " " + r.Path)
	if len(r.Query) > 0 {
		text = append(text, "?"+r.Query.Encode()...)
	}
	if text = append(text, '\n'); r.Body != nil {
		text = append(append(text, r.Body...), '\n')
	}
	call, err = wire.DecodeREST(r.Method, r.Path, r.Query, r.Body)
	return text, call, err
}

// nameless checks that all messages of what was read in OLD have an id, and takes it away.
func (w way) nameless(t interface{ Fatalf(string, ...any) }, v any) any {
	if w.Dialect != wire.OLD {
		return v
	}
	name := func(m *a2a.Message) {
		if m == nil {
			return
		}
		if m.ID == "" {
			t.Fatalf("a message was read without an id")
		}
		m.ID = ""
	}
	switch v := v.(type) {
	case *a2a.Task:
		name(v.Status.Message)
		for i := range v.History {
			name(&v.History[i])
		}
	case *a2a.StatusUpdate:
		name(v.Status.Message)
	case *a2a.SendRequest:
		name(&v.Message)
	}
	return v
}

func TestCheck35EventsSurvive(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				event := wiretest.Event().Draw(t, "event")
				entry := a2a.NewEntry(7, time.Time{}, a2a.MarshalEvent(event), nil)
				frames, err := wire.AppendFrame(nil, w.call(wire.OpStream), entry)
				if err != nil {
					t.Fatal(err)
				}
				frames = wire.AppendEventFrame(frames, w.call(wire.OpStream), 7, event)
				want := wiretest.Heard(w.Dialect, wiretest.Said(wire.NEW, event)) // an entry was v1.0 once
				want = append(want, wiretest.Heard(w.Dialect, event)...)
				for e, err := range wire.ReadSSE(strings.NewReader(string(frames))) {
					if id := "7"; err != nil || e.ID != id && w.Dialect != wire.OLD || w.Dialect == wire.OLD && e.ID+e.Name != "" {
						t.Fatalf("frame %q: id %q, %v", frames, e.ID, err)
					}
					got, err := w.decode(wire.OpStream, e.Data)
					if err != nil {
						t.Fatalf("%v\n%s", err, e.Data)
					}
					if len(want) == 0 {
						t.Fatalf("one more event: %s", e.Data)
					}
					if diff := cmp.Diff(want[0], w.nameless(t, got), same); diff != "" {
						t.Fatalf("%s\n%s", e.Data, diff)
					}
					want = want[1:]
				}
				if len(want) != 0 {
					t.Fatalf("%d events are missing in %s", len(want), frames)
				}
			})
		})
	}
}

func TestCheck35RepliesSurvive(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				event := wiretest.Event().Draw(t, "event")
				op := wire.OpSend
				switch event.(type) {
				case *a2a.Task:
					op = rapid.SampledFrom([]wire.Op{wire.OpSend, wire.OpGet, wire.OpCancel}).Draw(t, "op")
				case *a2a.Message:
				default:
					return // only streams have others
				}
				b := wire.AppendResult(nil, w.call(op), event)
				got, err := w.decode(op, b)
				if err != nil {
					t.Fatalf("%v\n%s", err, b)
				}
				if diff := cmp.Diff(wiretest.Said(w.Dialect, event), w.nameless(t, got), same); diff != "" {
					t.Fatalf("%s\n%s", b, diff)
				}
			})
		})
	}
}

func TestCanonicalJSONIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		event := wiretest.Event().Draw(t, "event")
		once := a2a.MarshalEvent(event)
		if !json.Valid(once) {
			t.Fatalf("not JSON: %s", once)
		}
		back, err := a2a.UnmarshalEvent(once)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wiretest.Said(wire.NEW, event), back, same); diff != "" {
			t.Fatalf("%s\n%s", once, diff)
		}
		if twice := a2a.MarshalEvent(back); string(twice) != string(once) {
			again, _ := a2a.UnmarshalEvent(twice)
			if diff := cmp.Diff(back, again, same); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestCheck35RequestsSurvive(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				request := wiretest.Request().Draw(t, "request")
				if w.Dialect == wire.OLD && request.Message.TaskID == "" {
					request.Message.TaskID = "t"
				}
				text, call, err := w.send(wire.OpStream, &request)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if call.Dialect != w.Dialect || call.REST != w.rest || call.Op != wire.OpStream {
					t.Fatalf("read as %+v", call)
				}
				want := wiretest.SaidRequest(w.Dialect, request)
				if diff := cmp.Diff(&want, w.nameless(t, call.Send), same); diff != "" {
					t.Fatalf("%s\n%s", text, diff)
				}
			})
		})
	}
}

func TestPushConfigsSurvive(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p := wiretest.Push().Draw(t, "push")
				if p.TaskID == "" {
					p.TaskID = "t"
				}
				text, call, err := w.send(wire.OpPushSet, &p)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				want := wiretest.SaidPush(w.Dialect, p)
				if w.Dialect == wire.PROTO && p.ID == "" {
					want.ID = p.TaskID // it needs one
				}
				if diff := cmp.Diff(&want, call.Push, same); diff != "" {
					t.Fatalf("%s\n%s", text, diff)
				}
				b := wire.AppendResult(nil, call, call.Push)
				got, err := w.decode(wire.OpPushSet, b)
				if err != nil {
					t.Fatalf("%v\n%s", err, b)
				}
				if want.Authentication != nil {
					open := *want.Authentication
					open.Credentials = ""
					want.Authentication = &open
				}
				if w.Dialect != wire.NEW {
					want.Tenant = "" // not in replies
				}
				if diff := cmp.Diff(&want, got, same); diff != "" {
					t.Fatalf("%s\n%s", b, diff)
				}
			})
		})
	}
}
