// Command go01 is a peer made with trpc-a2a-go 0.0.3, which speaks v0.1: an agent and a client. See package peer.
package main

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"

	"go.uber.org/zap"
	"trpc.group/trpc-go/trpc-a2a-go/log"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"

	"parley/interop/peer"
)

func main() {
	log.Default = zap.NewNop().Sugar() // it logs to stdout
	peer.Main(serve, dial, kind)
}

// code finds the number in the SDK's errors, whose type is not exported; of a reply with an HTTP status of its own the
// SDK keeps the body's text.
var code = regexp.MustCompile(`(?:jsonrpc error |"code":\s*)(-?\d+)`)

func kind(err error) string {
	if m := code.FindStringSubmatch(err.Error()); m != nil {
		return peer.Codes[m[1]]
	}
	return ""
}

func task(t *protocol.Task) *peer.Event {
	e := &peer.Event{Kind: "task", Task: t.ID, State: string(t.Status.State), Said: said(&t.Status), History: len(t.History)}
	if t.SessionID != nil {
		e.Context = *t.SessionID
	}
	for _, a := range t.Artifacts {
		e.Artifacts = append(e.Artifacts, artifact(&a))
	}
	return e
}

func event(e protocol.TaskEvent) *peer.Event {
	switch e := e.(type) {
	case protocol.TaskStatusUpdateEvent:
		return &peer.Event{Kind: "status", Task: e.ID, State: string(e.Status.State), Said: said(&e.Status)}
	case protocol.TaskArtifactUpdateEvent:
		return &peer.Event{
			Kind: "artifact", Task: e.ID, Append: yes(e.Artifact.Append), Last: yes(e.Artifact.LastChunk),
			Artifacts: []peer.Artifact{artifact(&e.Artifact)},
		}
	}
	return &peer.Event{}
}

func artifact(a *protocol.Artifact) peer.Artifact {
	return peer.Artifact{ID: strconv.Itoa(a.Index), Name: is(a.Name), Parts: parts(a.Parts)}
}

func said(s *protocol.TaskStatus) []peer.Part {
	if s.Message == nil {
		return nil
	}
	return parts(s.Message.Parts)
}

func parts(in []protocol.Part) []peer.Part {
	var out []peer.Part
	for _, p := range in {
		switch p := p.(type) {
		case protocol.TextPart:
			out = append(out, peer.Part{Text: p.Text, Metadata: meta(p.Metadata)})
		case protocol.DataPart:
			out = append(out, peer.Part{Data: raw(p.Data), Metadata: meta(p.Metadata)})
		case protocol.FilePart:
			q := peer.Part{Name: is(p.File.Name), MediaType: is(p.File.MimeType), URL: is(p.File.URI), Metadata: meta(p.Metadata)}
			if p.File.Bytes != nil {
				b, err := base64.StdEncoding.DecodeString(*p.File.Bytes)
				if err != nil {
					b = []byte("not base64: " + *p.File.Bytes)
				}
				q.Bytes = b
			}
			out = append(out, q)
		}
	}
	return out
}

func toParts(in []peer.Part) []protocol.Part {
	var out []protocol.Part
	for _, p := range in {
		var m map[string]any
		json.Unmarshal(p.Metadata, &m)
		file := protocol.FileContent{Name: some(p.Name), MimeType: some(p.MediaType), URI: some(p.URL)}
		switch {
		case p.Bytes != nil:
			b := base64.StdEncoding.EncodeToString(p.Bytes)
			file.Bytes = &b
			out = append(out, protocol.FilePart{Type: protocol.PartTypeFile, File: file, Metadata: m})
		case p.URL != "":
			out = append(out, protocol.FilePart{Type: protocol.PartTypeFile, File: file, Metadata: m})
		case p.Data != nil:
			out = append(out, protocol.DataPart{Type: protocol.PartTypeData, Data: p.Data, Metadata: m})
		default:
			out = append(out, protocol.TextPart{Type: protocol.PartTypeText, Text: p.Text, Metadata: m})
		}
	}
	return out
}

func text(parts []protocol.Part) string {
	for _, p := range parts {
		if t, ok := p.(protocol.TextPart); ok {
			return t.Text
		}
	}
	return ""
}

func yes(b *bool) bool { return b != nil && *b }

func is(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func meta(m map[string]any) json.RawMessage {
	if m == nil {
		return nil
	}
	return raw(m)
}

func raw(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}
