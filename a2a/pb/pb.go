// Package pb reads and writes A2A as protocol buffers: the messages of the two gRPC services, lf.a2a.v1 (v1.0) and a2a.v1
// (v0.3), to and from the nouns of package a2a. The generated types are those of the official SDKs, which other programs
// register too; there is no third copy.
//
// It is to gRPC what package wire is to JSON, and used the same way: a server reads a request into a *wire.Call and writes
// the result, a client writes a request and reads the result. Reading is lenient and never panics, whatever members are
// missing; what a message must say is checked by the rules of package wire. Writing is strict.
//
// What is lost on the way:
//
//   - numbers in metadata and data are doubles: a whole number beyond 2^53 is rounded, one beyond any double is cut;
//   - a2a.v1 cannot say that no history is wanted (0 means all of it), that an answer is wanted at once unless a push
//     configuration is given, or the metadata of a cancellation;
//   - whatever v0.3 cannot say in JSON either: tenants, a second kind of content type or file name beside a file's own.
//
// A file in a2a.v1 travels as base64 text within the bytes, as the Python and Go SDKs have it, and is read either way.
package pb

import (
	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"parley/a2a/wire"
)

// The names of the services.
const (
	ServiceNEW = "lf.a2a.v1.A2AService"
	ServiceV03 = "a2a.v1.A2AService"
)

// Method is one rpc of a service.
type Method struct {
	Service string
	Name    string
	Dialect wire.Dialect // wire.NEW or wire.PROTO
	Op      wire.Op

	request, reply func() proto.Message
}

// Path is what the method is called on the wire: /service/name.
func (m *Method) Path() string { return "/" + m.Service + "/" + m.Name }

// Streams reports whether the method is answered by a stream of events.
func (m *Method) Streams() bool { return m.Op == wire.OpStream || m.Op == wire.OpSubscribe }

// NewRequest returns an empty request to read into.
func (m *Method) NewRequest() proto.Message { return m.request() }

// NewReply returns an empty reply to read into.
func (m *Method) NewReply() proto.Message { return m.reply() }

// of makes the constructor of a message type.
func of[T any, P interface {
	*T
	proto.Message
}]() func() proto.Message {
	return func() proto.Message { return P(new(T)) }
}

// methods are all of both services that we speak; a2a.v1 has no list of tasks but in one SDK's copy.
var methods = []Method{
	{ServiceNEW, "SendMessage", wire.NEW, wire.OpSend, of[lf.SendMessageRequest](), of[lf.SendMessageResponse]()},
	{ServiceNEW, "SendStreamingMessage", wire.NEW, wire.OpStream, of[lf.SendMessageRequest](), of[lf.StreamResponse]()},
	{ServiceNEW, "GetTask", wire.NEW, wire.OpGet, of[lf.GetTaskRequest](), of[lf.Task]()},
	{ServiceNEW, "ListTasks", wire.NEW, wire.OpList, of[lf.ListTasksRequest](), of[lf.ListTasksResponse]()},
	{ServiceNEW, "CancelTask", wire.NEW, wire.OpCancel, of[lf.CancelTaskRequest](), of[lf.Task]()},
	{ServiceNEW, "SubscribeToTask", wire.NEW, wire.OpSubscribe, of[lf.SubscribeToTaskRequest](), of[lf.StreamResponse]()},
	{ServiceNEW, "CreateTaskPushNotificationConfig", wire.NEW, wire.OpPushSet, of[lf.TaskPushNotificationConfig](), of[lf.TaskPushNotificationConfig]()},
	{ServiceNEW, "GetTaskPushNotificationConfig", wire.NEW, wire.OpPushGet, of[lf.GetTaskPushNotificationConfigRequest](), of[lf.TaskPushNotificationConfig]()},
	{ServiceNEW, "ListTaskPushNotificationConfigs", wire.NEW, wire.OpPushList, of[lf.ListTaskPushNotificationConfigsRequest](), of[lf.ListTaskPushNotificationConfigsResponse]()},
	{ServiceNEW, "DeleteTaskPushNotificationConfig", wire.NEW, wire.OpPushDelete, of[lf.DeleteTaskPushNotificationConfigRequest](), of[emptypb.Empty]()},
	{ServiceNEW, "GetExtendedAgentCard", wire.NEW, wire.OpExtendedCard, of[lf.GetExtendedAgentCardRequest](), of[lf.AgentCard]()},

	{ServiceV03, "SendMessage", wire.PROTO, wire.OpSend, of[v03.SendMessageRequest](), of[v03.SendMessageResponse]()},
	{ServiceV03, "SendStreamingMessage", wire.PROTO, wire.OpStream, of[v03.SendMessageRequest](), of[v03.StreamResponse]()},
	{ServiceV03, "GetTask", wire.PROTO, wire.OpGet, of[v03.GetTaskRequest](), of[v03.Task]()},
	{ServiceV03, "CancelTask", wire.PROTO, wire.OpCancel, of[v03.CancelTaskRequest](), of[v03.Task]()},
	{ServiceV03, "TaskSubscription", wire.PROTO, wire.OpSubscribe, of[v03.TaskSubscriptionRequest](), of[v03.StreamResponse]()},
	{ServiceV03, "CreateTaskPushNotificationConfig", wire.PROTO, wire.OpPushSet, of[v03.CreateTaskPushNotificationConfigRequest](), of[v03.TaskPushNotificationConfig]()},
	{ServiceV03, "GetTaskPushNotificationConfig", wire.PROTO, wire.OpPushGet, of[v03.GetTaskPushNotificationConfigRequest](), of[v03.TaskPushNotificationConfig]()},
	{ServiceV03, "ListTaskPushNotificationConfig", wire.PROTO, wire.OpPushList, of[v03.ListTaskPushNotificationConfigRequest](), of[v03.ListTaskPushNotificationConfigResponse]()},
	{ServiceV03, "DeleteTaskPushNotificationConfig", wire.PROTO, wire.OpPushDelete, of[v03.DeleteTaskPushNotificationConfigRequest](), of[emptypb.Empty]()},
	{ServiceV03, "GetAgentCard", wire.PROTO, wire.OpExtendedCard, of[v03.GetAgentCardRequest](), of[v03.AgentCard]()},
}

// Methods returns every method of both services.
func Methods() []Method { return append([]Method(nil), methods...) }

// MethodOf returns the method for an operation, nil where the dialect's service has none. wire.MID, the JSON of v0.3,
// means a2a.v1 as well as wire.PROTO does.
func MethodOf(d wire.Dialect, op wire.Op) *Method {
	if d == wire.MID {
		d = wire.PROTO
	}
	for i := range methods {
		if m := &methods[i]; m.Dialect == d && m.Op == op {
			return m
		}
	}
	return nil
}
