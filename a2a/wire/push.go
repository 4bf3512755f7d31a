package wire

import (
	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// PushPayload is what a webhook is told.
type PushPayload struct {
	Task         *a2a.Task // as it stands after Event; nil only where Event is a Message that is the whole answer
	Event        a2a.Event // nil: the task itself
	ClientTaskID string    // OLD: what the client calls the task; "" for what Index has, or its own id
	Index        *Index    // OLD: numbers the artifacts, and has seen those of Task; nil numbers them by their place in Task
}

// AppendPush appends the body of a webhook in the dialect of whoever made the configuration: the event for NEW, the bare
// task for the others (or the bare message that is the whole answer). Over HTTP+JSON, v0.3 has the JSON of MID here, too.
func AppendPush(b []byte, d Dialect, p *PushPayload) []byte {
	event := p.Event
	if p.Task != nil && (event == nil || d != NEW) {
		event = p.Task
	}
	switch d {
	case NEW:
		return a2a.AppendEvent(b, event)
	case OLD:
		x := NewIndex(p.ClientTaskID)
		if p.Index != nil {
			x = &Index{client: first(p.ClientTaskID, p.Index.client), numbers: p.Index.numbers}
		}
		task, ok := event.(*a2a.Task)
		if m, is := event.(*a2a.Message); is {
			task, ok = x.answer(m), true
		}
		if !ok {
			return oldFamily{}.appendEvent(b, event)
		}
		b = x.appendTask(b, task)
		b = jsontext.AppendString(append(b[:len(b)-1], `,"taskId":`...), x.task(task.ID)) // v0.1 section 9.4
		return append(b, '}')
	}
	return midFamily{}.appendEvent(b, event)
}

// PushNote is what an agent told a webhook.
type PushNote struct {
	TaskID    string
	ContextID string
	Event     a2a.Event // nil: only a hint that something happened
	Summary   string    // in the agent's words, where it gives one
}

// DecodePush reads the body of a webhook in every form that agents send: an event of v1.0 or of a2a.v1 in its wrapper, a
// task, message or update of v0.3, a task of v0.1, a JSON-RPC message around any of them (tasks/notifyEvent of trpc-a2a-go), or
// {eventType, taskId, status, summary}. An error is an *a2a.Error.
func DecodePush(body []byte) (*PushNote, error) {
	if err := jsontext.Check(body, a2a.Limits.JSONDepth); err != nil {
		return nil, a2a.JSONError(body, err)
	}
	n := new(PushNote)
	if err := n.read(body, 0); err != nil {
		return nil, err
	}
	if f := checkReply(n.Event); f != nil {
		return nil, f.err()
	}
	switch e := n.Event.(type) {
	case *a2a.Task:
		n.TaskID, n.ContextID = e.ID, e.ContextID
	case *a2a.Message:
		n.TaskID, n.ContextID = e.TaskID, e.ContextID
	case *a2a.StatusUpdate:
		n.TaskID, n.ContextID = e.TaskID, e.ContextID
	case *a2a.ArtifactUpdate:
		n.TaskID, n.ContextID = e.TaskID, e.ContextID
	}
	if n.TaskID == "" {
		return nil, invalid("taskId", "must not be empty").err()
	}
	return n, nil
}

// pushForm is what the members of a body say about its form.
type pushForm struct {
	inner            []byte // of JSON-RPC: params, result or event
	wrapped          bool   // an event in its wrapper
	kind             bool   // one that says its kind
	bare             bool   // one that does not
	old              bool   // and is of v0.1
	status, artifact bool
	task, context    string
	summary          string
}

func (n *PushNote) read(body []byte, depth int) error {
	var f pushForm
	r := jsontext.NewReader(body)
	if r.Peek() != '{' {
		return a2a.Errorf(a2a.KindInvalidParams, "the notification is not an object")
	}
	f.look(r)
	var e a2a.Event
	r = jsontext.NewReader(body)
	switch {
	case f.inner != nil && depth < 3:
		return n.read(f.inner, depth+1)
	case f.wrapped:
		var err error
		if n.Event, err = a2a.UnmarshalEvent(body); err == nil {
			return nil
		}
		e = readProtoEvent(r, readProtoPart)
	case f.kind:
		e = readMidEvent(r, readMidPart)
	case f.old:
		e = readOldEvent(r, true)
	case f.bare:
		e = readMidEvent(r, readMidPart)
	default:
		n.TaskID, n.ContextID, n.Summary = f.task, f.context, f.summary
		if f.task == "" {
			return a2a.Errorf(a2a.KindInvalidParams, "the notification is of no known form")
		}
		return nil
	}
	if err := r.Err(); err != nil {
		return a2a.JSONError(body, err)
	}
	n.Event, n.Summary = e, f.summary
	return nil
}

// look finds out which form a body has.
func (f *pushForm) look(r *jsontext.Reader) {
	var (
		id, task, parts, rpc bool
		inner                []byte
	)
	for r.Object(); r.Member(); {
		object := r.Peek() == '{'
		switch name := string(r.Name()); name {
		case "jsonrpc":
			rpc = true
			r.Skip()
		case "params", "result", "event":
			if object {
				inner = r.Span()
			} else {
				r.Skip()
			}
		case "task", "message", "statusUpdate", "artifactUpdate":
			f.wrapped = f.wrapped || object
			r.Skip()
		case "kind":
			f.kind = true
			r.Skip()
		case "id":
			id = true
			hint(r, &f.task)
		case "taskId":
			task = true
			hint(r, &f.task)
		case "contextId":
			hint(r, &f.context)
		case "sessionId":
			f.old = true
			hint(r, &f.context)
		case "summary":
			hint(r, &f.summary)
		case "status":
			f.status = object
			r.Skip()
		case "artifact":
			f.artifact = object
			f.old = hasIndex(r.Span()) || f.old
		case "artifacts":
			f.old = hasIndex(r.Span()) || f.old
		case "parts", "content":
			parts = r.Peek() == '['
			r.Skip()
		default:
			r.Skip()
		}
	}
	if rpc || inner != nil && !f.status && !f.artifact {
		f.inner = inner
	}
	f.bare = f.status && (id || task) || f.artifact && (id || task) || parts
	// v0.1 calls the task id where later versions say taskId, and its tasks have no contextId.
	f.old = f.bare && (f.old || id && !parts && f.context == "")
}

func hint(r *jsontext.Reader, s *string) {
	if r.Peek() == '"' {
		*s = r.String()
	} else {
		r.Skip()
	}
}

// hasIndex reports whether an artifact, or the first of a list, goes by its number.
func hasIndex(text []byte) bool {
	r := jsontext.NewReader(text)
	if r.Peek() == '[' {
		if r.Array(); !r.Element() {
			return false
		}
	}
	if r.Peek() != '{' {
		return false
	}
	for r.Object(); r.Member(); r.Skip() {
		switch string(r.Name()) {
		case "index":
			return true
		case "artifactId":
			return false
		}
	}
	return false
}
