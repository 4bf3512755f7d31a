package frontend

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/frontend/view"
	"parley/orchestrator"
)

// keepOf is what a person can see and do about an agent that was let in; nil where nobody looks after agents.
func (s *Site) keepOf(ctx context.Context, a *orchestrator.Agent, grants []orchestrator.Grant) (*view.Keep, error) {
	keeper := s.keeper()
	if keeper == nil {
		return nil, nil
	}
	look, err := keeper.Look(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	origin := originOf(a.Interface.URL)
	k := &view.Keep{Muted: a.Muted, Health: s.healthOf(ctx, a, look), Trust: s.trustOf(ctx, a, look, origin)}
	if t := look.Test; t != nil {
		k.Tested, k.Test = s.when(ctx, t.At), testSteps(ctx, t)
	}
	for _, g := range grants {
		k.Grants = append(k.Grants, view.GrantRow{Origin: g.Origin, Given: s.date(ctx, g.Given)})
	}
	wanted := false
	for _, c := range look.Credentials {
		k.Creds = append(k.Creds, view.CredRow{Kind: c.Kind, Word: credentialWord(ctx, c.Kind), Origin: c.Origin, Name: c.Name})
		wanted = wanted || c.Origin == origin
	}
	if len(look.Credentials) > 0 && !wanted && origin != "" {
		k.Lost = origin
	}
	for _, f := range look.Findings {
		k.Findings = append(k.Findings, view.FindingRow{State: findingState(ctx, f.Level), Path: f.Path, What: view.Tv(ctx, f.What), Rule: f.Rule})
	}
	if a.Card != nil && a.Card.Capabilities.ExtendedAgentCard {
		k.Extended = &view.ExtendedCard{}
		if look.Extended != nil {
			k.Extended = &view.ExtendedCard{
				Fetched: true, Hunks: hunks(orchestrator.DiffCards(a.Card, look.Extended)), Raw: pretty(look.ExtendedJSON),
			}
			k.Extended.Same = len(k.Extended.Hunks) == 0
		}
	}
	return k, nil
}

func findingState(ctx context.Context, l orchestrator.FindingLevel) view.State {
	switch l {
	case orchestrator.FindingError:
		return view.State{Class: "is-fail", Icon: "s-fail", Word: view.T(ctx, "Error")}
	case orchestrator.FindingWarning:
		return view.State{Class: "is-decl", Icon: "s-decl", Word: view.T(ctx, "Warning")}
	}
	return view.State{Class: "is-wait", Icon: "s-wait", Word: view.T(ctx, "Note")}
}

func good(ctx context.Context) view.State {
	return view.State{Class: "is-done", Icon: "s-done", Word: view.T(ctx, "Good")}
}

func unknown(ctx context.Context) view.State {
	return view.State{Class: "is-wait", Icon: "s-wait", Word: view.T(ctx, "Not known")}
}

func amiss(ctx context.Context) view.State {
	return view.State{Class: "is-fail", Icon: "s-fail", Word: view.T(ctx, "Wrong")}
}

// healthOf says how the last contact went.
func (s *Site) healthOf(ctx context.Context, a *orchestrator.Agent, look *orchestrator.AgentLook) []view.TrustCheck {
	state := view.TrustCheck{State: view.AgentState(ctx, a), Name: view.T(ctx, "State"), Text: view.AgentState(ctx, a).Word}
	if h := a.Health; !h.Checked.IsZero() {
		state.Lines = append(state.Lines, view.T(ctx, "since %s", s.when(ctx, h.Checked)))
	}
	out := []view.TrustCheck{state}
	contact := view.TrustCheck{State: unknown(ctx), Name: view.T(ctx, "Last contact"), Text: view.T(ctx, "None since Parley was started.")}
	if c := look.Contact; c != nil {
		contact.State, contact.Text, contact.Code = good(ctx), s.when(ctx, c.At)+",", c.Method
		if c.Err != "" {
			contact.State = amiss(ctx)
			contact.Lines = []string{c.Err}
		}
	}
	out = append(out, contact)
	if l := a.Health.Latency; l > 0 {
		out = append(out, view.TrustCheck{State: good(ctx), Name: view.T(ctx, "Answers in"), Text: took(ctx, l)})
	}
	return out
}

// took is a short time in words.
func took(ctx context.Context, d time.Duration) string {
	if d < time.Second {
		return view.T(ctx, "%d ms", max(1, d.Milliseconds()))
	}
	return view.T(ctx, "%.1f s", d.Seconds())
}

func testSteps(ctx context.Context, t *orchestrator.AgentTest) (out []view.TrustCheck) {
	for _, s := range t.Steps {
		c := view.TrustCheck{State: good(ctx), Name: view.Tv(ctx, s.Name), Text: view.Tv(ctx, s.Detail)}
		switch {
		case s.Left:
			c.State = view.State{Class: "is-skip", Icon: "s-skip", Word: view.T(ctx, "Not tried")}
		case s.Fault != nil:
			c.State, c.Fault = amiss(ctx), view.FaultOf(ctx, s.Fault, "")
			if s.Fault.Where == orchestrator.WhereSignIn {
				c.State = view.State{Class: "is-auth", Icon: "s-auth", Word: view.T(ctx, "Needs you to sign in")}
			}
		}
		if s.Name == "Answer" && t.Latency > 0 {
			c.Lines = append(c.Lines, view.T(ctx, "after %s", took(ctx, t.Latency)))
		}
		out = append(out, c)
	}
	return out
}

// trustOf says what an agent's name stands for: where its card is from, who it is over TLS, who signed, what changed.
func (s *Site) trustOf(ctx context.Context, a *orchestrator.Agent, look *orchestrator.AgentLook, origin string) []view.TrustCheck {
	from := view.TrustCheck{State: good(ctx), Name: view.T(ctx, "Origin")}
	switch card := view.Host(a.CardURL); {
	case a.CardURL == "":
		from.State, from.Text, from.Code = unknown(ctx), view.T(ctx, "Its card was pasted. It is called at"), view.Host(a.Interface.URL)
	case originOf(a.CardURL) == origin:
		from.Text, from.Code = view.T(ctx, "Card and address are both on"), card
	default:
		from.Text, from.Code = view.T(ctx, "Its card is on %s. You approved that it is called at", card), view.Host(a.Interface.URL)
	}
	out := []view.TrustCheck{from, s.connectionOf(ctx, look, origin)}

	by := view.TrustCheck{State: unknown(ctx), Name: view.T(ctx, "Signature"), Text: view.T(ctx, "The card is not signed.")}
	if v := view.SignedBy(ctx, a.Signature); v != nil {
		by.Text, by.Code, by.Lines = v.Word, v.Key, v.Lines
		switch a.Signature.State {
		case orchestrator.SignatureVerified:
			by.State = good(ctx)
		case orchestrator.SignatureFailed, orchestrator.SignatureChanged:
			by.State = amiss(ctx)
		}
	}
	out = append(out, by)

	card := view.TrustCheck{State: good(ctx), Name: view.T(ctx, "Card"), Text: view.T(ctx, "As you approved it on %s.", s.date(ctx, a.Added))}
	switch {
	case a.Local:
		card.Text = view.T(ctx, "It is part of Parley and comes with it.")
	case a.Changed != nil && a.Changed.Grave:
		card.State, card.Text = view.State{Class: "is-ask", Icon: "s-ask", Word: view.T(ctx, "Look at it")}, view.T(ctx, "Another is served since %s.", s.when(ctx, a.Changed.Seen))
	case a.Changed != nil:
		card.Text = view.T(ctx, "Another is served since %s; what matters for calling it is the same.", s.when(ctx, a.Changed.Seen))
	}
	return append(out, card)
}

func (s *Site) connectionOf(ctx context.Context, look *orchestrator.AgentLook, origin string) view.TrustCheck {
	c := view.TrustCheck{State: unknown(ctx), Name: view.T(ctx, "Connection"), Text: view.T(ctx, "Not seen yet. A check shows its certificate.")}
	i := slices.IndexFunc(look.Connections, func(c orchestrator.Connection) bool { return c.Origin == origin })
	switch {
	case i >= 0:
		seen := look.Connections[i]
		c.State, c.Text = good(ctx), view.T(ctx, "%s, with a certificate valid until %s", seen.Version, s.date(ctx, seen.Expires))
		c.Lines = []string{view.T(ctx, "for %s, issued by %s", cmp.Or(seen.Subject, strings.Join(seen.Names, ", ")), seen.Issuer)}
		if left := seen.Expires.Sub(s.now()); left < 14*24*time.Hour {
			c.Lines = append(c.Lines, view.Tn(ctx, max(0, int(left.Hours()/24)), "It ends in %d day.", "It ends in %d days."))
		}
	case strings.HasPrefix(origin, "http:") && here(origin):
		c.State, c.Text = good(ctx), view.T(ctx, "It does not leave this machine.")
	case strings.HasPrefix(origin, "http:"):
		c.State, c.Text = amiss(ctx), view.T(ctx, "Plain http: whoever carries it can read and change it.")
	}
	return c
}

func here(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1")
}

// originOf is scheme://host:port of an address, without the port that goes without saying; "" for none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := u.Host
	if p := u.Port(); u.Scheme == "https" && p == "443" || u.Scheme == "http" && p == "80" {
		host = strings.TrimSuffix(host, ":"+p)
	}
	return u.Scheme + "://" + host
}

func credentialWord(ctx context.Context, kind string) string {
	switch kind {
	case "basic":
		return view.T(ctx, "User name and password")
	case "key":
		return view.T(ctx, "API key")
	case "certificate":
		return view.T(ctx, "Client certificate")
	}
	return view.T(ctx, "Bearer token")
}

// changeOf shows the card that an agent serves now beside the approved one.
func (s *Site) changeOf(ctx context.Context, a *orchestrator.Agent, grants []orchestrator.Grant) *view.Change {
	c := a.Changed
	if c == nil {
		return nil
	}
	v := &view.Change{Grave: c.Grave, Since: s.date(ctx, a.Added), Hash: c.Hash, Hunks: hunks(orchestrator.DiffCards(a.Card, c.Card)), Raw: pretty(c.JSON)}
	for _, o := range c.Origins {
		if !slices.ContainsFunc(grants, func(g orchestrator.Grant) bool { return g.Origin == o }) {
			v.Origins = append(v.Origins, o)
		}
	}
	if len(c.Origins) == 0 {
		v.Unwanted = view.T(ctx, "It names an address that cannot be reached from here, so it cannot be approved.")
	}
	if sig := c.Signature; sig != nil && sig.State != orchestrator.SignatureVerified && a.Signature != nil && a.Signature.Keys != nil {
		v.Hunks = append([]view.Hunk{{Title: view.T(ctx, "Signature"), Lines: []view.DiffLine{{Op: "-", Text: view.T(ctx, "signed by the key you trust")}, {Op: "+", Text: view.T(ctx, "not signed by it")}}}}, v.Hunks...)
	}
	return v
}

func hunks(all []orchestrator.CardHunk) (out []view.Hunk) {
	for _, h := range all {
		v := view.Hunk{Title: h.Title}
		for _, l := range h.Lines {
			v.Lines = append(v.Lines, view.DiffLine{Op: string(l.Op), Text: l.Text})
		}
		out = append(out, v)
	}
	return out
}

// date is a day, when is a moment, both as the person's clock has them.
func (s *Site) date(ctx context.Context, t time.Time) string {
	return view.Date(ctx, t.In(s.now().Location()))
}

func (s *Site) when(ctx context.Context, t time.Time) string {
	t, now := t.In(s.now().Location()), s.now()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return view.Date(ctx, t) + ", " + view.Clock(t)
}

// keep does something with an agent and shows it again at a place of its page.
func (s *Site) keep(place string, do func(context.Context, orchestrator.Keeper, string, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		keeper := s.keeper()
		if keeper == nil {
			return errNoPage
		}
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		id := r.PathValue("id")
		if err := do(r.Context(), keeper, id, r); err != nil {
			return err
		}
		s.agentsChanged()
		return moved(w, r, "/agents/"+url.PathEscape(id)+place)
	}
}

// keeperRoutes are what a person does about agents that were let in.
func (s *Site) keeperRoutes(page func(string, func(http.ResponseWriter, *http.Request) error)) {
	page("POST /agents/{id}/test", s.keep("#health", func(ctx context.Context, k orchestrator.Keeper, id string, _ *http.Request) error {
		_, err := k.Test(ctx, id)
		return err
	}))
	page("POST /agents/{id}/take", s.keep("#trust", func(ctx context.Context, k orchestrator.Keeper, id string, r *http.Request) error {
		return k.TakeCard(ctx, id, r.FormValue("hash"))
	}))
	page("POST /agents/{id}/block", s.keep("", func(ctx context.Context, k orchestrator.Keeper, id string, r *http.Request) error {
		return k.Block(ctx, id, r.FormValue("on") != "")
	}))
	page("POST /agents/{id}/mute", s.keep("#manage", func(ctx context.Context, k orchestrator.Keeper, id string, r *http.Request) error {
		return k.Mute(ctx, id, r.FormValue("on") != "")
	}))
	page("POST /agents/{id}/revoke", s.keep("#trust", func(ctx context.Context, k orchestrator.Keeper, id string, r *http.Request) error {
		return k.RevokeGrant(ctx, id, r.FormValue("origin"))
	}))
	page("POST /agents/{id}/forget", s.keep("#trust", func(ctx context.Context, k orchestrator.Keeper, id string, r *http.Request) error {
		return k.RemoveCredential(ctx, id, orchestrator.CredentialInfo{Origin: r.FormValue("origin"), Kind: r.FormValue("kind")})
	}))
	page("POST /agents/{id}/extended", s.keep("#card", func(ctx context.Context, k orchestrator.Keeper, id string, _ *http.Request) error {
		_, err := k.ExtendedCard(ctx, id)
		return err
	}))
}

// modes are media types in words, what is nothing else as it is.
func modes(ctx context.Context, all []string) string {
	var out []string
	for _, m := range all {
		w := m
		switch kind, sub, _ := strings.Cut(strings.ToLower(m), "/"); {
		case m == "*/*":
			w = view.T(ctx, "Anything")
		case m == "text" || m == "text/plain":
			w = view.T(ctx, "Text")
		case m == "text/markdown":
			w = "Markdown"
		case kind == "image" && sub == "*":
			w = view.T(ctx, "Images")
		case kind == "audio" && sub == "*":
			w = view.T(ctx, "Audio")
		case kind == "video" && sub == "*":
			w = view.T(ctx, "Video")
		case kind == "text" && sub == "*":
			w = view.T(ctx, "Any text")
		case slices.Contains([]string{"application/json", "application/pdf", "text/csv", "text/html", "image/png", "image/svg+xml"}, m):
			w = strings.ToUpper(strings.TrimSuffix(sub, "+xml"))
		case kind == "image" && (sub == "jpeg" || sub == "jpg"):
			w = "JPEG"
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}
