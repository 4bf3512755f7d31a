package wire

import (
	"encoding/base64"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// midWriter writes the objects of v0.2 and v0.3. In JSON (MID) they name their kind, and enums are words in lower case; in
// ProtoJSON (PROTO) enums have the names of protobuf, parts say what they are by their members, and those of a message are
// its content.
type midWriter struct {
	proto  bool
	single bool // PROTO: the bytes of files are encoded once
}

// begin begins an object with its kind, or in ProtoJSON without.
func (w midWriter) begin(b []byte, kind string) []byte {
	b = append(b, '{')
	if w.proto {
		return b
	}
	b = append(b, `"kind":"`...)
	b = append(b, kind...)
	return append(b, '"')
}

func (w midWriter) task(b []byte, t *a2a.Task) []byte {
	b = jsontext.AppendString(jsontext.AppendName(w.begin(b, "task"), "id"), t.ID)
	b = jsontext.AppendString(append(b, `,"contextId":`...), t.ContextID)
	b = w.status(append(b, `,"status":`...), &t.Status)
	if len(t.Artifacts) > 0 {
		b = append(b, `,"artifacts":[`...)
		for i := range t.Artifacts {
			b = w.artifact(separate(b), &t.Artifacts[i])
		}
		b = append(b, ']')
	}
	if len(t.History) > 0 {
		b = append(b, `,"history":[`...)
		for i := range t.History {
			b = w.message(separate(b), &t.History[i])
		}
		b = append(b, ']')
	}
	b = jsontext.AppendObject(b, "metadata", t.Metadata)
	return append(b, '}')
}

func (w midWriter) statusUpdate(b []byte, u *a2a.StatusUpdate) []byte {
	b = jsontext.AppendString(jsontext.AppendName(w.begin(b, "status-update"), "taskId"), u.TaskID)
	b = jsontext.AppendString(append(b, `,"contextId":`...), u.ContextID)
	b = w.status(append(b, `,"status":`...), &u.Status)
	b = appendBool(append(b, `,"final":`...), final(u.Status.State))
	b = jsontext.AppendObject(b, "metadata", u.Metadata)
	return append(b, '}')
}

func (w midWriter) artifactUpdate(b []byte, u *a2a.ArtifactUpdate) []byte {
	b = jsontext.AppendString(jsontext.AppendName(w.begin(b, "artifact-update"), "taskId"), u.TaskID)
	b = jsontext.AppendString(append(b, `,"contextId":`...), u.ContextID)
	b = w.artifact(append(b, `,"artifact":`...), &u.Artifact)
	b = jsontext.AppendTrue(b, "append", u.Append)
	b = jsontext.AppendTrue(b, "lastChunk", u.LastChunk)
	b = jsontext.AppendObject(b, "metadata", u.Metadata)
	return append(b, '}')
}

func (w midWriter) status(b []byte, s *a2a.TaskStatus) []byte {
	b = append(b, `{"state":"`...)
	b = append(b, w.state(s.State)...)
	b = append(b, '"')
	if s.Message != nil {
		b = w.message(append(b, `,"message":`...), s.Message)
	}
	if !s.Timestamp.IsZero() {
		b = jsontext.AppendTime(append(b, `,"timestamp":`...), s.Timestamp)
	}
	return append(b, '}')
}

// state names a state. One that is unknown counts as active.
func (w midWriter) state(s a2a.TaskState) string {
	switch {
	case !w.proto:
		return midState(s)
	case s == a2a.TaskStateUnspecified:
		return string(a2a.TaskStateWorking)
	case s == a2a.TaskStateCanceled:
		return "TASK_STATE_CANCELLED"
	}
	return string(s)
}

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

func (w midWriter) artifact(b []byte, a *a2a.Artifact) []byte {
	b = jsontext.AppendString(append(b, `{"artifactId":`...), a.ID)
	b = jsontext.AppendText(b, "name", a.Name)
	b = jsontext.AppendText(b, "description", a.Description)
	b = w.parts(append(b, `,"parts":`...), a.Parts)
	b = jsontext.AppendObject(b, "metadata", a.Metadata)
	b = jsontext.AppendList(b, "extensions", a.Extensions)
	return append(b, '}')
}

// message writes the tasks a message refers to into its metadata where there is no member for them.
func (w midWriter) message(b []byte, m *a2a.Message) []byte {
	b = jsontext.AppendString(jsontext.AppendName(w.begin(b, "message"), "messageId"), m.ID)
	b = jsontext.AppendText(b, "contextId", m.ContextID)
	b = jsontext.AppendText(b, "taskId", m.TaskID)
	b = append(b, `,"role":"`...)
	if w.proto {
		b = append(b, protoRole(m.Role)...)
		b = append(b, `","content":`...)
	} else {
		b = append(b, midRole(m.Role)...)
		b = append(b, `","parts":`...)
	}
	b = w.parts(b, m.Parts)
	meta := m.Metadata
	if w.proto {
		meta = carryReferences(m)
	}
	b = jsontext.AppendObject(b, "metadata", meta)
	b = jsontext.AppendList(b, "extensions", m.Extensions)
	if !w.proto {
		b = jsontext.AppendList(b, "referenceTaskIds", m.ReferenceTaskIDs)
	}
	return append(b, '}')
}

func midRole(r a2a.Role) string {
	if r == a2a.RoleUser {
		return "user"
	}
	return "agent"
}

func protoRole(r a2a.Role) a2a.Role {
	if r == a2a.RoleUser {
		return r
	}
	return a2a.RoleAgent
}

func (w midWriter) parts(b []byte, parts []a2a.Part) []byte {
	b = append(b, '[')
	for i := range parts {
		if b = separate(b); w.proto {
			b = appendProtoPart(b, &parts[i], w.single)
		} else {
			b = appendTaggedPart(b, "kind", &parts[i])
		}
	}
	return append(b, ']')
}

// dataCompat marks a data part whose value is no object and was put into one.
const dataCompat = "data_part_compat"

// appendTaggedPart writes a part that says by the tag "kind" (MID) or "type" (OLD) what it is. OLD takes lists as data, and
// files that were named and not sent.
func appendTaggedPart(b []byte, tag string, p *a2a.Part) []byte {
	old := tag == "type"
	b = append(append(append(b, `{"`...), tag...), `":"`...)
	switch {
	case p.Kind == a2a.PartRaw, p.Kind == a2a.PartURL, p.Kind == a2a.PartNoContent && old:
		b = append(b, `file","file":{`...)
		switch p.Kind {
		case a2a.PartRaw:
			b = jsontext.AppendBytes(append(b, `"bytes":`...), p.Raw)
		case a2a.PartURL:
			b = jsontext.AppendString(append(b, `"uri":`...), p.URL)
		}
		b = jsontext.AppendText(b, "mimeType", p.MediaType)
		b = jsontext.AppendText(b, "name", p.Filename)
		b = jsontext.AppendObject(append(b, '}'), "metadata", p.Metadata)
		return append(b, '}')
	case p.Kind == a2a.PartData:
		var wrapped bool
		b, wrapped = appendData(append(b, `data","data":`...), p, old)
		b = jsontext.AppendObject(b, "metadata", carry(p, wrapped))
	default:
		b = jsontext.AppendString(append(b, `text","text":`...), textOf(p))
		b = jsontext.AppendObject(b, "metadata", carry(p, false))
	}
	return append(b, '}')
}

// appendProtoPart writes a part as ProtoJSON of a2a.v1. Most implementations put base64 where protobuf wants bytes, so that
// in JSON it is base64 of base64.
func appendProtoPart(b []byte, p *a2a.Part, single bool) []byte {
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		b = append(b, `{"file":{`...)
		switch raw := p.Raw; {
		case p.Kind == a2a.PartURL:
			b = jsontext.AppendString(append(b, `"fileWithUri":`...), p.URL)
		case single:
			b = jsontext.AppendBytes(append(b, `"fileWithBytes":`...), raw)
		default:
			b = jsontext.AppendBytes(append(b, `"fileWithBytes":`...), base64.StdEncoding.AppendEncode(nil, raw))
		}
		b = jsontext.AppendText(b, "mimeType", p.MediaType)
		b = jsontext.AppendText(b, "name", p.Filename)
		b = jsontext.AppendObject(append(b, '}'), "metadata", p.Metadata)
	case a2a.PartData:
		var wrapped bool
		b, wrapped = appendData(append(b, `{"data":{"data":`...), p, false)
		b = jsontext.AppendObject(append(b, '}'), "metadata", carry(p, wrapped))
	default:
		b = jsontext.AppendString(append(b, `{"text":`...), textOf(p))
		b = jsontext.AppendObject(b, "metadata", carry(p, false))
	}
	return append(b, '}')
}

// textOf is what a text part says; one that stands for a file that was not sent says its name.
func textOf(p *a2a.Part) string {
	if p.Kind == a2a.PartNoContent {
		return p.Filename
	}
	return p.Text
}

// appendData writes the value of a data part, put into an object where the dialect takes nothing else.
func appendData(b []byte, p *a2a.Part, lists bool) (_ []byte, wrapped bool) {
	if jsontext.IsObject(p.Data) || lists && jsontext.IsArray(p.Data) {
		return jsontext.AppendRaw(b, p.Data), false
	}
	return append(jsontext.AppendRaw(append(b, `{"value":`...), p.Data), '}'), true
}

// carry is the metadata of a text or data part with what has no member of its own: only files have a name and a type.
func carry(p *a2a.Part, wrapped bool) a2a.Metadata {
	meta := p.Metadata
	if wrapped {
		meta = jsontext.WithTrue(meta, dataCompat)
	}
	if p.Kind == a2a.PartNoContent {
		meta = jsontext.WithTrue(meta, a2a.NoContentKey)
	}
	if p.Filename != "" {
		meta = jsontext.With(meta, "filename", jsontext.AppendString(nil, p.Filename))
	}
	if p.MediaType != "" {
		meta = jsontext.With(meta, "mediaType", jsontext.AppendString(nil, p.MediaType))
	}
	return meta
}

// Members of metadata that hold what OLD or PROTO have no member for.
const (
	referencesKey = "urn:parley:reference-task-ids" // of a message: a list
	stateKey      = "urn:parley:state"              // of a task or a status event: the state that OLD does not have
	artifactKey   = "urn:parley:artifact-id"        // of an artifact of OLD, unless the id follows from its index
)

func carryReferences(m *a2a.Message) a2a.Metadata {
	if len(m.ReferenceTaskIDs) == 0 {
		return m.Metadata
	}
	return jsontext.With(m.Metadata, referencesKey, jsontext.AppendStrings(nil, m.ReferenceTaskIDs))
}

func restoreReferences(m *a2a.Message) {
	rest, value := jsontext.Cut(m.Metadata, referencesKey)
	if len(value) == 0 || value[0] != '[' {
		return
	}
	r := jsontext.NewReader(value)
	if list := r.Strings(); r.Err() == nil {
		m.Metadata, m.ReferenceTaskIDs = rest, list
	}
}

// eachMessage calls f with the messages of an event.
func eachMessage(e a2a.Event, f func(*a2a.Message)) {
	switch e := e.(type) {
	case *a2a.Message:
		f(e)
	case *a2a.Task:
		for i := range e.History {
			f(&e.History[i])
		}
		if e.Status.Message != nil {
			f(e.Status.Message)
		}
	case *a2a.StatusUpdate:
		if e.Status.Message != nil {
			f(e.Status.Message)
		}
	}
}
