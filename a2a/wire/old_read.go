package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// readParams reads what only OLD calls have; tasks/get, tasks/cancel and tasks/resubscribe are read as MID.
func (oldFamily) readParams(r *jsontext.Reader, c *Call) {
	switch c.Op {
	case OpSend, OpStream:
		readOldSend(r, c.Send)
	case OpPushSet:
		readOldPush(r, c)
	default:
		readParams(r, c, readMidPart)
	}
}

func readOldSend(r *jsontext.Reader, s *a2a.SendRequest) {
	var id, session string
	config := &s.Configuration
	config.HistoryLength = new(int) // without a number, none is wanted
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "id":
			id = r.String()
		case "sessionId":
			session = r.String()
		case "message":
			s.Message.ReadJSON(r, readMidPart)
		case "acceptedOutputModes":
			config.AcceptedOutputModes = readModes(r)
		case "pushNotification":
			config.Push = readPushConfig(r)
		case "historyLength":
			config.HistoryLength = readLength(r)
		case "metadata":
			s.Metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
	m := &s.Message
	s.NewTask, m.TaskID = true, id
	if m.ContextID = first(session, m.ContextID); m.Role == "" {
		m.Role = a2a.RoleUser
	}
	restoreReferences(m)
}

// readOldPush reads a configuration for a task. null takes it away.
func readOldPush(r *jsontext.Reader, c *Call) {
	id, gone := "", false
	for r.Object(); r.MemberOrNull(); {
		name := string(r.Name())
		null := r.Null()
		switch {
		case name == "id" && !null:
			id = r.String()
		case name == "pushNotificationConfig":
			if gone = null; !null {
				readPush(r, c.Push)
			}
		case !null:
			r.Skip()
		}
	}
	c.Push.TaskID = id
	if gone {
		c.Op, c.Push, c.PushDelete = OpPushDelete, nil, &a2a.PushDeleteRequest{TaskID: id}
	}
}

func (oldFamily) readResult(r *jsontext.Reader, op Op) any {
	switch op {
	case OpPushSet, OpPushGet:
		return readPushConfig(r)
	}
	start := r.Offset()
	return fits(r, start, op, readOldEvent(r, op == OpStream || op == OpSubscribe))
}

// readOldEvent reads a task, or in a stream a status or artifact event. There, a task is told from a status event by what
// only tasks have, and what is nothing of all that is nil.
func readOldEvent(r *jsontext.Reader, stream bool) a2a.Event {
	var (
		start                      = r.Offset()
		id, session                string
		status                     a2a.TaskStatus
		update                     a2a.ArtifactUpdate
		artifacts                  []a2a.Artifact
		history                    []a2a.Message
		metadata                   a2a.Metadata
		hasStatus, hasArtifact, is bool // is: a task
	)
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "id":
			id = r.String()
		case "taskId":
			id = first(id, r.String())
		case "sessionId", "contextId":
			session, is = r.String(), true
		case "status":
			status.ReadJSON(r, readMidPart)
			hasStatus = true
		case "artifact":
			_, _ = readOldArtifact(r, &update)
			hasArtifact = true
		case "artifacts":
			artifacts, is = readOldArtifacts(r), true
		case "history":
			history, is = a2a.ReadMessages(r, readMidPart), true
		case "metadata":
			metadata = r.RawObject()
		default:
			r.Skip()
		}
	}
	var e a2a.Event
	switch {
	case r.Err() != nil:
		return nil
	case hasArtifact:
		update.TaskID, update.Metadata = id, metadata
		e = &update
	case hasStatus && stream && !is:
		metadata = raiseState(&status, metadata)
		e = &a2a.StatusUpdate{TaskID: id, Status: status, Metadata: metadata}
	case hasStatus && id != "":
		metadata = raiseState(&status, metadata)
		e = &a2a.Task{ID: id, ContextID: session, Status: status, Artifacts: artifacts, History: history, Metadata: metadata}
	case stream && !hasStatus: // trpc-a2a-go says {taskId, reason} when it closes
		return nil
	default:
		r.Fail(start, "is no task, status event or artifact event")
		return nil
	}
	nameMessages(e, id, session)
	return e
}

// raiseState brings back the state that is noted in metadata; see markState.
func raiseState(s *a2a.TaskStatus, meta a2a.Metadata) a2a.Metadata {
	rest, word, ok := jsontext.CutString(meta, stateKey)
	if !ok {
		return meta
	}
	state := a2a.ParseTaskState(word)
	if state == a2a.TaskStateAuthRequired && s.State == a2a.TaskStateInputRequired || state == a2a.TaskStateRejected && s.State == a2a.TaskStateFailed {
		s.State = state
		return rest
	}
	return meta
}

// artifactID is the id of the artifact with a number.
func artifactID(index int) string { return "artifact-" + strconv.Itoa(index) }

// readOldArtifact reads an artifact with what says that it is a piece of one. own says that it tells its id itself, index is
// 0 where it has none or an impossible one.
func readOldArtifact(r *jsontext.Reader, u *a2a.ArtifactUpdate) (index int, own bool) {
	*u = a2a.ArtifactUpdate{}
	a := &u.Artifact
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "artifactId":
			a.ID = r.String()
		case "index":
			index = max(0, r.Int())
		case "name":
			a.Name = r.String()
		case "description":
			a.Description = r.String()
		case "parts":
			a.Parts = a2a.ReadParts(r, readMidPart)
		case "append":
			u.Append = r.Bool()
		case "lastChunk":
			u.LastChunk = r.Bool()
		case "metadata":
			a.Metadata = r.RawObject()
		case "extensions":
			a.Extensions = r.Strings()
		default:
			r.Skip()
		}
	}
	if rest, id, ok := jsontext.CutString(a.Metadata, artifactKey); ok && id != "" {
		a.ID, a.Metadata = id, rest
	}
	if own = a.ID != ""; !own {
		a.ID = artifactID(index)
	}
	return index, own
}

// readOldArtifacts reads the artifacts of a task. Several may have the same number: the second becomes artifact-<n>.2.
func readOldArtifacts(r *jsontext.Reader) (list []a2a.Artifact) {
	count := map[int]int{}
	for r.Array(); r.Element(); {
		var u a2a.ArtifactUpdate
		index, own := readOldArtifact(r, &u)
		if !own {
			if count[index]++; count[index] > 1 {
				u.Artifact.ID += "." + strconv.Itoa(count[index])
			}
		}
		list = append(list, u.Artifact)
	}
	return list
}

// nameMessages gives the messages of an event what v0.1 does not: ids, which are the same whenever the same message is read,
// and the task and context they belong to.
func nameMessages(e a2a.Event, task, session string) {
	seen := map[string]uint32{}
	eachMessage(e, func(m *a2a.Message) {
		restoreReferences(m)
		if m.Role == "" {
			m.Role = a2a.RoleAgent
		}
		if m.ID == "" {
			said := (&a2a.Message{Role: m.Role, Parts: m.Parts, Metadata: m.Metadata}).AppendJSON(nil)
			n := seen[string(said)]
			if t, ok := e.(*a2a.Task); !ok || m != t.Status.Message { // which may be in the history, too
				seen[string(said)]++
			} else {
				n = 0
			}
			m.ID = messageID(task, n, said)
		}
		m.TaskID = first(m.TaskID, task)
		m.ContextID = first(m.ContextID, session)
	})
}

// messageID makes the id of the n-th message of its wording in a task: a UUID of version 8.
func messageID(task string, n uint32, said []byte) string {
	h := sha256.New()
	h.Write(append([]byte(task), 0))
	h.Write(binary.BigEndian.AppendUint32(nil, n))
	h.Write(said)
	sum := h.Sum(nil)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Final reports whether a frame of a stream says that it is the last: final is true in a status or artifact event. Some
// agents do not close the connection then.
func Final(frame []byte) bool {
	if jsontext.Check(frame, a2a.Limits.JSONDepth) != nil {
		return false
	}
	return finalIn(jsontext.NewReader(frame), 0)
}

func finalIn(r *jsontext.Reader, depth int) (last bool) {
	if r.Peek() != '{' {
		return false
	}
	for r.Object(); r.Member(); {
		switch name := string(r.Key()); {
		case name == "final":
			last = string(r.Span()) == "true"
		case depth < 2 && (name == "result" || name == "statusUpdate" || name == "status_update"):
			last = finalIn(jsontext.NewReader(r.Span()), depth+1) || last
		default:
			r.Skip()
		}
	}
	return last
}
