package wire

import (
	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

func (midFamily) readResult(r *jsontext.Reader, op Op) any {
	start := r.Offset()
	e := readMidEvent(r)
	if e == nil {
		return nil
	}
	switch e.(type) {
	case *a2a.Task:
		return e
	case *a2a.Message:
		if op == OpSend || op == OpStream || op == OpSubscribe {
			return e
		}
	default:
		if op == OpStream || op == OpSubscribe {
			return e
		}
	}
	r.Fail(start, "is not what was asked for")
	return nil
}

// readMidEvent reads a task, a message or an update. They are told apart by kind or, where that is missing, by what
// they hold; so all members are collected before it is known which of them count.
func readMidEvent(r *jsontext.Reader) a2a.Event {
	var (
		start                                   = r.Offset()
		kind                                    []byte
		id, taskID, contextID                   string
		status                                  a2a.TaskStatus
		artifact                                a2a.Artifact
		message                                 *a2a.Message
		artifacts                               []a2a.Artifact
		history                                 []a2a.Message
		metadata                                a2a.Metadata
		hasStatus, hasArtifact, appended, isEnd bool
	)
	msg := func() *a2a.Message {
		if message == nil {
			message = new(a2a.Message)
		}
		return message
	}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "kind":
			kind = r.Text()
		case "id":
			id = r.String()
		case "taskId":
			taskID = r.String()
		case "contextId":
			contextID = r.String()
		case "status":
			status.ReadJSON(r, readMidPart)
			hasStatus = true
		case "artifact":
			artifact.ReadJSON(r, readMidPart)
			hasArtifact = true
		case "artifacts":
			artifacts = a2a.ReadArtifacts(r, readMidPart)
		case "history":
			history = a2a.ReadMessages(r, readMidPart)
		case "metadata":
			metadata = r.RawObject()
		case "append":
			appended = r.Bool()
		case "lastChunk":
			isEnd = r.Bool()
		case "messageId":
			msg().ID = r.String()
		case "role":
			msg().Role = a2a.ReadRole(r)
		case "parts", "content":
			msg().Parts = a2a.ReadParts(r, readMidPart)
		case "extensions":
			msg().Extensions = r.Strings()
		case "referenceTaskIds":
			msg().ReferenceTaskIDs = r.Strings()
		default:
			r.Skip()
		}
	}
	if r.Err() != nil {
		return nil
	}
	switch kind := string(kind); {
	case kind == "task" || kind == "" && hasStatus && id != "":
		if id == "" {
			break
		}
		return &a2a.Task{ID: id, ContextID: contextID, Status: status, Artifacts: artifacts, History: history, Metadata: metadata}
	case kind == "status-update" || kind == "" && hasStatus && taskID != "":
		if !hasStatus {
			break
		}
		return &a2a.StatusUpdate{TaskID: taskID, ContextID: contextID, Status: status, Metadata: metadata}
	case kind == "artifact-update" || kind == "" && hasArtifact:
		if !hasArtifact {
			break
		}
		return &a2a.ArtifactUpdate{TaskID: taskID, ContextID: contextID, Artifact: artifact, Append: appended, LastChunk: isEnd, Metadata: metadata}
	case message != nil && (kind == "message" || kind == "" && message.Parts != nil):
		message.TaskID, message.ContextID, message.Metadata = taskID, contextID, metadata
		return message
	}
	r.Fail(start, "is no task, message, status update or artifact update")
	return nil
}

// readMidPart reads a part by its kind; early v0.2 wrote type, some write neither.
func readMidPart(p *a2a.Part, r *jsontext.Reader) {
	var (
		start                  = r.Offset()
		kind                   []byte
		text, file, data, null bool
		content                a2a.Part // of a file
	)
	*p = a2a.Part{}
	for r.Object(); r.MemberOrNull(); {
		if r.Null() {
			null = null || string(r.Name()) == "data"
			continue
		}
		switch string(r.Name()) {
		case "kind", "type":
			kind = r.Text()
		case "text":
			p.Text, text = r.String(), true
		case "data":
			p.Data, data = r.Raw(), true
		case "file":
			readMidFile(r, &content)
			file = true
		case "metadata":
			p.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
	if null && !data {
		p.Data, data = []byte("null"), true
	}
	switch kind := string(kind); {
	case text && (kind == "text" || kind == ""):
		p.Data = nil
		if rest, ok := jsontext.CutTrue(p.Metadata, a2a.NoContentKey); ok {
			p.Kind, p.Text, p.Metadata = a2a.PartNoContent, "", rest
		}
		readCarried(p)
	case file && (kind == "file" || kind == ""):
		content.Metadata = p.Metadata
		*p = content
	case data && (kind == "data" || kind == ""):
		p.Kind, p.Text = a2a.PartData, ""
		if rest, ok := jsontext.CutTrue(p.Metadata, dataCompat); ok {
			if value := jsontext.Sole(p.Data, "value"); value != nil {
				p.Data, p.Metadata = value, rest
			}
		}
		readCarried(p)
	default:
		r.Fail(start, "must be of kind text, file or data and hold what its kind says")
	}
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

// readMidFile reads a file. Bytes go before an address; with neither, the file was named and not sent.
func readMidFile(r *jsontext.Reader, p *a2a.Part) {
	*p = a2a.Part{Kind: a2a.PartNoContent}
	var bytes, data []byte
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "bytes", "fileWithBytes":
			bytes = r.Bytes()
		case "uri", "fileWithUri":
			p.URL = r.String()
		case "data": // an example of v0.1 says so
			if r.Peek() == '"' {
				data = r.Bytes()
			} else {
				r.Skip()
			}
		case "mimeType", "mediaType":
			p.MediaType = r.String()
		case "name", "filename":
			p.Filename = r.String()
		default:
			r.Skip()
		}
	}
	switch {
	case bytes != nil:
		p.Kind, p.Raw, p.URL = a2a.PartRaw, bytes, ""
	case p.URL != "":
		p.Kind = a2a.PartURL
	case data != nil:
		p.Kind, p.Raw = a2a.PartRaw, data
	}
}
