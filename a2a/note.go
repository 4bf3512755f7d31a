package a2a

import "encoding/json"

// Note is what a person is to know of a card: a sentence about what was repaired in it or is doubtful.
type Note struct {
	Kind NoteKind `json:"kind,omitempty"`
	Text string   `json:"text"`
}

// NoteKind says what a note is about, where that matters to programs.
type NoteKind string

// NoteVersion is about the version of A2A that the card does not say: it counts until the agent has answered.
const NoteVersion NoteKind = "version"

// NoteInterface is about an interface that the card prefers to the one in use: it counts while that is in use.
const NoteInterface NoteKind = "interface"

func (n Note) String() string { return n.Text }

// UnmarshalJSON also reads a bare sentence.
func (n *Note) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*n = Note{}
		return json.Unmarshal(b, &n.Text)
	}
	type plain Note
	return json.Unmarshal(b, (*plain)(n))
}
