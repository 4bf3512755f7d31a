package wire

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// protoFamily is ProtoJSON of a2a.v1, which is v0.2 and v0.3 over HTTP+JSON. Where implementations write the JSON of MID
// there, it is read as well. Cards are those of MID, which Python serves and reads, with security schemes in the form of
// a2a.v1 beside, which JavaScript reads.
type protoFamily struct{ single bool }

func (protoFamily) method(Op) string { return "" } // of JSON-RPC

func (protoFamily) code(k a2a.ErrorKind) int { return midFamily{}.code(k) }

func (protoFamily) kind(code int) a2a.ErrorKind { return kindOf(code) }

func (protoFamily) details() bool { return true }

// readParams reads the body of a request. What its address says was read before; see DecodeREST.
func (protoFamily) readParams(r *jsontext.Reader, c *Call) {
	switch c.Op {
	case OpSend, OpStream:
		silent := readSend(r, c.Send, "request", readProtoPart) // as it was called before v0.3
		restoreReferences(&c.Send.Message)
		// What is zero cannot be told from what is absent: no limit is meant, and not to wait.
		config := &c.Send.Configuration
		if n := config.HistoryLength; n != nil && *n == 0 {
			config.HistoryLength = nil
		}
		config.ReturnImmediately = config.ReturnImmediately || silent
	case OpCancel:
		id := c.Cancel.ID
		readCancel(r, c.Cancel)
		c.Cancel.ID = id // the body may say "tasks/<id>"
	default:
		readParams(r, c, readProtoPart)
	}
}

// appendParams writes a body. The ids of tasks and configurations are in the address.
func (f protoFamily) appendParams(b []byte, op Op, params any) []byte {
	b = append(b, '{')
	switch p := params.(type) {
	case *a2a.SendRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = midWriter{proto: true, single: f.single}.message(jsontext.AppendName(b, "message"), fromUser(&p.Message))
		b = appendMidConfiguration(b, &p.Configuration, true)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.CancelRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
	case *a2a.SubscribeRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
	case *a2a.PushConfig:
		b = jsontext.AppendString(append(b, `"parent":`...), "tasks/"+p.TaskID)
		b = jsontext.AppendString(append(b, `,"configId":`...), p.ID)
		b = appendProtoHolder(append(b, `,"config":`...), p, true)
	}
	return append(b, '}')
}

func (f protoFamily) appendResult(b []byte, c *Call, result any) []byte {
	f.single = f.single || c.SingleBase64
	switch v := result.(type) {
	case *a2a.Task:
		if c.Op == OpSend {
			return f.appendEvent(b, v)
		}
		return f.writer().task(b, v)
	case a2a.Event:
		return f.appendEvent(b, v)
	case *a2a.PushConfig:
		return appendProtoHolder(b, v, false)
	case *a2a.PushConfigPage:
		b = append(b, `{"configs":[`...)
		for i := range v.Configs {
			b = appendProtoHolder(separate(b), &v.Configs[i], false)
		}
		b = jsontext.AppendString(append(b, `],"nextPageToken":`...), v.NextPageToken)
		return append(b, '}')
	case *a2a.AgentCard:
		return AppendCard(b, CardPROTO, v)
	}
	return append(b, "{}"...)
}

func (f protoFamily) writer() midWriter { return midWriter{proto: true, single: f.single} }

func (f protoFamily) appendEvent(b []byte, e a2a.Event) []byte {
	w := f.writer()
	switch e := e.(type) {
	case *a2a.Task:
		b = w.task(append(b, `{"task":`...), e)
	case *a2a.Message:
		b = w.message(append(b, `{"message":`...), e)
	case *a2a.StatusUpdate:
		b = w.statusUpdate(append(b, `{"statusUpdate":`...), e)
	case *a2a.ArtifactUpdate:
		b = w.artifactUpdate(append(b, `{"artifactUpdate":`...), e)
	}
	return append(b, '}')
}

func (f protoFamily) readResult(r *jsontext.Reader, op Op) any {
	switch op {
	case OpPushSet, OpPushGet:
		return readPushConfig(r)
	case OpPushList:
		return readPushPage(r)
	}
	start := r.Offset()
	if f.single {
		return fits(r, start, op, readProtoEvent(r, readSinglePart))
	}
	return fits(r, start, op, readProtoEvent(r, readProtoPart))
}

// readProtoEvent reads an event in its wrapper, or bare.
func readProtoEvent(r *jsontext.Reader, part func(*a2a.Part, *jsontext.Reader)) a2a.Event {
	start := r.Offset()
	if r.Peek() != '{' {
		r.Fail(start, "must be an object")
		return nil
	}
	text := r.Span()
	in := jsontext.NewReader(text)
	var e a2a.Event
	for in.Object(); in.Member(); {
		switch string(in.Name()) {
		case "task":
			t := new(a2a.Task)
			t.ReadJSON(in, part)
			e = t
		case "message", "msg":
			m := new(a2a.Message)
			m.ReadJSON(in, part)
			e = m
		case "statusUpdate":
			u := new(a2a.StatusUpdate)
			u.ReadJSON(in, part)
			e = u
		case "artifactUpdate":
			u := new(a2a.ArtifactUpdate)
			u.ReadJSON(in, part)
			e = u
		default:
			in.Skip()
		}
	}
	if e == nil && in.Err() == nil {
		in = jsontext.NewReader(text)
		e = readMidEvent(in, part)
	}
	if err, ok := in.Err().(*jsontext.Error); ok {
		r.Fail(start+err.Offset, err.Msg)
		return nil
	}
	eachMessage(e, restoreReferences)
	return e
}

func readProtoPart(p *a2a.Part, r *jsontext.Reader) { readTaggedPart(p, r, true, true) }

// readSinglePart is for an agent of which it is known that it encodes the bytes of files once.
func readSinglePart(p *a2a.Part, r *jsontext.Reader) { readTaggedPart(p, r, true, false) }

// onceMore decodes the bytes of a file again when they are base64 themselves: most implementations encode twice. Short
// words in plain text look like base64 as well; they stay what they are unless what they encode is text, too.
func onceMore(raw []byte, mediaType string) []byte {
	if len(raw) == 0 || len(raw)%4 != 0 {
		return raw
	}
	again := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(again, raw)
	if err != nil || n == 0 {
		return raw
	}
	for _, c := range raw {
		if c == '\n' || c == '\r' { // the decoder passes over them
			return raw
		}
	}
	if again = again[:n:n]; len(raw) < 16 && strings.HasPrefix(strings.ToLower(mediaType), "text/") && !isText(again) {
		return raw
	}
	return again
}

// isText reports whether b is UTF-8 that people can read.
func isText(b []byte) bool {
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 || !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return false
		}
		b = b[n:]
	}
	return true
}
