package wire

import (
	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// oldFamily is the JSON of v0.1 and the drafts before it. The client names the task, messages have no ids, artifacts go by
// their number, and a stream tells of a task's status and artifacts only, never of a task or a message as such. What it
// cannot say travels in metadata under names of ours where that is possible.
type oldFamily struct{}

var oldMethods = [OpExtendedCard + 1]string{
	OpSend:      "tasks/send",
	OpStream:    "tasks/sendSubscribe",
	OpGet:       "tasks/get",
	OpCancel:    "tasks/cancel",
	OpSubscribe: "tasks/resubscribe",
	OpPushSet:   "tasks/pushNotification/set",
	OpPushGet:   "tasks/pushNotification/get",
}

func (oldFamily) method(op Op) string { return oldMethods[op] }

func (oldFamily) code(k a2a.ErrorKind) int {
	switch k {
	case a2a.KindInvalidAgentResponse:
		return -32603
	case a2a.KindExtendedCardNotSet:
		return -32601
	}
	return midFamily{}.code(k)
}

// kind reads the codes of v0.1, which later versions gave other meanings.
func (oldFamily) kind(code int) a2a.ErrorKind {
	switch code {
	case -32006:
		return a2a.KindUnsupportedOperation // streaming
	case -32007:
		return a2a.KindUnauthenticated
	case -32008:
		return a2a.KindForbidden
	case -32009:
		return a2a.KindTaskTerminal
	case -32010:
		return a2a.KindRateLimited
	case -32011:
		return a2a.KindUnavailable
	}
	return kindOf(code)
}

func (oldFamily) details() bool { return false }

func (oldFamily) appendParams(b []byte, op Op, params any) []byte {
	b = append(b, '{')
	switch p := params.(type) {
	case *a2a.SendRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.Message.TaskID)
		b = jsontext.AppendText(b, "sessionId", p.Message.ContextID)
		b = appendOldMessage(append(b, `,"message":`...), fromUser(&p.Message))
		b = jsontext.AppendList(b, "acceptedOutputModes", p.Configuration.AcceptedOutputModes)
		if p.Configuration.Push != nil {
			b = appendOldPush(append(b, `,"pushNotification":`...), p.Configuration.Push, true)
		}
		b = appendLength(b, oldLength(p.Configuration.HistoryLength))
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.GetRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
		b = appendLength(b, oldLength(p.HistoryLength))
	case *a2a.CancelRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.SubscribeRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.ID)
	case *a2a.PushConfig:
		b = jsontext.AppendString(append(b, `"id":`...), p.TaskID)
		b = appendOldPush(append(b, `,"pushNotificationConfig":`...), p, true)
	case *a2a.PushGetRequest:
		b = jsontext.AppendString(append(b, `"id":`...), p.TaskID)
	}
	return append(b, '}')
}

// oldLength: without a number, agents of v0.1 send no history at all.
func oldLength(n *int) *int {
	if n == nil {
		n = &a2a.Limits.History
	}
	return n
}

// appendOldPush leaves out the id: a task has one configuration.
func appendOldPush(b []byte, p *a2a.PushConfig, secret bool) []byte {
	own := *p
	own.ID = ""
	return appendMidPush(b, &own, secret)
}

func (oldFamily) appendResult(b []byte, c *Call, result any) []byte {
	x := c.index()
	switch v := result.(type) {
	case *a2a.Task:
		return x.appendTask(b, v)
	case *a2a.Message:
		return x.appendTask(b, x.answer(v))
	case *a2a.PushConfig:
		b = jsontext.AppendString(append(b, `{"id":`...), x.task(v.TaskID))
		b = appendOldPush(append(b, `,"pushNotificationConfig":`...), v, false)
		return append(b, '}')
	}
	if c.PushDelete != nil { // set with null
		b = jsontext.AppendString(append(b, `{"id":`...), x.task(c.PushDelete.TaskID))
		return append(b, `,"pushNotificationConfig":null}`...)
	}
	return append(b, "null"...)
}

func (c *Call) index() *Index {
	if c.Index == nil {
		c.Index = NewIndex("")
	}
	return c.Index
}

// appendEvent is for an event on its own; streams are written by appendOldFrames.
func (oldFamily) appendEvent(b []byte, e a2a.Event) []byte {
	x := NewIndex("")
	switch e := e.(type) {
	case *a2a.Task:
		return x.appendTask(b, e)
	case *a2a.Message:
		return x.appendTask(b, x.answer(e))
	case *a2a.StatusUpdate:
		return x.appendStatusEvent(b, e)
	case *a2a.ArtifactUpdate:
		return x.appendArtifactEvent(b, e)
	}
	return append(b, "null"...)
}

// appendOldFrames appends what a stream of v0.1 says of an event: one frame for a status and one for each artifact, the
// status last, since the stream may end with it.
func appendOldFrames(b []byte, c *Call, e a2a.Event) []byte {
	x := c.index()
	switch e := e.(type) {
	case *a2a.Task:
		for i := range e.Artifacts {
			b = c.appendOldFrame(b, &a2a.ArtifactUpdate{TaskID: e.ID, Artifact: e.Artifacts[i]})
		}
		return c.appendOldFrame(b, &a2a.StatusUpdate{TaskID: e.ID, Status: e.Status, Metadata: e.Metadata})
	case *a2a.Message:
		return appendOldFrames(b, c, x.answer(e))
	}
	return c.appendOldFrame(b, e)
}

func (c *Call) appendOldFrame(b []byte, e a2a.Event) []byte {
	name, x := "task_status_update", c.index()
	u, artifact := e.(*a2a.ArtifactUpdate)
	if artifact {
		name = "task_artifact_update"
	}
	if c.Named {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	b = append(appendHead(append(b, "data: "...), c.ID), `,"result":`...)
	if artifact {
		b = x.appendArtifactEvent(b, u)
	} else {
		b = x.appendStatusEvent(b, e.(*a2a.StatusUpdate))
	}
	return append(b, "}\n\n"...)
}

// answer is the task that stands for a message which is the whole answer. Clients of v0.1 look for artifacts.
func (x *Index) answer(m *a2a.Message) *a2a.Task {
	return &a2a.Task{
		ID: first(m.TaskID, m.ID), ContextID: m.ContextID,
		Status:    a2a.TaskStatus{State: a2a.TaskStateCompleted, Message: m},
		Artifacts: []a2a.Artifact{{ID: artifactID(0), Parts: m.Parts}},
	}
}

func (x *Index) appendTask(b []byte, t *a2a.Task) []byte {
	b = jsontext.AppendString(append(b, `{"id":`...), x.task(t.ID))
	b = jsontext.AppendString(append(b, `,"sessionId":`...), t.ContextID)
	b = appendOldStatus(append(b, `,"status":`...), &t.Status)
	if len(t.Artifacts) > 0 {
		b = append(b, `,"artifacts":[`...)
		for i := range t.Artifacts {
			b = x.appendArtifact(separate(b), &a2a.ArtifactUpdate{Artifact: t.Artifacts[i]})
		}
		b = append(b, ']')
	}
	if len(t.History) > 0 {
		b = append(b, `,"history":[`...)
		for i := range t.History {
			b = appendOldMessage(separate(b), &t.History[i])
		}
		b = append(b, ']')
	}
	b = jsontext.AppendObject(b, "metadata", markState(t.Status.State, t.Metadata))
	return append(b, '}')
}

func (x *Index) appendStatusEvent(b []byte, u *a2a.StatusUpdate) []byte {
	b = jsontext.AppendString(append(b, `{"id":`...), x.task(u.TaskID))
	b = appendOldStatus(append(b, `,"status":`...), &u.Status)
	b = appendBool(append(b, `,"final":`...), u.Status.State.Terminal() || u.Status.State.Interrupted())
	b = jsontext.AppendObject(b, "metadata", markState(u.Status.State, u.Metadata))
	return append(b, '}')
}

func (x *Index) appendArtifactEvent(b []byte, u *a2a.ArtifactUpdate) []byte {
	b = jsontext.AppendString(append(b, `{"id":`...), x.task(u.TaskID))
	b = x.appendArtifact(append(b, `,"artifact":`...), u)
	b = jsontext.AppendObject(b, "metadata", u.Metadata)
	return append(b, '}')
}

// appendArtifact writes what says that it is a piece into the artifact itself.
func (x *Index) appendArtifact(b []byte, u *a2a.ArtifactUpdate) []byte {
	a := &u.Artifact
	n := x.number(a.ID)
	b = jsontext.AppendInt(append(b, `{"index":`...), n)
	b = jsontext.AppendText(b, "name", a.Name)
	b = jsontext.AppendText(b, "description", a.Description)
	b = appendOldParts(append(b, `,"parts":`...), a.Parts)
	b = jsontext.AppendTrue(b, "append", u.Append)
	b = jsontext.AppendTrue(b, "lastChunk", u.LastChunk)
	meta := a.Metadata
	if a.ID != artifactID(n) {
		meta = jsontext.With(meta, artifactKey, jsontext.AppendString(nil, a.ID))
	}
	b = jsontext.AppendObject(b, "metadata", meta)
	return append(b, '}')
}

func appendOldStatus(b []byte, s *a2a.TaskStatus) []byte {
	state := s.State
	switch state {
	case a2a.TaskStateAuthRequired:
		state = a2a.TaskStateInputRequired
	case a2a.TaskStateRejected:
		state = a2a.TaskStateFailed
	}
	b = append(append(append(b, `{"state":"`...), midState(state)...), '"')
	if s.Message != nil {
		b = appendOldMessage(append(b, `,"message":`...), s.Message)
	}
	if !s.Timestamp.IsZero() {
		b = jsontext.AppendTime(append(b, `,"timestamp":`...), s.Timestamp)
	}
	return append(b, '}')
}

// markState notes in metadata which state is meant by the one that v0.1 has for it.
func markState(s a2a.TaskState, meta a2a.Metadata) a2a.Metadata {
	if s != a2a.TaskStateAuthRequired && s != a2a.TaskStateRejected {
		return meta
	}
	return jsontext.With(meta, stateKey, jsontext.AppendString(nil, midState(s)))
}

func appendOldMessage(b []byte, m *a2a.Message) []byte {
	b = append(append(append(b, `{"role":"`...), midRole(m.Role)...), `","parts":`...)
	b = appendOldParts(b, m.Parts)
	b = jsontext.AppendObject(b, "metadata", carryReferences(m))
	return append(b, '}')
}

func appendOldParts(b []byte, parts []a2a.Part) []byte {
	b = append(b, '[')
	for i := range parts {
		b = appendTaggedPart(separate(b), "type", &parts[i])
	}
	return append(b, ']')
}
