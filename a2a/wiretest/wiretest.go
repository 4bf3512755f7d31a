// Package wiretest holds what the dialects of package wire are measured by: golden exchanges (testdata/golden), examples
// from the published documents and how they are read (testdata/examples), and the property that whatever is written in
// a dialect is read back as it was, but for what Said lists.
//
// Its generators serve other packages' property tests as well. They produce values as programs make them: valid JSON,
// times in UTC to the millisecond, no empty ids.
package wiretest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/a2a"
	"parley/a2a/wire"
)

// Said returns e as it is after a way through d, as the reply to a call: this is the list of what a dialect cannot say.
// Empty metadata is as good as none. Metadata has no members whose names begin with urn:parley: but those that package
// wire itself puts there.
//
// All dialects:
//   - a message without a role is the agent's;
//   - a text part that is marked as a part without content is one.
//
// MID, PROTO and OLD:
//   - an unknown state is written as working;
//   - a text or data part has no file name and no media type of its own: they travel in its metadata, in the place of
//     members of these names, and such members are taken for them;
//   - data that is no object travels in one, marked in the metadata; in OLD, lists do not need to.
//
// PROTO:
//   - the bytes of a file are encoded twice: of a text file of less than 12 bytes that are not text, the reader takes one
//     encoding for the text.
//
// OLD:
//   - a message has no id (readers make one, here it is ""), belongs to its task and the task's context, and has no
//     extensions; neither have artifacts;
//   - a message that is the whole answer is a completed task, with an artifact that holds the same;
//   - events have no context; see Heard for streams.
func Said(d wire.Dialect, e a2a.Event) a2a.Event {
	switch e := e.(type) {
	case *a2a.Task:
		t := *e
		t.Status = saidStatus(d, t.Status, t.ID, t.ContextID)
		t.Artifacts = each(t.Artifacts, func(a a2a.Artifact) a2a.Artifact { return saidArtifact(d, a) })
		t.History = each(t.History, func(m a2a.Message) a2a.Message { return saidMessage(d, m, t.ID, t.ContextID) })
		return &t
	case *a2a.Message:
		if d == wire.OLD {
			t := a2a.Task{
				ID: cmp.Or(e.TaskID, e.ID), ContextID: e.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: e},
				Artifacts: []a2a.Artifact{{ID: "artifact-0", Parts: e.Parts}},
			}
			return Said(d, &t)
		}
		m := SaidMessage(d, *e)
		return &m
	case *a2a.StatusUpdate:
		u := *e
		if d == wire.OLD {
			u.ContextID = ""
		}
		u.Status = saidStatus(d, u.Status, u.TaskID, "")
		return &u
	case *a2a.ArtifactUpdate:
		u := *e
		if d == wire.OLD {
			u.ContextID = ""
		}
		u.Artifact = saidArtifact(d, u.Artifact)
		return &u
	}
	return nil
}

// Heard returns what a stream of d tells of e. It is what Said says, but for OLD, whose streams tell of artifacts and of
// states only: there a task is each of its artifacts and then its state, with the task's metadata.
func Heard(d wire.Dialect, e a2a.Event) (heard []a2a.Event) {
	said := Said(d, e)
	t, ok := said.(*a2a.Task)
	if d != wire.OLD || !ok {
		return []a2a.Event{said}
	}
	for _, a := range t.Artifacts {
		heard = append(heard, &a2a.ArtifactUpdate{TaskID: t.ID, Artifact: a})
	}
	status := &a2a.StatusUpdate{TaskID: t.ID, Status: t.Status, Metadata: t.Metadata}
	return append(heard, Said(d, status))
}

// SaidRequest is Said for a request to send. The task of a push configuration is the request's own; a message without a role
// is the user's.
//
// NEW has one scheme of a webhook's authentication. MID and OLD have no tenants, PROTO none of push configurations. In PROTO,
// a history length of zero means none. OLD has no id of the message and of a push configuration, always waits, always asks
// for some history, writes a few words for media types, and its task is one the client named.
func SaidRequest(d wire.Dialect, r a2a.SendRequest) a2a.SendRequest {
	if r.Message.Role == "" {
		r.Message.Role = a2a.RoleUser
	}
	r.Message = saidMessage(d, r.Message, r.Message.TaskID, r.Message.ContextID)
	c := &r.Configuration
	if c.Push != nil {
		p := SaidPush(d, *c.Push)
		p.TaskID = ""
		if d == wire.PROTO {
			p.Tenant = ""
		}
		c.Push = &p
	}
	switch d {
	case wire.MID:
		r.Tenant = ""
	case wire.PROTO:
		if c.HistoryLength != nil && *c.HistoryLength == 0 {
			c.HistoryLength = nil
		}
	case wire.OLD:
		r.Tenant, r.NewTask, c.ReturnImmediately = "", true, false
		if c.HistoryLength == nil {
			c.HistoryLength = &a2a.Limits.History
		}
	}
	return r
}

// SaidPush is Said for a push configuration in a request; replies leave out the credentials as well.
func SaidPush(d wire.Dialect, p a2a.PushConfig) a2a.PushConfig {
	if d == wire.MID || d == wire.OLD {
		p.Tenant = ""
	}
	if d == wire.OLD {
		p.ID = ""
	}
	if p.Authentication != nil && d == wire.NEW {
		a := *p.Authentication
		a.MoreSchemes = nil
		p.Authentication = &a
	}
	return p
}

// SaidMessage is Said for a message on its own.
func SaidMessage(d wire.Dialect, m a2a.Message) a2a.Message {
	return saidMessage(d, m, m.TaskID, m.ContextID)
}

func saidMessage(d wire.Dialect, m a2a.Message, task, context string) a2a.Message {
	if m.Role == "" {
		m.Role = a2a.RoleAgent
	}
	if d == wire.OLD {
		m.ID, m.TaskID, m.ContextID, m.Extensions = "", task, context, nil
	}
	m.Parts = saidParts(d, m.Parts)
	return m
}

func saidStatus(d wire.Dialect, s a2a.TaskStatus, task, context string) a2a.TaskStatus {
	if d != wire.NEW && s.State == a2a.TaskStateUnspecified {
		s.State = a2a.TaskStateWorking
	}
	if s.Message != nil {
		m := saidMessage(d, *s.Message, task, context)
		s.Message = &m
	}
	return s
}

func saidArtifact(d wire.Dialect, a a2a.Artifact) a2a.Artifact {
	if d == wire.OLD {
		a.Extensions = nil
	}
	a.Parts = saidParts(d, a.Parts)
	return a
}

func saidParts(d wire.Dialect, parts []a2a.Part) []a2a.Part {
	return each(parts, func(p a2a.Part) a2a.Part { return saidPart(d, p) })
}

func saidPart(d wire.Dialect, p a2a.Part) a2a.Part {
	if d == wire.OLD && p.Kind == a2a.PartNoContent { // a file without content
		return p
	}
	meta := object(p.Metadata)
	marked := string(meta[a2a.NoContentKey]) == "true"
	switch {
	case p.Kind == a2a.PartNoContent, p.Kind == a2a.PartText && marked:
		p.Kind, p.Text = a2a.PartNoContent, ""
		p.Metadata = without(p.Metadata, a2a.NoContentKey)
	case p.Kind == a2a.PartRaw && d == wire.PROTO:
		once := base64.StdEncoding.EncodeToString(p.Raw)
		if 0 < len(once) && len(once) < 16 && strings.HasPrefix(strings.ToLower(p.MediaType), "text/") && strings.ContainsFunc(string(p.Raw), unreadable) {
			p.Raw = []byte(once)
		}
	}
	if d == wire.NEW || p.Kind == a2a.PartRaw || p.Kind == a2a.PartURL {
		return p
	}
	if p.Kind == a2a.PartData {
		value, wrapped := object(p.Data)["value"], object(p.Data) == nil
		if d == wire.OLD && bytes.HasPrefix(bytes.TrimSpace(p.Data), []byte("[")) {
			wrapped = false
		}
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

func unreadable(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r)
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
