package completions

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
)

// Bounds of what is read: of one answer as it comes, of its text, of its calls. A token takes about 300 bytes as it comes.
const (
	maxAnswer = 32 << 20
	maxText   = 1 << 20
	maxCalls  = 64
)

// chunk is an answer, or a piece of one.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Model   string          `json:"model"`
	Choices []struct {
		Index   int     `json:"index"`
		Delta   piece   `json:"delta"`
		Message piece   `json:"message"`
		Finish  *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	} `json:"usage"`
}

type piece struct {
	Content json.RawMessage `json:"content"` // a string, null, or a list of parts
	Calls   []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // a string, or from some an object
		} `json:"function"`
	} `json:"tool_calls"`
}

// assembly is a Reply that is being put together.
type assembly struct {
	reply   Reply
	content strings.Builder
	calls   []*call
	size    int
	done    bool // the model said that it is
}

type call struct {
	Call
	index     int // as the endpoint numbers it; -1 when it does not
	arguments strings.Builder
}

// readStream reads an answer that comes in pieces.
func readStream(r io.Reader) (*Reply, *Error) {
	var a assembly
	for e, err := range wire.ReadSSE(r) {
		if err != nil {
			return nil, cutOr(err)
		}
		if string(e.Data) == "[DONE]" {
			a.done = a.done || len(a.calls) > 0 || a.content.Len() > 0
			break
		}
		var c chunk
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return nil, &Error{Kind: Garbage, Said: short(string(e.Data)), Err: err}
		}
		if err := a.add(&c); err != nil {
			return nil, err
		}
	}
	if !a.done {
		return nil, &Error{Kind: Cut}
	}
	return a.whole(), nil
}

// readWhole reads an answer that is one object.
func readWhole(r io.Reader) (*Reply, *Error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, cutOr(err)
	}
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, &Error{Kind: Garbage, Said: short(string(raw)), Err: err}
	}
	var a assembly
	if err := a.add(&c); err != nil {
		return nil, err
	}
	if len(c.Choices) == 0 {
		return nil, &Error{Kind: Garbage, Said: short(string(raw))}
	}
	return a.whole(), nil
}

func (a *assembly) add(c *chunk) *Error {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		code, said := saidIn([]byte(`{"error":` + string(c.Error) + `}`))
		e := &Error{Kind: Failed, Said: said}
		if all := code + " " + said; longWords.MatchString(all) {
			e.Kind = TooLong
		}
		return e
	}
	if c.Model != "" {
		a.reply.Model = c.Model
	}
	if c.Usage != nil { // in a stream the last counts: some count up
		a.reply.Usage = Usage{Input: max(0, c.Usage.Prompt), Output: max(0, c.Usage.Completion)}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 { // only one was asked for
			continue
		}
		for _, p := range []*piece{&choice.Delta, &choice.Message} {
			if err := a.piece(p); err != nil {
				return err
			}
		}
		if choice.Finish != nil && *choice.Finish != "" {
			a.done = true
			a.reply.Length = *choice.Finish == "length"
		}
	}
	return nil
}

func (a *assembly) piece(p *piece) *Error {
	text := textOf(p.Content)
	if a.size += len(text); a.size > maxText {
		return tooLarge()
	}
	a.content.WriteString(text)
	for i := range p.Calls {
		part := &p.Calls[i]
		var args string
		if json.Unmarshal(part.Function.Arguments, &args) != nil {
			args = string(part.Function.Arguments)
		}
		if a.size += len(args) + len(part.ID) + len(part.Function.Name); a.size > maxText {
			return tooLarge()
		}
		at := a.at(part.Index, part.ID, part.Function.Name)
		if at == nil {
			return tooLarge()
		}
		if part.ID != "" {
			at.ID = part.ID
		}
		if name := part.Function.Name; name != at.Name { // some repeat it with each piece
			at.Name += name
		}
		at.arguments.WriteString(args)
	}
	return nil
}

// at returns the call that a piece belongs to: the one with its index, or else the last. A piece with another id than
// that one's begins a new call: there are servers that give all calls the index 0, or none at all.
func (a *assembly) at(index *int, id, name string) *call {
	n := -1
	if index != nil {
		n = *index
	}
	var found *call
	if index == nil {
		if len(a.calls) > 0 && (id == "" && name == "" || id != "" && id == a.calls[len(a.calls)-1].ID) {
			found = a.calls[len(a.calls)-1]
		}
	} else {
		for _, c := range a.calls { // the last of those with it
			if c.index == n {
				found = c
			}
		}
		if found != nil && id != "" && found.ID != "" && id != found.ID {
			found = nil
		}
	}
	if found == nil {
		if len(a.calls) == maxCalls {
			return nil
		}
		found = &call{index: n}
		a.calls = append(a.calls, found)
	}
	return found
}

func (a *assembly) whole() *Reply {
	a.reply.Content = a.content.String()
	for _, c := range a.calls {
		c.Arguments = c.arguments.String()
		a.reply.Calls = append(a.reply.Calls, c.Call)
	}
	return &a.reply
}

// textOf reads content: a string, or a list of parts of which those of type text count.
func textOf(raw json.RawMessage) string {
	var s string
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil || json.Unmarshal(raw, &parts) != nil {
		return s
	}
	for _, p := range parts {
		if p.Type == "text" {
			s += p.Text
		}
	}
	return s
}

var errTooLarge = errors.New("the answer is larger than any plan")

func tooLarge() *Error { return &Error{Kind: Garbage, Err: errTooLarge} }

// cutOr is the error of a body that could not be read to its end.
func cutOr(err error) *Error {
	var large *a2a.Error
	if errors.Is(err, errTooLarge) || errors.As(err, &large) {
		return tooLarge()
	}
	if e := sendError(err); e.Kind != Unreachable {
		return e
	}
	return &Error{Kind: Cut, Err: err}
}

// limited reads no more than is left, and fails beyond.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
