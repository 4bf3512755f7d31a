package wire

import "parley/a2a"

// PushPayload is what a webhook is told.
type PushPayload struct {
	Task         *a2a.Task // as it stands after Event; nil only where Event is a Message that is the whole answer
	Event        a2a.Event // nil: the task itself
	ClientTaskID string    // OLD: what the client calls the task; "" for its own id
	Index        *Index    // OLD: numbers the artifacts; nil numbers them by their place in Task
}

// AppendPush appends the body of a webhook in the dialect of whoever made the configuration: the event for NEW, the task
// for the others.
func AppendPush(b []byte, d Dialect, p *PushPayload) []byte { return b }

// PushNote is what an agent told a webhook.
type PushNote struct {
	TaskID    string
	ContextID string
	Event     a2a.Event // nil: only a hint that something happened
	Summary   string    // in the agent's words, where it gives one
}

// DecodePush reads the body of a webhook in every form that agents send. An error is an *a2a.Error.
func DecodePush(body []byte) (*PushNote, error) {
	return nil, a2a.Errorf(a2a.KindInvalidParams, "the notification is of no known form")
}
