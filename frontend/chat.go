package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// What the files of one message may weigh: base64 in a request of at most Limits.RequestBody.
var (
	maxFile  = int64(a2a.Limits.InlineFile)
	maxFiles = int64(a2a.Limits.RequestBody) * 5 / 8
)

// newChat is where a chat begins. The first time it is a welcome.
func (s *Site) newChat(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p := s.page(r, view.T(r.Context(), "New chat"), view.Side{Section: "new"})
	as, err := s.store.ListAgents(ctx)
	if err != nil {
		return err
	}
	n := view.New{First: len(p.Side.Chats) == 0, Demo: s.opts.Demo}
	for _, a := range as {
		if a.Trust == orchestrator.TrustApproved && len(n.Tiles) < 9 {
			if t, ok := tile(a); ok {
				n.Tiles = append(n.Tiles, t)
			}
		}
	}
	n.Say = s.composer("", r.FormValue("to"), p.Side.Agents)
	n.Say.Text = r.FormValue("text")
	if n.First {
		p.Title = view.T(ctx, "Welcome")
	}
	return s.write(w, r, http.StatusOK, view.NewPage(p, n))
}

// tile shows an agent with at most two examples from its card.
func tile(a *orchestrator.Agent) (view.Tile, bool) {
	t := view.Tile{Agent: agentLink(a)}
	if a.Card == nil {
		return t, false
	}
	line, _, _ := strings.Cut(strings.TrimSpace(a.Card.Description), "\n")
	t.Text = strings.NewReplacer("`", "", "**", "").Replace(line)
	for _, sk := range a.Card.Skills {
		for _, e := range sk.Examples {
			if len(t.Examples) < 2 && len(e) <= 120 {
				t.Examples = append(t.Examples, example(a.ID, e))
			}
		}
	}
	return t, true
}

func example(agent, text string) view.Example {
	return view.Example{To: agent, Text: text, Href: "/?" + url.Values{"to": {agent}, "text": {text}}.Encode()}
}

func (s *Site) composer(conversation, to string, agents []view.AgentLink) view.Composer {
	if to == "" {
		to = orchestrator.Auto
	}
	return view.Composer{Conversation: conversation, To: to, Agents: agents, MessageID: newID(), MaxFile: maxFile, Sick: s.store.Healthy() != nil}
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString()
	}
	return id.String()
}

// chat is the page of a conversation: its newest items, what goes on, and where to write.
func (s *Site) chat(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id := r.PathValue("id")
	c, err := s.store.Conversation(ctx, id)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(r.FormValue("before"), 10, 64)
	if at, err := strconv.ParseInt(r.FormValue("at"), 10, 64); err == nil && at > 0 {
		before, err = s.around(ctx, id, at)
		if err != nil {
			return err
		}
	}
	items, err := s.store.Items(ctx, id, max(before, 0), pageItems+1)
	if err != nil {
		return err
	}
	earlier := int64(0)
	if len(items) > pageItems {
		items = items[len(items)-pageItems:]
		earlier = items[0].ID
	}
	tr := transcript{site: s}
	html := tr.items(ctx, items)
	if scripted(r) {
		ops := []op{{"r", "earlier", draw(ctx, view.Earlier(id, earlier))}, {"p", "items", html}}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, err := w.Write((&frame{Ops: ops}).encode())
		return err
	}

	p := s.page(r, titleOf(ctx, c), view.Side{Chat: id})
	v := view.Chat{ID: id, Title: titleOf(ctx, c), Items: html, Earlier: earlier, To: view.T(ctx, "Auto"), Say: s.composer(id, c.To, p.Side.Agents)}
	if c.To != "" && c.To != orchestrator.Auto {
		v.To = s.people.link(ctx, c.To).Name
	}
	v.Flags = s.flags(ctx, items)
	p.Live = view.Place{Conversation: id, Last: tr.last}
	if before > 0 {
		// An older page: it is not continued by what happens now.
		v.Newest = "/c/" + url.PathEscape(id)
		p.Live.Conversation = ""
		return s.write(w, r, http.StatusOK, view.ChatPage(p, v))
	}
	runs, err := s.store.RunsOf(ctx, id)
	if err != nil {
		return err
	}
	if len(runs) > 0 {
		room, err := s.rooms.get(ctx, id)
		if err != nil {
			return err
		}
		defer s.rooms.put(room)
		shot := room.shot()
		v.Open, v.Pulse = shot.open, shot.pulse
		p.Live.Room, p.Live.Seq = room.name, shot.seq
		if shot.last > tr.last {
			more, err := room.since(ctx, tr.last)
			if err != nil {
				return err
			}
			v.Items += tr.items(ctx, more)
			p.Live.Last = tr.last
		}
	}
	return s.write(w, r, http.StatusOK, view.ChatPage(p, v))
}

// around returns the item before which to read so that the page has at in its middle; 0 when at is among the newest.
func (s *Site) around(ctx context.Context, conversation string, at int64) (int64, error) {
	newest, err := s.store.Items(ctx, conversation, 0, pageItems)
	if err != nil || len(newest) == 0 || newest[0].ID <= at {
		return 0, err
	}
	return at + pageItems/2, nil
}

// flags are those of the agents that speak in items, in order.
func (s *Site) flags(ctx context.Context, items []*orchestrator.Item) []view.Flag {
	var fs []view.Flag
	seen := map[string]bool{"": true}
	for _, it := range items {
		if !seen[it.AgentID] && len(fs) < 6 {
			seen[it.AgentID] = true
			fs = append(fs, s.people.link(ctx, it.AgentID).Flag)
		}
	}
	return fs
}

// say takes what the person says. It is stored when this answers.
func (s *Site) say(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, maxFiles+1<<20)
	if err := r.ParseMultipartForm(8 << 20); err != nil && err != http.ErrNotMultipart {
		return unread(err)
	}
	say := &orchestrator.Say{
		ConversationID: r.FormValue("conversation"), To: r.FormValue("to"), MessageID: r.FormValue("message"),
		Text: strings.TrimSpace(strings.ReplaceAll(r.FormValue("text"), "\r\n", "\n")),
	}
	var err error
	if say.Files, err = files(r); err != nil {
		return s.sayAgain(w, r, say, err)
	}
	if say.Text == "" && len(say.Files) == 0 {
		return s.sayAgain(w, r, say, badRequest("There is nothing to send yet."))
	}
	run, err := s.runner.Say(ctx, say)
	if err != nil {
		return s.sayAgain(w, r, say, err)
	}
	next := "/c/" + url.PathEscape(run.ConversationID)
	if say.ConversationID == "" {
		return moved(w, r, next)
	}
	return done(w, r, next)
}

// sayAgain shows the composer with everything that was typed, and what was wrong.
func (s *Site) sayAgain(w http.ResponseWriter, r *http.Request, say *orchestrator.Say, err error) error {
	if scripted(r) {
		return err
	}
	status, fault := faultOf(r.Context(), err)
	p := s.page(r, view.T(r.Context(), "New chat"), view.Side{Section: "new"})
	n := view.New{Say: s.composer(say.ConversationID, say.To, p.Side.Agents)}
	n.Say.Text, n.Say.Fault = say.Text, view.FaultOf(r.Context(), fault, "")
	return s.write(w, r, status, view.NewPage(p, n))
}

func unread(err error) error {
	var tooLarge *http.MaxBytesError
	if strings.Contains(err.Error(), "request body too large") {
		tooLarge = &http.MaxBytesError{}
		return tooLarge
	}
	return badRequest("The form could not be read.")
}

// files reads the files of a form.
func files(r *http.Request) ([]a2a.Part, error) {
	if r.MultipartForm == nil {
		return nil, nil
	}
	var ps []a2a.Part
	var sum int64
	for _, h := range r.MultipartForm.File["file"] {
		if h.Filename == "" && h.Size == 0 {
			continue
		}
		if sum += h.Size; h.Size > maxFile || sum > maxFiles {
			return nil, &fail{http.StatusRequestEntityTooLarge, &orchestrator.Fault{
				Kind: "too-large", Where: orchestrator.WhereUs, What: view.T(r.Context(), "%s is larger than a message may carry.", h.Filename),
				Do: view.T(r.Context(), "Send files of up to %s, %s in all.", view.Bytes(maxFile), view.Bytes(maxFiles)),
			}}
		}
		f, err := h.Open()
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		t := h.Header.Get("Content-Type")
		ps = append(ps, a2a.Part{Kind: a2a.PartRaw, Raw: b, Filename: h.Filename, MediaType: t})
	}
	return ps, nil
}

func (s *Site) stop(w http.ResponseWriter, r *http.Request) error {
	run, err := s.store.Run(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.runner.Stop(r.Context(), run.ID); err != nil {
		return err
	}
	return done(w, r, "/c/"+url.PathEscape(run.ConversationID))
}

func (s *Site) retry(w http.ResponseWriter, r *http.Request) error {
	run, err := s.runner.Retry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return done(w, r, "/c/"+url.PathEscape(run.ConversationID))
}

func (s *Site) deleteChat(w http.ResponseWriter, r *http.Request) error {
	if err := s.store.Erase(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	s.lobby.mark()
	s.rooms.touch(r.PathValue("id"))
	return moved(w, r, "/")
}

// exported is one item as it leaves Parley.
type exported struct {
	ID    int64           `json:"id"`
	Kind  string          `json:"kind"`
	Agent string          `json:"agent,omitempty"`
	Run   string          `json:"run,omitempty"`
	At    time.Time       `json:"at"`
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// itemsJSON streams every item of a conversation, one at a time.
func (s *Site) itemsJSON(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if _, err := s.store.Conversation(ctx, r.PathValue("id")); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	out := newSpill(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	out.WriteString("[")
	first := true
	for it, err := range s.store.EachItem(ctx, r.PathValue("id")) {
		if err != nil {
			return abort(err)
		}
		if !first {
			out.WriteString(",")
		}
		first = false
		if err := enc.Encode(exported{it.ID, string(it.Kind), it.AgentID, it.RunID, it.At.UTC(), it.Text, it.Data}); err != nil {
			return abort(err)
		}
	}
	out.WriteString("]\n")
	return out.Flush()
}

// exportMarkdown streams a conversation as a document.
func (s *Site) exportMarkdown(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	c, err := s.store.Conversation(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Content-Disposition", disposition("attachment", titleOf(ctx, c)+".md"))
	out := newSpill(w)
	fmt.Fprintf(out, "# %s\n", titleOf(ctx, c))
	for it, err := range s.store.EachItem(ctx, c.ID) {
		if err != nil {
			return abort(err)
		}
		who := "You"
		if it.Kind != orchestrator.ItemUser {
			who = s.speaker(ctx, it.AgentID).Name
		}
		fmt.Fprintf(out, "\n## %s, %s\n\n", who, it.At.In(s.now().Location()).Format("2 January 2006 15:04"))
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
			fmt.Fprintf(out, "%s\n\n%s: %s\n", d.Prompt, view.AskState(ctx, d.State).Word, d.Answer)
			continue
		case orchestrator.ItemEnd:
			var d orchestrator.EndData
			_ = json.Unmarshal(it.Data, &d)
			fmt.Fprintf(out, "%s\n", view.TaskState(ctx, a2a.TaskState(d.State)).Word)
			if d.Fault != nil {
				fmt.Fprintf(out, "\n%s\n", d.Fault.What)
			}
		}
		if it.Text != "" {
			fmt.Fprintf(out, "%s\n", it.Text)
		}
	}
	return out.Flush()
}
