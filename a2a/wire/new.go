package wire

import (
	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// newFamily is the JSON of v1.0. It is the canonical form, so that an entry of the log goes out as it is.
type newFamily struct{}

var newMethods = [...]string{
	OpSend:         "SendMessage",
	OpStream:       "SendStreamingMessage",
	OpGet:          "GetTask",
	OpList:         "ListTasks",
	OpCancel:       "CancelTask",
	OpSubscribe:    "SubscribeToTask",
	OpPushSet:      "CreateTaskPushNotificationConfig",
	OpPushGet:      "GetTaskPushNotificationConfig",
	OpPushList:     "ListTaskPushNotificationConfigs",
	OpPushDelete:   "DeleteTaskPushNotificationConfig",
	OpExtendedCard: "GetExtendedAgentCard",
}

func (newFamily) method(op Op) string { return newMethods[op] }

func (newFamily) readParams(r *jsontext.Reader, c *Call) {
	readParams(r, c, (*a2a.Part).ReadJSON)
}

func (newFamily) appendParams(b []byte, op Op, params any) []byte {
	b = append(b, '{')
	switch p := params.(type) {
	case *a2a.SendRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = fromUser(&p.Message).AppendJSON(jsontext.AppendName(b, "message"))
		b = appendNewConfiguration(b, &p.Configuration)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.GetRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendString(jsontext.AppendName(b, "id"), p.ID)
		b = appendLength(b, p.HistoryLength)
	case *a2a.ListRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendText(b, "contextId", p.ContextID)
		b = jsontext.AppendText(b, "status", string(p.Status))
		if p.PageSize != 0 {
			b = jsontext.AppendInt(jsontext.AppendName(b, "pageSize"), p.PageSize)
		}
		b = jsontext.AppendText(b, "pageToken", p.PageToken)
		b = appendLength(b, p.HistoryLength)
		if !p.StatusTimestampAfter.IsZero() {
			b = jsontext.AppendTime(jsontext.AppendName(b, "statusTimestampAfter"), p.StatusTimestampAfter)
		}
		b = jsontext.AppendTrue(b, "includeArtifacts", p.IncludeArtifacts)
	case *a2a.CancelRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendString(jsontext.AppendName(b, "id"), p.ID)
		b = jsontext.AppendObject(b, "metadata", p.Metadata)
	case *a2a.SubscribeRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendString(jsontext.AppendName(b, "id"), p.ID)
	case *a2a.PushConfig:
		return appendNewPush(b[:len(b)-1], p, true)
	case *a2a.PushGetRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendString(jsontext.AppendName(b, "taskId"), p.TaskID)
		b = jsontext.AppendString(jsontext.AppendName(b, "id"), p.ID)
	case *a2a.PushListRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendString(jsontext.AppendName(b, "taskId"), p.TaskID)
		if p.PageSize != 0 {
			b = jsontext.AppendInt(jsontext.AppendName(b, "pageSize"), p.PageSize)
		}
		b = jsontext.AppendText(b, "pageToken", p.PageToken)
	case *a2a.PushDeleteRequest:
		b = jsontext.AppendText(b, "tenant", p.Tenant)
		b = jsontext.AppendString(jsontext.AppendName(b, "taskId"), p.TaskID)
		b = jsontext.AppendString(jsontext.AppendName(b, "id"), p.ID)
	case *a2a.ExtendedCardRequest:
		if p != nil {
			b = jsontext.AppendText(b, "tenant", p.Tenant)
		}
	}
	return append(b, '}')
}

// appendNewConfiguration leaves out a configuration that asks for nothing.
func appendNewConfiguration(b []byte, c *a2a.SendConfiguration) []byte {
	if len(c.AcceptedOutputModes) == 0 && c.Push == nil && c.HistoryLength == nil && !c.ReturnImmediately {
		return b
	}
	b = append(jsontext.AppendName(b, "configuration"), '{')
	b = jsontext.AppendList(b, "acceptedOutputModes", c.AcceptedOutputModes)
	if p := c.Push; p != nil { // the task is this request's: its id stays out
		own := *p
		own.TaskID = ""
		b = appendNewPush(jsontext.AppendName(b, "taskPushNotificationConfig"), &own, true)
	}
	b = appendLength(b, c.HistoryLength)
	b = jsontext.AppendTrue(b, "returnImmediately", c.ReturnImmediately)
	return append(b, '}')
}

func appendLength(b []byte, n *int) []byte {
	if n == nil {
		return b
	}
	return jsontext.AppendInt(jsontext.AppendName(b, "historyLength"), *n)
}

func (newFamily) appendResult(b []byte, c *Call, result any) []byte {
	switch v := result.(type) {
	case *a2a.Task:
		if c.Op == OpSend || c.Op == OpStream || c.Op == OpSubscribe {
			return a2a.AppendEvent(b, v)
		}
		return v.AppendJSON(b)
	case *a2a.Message:
		return a2a.AppendEvent(b, v)
	case *a2a.TaskPage:
		b = append(b, `{"tasks":[`...)
		for i := range v.Tasks {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.Tasks[i].AppendJSON(b)
		}
		b = append(b, `],"nextPageToken":`...)
		b = jsontext.AppendString(b, v.NextPageToken)
		b = jsontext.AppendInt(append(b, `,"pageSize":`...), v.PageSize)
		b = jsontext.AppendInt(append(b, `,"totalSize":`...), v.TotalSize)
		return append(b, '}')
	case *a2a.PushConfig:
		return appendNewPush(b, v, false)
	case *a2a.PushConfigPage:
		b = append(b, `{"configs":[`...)
		for i := range v.Configs {
			b = appendNewPush(separate(b), &v.Configs[i], false)
		}
		b = jsontext.AppendString(append(b, `],"nextPageToken":`...), v.NextPageToken)
		return append(b, '}')
	case *a2a.AgentCard:
		return AppendCard(b, CardNEW, v)
	}
	return append(b, "{}"...)
}

func (newFamily) readResult(r *jsontext.Reader, op Op) any {
	start := r.Offset()
	switch op {
	case OpSend, OpStream, OpSubscribe:
		switch e := a2a.ReadEvent(r).(type) {
		case *a2a.Task, *a2a.Message:
			return e
		default:
			if op != OpSend {
				return e
			}
			r.Fail(start, "must hold a task or a message")
			return nil
		}
	case OpGet, OpCancel:
		t := new(a2a.Task)
		t.ReadJSON(r, (*a2a.Part).ReadJSON)
		return t
	case OpList:
		p := new(a2a.TaskPage)
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "tasks":
				for r.Array(); r.Element(); {
					p.Tasks = append(p.Tasks, a2a.Task{})
					p.Tasks[len(p.Tasks)-1].ReadJSON(r, (*a2a.Part).ReadJSON)
				}
			case "nextPageToken":
				p.NextPageToken = r.String()
			case "pageSize":
				p.PageSize = r.Int()
			case "totalSize":
				p.TotalSize = r.Int()
			default:
				r.Skip()
			}
		}
		return p
	case OpPushSet, OpPushGet:
		return readPushConfig(r)
	case OpPushList:
		return readPushPage(r)
	}
	r.Skip()
	return nil
}

func (newFamily) appendEvent(b []byte, e a2a.Event) []byte { return a2a.AppendEvent(b, e) }

func (newFamily) code(k a2a.ErrorKind) int { return codes[k] }

func (newFamily) kind(code int) a2a.ErrorKind { return kindOf(code) }

func (newFamily) details() bool { return true }
