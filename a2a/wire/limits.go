package wire

import (
	"crypto/rand"
	"fmt"
	"strconv"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// fault is something that a2a.Limits or the protocol does not allow, at a member; nil means that all is well. The path
// grows on the way up, so that it costs nothing where nothing is wrong.
type fault struct {
	kind a2a.ErrorKind
	path string
	must string
}

func invalid(path, must string) *fault { return &fault{a2a.KindInvalidParams, path, must} }

func tooLarge(path string, limit int) *fault {
	return &fault{a2a.KindTooLarge, path, fmt.Sprintf("must not be larger than %d bytes", limit)}
}

func (f *fault) in(member string) *fault {
	if f != nil {
		f.path = member + "." + f.path
	}
	return f
}

func (f *fault) at(list string, i int) *fault {
	if f != nil {
		f.path = list + "[" + strconv.Itoa(i) + "]." + f.path
	}
	return f
}

// err keeps a nil fault a nil error.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	return &a2a.Error{Kind: f.kind, Message: f.path + " " + f.must, Field: f.path}
}

// checkCall checks what the members of a request must say. A message of v0.2 or v0.3 without an id gets one.
func checkCall(c *Call) *fault {
	id := ""
	switch c.Op {
	case OpSend, OpStream:
		return checkSend(c.Send, c.Dialect)
	case OpList:
		return checkLength(c.Dialect, &c.List.HistoryLength)
	case OpGet:
		if f := checkLength(c.Dialect, &c.Get.HistoryLength); f != nil {
			return f
		}
		id = c.Get.ID
	case OpCancel:
		if f := checkMetadata(c.Cancel.Metadata); f != nil {
			return f
		}
		id = c.Cancel.ID
	case OpSubscribe:
		id = c.Subscribe.ID
	case OpPushSet, OpPushGet, OpPushList, OpPushDelete:
		return checkPush(c)
	default:
		return nil
	}
	if id == "" {
		return invalid("id", "must not be empty")
	}
	return nil
}

// checkPush: the ids that were optional before v1.0 stay so.
func checkPush(c *Call) *fault {
	task, config := "taskId", "id"
	if c.Dialect != NEW {
		task, config = "id", "pushNotificationConfigId"
	}
	switch {
	case c.TaskID() == "":
		return invalid(task, "must not be empty")
	case c.Push != nil && c.Push.URL == "":
		return invalid("url", "must not be empty")
	case c.PushGet != nil && c.PushGet.ID == "" && c.Dialect == NEW, c.PushDelete != nil && c.PushDelete.ID == "" && c.Dialect != OLD:
		return invalid(config, "must not be empty")
	}
	return nil
}

func checkSend(s *a2a.SendRequest, d Dialect) *fault {
	if s.Message.ID == "" {
		if d == NEW {
			return invalid("message.messageId", "must not be empty")
		}
		s.Message.ID = rand.Text()
	}
	if len(s.Message.Parts) == 0 {
		return invalid("message.parts", "must not be empty")
	}
	if f := checkLength(d, &s.Configuration.HistoryLength); f != nil {
		return f.in("configuration")
	}
	if f := checkMessage(&s.Message); f != nil {
		return f.in("message")
	}
	if d == OLD && s.Message.TaskID == "" {
		return invalid("id", "must not be empty")
	}
	if d == OLD && len(s.Message.TaskID) > maxID { // the client made it, and sees it in every frame
		return invalid("id", fmt.Sprintf("must not be longer than %d bytes", maxID))
	}
	return checkMetadata(s.Metadata)
}

// checkLength refuses a negative history length; before v1.0 it means that the caller has no wish.
func checkLength(d Dialect, n **int) *fault {
	switch {
	case *n == nil || **n >= 0:
	case d == NEW:
		return invalid("historyLength", "must not be negative")
	case d == OLD:
		*n = new(int)
	default:
		*n = nil
	}
	return nil
}

// checkReply checks the limits of what an agent sent, and lets it be the agent who speaks where that was not said.
func checkReply(v any) *fault {
	switch v := v.(type) {
	case *a2a.Task:
		return checkTask(v)
	case *a2a.Message:
		return checkAnswer(v).in("message")
	case *a2a.StatusUpdate:
		if f := checkStatus(&v.Status); f != nil {
			return f
		}
		return checkMetadata(v.Metadata)
	case *a2a.ArtifactUpdate:
		if f := checkArtifact(&v.Artifact); f != nil {
			return f.in("artifact")
		}
		return checkMetadata(v.Metadata)
	case *a2a.TaskPage:
		for i := range v.Tasks {
			if f := checkTask(&v.Tasks[i]); f != nil {
				return f.at("tasks", i)
			}
		}
	}
	return nil
}

func checkTask(t *a2a.Task) *fault {
	if t.ID == "" {
		return invalid("id", "must not be empty")
	}
	if f := checkStatus(&t.Status); f != nil {
		return f
	}
	for i := range t.Artifacts {
		if f := checkArtifact(&t.Artifacts[i]); f != nil {
			return f.at("artifacts", i)
		}
	}
	for i := range t.History {
		if f := checkAnswer(&t.History[i]); f != nil {
			return f.at("history", i)
		}
	}
	return checkMetadata(t.Metadata)
}

func checkStatus(s *a2a.TaskStatus) *fault {
	if s.Message == nil {
		return nil
	}
	return checkAnswer(s.Message).in("message").in("status")
}

func checkAnswer(m *a2a.Message) *fault {
	if m.Role == "" {
		m.Role = a2a.RoleAgent
	}
	return checkMessage(m)
}

func checkMessage(m *a2a.Message) *fault {
	if len(m.Parts) > a2a.Limits.Parts {
		return invalid("parts", fmt.Sprintf("must not be more than %d", a2a.Limits.Parts))
	}
	if f := checkParts(m.Parts); f != nil {
		return f
	}
	return checkMetadata(m.Metadata)
}

// checkArtifact does not count the parts: an artifact may have grown by any number of pieces.
func checkArtifact(a *a2a.Artifact) *fault {
	if f := checkParts(a.Parts); f != nil {
		return f
	}
	return checkMetadata(a.Metadata)
}

func checkParts(parts []a2a.Part) *fault {
	for i := range parts {
		p := &parts[i]
		switch {
		case len(p.Text) > a2a.Limits.TextPart:
			return tooLarge("text", a2a.Limits.TextPart).at("parts", i)
		case len(p.Raw) > a2a.Limits.InlineFile:
			return tooLarge("raw", a2a.Limits.InlineFile).at("parts", i)
		}
		if f := checkMetadata(p.Metadata); f != nil {
			return f.at("parts", i)
		}
	}
	return nil
}

func checkMetadata(m a2a.Metadata) *fault {
	if len(m) == 0 {
		return nil
	}
	if len(m) > a2a.Limits.Metadata {
		return tooLarge("metadata", a2a.Limits.Metadata)
	}
	n := 0
	r := jsontext.NewReader(m)
	for r.Object(); r.MemberOrNull(); n++ {
		r.Skip()
	}
	if n > a2a.Limits.MetadataKeys {
		return invalid("metadata", fmt.Sprintf("must not have more than %d members", a2a.Limits.MetadataKeys))
	}
	return nil
}
