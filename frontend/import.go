package frontend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// A chat that comes from elsewhere, from a file or as a branch of another one, is written as finished items. What they
// hold lives in runs of its own that have ended, so that it stays when the original is deleted. No agent knows of it: the
// next message begins a new context, and the transcript says so.

// ImportPath takes in a chat, in a request of at most MaxImport bytes.
const (
	ImportPath = "/import"
	MaxImport  = 256 << 20
)

// graft writes items as a new chat and returns its id. what is the last line of it, saying where it is from; "" for none.
func (s *Site) graft(ctx context.Context, head exportHead, items []*exported, what string) (string, error) {
	now := s.now()
	c := &orchestrator.Conversation{ID: newID(), Title: head.Title, To: head.To, Created: now, Updated: now}
	if c.To == "" {
		c.To = orchestrator.Auto
	}
	if _, err := s.store.Agent(ctx, c.To); err != nil {
		c.To = orchestrator.Auto
	}
	b := &orchestrator.Batch{Conversations: []*orchestrator.Conversation{c}}
	runs := map[string]*a2a.Task{}
	var order []string
	content := func(e *exported) *a2a.Task {
		t := runs[e.Run]
		if t == nil {
			t = &a2a.Task{ID: newID(), ContextID: c.ID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: e.At}}
			runs[e.Run] = t
			order = append(order, e.Run)
			b.Runs = append(b.Runs, &orchestrator.Run{
				ID: t.ID, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal, ConversationID: c.ID, ContextID: c.ID,
				To: c.To, State: a2a.TaskStateCompleted, Created: e.At, Updated: e.At,
			})
		}
		return t
	}
	for _, e := range items {
		it := &orchestrator.Item{ConversationID: c.ID, Kind: orchestrator.ItemKind(e.Kind), AgentID: e.Agent, Text: e.Text, Data: e.Data, At: e.At}
		if e.Agent != "" && e.Agent != orchestrator.OwnAgent && e.Name != "" {
			if a, err := s.store.Agent(ctx, e.Agent); err != nil || a.Name == "" {
				it.AgentID = e.Name // nobody here knows it: its name is all there is
			}
		}
		switch it.Kind {
		case orchestrator.ItemArtifact:
			var d orchestrator.ArtifactData
			if json.Unmarshal(e.Data, &d) != nil || e.Artifact == nil {
				it.Kind, it.Data = orchestrator.ItemAgent, nil
				break
			}
			t := content(e)
			it.RunID = t.ID
			d.ArtifactID = strconv.Itoa(len(t.Artifacts))
			d.Copied = true
			a := *e.Artifact
			a.ID = d.ArtifactID
			t.Artifacts = append(t.Artifacts, a)
			it.Data, _ = json.Marshal(d)
		case orchestrator.ItemUser:
			if len(e.Files) > 0 {
				t := content(e)
				it.RunID = t.ID
				t.History = append(t.History, a2a.Message{ID: newID(), Role: a2a.RoleUser, Parts: append([]a2a.Part{a2a.TextPart(e.Text)}, e.Files...)})
			}
		case orchestrator.ItemAgent, orchestrator.ItemAsk, orchestrator.ItemEnd, orchestrator.ItemGap:
		default:
			return "", badRequest("This file holds something that this version of Parley does not know.")
		}
		if it.Text != "" {
			c.LastText = string([]rune(it.Text)[:min(len([]rune(it.Text)), 100)])
		}
		b.Items = append(b.Items, it)
	}
	for _, run := range order {
		t := runs[run]
		b.Events = append(b.Events, orchestrator.NewEvent{
			RunID: t.ID, ConversationID: c.ID, Kind: orchestrator.EventTask, At: t.Status.Timestamp, JSON: a2a.MarshalEvent(t), Event: t,
		})
	}
	if what != "" {
		b.Items = append(b.Items, &orchestrator.Item{ConversationID: c.ID, Kind: orchestrator.ItemGap, Text: what, At: now})
	}
	return c.ID, s.store.Write(ctx, b)
}

// branchChat begins a new chat that goes on from an item of this one: up to and with it, or before it.
func (s *Site) branchChat(w http.ResponseWriter, r *http.Request) error {
	item, err := strconv.ParseInt(r.PathValue("item"), 10, 64)
	if err != nil || item <= 0 {
		return orchestrator.ErrNotFound
	}
	id, err := s.branch(r.Context(), r.PathValue("id"), item, "")
	if err != nil {
		return err
	}
	return moved(w, r, "/c/"+url.PathEscape(id))
}

// branch copies the items of a chat up to one, with it; or without it, where something else is said in its place, which
// names the branch then.
func (s *Site) branch(ctx context.Context, conversation string, item int64, instead string) (string, error) {
	c, err := s.conversation(ctx, conversation)
	if err != nil {
		return "", err
	}
	var items []*exported
	found := false
	for e, err := range s.exported(ctx, c.ID, item) {
		if err != nil {
			return "", err
		}
		if found = e.ID == item; !found || instead == "" {
			items = append(items, e)
		}
	}
	if !found {
		return "", orchestrator.ErrNotFound
	}
	title, err := s.branchTitle(ctx, titleOf(ctx, c), instead)
	if err != nil {
		return "", err
	}
	what := ""
	if len(items) > 0 {
		what = view.T(ctx, "A branch of “%s” begins here. Agents do not know what is above.", titleOf(ctx, c))
	}
	return s.graft(ctx, exportHead{Title: title, To: c.To}, items, what)
}

// branchTitle names a branch of a chat by what is said there, or as the chat and a number: so that no newer chat is called
// the same.
func (s *Site) branchTitle(ctx context.Context, chat, said string) (string, error) {
	cs, err := s.store.ListConversations(ctx, "", paletteChats)
	if err != nil {
		return "", err
	}
	taken := func(title string) bool {
		return slices.ContainsFunc(cs, func(c *orchestrator.Conversation) bool { return titleOf(ctx, c) == title })
	}
	if said = orchestrator.TitleOf(said); said != "" && !taken(said) {
		return said, nil
	}
	mark := view.T(ctx, "%s · branch", "")
	stem := cmp.Or(said, chat)
	if i := strings.LastIndex(stem, mark); i > 0 { // a branch of a branch is one of the chat
		n := strings.TrimSpace(stem[i+len(mark):])
		if _, err := strconv.Atoi(n); n == "" || err == nil {
			stem = stem[:i]
		}
	}
	title := stem + mark
	for n := 2; taken(title); n++ {
		title = stem + mark + " " + strconv.Itoa(n)
	}
	return title, nil
}

// importChat takes in a chat that was exported as JSON.
func (s *Site) importChat(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, MaxImport)
	if err := r.ParseMultipartForm(8 << 20); err != nil {
		return unread(err)
	}
	f, h, err := r.FormFile("chat")
	if err != nil {
		return badRequest("Choose a file first.")
	}
	defer f.Close()
	var in struct {
		exportHead
		Items []*exported `json:"items"`
	}
	if err := json.NewDecoder(f).Decode(&in); err != nil && !errors.Is(err, io.EOF) || in.Parley == 0 {
		return badRequest("This is no chat that Parley exported as JSON.")
	}
	if in.Parley > exportVersion {
		return badRequest("This chat was exported by a newer version of Parley.")
	}
	for _, e := range in.Items {
		if e == nil {
			return badRequest("This is no chat that Parley exported as JSON.")
		}
	}
	id, err := s.graft(ctx, in.exportHead, in.Items, view.T(ctx, "Taken in from %s. Agents do not know what is above.", h.Filename))
	if err != nil {
		return err
	}
	return moved(w, r, "/c/"+url.PathEscape(id))
}
