package a2aclient

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"parley/a2a"
	"parley/a2aclient/card"
)

// Up to v0.1 it is the client that names a task and the session it belongs to. The names follow from the id of the message
// that begins it: who sent a message knows its task, also when no answer came and after a restart.

// named is r with the names that v0.1 wants for a new task. A message to a task that there is stays as it is.
func named(r *a2a.SendRequest) *a2a.SendRequest {
	if r.Message.TaskID != "" {
		return r
	}
	out := *r
	out.NewTask = true
	out.Message.TaskID = nameOf("task", r.Message.ID)
	if out.Message.ContextID == "" {
		out.Message.ContextID = nameOf("session", r.Message.ID)
	}
	return &out
}

// nameOf makes a UUID (RFC 9562 version 8) of the id of a message, a random one where there is none.
func nameOf(what, message string) string {
	var b [16]byte
	if message == "" {
		rand.Read(b[:])
	} else {
		sum := sha256.Sum256([]byte("A2A " + what + "\x00" + message))
		copy(b[:], sum[:])
	}
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// grouped puts what r was answered with into the context that r named, where the agent does not say.
func grouped(v any, r *a2a.SendRequest) {
	switch e := v.(type) {
	case *a2a.Task:
		if e.ContextID == "" {
			e.ContextID = r.Message.ContextID
		}
	case *a2a.Message:
		if e.ContextID == "" {
			e.ContextID = r.Message.ContextID
		}
	}
}

// findNamed asks for the task that a message began under the name that was then given to it.
func (c *Client) findNamed(ctx context.Context, message string) (*a2a.Task, error) {
	if message == "" {
		return nil, nil
	}
	t, err := c.Get(ctx, &a2a.GetRequest{ID: nameOf("task", message)})
	if e := (*Error)(nil); errors.As(err, &e) && e.Kind == card.KindTaskNotFound {
		return nil, nil
	}
	if err == nil && t.ContextID == "" {
		t.ContextID = nameOf("session", message)
	}
	return t, err
}
