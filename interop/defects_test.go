//go:build interop

package interop

import (
	"slices"
	"strings"
)

// A defect is something that does not work because of the SDK. It is tried all the same.
type defect struct {
	sdk      string
	bindings string // "" = every one
	role     string // of the SDK: client or agent
	checks   []string
	// evidence says what the SDK does. Where its own client fails the same way at its own agent, the last tables show it.
	evidence  string
	sometimes bool // it depends on timing
}

var defects = []defect{
	{
		sdk: "trpc-a2a-go 0.0.3", role: "agent", checks: []string{"history length"},
		evidence: "tasks/get returns the whole history for historyLength 0 (taskmanager/memory.go, OnGetTask).",
	},
	{
		sdk: "trpc-a2a-go 0.0.3", role: "agent", checks: []string{"artifacts"},
		evidence: "The stored task gets every chunk as one more artifact; append and index are not looked at (taskmanager/memory.go, AddArtifact).",
	},
	{
		sdk: "trpc-a2a-go 0.0.3", role: "agent", checks: []string{"error: send to completed"},
		evidence: "A finished task is begun again (taskmanager/memory.go, upsertTask), as v0.1 leaves open.",
	},
	{
		sdk: "trpc-a2a-go 0.0.3", role: "agent", checks: []string{"push: with a message", "parley hears by webhook"},
		evidence: "The configuration in tasks/send is not looked at (taskmanager/memory.go, OnSendTask).",
	},
	{
		sdk: "trpc-a2a-go 0.2.5", role: "agent", checks: []string{"cancel", "error: cancel completed"},
		evidence: "tasks/cancel forgets the task, whatever its state, and closes its streams without an event (taskmanager/memory.go, OnCancelTask).",
	},
	{
		sdk: "trpc-a2a-go 0.2.5", role: "agent", checks: []string{"artifacts"},
		evidence: "The stored task gets every chunk as one more artifact (taskmanager/memory_handler.go, AddArtifact).",
	},
	{
		sdk: "trpc-a2a-go 0.2.5", role: "agent", checks: []string{"error: send to completed"},
		evidence: "The state of the task is not looked at (taskmanager/memory.go, OnSendMessage).",
	},
	{
		sdk: "trpc-a2a-go 0.2.5", role: "agent", checks: []string{"push: delivery", "push: with a message", "parley hears by webhook"},
		evidence: "Configurations are kept, nothing is sent (taskmanager/memory.go, PushNotifications).",
	},
	{
		sdk: "trpc-a2a-go 0.2.5", role: "client", checks: []string{"error: subscribe unknown"},
		evidence: "An error in a stream is logged and left out (client/client.go, processSSEStream); a plain JSON error is not read at all.",
	},
	{
		sdk: "@a2a-js/sdk 0.2.5", role: "agent", checks: []string{"push: delivery", "push: with a message", "parley hears by webhook"},
		evidence: "Configurations are kept, nothing is sent (there is no sender in this version).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "JSONRPC", checks: []string{"send without waiting"},
		evidence: "message/send waits for the end whatever `blocking` says (its own client waits as long).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "JSONRPC", checks: []string{"history length"},
		evidence: "historyLength is not looked at.",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "JSONRPC", checks: []string{"cancel"},
		evidence: "The stream of a task that is canceled stays open and says nothing more (its own client waits, too).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "JSONRPC", checks: []string{"subscribe"},
		evidence: "A task whose stream was left comes to a stop: tasks/get says working for ever, tasks/resubscribe says nothing (seen with two bare HTTP requests).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "JSONRPC", checks: []string{"error: cancel completed"},
		evidence: "A task that has ended is canceled.",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "GRPC", checks: []string{
			"get", "send without waiting", "history length", "list", "cancel", "subscribe", "error: cancel completed", "artifacts",
		},
		evidence: "The ids of streamed events, and what waits behind them, get lost: the task is not found afterwards (its own client fails in the same way).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "GRPC", checks: []string{"auth-required"},
		evidence: "auth-required becomes TASK_STATE_UNSPECIFIED (utils/proto_utils.py).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "GRPC", checks: []string{"message metadata", "part: metadata"},
		evidence: "Metadata is not read from protocol buffers (utils/proto_utils.py).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "GRPC", checks: []string{"push: set, get", "push: list, delete", "push: delivery"},
		evidence: "CreateTaskPushNotificationConfig answers UNKNOWN: the result is a coroutine that nobody awaits (request_handlers/grpc_handler.py).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "GRPC", checks: []string{"part: file bytes", "part: bytes like base64", "part: file URL"},
		evidence: "Its a2a.v1 has no names of files, and the media type is not read.",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "GRPC", checks: []string{"part: data array", "part: data scalar", "part: data null"},
		evidence: "The mark that says what `value` stands for is part metadata, which its a2a.v1 does not have.",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "client", bindings: "GRPC", checks: []string{"message reply"},
		evidence: "A message as an answer is read as an empty task (client/grpc_client.py).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "client", bindings: "GRPC", checks: []string{"history length"},
		evidence: "GetTask is sent without history_length (client/grpc_client.py, get_task).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "client", bindings: "GRPC", checks: []string{"auth-required"},
		evidence: "auth-required is read as unknown (utils/proto_utils.py).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "client", bindings: "GRPC", checks: []string{"message metadata", "part: metadata"},
		evidence: "Metadata is not written to protocol buffers (utils/proto_utils.py).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "client", bindings: "GRPC", checks: []string{"push: set, get", "push: list, delete", "push: delivery"},
		evidence: "set_task_callback writes an empty `parent`, so that nobody knows which task is meant, and fails to read the answer (AttributeError: parent).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "client", bindings: "GRPC", checks: []string{"part: file bytes", "part: bytes like base64", "part: file URL", "input mode: refused"},
		evidence: "Its a2a.v1 has no names of files, and the media type is not read.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "client", bindings: "HTTP+JSON GRPC", checks: []string{"stream", "get", "artifacts"},
		evidence:  "Its client reads every chunk of an artifact as one that replaces: append is lost (compat of the protobuf events; its own agent fares the same).",
		sometimes: true, // where a check goes by the stream alone it cannot be seen
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "client", bindings: "HTTP+JSON GRPC", checks: []string{"part: file bytes", "part: file URL"},
		evidence: "Its a2a.v1 has no names of files.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "agent", bindings: "HTTP+JSON GRPC", checks: []string{"part: file bytes", "part: file URL"},
		evidence: "Its a2a.v1 has no names of files.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "client", bindings: "HTTP+JSON GRPC", checks: []string{"part: bytes like base64"},
		evidence: "It writes the bytes of a file once, the other SDKs twice, as base64 of base64; a file that is itself base64 cannot be told from the second.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "agent", bindings: "HTTP+JSON GRPC", checks: []string{"part: bytes like base64"},
		evidence: "As above.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "client", bindings: "HTTP+JSON GRPC", checks: []string{"part: metadata", "part: data array", "part: data scalar", "part: data null"},
		evidence: "Its a2a.v1 has no metadata of parts, and so no mark for data that is no object.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "agent", bindings: "HTTP+JSON GRPC", checks: []string{"part: metadata", "part: data array", "part: data scalar", "part: data null"},
		evidence: "Its a2a.v1 has no metadata of parts, and so no mark for data that is no object.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "client", bindings: "GRPC", checks: []string{"message metadata", "part: data object"},
		evidence: "A null in a Struct cannot be encoded: \"invalid int32: object\".",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "agent", bindings: "GRPC", checks: []string{"message metadata", "part: data object"},
		evidence: "A null in a Struct comes back as 0.",
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "client", bindings: "HTTP+JSON", checks: []string{"push: set, get", "push: list, delete", "push: delivery"},
		evidence:  "Creates a configuration with a body that its own server refuses; the server's answer to a create is not what it reads.",
		sometimes: true,
	},
	{
		sdk: "@a2a-js/sdk 0.3.14", role: "agent", bindings: "HTTP+JSON", checks: []string{"error: subscribe unknown"},
		evidence: "Answers 500, \"Bug: toJson serializer and body must be provided\", as it does to its own client.",
	},
	{
		sdk: "a2a-sdk 0.3.26", role: "agent", checks: []string{"cancel"},
		evidence: "The stream of a task that is canceled stays open and says nothing more (its own client waits, too).",
	},
	{
		sdk: "a2a-sdk 0.3.26", role: "agent", checks: []string{"subscribe"},
		evidence: "While somebody is subscribed every chunk is stored twice: tasks/get says so (to its own client, too).",
	},
	{
		sdk: "a2a-sdk 0.3.26", role: "agent", bindings: "HTTP+JSON", checks: []string{"error: subscribe unknown"},
		evidence: "Breaks the connection off, as it does with its own client.",
	},
	{
		sdk: "a2a-sdk 0.3.26", role: "agent", bindings: "HTTP+JSON", checks: []string{"push: list, delete"},
		evidence: "\"list notifications not implemented\" (request_handlers/rest_handler.py).",
	},
	{
		sdk: "a2a-sdk 0.3.26", role: "client", bindings: "HTTP+JSON", checks: []string{"error: subscribe unknown"},
		evidence: "The error that an HTTP status and its body tell is not looked at: \"Expected response header Content-Type to contain 'text/event-stream'\" (client/transports/rest.py).",
	},
	{
		sdk: "a2a-java 0.3.3.Final", role: "agent", checks: []string{"stream", "get", "subscribe", "artifacts"},
		evidence:  "On a busy machine the frames of a stream overtake one another: curl, sixteen times, read four of them out of order.",
		sometimes: true,
	},
	{
		sdk: "a2a-java 0.3.3.Final", role: "agent", checks: []string{"error: send to completed"},
		evidence: "The state of the task is not looked at (DefaultRequestHandler.java, initMessageSend).",
	},
	{
		sdk: "a2a-java 0.3.3.Final", role: "agent", checks: []string{"push: with a message", "parley hears by webhook"},
		evidence: "The configuration of a message that begins a task is kept for streams only (DefaultRequestHandler.java, onMessageSend).",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "agent", checks: []string{"auth-required"},
		evidence: "A turn that ended at AUTH_REQUIRED is not taken for ended: the answer gets \"task execution is already in progress\" (from its own client, too).",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "agent", checks: []string{"part: data null"},
		evidence: "A part `{\"data\":null}` is refused: \"unknown part content type\" (a2a/core.go).",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "client", checks: []string{"part: data null"},
		evidence: "A part `{\"data\":null}` cannot be read: \"unknown part content type\" (a2a/core.go).",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "agent", bindings: "GRPC", checks: []string{"part: data array", "part: data scalar"},
		evidence: "Only objects go into the Value of a part: \"DataPart value must be a map for protobuf conversion\".",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "client", bindings: "GRPC", checks: []string{"part: data array", "part: data scalar"},
		evidence: "Only objects go into the Value of a part: \"DataPart value must be a map for protobuf conversion\".",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "client", bindings: "JSONRPC HTTP+JSON", checks: []string{"extended card"},
		evidence: "securityRequirements cannot be read as the proto has them, with `list`: \"cannot unmarshal object into … SecuritySchemeScopes\".",
	},
	{
		sdk: "a2a-go/v2 2.4.0", role: "client", bindings: "JSONRPC", checks: []string{"error: subscribe unknown"},
		evidence: "A plain JSON error in place of a stream is read as a stream without events (v1.0 asks servers for it).",
	},
	{
		sdk: "a2a-sdk 0.2.16", role: "agent", bindings: "JSONRPC", checks: []string{"auth-required"},
		evidence: "An answer that comes while the turn before is put away gets an internal error without a message.", sometimes: true,
	},
	{
		sdk: "a2a-sdk 1.1.0", role: "client", checks: []string{"security declarations"},
		evidence: "Of a card for every version it reads the schemes in the form of v0.3, which knows neither device codes nor pkceRequired.",
	},
	{
		sdk: "a2a-sdk 1.1.0", role: "agent", checks: []string{"subscribe"},
		evidence: "A chunk may stand in the snapshot and be sent behind it once more.", sometimes: true,
	},
	{
		sdk: "a2a-sdk 1.1.0", role: "agent", checks: []string{"error: cancel completed"},
		evidence: "A task whose turn is still being put away is canceled although it has completed.", sometimes: true,
	},
	{
		sdk: "@a2a-js/sdk 1.3.0", role: "client", bindings: "JSONRPC HTTP+JSON", checks: []string{"part: data null"},
		evidence: "`{\"data\":null}` is read and written as a part without content.",
	},
	{
		sdk: "@a2a-js/sdk 1.3.0", role: "agent", bindings: "JSONRPC HTTP+JSON", checks: []string{"part: data null"},
		evidence: "`{\"data\":null}` is read and written as a part without content.",
	},
}

// defectOf returns the number of the defect that explains a cell, from 1; 0 for none.
func defectOf(c cell) int {
	role := "client"
	if c.table == "ours" {
		role = "agent"
	}
	return slices.IndexFunc(defects, func(d defect) bool {
		return c.table != "peers" && d.sdk == c.sdk && d.role == role && slices.Contains(d.checks, c.check) &&
			(d.bindings == "" || slices.Contains(strings.Fields(d.bindings), c.binding))
	}) + 1
}

// shaky tells whether a cell of the SDKs among themselves depends on timing.
func shaky(c cell) bool {
	return slices.ContainsFunc(defects, func(d defect) bool {
		return d.sometimes && d.sdk == c.sdk && slices.Contains(d.checks, c.check) && (d.bindings == "" || slices.Contains(strings.Fields(d.bindings), c.binding))
	})
}

// lacks tells whether a check cannot pass at an SDK's agent.
func (p pairing) lacks(check string) bool {
	return defectOf(cell{"ours", p.name, p.binding, check}) > 0
}
