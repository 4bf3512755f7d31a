package pb

import (
	"fmt"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
	"parley/a2a/wire"
)

// Reading lf.a2a.v1.

// newCall reads a request into the field of c that belongs to its operation.
func (r *reader) newCall(c *wire.Call, msg proto.Message) {
	switch m := msg.(type) {
	case *lf.SendMessageRequest:
		c.Send = &a2a.SendRequest{
			Tenant: m.GetTenant(), Message: r.newMessage("message", m.GetMessage()), Metadata: r.metadata("metadata", m.GetMetadata()),
		}
		if g := m.GetConfiguration(); g != nil {
			c.Send.Configuration = a2a.SendConfiguration{
				AcceptedOutputModes: g.GetAcceptedOutputModes(), HistoryLength: present(g.HistoryLength), ReturnImmediately: g.GetReturnImmediately(),
			}
			if p := g.GetTaskPushNotificationConfig(); p != nil {
				c.Send.Configuration.Push = r.newPush(p)
			}
		}
		if c.Send.Message.Role == "" {
			c.Send.Message.Role = a2a.RoleUser
		}
	case *lf.GetTaskRequest:
		c.Get = &a2a.GetRequest{Tenant: m.GetTenant(), ID: m.GetId()}
		if m != nil {
			c.Get.HistoryLength = present(m.HistoryLength)
		}
	case *lf.ListTasksRequest:
		c.List = r.newList(m)
	case *lf.CancelTaskRequest:
		c.Cancel = &a2a.CancelRequest{Tenant: m.GetTenant(), ID: m.GetId(), Metadata: r.metadata("metadata", m.GetMetadata())}
	case *lf.SubscribeToTaskRequest:
		c.Subscribe = &a2a.SubscribeRequest{Tenant: m.GetTenant(), ID: m.GetId()}
	case *lf.TaskPushNotificationConfig:
		c.Push = r.newPush(m)
	case *lf.GetTaskPushNotificationConfigRequest:
		c.PushGet = &a2a.PushGetRequest{Tenant: m.GetTenant(), TaskID: m.GetTaskId(), ID: m.GetId()}
	case *lf.ListTaskPushNotificationConfigsRequest:
		c.PushList = &a2a.PushListRequest{
			Tenant: m.GetTenant(), TaskID: m.GetTaskId(), PageSize: int(m.GetPageSize()), PageToken: m.GetPageToken(),
		}
	case *lf.DeleteTaskPushNotificationConfigRequest:
		c.PushDelete = &a2a.PushDeleteRequest{Tenant: m.GetTenant(), TaskID: m.GetTaskId(), ID: m.GetId()}
	case *lf.GetExtendedAgentCardRequest:
		c.Card = &a2a.ExtendedCardRequest{Tenant: m.GetTenant()}
	}
}

func present(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func (r *reader) newList(m *lf.ListTasksRequest) *a2a.ListRequest {
	l := &a2a.ListRequest{
		Tenant: m.GetTenant(), ContextID: m.GetContextId(), Status: state(m.GetStatus()), PageToken: m.GetPageToken(),
		StatusTimestampAfter: moment(m.GetStatusTimestampAfter()), IncludeArtifacts: m.GetIncludeArtifacts(),
	}
	if m == nil {
		return l
	}
	l.HistoryLength = present(m.HistoryLength)
	if m.GetStatus() != 0 && l.Status == a2a.TaskStateUnspecified {
		r.fail("status", "is not a task state")
	}
	if m.StatusTimestampAfter != nil && l.StatusTimestampAfter.IsZero() {
		r.fail("statusTimestampAfter", "must be a time")
	}
	if m.PageSize != nil {
		if l.PageSize = int(*m.PageSize); l.PageSize < 1 || l.PageSize > a2a.Limits.PageSize {
			r.fail("pageSize", fmt.Sprintf("must be from 1 to %d", a2a.Limits.PageSize))
		}
	}
	return l
}

func (r *reader) newPush(m *lf.TaskPushNotificationConfig) *a2a.PushConfig {
	p := &a2a.PushConfig{Tenant: m.GetTenant(), ID: m.GetId(), TaskID: m.GetTaskId(), URL: m.GetUrl(), Token: m.GetToken()}
	if a := m.GetAuthentication(); a != nil {
		p.Authentication = &a2a.PushAuthentication{Scheme: a.GetScheme(), Credentials: a.GetCredentials()}
	}
	return p
}

// newResult reads a reply; nil for a message that is none.
func (r *reader) newResult(msg proto.Message) any {
	switch m := msg.(type) {
	case *lf.SendMessageResponse:
		switch p := m.GetPayload().(type) {
		case *lf.SendMessageResponse_Task:
			return r.newTask(p.Task)
		case *lf.SendMessageResponse_Message:
			v := r.newMessage("message", p.Message)
			return &v
		}
	case *lf.StreamResponse:
		if e := r.newEvent(m); e != nil {
			return e
		}
	case *lf.Task:
		return r.newTask(m)
	case *lf.ListTasksResponse:
		p := &a2a.TaskPage{NextPageToken: m.GetNextPageToken(), PageSize: int(m.GetPageSize()), TotalSize: int(m.GetTotalSize())}
		p.Tasks = each(m.GetTasks(), func(t *lf.Task) a2a.Task { return *r.newTask(t) })
		return p
	case *lf.TaskPushNotificationConfig:
		return r.newPush(m)
	case *lf.ListTaskPushNotificationConfigsResponse:
		p := &a2a.PushConfigPage{NextPageToken: m.GetNextPageToken()}
		p.Configs = each(m.GetConfigs(), func(c *lf.TaskPushNotificationConfig) a2a.PushConfig { return *r.newPush(c) })
		return p
	}
	return nil
}

func (r *reader) newEvent(m *lf.StreamResponse) a2a.Event {
	switch p := m.GetPayload().(type) {
	case *lf.StreamResponse_Task:
		return r.newTask(p.Task)
	case *lf.StreamResponse_Message:
		v := r.newMessage("message", p.Message)
		return &v
	case *lf.StreamResponse_StatusUpdate:
		u := p.StatusUpdate
		return &a2a.StatusUpdate{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(), Status: r.newStatus(u.GetStatus()), Metadata: r.metadata("metadata", u.GetMetadata()),
		}
	case *lf.StreamResponse_ArtifactUpdate:
		u := p.ArtifactUpdate
		return &a2a.ArtifactUpdate{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(), Artifact: r.newArtifact(u.GetArtifact()),
			Append: u.GetAppend(), LastChunk: u.GetLastChunk(), Metadata: r.metadata("metadata", u.GetMetadata()),
		}
	}
	return nil
}

func (r *reader) newTask(t *lf.Task) *a2a.Task {
	return &a2a.Task{
		ID: t.GetId(), ContextID: t.GetContextId(), Status: r.newStatus(t.GetStatus()),
		Artifacts: each(t.GetArtifacts(), r.newArtifact),
		History:   each(t.GetHistory(), func(m *lf.Message) a2a.Message { return r.newMessage("history", m) }),
		Metadata:  r.metadata("metadata", t.GetMetadata()),
	}
}

func (r *reader) newStatus(s *lf.TaskStatus) a2a.TaskStatus {
	out := a2a.TaskStatus{State: state(s.GetState()), Timestamp: moment(s.GetTimestamp())}
	if m := s.GetMessage(); m != nil {
		v := r.newMessage("status.message", m)
		out.Message = &v
	}
	return out
}

func (r *reader) newArtifact(a *lf.Artifact) a2a.Artifact {
	return a2a.Artifact{
		ID: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(), Parts: each(a.GetParts(), r.newPart),
		Metadata: r.metadata("artifact.metadata", a.GetMetadata()), Extensions: a.GetExtensions(),
	}
}

func (r *reader) newMessage(field string, m *lf.Message) a2a.Message {
	return a2a.Message{
		ID: m.GetMessageId(), ContextID: m.GetContextId(), TaskID: m.GetTaskId(), Role: role(m.GetRole()), Parts: each(m.GetParts(), r.newPart),
		Metadata: r.metadata(field+".metadata", m.GetMetadata()), Extensions: m.GetExtensions(), ReferenceTaskIDs: m.GetReferenceTaskIds(),
	}
}

// newPart reads a part. A name alone is a file that was not sent.
func (r *reader) newPart(m *lf.Part) a2a.Part {
	p := a2a.Part{Filename: m.GetFilename(), MediaType: m.GetMediaType(), Metadata: r.metadata("parts.metadata", m.GetMetadata())}
	switch c := m.GetContent().(type) {
	case *lf.Part_Text:
		p.Text = c.Text
		readNoContent(&p)
	case *lf.Part_Raw:
		p.Kind, p.Raw = a2a.PartRaw, c.Raw
	case *lf.Part_Url:
		p.Kind, p.URL = a2a.PartURL, c.Url
	case *lf.Part_Data:
		p.Kind, p.Data = a2a.PartData, r.json("parts.data", c.Data)
	default:
		if p.Filename == "" {
			r.fail("parts", "must hold text, data, raw or url")
		}
		p.Kind = a2a.PartNoContent
	}
	return p
}

// readNoContent turns a marked text part back into what it stands for.
func readNoContent(p *a2a.Part) {
	if p.Metadata == nil {
		return
	}
	if rest, ok := jsontext.CutTrue(p.Metadata, a2a.NoContentKey); ok {
		p.Kind, p.Text, p.Metadata = a2a.PartNoContent, "", rest
	}
}
