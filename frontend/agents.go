package frontend

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

func (s *Site) agentsPage(w http.ResponseWriter, r *http.Request) error {
	return s.agentList(w, r, nil)
}

// agentPage shows one agent beside the list.
func (s *Site) agentPage(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	a, err := s.store.Agent(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	if a.Trust == orchestrator.TrustRemoved {
		return orchestrator.ErrNotFound
	}
	d := s.detail(ctx, a)
	grants, err := s.store.Grants(ctx, a.ID)
	if err != nil {
		return err
	}
	d.Origins = nil
	for _, g := range grants {
		d.Origins = append(d.Origins, g.Origin)
	}
	if d.Keep, err = s.keepOf(ctx, a, grants); err != nil {
		return err
	}
	d.Change = s.changeOf(ctx, a, grants)
	if f := a.Health.Fault; f != nil {
		d.Fault = view.FaultOf(ctx, f, "")
		d.Fault.Title = view.T(ctx, "It did not answer the last time")
		if f.Where == orchestrator.WhereSignIn { // whatever its card says of it
			d.Fault.Title, d.NeedsSecret = view.T(ctx, "The last time it wanted to know who you are"), true
		}
	}
	asked := r.URL.Query()
	if d.Kept = asked.Has("kept"); d.Kept {
		d.NeedsSecret = true
	}
	if k := asked.Get("sign-in"); k != "" { // a refusal led here
		d.NeedsSecret, d.Asked, d.Scheme = true, true, view.SecretKind{Kind: k, Header: asked.Get("name"), Location: asked.Get("in")}
	}
	if asked.Has("speak") {
		d.At.Open = true
	}
	d.NeedsSecret = d.NeedsSecret || d.Keep != nil && d.Keep.Lost != ""
	d.Scheme.Fleeting = s.opts.Fleeting
	return s.agentList(w, r, &d)
}

func (s *Site) agentList(w http.ResponseWriter, r *http.Request, d *view.AgentDetail) error {
	ctx := r.Context()
	as, err := s.store.ListAgents(ctx)
	if err != nil {
		return err
	}
	var rows []view.AgentRow
	links := linksOf(as)
	for i, a := range as {
		rows = append(rows, view.AgentRow{Link: links[i], State: view.AgentState(ctx, a), Detail: rowDetail(ctx, a), Local: a.Local})
	}
	title := view.T(ctx, "Agents")
	if d != nil {
		title = d.Name
	}
	return s.write(w, r, http.StatusOK, view.AgentsPage(s.page(r, title, view.Side{Section: "agents"}), rows, d))
}

func rowDetail(ctx context.Context, a *orchestrator.Agent) string {
	ds := []string{speaks(ctx, a)}
	if !a.Local {
		ds = append(ds, view.Host(a.Interface.URL))
	}
	return strings.Join(slices.DeleteFunc(ds, func(s string) bool { return s == "" }), ", ")
}

func speaks(ctx context.Context, a *orchestrator.Agent) string {
	d := a.Dialect
	if d == "" && a.Interface.Version != "" {
		d = "v" + strings.TrimPrefix(a.Interface.Version, "v")
	}
	if b := view.Binding(ctx, a.Interface.Binding); b != "" && d != "" {
		return view.T(ctx, "A2A %s over %s", d, b)
	}
	return d
}

// known says how it is known what an agent speaks, where that is not plainly its card.
func known(ctx context.Context, a *orchestrator.Agent) string {
	switch a.Known {
	case orchestrator.KnownByAnswer:
		return view.T(ctx, "It answers so, whatever its card says.")
	case orchestrator.KnownByPerson:
		return view.T(ctx, "As you chose.")
	}
	return ""
}

// detail puts an agent's card into words.
func (s *Site) detail(ctx context.Context, a *orchestrator.Agent) view.AgentDetail {
	l := agentLink(a)
	d := view.AgentDetail{
		ID: a.ID, Name: l.Name, Flag: l.Flag, State: view.AgentState(ctx, a),
		Held: a.Trust == orchestrator.TrustReview, Blocked: a.Trust == orchestrator.TrustBlocked, Speaks: speaks(ctx, a), Known: known(ctx, a), Address: a.Interface.URL,
		At:    view.At{Chosen: a.Known == orchestrator.KnownByPerson, Version: a.Interface.Version, Binding: a.Interface.Binding, Tenant: a.Interface.Tenant},
		Notes: a.Remarks(), Local: a.Local, Raw: pretty(a.CardJSON), Signed: view.SignedBy(ctx, a.Signature),
	}
	c := a.Card
	if c == nil {
		return d
	}
	var by []string
	if c.Provider != nil && c.Provider.Organization != "" {
		by = append(by, view.T(ctx, "by %s", c.Provider.Organization))
	}
	if c.Version != "" {
		by = append(by, view.T(ctx, "version %s", c.Version))
	}
	d.By = strings.Join(by, ", ")
	d.Description = s.md.HTML(c.Description)
	for _, i := range c.Interfaces {
		if i.URL != a.Interface.URL || i.Binding != a.Interface.Binding || i.Version != a.Interface.Version {
			d.Also = append(d.Also, view.T(ctx, "A2A %s over %s", "v"+i.Version, view.Binding(ctx, i.Binding)))
		}
	}
	d.Also = slices.Compact(d.Also)
	for _, is := range []struct {
		on   bool
		word string
	}{{c.Capabilities.Streaming, view.T(ctx, "Streaming")}, {c.Capabilities.PushNotifications, view.T(ctx, "Push")}, {c.Capabilities.ExtendedAgentCard, view.T(ctx, "Extended card")}} {
		if is.on {
			d.Can = append(d.Can, is.word)
		}
	}
	for _, e := range c.Capabilities.Extensions {
		d.Can = append(d.Can, view.T(ctx, "Extension %s", e.URI))
	}
	d.Takes, d.Gives = modes(ctx, c.DefaultInputModes), modes(ctx, c.DefaultOutputModes)
	names := make([]string, 0, len(c.SecuritySchemes))
	for n := range c.SecuritySchemes {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		sc := c.SecuritySchemes[n]
		d.SignIn = append(d.SignIn, view.Scheme(ctx, sc))
		d.NeedsSecret = true
	}
	d.Scheme, _ = wanted(c.SecuritySchemes, c.SecurityRequirements)
	for _, sk := range c.Skills {
		v := view.Skill{Name: sk.Name, Description: s.md.HTML(sk.Description), Tags: sk.Tags}
		for _, e := range sk.Examples {
			if len(v.Examples) < 4 {
				v.Examples = append(v.Examples, example(a.ID, e))
			}
		}
		d.Skills = append(d.Skills, v)
	}
	return d
}

func pretty(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return string(b)
	}
	return out.String()
}

func (s *Site) removeAgent(w http.ResponseWriter, r *http.Request) error {
	if err := s.registry.Remove(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	s.agentsChanged()
	return moved(w, r, "/agents")
}

// setSpeaks takes how a person wants an agent to be called.
func (s *Site) setSpeaks(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	id := r.PathValue("id")
	var at *a2a.AgentInterface
	if v := r.FormValue("version"); v != "" {
		at = &a2a.AgentInterface{
			URL: strings.TrimSpace(r.FormValue("url")), Binding: r.FormValue("binding"), Version: v,
			Tenant: strings.TrimSpace(r.FormValue("tenant")),
		}
	}
	if err := s.registry.Speak(r.Context(), id, at); err != nil {
		return err
	}
	s.agentsChanged()
	return moved(w, r, "/agents/"+url.PathEscape(id))
}

func (s *Site) agentsChanged() {
	s.people.forget()
	s.pages.clear()
	s.lobby.mark()
}

func (s *Site) setCredential(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	c := credential(r)
	if c == nil {
		return badRequest("There is no secret to keep.")
	}
	id := r.PathValue("id")
	if err := s.registry.SetCredential(r.Context(), id, c); err != nil {
		return err
	}
	s.agentsChanged()
	return moved(w, r, "/agents/"+url.PathEscape(id)+"?kept")
}
