package pb

import (
	v03 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
	"parley/a2a/wire"
)

// Reading a2a.v1.

// v03Call reads a request into the field of c that belongs to its operation.
func (r *reader) v03Call(c *wire.Call, msg proto.Message) {
	switch m := msg.(type) {
	case *v03.SendMessageRequest:
		c.Send = &a2a.SendRequest{Message: r.v03Message("message", m.GetRequest()), Metadata: r.metadata("metadata", m.GetMetadata())}
		if g := m.GetConfiguration(); g != nil {
			c.Send.Configuration = a2a.SendConfiguration{AcceptedOutputModes: g.GetAcceptedOutputModes(), HistoryLength: limited(g.GetHistoryLength())}
			// That nobody waits cannot be told from nothing said: as over HTTP+JSON, who wants to wait says so.
			c.Send.Configuration.ReturnImmediately = !g.GetBlocking()
			if p := g.GetPushNotification(); p != nil {
				c.Send.Configuration.Push = r.v03Push(p)
			}
		}
		if c.Send.Message.Role == "" {
			c.Send.Message.Role = a2a.RoleUser
		}
	case *v03.GetTaskRequest:
		c.Get = &a2a.GetRequest{ID: taskOf(m.GetName()), HistoryLength: limited(m.GetHistoryLength())}
	case *v03.CancelTaskRequest:
		c.Cancel = &a2a.CancelRequest{ID: taskOf(m.GetName())}
	case *v03.TaskSubscriptionRequest:
		c.Subscribe = &a2a.SubscribeRequest{ID: taskOf(m.GetName())}
	case *v03.CreateTaskPushNotificationConfigRequest:
		c.Push = r.v03TaskPush(m.GetConfig())
		if m.GetParent() != "" {
			c.Push.TaskID = taskOf(m.GetParent())
		}
		if m.GetConfigId() != "" {
			c.Push.ID = m.GetConfigId()
		}
	case *v03.GetTaskPushNotificationConfigRequest:
		task, id := configOf(m.GetName())
		c.PushGet = &a2a.PushGetRequest{TaskID: task, ID: id}
	case *v03.ListTaskPushNotificationConfigRequest:
		task, _ := configOf(m.GetParent())
		c.PushList = &a2a.PushListRequest{TaskID: task, PageSize: int(max(0, m.GetPageSize())), PageToken: m.GetPageToken()}
	case *v03.DeleteTaskPushNotificationConfigRequest:
		task, id := configOf(m.GetName())
		c.PushDelete = &a2a.PushDeleteRequest{TaskID: task, ID: id}
	case *v03.GetAgentCardRequest:
		c.Card = &a2a.ExtendedCardRequest{}
	}
}

// limited reads a history length: 0, or less, is no limit.
func limited(n int32) *int {
	if n <= 0 {
		return nil
	}
	return present(&n)
}

func (r *reader) v03Push(m *v03.PushNotificationConfig) *a2a.PushConfig {
	p := &a2a.PushConfig{ID: m.GetId(), URL: m.GetUrl(), Token: m.GetToken()}
	if a := m.GetAuthentication(); a != nil {
		p.Authentication = &a2a.PushAuthentication{Credentials: a.GetCredentials()}
		if all := a.GetSchemes(); len(all) > 0 {
			p.Authentication.Scheme = all[0]
			if len(all) > 1 {
				p.Authentication.MoreSchemes = all[1:]
			}
		}
	}
	return p
}

func (r *reader) v03TaskPush(m *v03.TaskPushNotificationConfig) *a2a.PushConfig {
	p := r.v03Push(m.GetPushNotificationConfig())
	task, id := configOf(m.GetName())
	if p.TaskID = task; p.ID == "" {
		p.ID = id
	}
	return p
}

// v03Result reads a reply; nil for a message that is none.
func (r *reader) v03Result(msg proto.Message) any {
	switch m := msg.(type) {
	case *v03.SendMessageResponse:
		switch p := m.GetPayload().(type) {
		case *v03.SendMessageResponse_Task:
			return r.v03Task(p.Task)
		case *v03.SendMessageResponse_Msg:
			v := r.v03Message("message", p.Msg)
			return &v
		}
	case *v03.StreamResponse:
		if e := r.v03Event(m); e != nil {
			return e
		}
	case *v03.Task:
		return r.v03Task(m)
	case *v03.TaskPushNotificationConfig:
		return r.v03TaskPush(m)
	case *v03.ListTaskPushNotificationConfigResponse:
		p := &a2a.PushConfigPage{NextPageToken: m.GetNextPageToken()}
		p.Configs = each(m.GetConfigs(), func(c *v03.TaskPushNotificationConfig) a2a.PushConfig { return *r.v03TaskPush(c) })
		return p
	}
	return nil
}

func (r *reader) v03Event(m *v03.StreamResponse) a2a.Event {
	switch p := m.GetPayload().(type) {
	case *v03.StreamResponse_Task:
		return r.v03Task(p.Task)
	case *v03.StreamResponse_Msg:
		v := r.v03Message("message", p.Msg)
		return &v
	case *v03.StreamResponse_StatusUpdate:
		u := p.StatusUpdate
		return &a2a.StatusUpdate{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(), Status: r.v03Status(u.GetStatus()), Metadata: r.metadata("metadata", u.GetMetadata()),
		}
	case *v03.StreamResponse_ArtifactUpdate:
		u := p.ArtifactUpdate
		return &a2a.ArtifactUpdate{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(), Artifact: r.v03Artifact(u.GetArtifact()),
			Append: u.GetAppend(), LastChunk: u.GetLastChunk(), Metadata: r.metadata("metadata", u.GetMetadata()),
		}
	}
	return nil
}

func (r *reader) v03Task(t *v03.Task) *a2a.Task {
	return &a2a.Task{
		ID: t.GetId(), ContextID: t.GetContextId(), Status: r.v03Status(t.GetStatus()),
		Artifacts: each(t.GetArtifacts(), r.v03Artifact),
		History:   each(t.GetHistory(), func(m *v03.Message) a2a.Message { return r.v03Message("history", m) }),
		Metadata:  r.metadata("metadata", t.GetMetadata()),
	}
}

func (r *reader) v03Status(s *v03.TaskStatus) a2a.TaskStatus {
	out := a2a.TaskStatus{State: state(s.GetState()), Timestamp: moment(s.GetTimestamp())}
	if m := s.GetUpdate(); m != nil {
		v := r.v03Message("status.message", m)
		out.Message = &v
	}
	return out
}

func (r *reader) v03Artifact(a *v03.Artifact) a2a.Artifact {
	return a2a.Artifact{
		ID: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(), Parts: each(a.GetParts(), r.v03Part),
		Metadata: r.metadata("artifact.metadata", a.GetMetadata()), Extensions: a.GetExtensions(),
	}
}

func (r *reader) v03Message(field string, m *v03.Message) a2a.Message {
	return a2a.Message{
		ID: m.GetMessageId(), ContextID: m.GetContextId(), TaskID: m.GetTaskId(), Role: role(m.GetRole()), Parts: each(m.GetParts(), r.v03Part),
		Metadata: r.metadata(field+".metadata", m.GetMetadata()), Extensions: m.GetExtensions(), ReferenceTaskIDs: m.GetReferenceTaskIds(),
	}
}

// v03Part reads a part. A file with neither bytes nor an address was named and not sent.
func (r *reader) v03Part(m *v03.Part) a2a.Part {
	p := a2a.Part{Metadata: r.metadata("parts.metadata", m.GetMetadata())}
	switch c := m.GetPart().(type) {
	case *v03.Part_Text:
		p.Text = c.Text
		readNoContent(&p)
		readCarried(&p)
	case *v03.Part_File:
		p.MediaType, p.Filename = c.File.GetMimeType(), c.File.GetName()
		switch f := c.File.GetFile().(type) {
		case *v03.FilePart_FileWithBytes:
			p.Kind, p.Raw = a2a.PartRaw, wire.FileBytes(f.FileWithBytes, p.MediaType)
		case *v03.FilePart_FileWithUri:
			p.Kind, p.URL = a2a.PartURL, f.FileWithUri
		default:
			p.Kind = a2a.PartNoContent
		}
	case *v03.Part_Data:
		p.Kind = a2a.PartData
		data := structpb.NewStructValue(c.Data.GetData())
		if rest, ok := jsontext.CutTrue(p.Metadata, dataCompat); ok {
			if fields := c.Data.GetData().GetFields(); len(fields) == 1 && fields["value"] != nil {
				data, p.Metadata = fields["value"], rest
			}
		}
		p.Data = r.json("parts.data", data)
		readCarried(&p)
	default:
		r.fail("parts", "must hold text, file or data")
	}
	return p
}

// readCarried takes the file name and the media type of a text or data part from its metadata, where they travel.
func readCarried(p *a2a.Part) {
	if p.Metadata == nil {
		return
	}
	if rest, s, ok := jsontext.CutString(p.Metadata, "filename"); ok {
		p.Filename, p.Metadata = s, rest
	}
	if rest, s, ok := jsontext.CutString(p.Metadata, "mediaType"); ok {
		p.MediaType, p.Metadata = s, rest
	}
}

// wrapped puts a value that is no object into one.
func wrapped(v *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"value": v}}
}
