package pb_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
)

// TestCheck08BothServices shows that both generated packages live in one binary, and that the table of methods names what they
// define: every rpc but the list of tasks that one SDK added to a2a.v1.
func TestCheck08BothServices(t *testing.T) {
	t.Parallel()
	for _, service := range []string{pb.ServiceNEW, pb.ServiceV03} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			t.Fatal(err)
		}
		defined := map[string]protoreflect.MethodDescriptor{}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			defined[string(methods.Get(i).Name())] = methods.Get(i)
		}
		for _, m := range pb.Methods() {
			if m.Service != service {
				continue
			}
			def := defined[m.Name]
			if def == nil {
				t.Errorf("%s is not defined", m.Path())
				continue
			}
			delete(defined, m.Name)
			in, out := m.NewRequest().ProtoReflect().Descriptor().FullName(), m.NewReply().ProtoReflect().Descriptor().FullName()
			if def.Input().FullName() != in || def.Output().FullName() != out || def.IsStreamingServer() != m.Streams() {
				t.Errorf("%s: takes %s and gives %s, streams: %v", m.Path(), in, out, m.Streams())
			}
		}
		if service == pb.ServiceV03 {
			delete(defined, "ListTasks")
		}
		if len(defined) > 0 {
			t.Errorf("%s: not spoken: %v", service, slices.Collect(maps.Keys(defined)))
		}
	}
}

// TestFiles takes file bytes through a2a.v1 both ways: as the SDKs of Python and Go send them, and as that of JavaScript
// does where the two can be told apart.
func TestFiles(t *testing.T) {
	t.Parallel()
	encode := base64.StdEncoding.EncodeToString
	read := func(b []byte, mediaType string) []byte {
		m := pb.MethodOf(wire.PROTO, wire.OpSend)
		c, err := pb.DecodeCall(m, &v03.SendMessageRequest{Request: &v03.Message{Parts: []*v03.Part{{Part: &v03.Part_File{
			File: &v03.FilePart{File: &v03.FilePart_FileWithBytes{FileWithBytes: b}, MimeType: mediaType},
		}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Send.Message.Parts[0].Raw
	}
	files := []struct {
		raw       string
		mediaType string
		once      bool // survives being sent as it is, too
	}{
		{"", "text/plain", true},
		{"hi", "text/plain", true},
		{"\x00\xff\x10", "image/png", true},
		{"aGk=", "text/plain", false},               // base64 text is what it looks like
		{"abcd", "text/plain", true},                // a word
		{"abcd", "application/octet-stream", false}, //
		{strings.Repeat("word", 8), "text/plain", false},
		{encode([]byte("nested")), "text/plain", false},
		{"two words", "text/plain", true},
	}
	for _, f := range files {
		_, msg, err := pb.Request(wire.PROTO, wire.OpSend, &a2a.SendRequest{Message: a2a.Message{
			ID: "m", Parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: []byte(f.raw), MediaType: f.mediaType}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		b := msg.(*v03.SendMessageRequest).Request.Parts[0].GetFile().GetFileWithBytes()
		if string(b) != encode([]byte(f.raw)) {
			t.Errorf("%q was sent as %q", f.raw, b)
		}
		if got := read(b, f.mediaType); string(got) != f.raw {
			t.Errorf("%q (%s) came back as %q", f.raw, f.mediaType, got)
		}
		if got := read([]byte(f.raw), f.mediaType); (string(got) == f.raw) != f.once {
			t.Errorf("%q (%s), sent as it is, was read as %q", f.raw, f.mediaType, got)
		}
	}
}

func TestBigNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"9007199254740992": "9007199254740992", "9007199254740993": "9007199254740992", "1e999": "1.7976931348623157e+308",
		"1.0": "1", "-0.5": "-0.5", "1e-9": "1e-09", "123456789012": "123456789012",
	} {
		m, msg, _ := pb.Request(wire.NEW, wire.OpSend, &a2a.SendRequest{Message: a2a.Message{
			ID: "m", Parts: []a2a.Part{{Kind: a2a.PartData, Data: []byte(in)}},
		}})
		c, err := pb.DecodeCall(m, msg)
		if err != nil || string(c.Send.Message.Parts[0].Data) != want {
			t.Errorf("%s: %s, %v; want %s", in, c.Send.Message.Parts[0].Data, err, want)
		}
	}
}

// TestInvalid looks at what is refused, and that it is the caller's fault.
func TestInvalid(t *testing.T) {
	t.Parallel()
	send := func(p *lf.Part, meta *structpb.Struct) proto.Message {
		return &lf.SendMessageRequest{Message: &lf.Message{MessageId: "m", Parts: []*lf.Part{p}, Metadata: meta}}
	}
	deep := structpb.NewNumberValue(1)
	for range a2a.Limits.JSONDepth + 1 {
		deep = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{deep}})
	}
	text := &lf.Part{Content: &lf.Part_Text{Text: "t"}}
	cases := []struct {
		name  string
		d     wire.Dialect
		op    wire.Op
		msg   proto.Message
		field string
	}{
		{"no message", wire.NEW, wire.OpSend, &lf.SendMessageRequest{}, "message.messageId"},
		{"no id", wire.NEW, wire.OpGet, &lf.GetTaskRequest{}, "id"},
		{"no id of v0.3", wire.PROTO, wire.OpGet, &v03.GetTaskRequest{Name: "tasks/"}, "id"},
		{"no parts", wire.NEW, wire.OpSend, &lf.SendMessageRequest{Message: &lf.Message{MessageId: "m"}}, "message.parts"},
		{"an empty part", wire.NEW, wire.OpSend, send(&lf.Part{}, nil), "parts"},
		{"a part of nothing", wire.NEW, wire.OpSend, send(nil, nil), "parts"},
		{"no number", wire.NEW, wire.OpSend, send(&lf.Part{Content: &lf.Part_Data{Data: structpb.NewNumberValue(math.NaN())}}, nil), "parts.data"},
		{"too deep", wire.NEW, wire.OpSend, send(text, &structpb.Struct{Fields: map[string]*structpb.Value{"a": deep}}), "message.metadata"},
		{"a page too large", wire.NEW, wire.OpList, &lf.ListTasksRequest{PageSize: proto.Int32(101)}, "pageSize"},
		{"no page", wire.NEW, wire.OpList, &lf.ListTasksRequest{PageSize: proto.Int32(0)}, "pageSize"},
		{"no state", wire.NEW, wire.OpList, &lf.ListTasksRequest{Status: 77}, "status"},
		{"a negative length", wire.NEW, wire.OpGet, &lf.GetTaskRequest{Id: "T", HistoryLength: proto.Int32(-1)}, "historyLength"},
	}
	for _, c := range cases {
		_, err := pb.DecodeCall(pb.MethodOf(c.d, c.op), c.msg)
		e, _ := err.(*a2a.Error)
		if e == nil || e.Kind != a2a.KindInvalidParams || e.Field != c.field {
			t.Errorf("%s: %v (%+v)", c.name, err, e)
			continue
		}
		if s := pb.Status(c.d, err, wire.Mapping101); s.Code() != codes.InvalidArgument {
			t.Errorf("%s: %v", c.name, s)
		}
	}
}

// TestNothingPanics reads random messages, most of them with members missing, as requests and as replies.
func TestNothingPanics(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	methods := pb.Methods()
	for range 10_000 {
		m := &methods[r.IntN(len(methods))]
		request, reply := m.NewRequest(), m.NewReply()
		fill(r, request.ProtoReflect(), 0)
		fill(r, reply.ProtoReflect(), 0)
		c, err := pb.DecodeCall(m, request)
		if c == nil || err != nil && a2a.KindOf(err) == a2a.KindInternal {
			t.Fatalf("%s: %v: %v", m.Path(), c, err)
		}
		v, err := pb.Result(m, reply)
		if err == nil && v != nil {
			if _, err := pb.Reply(&wire.Call{Dialect: m.Dialect, Op: m.Op}, v); err != nil {
				t.Fatalf("%s: what was read cannot be written: %v", m.Path(), err)
			}
		}
	}
}

// What is nested as deep as JSON may be is read over gRPC as well, and nothing deeper: an agent that is asked in JSON could
// not read it.
func TestDepth(t *testing.T) {
	t.Parallel()
	limit := a2a.Limits.JSONDepth - 5
	for n := limit - 1; n <= limit+1; n++ {
		for _, inner := range []*structpb.Value{structpb.NewNumberValue(1), structpb.NewListValue(nil), structpb.NewStructValue(nil)} {
			v, around := inner, n
			if inner.GetNumberValue() == 0 {
				around--
			}
			for range around {
				v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
			}
			call, err := pb.DecodeCall(pb.MethodOf(wire.NEW, wire.OpSend), &lf.SendMessageRequest{
				Message: &lf.Message{MessageId: "m", Parts: []*lf.Part{{Content: &lf.Part_Data{Data: v}}}},
			})
			if (err == nil) != (n <= limit) {
				t.Errorf("%d of %d levels: %v", n, limit, err)
			}
			if err != nil {
				continue
			}
			b, err := wire.AppendCall(nil, wire.NEW, wire.OpSend, "1", call.Send)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := wire.DecodeCall(b); err != nil {
				t.Errorf("%d of %d levels, in JSON: %v", n, limit, err)
			}
		}
	}
}

// fill sets random members of a message.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if r.IntN(3) == 0 || depth > 5 && f.Message() != nil {
			continue
		}
		switch {
		case f.IsMap():
			mp := m.Mutable(f).Map()
			for range r.IntN(3) {
				v := mp.NewValue()
				if f.MapValue().Message() != nil {
					fill(r, v.Message(), depth+1)
				} else {
					v = scalar(r, f.MapValue())
				}
				mp.Set(protoreflect.ValueOfString(word(r)).MapKey(), v)
			}
		case f.IsList():
			l := m.Mutable(f).List()
			for range r.IntN(3) {
				if f.Message() != nil {
					fill(r, l.AppendMutable().Message(), depth+1)
				} else {
					l.Append(scalar(r, f))
				}
			}
		case f.Message() != nil:
			fill(r, m.Mutable(f).Message(), depth+1)
		default:
			m.Set(f, scalar(r, f))
		}
	}
}

func word(r *rand.Rand) string {
	return []string{"", "a", "tasks/x", "tasks/x/pushNotificationConfigs/y", "urn:parley:no-content", "data_part_compat", "value", "TASK"}[r.IntN(8)]
}

func scalar(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(12) - 1))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32([]int32{0, -1, 1, math.MaxInt32, math.MinInt32}[r.IntN(5)])
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64([]int64{0, -1, 1, math.MaxInt64, math.MinInt64}[r.IntN(5)])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, math.NaN(), math.Inf(1), 1e300, -1.5}[r.IntN(5)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(20)))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(word(r))
	}
	panic(fmt.Sprint("no value of kind ", f.Kind()))
}

// TestErrors looks at both editions of v1.0, at v0.3, and at what a client reads of each.
func TestErrors(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind           a2a.ErrorKind
		v101, v100, v3 codes.Code
	}{
		{a2a.KindTaskNotFound, codes.NotFound, codes.NotFound, codes.NotFound},
		{a2a.KindTaskNotCancelable, codes.FailedPrecondition, codes.FailedPrecondition, codes.FailedPrecondition},
		{a2a.KindPushNotSupported, codes.FailedPrecondition, codes.Unimplemented, codes.Unimplemented},
		{a2a.KindUnsupportedOperation, codes.FailedPrecondition, codes.Unimplemented, codes.Unimplemented},
		{a2a.KindContentType, codes.InvalidArgument, codes.InvalidArgument, codes.InvalidArgument},
		{a2a.KindInvalidAgentResponse, codes.Internal, codes.Internal, codes.Internal},
		{a2a.KindExtendedCardNotSet, codes.FailedPrecondition, codes.FailedPrecondition, codes.FailedPrecondition},
		{a2a.KindExtensionRequired, codes.FailedPrecondition, codes.FailedPrecondition, codes.InvalidArgument},
		{a2a.KindVersionNotSupported, codes.FailedPrecondition, codes.Unimplemented, codes.Unimplemented},
		{a2a.KindTaskTerminal, codes.FailedPrecondition, codes.Unimplemented, codes.InvalidArgument},
		{a2a.KindInvalidParams, codes.InvalidArgument, codes.InvalidArgument, codes.InvalidArgument},
		{a2a.KindUnauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		{a2a.KindForbidden, codes.PermissionDenied, codes.PermissionDenied, codes.PermissionDenied},
		{a2a.KindRateLimited, codes.ResourceExhausted, codes.ResourceExhausted, codes.ResourceExhausted},
		{a2a.KindUnavailable, codes.Unavailable, codes.Unavailable, codes.Unavailable},
		{a2a.KindMethodNotFound, codes.Unimplemented, codes.Unimplemented, codes.Unimplemented},
		{a2a.KindInternal, codes.Internal, codes.Internal, codes.Internal},
	}
	for _, c := range cases {
		err := &a2a.Error{
			Kind: c.kind, Message: "what happened", Metadata: map[string]string{"taskId": "T1"}, Field: "message.parts", RetryAfter: 2 * time.Second,
		}
		for _, to := range []struct {
			d    wire.Dialect
			m    wire.ErrorMapping
			code codes.Code
		}{{wire.NEW, wire.Mapping101, c.v101}, {wire.NEW, wire.Mapping100, c.v100}, {wire.PROTO, wire.Mapping101, c.v3}} {
			s := pb.Status(to.d, err, to.m)
			if s.Code() != to.code {
				t.Errorf("%s in %s/%d: %s, want %s", c.kind, to.d, to.m, s.Code(), to.code)
			}
			got := pb.Error(wire.OpSend, status.FromProto(s.Proto()))
			if got.Kind != c.kind || got.Code == 0 {
				t.Errorf("%s in %s/%d was read as %s (%d)", c.kind, to.d, to.m, got.Kind, got.Code)
			}
			if c.kind == a2a.KindInternal {
				if strings.Contains(s.Message(), "what happened") || got.Metadata != nil {
					t.Errorf("an internal error tells %v", s.Proto())
				}
				continue
			}
			if got.Metadata["taskId"] != "T1" || got.Field != "message.parts" || got.RetryAfter != 2*time.Second {
				t.Errorf("%s in %s/%d lost details: %+v", c.kind, to.d, to.m, got)
			}
		}
	}
	for _, c := range []struct {
		op      wire.Op
		code    codes.Code
		message string
		want    a2a.ErrorKind
	}{ // from peers without details
		{wire.OpGet, codes.NotFound, "TaskNotFoundError: Task not found", a2a.KindTaskNotFound},
		{wire.OpCancel, codes.Unimplemented, "TaskNotCancelableError: no", a2a.KindTaskNotCancelable},
		{wire.OpPushSet, codes.Unimplemented, "PushNotificationNotSupportedError: no", a2a.KindPushNotSupported},
		{wire.OpCancel, codes.FailedPrecondition, "no", a2a.KindTaskNotCancelable},
		{wire.OpPushList, codes.FailedPrecondition, "no", a2a.KindPushNotSupported},
		{wire.OpExtendedCard, codes.FailedPrecondition, "no", a2a.KindExtendedCardNotSet},
		{wire.OpSend, codes.Unimplemented, "unknown service", a2a.KindMethodNotFound},
		{wire.OpSend, codes.InvalidArgument, "the task is in terminal state", a2a.KindTaskTerminal},
		{wire.OpSend, codes.DataLoss, "", a2a.KindInternal},
	} {
		if e := pb.Error(c.op, status.New(c.code, c.message)); e.Kind != c.want || e.Code == 0 || e.Message == "" {
			t.Errorf("%s %q was read as %+v, want %s", c.code, c.message, e, c.want)
		}
	}
}
