package wire

import (
	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

func (midFamily) readResult(r *jsontext.Reader, op Op) any {
	switch op {
	case OpPushSet, OpPushGet:
		return readPushConfig(r)
	case OpPushList:
		return readPushPage(r)
	}
	start := r.Offset()
	return fits(r, start, op, readMidEvent(r, readMidPart))
}

// fits lets an event through that may answer op.
func fits(r *jsontext.Reader, start int, op Op, e a2a.Event) any {
	switch e.(type) {
	case nil:
		return nil
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
func readMidEvent(r *jsontext.Reader, part a2a.PartReader) a2a.Event {
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
			status.ReadJSON(r, part)
			hasStatus = true
		case "artifact":
			artifact.ReadJSON(r, part)
			hasArtifact = true
		case "artifacts":
			artifacts = a2a.ReadArtifacts(r, part)
		case "history":
			history = a2a.ReadMessages(r, part)
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
			msg().Parts = a2a.ReadParts(r, part)
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

func readMidPart(p *a2a.Part, r *jsontext.Reader) { readTaggedPart(p, r, false, false) }

// readTaggedPart reads a part of every dialect before v1.0 by its kind; OLD and early v0.2 wrote type, ProtoJSON and some
// others neither. twice says that the bytes of a file may be encoded twice.
func readTaggedPart(p *a2a.Part, r *jsontext.Reader, proto, twice bool) {
	var (
		start                            = r.Offset()
		kind                             []byte
		text, file, data, null, raw, url bool
		content                          a2a.Part // of a file
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
			readFile(r, &content, twice)
			file = true
		case "raw":
			p.Raw, raw = r.Bytes(), true
		case "url":
			p.URL, url = r.String(), true
		case "filename":
			p.Filename = r.String()
		case "mediaType":
			p.MediaType = r.String()
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
		p.Data, p.Raw, p.URL = nil, nil, ""
		if rest, ok := jsontext.CutTrue(p.Metadata, a2a.NoContentKey); ok {
			p.Kind, p.Text, p.Metadata = a2a.PartNoContent, "", rest
		}
		readCarried(p)
	case file && (kind == "file" || kind == ""):
		content.Metadata = p.Metadata
		*p = content
	case data && (kind == "data" || kind == ""):
		p.Kind, p.Text, p.Raw, p.URL = a2a.PartData, "", nil, ""
		if proto && kind == "" {
			if value := jsontext.Sole(p.Data, "data"); value != nil {
				p.Data = value
			}
		}
		if rest, ok := jsontext.CutTrue(p.Metadata, dataCompat); ok {
			if value := jsontext.Sole(p.Data, "value"); value != nil {
				p.Data, p.Metadata = value, rest
			}
		}
		readCarried(p)
	case raw && kind == "": // v1.0 in the wrong place
		p.Kind, p.URL = a2a.PartRaw, ""
	case url && kind == "":
		p.Kind = a2a.PartURL
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

// readFile reads a file. Bytes go before an address; with neither, the file was named and not sent.
func readFile(r *jsontext.Reader, p *a2a.Part, twice bool) {
	*p = a2a.Part{Kind: a2a.PartNoContent}
	var bytes, data []byte
	again := false
	for r.Object(); r.Member(); {
		switch name := string(r.Name()); name {
		case "bytes", "fileWithBytes":
			bytes, again = r.Bytes(), twice && name == "fileWithBytes"
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
		if again {
			bytes = onceMore(bytes, p.MediaType)
		}
		p.Kind, p.Raw, p.URL = a2a.PartRaw, bytes, ""
	case p.URL != "":
		p.Kind = a2a.PartURL
	case data != nil:
		p.Kind, p.Raw = a2a.PartRaw, data
	}
}
