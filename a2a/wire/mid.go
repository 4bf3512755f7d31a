package wire

import (
	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// midFamily is the JSON of v0.2 and v0.3: objects say what they are by "kind", enums are words in lower case, a file is
// an object of its own, and a stream says "final".
type midFamily struct{}

var midMethods = [...]string{
	OpSend:         "message/send",
	OpStream:       "message/stream",
	OpGet:          "tasks/get",
	OpList:         "",
	OpCancel:       "tasks/cancel",
	OpSubscribe:    "tasks/resubscribe",
	OpPushSet:      "tasks/pushNotificationConfig/set",
	OpPushGet:      "tasks/pushNotificationConfig/get",
	OpPushList:     "tasks/pushNotificationConfig/list",
	OpPushDelete:   "tasks/pushNotificationConfig/delete",
	OpExtendedCard: "agent/getAuthenticatedExtendedCard",
}

func (midFamily) method(op Op) string { return midMethods[op] }

func (midFamily) code(k a2a.ErrorKind) int {
	switch k {
	case a2a.KindExtensionRequired, a2a.KindVersionNotSupported:
		return -32600
	case a2a.KindTaskTerminal:
		return -32602
	}
	return codes[k]
}

func (midFamily) kind(code int) a2a.ErrorKind { return kindOf(code) }

func (midFamily) details() bool { return false }

func (midFamily) readParams(r *jsontext.Reader, c *Call) { readParams(r, c, readMidPart) }

func (midFamily) appendParams(b []byte, op Op, params any) []byte {
	b = append(b, '{')
	switch p := params.(type) {
	case *a2a.SendRequest:
		b = midWriter{}.message(append(b, `"message":`...), fromUser(&p.Message))
		b = appendMidConfiguration(b, &p.Configuration, false)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.GetRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
		b = appendLength(b, p.HistoryLength)
	case *a2a.CancelRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.SubscribeRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
	case *a2a.PushConfig:
		return appendMidHolder(b[:len(b)-1], p, true)
	case *a2a.PushGetRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.TaskID)
		b = jsontext.AppendText(b, "pushNotificationConfigId", p.ID)
	case *a2a.PushListRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.TaskID)
	case *a2a.PushDeleteRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.TaskID)
		b = jsontext.AppendString(append(b, `,"pushNotificationConfigId":`...), p.ID)
	}
	return append(b, '}')
}

// appendMidConfiguration always says whether to wait: implementations differ in what they take for granted. The modes
// were required up to v0.2.5.
func appendMidConfiguration(b []byte, c *a2a.SendConfiguration, proto bool) []byte {
	b = append(b, `,"configuration":{"acceptedOutputModes":`...)
	b = jsontext.AppendStrings(b, c.AcceptedOutputModes)
	if c.ReturnImmediately {
		b = append(b, `,"blocking":false`...)
	} else {
		b = append(b, `,"blocking":true`...)
	}
	name := "pushNotificationConfig"
	if proto {
		name = "pushNotification"
	}
	if !proto || c.HistoryLength != nil && *c.HistoryLength != 0 { // there, zero means no limit
		b = appendLength(b, c.HistoryLength)
	}
	if c.Push != nil {
		b = appendMidPush(jsontext.AppendName(b, name), c.Push, true)
	}
	return append(b, '}')
}

func (midFamily) appendResult(b []byte, _ *Call, result any) []byte {
	switch v := result.(type) {
	case a2a.Event:
		return midFamily{}.appendEvent(b, v)
	case *a2a.PushConfig:
		return appendMidHolder(b, v, false)
	case *a2a.PushConfigPage:
		b = append(b, '[')
		for i := range v.Configs {
			b = appendMidHolder(separate(b), &v.Configs[i], false)
		}
		return append(b, ']')
	case *a2a.AgentCard:
		return AppendCard(b, CardMID, v)
	}
	return append(b, "null"...)
}

func (midFamily) appendEvent(b []byte, e a2a.Event) []byte {
	var w midWriter
	switch e := e.(type) {
	case *a2a.Task:
		return w.task(b, e)
	case *a2a.Message:
		return w.message(b, e)
	case *a2a.StatusUpdate:
		return w.statusUpdate(b, e)
	case *a2a.ArtifactUpdate:
		return w.artifactUpdate(b, e)
	}
	return append(b, "null"...)
}

// final reports whether a stream ends with the state. While sign-in is awaited it stays open.
func final(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }
