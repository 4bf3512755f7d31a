package a2a

import "encoding/json"

// Role says who speaks in a message.
type Role string

const (
	RoleUser  Role = "ROLE_USER"
	RoleAgent Role = "ROLE_AGENT"
)

// Message is one turn between a user and an agent (v1.0 section 4.1.4).
type Message struct {
	ID               string // made by the sender, required
	ContextID        string
	TaskID           string
	Role             Role
	Parts            []Part
	Metadata         Metadata
	Extensions       []string
	ReferenceTaskIDs []string
}

// PartKind tells which of a Part's contents is meant.
type PartKind uint8

const (
	PartText PartKind = iota
	PartRaw
	PartURL
	PartData
	PartNoContent // a file that was named but not sent (v0.1 allowed it); Filename says which
)

// Part is one piece of content of a message or an artifact (v1.0 section 4.1.6).
type Part struct {
	Kind      PartKind
	Text      string
	Raw       []byte
	URL       string
	Data      json.RawMessage // any JSON value, numbers as they were written
	Filename  string
	MediaType string
	Metadata  Metadata
}

// TextPart returns a part that holds s.
func TextPart(s string) Part { return Part{Kind: PartText, Text: s} }

// DataPart returns a part that holds v as JSON; a value that cannot be marshalled is a programming error and panics.
func DataPart(v any) Part {
	b, err := json.Marshal(v)
	if err != nil {
		panic("a2a: DataPart: " + err.Error())
	}
	return Part{Kind: PartData, Data: b}
}

// Text joins the text parts of ps.
func Text(ps []Part) string {
	switch {
	case len(ps) == 0:
		return ""
	case len(ps) == 1 && ps[0].Kind == PartText:
		return ps[0].Text
	}
	n := 0
	for i := range ps {
		n += len(ps[i].Text)
	}
	b := make([]byte, 0, n)
	for i := range ps {
		if ps[i].Kind == PartText {
			b = append(b, ps[i].Text...)
		}
	}
	return string(b)
}
