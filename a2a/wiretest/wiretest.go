// Package wiretest holds what the dialects of package wire are measured by: golden exchanges (testdata/golden), examples
// from the published documents and how they are read (testdata/examples), and the property that whatever is written in
// a dialect is read back as it was, but for what Said lists.
//
// Its generators serve other packages' property tests as well. They produce values as programs make them: valid JSON,
// times in UTC to the millisecond, no empty ids.
package wiretest

import (
	"encoding/json"

	"parley/a2a"
	"parley/a2a/wire"
)

// Said returns e as it is after a way through d: this is the list of what a dialect cannot say. Empty metadata is as good
// as none.
//
// All dialects:
//   - a message without a role is the agent's;
//   - a text part that is marked as a part without content is one.
//
// MID:
//   - an unknown state is written as working;
//   - a text or data part has no file name and no media type of its own: they travel in its metadata, in the place of
//     members of these names, and such members are taken for them;
//   - data that is no object travels in one, marked in the metadata.
func Said(d wire.Dialect, e a2a.Event) a2a.Event {
	switch e := e.(type) {
	case *a2a.Task:
		t := *e
		t.Status = saidStatus(d, t.Status)
		t.Artifacts = each(t.Artifacts, func(a a2a.Artifact) a2a.Artifact { return saidArtifact(d, a) })
		t.History = each(t.History, func(m a2a.Message) a2a.Message { return SaidMessage(d, m) })
		return &t
	case *a2a.Message:
		m := SaidMessage(d, *e)
		return &m
	case *a2a.StatusUpdate:
		u := *e
		u.Status = saidStatus(d, u.Status)
		return &u
	case *a2a.ArtifactUpdate:
		u := *e
		u.Artifact = saidArtifact(d, u.Artifact)
		return &u
	}
	return nil
}

// SaidRequest is Said for a request to send. In MID there are no tenants; the task of a push configuration is the
// request's own; a message without a role is the user's.
func SaidRequest(d wire.Dialect, r a2a.SendRequest) a2a.SendRequest {
	if r.Message.Role == "" {
		r.Message.Role = a2a.RoleUser
	}
	r.Message = SaidMessage(d, r.Message)
	if r.Configuration.Push != nil {
		p := *r.Configuration.Push
		p.TaskID = ""
		if d == wire.MID {
			p.Tenant = ""
		}
		r.Configuration.Push = &p
	}
	if d == wire.MID {
		r.Tenant = ""
	}
	return r
}

// SaidMessage is Said for a message.
func SaidMessage(d wire.Dialect, m a2a.Message) a2a.Message {
	if m.Role == "" {
		m.Role = a2a.RoleAgent
	}
	m.Parts = saidParts(d, m.Parts)
	return m
}

func saidStatus(d wire.Dialect, s a2a.TaskStatus) a2a.TaskStatus {
	if d == wire.MID && s.State == a2a.TaskStateUnspecified {
		s.State = a2a.TaskStateWorking
	}
	if s.Message != nil {
		m := SaidMessage(d, *s.Message)
		s.Message = &m
	}
	return s
}

func saidArtifact(d wire.Dialect, a a2a.Artifact) a2a.Artifact {
	a.Parts = saidParts(d, a.Parts)
	return a
}

func saidParts(d wire.Dialect, parts []a2a.Part) []a2a.Part {
	return each(parts, func(p a2a.Part) a2a.Part { return saidPart(d, p) })
}

func saidPart(d wire.Dialect, p a2a.Part) a2a.Part {
	meta := object(p.Metadata)
	marked := string(meta[a2a.NoContentKey]) == "true"
	switch {
	case p.Kind == a2a.PartNoContent, p.Kind == a2a.PartText && marked:
		p.Kind, p.Text = a2a.PartNoContent, ""
		p.Metadata = without(p.Metadata, a2a.NoContentKey)
	}
	if d == wire.NEW || p.Kind == a2a.PartRaw || p.Kind == a2a.PartURL {
		return p
	}
	if p.Kind == a2a.PartData {
		value, wrapped := object(p.Data)["value"], object(p.Data) == nil
		switch {
		case wrapped:
			p.Metadata = without(p.Metadata, "data_part_compat")
		case string(meta["data_part_compat"]) == "true" && len(object(p.Data)) == 1 && value != nil:
			p.Data, p.Metadata = value, without(p.Metadata, "data_part_compat")
		}
	}
	carried := func(own *string, key string) {
		var s string
		if *own != "" {
			p.Metadata = without(p.Metadata, key)
		} else if json.Unmarshal(meta[key], &s) == nil && string(meta[key]) != "null" {
			*own = s
			p.Metadata = without(p.Metadata, key)
		}
	}
	carried(&p.Filename, "filename")
	carried(&p.MediaType, "mediaType")
	return p
}

func object(raw []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	json.Unmarshal(raw, &m)
	return m
}

func without(raw a2a.Metadata, key string) a2a.Metadata {
	m := object(raw)
	delete(m, key)
	b, _ := json.Marshal(m)
	return b
}

func each[T any](list []T, f func(T) T) []T {
	var out []T
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}
