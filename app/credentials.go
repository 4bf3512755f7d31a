package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/app/vault"
	"parley/orchestrator"
)

// credentials hands out what may go to an agent, on whose behalf it may. Secrets stand in the vault; here are only the
// ways to reveal them.
type credentials struct {
	vault  *vault.Vault
	tokens *tokens

	mu    sync.RWMutex
	bound map[string][]egress.Bound // by agent id
	own   map[string][]egress.Bound // of the demo agents: made by this process, for this process, stored nowhere
}

func openCredentials(ctx context.Context, v *vault.Vault, t *tokens) (*credentials, error) {
	c := &credentials{vault: v, tokens: t, bound: map[string][]egress.Bound{}, own: map[string][]egress.Bound{}}
	return c, c.read(ctx)
}

// read takes in what the vault holds.
func (c *credentials) read(ctx context.Context) error {
	bound := map[string][]egress.Bound{}
	for _, e := range c.vault.List(ctx) {
		if e.Agent == keyOwner {
			continue
		}
		s, err := c.vault.Get(ctx, e.Agent, e.Origin)
		if err != nil {
			return err
		}
		b, err := boundOf(strings.TrimSuffix(e.Origin, certificateEntry), s)
		if err != nil {
			return err
		}
		bound[e.Agent] = append(bound[e.Agent], b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bound = bound
	return nil
}

// lookAtSecrets is how soon a credential counts that was given to another process with the same vault.
const lookAtSecrets = time.Second

// watch takes in what other processes change in the vault, until ctx is done.
func (c *credentials) watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(lookAtSecrets)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		changed, err := c.vault.Refresh()
		if changed && err == nil {
			err = c.read(ctx)
		}
		if err != nil {
			log.Error("credentials that another process changed cannot be read", "err", err)
		}
	}
}

// keptCredential is what the vault keeps of one.
type keptCredential struct {
	Kind     a2a.SchemeKind `json:"kind"`
	Scheme   string         `json:"scheme,omitempty"`
	Header   string         `json:"header,omitempty"`
	Location string         `json:"location,omitempty"`
	User     string         `json:"user,omitempty"`
	Secret   string         `json:"secret"`
}

// boundOf reads a kept credential, without holding its secret.
func boundOf(origin string, s vault.Secret) (egress.Bound, error) {
	var k keptCredential
	if err := json.Unmarshal([]byte(s.Reveal()), &k); err != nil {
		return egress.Bound{}, err
	}
	b := egress.Bound{Origin: origin, User: k.User, Name: k.Header, Location: k.Location, Secret: func() string {
		var k keptCredential
		_ = json.Unmarshal([]byte(s.Reveal()), &k)
		return k.Secret
	}}
	switch {
	case k.Kind == a2a.SchemeMutualTLS:
		cert, err := certificateOf(k.Secret)
		if err != nil {
			return egress.Bound{}, err
		}
		b.Kind, b.Cert, b.Secret = egress.Certificate, cert, nil
	case k.Kind == a2a.SchemeAPIKey:
		b.Kind = egress.APIKey
	case k.Scheme == "Basic":
		b.Kind = egress.Basic
	default:
		b.Kind = egress.Bearer
	}
	if err := b.Check(); errors.Is(err, egress.ErrCredential) {
		what := strings.TrimPrefix(err.Error(), egress.ErrCredential.Error()+": ")
		return b, &orchestrator.Fault{
			Kind: "credential", Where: orchestrator.WhereUs, What: "This cannot be kept as a sign-in: " + what + ".", Do: "Check what was typed.",
		}
	} else if err != nil {
		return b, err
	}
	return b, nil
}

// certificateOf reads a client certificate and its key out of one text in PEM.
func certificateOf(text string) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair([]byte(text), []byte(text))
	if err != nil { // what the parser says is not for people
		return nil, &orchestrator.Fault{
			Kind: "credential", Where: orchestrator.WhereUs, What: "This is not a certificate and the key to it.",
			Do: "Give both in PEM, the key without a passphrase.",
		}
	}
	return &cert, nil
}

// checkCertificate refuses a certificate that nobody takes any more. One that expires later stays as it is stored.
func checkCertificate(text string) error {
	cert, err := certificateOf(text)
	if err != nil {
		return err
	}
	if end := cert.Leaf.NotAfter; time.Now().After(end) {
		return &orchestrator.Fault{
			Kind: "credential", Where: orchestrator.WhereUs, What: "The certificate expired on " + end.Format("2 January 2006") + ".",
			Do: "Ask whoever gave it to you for a new one.",
		}
	}
	return nil
}

// certificateEntry ends the name under which the vault keeps the certificate for an origin: another credential may be
// wanted there as well.
const certificateEntry = " certificate"

// entryOf is the name of a credential in the vault.
func entryOf(origin string, b egress.Bound) string {
	if b.Kind == egress.Certificate {
		return origin + certificateEntry
	}
	return origin
}

func seal(c *orchestrator.Credential) (vault.Secret, error) {
	if c.Kind == a2a.SchemeMutualTLS {
		if err := checkCertificate(c.Secret.Reveal()); err != nil {
			return vault.Secret{}, err
		}
	}
	b, err := json.Marshal(keptCredential{c.Kind, c.Scheme, c.Header, c.Location, c.User, c.Secret.Reveal()})
	return vault.NewSecret(string(b)), err
}

// bind returns a credential for one use, bound to origin where it names none itself.
func bind(c *orchestrator.Credential, origin string) (egress.Bound, error) {
	if c.Origin != "" {
		origin = c.Origin
	}
	s, err := seal(c)
	if err != nil {
		return egress.Bound{}, err
	}
	return boundOf(origin, s)
}

// keep stores a credential of an agent for one origin, in place of the one before; a certificate stands beside another.
func (c *credentials) keep(ctx context.Context, agent, origin string, cred *orchestrator.Credential) error {
	s, err := seal(cred)
	if err != nil {
		return err
	}
	b, err := boundOf(origin, s)
	if err != nil {
		return err
	}
	if err := c.vault.Put(ctx, agent, entryOf(origin, b), s); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := []egress.Bound{b}
	for _, old := range c.bound[agent] {
		if entryOf(old.Origin, old) != entryOf(origin, b) {
			kept = append(kept, old)
		}
	}
	c.bound[agent] = kept
	return nil
}

// forget removes every credential of an agent, or, where the vault fails, none.
func (c *credentials) forget(ctx context.Context, agent string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.vault.List(ctx), func(e vault.Entry) bool { return e.Agent == agent }) {
		if err := c.vault.Forget(ctx, agent); err != nil {
			return err
		}
	}
	delete(c.bound, agent)
	delete(c.own, agent)
	return nil
}

// of returns the credentials for a request to an agent. What a person stored is used for those who may: the person, and
// callers whose token says so.
func (c *credentials) of(ctx context.Context, agent string) ([]egress.Bound, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if own := c.own[agent]; own != nil {
		return own, nil
	}
	if len(c.bound[agent]) == 0 || !c.tokens.mayUseCredentials(orchestrator.OriginOf(ctx).Principal) {
		return nil, nil
	}
	return c.bound[agent], nil
}

// lend gives an agent of this very process a credential of its own.
func (c *credentials) lend(agent string, b egress.Bound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own[agent] = []egress.Bound{b}
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// challenges are the ways to sign in that a server asked for.
func challenges(asked []card.Challenge) (out []orchestrator.Challenge) {
	for _, a := range asked {
		c := orchestrator.Challenge{Scheme: shown(a.Scheme)}
		switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(a.Scheme)) {
		case "basic":
			c.Scheme = "Basic"
		case "bearer", "dpop":
			c.Scheme = "Bearer"
		case "apikey", "xapikey":
			c.Scheme = "ApiKey"
			c.Name, c.Location = shown(cmp.Or(a.Params["name"], a.Params["header"], a.Params["header_name"])), "header"
			if in := strings.ToLower(cmp.Or(a.Params["in"], a.Params["location"])); in == "query" || in == "cookie" {
				c.Location = in
			}
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// KeepCredential names an agent and what it wants to be shown.
type KeepCredential struct {
	ID         string     `json:"id"`
	Credential Credential `json:"credential"`
}

// KeptCredential says what was kept, not the secret.
type KeptCredential struct {
	Kind   string `json:"kind"`
	Origin string `json:"origin"` // the one it goes to
	Where  string `json:"where"`  // a sentence on how it is kept
}

// keepCredential stores what a person gave on the command line.
func (r *registry) keepCredential(ctx context.Context, in KeepCredential) (KeptCredential, error) {
	c := in.Credential.domain()
	origin, err := r.credentialOrigin(ctx, in.ID, c)
	if err != nil {
		return KeptCredential{}, err
	}
	if !slices.Contains(r.grants.of(ctx, in.ID), origin) {
		return KeptCredential{}, &orchestrator.Fault{
			Kind: "origin", Where: orchestrator.WhereUs, What: origin + " is not among the addresses at which this agent may be reached.",
			Do: "See them: parley agents show " + in.ID,
		}
	}
	if err := r.creds.keep(ctx, in.ID, origin, c); err != nil {
		return KeptCredential{}, err
	}
	return KeptCredential{in.Credential.Kind, origin, r.creds.vault.Kind().String()}, nil
}

// credentialOrigin is the one origin that a credential of an agent goes to: where it is called, unless it says otherwise.
func (r *registry) credentialOrigin(ctx context.Context, id string, c *orchestrator.Credential) (string, error) {
	g, err := r.store.Agent(ctx, id)
	if err == nil && g.Trust == orchestrator.TrustRemoved {
		err = orchestrator.ErrNotFound
	}
	if err != nil {
		return "", noAgent(ctx, r.store, id, err)
	}
	if c.Origin != "" {
		return card.Origin(c.Origin)
	}
	return card.Origin(card.Address(&g.Interface))
}
