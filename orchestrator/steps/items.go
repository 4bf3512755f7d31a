package steps

import (
	"encoding/json"
	"strings"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// longText is the length, in bytes, from which a text of an artifact is shown as a document of its own.
const longText = 32 << 10

// Items returns what a finished task leaves in the transcript, in order: what its agent said, what it made, and how it
// ended, where that is not plain success. The output is the artifacts, else the message of the completed status, else
// the last thing the agent said; the same text is shown once.
func Items(agent string, t *a2a.Task, fault *orchestrator.Fault, took time.Duration) []orchestrator.Item {
	var items []orchestrator.Item
	shown := map[string]bool{}
	add := func(its ...orchestrator.Item) {
		for _, it := range its {
			if text := strings.TrimSpace(it.Text); it.Kind == orchestrator.ItemAgent {
				if text == "" || shown[text] {
					continue
				}
				shown[text] = true
			}
			it.AgentID = agent
			items = append(items, it)
		}
	}
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		add(contentItems(a.ID, a.Name, a.Description, a.Parts)...)
	}
	if m := t.Status.Message; m != nil && t.Status.State == a2a.TaskStateCompleted {
		add(messageItems(m)...)
	}
	if m := lastSaid(t); len(items) == 0 && m != nil && t.Status.State == a2a.TaskStateCompleted {
		add(messageItems(m)...)
	}
	end := orchestrator.EndData{State: string(t.Status.State), Took: took.Milliseconds()}
	switch t.Status.State {
	case a2a.TaskStateFailed, a2a.TaskStateRejected:
		if end.Fault = fault; fault == nil {
			end.Fault = AgentFailed(t.Status)
		}
	case a2a.TaskStateCanceled:
		end.Fault = fault
	default:
		if len(items) > 0 {
			return items
		}
	}
	it := orchestrator.Item{Kind: orchestrator.ItemEnd, AgentID: agent, Data: raw(end)}
	if end.Fault != nil {
		it.Text = end.Fault.What
	}
	return append(items, it)
}

// MessageItems returns what an answer that was a single message leaves in the transcript.
func MessageItems(agent string, m *a2a.Message, took time.Duration) []orchestrator.Item {
	items := messageItems(m)
	for i := range items {
		items[i].AgentID = agent
	}
	if len(items) == 0 {
		end := orchestrator.EndData{State: string(a2a.TaskStateCompleted), Took: took.Milliseconds()}
		items = append(items, orchestrator.Item{Kind: orchestrator.ItemEnd, AgentID: agent, Data: raw(end)})
	}
	return items
}

// messageItems is contentItems of a message; what it holds beside words is kept under the message's id.
func messageItems(m *a2a.Message) []orchestrator.Item {
	return contentItems(m.ID, "", "", m.Parts)
}

// lastSaid returns the newest message of the agent in the history.
func lastSaid(t *a2a.Task) *a2a.Message {
	for i := len(t.History) - 1; i >= 0; i-- {
		if t.History[i].Role == a2a.RoleAgent {
			return &t.History[i]
		}
	}
	return nil
}

// contentItems shows parts: plain words are said, everything else is an artifact with its words beside it.
func contentItems(id, name, description string, ps []a2a.Part) []orchestrator.Item {
	var words strings.Builder
	plain := true
	for i := range ps {
		if p := &ps[i]; p.Kind == a2a.PartText && p.Filename == "" && !foreign(p.MediaType) {
			words.WriteString(p.Text)
		} else {
			plain = false
		}
	}
	text := words.String()
	if plain && len(text) < longText && !looksLikeFile(name) {
		if text == "" {
			return nil
		}
		return []orchestrator.Item{{Kind: orchestrator.ItemAgent, Text: text}}
	}
	if len(text) >= longText || plain {
		text = ""
	}
	d := orchestrator.ArtifactData{ArtifactID: id, Name: name, Description: description}
	for i := range ps {
		d.Parts = append(d.Parts, PartInfo(&ps[i]))
	}
	d.Parts = mergeTexts(d.Parts)
	return []orchestrator.Item{{Kind: orchestrator.ItemArtifact, Text: text, Data: raw(d)}}
}

// foreign reports whether a text is of a kind that is not to be read as Markdown in the transcript.
func foreign(mediaType string) bool {
	t, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	switch strings.TrimSpace(t) {
	case "", "text", "text/plain", "text/markdown", "text/x-markdown":
		return false
	}
	return true
}

// looksLikeFile reports whether a name has an extension.
func looksLikeFile(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i > 0 && len(name)-i <= 6 && !strings.ContainsAny(name[i:], " ")
}

// PartInfo describes a part without its bytes.
func PartInfo(p *a2a.Part) orchestrator.PartInfo {
	info := orchestrator.PartInfo{Filename: p.Filename, MediaType: p.MediaType}
	switch p.Kind {
	case a2a.PartText:
		info.Kind, info.Size = "text", int64(len(p.Text))
	case a2a.PartRaw:
		info.Kind, info.Size = "raw", int64(len(p.Raw))
	case a2a.PartURL:
		info.Kind, info.URL = "url", p.URL
	case a2a.PartData:
		info.Kind, info.Size = "data", int64(len(p.Data))
	default:
		info.Kind = "none"
	}
	return info
}

// mergeTexts makes neighbouring pieces of one streamed text one.
func mergeTexts(ps []orchestrator.PartInfo) []orchestrator.PartInfo {
	out := ps[:0]
	for _, p := range ps {
		if n := len(out); n > 0 && p.Kind == "text" && out[n-1].Kind == "text" &&
			p.Filename == out[n-1].Filename && p.MediaType == out[n-1].MediaType {
			out[n-1].Size += p.Size
			continue
		}
		out = append(out, p)
	}
	return out
}

// UserItem returns what a person's message leaves in the transcript.
func UserItem(m *a2a.Message) orchestrator.Item {
	it := orchestrator.Item{Kind: orchestrator.ItemUser, Text: a2a.Text(m.Parts)}
	var d orchestrator.UserData
	for i := range m.Parts {
		if m.Parts[i].Kind != a2a.PartText {
			d.Files = append(d.Files, PartInfo(&m.Parts[i]))
		}
	}
	if d.Files != nil {
		it.Data = raw(d)
	}
	return it
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("steps: " + err.Error())
	}
	return b
}
