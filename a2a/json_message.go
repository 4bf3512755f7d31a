package a2a

import (
	"encoding/json"

	"parley/a2a/internal/jsontext"
)

// NoContentKey is true in the metadata of a text part that stands for a PartNoContent: no dialect has such a part.
const NoContentKey = "urn:parley:no-content"

// AppendJSON appends m as v1.0 writes it.
func (m *Message) AppendJSON(b []byte) []byte {
	b = append(b, `{"messageId":`...)
	b = jsontext.AppendString(b, m.ID)
	b = jsontext.AppendText(b, "contextId", m.ContextID)
	b = jsontext.AppendText(b, "taskId", m.TaskID)
	if m.Role == RoleUser {
		b = append(b, `,"role":"ROLE_USER","parts":`...)
	} else {
		b = append(b, `,"role":"ROLE_AGENT","parts":`...)
	}
	b = appendParts(b, m.Parts)
	b = jsontext.AppendObject(b, "metadata", m.Metadata)
	b = jsontext.AppendList(b, "extensions", m.Extensions)
	b = jsontext.AppendList(b, "referenceTaskIds", m.ReferenceTaskIDs)
	return append(b, '}')
}

// ReadJSON reads a message whose parts are read by part, for package wire. A role that is missing stays "".
func (m *Message) ReadJSON(r *jsontext.Reader, part PartReader) {
	*m = Message{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "messageId":
			m.ID = r.String()
		case "contextId":
			m.ContextID = r.String()
		case "taskId":
			m.TaskID = r.String()
		case "role":
			m.Role = ReadRole(r)
		case "parts", "content":
			m.Parts = ReadParts(r, part)
		case "metadata":
			m.Metadata = r.RawObject()
		case "extensions":
			m.Extensions = r.Strings()
		case "referenceTaskIds":
			m.ReferenceTaskIDs = r.Strings()
		default:
			r.Skip()
		}
	}
}

// MarshalJSON writes m as v1.0 does.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (m *Message) UnmarshalJSON(b []byte) error {
	return unmarshal(b, func(r *jsontext.Reader) { m.ReadJSON(r, (*Part).ReadJSON) })
}

func appendParts(b []byte, parts []Part) []byte {
	b = append(b, '[')
	for i := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = parts[i].AppendJSON(b)
	}
	return append(b, ']')
}

// PartReader reads a part. Dialects agree on nearly everything else in messages, artifacts and tasks.
type PartReader func(*Part, *jsontext.Reader)

// ReadParts reads a list of parts, for package wire.
func ReadParts(r *jsontext.Reader, part PartReader) []Part {
	var parts []Part
	for r.Array(); r.Element(); {
		if parts == nil {
			parts = make([]Part, 0, 1)
		}
		parts = append(parts, Part{})
		part(&parts[len(parts)-1], r)
	}
	return parts
}

// AppendJSON appends p as v1.0 writes it. A part without content is a text part with the name of the file.
func (p *Part) AppendJSON(b []byte) []byte {
	switch p.Kind {
	case PartText:
		b = jsontext.AppendString(append(b, `{"text":`...), p.Text)
	case PartRaw:
		b = jsontext.AppendBytes(append(b, `{"raw":`...), p.Raw)
	case PartURL:
		b = jsontext.AppendString(append(b, `{"url":`...), p.URL)
	case PartData:
		b = jsontext.AppendRaw(append(b, `{"data":`...), p.Data)
	case PartNoContent:
		b = jsontext.AppendString(append(b, `{"text":`...), p.Filename)
	}
	b = jsontext.AppendText(b, "filename", p.Filename)
	b = jsontext.AppendText(b, "mediaType", p.MediaType)
	if p.Kind == PartNoContent {
		b = append(jsontext.AppendName(b, "metadata"), jsontext.WithTrue(p.Metadata, NoContentKey)...)
	} else {
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	}
	return append(b, '}')
}

// ReadJSON reads a part, for package wire. Where several contents are given, the first of text, data, raw and url is
// meant; a name alone is a file that was not sent.
func (p *Part) ReadJSON(r *jsontext.Reader) {
	start := r.Offset()
	*p = Part{}
	var text, data, raw, url, null bool
	for r.Object(); r.MemberOrNull(); {
		if r.Null() {
			null = null || string(r.Name()) == "data"
			continue
		}
		switch string(r.Name()) {
		case "text":
			p.Text, text = r.String(), true
		case "data":
			p.Data, data = r.Raw(), true
		case "raw":
			p.Raw, raw = r.Bytes(), true
		case "url":
			p.URL, url = r.String(), true
		case "filename":
			p.Filename = r.String()
		case "mediaType":
			p.MediaType = r.String()
		case "metadata":
			p.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
	switch {
	case text:
		p.Kind, p.Data, p.Raw, p.URL = PartText, nil, nil, ""
		p.readNoContent()
	case data:
		p.Kind, p.Raw, p.URL = PartData, nil, ""
	case raw:
		p.Kind, p.URL = PartRaw, ""
	case url:
		p.Kind = PartURL
	case null:
		p.Kind, p.Data = PartData, json.RawMessage("null")
	case p.Filename != "":
		p.Kind = PartNoContent
	default:
		r.Fail(start, "must hold text, data, raw or url")
	}
}

// readNoContent turns a marked text part back into what it stands for.
func (p *Part) readNoContent() {
	if p.Metadata == nil {
		return
	}
	if rest, ok := jsontext.CutTrue(p.Metadata, NoContentKey); ok {
		p.Kind, p.Text, p.Metadata = PartNoContent, "", rest
	}
}

// MarshalJSON writes p as v1.0 does.
func (p Part) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// UnmarshalJSON reads the v1.0 form.
func (p *Part) UnmarshalJSON(b []byte) error { return unmarshal(b, p.ReadJSON) }
