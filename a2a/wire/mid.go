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
		b = appendMidMessage(append(b, `"message":`...), fromUser(&p.Message))
		b = appendMidConfiguration(b, &p.Configuration)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.GetRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
		b = appendLength(b, p.HistoryLength)
	case *a2a.CancelRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.SubscribeRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
	}
	return append(b, '}')
}

// appendMidConfiguration always says whether to wait: implementations differ in what they take for granted. The modes
// were required up to v0.2.5.
func appendMidConfiguration(b []byte, c *a2a.SendConfiguration) []byte {
	b = append(b, `,"configuration":{"acceptedOutputModes":`...)
	b = jsontext.AppendStrings(b, c.AcceptedOutputModes)
	if c.ReturnImmediately {
		b = append(b, `,"blocking":false`...)
	} else {
		b = append(b, `,"blocking":true`...)
	}
	b = appendLength(b, c.HistoryLength)
	if p := c.Push; p != nil {
		b = append(b, `,"pushNotificationConfig":{"url":`...)
		b = jsontext.AppendString(b, p.URL)
		b = jsontext.AppendText(b, "id", p.ID)
		b = jsontext.AppendText(b, "token", p.Token)
		if p.Authentication != nil {
			b = append(b, `,"authentication":{"schemes":[`...)
			b = append(jsontext.AppendString(b, p.Authentication.Scheme), ']')
			b = jsontext.AppendText(b, "credentials", p.Authentication.Credentials)
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

func (midFamily) appendResult(b []byte, op Op, result any) []byte {
	switch v := result.(type) {
	case a2a.Event:
		return midFamily{}.appendEvent(b, v)
	case *a2a.AgentCard:
		return AppendCard(b, CardMID, v)
	}
	return append(b, "null"...)
}

func (midFamily) appendEvent(b []byte, e a2a.Event) []byte {
	switch e := e.(type) {
	case *a2a.Task:
		return appendMidTask(b, e)
	case *a2a.Message:
		return appendMidMessage(b, e)
	case *a2a.StatusUpdate:
		b = jsontext.AppendString(append(b, `{"kind":"status-update","taskId":`...), e.TaskID)
		b = jsontext.AppendString(append(b, `,"contextId":`...), e.ContextID)
		b = appendMidStatus(append(b, `,"status":`...), &e.Status)
		// While sign-in is awaited the stream stays open: that is not the end.
		if e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired {
			b = append(b, `,"final":true`...)
		} else {
			b = append(b, `,"final":false`...)
		}
		b = jsontext.AppendObject(b, "metadata", e.Metadata)
		return append(b, '}')
	case *a2a.ArtifactUpdate:
		b = jsontext.AppendString(append(b, `{"kind":"artifact-update","taskId":`...), e.TaskID)
		b = jsontext.AppendString(append(b, `,"contextId":`...), e.ContextID)
		b = appendMidArtifact(append(b, `,"artifact":`...), &e.Artifact)
		b = jsontext.AppendTrue(b, "append", e.Append)
		b = jsontext.AppendTrue(b, "lastChunk", e.LastChunk)
		b = jsontext.AppendObject(b, "metadata", e.Metadata)
		return append(b, '}')
	}
	return append(b, "null"...)
}

func appendMidTask(b []byte, t *a2a.Task) []byte {
	b = jsontext.AppendString(append(b, `{"kind":"task","id":`...), t.ID)
	b = jsontext.AppendString(append(b, `,"contextId":`...), t.ContextID)
	b = appendMidStatus(append(b, `,"status":`...), &t.Status)
	if len(t.Artifacts) > 0 {
		b = append(b, `,"artifacts":[`...)
		for i := range t.Artifacts {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMidArtifact(b, &t.Artifacts[i])
		}
		b = append(b, ']')
	}
	if len(t.History) > 0 {
		b = append(b, `,"history":[`...)
		for i := range t.History {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMidMessage(b, &t.History[i])
		}
		b = append(b, ']')
	}
	b = jsontext.AppendObject(b, "metadata", t.Metadata)
	return append(b, '}')
}

func appendMidStatus(b []byte, s *a2a.TaskStatus) []byte {
	b = append(b, `{"state":"`...)
	b = append(b, midState(s.State)...)
	b = append(b, '"')
	if s.Message != nil {
		b = appendMidMessage(append(b, `,"message":`...), s.Message)
	}
	if !s.Timestamp.IsZero() {
		b = jsontext.AppendTime(append(b, `,"timestamp":`...), s.Timestamp)
	}
	return append(b, '}')
}

// midState names a state. One that is unknown counts as active.
func midState(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateSubmitted:
		return "submitted"
	case a2a.TaskStateInputRequired:
		return "input-required"
	case a2a.TaskStateAuthRequired:
		return "auth-required"
	case a2a.TaskStateCompleted:
		return "completed"
	case a2a.TaskStateCanceled:
		return "canceled"
	case a2a.TaskStateFailed:
		return "failed"
	case a2a.TaskStateRejected:
		return "rejected"
	}
	return "working"
}

func appendMidArtifact(b []byte, a *a2a.Artifact) []byte {
	b = jsontext.AppendString(append(b, `{"artifactId":`...), a.ID)
	b = jsontext.AppendText(b, "name", a.Name)
	b = jsontext.AppendText(b, "description", a.Description)
	b = appendMidParts(append(b, `,"parts":`...), a.Parts)
	b = jsontext.AppendObject(b, "metadata", a.Metadata)
	b = jsontext.AppendList(b, "extensions", a.Extensions)
	return append(b, '}')
}

func appendMidMessage(b []byte, m *a2a.Message) []byte {
	b = jsontext.AppendString(append(b, `{"kind":"message","messageId":`...), m.ID)
	b = jsontext.AppendText(b, "contextId", m.ContextID)
	b = jsontext.AppendText(b, "taskId", m.TaskID)
	if m.Role == a2a.RoleUser {
		b = append(b, `,"role":"user","parts":`...)
	} else {
		b = append(b, `,"role":"agent","parts":`...)
	}
	b = appendMidParts(b, m.Parts)
	b = jsontext.AppendObject(b, "metadata", m.Metadata)
	b = jsontext.AppendList(b, "extensions", m.Extensions)
	b = jsontext.AppendList(b, "referenceTaskIds", m.ReferenceTaskIDs)
	return append(b, '}')
}

func appendMidParts(b []byte, parts []a2a.Part) []byte {
	b = append(b, '[')
	for i := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMidPart(b, &parts[i])
	}
	return append(b, ']')
}

// dataCompat marks a data part whose value is no object and was put into one.
const dataCompat = "data_part_compat"

func appendMidPart(b []byte, p *a2a.Part) []byte {
	meta := p.Metadata
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		b = append(b, `{"kind":"file","file":{`...)
		if p.Kind == a2a.PartRaw {
			b = jsontext.AppendBytes(append(b, `"bytes":`...), p.Raw)
		} else {
			b = jsontext.AppendString(append(b, `"uri":`...), p.URL)
		}
		b = jsontext.AppendText(b, "mimeType", p.MediaType)
		b = jsontext.AppendText(b, "name", p.Filename)
		b = append(b, '}')
		b = jsontext.AppendObject(b, "metadata", meta)
		return append(b, '}')
	case a2a.PartData:
		b = append(b, `{"kind":"data","data":`...)
		if jsontext.IsObject(p.Data) {
			b = jsontext.AppendRaw(b, p.Data)
		} else {
			b = append(jsontext.AppendRaw(append(b, `{"value":`...), p.Data), '}')
			meta = jsontext.WithTrue(meta, dataCompat)
		}
	case a2a.PartNoContent:
		b = jsontext.AppendString(append(b, `{"kind":"text","text":`...), p.Filename)
		meta = jsontext.WithTrue(meta, a2a.NoContentKey)
	default:
		b = jsontext.AppendString(append(b, `{"kind":"text","text":`...), p.Text)
	}
	// Only files have a name and a type of their own.
	if p.Filename != "" {
		meta = jsontext.With(meta, "filename", jsontext.AppendString(nil, p.Filename))
	}
	if p.MediaType != "" {
		meta = jsontext.With(meta, "mediaType", jsontext.AppendString(nil, p.MediaType))
	}
	b = jsontext.AppendObject(b, "metadata", meta)
	return append(b, '}')
}
