package frontend

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

// askView puts an ask into words: the question itself is the title where it is short.
func (s *Site) askView(ctx context.Context, a *orchestrator.Ask) view.Ask {
	v := view.Ask{ID: a.ID, Kind: a.Kind, Speaker: s.speaker(ctx, a.AgentID), Choices: slices.Clone(a.Choices), Opened: a.Opened}
	for i := range v.Choices {
		v.Choices[i].Label = view.Tv(ctx, v.Choices[i].Label)
	}
	v.Goes = s.host(ctx, a.AgentID)
	prompt := promptWords(ctx, a.Prompt)
	switch a.Kind {
	case orchestrator.AskSignIn:
		v.Title = view.T(ctx, "Sign in so that %s can go on", v.Speaker.Name)
		v.Goes = ""
		for i, l := range a.Links {
			host, ok := safe(l.URL)
			if !ok || host == "" {
				continue
			}
			label := view.T(ctx, "Open %s", host)
			if len(v.Links) == 0 {
				label = view.T(ctx, "Open sign-in page")
			}
			v.Links = append(v.Links, view.AskLink{Label: label, Host: host, Href: "/asks/" + url.PathEscape(a.ID) + "/links/" + strconv.Itoa(i)})
		}
	case orchestrator.AskResend:
		v.Title, v.Goes = view.T(ctx, "It may have arrived. Send again?"), ""
	default:
		v.Title = view.T(ctx, "%s needs your answer", v.Speaker.Name)
		if first, rest, _ := strings.Cut(prompt, "\n\n"); first != "" && len([]rune(first)) <= 120 && !strings.ContainsAny(first, "\n*`[_#<|") {
			v.Title, prompt = first, rest
		}
		if a.Schema != nil {
			v.Form = newForm(ctx, a.ID, a.Schema)
		}
	}
	v.Prompt = s.md.HTML(prompt)
	return v
}

// host is where an agent is, "" when it is on this computer or Parley itself.
func (s *Site) host(ctx context.Context, agent string) string {
	if agent == "" {
		return ""
	}
	a, err := s.store.Agent(ctx, agent)
	if err != nil || a.Local || a.Interface.URL == "" {
		return ""
	}
	return view.Host(a.Interface.URL)
}

// answer takes what the person gives to an ask.
func (s *Site) answer(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, maxFiles+1<<20)
	if err := r.ParseMultipartForm(8 << 20); err != nil && err != http.ErrNotMultipart {
		return unread(err)
	}
	ask, err := s.store.Ask(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	if ask.State != orchestrator.AskOpen {
		return &fail{http.StatusConflict, askClosed(ask)}
	}
	v := s.askView(ctx, ask)
	ans := &orchestrator.Answer{Text: strings.TrimSpace(strings.ReplaceAll(r.FormValue("text"), "\r\n", "\n"))}
	choice := r.FormValue("choice")
	switch {
	case r.FormValue("decline") != "":
		ans = &orchestrator.Answer{Decline: true}
	case ask.Kind == orchestrator.AskChoice, ask.Kind == orchestrator.AskResend,
		ask.Kind == orchestrator.AskApproval && len(ask.Choices) > 0:
		if !offered(ask, choice) {
			return badRequest("That is not one of the choices.")
		}
		ans = &orchestrator.Answer{Choice: choice}
	case ask.Kind == orchestrator.AskSignIn:
		ans = &orchestrator.Answer{}
	case choice != "":
		if !offered(ask, choice) {
			return badRequest("That is not one of the choices.")
		}
		ans.Text = choice
	case v.Form != nil:
		data, problem, ok := readForm(ctx, v.Form, ask.Schema, r.PostForm)
		if !ok {
			v.Err = problem
			return s.askAgain(w, r, ask, v)
		}
		ans = &orchestrator.Answer{Data: data}
	case ans.Text == "":
		v.Err = view.T(ctx, "Write an answer first, or decline.")
		return s.askAgain(w, r, ask, v)
	}
	if err := s.runner.Answer(ctx, ask.ID, ans); err != nil {
		if !scripted(r) {
			return err
		}
		status, fault := faultOf(ctx, err)
		if status == http.StatusConflict {
			return err
		}
		v.Text, v.Err = ans.Text, view.Tv(ctx, fault.What)
		return s.askAgain(w, r, ask, v)
	}
	return done(w, r, "/c/"+url.PathEscape(ask.ConversationID))
}

func offered(a *orchestrator.Ask, id string) bool {
	for _, c := range a.Choices {
		if c.ID == id {
			return true
		}
	}
	return a.Kind == orchestrator.AskResend && (id == "again" || id == "leave")
}

func askClosed(a *orchestrator.Ask) *orchestrator.Fault {
	f := &orchestrator.Fault{Kind: "ask-closed", Where: orchestrator.WhereUs, What: "This was answered already, perhaps in another window.", Do: "Load the page again to see how it went on."}
	if a.State == orchestrator.AskGone {
		f.What = view.Mark("The agent does not wait for this any more.")
	}
	return f
}

// askAgain shows an ask with what was typed and what is wrong with it.
func (s *Site) askAgain(w http.ResponseWriter, r *http.Request, ask *orchestrator.Ask, v view.Ask) error {
	if scripted(r) {
		w.Header().Set("Parley-Replace", "form")
		return s.write(w, r, http.StatusUnprocessableEntity, view.AskCard(v, s.now()))
	}
	p := s.page(r, v.Title, view.Side{Chat: ask.ConversationID})
	return s.write(w, r, http.StatusUnprocessableEntity, view.AskPage(p, v, "/c/"+url.PathEscape(ask.ConversationID)))
}

// askLink stands between the page and a site an agent asks the person to sign in at.
func (s *Site) askLink(w http.ResponseWriter, r *http.Request) error {
	ask, err := s.store.Ask(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n >= len(ask.Links) {
		return orchestrator.ErrNotFound
	}
	return s.leave(w, r, ask.AgentID, ask.Links[n].URL)
}

// promptWords is what an ask asks, in the language of ctx as far as it is ours: an agent's own words may follow them.
func promptWords(ctx context.Context, prompt string) string {
	prompt = strings.TrimSpace(prompt)
	if rest, ok := strings.CutPrefix(prompt, orchestrator.NotSignedIn); ok {
		return view.T(ctx, "The agent does not see yet that you have signed in.") + rest
	}
	return view.Tv(ctx, prompt)
}

// receipt says how an ask of the transcript was closed, and with what answer.
func (s *Site) receipt(ctx context.Context, d *orchestrator.AskData) (st view.State, answer string) {
	st, answer = view.AskClosed(ctx, d.State, d.Answer)
	var schema json.RawMessage
	if strings.HasPrefix(answer, "{") {
		if a, err := s.store.Ask(ctx, d.AskID); err == nil {
			schema = a.Schema
		}
	}
	return st, answerWords(ctx, answer, schema)
}

// answerWords is an answer as people read it: what was filled into a form as its names, by the schema where it has any, with
// their values.
func answerWords(ctx context.Context, answer string, schema json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(answer))
	if t, err := d.Token(); err != nil || t != json.Delim('{') || !json.Valid([]byte(answer)) {
		return answer
	}
	var n schemaNode
	_ = json.Unmarshal(schema, &n)
	var parts []string
	for d.More() {
		var v json.RawMessage
		name, err := d.Token()
		if err != nil || d.Decode(&v) != nil {
			return answer
		}
		label := words(name.(string))
		for _, p := range n.Properties {
			if p.name == name && p.node.Title != "" {
				label = p.node.Title
			}
		}
		parts = append(parts, view.T(ctx, "%s: %s", label, valueWords(ctx, v)))
	}
	return strings.Join(parts, ", ")
}

func valueWords(ctx context.Context, v json.RawMessage) string {
	switch string(v) {
	case "true":
		return view.T(ctx, "Yes")
	case "false":
		return view.T(ctx, "No")
	}
	if many := valuesOf(v); many != nil {
		return strings.Join(many, ", ")
	}
	return shown(v)
}
