package engine

import (
	"encoding/json"
	"strconv"
)

// What every message to an agent logs is written by hand: the same JSON as encoding/json makes of it, at a tenth of the
// cost, and the message within it is copied, not read.

func (b *Sending) appendJSON(j []byte) []byte {
	j = member(append(j, '{'), "step", b.Step)
	j = member(append(j, ','), "agent", b.Agent)
	j = strconv.AppendInt(append(j, `,"turn":`...), int64(b.Turn), 10)
	j = strconv.AppendInt(append(j, `,"attempt":`...), int64(b.Attempt), 10)
	if b.Repeat != 0 {
		j = strconv.AppendInt(append(j, `,"repeat":`...), int64(b.Repeat), 10)
	}
	j = member(append(j, ','), "messageId", b.MessageID)
	j = optional(j, "contextId", b.ContextID)
	j = optional(j, "taskId", b.TaskID)
	if len(b.References) > 0 {
		j = append(append(j, `,"references":`...), encoded(b.References)...)
	}
	j = optional(j, "digest", b.Digest)
	j = strconv.AppendInt(append(j, `,"at":`...), b.At, 10)
	if b.Hops != 0 {
		j = strconv.AppendInt(append(j, `,"hops":`...), int64(b.Hops), 10)
	}
	j = append(append(j, `,"message":`...), b.Message...)
	if b.Message == nil {
		j = append(j, `null`...)
	}
	if b.Config != nil {
		j = append(append(j, `,"config":`...), encoded(b.Config)...)
	}
	return append(j, '}')
}

func (b *Sent) appendJSON(j []byte) []byte {
	j = member(append(j, '{'), "step", b.Step)
	j = optional(j, "task", b.Task)
	j = optional(j, "context", b.Context)
	return append(j, '}')
}

// member appends a name and a text; the name needs no escaping.
func member(j []byte, name, value string) []byte {
	j = append(append(append(j, '"'), name...), `":`...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(j, encoded(value)...)
		}
	}
	return append(append(append(j, '"'), value...), '"')
}

// optional is member behind a comma, and nothing for an empty text.
func optional(j []byte, name, value string) []byte {
	if value == "" {
		return j
	}
	return member(append(j, ','), name, value)
}

func encoded(v any) []byte {
	j, err := json.Marshal(v)
	if err != nil {
		panic("engine: " + err.Error()) // a body holds nothing that JSON cannot say
	}
	return j
}
