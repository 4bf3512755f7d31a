package a2a

import "parley/a2a/internal/jsontext"

// AppendJSON appends t as v1.0 writes it.
func (t *Task) AppendJSON(b []byte) []byte {
	b = append(b, `{"id":`...)
	b = jsontext.AppendString(b, t.ID)
	b = jsontext.AppendText(b, "contextId", t.ContextID)
	b = t.Status.AppendJSON(append(b, `,"status":`...))
	if len(t.Artifacts) > 0 {
		b = append(b, `,"artifacts":[`...)
		for i := range t.Artifacts {
			if i > 0 {
				b = append(b, ',')
			}
			b = t.Artifacts[i].AppendJSON(b)
		}
		b = append(b, ']')
	}
	if len(t.History) > 0 {
		b = append(b, `,"history":[`...)
		for i := range t.History {
			if i > 0 {
				b = append(b, ',')
			}
			b = t.History[i].AppendJSON(b)
		}
		b = append(b, ']')
	}
	b = jsontext.AppendObject(b, "metadata", t.Metadata)
	return append(b, '}')
}

// ReadJSON reads a task, for package wire.
func (t *Task) ReadJSON(r *jsontext.Reader, part PartReader) {
	*t = Task{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "id":
			t.ID = r.String()
		case "contextId":
			t.ContextID = r.String()
		case "status":
			t.Status.ReadJSON(r, part)
		case "artifacts":
			t.Artifacts = ReadArtifacts(r, part)
		case "history":
			t.History = ReadMessages(r, part)
		case "metadata":
			t.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
}

// ReadArtifacts reads a list of artifacts, for package wire.
func ReadArtifacts(r *jsontext.Reader, part PartReader) (list []Artifact) {
	for r.Array(); r.Element(); {
		list = append(list, Artifact{})
		list[len(list)-1].ReadJSON(r, part)
	}
	return list
}

// ReadMessages reads a list of messages, for package wire.
func ReadMessages(r *jsontext.Reader, part PartReader) (list []Message) {
	for r.Array(); r.Element(); {
		list = append(list, Message{})
		list[len(list)-1].ReadJSON(r, part)
	}
	return list
}

// MarshalJSON writes t as v1.0 does.
func (t Task) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (t *Task) UnmarshalJSON(b []byte) error {
	return unmarshal(b, func(r *jsontext.Reader) { t.ReadJSON(r, (*Part).ReadJSON) })
}

// AppendJSON appends s as v1.0 writes it. A state that is unknown is left out.
func (s *TaskStatus) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = jsontext.AppendText(b, "state", string(s.State))
	if s.Message != nil {
		b = s.Message.AppendJSON(jsontext.AppendName(b, "message"))
	}
	if !s.Timestamp.IsZero() {
		b = jsontext.AppendTime(jsontext.AppendName(b, "timestamp"), s.Timestamp)
	}
	return append(b, '}')
}

// ReadJSON reads a status, for package wire.
func (s *TaskStatus) ReadJSON(r *jsontext.Reader, part PartReader) {
	*s = TaskStatus{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "state":
			s.State = ReadTaskState(r)
		case "message", "update": // the name in a2a.v1
			s.Message = new(Message)
			s.Message.ReadJSON(r, part)
		case "timestamp":
			s.Timestamp = r.Time()
		default:
			r.Skip()
		}
	}
}

// MarshalJSON writes s as v1.0 does.
func (s TaskStatus) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (s *TaskStatus) UnmarshalJSON(b []byte) error {
	return unmarshal(b, func(r *jsontext.Reader) { s.ReadJSON(r, (*Part).ReadJSON) })
}

// AppendJSON appends a as v1.0 writes it.
func (a *Artifact) AppendJSON(b []byte) []byte {
	b = append(b, `{"artifactId":`...)
	b = jsontext.AppendString(b, a.ID)
	b = jsontext.AppendText(b, "name", a.Name)
	b = jsontext.AppendText(b, "description", a.Description)
	b = appendParts(append(b, `,"parts":`...), a.Parts)
	b = jsontext.AppendObject(b, "metadata", a.Metadata)
	b = jsontext.AppendList(b, "extensions", a.Extensions)
	return append(b, '}')
}

// ReadJSON reads an artifact, for package wire.
func (a *Artifact) ReadJSON(r *jsontext.Reader, part PartReader) {
	*a = Artifact{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "artifactId":
			a.ID = r.String()
		case "name":
			a.Name = r.String()
		case "description":
			a.Description = r.String()
		case "parts":
			a.Parts = ReadParts(r, part)
		case "metadata":
			a.Metadata = r.RawObject()
		case "extensions":
			a.Extensions = r.Strings()
		default:
			r.Skip()
		}
	}
}

// MarshalJSON writes a as v1.0 does.
func (a Artifact) MarshalJSON() ([]byte, error) { return a.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (a *Artifact) UnmarshalJSON(b []byte) error {
	return unmarshal(b, func(r *jsontext.Reader) { a.ReadJSON(r, (*Part).ReadJSON) })
}

// AppendJSON appends u as v1.0 writes it.
func (u *StatusUpdate) AppendJSON(b []byte) []byte {
	b = append(b, `{"taskId":`...)
	b = jsontext.AppendString(b, u.TaskID)
	b = append(b, `,"contextId":`...)
	b = jsontext.AppendString(b, u.ContextID)
	b = u.Status.AppendJSON(append(b, `,"status":`...))
	b = jsontext.AppendObject(b, "metadata", u.Metadata)
	return append(b, '}')
}

// ReadJSON reads a status update, for package wire.
func (u *StatusUpdate) ReadJSON(r *jsontext.Reader, part PartReader) {
	*u = StatusUpdate{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "taskId":
			u.TaskID = r.String()
		case "contextId":
			u.ContextID = r.String()
		case "status":
			u.Status.ReadJSON(r, part)
		case "metadata":
			u.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
}

// MarshalJSON writes u as v1.0 does.
func (u StatusUpdate) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (u *StatusUpdate) UnmarshalJSON(b []byte) error {
	return unmarshal(b, func(r *jsontext.Reader) { u.ReadJSON(r, (*Part).ReadJSON) })
}

// AppendJSON appends u as v1.0 writes it.
func (u *ArtifactUpdate) AppendJSON(b []byte) []byte {
	b = append(b, `{"taskId":`...)
	b = jsontext.AppendString(b, u.TaskID)
	b = append(b, `,"contextId":`...)
	b = jsontext.AppendString(b, u.ContextID)
	b = u.Artifact.AppendJSON(append(b, `,"artifact":`...))
	b = jsontext.AppendTrue(b, "append", u.Append)
	b = jsontext.AppendTrue(b, "lastChunk", u.LastChunk)
	b = jsontext.AppendObject(b, "metadata", u.Metadata)
	return append(b, '}')
}

// ReadJSON reads an artifact update, for package wire.
func (u *ArtifactUpdate) ReadJSON(r *jsontext.Reader, part PartReader) {
	*u = ArtifactUpdate{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "taskId":
			u.TaskID = r.String()
		case "contextId":
			u.ContextID = r.String()
		case "artifact":
			u.Artifact.ReadJSON(r, part)
		case "append":
			u.Append = r.Bool()
		case "lastChunk":
			u.LastChunk = r.Bool()
		case "metadata":
			u.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
}

// MarshalJSON writes u as v1.0 does.
func (u ArtifactUpdate) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (u *ArtifactUpdate) UnmarshalJSON(b []byte) error {
	return unmarshal(b, func(r *jsontext.Reader) { u.ReadJSON(r, (*Part).ReadJSON) })
}
