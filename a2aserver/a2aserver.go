// Package a2aserver answers A2A clients. It has two halves that meet in one small port:
//
//	client ── HTTP ──> Handler ── Tasks ──> Agent (Executor + Log), or anybody else's Tasks
//
// The Handler speaks the dialects and bindings; whoever implements Tasks carries the work out. NewAgent implements
// Tasks durably for an Executor: every event is in the Log, committed, before any client is told of it; a reader that
// is slow, absent or reconnecting delays nobody and misses nothing; a task outlives the process.
package a2aserver
