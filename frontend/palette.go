package frontend

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

const (
	paletteRows  = 6   // of each group
	paletteChats = 400 // chats whose names are looked at
	findHits     = 200 // messages found in one chat
)

// matching returns the text in spans, the part that matches q marked; nil when nothing does.
func matching(text, q string) []orchestrator.Span {
	if q == "" {
		return []orchestrator.Span{{Text: text}}
	}
	lower := strings.ToLower(text)
	i := strings.Index(lower, strings.ToLower(q))
	if i < 0 || len(lower) != len(text) && !strings.EqualFold(text, q) {
		if i < 0 {
			return nil
		}
		return []orchestrator.Span{{Text: text}} // case changed its length: nothing can be marked
	}
	return []orchestrator.Span{{Text: text[:i]}, {Text: text[i : i+len(q)], Mark: true}, {Text: text[i+len(q):]}}
}

// palette lists what can be gone to or done, and the messages in which the words are found.
func (s *Site) palette(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := strings.TrimSpace(r.FormValue("q"))
	if runes := []rune(q); len(runes) > 200 {
		q = string(runes[:200])
	}
	var groups []view.OptionGroup
	add := func(name string, rows []view.Option) {
		if len(rows) > 0 {
			groups = append(groups, view.OptionGroup{Name: name, Options: rows})
		}
	}
	add(view.T(ctx, "This chat"), s.chatActions(ctx, r.FormValue("chat"), q))
	chats, err := s.chatOptions(ctx, q)
	if err != nil {
		return err
	}
	add(view.T(ctx, "Chats"), chats)
	agents, err := s.agentOptions(ctx, q)
	if err != nil {
		return err
	}
	add(view.T(ctx, "Agents"), agents)
	flows, err := s.workflowOptions(ctx, q)
	if err != nil {
		return err
	}
	add(view.T(ctx, "Workflows"), flows)
	add(view.T(ctx, "Actions"), s.actions(ctx, q))
	add(view.T(ctx, "Messages"), s.messageOptions(ctx, q))
	return s.write(w, r, http.StatusOK, view.Options(groups))
}

// pick keeps the options whose name matches.
func pick(q string, n int, options ...view.Option) []view.Option {
	var out []view.Option
	for _, o := range options {
		if o.Name = matching(o.Name[0].Text, q); o.Name != nil && len(out) < n {
			out = append(out, o)
		}
	}
	return out
}

func named(text string) []orchestrator.Span { return []orchestrator.Span{{Text: text}} }

// chatActions are what can be done with the chat that is open: each presses a button of its page, or opens an address.
func (s *Site) chatActions(ctx context.Context, id, q string) []view.Option {
	if id == "" {
		return nil
	}
	c, err := s.conversation(ctx, id)
	if err != nil {
		return nil
	}
	pin := view.T(ctx, "Pin this chat")
	if c.Pinned {
		pin = view.T(ctx, "Unpin this chat")
	}
	at := "/c/" + url.PathEscape(id)
	return pick(q, 20,
		view.Option{Name: named(view.T(ctx, "Find in this chat")), Icon: "i-search", Press: "find-open", Kbd: "Ctrl F"},
		view.Option{Name: named(view.T(ctx, "Rename this chat")), Icon: "i-edit", Press: "rename-open", Kbd: "F2"},
		view.Option{Name: named(pin), Icon: "i-pin", Press: "pin-button"},
		view.Option{Name: named(view.T(ctx, "Download as Markdown")), Icon: "i-down", Href: at + "/export.md", Download: true},
		view.Option{Name: named(view.T(ctx, "Download as one HTML file")), Icon: "i-down", Href: at + "/export.html", Download: true},
		view.Option{Name: named(view.T(ctx, "Download as JSON")), Icon: "i-down", Href: at + "/export.json", Download: true},
		view.Option{Name: named(view.T(ctx, "Delete this chat")), Icon: "i-trash", Press: "delete-open"},
	)
}

// actions are what can be done anywhere.
func (s *Site) actions(ctx context.Context, q string) []view.Option {
	options := []view.Option{
		{Name: named(view.T(ctx, "New chat")), Icon: "i-new", Href: "/", Kbd: "Ctrl Alt N"},
		{Name: named(view.T(ctx, "Search all chats")), Icon: "i-search", Href: "/search?q=" + url.QueryEscape(q), Kbd: "Ctrl Shift F"},
		{Name: named(view.T(ctx, "Inbox")), Icon: "i-inbox", Href: "/inbox"},
		{Name: named(view.T(ctx, "Agents")), Icon: "i-agents", Href: "/agents"},
		{Name: named(view.T(ctx, "Connect an agent")), Icon: "i-plus", Href: "/connect"},
		{Name: named(view.T(ctx, "Tasks")), Icon: "i-tasks", Href: "/tasks"},
		{Name: named(view.T(ctx, "Workflows")), Icon: "i-flow", Href: "/workflows"},
		{Name: named(view.T(ctx, "Wire")), Icon: "i-wire", Href: "/wire"},
		{Name: named(view.T(ctx, "Import a chat")), Icon: "i-file", Href: "/import"},
		{Name: named(view.T(ctx, "Settings")), Icon: "i-settings", Href: "/settings", Kbd: "Ctrl ,"},
		{Name: named(view.T(ctx, "Keyboard shortcuts")), Icon: "i-key", Press: "keys-open", Kbd: "?"},
	}
	if s.opts.Publisher != nil {
		options = append(options, view.Option{Name: named(view.T(ctx, "My agent")), Icon: "i-cast", Href: "/my-agent"})
	}
	return pick(q, 20, options...)
}

func (s *Site) chatOptions(ctx context.Context, q string) ([]view.Option, error) {
	var out []view.Option
	cs, err := s.store.ListConversations(ctx, "", paletteChats)
	if err != nil {
		return nil, err
	}
	for _, c := range cs {
		if len(out) == paletteRows {
			break
		}
		spans := matching(titleOf(ctx, c), q)
		if spans == nil || s.bin.has(c.ID) {
			continue
		}
		o := view.Option{Name: spans, Href: "/c/" + url.PathEscape(c.ID), Detail: view.Day(ctx, c.Updated, s.now()), Icon: "i-new"}
		if c.To != "" && c.To != orchestrator.Auto {
			l := s.people.link(ctx, c.To)
			o.Flag = &l.Flag
		}
		out = append(out, o)
	}
	return out, nil
}

// agentOptions offer to write to an agent.
func (s *Site) agentOptions(ctx context.Context, q string) ([]view.Option, error) {
	links, err := s.agents(ctx)
	if err != nil {
		return nil, err
	}
	var out []view.Option
	for _, l := range links {
		spans := matching(l.Name, q)
		if spans == nil && q != "" && strings.HasPrefix(l.ID, strings.ToLower(q)) {
			spans = named(l.Name)
		}
		if spans != nil && len(out) < paletteRows {
			out = append(out, view.Option{
				Name: spans, Flag: &l.Flag, Detail: view.T(ctx, "New chat with this agent"), Href: "/?to=" + url.QueryEscape(l.ID),
				To: l.ID, Insert: "@" + l.Called + " ",
			})
		}
	}
	return out, nil
}

// workflowOptions offer to run a workflow.
func (s *Site) workflowOptions(ctx context.Context, q string) ([]view.Option, error) {
	ws, err := s.store.ListWorkflows(ctx)
	if err != nil {
		return nil, err
	}
	var out []view.Option
	for _, f := range ws {
		spans := matching(f.Name, q)
		if spans == nil && matching(f.ID, q) != nil {
			spans = named(f.Name)
		}
		if spans != nil && len(out) < paletteRows {
			out = append(out, view.Option{
				Name: spans, Icon: "i-flow", Detail: f.Description, Short: "/" + f.ID, Href: "/?text=" + url.QueryEscape("/"+f.ID+" "), Insert: "/" + f.ID + " ",
			})
		}
	}
	return out, nil
}

// messageOptions are the newest messages with the words of q.
func (s *Site) messageOptions(ctx context.Context, q string) []view.Option {
	if len([]rune(q)) < 2 {
		return nil
	}
	hits, err := s.store.Search(ctx, orchestrator.SearchQuery{Text: q, Limit: paletteRows})
	if err != nil {
		return nil // the search page says why
	}
	var out []view.Option
	for _, h := range hits {
		if s.bin.has(h.Item.ConversationID) || !saidIn(h) {
			continue
		}
		id := strconv.FormatInt(h.Item.ID, 10)
		o := view.Option{
			Name: unmarked(h), Detail: h.Title, Icon: "i-edit",
			Href: "/c/" + url.PathEscape(h.Item.ConversationID) + "?at=" + id + "#i" + id,
		}
		if h.Item.Kind != orchestrator.ItemUser {
			if sp := s.speaker(ctx, h.Item.AgentID); sp.Parley {
				o.Icon = "i-parley"
			} else {
				o.Flag = &sp.Flag
			}
		}
		out = append(out, o)
	}
	return out
}

// complete lists what a word of the composer may become: "@" an agent, "/" a workflow.
func (s *Site) complete(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := r.FormValue("q")
	var groups []view.OptionGroup
	switch {
	case strings.HasPrefix(q, "@"):
		rows, err := s.agentOptions(ctx, q[1:])
		if err != nil {
			return err
		}
		for i := range rows {
			rows[i].Detail = ""
		}
		groups = append(groups, view.OptionGroup{Name: view.T(ctx, "Agents"), Options: rows})
	case strings.HasPrefix(q, "/"):
		rows, err := s.workflowOptions(ctx, q[1:])
		if err != nil {
			return err
		}
		groups = append(groups, view.OptionGroup{Name: view.T(ctx, "Workflows"), Options: rows})
	}
	if len(groups) == 0 || len(groups[0].Options) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.write(w, r, http.StatusOK, view.Options(groups))
}

// findInChat returns the items of a chat in which words are found, the newest first, as JSON. What a page shows is only a
// window on its chat, so a browser's own search does not do.
func (s *Site) findInChat(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	c, err := s.conversation(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := struct {
		Hits []int64 `json:"hits"`
	}{Hits: []int64{}}
	if q := strings.TrimSpace(r.FormValue("q")); q != "" {
		hits, err := s.store.Search(ctx, orchestrator.SearchQuery{Text: q, ConversationID: c.ID, Limit: findHits})
		if err != nil {
			return err
		}
		for _, h := range hits {
			out.Hits = append(out.Hits, h.Item.ID)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(out)
}

// importPage takes a file with a chat.
func (s *Site) importPage(w http.ResponseWriter, r *http.Request) error {
	p := s.page(r, view.T(r.Context(), "Import a chat"), view.Side{})
	return s.write(w, r, http.StatusOK, view.ImportPage(p))
}
