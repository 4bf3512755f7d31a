package pb

import (
	"encoding/base64"
	"slices"
	"strings"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
	"parley/a2a/wire"
)

// Writing a2a.v1.

// taskName, configName and the prefixes are the resource names of AIP-122; our own ids hold neither / nor :.
func taskName(id string) string { return taskPrefix + str(id) }

func configName(task, id string) string { return taskName(task) + configInfix + str(id) }

const (
	taskPrefix  = "tasks/"
	configInfix = "/pushNotificationConfigs/"
)

// taskOf reads the name of a task; a bare id is one, too.
func taskOf(name string) string { return strings.TrimPrefix(name, taskPrefix) }

// configOf reads the name of a push configuration. Without one, name is that of a task alone.
func configOf(name string) (task, id string) {
	if i := strings.LastIndex(name, configInfix); i >= 0 {
		return taskOf(name[:i]), name[i+len(configInfix):]
	}
	return taskOf(name), ""
}

func v03Request(op wire.Op, params any) proto.Message {
	switch p := params.(type) {
	case *a2a.SendRequest:
		m := v03Message(&p.Message)
		if p.Message.Role == "" {
			m.Role = v03.Role_ROLE_USER
		}
		return &v03.SendMessageRequest{Request: m, Configuration: v03Configuration(&p.Configuration), Metadata: object(p.Metadata)}
	case *a2a.GetRequest:
		return &v03.GetTaskRequest{Name: taskName(p.ID), HistoryLength: unlimited(p.HistoryLength)}
	case *a2a.CancelRequest:
		return &v03.CancelTaskRequest{Name: taskName(p.ID)}
	case *a2a.SubscribeRequest:
		return &v03.TaskSubscriptionRequest{Name: taskName(p.ID)}
	case *a2a.PushConfig:
		return &v03.CreateTaskPushNotificationConfigRequest{Parent: taskName(p.TaskID), ConfigId: str(p.ID), Config: v03TaskPush(p)}
	case *a2a.PushGetRequest:
		return &v03.GetTaskPushNotificationConfigRequest{Name: pushName(p.TaskID, p.ID)}
	case *a2a.PushListRequest:
		return &v03.ListTaskPushNotificationConfigRequest{Parent: taskName(p.TaskID), PageSize: length(p.PageSize), PageToken: str(p.PageToken)}
	case *a2a.PushDeleteRequest:
		return &v03.DeleteTaskPushNotificationConfigRequest{Name: pushName(p.TaskID, p.ID)}
	}
	if op == wire.OpExtendedCard {
		return &v03.GetAgentCardRequest{}
	}
	return nil
}

// pushName is the name of a configuration, of the task alone where no id is given.
func pushName(task, id string) string {
	if id == "" {
		return taskName(task)
	}
	return configName(task, id)
}

// unlimited writes a history length; 0 means all of it, so that none must be asked for as all.
func unlimited(n *int) int32 {
	if n == nil {
		return 0
	}
	return length(*n)
}

// v03Configuration always says whether to wait: unset cannot be told from false.
func v03Configuration(c *a2a.SendConfiguration) *v03.SendMessageConfiguration {
	out := &v03.SendMessageConfiguration{
		AcceptedOutputModes: strs(c.AcceptedOutputModes), HistoryLength: unlimited(c.HistoryLength), Blocking: !c.ReturnImmediately,
	}
	if c.Push != nil {
		out.PushNotification = v03Push(c.Push)
	}
	return out
}

func v03Push(p *a2a.PushConfig) *v03.PushNotificationConfig {
	out := &v03.PushNotificationConfig{Id: str(p.ID), Url: str(p.URL), Token: str(p.Token)}
	if a := p.Authentication; a != nil {
		out.Authentication = &v03.AuthenticationInfo{Schemes: strs(slices.Concat([]string{a.Scheme}, a.MoreSchemes)), Credentials: str(a.Credentials)}
	}
	return out
}

func v03TaskPush(p *a2a.PushConfig) *v03.TaskPushNotificationConfig {
	return &v03.TaskPushNotificationConfig{Name: pushName(p.TaskID, p.ID), PushNotificationConfig: v03Push(p)}
}

func v03Reply(op wire.Op, result any) (proto.Message, error) {
	switch v := result.(type) {
	case *a2a.Task:
		switch op {
		case wire.OpSend:
			return &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Task{Task: v03Task(v)}}, nil
		case wire.OpStream, wire.OpSubscribe:
			return v03Event(v), nil
		}
		return v03Task(v), nil
	case *a2a.Message:
		if op == wire.OpSend {
			return &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Msg{Msg: v03Message(v)}}, nil
		}
		return v03Event(v), nil
	case *a2a.StatusUpdate:
		return v03Event(v), nil
	case *a2a.ArtifactUpdate:
		return v03Event(v), nil
	case *a2a.PushConfig:
		return v03TaskPush(v), nil
	case *a2a.PushConfigPage:
		out := &v03.ListTaskPushNotificationConfigResponse{NextPageToken: str(v.NextPageToken)}
		for i := range v.Configs {
			out.Configs = append(out.Configs, v03TaskPush(&v.Configs[i]))
		}
		return out, nil
	case *a2a.AgentCard:
		return v03Card(v)
	}
	return nil, a2a.Errorf(a2a.KindInternal, "there is no message for %T", result)
}

func v03Event(e a2a.Event) *v03.StreamResponse {
	switch e := e.(type) {
	case *a2a.Task:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_Task{Task: v03Task(e)}}
	case *a2a.Message:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_Msg{Msg: v03Message(e)}}
	case *a2a.StatusUpdate:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_StatusUpdate{StatusUpdate: &v03.TaskStatusUpdateEvent{
			TaskId: str(e.TaskID), ContextId: str(e.ContextID), Status: v03Status(&e.Status), Metadata: object(e.Metadata),
			// While sign-in is awaited the stream stays open: that is not the end.
			Final: e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired,
		}}}
	case *a2a.ArtifactUpdate:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_ArtifactUpdate{ArtifactUpdate: &v03.TaskArtifactUpdateEvent{
			TaskId: str(e.TaskID), ContextId: str(e.ContextID), Artifact: v03Artifact(&e.Artifact),
			Append: e.Append, LastChunk: e.LastChunk, Metadata: object(e.Metadata),
		}}}
	}
	return &v03.StreamResponse{}
}

func v03Task(t *a2a.Task) *v03.Task {
	out := &v03.Task{Id: str(t.ID), ContextId: str(t.ContextID), Status: v03Status(&t.Status), Metadata: object(t.Metadata)}
	if len(t.Artifacts) > 0 {
		out.Artifacts = make([]*v03.Artifact, len(t.Artifacts))
		for i := range t.Artifacts {
			out.Artifacts[i] = v03Artifact(&t.Artifacts[i])
		}
	}
	if len(t.History) > 0 {
		out.History = make([]*v03.Message, len(t.History))
		for i := range t.History {
			out.History[i] = v03Message(&t.History[i])
		}
	}
	return out
}

// v03Status writes a state. One that is unknown counts as active.
func v03Status(s *a2a.TaskStatus) *v03.TaskStatus {
	out := &v03.TaskStatus{State: v03.TaskState(stateNumber(s.State)), Timestamp: stamp(s.Timestamp)}
	if out.State == v03.TaskState_TASK_STATE_UNSPECIFIED {
		out.State = v03.TaskState_TASK_STATE_WORKING
	}
	if s.Message != nil {
		out.Update = v03Message(s.Message)
	}
	return out
}

func v03Artifact(a *a2a.Artifact) *v03.Artifact {
	return &v03.Artifact{
		ArtifactId: str(a.ID), Name: str(a.Name), Description: str(a.Description), Parts: v03Parts(a.Parts),
		Metadata: object(a.Metadata), Extensions: strs(a.Extensions),
	}
}

func v03Message(m *a2a.Message) *v03.Message {
	return &v03.Message{
		MessageId: str(m.ID), ContextId: str(m.ContextID), TaskId: str(m.TaskID), Role: v03.Role(roleNumber(m.Role)), Parts: v03Parts(m.Parts),
		Metadata: object(m.Metadata), Extensions: strs(m.Extensions), ReferenceTaskIds: strs(m.ReferenceTaskIDs),
	}
}

func v03Parts(parts []a2a.Part) []*v03.Part {
	if len(parts) == 0 {
		return nil
	}
	out := make([]*v03.Part, len(parts))
	for i := range parts {
		out[i] = v03Part(&parts[i])
	}
	return out
}

// dataCompat marks a data part whose value is no object and was put into one.
const dataCompat = "data_part_compat"

// v03Part makes a part. The bytes of a file are base64 text, as those who read v0.3 expect.
func v03Part(p *a2a.Part) *v03.Part {
	meta := p.Metadata
	switch p.Kind {
	case a2a.PartRaw:
		return &v03.Part{Metadata: object(meta), Part: &v03.Part_File{File: &v03.FilePart{
			File: &v03.FilePart_FileWithBytes{FileWithBytes: base64.StdEncoding.AppendEncode(nil, p.Raw)}, MimeType: str(p.MediaType), Name: str(p.Filename),
		}}}
	case a2a.PartURL:
		return &v03.Part{Metadata: object(meta), Part: &v03.Part_File{File: &v03.FilePart{
			File: &v03.FilePart_FileWithUri{FileWithUri: str(p.URL)}, MimeType: str(p.MediaType), Name: str(p.Filename),
		}}}
	}
	out := &v03.Part{}
	switch p.Kind {
	case a2a.PartData:
		data := value(p.Data)
		if jsontext.IsObject(p.Data) {
			out.Part = &v03.Part_Data{Data: &v03.DataPart{Data: data.GetStructValue()}}
		} else {
			out.Part = &v03.Part_Data{Data: &v03.DataPart{Data: wrapped(data)}}
			meta = jsontext.WithTrue(meta, dataCompat)
		}
	case a2a.PartNoContent:
		out.Part = &v03.Part_Text{Text: str(p.Filename)}
		meta = jsontext.WithTrue(meta, a2a.NoContentKey)
	default:
		out.Part = &v03.Part_Text{Text: str(p.Text)}
	}
	// Only files have a name and a type of their own.
	if p.Filename != "" {
		meta = jsontext.With(meta, "filename", jsontext.AppendString(nil, p.Filename))
	}
	if p.MediaType != "" {
		meta = jsontext.With(meta, "mediaType", jsontext.AppendString(nil, p.MediaType))
	}
	out.Metadata = object(meta)
	return out
}
