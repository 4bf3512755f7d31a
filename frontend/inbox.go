package frontend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

const closedAsks = 50 // on a page of the inbox

// inboxBoard draws the inbox: the list of asks, and one of them beside it.
func (s *Site) inboxBoard(ctx context.Context, _ string, q url.Values) (*board, error) {
	kind := q.Get("view")
	muted, err := s.mutedAgents(ctx)
	if err != nil {
		return nil, err
	}
	var asks []*orchestrator.Ask
	next := ""
	if kind == "answered" {
		var before *orchestrator.Ask
		if id := q.Get("before"); id != "" {
			if before, err = s.store.Ask(ctx, id); err != nil {
				return nil, err
			}
		}
		if s.ledger != nil {
			asks, err = s.ledger.ClosedAsks(ctx, before, closedAsks)
		}
		if len(asks) == closedAsks {
			next = asks[closedAsks-1].ID
		}
	} else {
		asks, err = s.store.OpenAsks(ctx, "")
		slices.SortStableFunc(asks, func(a, b *orchestrator.Ask) int { return b.Opened.Compare(a.Opened) })
		if kind == "muted" {
			asks = slices.DeleteFunc(asks, func(a *orchestrator.Ask) bool { return !muted[a.AgentID] })
		}
	}
	if err != nil {
		return nil, err
	}
	b := &board{sections: []section{{id: "inbox-rows"}}, next: next}
	list := &b.sections[0]
	add := func(r row) { list.rows = append(list.rows, r) }
	picked := q.Get("ask")
	shown, err := s.pickedAsk(ctx, picked, asks)
	if err != nil {
		return nil, err
	}
	item := func(a *orchestrator.Ask, href string) {
		v := s.inboxItem(ctx, a)
		v.Muted, v.Href = muted[a.AgentID], href
		v.Current = shown != nil && shown.ID == a.ID
		add(newRow(ctx, "in-"+a.ID, view.InboxRow(v)))
	}
	href := func(a *orchestrator.Ask) string {
		q := url.Values{"ask": {a.ID}}
		if kind != "" {
			q.Set("view", kind)
		}
		return "/inbox?" + q.Encode()
	}
	if kind == "answered" {
		day := ""
		for _, a := range asks {
			if d := view.Day(ctx, a.Closed, s.now()); d != day {
				day = d
				id := "day-" + a.Closed.In(s.now().Location()).Format("2006-01-02")
				add(newRow(ctx, id, view.InboxGroup(id, d, "")))
			}
			item(a, href(a))
		}
	} else {
		for _, g := range byConversation(asks) {
			id := "g-" + cmp.Or(g[0].ConversationID, g[0].RunID)
			title, to := s.chatTitle(ctx, g[0].ConversationID)
			add(newRow(ctx, id, view.InboxGroup(id, title, to)))
			for _, a := range g {
				item(a, href(a))
			}
		}
	}
	if kind == "" && s.ledger != nil { // what was closed lately stands below
		lately, err := s.ledger.ClosedAsks(ctx, nil, 5)
		if err != nil {
			return nil, err
		}
		for i, a := range lately {
			if i == 0 {
				add(newRow(ctx, "lately", view.InboxGroup("lately", view.T(ctx, "Recently closed"), "/inbox?view=answered")))
			}
			item(a, "/inbox?ask="+url.QueryEscape(a.ID))
		}
	}
	if len(list.rows) == 0 {
		note := view.T(ctx, "Nothing waits for you.")
		switch kind {
		case "answered":
			note = view.T(ctx, "Nothing was answered yet.")
		case "muted":
			note = view.T(ctx, "No question of a muted agent is open.")
		}
		add(newRow(ctx, "inbox-none", view.InboxNote("inbox-none", note)))
	}
	detail := view.InboxNone(kind)
	if shown != nil {
		d, err := s.askDetail(ctx, shown)
		if err != nil {
			return nil, err
		}
		d.Muted = muted[shown.AgentID]
		detail = view.InboxAsk(d, s.now())
	}
	b.fixed = []row{newRow(ctx, "inbox-shown", detail)}
	return b, nil
}

// pickedAsk is the ask to be shown: the one that was asked for, else the first; nil when there is none.
func (s *Site) pickedAsk(ctx context.Context, id string, asks []*orchestrator.Ask) (*orchestrator.Ask, error) {
	if id != "" {
		a, err := s.store.Ask(ctx, id)
		if err == nil && a.Principal == orchestrator.LocalPrincipal {
			return a, nil
		}
		if err != nil && !errors.Is(err, orchestrator.ErrNotFound) {
			return nil, err
		}
	}
	if len(asks) == 0 {
		return nil, nil
	}
	return asks[0], nil
}

// byConversation groups asks, each group where its first was.
func byConversation(asks []*orchestrator.Ask) [][]*orchestrator.Ask {
	var out [][]*orchestrator.Ask
	at := map[string]int{}
	for _, a := range asks {
		key := cmp.Or(a.ConversationID, a.RunID)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}

func (s *Site) chatTitle(ctx context.Context, id string) (title, href string) {
	if id == "" {
		return view.T(ctx, "Outside a chat"), ""
	}
	c, err := s.store.Conversation(ctx, id)
	if err != nil {
		return view.T(ctx, "A chat that was deleted"), ""
	}
	return titleOf(ctx, c), "/c/" + url.PathEscape(id)
}

func (s *Site) inboxItem(ctx context.Context, a *orchestrator.Ask) view.InboxItem {
	v := view.InboxItem{ID: a.ID, Kind: a.Kind, Speaker: s.speaker(ctx, a.AgentID), At: a.Opened, Title: s.askTitle(ctx, a)}
	if a.State != orchestrator.AskOpen {
		st, answer := view.AskClosed(ctx, a.State, askAnswer(ctx, a))
		v.State, v.At, v.Answer = &st, a.Closed.In(s.now().Location()), answer
	}
	return v
}

// askTitle is an ask in one line.
func (s *Site) askTitle(ctx context.Context, a *orchestrator.Ask) string {
	if a.Kind == orchestrator.AskSignIn {
		for _, l := range a.Links {
			if host, ok := safe(l.URL); ok && host != "" {
				return view.T(ctx, "Sign in at %s", host)
			}
		}
	}
	v := s.askView(ctx, a)
	if first := firstLine(promptWords(ctx, a.Prompt)); first != "" && a.Kind != orchestrator.AskResend {
		return first
	}
	return v.Title
}

// firstLine is the first line of a text of Markdown without its marks, shortened.
func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(strings.NewReplacer("**", "", "`", "", "# ", "").Replace(strings.TrimLeft(text, "#>-* ")))
	if r := []rune(text); len(r) > 140 {
		text = string(r[:139]) + "…"
	}
	return text
}

// askAnswer is what was answered, as a receipt shows it.
func askAnswer(ctx context.Context, a *orchestrator.Ask) string {
	if len(a.Answer) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(a.Answer, &text) == nil {
		for _, c := range a.Choices {
			if c.ID == text {
				return view.Tv(ctx, c.Label)
			}
		}
		return answerWords(ctx, text, a.Schema)
	}
	var fields map[string]any
	if json.Unmarshal(a.Answer, &fields) == nil {
		if t, ok := fields["text"].(string); ok && t != "" {
			return t
		}
	}
	return answerWords(ctx, string(a.Answer), a.Schema)
}

// askDetail puts an ask into words, with where it comes from.
func (s *Site) askDetail(ctx context.Context, a *orchestrator.Ask) (view.AskDetail, error) {
	d := view.AskDetail{
		ID: a.ID, Title: s.askTitle(ctx, a), Speaker: s.speaker(ctx, a.AgentID), AgentID: a.AgentID, RunID: a.RunID,
		Open: a.State == orchestrator.AskOpen, CanMute: s.keeper() != nil && a.AgentID != "",
	}
	if a.ConversationID != "" {
		d.Chat, d.ChatHref = s.chatTitle(ctx, a.ConversationID)
		if d.ChatHref == "" {
			d.ChatHref = "/inbox"
		}
	}
	steps, err := s.store.Steps(ctx, a.RunID)
	if err != nil {
		return d, err
	}
	for i, st := range steps {
		if st.ID == a.StepID && (len(steps) > 1 || st.Attempt > 1) {
			d.Step, d.Attempt = i+1, max(st.Attempt, 1)
		}
	}
	if d.Open {
		d.Card = s.askView(ctx, a)
		d.Title, d.Card.Named = d.Card.Title, "inbox-h" // it is said once, above
		if run, err := s.store.Run(ctx, a.RunID); err == nil && a.AgentID != "" && run.To != a.AgentID &&
			run.To != orchestrator.Auto && run.To != orchestrator.OwnAgent && run.To != "" {
			d.Card.Through = s.people.link(ctx, run.To).Name
		}
	} else {
		st, answer := view.AskClosed(ctx, a.State, askAnswer(ctx, a))
		d.Receipt = &view.Receipt{State: &st, Answer: answer, Prompt: s.md.HTML(promptWords(ctx, a.Prompt))}
		d.Closed = a.Closed.In(s.now().Location())
	}
	if a.ConversationID != "" {
		items, err := s.store.Items(ctx, a.ConversationID, 0, 20)
		if err != nil {
			return d, err
		}
		for _, it := range slices.Backward(items) {
			if it.RunID == a.RunID && it.Kind == orchestrator.ItemAgent && strings.TrimSpace(it.Text) != strings.TrimSpace(a.Prompt) {
				d.Said = s.md.HTML(it.Text)
				break
			}
		}
	}
	return d, nil
}

// inboxPage is the page of the inbox.
func (s *Site) inboxPage(w http.ResponseWriter, r *http.Request) error {
	ctx, q := r.Context(), r.URL.Query()
	b, err := s.inboxBoard(ctx, "", q)
	if err != nil {
		return err
	}
	v := view.Inbox{View: q.Get("view"), Rows: b.find("inbox-rows"), Shown: b.find("inbox-shown"), Picked: q.Get("ask") != ""}
	if b.next != "" {
		v.Older = "/inbox?view=answered&before=" + url.QueryEscape(b.next)
	}
	return s.write(w, r, http.StatusOK, view.InboxPage(s.page(r, view.T(ctx, "Inbox"), view.Side{Section: "inbox"}), v))
}

// keeper looks after the agents, where the registry can; nil otherwise.
func (s *Site) keeper() orchestrator.Keeper {
	k, _ := s.registry.(orchestrator.Keeper)
	return k
}

// mutedAgents are the agents whose asks notify nobody.
func (s *Site) mutedAgents(ctx context.Context) (map[string]bool, error) {
	as, err := s.store.ListAgents(ctx)
	muted := map[string]bool{}
	for _, a := range as {
		if a.Muted {
			muted[a.ID] = true
		}
	}
	return muted, err
}

// muteAgent keeps an agent's asks out of notifications, or lets them in again.
func (s *Site) muteAgent(w http.ResponseWriter, r *http.Request) error {
	k := s.keeper()
	if k == nil {
		return errNoPage
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := k.Mute(r.Context(), r.PathValue("agent"), r.FormValue("on") != ""); err != nil {
		return err
	}
	s.agentsChanged()
	s.boards.touch()
	return done(w, r, "/inbox")
}
