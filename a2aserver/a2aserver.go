// Package a2aserver answers A2A clients. It has two halves that meet in one small port:
//
//	client ── HTTP ──────────> Handler ── Tasks ──> Agent (Executor + Log), or anybody else's Tasks
//	client ── gRPC ──> GRPC ──────┘
//
// The Handler speaks the dialects and bindings; whoever implements Tasks carries the work out. NewAgent implements
// Tasks durably for an Executor: every event is in the Log, committed, before any client is told of it; a reader that
// is slow, absent or reconnecting delays nobody and misses nothing; a task outlives the process.
//
// What an event costs does not depend on how long its task already is: it is encoded once, appended once, and the same
// bytes serve every reader. An Executor runs ahead of the commits, by at most 64 events, and everything it said while one
// commit was under way shares the next.
//
// The life of a task: a message begins a turn; the turn's first event makes the task (or, when it is a Message, is the
// whole answer, and there is none); a turn ends the task or leaves it waiting for somebody, and then the next message
// that names it begins the next turn. A message that arrives during a turn waits behind it. Nothing follows a terminal
// state. After a restart Agent.Resume goes on with what an earlier process left, or says that it failed.
package a2aserver
