package pb

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// str is s as a proto3 string may be: UTF-8.
func str(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

func strs(list []string) []string {
	for i, s := range list {
		if utf8.ValidString(s) {
			continue
		}
		out := slices.Clone(list)
		for j := i; j < len(out); j++ {
			out[j] = str(out[j])
		}
		return out
	}
	return list
}

// length is a count as an int32.
func length(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// object makes a Struct of a JSON object; nil of anything else, and of an empty one.
func object(raw []byte) *structpb.Struct {
	if len(raw) <= len("{}") {
		return nil
	}
	return value(raw).GetStructValue()
}

// value makes a Value of any JSON; what is no JSON becomes null.
func value(raw []byte) *structpb.Value {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return structpb.NewNullValue()
	}
	return valueOf(v)
}

func valueOf(v any) *structpb.Value {
	switch v := v.(type) {
	case bool:
		return structpb.NewBoolValue(v)
	case string:
		return structpb.NewStringValue(str(v))
	case json.Number:
		f, _ := v.Float64() // out of range: an infinity, which is cut
		return structpb.NewNumberValue(min(max(f, -math.MaxFloat64), math.MaxFloat64))
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i := range v {
			list.Values[i] = valueOf(v[i])
		}
		return structpb.NewListValue(list)
	case map[string]any:
		fields := make(map[string]*structpb.Value, len(v))
		for k, m := range v {
			fields[str(k)] = valueOf(m)
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	}
	return structpb.NewNullValue()
}

// metadata reads a Struct; an empty one is none.
func (r *reader) metadata(field string, s *structpb.Struct) a2a.Metadata {
	if len(s.GetFields()) == 0 {
		return nil
	}
	return r.json(field, structpb.NewStructValue(s))
}

// json reads a Value as JSON, the members of objects in the order of their names.
func (r *reader) json(field string, v *structpb.Value) json.RawMessage {
	b, why := appendValue(nil, v, maxDepth)
	if why != "" {
		r.fail(field, why)
		return nil
	}
	return b
}

// maxDepth is how deep a value may be: what a request in JSON has around the data of a part counts there, too, and whoever
// gets it in JSON must be able to read it.
var maxDepth = a2a.Limits.JSONDepth - 5

const tooDeep = "is nested too deeply"

// appendValue appends a Value of at most depth objects and lists within each other, or says what is wrong with it.
func appendValue(b []byte, v *structpb.Value, depth int) (_ []byte, why string) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(b, k.BoolValue), ""
	case *structpb.Value_StringValue:
		return jsontext.AppendString(b, k.StringValue), ""
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			return b, "holds a number that JSON does not have"
		}
		return appendNumber(b, k.NumberValue), ""
	case *structpb.Value_ListValue:
		if depth == 0 {
			return b, tooDeep
		}
		b = append(b, '[')
		for i, item := range k.ListValue.GetValues() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, why = appendValue(b, item, depth-1); why != "" {
				return b, why
			}
		}
		return append(b, ']'), ""
	case *structpb.Value_StructValue:
		if depth == 0 {
			return b, tooDeep
		}
		b = append(b, '{')
		fields := k.StructValue.GetFields()
		for i, name := range slices.Sorted(maps.Keys(fields)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(jsontext.AppendString(b, name), ':')
			if b, why = appendValue(b, fields[name], depth-1); why != "" {
				return b, why
			}
		}
		return append(b, '}'), ""
	}
	return append(b, "null"...), ""
}

// appendNumber appends a number the way people write it: whole numbers without a point.
func appendNumber(b []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// moment reads a time, to the millisecond; one that cannot be is none.
func moment(t *timestamppb.Timestamp) time.Time {
	if t == nil || !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime().Truncate(time.Millisecond)
}

// states holds the task states by their numbers, which are those of both services.
var states = [...]a2a.TaskState{
	a2a.TaskStateUnspecified, a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled,
	a2a.TaskStateInputRequired, a2a.TaskStateRejected, a2a.TaskStateAuthRequired,
}

func state[N ~int32](n N) a2a.TaskState {
	if n >= 0 && int(n) < len(states) {
		return states[n]
	}
	return a2a.TaskStateUnspecified
}

// stateNumber is the number of a state, 0 for one that is unknown.
func stateNumber(s a2a.TaskState) int32 { return int32(max(0, slices.Index(states[:], s))) }

func role[N ~int32](n N) a2a.Role {
	switch n {
	case 1:
		return a2a.RoleUser
	case 2:
		return a2a.RoleAgent
	}
	return ""
}

// roleNumber is the number of a role. In an answer it is the agent who speaks where that was not said.
func roleNumber(r a2a.Role) int32 {
	if r == a2a.RoleUser {
		return 1
	}
	return 2
}

// reader reads messages and keeps the first fault.
type reader struct{ fault *a2a.Error }

func (r *reader) fail(field, must string) {
	if r.fault == nil {
		r.fault = &a2a.Error{Kind: a2a.KindInvalidParams, Message: field + " " + must, Field: field}
	}
}

// err keeps a nil fault a nil error.
func (r *reader) err() error {
	if r.fault == nil {
		return nil
	}
	return r.fault
}

// each converts the elements of a list; nil stays nil.
func each[From, To any](list []From, f func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	out := make([]To, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}

// JSON returns a message as ProtoJSON, for people to read.
func JSON(m proto.Message) []byte {
	b, err := protojson.Marshal(m)
	if err != nil {
		return []byte("null")
	}
	return jsontext.AppendRaw(make([]byte, 0, len(b)), b)
}
