// Package a2a holds the nouns of the Agent2Agent protocol in the meaning of version 1.0: agents and their cards,
// messages and parts, tasks, artifacts, the events of a task, requests, errors and limits.
//
// Older dialects are read into these types and written from them by package wire; nothing above wire knows that other
// versions exist. The JSON methods of the types read and write the v1.0 form. Reading is lenient (ProtoJSON rules:
// both spellings of a member, enum names and numbers, null = absent, unknown members ignored); writing is strict: no
// member that v1.0 does not define, times in UTC with milliseconds, required members always there.
//
// Values are plain data. Nothing in this package does I/O, starts a goroutine or reads a clock.
package a2a

import "encoding/json"

// Metadata is one JSON object, kept byte for byte (white space outside strings removed); nil means absent.
type Metadata = json.RawMessage
