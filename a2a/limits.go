package a2a

const (
	kib = 1 << 10
	mib = 1 << 20
)

// Limits is the one table of what Parley accepts from others. A value exactly at a limit is accepted. Byte counts are
// of decoded (decompressed) data.
var Limits = struct {
	RequestBody, Header, JSONDepth                   int
	Parts, TextPart, InlineFile                      int
	Metadata, MetadataKeys                           int
	History, PageSize                                int
	Card, CardSkills                                 int
	SSELine, SSEEvent                                int
	Response, File                                   int
	WebSocketMessage, WebSockets                     int
	Subscribers, PushConfigs                         int
	RunningTasks, InterruptedTasks, InterruptedLocal int
	Connections, ConnectionsPerPrincipal             int
}{
	RequestBody: 8 * mib, Header: 32 * kib, JSONDepth: 64,
	Parts: 256, TextPart: mib, InlineFile: 4 * mib,
	Metadata: 64 * kib, MetadataKeys: 256,
	History: 100, PageSize: 100,
	Card: 256 * kib, CardSkills: 256,
	SSELine: 8 * mib, SSEEvent: 8 * mib,
	Response: 8 * mib, File: 32 * mib,
	WebSocketMessage: 64 * kib, WebSockets: 256,
	Subscribers: 256, PushConfigs: 32,
	RunningTasks: 2000, InterruptedTasks: 200, InterruptedLocal: 20_000,
	Connections: 4096, ConnectionsPerPrincipal: 2048,
}
