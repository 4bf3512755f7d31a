package wire

import (
	"fmt"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// The params of NEW and MID differ in few members and contradict each other in none, so they are read together. What
// differs is how a part looks.

// readParams reads the params of c.Op into c.
func readParams(r *jsontext.Reader, c *Call, part a2a.PartReader) {
	switch c.Op {
	case OpSend, OpStream:
		readSend(r, c.Send, "message", part)
	case OpGet:
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "id":
				c.Get.ID = r.String()
			case "tenant":
				c.Get.Tenant = r.String()
			case "historyLength":
				c.Get.HistoryLength = readLength(r)
			default:
				r.Skip()
			}
		}
	case OpList:
		readList(r, c.List)
	case OpCancel:
		readCancel(r, c.Cancel)
	case OpSubscribe:
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "id":
				c.Subscribe.ID = r.String()
			case "tenant":
				c.Subscribe.Tenant = r.String()
			default:
				r.Skip()
			}
		}
	case OpExtendedCard:
		for r.Object(); r.Member(); {
			if string(r.Name()) == "tenant" {
				c.Card.Tenant = r.String()
			} else {
				r.Skip()
			}
		}
	default:
		readPushParams(r, c)
	}
}

func readCancel(r *jsontext.Reader, q *a2a.CancelRequest) {
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "id":
			q.ID = r.String()
		case "tenant":
			q.Tenant = r.String()
		case "metadata":
			q.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
}

// readSend reads a message that is called so, or as earlier says, and reports whether there is a configuration that does not
// say if the request waits for its answer.
func readSend(r *jsontext.Reader, s *a2a.SendRequest, earlier string, part a2a.PartReader) (silent bool) {
	id := "" // some write it beside the message
	for r.Object(); r.Member(); {
		switch name := string(r.Name()); name {
		case "tenant":
			s.Tenant = r.String()
		case "message", earlier:
			s.Message.ReadJSON(r, part)
		case "messageId":
			id = r.String()
		case "configuration":
			silent = !readConfiguration(r, &s.Configuration)
		case "metadata":
			s.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
	if s.Message.ID == "" {
		s.Message.ID = id
	}
	if s.Message.Role == "" {
		s.Message.Role = a2a.RoleUser
	}
	return silent
}

// readConfiguration reports whether it says if the request waits.
func readConfiguration(r *jsontext.Reader, c *a2a.SendConfiguration) (said bool) {
	*c = a2a.SendConfiguration{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "acceptedOutputModes":
			c.AcceptedOutputModes = r.Strings()
		case "taskPushNotificationConfig", "pushNotificationConfig", "pushNotification":
			c.Push = readPushConfig(r)
		case "historyLength":
			c.HistoryLength = readLength(r)
		case "returnImmediately":
			c.ReturnImmediately, said = r.Bool(), true
		case "blocking":
			c.ReturnImmediately, said = !r.Bool(), true
		default:
			r.Skip()
		}
	}
	return said
}

func readLength(r *jsontext.Reader) *int {
	n := r.Int()
	return &n
}

var mustBePage = fmt.Sprintf("must be from 1 to %d", a2a.Limits.PageSize)

func readList(r *jsontext.Reader, l *a2a.ListRequest) {
	for r.Object(); r.Member(); {
		start := r.Offset()
		switch string(r.Name()) {
		case "tenant":
			l.Tenant = r.String()
		case "contextId":
			l.ContextID = r.String()
		case "status":
			l.Status = a2a.ReadTaskState(r)
			if l.Status == a2a.TaskStateUnspecified && r.Err() == nil {
				if s := string(r.Since(start)); s != `""` && s != "0" && s != `"TASK_STATE_UNSPECIFIED"` {
					r.Fail(start, "is not a task state")
				}
			}
		case "pageSize":
			if l.PageSize = r.Int(); l.PageSize < 1 || l.PageSize > a2a.Limits.PageSize {
				r.Fail(start, mustBePage)
			}
		case "pageToken":
			l.PageToken = r.String()
		case "historyLength":
			l.HistoryLength = readLength(r)
		case "statusTimestampAfter":
			if l.StatusTimestampAfter = r.Time(); l.StatusTimestampAfter.IsZero() {
				r.Fail(start, "must be a time such as 2026-01-02T03:04:05.678Z")
			}
		case "includeArtifacts":
			l.IncludeArtifacts = r.Bool()
		default:
			r.Skip()
		}
	}
}

// fromUser lets it be the user who speaks in a request where that was not said.
func fromUser(m *a2a.Message) *a2a.Message {
	if m.Role != "" {
		return m
	}
	said := *m
	said.Role = a2a.RoleUser
	return &said
}
