package demo

import (
	"context"
	"time"

	"parley/a2a"
)

// The small words in which the agents speak.

// status is a state with a sentence for people; text may be "".
func status(s a2a.TaskState, text string) *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{Status: a2a.TaskStatus{State: s}}
	if text != "" {
		u.Status.Message = &a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}}
	}
	return u
}

// artifact is a whole artifact.
func artifact(name string, parts ...a2a.Part) *a2a.ArtifactUpdate {
	return &a2a.ArtifactUpdate{Artifact: a2a.Artifact{Name: name, Parts: parts}, LastChunk: true}
}

// markdown is a text part that says it is Markdown.
func markdown(s string) a2a.Part {
	return a2a.Part{Kind: a2a.PartText, Text: s, MediaType: "text/markdown"}
}

// sleep waits; it returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
