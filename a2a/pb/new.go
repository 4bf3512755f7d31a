package pb

import (
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
	"parley/a2a/wire"
)

// Writing lf.a2a.v1. The messages share byte slices with what they were made of.

func newRequest(op wire.Op, params any) proto.Message {
	switch p := params.(type) {
	case *a2a.SendRequest:
		m := newMessage(&p.Message)
		if p.Message.Role == "" {
			m.Role = lf.Role_ROLE_USER
		}
		return &lf.SendMessageRequest{
			Tenant: str(p.Tenant), Message: m, Configuration: newConfiguration(&p.Configuration), Metadata: object(p.Metadata),
		}
	case *a2a.GetRequest:
		return &lf.GetTaskRequest{Tenant: str(p.Tenant), Id: str(p.ID), HistoryLength: optional(p.HistoryLength)}
	case *a2a.ListRequest:
		out := &lf.ListTasksRequest{
			Tenant: str(p.Tenant), ContextId: str(p.ContextID), Status: lf.TaskState(stateNumber(p.Status)), PageToken: str(p.PageToken),
			HistoryLength: optional(p.HistoryLength), StatusTimestampAfter: stamp(p.StatusTimestampAfter),
		}
		if p.PageSize != 0 {
			out.PageSize = optional(&p.PageSize)
		}
		if p.IncludeArtifacts {
			out.IncludeArtifacts = proto.Bool(true)
		}
		return out
	case *a2a.CancelRequest:
		return &lf.CancelTaskRequest{Tenant: str(p.Tenant), Id: str(p.ID), Metadata: object(p.Metadata)}
	case *a2a.SubscribeRequest:
		return &lf.SubscribeToTaskRequest{Tenant: str(p.Tenant), Id: str(p.ID)}
	case *a2a.PushConfig:
		return newPush(p)
	case *a2a.PushGetRequest:
		return &lf.GetTaskPushNotificationConfigRequest{Tenant: str(p.Tenant), TaskId: str(p.TaskID), Id: str(p.ID)}
	case *a2a.PushListRequest:
		return &lf.ListTaskPushNotificationConfigsRequest{
			Tenant: str(p.Tenant), TaskId: str(p.TaskID), PageSize: length(p.PageSize), PageToken: str(p.PageToken),
		}
	case *a2a.PushDeleteRequest:
		return &lf.DeleteTaskPushNotificationConfigRequest{Tenant: str(p.Tenant), TaskId: str(p.TaskID), Id: str(p.ID)}
	case *a2a.ExtendedCardRequest:
		return &lf.GetExtendedAgentCardRequest{Tenant: str(p.Tenant)}
	}
	if op == wire.OpExtendedCard {
		return &lf.GetExtendedAgentCardRequest{}
	}
	return nil
}

func optional(n *int) *int32 {
	if n == nil {
		return nil
	}
	l := length(*n)
	return &l
}

func newConfiguration(c *a2a.SendConfiguration) *lf.SendMessageConfiguration {
	if len(c.AcceptedOutputModes) == 0 && c.Push == nil && c.HistoryLength == nil && !c.ReturnImmediately {
		return nil
	}
	out := &lf.SendMessageConfiguration{
		AcceptedOutputModes: strs(c.AcceptedOutputModes), HistoryLength: optional(c.HistoryLength), ReturnImmediately: c.ReturnImmediately,
	}
	if c.Push != nil {
		out.TaskPushNotificationConfig = newPush(c.Push)
		out.TaskPushNotificationConfig.TaskId = "" // the request's own
	}
	return out
}

func newPush(p *a2a.PushConfig) *lf.TaskPushNotificationConfig {
	out := &lf.TaskPushNotificationConfig{
		Tenant: str(p.Tenant), Id: str(p.ID), TaskId: str(p.TaskID), Url: str(p.URL), Token: str(p.Token),
	}
	if a := p.Authentication; a != nil {
		out.Authentication = &lf.AuthenticationInfo{Scheme: str(a.Scheme), Credentials: str(a.Credentials)}
	}
	return out
}

func newReply(op wire.Op, result any) (proto.Message, error) {
	switch v := result.(type) {
	case *a2a.Task:
		switch op {
		case wire.OpSend:
			return &lf.SendMessageResponse{Payload: &lf.SendMessageResponse_Task{Task: newTask(v)}}, nil
		case wire.OpStream, wire.OpSubscribe:
			return newEvent(v), nil
		}
		return newTask(v), nil
	case *a2a.Message:
		if op == wire.OpSend {
			return &lf.SendMessageResponse{Payload: &lf.SendMessageResponse_Message{Message: newMessage(v)}}, nil
		}
		return newEvent(v), nil
	case *a2a.StatusUpdate:
		return newEvent(v), nil
	case *a2a.ArtifactUpdate:
		return newEvent(v), nil
	case *a2a.TaskPage:
		out := &lf.ListTasksResponse{NextPageToken: str(v.NextPageToken), PageSize: length(v.PageSize), TotalSize: length(v.TotalSize)}
		for i := range v.Tasks {
			out.Tasks = append(out.Tasks, newTask(&v.Tasks[i]))
		}
		return out, nil
	case *a2a.PushConfig:
		return newPush(v), nil
	case *a2a.PushConfigPage:
		out := &lf.ListTaskPushNotificationConfigsResponse{NextPageToken: str(v.NextPageToken)}
		for i := range v.Configs {
			out.Configs = append(out.Configs, newPush(&v.Configs[i]))
		}
		return out, nil
	case *a2a.AgentCard:
		return newCard(v)
	}
	return nil, a2a.Errorf(a2a.KindInternal, "there is no message for %T", result)
}

func newEvent(e a2a.Event) *lf.StreamResponse {
	switch e := e.(type) {
	case *a2a.Task:
		return &lf.StreamResponse{Payload: &lf.StreamResponse_Task{Task: newTask(e)}}
	case *a2a.Message:
		return &lf.StreamResponse{Payload: &lf.StreamResponse_Message{Message: newMessage(e)}}
	case *a2a.StatusUpdate:
		return &lf.StreamResponse{Payload: &lf.StreamResponse_StatusUpdate{StatusUpdate: &lf.TaskStatusUpdateEvent{
			TaskId: str(e.TaskID), ContextId: str(e.ContextID), Status: newStatus(&e.Status), Metadata: object(e.Metadata),
		}}}
	case *a2a.ArtifactUpdate:
		return &lf.StreamResponse{Payload: &lf.StreamResponse_ArtifactUpdate{ArtifactUpdate: &lf.TaskArtifactUpdateEvent{
			TaskId: str(e.TaskID), ContextId: str(e.ContextID), Artifact: newArtifact(&e.Artifact),
			Append: e.Append, LastChunk: e.LastChunk, Metadata: object(e.Metadata),
		}}}
	}
	return &lf.StreamResponse{}
}

func newTask(t *a2a.Task) *lf.Task {
	out := &lf.Task{Id: str(t.ID), ContextId: str(t.ContextID), Status: newStatus(&t.Status), Metadata: object(t.Metadata)}
	if len(t.Artifacts) > 0 {
		out.Artifacts = make([]*lf.Artifact, len(t.Artifacts))
		for i := range t.Artifacts {
			out.Artifacts[i] = newArtifact(&t.Artifacts[i])
		}
	}
	if len(t.History) > 0 {
		out.History = make([]*lf.Message, len(t.History))
		for i := range t.History {
			out.History[i] = newMessage(&t.History[i])
		}
	}
	return out
}

func newStatus(s *a2a.TaskStatus) *lf.TaskStatus {
	out := &lf.TaskStatus{State: lf.TaskState(stateNumber(s.State)), Timestamp: stamp(s.Timestamp)}
	if s.Message != nil {
		out.Message = newMessage(s.Message)
	}
	return out
}

func newArtifact(a *a2a.Artifact) *lf.Artifact {
	return &lf.Artifact{
		ArtifactId: str(a.ID), Name: str(a.Name), Description: str(a.Description), Parts: newParts(a.Parts),
		Metadata: object(a.Metadata), Extensions: strs(a.Extensions),
	}
}

func newMessage(m *a2a.Message) *lf.Message {
	return &lf.Message{
		MessageId: str(m.ID), ContextId: str(m.ContextID), TaskId: str(m.TaskID), Role: lf.Role(roleNumber(m.Role)), Parts: newParts(m.Parts),
		Metadata: object(m.Metadata), Extensions: strs(m.Extensions), ReferenceTaskIds: strs(m.ReferenceTaskIDs),
	}
}

func newParts(parts []a2a.Part) []*lf.Part {
	if len(parts) == 0 {
		return nil
	}
	out := make([]*lf.Part, len(parts))
	for i := range parts {
		out[i] = newPart(&parts[i])
	}
	return out
}

// newPart makes a part. One without content is a text part with the name of the file, as in JSON.
func newPart(p *a2a.Part) *lf.Part {
	out := &lf.Part{Filename: str(p.Filename), MediaType: str(p.MediaType)}
	meta := p.Metadata
	switch p.Kind {
	case a2a.PartRaw:
		out.Content = &lf.Part_Raw{Raw: p.Raw}
	case a2a.PartURL:
		out.Content = &lf.Part_Url{Url: str(p.URL)}
	case a2a.PartData:
		out.Content = &lf.Part_Data{Data: value(p.Data)}
	case a2a.PartNoContent:
		out.Content = &lf.Part_Text{Text: str(p.Filename)}
		meta = jsontext.WithTrue(meta, a2a.NoContentKey)
	default:
		out.Content = &lf.Part_Text{Text: str(p.Text)}
	}
	out.Metadata = object(meta)
	return out
}
