package frontend

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// A chat leaves Parley as Markdown to read, as one HTML file to send to somebody, and as JSON with all that it holds,
// which can be taken in again: see import.go. All three are written one item at a time.

// exportVersion is that of the JSON form.
const exportVersion = 1

// exportHead is what the JSON form says of the chat. Its member "items" follows, an array of exported.
type exportHead struct {
	Parley   int       `json:"parley"`
	Title    string    `json:"title"`
	To       string    `json:"to"`
	Exported time.Time `json:"exported"`
}

// exported is one item as it leaves Parley.
type exported struct {
	ID       int64           `json:"id"`
	Kind     string          `json:"kind"`
	Agent    string          `json:"agent,omitempty"`
	Name     string          `json:"name,omitempty"` // of the agent
	Run      string          `json:"run,omitempty"`
	At       time.Time       `json:"at"`
	Text     string          `json:"text,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Artifact *a2a.Artifact   `json:"artifact,omitempty"` // v1.0
	Files    []a2a.Part      `json:"files,omitempty"`    // what the person sent with it
}

// exported yields the items of a chat up to the one named by last (0 = all), with their contents.
func (s *Site) exported(ctx context.Context, conversation string, last int64) iter.Seq2[*exported, error] {
	return func(yield func(*exported, error) bool) {
		for it, err := range s.store.EachItem(ctx, conversation) {
			if err != nil {
				yield(nil, err)
				return
			}
			if last > 0 && it.ID > last {
				return
			}
			e := &exported{ID: it.ID, Kind: string(it.Kind), Agent: it.AgentID, Run: it.RunID, At: it.At.UTC(), Text: it.Text, Data: it.Data}
			if it.Kind != orchestrator.ItemUser {
				e.Name = s.speaker(ctx, it.AgentID).Name
			}
			switch it.Kind {
			case orchestrator.ItemArtifact:
				var d orchestrator.ArtifactData
				_ = json.Unmarshal(it.Data, &d)
				if a, err := s.store.Artifact(ctx, it.RunID, d.ArtifactID); err == nil {
					e.Artifact = a
				}
			case orchestrator.ItemUser:
				var d orchestrator.UserData
				_ = json.Unmarshal(it.Data, &d)
				if len(d.Files) > 0 && it.RunID != "" {
					e.Files, _ = s.saidFiles(ctx, it.RunID)
				}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// exportJSON writes a chat with all that it holds.
func (s *Site) exportJSON(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	c, err := s.conversation(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", disposition("attachment", fileOf(ctx, c, ".json")))
	out := newSpill(w)
	head, err := json.Marshal(exportHead{exportVersion, titleOf(ctx, c), c.To, s.now().UTC()})
	if err != nil {
		return err
	}
	out.Write(head[:len(head)-1])
	out.WriteString(`,"items":[`)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	first := true
	for e, err := range s.exported(ctx, c.ID, 0) {
		if err != nil {
			return abort(err)
		}
		if !first {
			out.WriteString(",")
		}
		first = false
		if err := enc.Encode(e); err != nil {
			return abort(err)
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// exportMarkdown writes a chat as a document to read.
func (s *Site) exportMarkdown(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	c, err := s.conversation(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Content-Disposition", disposition("attachment", fileOf(ctx, c, ".md")))
	out := newSpill(w)
	fmt.Fprintf(out, "# %s\n", titleOf(ctx, c))
	for it, err := range s.store.EachItem(ctx, c.ID) {
		if err != nil {
			return abort(err)
		}
		s.writeMarkdown(ctx, out, it)
	}
	return out.Flush()
}

func (s *Site) writeMarkdown(ctx context.Context, out *bufio.Writer, it *orchestrator.Item) {
	who := view.T(ctx, "You")
	if it.Kind != orchestrator.ItemUser {
		who = s.speaker(ctx, it.AgentID).Name
	}
	fmt.Fprintf(out, "\n## %s, %s\n\n", who, it.At.In(s.now().Location()).Format("2006-01-02 15:04"))
	switch it.Kind {
	case orchestrator.ItemArtifact:
		var d orchestrator.ArtifactData
		_ = json.Unmarshal(it.Data, &d)
		if it.Text == "" {
			for _, p := range d.Parts {
				fmt.Fprintf(out, "- %s %s (%s)\n", d.Name, p.Filename, view.Bytes(p.Size))
			}
		}
	case orchestrator.ItemAsk:
		var d orchestrator.AskData
		_ = json.Unmarshal(it.Data, &d)
		fmt.Fprintf(out, "%s\n\n%s\n", promptWords(ctx, d.Prompt), s.closedWords(ctx, &d))
		return
	case orchestrator.ItemEnd:
		var d orchestrator.EndData
		_ = json.Unmarshal(it.Data, &d)
		st := view.EndState(ctx, a2a.TaskState(d.State), d.Fault)
		fmt.Fprintf(out, "%s\n", st.Word)
		if d.Fault != nil {
			fmt.Fprintf(out, "\n%s\n", view.Tv(ctx, d.Fault.What))
		}
	}
	if it.Text != "" {
		fmt.Fprintf(out, "%s\n", it.Text)
	}
}

// What becomes part of an HTML file, by its size; what is larger is named in it.
const (
	inlineFile = 4 << 20
	inlineText = 256 << 10 // as text to read
)

// exportHTML writes a chat as one file that needs nothing else: what it looks like is in it, and what agents and people
// sent is, up to inlineFile a piece. It runs nothing and fetches nothing, and says so to the browser.
func (s *Site) exportHTML(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	c, err := s.conversation(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", disposition("attachment", fileOf(ctx, c, ".html")))
	out := newSpill(w)
	now := s.now()
	if err := view.ExportHead(titleOf(ctx, c), s.assets.style(), now).Render(ctx, out); err != nil {
		return abort(err)
	}
	day := ""
	var before *exported
	for e, err := range s.exported(ctx, c.ID, 0) {
		if err != nil {
			return abort(err)
		}
		v := s.exportItem(ctx, e)
		if d := view.Day(ctx, v.At, now.AddDate(1, 0, 0)); d != day { // with its year: it may be read at any time
			day, v.Day = d, d
		}
		v.More = v.Day == "" && v.Speaker != nil && before != nil && before.Run == e.Run && before.Agent == e.Agent && orchestrator.ItemKind(before.Kind) != orchestrator.ItemUser
		before = e
		if err := view.ExportItem(v).Render(ctx, out); err != nil {
			return abort(err)
		}
	}
	if err := view.ExportFoot().Render(ctx, out); err != nil {
		return abort(err)
	}
	return out.Flush()
}

// closedWords says how an ask was closed, with what was answered.
func (s *Site) closedWords(ctx context.Context, d *orchestrator.AskData) string {
	st, answer := s.receipt(ctx, d)
	if answer == "" {
		return st.Word
	}
	return view.T(ctx, "%s: %s", st.Word, answer)
}

func (s *Site) exportItem(ctx context.Context, e *exported) view.Exported {
	v := view.Exported{At: e.At.In(s.now().Location())}
	if orchestrator.ItemKind(e.Kind) == orchestrator.ItemUser {
		v.Text = e.Text
		for i := range e.Files {
			v.Parts = append(v.Parts, exportPart(ctx, &e.Files[i], view.T(ctx, "File")))
		}
		return v
	}
	sp := s.speaker(ctx, e.Agent)
	v.Speaker = &sp
	switch orchestrator.ItemKind(e.Kind) {
	case orchestrator.ItemAsk:
		var d orchestrator.AskData
		_ = json.Unmarshal(e.Data, &d)
		v.HTML, v.Text = s.md.HTML(promptWords(ctx, d.Prompt)), s.closedWords(ctx, &d)
	case orchestrator.ItemEnd:
		var d orchestrator.EndData
		_ = json.Unmarshal(e.Data, &d)
		st := view.EndState(ctx, a2a.TaskState(d.State), d.Fault)
		v.Text = st.Word
		if d.Fault != nil {
			v.Text = view.T(ctx, "%s: %s", v.Text, view.Tv(ctx, d.Fault.What))
		}
	case orchestrator.ItemArtifact:
		if e.Artifact == nil {
			v.HTML = s.md.HTML(e.Text)
			break
		}
		for i := range e.Artifact.Parts {
			p := &e.Artifact.Parts[i]
			if p.Kind == a2a.PartText && prose(p) {
				v.Parts = append(v.Parts, view.ExportPart{HTML: s.md.HTML(p.Text)})
				continue
			}
			v.Parts = append(v.Parts, exportPart(ctx, p, nameOf(e.Artifact, p, view.T(ctx, "File"))))
		}
	default:
		v.HTML = s.md.HTML(e.Text)
	}
	return v
}

// exportPart is a part as a file shows it: a picture, text, or its name.
func exportPart(ctx context.Context, p *a2a.Part, name string) view.ExportPart {
	if p.Filename != "" {
		name = p.Filename
	}
	switch p.Kind {
	case a2a.PartText:
		return view.ExportPart{Name: name, Text: p.Text}
	case a2a.PartData:
		var pretty json.RawMessage
		if b, err := json.MarshalIndent(p.Data, "", "  "); err == nil {
			pretty = b
		}
		return view.ExportPart{Name: name, Text: string(pretty)}
	case a2a.PartRaw:
		t := mediaType(mimetype.Detect(p.Raw).String())
		size := view.Bytes(int64(len(p.Raw)))
		switch {
		case len(p.Raw) > inlineFile:
			return view.ExportPart{Name: name, Detail: view.T(ctx, "%s, not part of this file", size)}
		case pictures[t]:
			return view.ExportPart{Name: name, Image: "data:" + t + ";base64," + base64.StdEncoding.EncodeToString(p.Raw)}
		case len(p.Raw) <= inlineText && utf8.Valid(p.Raw) && !bytes.ContainsRune(p.Raw, 0):
			return view.ExportPart{Name: name, Text: string(p.Raw)}
		}
		// Of no type, so that a browser stores it and never shows it.
		return view.ExportPart{Name: CleanName(name), File: "data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(p.Raw), Detail: size}
	case a2a.PartURL:
		return view.ExportPart{Name: name, Detail: p.URL}
	}
	return view.ExportPart{Name: name}
}

var fontFace = regexp.MustCompile(`@font-face\{[^}]*\}`)

// style returns the style sheet without what it would fetch.
func (a *assets) style() string {
	b, err := fs.ReadFile(static, "static/"+a.names["app.css"])
	if err != nil {
		return ""
	}
	return fontFace.ReplaceAllString(string(b), "")
}

// fileOf names the file that a chat is written to: a title is no path.
func fileOf(ctx context.Context, c *orchestrator.Conversation, ext string) string {
	return strings.NewReplacer("/", "-", `\`, "-").Replace(titleOf(ctx, c)) + ext
}
