package frontend

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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
	n := view.New{First: len(p.Side.Chats) == 0}
	n.Demo, n.Offer = s.demo()
	if n.Flows, err = s.flowTiles(ctx); err != nil {
		return err
	}
	to := r.FormValue("to")
	for _, a := range slices.SortedStableFunc(slices.Values(as), func(a, b *orchestrator.Agent) int { return a.Added.Compare(b.Added) }) {
		if a.Trust == orchestrator.TrustApproved && len(n.Tiles) < newTiles {
			if t, ok := s.tile(ctx, a, tileExamples); ok {
				n.Tiles = append(n.Tiles, t)
			}
		}
		if a.Trust == orchestrator.TrustApproved && a.ID == to {
			t, _ := s.tile(ctx, a, withExamples)
			n.With, n.Connected = &t, r.Form.Has("connected")
		}
	}
	n.More = len(p.Side.Agents) > len(n.Tiles)
	n.Say = s.composer(ctx, "", to, as)
	n.Say.Text = r.FormValue("text")
	p.Toast = s.deleted(ctx, r.FormValue("deleted"))
	switch {
	case n.With != nil:
		p.Title = view.T(ctx, "New chat with %s", n.With.Agent.Name)
	case n.First:
		p.Title = view.T(ctx, "Welcome")
	}
	return s.write(w, r, http.StatusOK, view.NewPage(p, n))
}

// newTiles is how many agents are offered where a chat begins.
const newTiles = 4

// How many examples from its card an agent is shown with: among others, and by itself.
const (
	tileExamples = 2
	withExamples = 8
)

// tile shows an agent with at most n examples from its card.
func (s *Site) tile(ctx context.Context, a *orchestrator.Agent, n int) (view.Tile, bool) {
	t := view.Tile{Agent: s.people.link(ctx, a.ID)}
	if a.Card == nil {
		return t, false
	}
	line, _, _ := strings.Cut(strings.TrimSpace(a.Card.Description), "\n")
	t.Text = markdownMarks.ReplaceAllString(line, "$1")
	for _, sk := range a.Card.Skills {
		for _, e := range sk.Examples {
			if len(t.Examples) < n && len(e) <= 120 {
				t.Examples = append(t.Examples, example(a.ID, e))
			}
		}
	}
	return t, true
}

func example(agent, text string) view.Example {
	return view.Example{To: agent, Text: text, Href: "/?" + url.Values{"to": {agent}, "text": {text}}.Encode()}
}

// composer is where the person writes, with what each agent says that it takes.
func (s *Site) composer(ctx context.Context, conversation, to string, agents []*orchestrator.Agent) view.Composer {
	if to == "" {
		to = orchestrator.Auto
	}
	v := view.Composer{Conversation: conversation, To: to, MessageID: newID(), MaxFile: maxFile, MaxFiles: maxFiles, Sick: s.store.Healthy() != nil}
	links := linksOf(agents)
	for i, a := range agents {
		if a.Trust == orchestrator.TrustApproved {
			l := view.Addressee{AgentLink: links[i]}
			if a.Card != nil {
				l.Takes = strings.Join(a.Card.DefaultInputModes, ", ")
			}
			v.Agents = append(v.Agents, l)
		}
	}
	v.Queue = s.queueView(ctx, conversation)
	return v
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
	c, err := s.conversation(ctx, id)
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
	as, err := s.store.ListAgents(ctx)
	if err != nil {
		return err
	}
	v := view.Chat{
		ID: id, Title: titleOf(ctx, c), Pinned: c.Pinned, Items: html, Earlier: earlier, To: view.T(ctx, "Auto"),
		Say: s.composer(ctx, id, c.To, as), Find: r.FormValue("find"),
	}
	if err := s.editing(ctx, &v.Say, id, r.FormValue("edit")); err != nil {
		return err
	}
	if c.To != "" && c.To != orchestrator.Auto {
		v.To = s.people.link(ctx, c.To).Name
	}
	flags := spoken(nil, items)
	v.Flags = s.links(ctx, flags)
	if err := s.chatPanel(ctx, &p, &v, items, r.FormValue("run"), r.FormValue("tab")); err != nil {
		return err
	}
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
			v.Flags = s.links(ctx, spoken(flags, more))
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

// maxFlags is how many agents are named beside the title of a chat.
const maxFlags = 6

// spoken adds to agents, in order, those that speak in items; Parley, which speaks everywhere, is none of them.
func spoken(agents []string, items []*orchestrator.Item) []string {
	for _, it := range items {
		switch it.AgentID {
		case "", orchestrator.Auto, orchestrator.OwnAgent:
			continue
		}
		if len(agents) < maxFlags && !slices.Contains(agents, it.AgentID) {
			agents = append(agents, it.AgentID)
		}
	}
	return agents
}

func (s *Site) links(ctx context.Context, agents []string) []view.AgentLink {
	ls := make([]view.AgentLink, len(agents))
	for i, a := range agents {
		ls[i] = s.people.link(ctx, a)
	}
	return ls
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
	from := say.ConversationID
	if item, err := strconv.ParseInt(r.FormValue("branch"), 10, 64); err == nil && from != "" {
		// What was said before is said anew: in a chat of its own, so that nothing of this one is lost.
		if say.ConversationID, err = s.branch(ctx, from, item, cmp.Or(say.Text, view.T(ctx, "File"))); err != nil {
			return s.sayAgain(w, r, say, err)
		}
	} else if from != "" && len(say.Files) == 0 && s.queue.going(ctx, from) {
		return s.enqueue(w, r, say)
	}
	run, err := s.runner.Say(ctx, say)
	if err != nil {
		return s.sayAgain(w, r, say, err)
	}
	return s.begun(w, r, run, from)
}

// begun goes to where a run is to be seen: its chat, unless that is the one that is open, and beside it its plan, where it
// has one that is not there already.
func (s *Site) begun(w http.ResponseWriter, r *http.Request, run *orchestrator.Run, chat string, plans ...string) error {
	next := "/c/" + url.PathEscape(run.ConversationID)
	switch {
	case !slices.Contains(plans, run.ID) && s.planned(r.Context(), run.ID):
		return moved(w, r, next+"?run="+url.QueryEscape(run.ID))
	case run.ConversationID != chat:
		return moved(w, r, next)
	}
	return done(w, r, next)
}

// enqueue has a message wait until what goes on has ended.
func (s *Site) enqueue(w http.ResponseWriter, r *http.Request, say *orchestrator.Say) error {
	m := waiting{ID: say.MessageID, To: say.To, Text: say.Text}
	if m.ID == "" {
		m.ID = newID()
	}
	full := false
	err := s.queue.change(r.Context(), say.ConversationID, func(ws []waiting) []waiting {
		if slices.ContainsFunc(ws, func(w waiting) bool { return w.ID == m.ID }) {
			return ws
		}
		if full = len(ws) >= maxQueue; full {
			return ws
		}
		return append(ws, m)
	})
	if err == nil && full {
		err = badRequest("Too many messages wait here already.")
	}
	if err != nil {
		return s.sayAgain(w, r, say, err)
	}
	s.queue.look() // it may have ended just now
	return done(w, r, "/c/"+url.PathEscape(say.ConversationID))
}

// editing fills the composer with what was said before, to say it anew.
func (s *Site) editing(ctx context.Context, c *view.Composer, conversation, item string) error {
	id, err := strconv.ParseInt(item, 10, 64)
	if err != nil || id <= 0 {
		return nil
	}
	items, err := s.store.Items(ctx, conversation, id+1, 1)
	if err != nil {
		return err
	}
	if len(items) == 1 && items[0].ID == id && items[0].Kind == orchestrator.ItemUser {
		c.Branch, c.Text, c.Queue = item, items[0].Text, nil
	}
	return nil
}

// sayAgain shows the composer with everything that was typed, and what was wrong.
func (s *Site) sayAgain(w http.ResponseWriter, r *http.Request, say *orchestrator.Say, err error) error {
	if scripted(r) {
		return err
	}
	status, fault := faultOf(r.Context(), err)
	p := s.page(r, view.T(r.Context(), "New chat"), view.Side{Section: "new"})
	as, err2 := s.store.ListAgents(r.Context())
	if err2 != nil {
		return err2
	}
	n := view.New{Say: s.composer(r.Context(), say.ConversationID, say.To, as)}
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
	ctx, id := r.Context(), r.PathValue("id")
	_, plan, _ := s.partOf(ctx, id)
	run, err := s.runner.Retry(ctx, id)
	if err != nil {
		return err
	}
	return s.begun(w, r, run, run.ConversationID, id, plan)
}
