// Command go10 is a peer made with the official Go SDK for v1.0: an agent and a client. See package peer.
package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/interop/peer"
)

func main() { peer.Main(serve, dial, kind) }

func kind(err error) string {
	for is, word := range map[error]string{
		a2a.ErrTaskNotFound:                 "task-not-found",
		a2a.ErrTaskNotCancelable:            "task-not-cancelable",
		a2a.ErrPushNotificationNotSupported: "push-not-supported",
		a2a.ErrUnsupportedOperation:         "unsupported-operation",
		a2a.ErrUnsupportedContentType:       "content-type",
		a2a.ErrExtendedCardNotConfigured:    "extended-card-not-configured",
		a2a.ErrExtensionSupportRequired:     "extension-required",
		a2a.ErrInvalidParams:                "invalid-params",
		a2a.ErrInvalidRequest:               "invalid-request",
		a2a.ErrMethodNotFound:               "method-not-found",
		a2a.ErrUnauthenticated:              "unauthenticated",
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

// state turns TASK_STATE_INPUT_REQUIRED into input-required.
func state(s a2a.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(s), "TASK_STATE_"), "_", "-"))
}

func parts(in a2a.ContentParts) []peer.Part {
	var out []peer.Part
	for _, p := range in {
		q := peer.Part{Text: p.Text(), Bytes: p.Raw(), URL: string(p.URL()), Name: p.Filename, MediaType: p.MediaType, Metadata: meta(p.Metadata)}
		if d, ok := p.Content.(a2a.Data); ok {
			q.Data = raw(d.Value)
		}
		out = append(out, q)
	}
	return out
}

func toParts(in []peer.Part) a2a.ContentParts {
	var out a2a.ContentParts
	for _, p := range in {
		q := a2a.NewTextPart(p.Text)
		switch {
		case p.Bytes != nil:
			q = a2a.NewRawPart(p.Bytes)
		case p.URL != "":
			q = a2a.NewFileURLPart(a2a.URL(p.URL), p.MediaType)
		case p.Data != nil:
			var v any
			json.Unmarshal(p.Data, &v)
			q = a2a.NewDataPart(v)
		}
		q.Filename, q.MediaType = p.Name, p.MediaType
		json.Unmarshal(p.Metadata, &q.Metadata)
		out = append(out, q)
	}
	return out
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
