// Command go03 is a peer made with the official Go SDK for v0.3: an agent and a client. See package peer.
package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"parley/interop/peer"
)

func main() { peer.Main(serve, dial, kind) }

func kind(err error) string {
	for is, word := range map[error]string{
		a2a.ErrTaskNotFound:                           "task-not-found",
		a2a.ErrTaskNotCancelable:                      "task-not-cancelable",
		a2a.ErrPushNotificationNotSupported:           "push-not-supported",
		a2a.ErrUnsupportedOperation:                   "unsupported-operation",
		a2a.ErrUnsupportedContentType:                 "content-type",
		a2a.ErrAuthenticatedExtendedCardNotConfigured: "extended-card-not-configured",
		a2a.ErrInvalidParams:                          "invalid-params",
		a2a.ErrInvalidRequest:                         "invalid-request",
		a2a.ErrMethodNotFound:                         "method-not-found",
		a2a.ErrUnauthenticated:                        "unauthenticated",
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	return ""
}

func event(e a2a.Event) *peer.Event {
	info := e.TaskInfo()
	out := &peer.Event{Task: string(info.TaskID), Context: info.ContextID}
	switch e := e.(type) {
	case *a2a.Message:
		out.Kind, out.Said = "message", parts(e.Parts)
	case *a2a.Task:
		out.Kind, out.State, out.Said, out.History = "task", state(e.Status.State), said(e.Status), len(e.History)
		for _, a := range e.Artifacts {
			out.Artifacts = append(out.Artifacts, artifact(a))
		}
	case *a2a.TaskStatusUpdateEvent:
		out.Kind, out.State, out.Said = "status", state(e.Status.State), said(e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		out.Kind, out.Append, out.Last = "artifact", e.Append, e.LastChunk
		out.Artifacts = []peer.Artifact{artifact(e.Artifact)}
	}
	return out
}

func artifact(a *a2a.Artifact) peer.Artifact {
	return peer.Artifact{ID: string(a.ID), Name: a.Name, Parts: parts(a.Parts)}
}

func said(s a2a.TaskStatus) []peer.Part {
	if s.Message == nil {
		return nil
	}
	return parts(s.Message.Parts)
}

// state turns what the SDK reads from gRPC into the words of JSON-RPC.
func state(s a2a.TaskState) string { return strings.ToLower(string(s)) }

func parts(in a2a.ContentParts) []peer.Part {
	var out []peer.Part
	for _, p := range in {
		switch p := p.(type) {
		case a2a.TextPart:
			out = append(out, peer.Part{Text: p.Text, Metadata: meta(p.Metadata)})
		case a2a.DataPart:
			out = append(out, peer.Part{Data: raw(p.Data), Metadata: meta(p.Metadata)})
		case a2a.FilePart:
			q := peer.Part{Metadata: meta(p.Metadata)}
			switch f := p.File.(type) {
			case a2a.FileURI:
				q.Name, q.MediaType, q.URL = f.Name, f.MimeType, f.URI
			case a2a.FileBytes:
				b, err := base64.StdEncoding.DecodeString(f.Bytes)
				if err != nil {
					b = []byte("not base64: " + f.Bytes)
				}
				q.Name, q.MediaType, q.Bytes = f.Name, f.MimeType, b
			}
			out = append(out, q)
		}
	}
	return out
}

// toParts returns peer.ErrNone where a part cannot be said with this SDK: its data is an object.
func toParts(in []peer.Part) (a2a.ContentParts, error) {
	var out a2a.ContentParts
	for _, p := range in {
		var m map[string]any
		json.Unmarshal(p.Metadata, &m)
		about := a2a.FileMeta{Name: p.Name, MimeType: p.MediaType}
		switch {
		case p.Bytes != nil:
			b := base64.StdEncoding.EncodeToString(p.Bytes)
			out = append(out, a2a.FilePart{File: a2a.FileBytes{FileMeta: about, Bytes: b}, Metadata: m})
		case p.URL != "":
			out = append(out, a2a.FilePart{File: a2a.FileURI{FileMeta: about, URI: p.URL}, Metadata: m})
		case p.Data != nil:
			var v map[string]any
			if err := json.Unmarshal(p.Data, &v); err != nil || v == nil {
				return nil, peer.ErrNone
			}
			out = append(out, a2a.DataPart{Data: v, Metadata: m})
		default:
			out = append(out, a2a.TextPart{Text: p.Text, Metadata: m})
		}
	}
	return out, nil
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
