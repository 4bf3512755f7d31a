package wire

// CheckCall checks what the members of a call must say and the limits of a2a.Limits, as DecodeCall does, for calls that were
// read from something else than JSON. A message of v0.3 and before without an id gets one. An error is an *a2a.Error.
func CheckCall(c *Call) error { return checkCall(c).err() }

// CheckReply checks the limits of what an agent answered, as DecodeReply does, and lets it be the agent who speaks where
// that was not said. v is what DecodeReply returns.
func CheckReply(v any) error { return checkReply(v).err() }

// FileBytes reads the bytes of a file in a message of a2a.v1. Most implementations put base64 text there, some the file
// itself: see onceMore.
func FileBytes(b []byte, mediaType string) []byte { return onceMore(b, mediaType) }
