package frontend

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

// askHints are the open asks as a notification shows them, the newest last.
func (s *Site) askHints(ctx context.Context) ([]view.AskHint, error) {
	asks, err := s.store.OpenAsks(ctx, "")
	if err != nil || len(asks) == 0 {
		return nil, err
	}
	muted, err := s.mutedAgents(ctx)
	var hints []view.AskHint
	for _, a := range asks {
		who := s.speaker(ctx, a.AgentID).Name
		body := who
		if a.ConversationID != "" {
			title, _ := s.chatTitle(ctx, a.ConversationID)
			body = view.T(ctx, "%s, in %s", who, title)
		}
		hints = append(hints, view.AskHint{ID: a.ID, Title: s.askTitle(ctx, a), Body: body, Muted: muted[a.AgentID]})
	}
	return hints, err
}

// notify has the window tell the person of each new ask while they look elsewhere, and take back what waits no more. A
// browser does that by itself.
func (s *Site) notify() {
	if s.opts.Shell == nil {
		return
	}
	known := map[string]bool{} // true: it was told
	look := func(tell bool) {
		ctx := s.spoken(s.ctx)
		hints, err := s.askHints(ctx)
		if err != nil {
			return // the next change looks again
		}
		open := map[string]bool{}
		for _, h := range hints {
			open[h.ID] = true
			if _, ok := known[h.ID]; ok {
				continue
			}
			known[h.ID] = tell && !h.Muted && !s.looked.Load()
			if !known[h.ID] {
				continue
			}
			n := &Notice{ID: "ask-" + h.ID, Title: h.Title, Body: h.Body, Href: "/inbox?ask=" + url.QueryEscape(h.ID)}
			if a, err := s.store.Ask(ctx, h.ID); err == nil {
				n.Buttons = s.noticeButtons(ctx, a, n.Href)
			}
			if err := s.opts.Shell.Notify(n); err != nil {
				s.log.WarnContext(ctx, "no notification", "error", err)
			}
		}
		for id, told := range known {
			if open[id] {
				continue
			}
			if told {
				s.opts.Shell.Withdraw("ask-" + id)
			}
			delete(known, id)
		}
	}
	look(false)
	for c := range s.store.Changes(s.ctx) {
		if c.AskID != "" || c.RunID != "" || c.ConversationID != "" {
			look(true)
		}
	}
}

// noticeButtons are what an ask can be answered with where it is told. There is an answer only for what is seen whole: a
// choice whose question is one short line and whose choices need no more words than a button has. What an approval is for,
// a plan or a message, stands on the page alone: there it is given, and here at most refused.
func (s *Site) noticeButtons(ctx context.Context, a *orchestrator.Ask, href string) []Button {
	label := ""
	switch a.Kind {
	case orchestrator.AskSignIn:
		label = view.T(ctx, "Sign in…")
	case orchestrator.AskInput:
		label = view.T(ctx, "Answer…")
	default:
		label = view.T(ctx, "Look at it…")
	}
	look := []Button{{Label: label}}
	prompt := promptWords(ctx, a.Prompt)
	seen := a.Kind == orchestrator.AskResend || s.askTitle(ctx, a) == prompt
	if a.Kind == orchestrator.AskSignIn || a.Schema != nil || !seen || len(a.Choices) == 0 || len(a.Choices) > maxButtons {
		return look
	}
	var buttons []Button
	for i, c := range a.Choices {
		if a.Kind == orchestrator.AskApproval && i == 0 {
			buttons = look
			continue
		}
		label := view.Tv(ctx, c.Label)
		if a.Kind != orchestrator.AskResend && c.Detail != "" || label == "" || len([]rune(label)) > buttonText || strings.ContainsAny(label, "\r\n") {
			return look
		}
		answer := &orchestrator.Answer{Choice: c.ID}
		if a.Kind == orchestrator.AskInput {
			answer = &orchestrator.Answer{Text: c.ID}
		}
		buttons = append(buttons, Button{Label: label, Do: func() {
			err := s.runner.Answer(s.ctx, a.ID, answer)
			if err != nil { // the page says what stands in its way
				s.log.InfoContext(s.ctx, "an ask was not answered from its notification", "ask", a.ID, "error", err)
				_ = s.opts.Shell.Show(href)
			}
		}})
	}
	return buttons
}

const (
	maxButtons = 3
	buttonText = 30 // characters
)

// setLooked is told by the page whether somebody looks at the window.
func (s *Site) setLooked(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Shell == nil {
		return errNoPage
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	s.looked.Store(r.FormValue("on") != "")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
