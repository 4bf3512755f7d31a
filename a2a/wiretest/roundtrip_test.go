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

var dialects = []wire.Dialect{wire.NEW, wire.MID}

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

func TestEventsSurvive(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				event := wiretest.Event().Draw(t, "event")
				call := &wire.Call{ID: json.RawMessage("1"), Dialect: d, Op: wire.OpStream}
				entry := a2a.NewEntry(7, time.Time{}, a2a.MarshalEvent(event), nil)
				frame, err := wire.AppendFrame(nil, call, entry)
				if err != nil {
					t.Fatal(err)
				}
				snapshot := wire.AppendEventFrame(nil, call, 7, event)
				n := 0
				for e, err := range wire.ReadSSE(strings.NewReader(string(frame) + string(snapshot))) {
					if err != nil || e.ID != "7" {
						t.Fatalf("frame %q: id %q, %v", frame, e.ID, err)
					}
					got, err := wire.DecodeReply(d, wire.OpStream, e.Data)
					if err != nil {
						t.Fatalf("%v\n%s", err, e.Data)
					}
					if diff := cmp.Diff(wiretest.Said(d, event), got, same); diff != "" {
						t.Fatalf("%s\n%s", e.Data, diff)
					}
					n++
				}
				if n != 2 {
					t.Fatalf("%d events in two frames", n)
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

func TestRequestsSurvive(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				request := wiretest.Request().Draw(t, "request")
				body, err := wire.AppendCall(nil, d, wire.OpStream, "1", &request)
				if err != nil {
					t.Fatal(err)
				}
				call, err := wire.DecodeCall(body)
				if err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				if call.Dialect != d || call.Op != wire.OpStream || string(call.ID) != `"1"` {
					t.Fatalf("read as %+v", call)
				}
				want := wiretest.SaidRequest(d, request)
				if diff := cmp.Diff(&want, call.Send, same); diff != "" {
					t.Fatalf("%s\n%s", body, diff)
				}
			})
		})
	}
}
