package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"parley/a2a"
	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/orchestrator"
)

// registry finds, approves and forgets agents.
type registry struct {
	store  orchestrator.Store
	egress *egress.Egress
	creds  *credentials
	grants *grants
	caller *caller
	hooks  *hooks
	log    *slog.Logger

	kept     *kept
	suspects chan string // agents whose cards are to be read again soon

	editing sync.Mutex                     // held from what an agent is to what it becomes
	mu      sync.Mutex                     // of amended, and never held while anything else is asked
	amended map[string]*orchestrator.Agent // by id: what was changed, on its way to the disk
}

var _ orchestrator.Registry = (*registry)(nil)

func (r *registry) Preview(ctx context.Context, input string, cred *orchestrator.Credential) ([]*orchestrator.Candidate, error) {
	if cred != nil && cred.Origin == "" && several(input) {
		return nil, &orchestrator.Fault{
			Kind: "credential", Where: orchestrator.WhereUs, What: "A sign-in belongs to one agent, and these are several.",
			Do: "Connect the agent that wants it by itself.",
		}
	}
	found, sentTo, err := r.find(ctx, input, cred)
	if err != nil {
		return nil, err
	}
	if cred != nil && cred.Origin == "" && sentTo != "" { // it goes where it went, wherever the card says that the agent is
		bound := *cred
		bound.Origin, cred = sentTo, &bound
	}
	out := make([]*orchestrator.Candidate, len(found))
	for i, f := range found {
		c := &orchestrator.Candidate{Input: f.Input, Credential: cred}
		out[i] = c
		if f.Err != nil {
			c.Fault = faultOf(told(f.Err))
			continue
		}
		c.Agent, err = r.describe(ctx, f)
		if err != nil {
			return nil, err
		}
		c.Wants, c.Typed, c.Elsewhere = f.Card.SecuritySchemes, f.Typed, f.Elsewhere
		if c.Origins, err = r.origins(ctx, f); err != nil {
			var refused *egress.Refused
			if !errors.As(err, &refused) {
				return nil, err
			}
			c.Fault = &orchestrator.Fault{
				Kind: "blocked", Where: orchestrator.WhereUs, What: "The card names " + refused.Origin + ": " + refused.Reason + ".", Do: refused.Advice,
			}
		}
	}
	return out, nil
}

// several reports whether input may name more than one agent.
func several(input string) bool {
	input = strings.TrimSpace(input)
	return strings.HasPrefix(input, "[") || !strings.HasPrefix(input, "{") && strings.ContainsAny(input, "\r\n")
}

// find looks for cards. An origin that the person typed may be anything that may be reached at all; one that a redirect
// leads to must be public. sentTo is the origin that was given the credential last, "" when none was.
func (r *registry) find(ctx context.Context, input string, cred *orchestrator.Credential) (found []*card.Found, sentTo string, err error) {
	var cert []egress.Bound // a certificate that belongs to a connection, for the origin that was asked last
	way := roundTripper(func(req *http.Request) (*http.Response, error) {
		p := fetching(input, req.URL)
		if cert != nil {
			p.Credentials = func(context.Context) ([]egress.Bound, error) { return cert, nil }
		}
		return r.egress.Client(p).Transport.RoundTrip(req)
	})
	o := &card.Options{HTTP: &http.Client{Transport: way}, NoFiles: true, Logger: r.log} // egress: way is made of its clients
	if cred != nil {
		o.Authorize = func(_ context.Context, req *http.Request) error {
			origin := req.URL.Scheme + "://" + req.URL.Host
			b, err := bind(cred, origin)
			if err != nil {
				return err
			}
			attached, err := b.Attach(req)
			if attached {
				sentTo = origin
			}
			if attached && b.Kind == egress.Certificate {
				cert = []egress.Bound{b}
			}
			return err
		}
	}
	found, err = card.Find(ctx, input, o)
	return found, sentTo, told(err)
}

// fetching is the leave to read u on the strength of what a person typed: an address that was typed may be anywhere, any
// other, where a redirect, a catalogue or a card leads, is public.
func fetching(input string, u *url.URL) egress.Policy {
	p := egress.Policy{Content: egress.Card, Public: true}
	if names(input, u) {
		p.Typed = u.Scheme + "://" + u.Host
	}
	return p
}

// names reports whether u is at an origin that input is an address of, or at the same over https in place of http, each at
// its usual port. A host amid other words, as in a path or in a card, is nobody's wish to go there.
func names(input string, u *url.URL) bool {
	origin, err := egress.Origin(u.String())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(card.Typed(input), func(typed string) bool {
		typed, err := egress.Origin(typed)
		if err != nil {
			return false
		}
		safer, plain := strings.CutPrefix(typed, "http://")
		return typed == origin || plain && "https://"+safer == origin && u.Port() == ""
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// describe makes an Agent of what was found, with a proposal for its id.
func (r *registry) describe(ctx context.Context, f *card.Found) (*orchestrator.Agent, error) {
	id, err := r.freeID(ctx, f.Card.Name, f.Interface.URL)
	if err != nil {
		return nil, err
	}
	signature, err := r.signatureOf(ctx, f)
	if err != nil {
		return nil, err
	}
	return &orchestrator.Agent{
		ID: id, Name: f.Card.Name, Trust: orchestrator.TrustPending, CardURL: f.URL, CardJSON: f.JSON, Card: f.Card,
		CardHash: f.Hash, Interface: f.Interface, Dialect: dialectOf(f.Interface), Notes: r.notes(f), Hue: hueOf(id),
		Signature: signature, Added: time.Now(),
	}, nil
}

// origins is what approving grants: all that the card names, and the private addresses behind those names.
func (r *registry) origins(ctx context.Context, f *card.Found) ([]string, error) {
	var out []string
	for i, o := range f.Origins() {
		all, err := r.egress.Origins(ctx, o)
		if err != nil {
			var refused *egress.Refused
			if i == 0 || errors.As(err, &refused) {
				return out, err
			}
			all = []string{o} // a sign-in server that has no address now
		}
		for _, one := range all {
			if !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func (r *registry) Approve(ctx context.Context, c *orchestrator.Candidate) (*orchestrator.Agent, error) {
	if c.Fault != nil {
		return nil, c.Fault
	}
	g := *c.Agent
	if c.Credential != nil { // refused before anything is stored
		if _, err := bind(c.Credential, card.Address(&g.Interface)); err != nil {
			return nil, err
		}
	}
	if err := r.admit(ctx, &g, c.Origins); err != nil {
		return nil, err
	}
	if c.Credential != nil {
		if err := r.SetCredential(ctx, g.ID, c.Credential); err != nil {
			return nil, err
		}
	}
	return &g, nil
}

// admit stores a new agent as approved, under an id that nobody else has got meanwhile.
func (r *registry) admit(ctx context.Context, g *orchestrator.Agent, origins []string) (err error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	if g.ID == "" {
		if g.ID, err = r.freeID(ctx, g.Name, g.Interface.URL); err != nil {
			return err
		}
		g.Hue = hueOf(g.ID)
	}
	if err := r.checkID(ctx, g); err != nil {
		return err
	}
	return r.approve(ctx, g, origins)
}

// approve stores an agent as approved, with exactly these grants.
func (r *registry) approve(ctx context.Context, g *orchestrator.Agent, origins []string) error {
	g.Trust = orchestrator.TrustApproved
	return r.keep(ctx, g, origins)
}

// keep stores an agent with exactly these grants.
func (r *registry) keep(ctx context.Context, g *orchestrator.Agent, origins []string) error {
	old, err := r.store.Grants(ctx, g.ID)
	if err != nil {
		return err
	}
	for _, o := range old {
		if !slices.Contains(origins, o.Origin) {
			if err := r.store.RevokeGrant(ctx, o); err != nil {
				return err
			}
		}
	}
	b := &orchestrator.Batch{Agents: []*orchestrator.Agent{g}}
	for _, o := range origins {
		b.Grants = append(b.Grants, orchestrator.Grant{AgentID: g.ID, Origin: o, Given: time.Now()})
	}
	if err := r.store.Write(ctx, b); err != nil {
		return err
	}
	return r.grants.load(ctx, r.store, g.ID)
}

func (r *registry) Remove(ctx context.Context, id string) error {
	err := r.edit(ctx, id, &orchestrator.Batch{}, func(g *orchestrator.Agent) error {
		g.Trust = orchestrator.TrustRemoved
		return nil
	})
	if err != nil {
		return err
	}
	all, err := r.store.Grants(ctx, id)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := r.store.RevokeGrant(ctx, o); err != nil {
			return err
		}
	}
	r.caller.forget(id)
	r.kept.forget(id)
	return errors.Join(r.grants.load(ctx, r.store, id), r.creds.forget(ctx, id))
}

// versions are what a person may choose from.
var versions = []string{"1.0", "0.3", "0.1"}

func (r *registry) Speak(ctx context.Context, id string, at *a2a.AgentInterface) error {
	old, err := r.store.Agent(ctx, id)
	if err != nil {
		return noAgent(ctx, r.store, id, err)
	}
	i, known := a2a.AgentInterface{}, orchestrator.KnownByCard
	b := &orchestrator.Batch{}
	if at == nil {
		found, err := card.Find(ctx, string(old.CardJSON), &card.Options{Base: old.CardURL, NoFiles: true, Logger: r.log})
		if err == nil {
			err = found[0].Err
		}
		if err != nil {
			return told(err)
		}
		i = found[0].Interface
	} else {
		origins, err := r.chosen(ctx, at)
		if err != nil {
			return err
		}
		for _, o := range origins {
			b.Grants = append(b.Grants, orchestrator.Grant{AgentID: id, Origin: o, Given: time.Now()})
		}
		i, known = *at, orchestrator.KnownByPerson
	}
	err = r.edit(ctx, id, b, func(g *orchestrator.Agent) error {
		if g.Trust != old.Trust || g.CardHash != old.CardHash {
			return noAgent(ctx, r.store, id, orchestrator.ErrNotFound)
		}
		g.Interface, g.Dialect, g.Known, g.Notes = i, dialectOf(i), known, withoutInterface(g.Notes)
		return nil
	})
	if err != nil {
		return err
	}
	r.caller.forget(id)
	return r.grants.load(ctx, r.store, id)
}

// chosen checks what a person chose and returns the origins that are granted with it.
func (r *registry) chosen(ctx context.Context, at *a2a.AgentInterface) ([]string, error) {
	bad := func(what, do string) error {
		return &orchestrator.Fault{Kind: "interface", Where: orchestrator.WhereUs, What: what, Do: do}
	}
	if !slices.Contains(versions, at.Version) {
		return nil, bad("Parley does not speak A2A "+at.Version+".", "Choose 1.0, 0.3 or 0.1.")
	}
	if !slices.Contains([]string{a2a.BindingJSONRPC, a2a.BindingREST, a2a.BindingGRPC}, at.Binding) {
		return nil, bad("There is no binding "+at.Binding+".", "Choose JSONRPC, HTTP+JSON or GRPC.")
	}
	if at.Version == "0.1" && at.Binding != a2a.BindingJSONRPC {
		return nil, bad("A2A 0.1 is spoken over JSON-RPC only.", "Choose JSON-RPC, or a later version.")
	}
	o, err := card.Origin(card.Address(at))
	if err != nil {
		return nil, bad("That is no address of an agent.", "Type one that begins with https:// or http://.")
	}
	return r.egress.Origins(ctx, o)
}

// dialectOf is the version of an interface as people are told of it.
func dialectOf(i a2a.AgentInterface) string { return "v" + i.Version }

func (r *registry) SetCredential(ctx context.Context, id string, c *orchestrator.Credential) error {
	origin, err := r.credentialOrigin(ctx, id, c)
	if err != nil {
		return err
	}
	if err := r.creds.keep(ctx, id, origin, c); err != nil {
		return err
	}
	g, err := r.store.Agent(ctx, id)
	if err != nil {
		return err
	}
	r.amend(g, func(found *orchestrator.Agent) bool { // what was wrong is mended, as far as anybody knows
		f := found.Health.Fault
		if f == nil || f.Where != orchestrator.WhereSignIn {
			return false
		}
		found.Health = orchestrator.AgentHealth{}
		return true
	})
	return nil
}

// local registers an agent of this process under an id of its own, with the secret by which only we can call it. It acts
// once on a repeated message, as all agents built with a2aserver do. One that a person blocked or muted stays so.
func (r *registry) local(ctx context.Context, id, address string, secret orchestrator.Secret) error {
	found, _, err := r.find(ctx, address, &orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Bearer", Secret: secret})
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0].Err != nil {
		return fmt.Errorf("its card was not found at %s", address)
	}
	f := found[0]
	g, err := r.describe(ctx, f)
	if err != nil {
		return err
	}
	g.ID, g.Hue, g.Local, g.Idempotent, g.Trust = id, hueOf(id), true, true, orchestrator.TrustApproved
	origins, err := r.origins(ctx, f)
	if err != nil {
		return err
	}
	b, err := bind(&orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Bearer", Secret: secret}, origins[0])
	if err != nil {
		return err
	}
	r.creds.lend(id, b)
	old, err := r.store.Agent(ctx, id)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound):
	case err != nil:
		return err
	default:
		g.Added, g.Muted = old.Added, old.Muted
		if old.Known == orchestrator.KnownByPerson && old.Trust != orchestrator.TrustRemoved {
			if origins, err = r.asChosen(ctx, g, old, origins); err != nil {
				return err
			}
		}
		if old.Trust == orchestrator.TrustBlocked {
			g.Trust = old.Trust
		}
		if r.stands(ctx, old, g, origins) {
			return nil
		}
	}
	if err := r.store.Healthy(); err != nil { // each try may take its time
		return err
	}
	return r.keep(ctx, g, origins)
}

// asChosen has g called as a person chose for old, which is the same agent, and returns its origins with the chosen one. Where
// the agent was at its own address and is at another now, what was chosen holds there.
func (r *registry) asChosen(ctx context.Context, g, old *orchestrator.Agent, origins []string) ([]string, error) {
	at := old.Interface
	chosen, err := card.Origin(card.Address(&at))
	if err != nil {
		return nil, err
	}
	if was, err := card.Origin(old.CardURL); err == nil && was == chosen && !slices.Contains(origins, chosen) {
		at.URL = g.Interface.URL
	} else if !slices.Contains(origins, chosen) {
		origins = append(slices.Clip(origins), chosen)
	}
	g.Interface, g.Dialect, g.Known = at, dialectOf(at), old.Known
	return origins, nil
}

// stands reports whether g is stored already as old, with exactly these grants.
func (r *registry) stands(ctx context.Context, old, g *orchestrator.Agent, origins []string) bool {
	have := slices.Clone(r.grants.of(ctx, g.ID))
	want := slices.Clone(origins)
	slices.Sort(have)
	slices.Sort(want)
	return old.Trust == g.Trust && old.Local == g.Local && old.Idempotent == g.Idempotent &&
		old.Name == g.Name && old.CardURL == g.CardURL && bytes.Equal(old.CardJSON, g.CardJSON) && old.CardHash == g.CardHash &&
		old.Interface == g.Interface && old.Dialect == g.Dialect && old.Known == g.Known && old.Hue == g.Hue && slices.Equal(old.Notes, g.Notes) &&
		slices.Equal(have, want)
}

// checkID refuses an id that an agent cannot have.
func (r *registry) checkID(ctx context.Context, g *orchestrator.Agent) error {
	bad := func(what string) error {
		return &orchestrator.Fault{Kind: "id", Where: orchestrator.WhereUs, What: what, Do: "Choose another id."}
	}
	id := g.ID
	if id != slug(id) || id == "" {
		return bad("An id is made of small letters, digits and dashes.")
	}
	if id == orchestrator.OwnAgent || id == orchestrator.Auto {
		return bad("The id " + id + " is Parley's own.")
	}
	old, err := r.store.Agent(ctx, id)
	switch {
	case errors.Is(err, orchestrator.ErrNotFound):
		return nil
	case err != nil:
		return err
	case old.Trust != orchestrator.TrustRemoved:
		return bad("There is an agent " + id + " already.")
	case !mayReturn(old, g.Interface.URL):
		return bad("The id " + id + " was that of another agent, now removed.")
	}
	return nil
}

// mayReturn reports whether a removed agent and the one at an address are the same, as far as can be told. Its id stays
// its own: tokens name it, and conversations go on with whoever has it.
func mayReturn(old *orchestrator.Agent, address string) bool {
	was, err := card.Origin(old.Interface.URL)
	if err != nil {
		return false
	}
	is, err := card.Origin(address)
	return err == nil && was == is
}

// freeID makes an id of a name for the agent at an address, with a number after it when it is taken.
func (r *registry) freeID(ctx context.Context, name, address string) (string, error) {
	base := slug(name)
	if base == "" || base == orchestrator.OwnAgent || base == orchestrator.Auto {
		base = strings.Trim("a-"+base, "-")
	}
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		g, err := r.store.Agent(ctx, id)
		if errors.Is(err, orchestrator.ErrNotFound) || err == nil && g.Trust == orchestrator.TrustRemoved && mayReturn(g, address) {
			return id, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// slug is a name as an id: small ASCII letters, digits and dashes, at most 40.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)):
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 40 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// hueOf is the hue of an agent's flag, by its id.
func hueOf(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % 12)
}
