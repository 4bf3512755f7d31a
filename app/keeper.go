package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/orchestrator"
)

var _ orchestrator.Keeper = (*registry)(nil)

// kept is what is remembered of the agents until the program ends.
type kept struct {
	mu       sync.Mutex
	contacts map[string]*orchestrator.Contact
	tests    map[string]*orchestrator.AgentTest
	extended map[string]*a2a.AgentCard
	reports  map[string]cardReport
}

// cardReport is what there is to say of a card.
type cardReport struct {
	hash  string
	found []orchestrator.Finding
}

func newKept() *kept {
	return &kept{
		contacts: map[string]*orchestrator.Contact{}, tests: map[string]*orchestrator.AgentTest{},
		extended: map[string]*a2a.AgentCard{}, reports: map[string]cardReport{},
	}
}

// contacted notes that an agent was called.
func (k *kept) contacted(x *wire.Exchange) {
	c := &orchestrator.Contact{At: x.At, Method: x.Method, Took: x.Took}
	if x.Status < 200 || x.Status >= 400 { // else it answered, if only that something is not so
		c.Err = x.Err
	}
	k.mu.Lock()
	k.contacts[x.Peer] = c
	k.mu.Unlock()
}

func (k *kept) forget(agent string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.contacts, agent)
	delete(k.tests, agent)
	delete(k.extended, agent)
	delete(k.reports, agent)
}

// there returns an agent that was not removed.
func (r *registry) there(ctx context.Context, id string) (*orchestrator.Agent, error) {
	g, err := r.store.Agent(ctx, id)
	if err == nil && g.Trust == orchestrator.TrustRemoved {
		err = orchestrator.ErrNotFound
	}
	if err != nil {
		return nil, noAgent(ctx, r.store, id, err)
	}
	return g, nil
}

func (r *registry) Look(ctx context.Context, id string) (*orchestrator.AgentLook, error) {
	g, err := r.there(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &orchestrator.AgentLook{Credentials: r.creds.list(id), Findings: r.report(g)}
	for _, s := range r.egress.Seen(id) {
		l.Connections = append(l.Connections, connection(s))
	}
	r.kept.mu.Lock()
	defer r.kept.mu.Unlock()
	l.Contact, l.Test, l.Extended = r.kept.contacts[id], r.kept.tests[id], r.kept.extended[id]
	if l.Extended != nil {
		l.ExtendedJSON = wire.AppendCard(nil, wire.CardNEW, l.Extended)
	}
	return l, nil
}

// report is what there is to say of an agent's card.
func (r *registry) report(g *orchestrator.Agent) []orchestrator.Finding {
	r.kept.mu.Lock()
	known, ok := r.kept.reports[g.ID]
	r.kept.mu.Unlock()
	if ok && known.hash == g.CardHash {
		return known.found
	}
	known = cardReport{hash: g.CardHash}
	for _, f := range card.Report(g.CardJSON) {
		known.found = append(known.found, orchestrator.Finding{Level: orchestrator.FindingLevel(f.Level), Path: f.Path, What: f.What, Rule: f.Rule})
	}
	r.kept.mu.Lock()
	defer r.kept.mu.Unlock()
	r.kept.reports[g.ID] = known
	return known.found
}

func connection(s egress.Seen) orchestrator.Connection {
	return orchestrator.Connection{
		Origin: s.Origin, Version: tls.VersionName(s.Version), Subject: cmp.Or(shown(s.Certificate.Subject.CommonName), firstName(s.Certificate)),
		Issuer: shown(cmp.Or(s.Certificate.Issuer.CommonName, strings.Join(s.Certificate.Issuer.Organization, ", "))),
		Names:  s.Certificate.DNSNames, Expires: s.Certificate.NotAfter, Seen: s.Since,
	}
}

func firstName(c *x509.Certificate) string {
	switch {
	case len(c.DNSNames) > 0:
		return shown(c.DNSNames[0])
	case len(c.IPAddresses) > 0:
		return c.IPAddresses[0].String()
	}
	return shown(c.Subject.String())
}

// testTime is how long a test may take in all.
const testTime = 40 * time.Second

func (r *registry) Test(ctx context.Context, id string) (*orchestrator.AgentTest, error) {
	g, err := r.there(ctx, id)
	if err != nil {
		return nil, err
	}
	if g.Trust == orchestrator.TrustBlocked {
		return nil, g.Refusal()
	}
	ctx, stop := context.WithTimeout(asLocal(ctx), testTime)
	defer stop()
	t := &orchestrator.AgentTest{At: time.Now()}
	step := func(name, detail string, err error) {
		s := orchestrator.TestStep{Name: name, Detail: detail}
		if err != nil {
			s.Fault = faultOf(err)
		}
		t.Steps = append(t.Steps, s)
	}
	leave := func(name, why string) {
		t.Steps = append(t.Steps, orchestrator.TestStep{Name: name, Detail: why, Left: true})
	}
	switch change, err := r.reread(ctx, g); {
	case errors.Is(err, errNowhere):
		leave("Card", "It was pasted, so there is no address to read it from again.")
	case err != nil:
		step("Card", "", err)
	case change != nil:
		step("Card", "It is another than the one you approved.", nil)
	default:
		step("Card", "It is the one you approved.", nil)
	}
	if g, err = r.there(ctx, id); err != nil { // the card may have changed
		return nil, err
	}
	if g.Trust != orchestrator.TrustApproved {
		leave("Answer", "Nothing is sent to it until you looked at its new card.")
	} else {
		r.call(ctx, g, t, step, leave)
	}
	r.kept.mu.Lock()
	r.kept.tests[id] = t
	r.kept.mu.Unlock()
	return t, nil
}

// call asks an agent for a task that it cannot know: at the interface that its card prefers, and where nobody serves that,
// at the next.
func (r *registry) call(ctx context.Context, g *orchestrator.Agent, t *orchestrator.AgentTest, step func(string, string, error), leave func(string, string)) {
	began := time.Now()
	k, err := r.caller.probe(asProbe(ctx), g)
	took := time.Since(began)
	if k != nil {
		g = at(g, k)
		for _, l := range k.Left() {
			step("Address", whyLeft(g.Interface, l), nil)
		}
	}
	origin, _ := card.Origin(card.Address(&g.Interface))
	secure := slices.IndexFunc(r.egress.Seen(g.ID), func(s egress.Seen) bool { return s.Origin == origin })
	if secure >= 0 {
		c := connection(r.egress.Seen(g.ID)[secure])
		step("Connection", fmt.Sprintf("%s, with a certificate for %s by %s, valid until %s.", c.Version, c.Subject, c.Issuer, c.Expires.Format("2 January 2006")), nil)
	} else if strings.HasPrefix(origin, "http:") {
		detail := "Plain http: not encrypted on its way."
		if onThisMachine(g.Interface.URL) {
			detail = "It does not leave this machine."
		}
		step("Connection", detail, nil)
	}
	var answer *a2a.Error
	var fault *orchestrator.Fault
	switch {
	case err == nil:
		step("Answer", "It answers, with a task that it cannot have.", nil)
	case errors.As(err, &answer) && answer.Kind == a2a.KindTaskNotFound:
		err = nil
		step("Answer", "It says that there is no such task, as it should.", nil)
	case errors.As(err, &fault) && fault.Where == orchestrator.WhereSignIn:
		step("Answer", "It is there.", nil)
		step("Sign-in", "", err)
	case errors.As(err, &answer):
		step("Answer", "", &orchestrator.Fault{
			Kind: "answer", Where: orchestrator.WhereAgent, What: "It answers to a task that it cannot know: " + shown(answer.Message),
			Do: "It may still work. A2A asks for TaskNotFound here.", Raw: string(answer.Kind),
		})
	default:
		step("Answer", "", err)
	}
	if err == nil {
		t.Latency = took
		switch {
		case slices.ContainsFunc(r.creds.list(g.ID), func(c orchestrator.CredentialInfo) bool { return c.Origin == origin }):
			step("Sign-in", "It takes the credential that is kept for it.", nil)
		case g.Local:
			step("Sign-in", "It takes the token that Parley made for it.", nil)
		case g.Card != nil && len(g.Card.SecurityRequirements) > 0:
			step("Sign-in", "It answers without a credential, though its card asks for one.", nil)
		default:
			leave("Sign-in", "It wants none.")
		}
		dialect := g.Dialect
		if g.Known != orchestrator.KnownByPerson {
			dialect, _ = spoken(g.Interface, k.Speaks())
		}
		step("Version", "It speaks "+dialect+" over "+bindingName(g.Interface.Binding)+".", nil)
	}
	r.amend(g, func(found *orchestrator.Agent) bool {
		var f *orchestrator.Fault
		for _, s := range t.Steps {
			if s.Fault != nil && s.Name != "Card" {
				f = &orchestrator.Fault{Kind: s.Fault.Kind, Where: s.Fault.Where, What: s.Fault.What, Do: s.Fault.Do, Raw: s.Fault.Raw, SignIn: s.Fault.SignIn}
			}
		}
		if answer != nil { // it answered, if not as it should
			f = nil
		}
		found.Health = orchestrator.AgentHealth{Checked: time.Now(), Latency: t.Latency.Truncate(time.Millisecond), Fault: f}
		if t.Latency > 0 && found.Health.Latency == 0 {
			found.Health.Latency = time.Millisecond
		}
		return true
	})
}

func (r *registry) TakeCard(ctx context.Context, id, hash string) error {
	g, err := r.there(ctx, id)
	if err != nil {
		return err
	}
	gone := &orchestrator.Fault{
		Kind: "card-changed", Where: orchestrator.WhereAgent, What: "The card is another again than the one you looked at.",
		Do: "Look at what changed and approve what you see then.",
	}
	c := g.Changed
	if c == nil || c.Hash != hash {
		return gone
	}
	origins := slices.Clone(c.Origins)
	if len(origins) == 0 {
		return &orchestrator.Fault{
			Kind: "origin", Where: orchestrator.WhereUs, What: "The new card names an address that cannot be reached from here, so it cannot be approved.",
			Do: "Read the card again once that address can be reached, or block the agent.",
		}
	}
	if g.Known == orchestrator.KnownByPerson { // where a person said that it is
		chosen, err := r.chosen(ctx, &g.Interface)
		if err != nil {
			return err
		}
		origins = append(origins, chosen...)
	}
	b := &orchestrator.Batch{}
	for _, o := range origins {
		b.Grants = append(b.Grants, orchestrator.Grant{AgentID: id, Origin: o, Given: time.Now()})
	}
	err = r.edit(ctx, id, b, func(now *orchestrator.Agent) error {
		if now.Trust == orchestrator.TrustRemoved || now.Changed == nil || now.Changed.Hash != hash {
			return gone
		}
		now.Trust, now.Changed, now.Health, now.Added = orchestrator.TrustApproved, nil, orchestrator.AgentHealth{}, time.Now()
		now.Name, now.Card, now.CardJSON, now.CardHash = c.Card.Name, c.Card, c.JSON, c.Hash
		now.Notes, now.Signature = c.Notes, c.Signature
		if now.Known != orchestrator.KnownByPerson && now.Interface != c.Interface {
			now.Interface, now.Dialect, now.Known = c.Interface, dialectOf(c.Interface), orchestrator.KnownByCard
		}
		return nil
	})
	if err != nil {
		return err
	}
	old, err := r.store.Grants(ctx, id)
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
	r.caller.forget(id)
	return r.grants.load(ctx, r.store, id)
}

func (r *registry) Block(ctx context.Context, id string, on bool) error {
	if _, err := r.there(ctx, id); err != nil {
		return err
	}
	err := r.edit(ctx, id, &orchestrator.Batch{}, func(now *orchestrator.Agent) error {
		switch {
		case now.Trust == orchestrator.TrustRemoved:
			return noAgent(ctx, r.store, id, orchestrator.ErrNotFound)
		case on:
			now.Trust = orchestrator.TrustBlocked
		case now.Trust == orchestrator.TrustBlocked && now.Changed != nil && now.Changed.Grave:
			now.Trust = orchestrator.TrustReview // it was blocked for that, or would have been held for it
		case now.Trust == orchestrator.TrustBlocked:
			now.Trust = orchestrator.TrustApproved
		}
		return nil
	})
	if err == nil && on {
		r.caller.forget(id) // what is under way ends
	}
	return err
}

func (r *registry) Mute(ctx context.Context, id string, on bool) error {
	if _, err := r.there(ctx, id); err != nil {
		return err
	}
	return r.edit(ctx, id, &orchestrator.Batch{}, func(now *orchestrator.Agent) error {
		now.Muted = on
		return nil
	})
}

func (r *registry) RevokeGrant(ctx context.Context, id, origin string) error {
	if _, err := r.there(ctx, id); err != nil {
		return err
	}
	if !slices.Contains(r.grants.of(ctx, id), origin) {
		return &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: origin + " is not among the addresses at which this agent may be reached.",
			Do: "See them: parley agents show " + id,
		}
	}
	if err := r.store.RevokeGrant(ctx, orchestrator.Grant{AgentID: id, Origin: origin}); err != nil {
		return err
	}
	if err := r.grants.load(ctx, r.store, id); err != nil {
		return err
	}
	r.caller.forget(id)
	return nil
}

func (r *registry) RemoveCredential(ctx context.Context, id string, c orchestrator.CredentialInfo) error {
	if _, err := r.there(ctx, id); err != nil {
		return err
	}
	if err := r.creds.remove(ctx, id, c); err != nil {
		return err
	}
	r.caller.forget(id) // a certificate may be shown by an open connection
	return nil
}

func (r *registry) ExtendedCard(ctx context.Context, id string) (*a2a.AgentCard, error) {
	g, err := r.there(ctx, id)
	if err != nil {
		return nil, err
	}
	if no := g.Refusal(); no != nil {
		return nil, no
	}
	ctx, stop := context.WithTimeout(asLocal(ctx), testTime)
	defer stop()
	k, err := r.caller.client(g)
	if err != nil {
		return nil, err
	}
	c, err := k.ExtendedCard(ctx)
	if err = r.caller.went(at(g, k), err); err != nil {
		return nil, err
	}
	r.kept.mu.Lock()
	r.kept.extended[id] = c
	r.kept.mu.Unlock()
	return c, nil
}

// list names the credentials that are kept for an agent, by origin.
func (c *credentials) list(agent string) []orchestrator.CredentialInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []orchestrator.CredentialInfo
	for _, b := range c.bound[agent] {
		out = append(out, credentialInfo(b))
	}
	slices.SortFunc(out, func(a, b orchestrator.CredentialInfo) int {
		return cmp.Or(strings.Compare(a.Origin, b.Origin), strings.Compare(a.Kind, b.Kind))
	})
	return out
}

func credentialInfo(b egress.Bound) orchestrator.CredentialInfo {
	i := orchestrator.CredentialInfo{Origin: b.Origin}
	switch b.Kind {
	case egress.Certificate:
		i.Kind = "certificate"
		if b.Cert.Leaf != nil {
			i.Name = shown(cmp.Or(b.Cert.Leaf.Subject.CommonName, b.Cert.Leaf.Subject.String()))
		}
	case egress.APIKey:
		i.Kind, i.Name = "key", b.Name
	case egress.Basic:
		i.Kind, i.Name = "basic", b.User
	default:
		i.Kind = "bearer"
	}
	return i
}

// remove forgets one credential of an agent.
func (c *credentials) remove(ctx context.Context, agent string, which orchestrator.CredentialInfo) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.bound[agent], func(b egress.Bound) bool {
		have := credentialInfo(b)
		return have.Origin == which.Origin && have.Kind == which.Kind
	})
	if i < 0 {
		return &orchestrator.Fault{Kind: "not-found", Where: orchestrator.WhereUs, What: "No such credential is kept.", Do: "See them: parley agents show " + agent}
	}
	b := c.bound[agent][i]
	if err := c.vault.Delete(ctx, agent, entryOf(b.Origin, b)); err != nil {
		return err
	}
	c.bound[agent] = slices.Delete(slices.Clone(c.bound[agent]), i, i+1)
	return nil
}
