// Command go02 is a peer made with trpc-a2a-go 0.2.5, which speaks v0.2: an agent and a client. See package peer.
package main

import (
	"encoding/base64"
	"encoding/json"
	"regexp"

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

func event(e any) *peer.Event {
	switch e := e.(type) {
	case *protocol.Message:
		return &peer.Event{Kind: "message", Task: is(e.TaskID), Context: is(e.ContextID), Said: parts(e.Parts)}
	case *protocol.Task:
		out := &peer.Event{
			Kind: "task", Task: e.ID, Context: e.ContextID, State: string(e.Status.State), Said: said(&e.Status), History: len(e.History),
		}
		for _, a := range e.Artifacts {
			out.Artifacts = append(out.Artifacts, artifact(&a))
		}
		return out
	case *protocol.TaskStatusUpdateEvent:
		return &peer.Event{Kind: "status", Task: e.TaskID, Context: e.ContextID, State: string(e.Status.State), Said: said(&e.Status)}
	case *protocol.TaskArtifactUpdateEvent:
		return &peer.Event{
			Kind: "artifact", Task: e.TaskID, Context: e.ContextID, Append: yes(e.Append), Last: yes(e.LastChunk),
			Artifacts: []peer.Artifact{artifact(&e.Artifact)},
		}
	}
	return &peer.Event{}
}

func artifact(a *protocol.Artifact) peer.Artifact {
	return peer.Artifact{ID: a.ArtifactID, Name: is(a.Name), Parts: parts(a.Parts)}
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
		case *protocol.TextPart:
			out = append(out, peer.Part{Text: p.Text, Metadata: meta(p.Metadata)})
		case *protocol.DataPart:
			out = append(out, peer.Part{Data: raw(p.Data), Metadata: meta(p.Metadata)})
		case *protocol.FilePart:
			q := peer.Part{Metadata: meta(p.Metadata)}
			switch f := p.File.(type) {
			case *protocol.FileWithURI:
				q.Name, q.MediaType, q.URL = is(f.Name), is(f.MimeType), f.URI
			case *protocol.FileWithBytes:
				b, err := base64.StdEncoding.DecodeString(f.Bytes)
				if err != nil {
					b = []byte("not base64: " + f.Bytes)
				}
				q.Name, q.MediaType, q.Bytes = is(f.Name), is(f.MimeType), b
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
		name, mime := some(p.Name), some(p.MediaType)
		switch {
		case p.Bytes != nil:
			f := &protocol.FileWithBytes{Name: name, MimeType: mime, Bytes: base64.StdEncoding.EncodeToString(p.Bytes)}
			out = append(out, &protocol.FilePart{Kind: protocol.KindFile, File: f, Metadata: m})
		case p.URL != "":
			f := &protocol.FileWithURI{Name: name, MimeType: mime, URI: p.URL}
			out = append(out, &protocol.FilePart{Kind: protocol.KindFile, File: f, Metadata: m})
		case p.Data != nil:
			out = append(out, &protocol.DataPart{Kind: protocol.KindData, Data: p.Data, Metadata: m})
		default:
			out = append(out, &protocol.TextPart{Kind: protocol.KindText, Text: p.Text, Metadata: m})
		}
	}
	return out
}

func text(parts []protocol.Part) string {
	for _, p := range parts {
		if t, ok := p.(*protocol.TextPart); ok {
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
