package engine

import "parley/orchestrator"

// Taken says that the delivery of an intent begins. It is logged only where the process that logs an intent need not be
// the one that delivers it; there an intent that nobody took has certainly reached nobody. To the reducer it means nothing.
type Taken struct {
	Send string `json:"send"` // the ID of the Send
}

func (*Taken) Kind() orchestrator.EventKind { return orchestrator.EventTaken }
