package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"sync"

	"parley/a2a"
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
	for _, e := range v.List(ctx) {
		if e.Agent == keyOwner {
			continue
		}
		s, err := v.Get(ctx, e.Agent, e.Origin)
		if err != nil {
			return nil, err
		}
		b, err := boundOf(e.Origin, s)
		if err != nil {
			return nil, err
		}
		c.bound[e.Agent] = append(c.bound[e.Agent], b)
	}
	return c, nil
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
	case k.Kind == a2a.SchemeAPIKey:
		b.Kind = egress.APIKey
	case k.Scheme == "Basic":
		b.Kind = egress.Basic
	default:
		b.Kind = egress.Bearer
	}
	return b, b.Check()
}

func seal(c *orchestrator.Credential) (vault.Secret, error) {
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

// keep stores a credential of an agent for one origin, in place of the one before.
func (c *credentials) keep(ctx context.Context, agent, origin string, cred *orchestrator.Credential) error {
	s, err := seal(cred)
	if err != nil {
		return err
	}
	b, err := boundOf(origin, s)
	if err != nil {
		return err
	}
	if err := c.vault.Put(ctx, agent, origin, s); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := []egress.Bound{b}
	for _, old := range c.bound[agent] {
		if old.Origin != origin {
			kept = append(kept, old)
		}
	}
	c.bound[agent] = kept
	return nil
}

// forget removes every credential of an agent.
func (c *credentials) forget(ctx context.Context, agent string) error {
	c.mu.Lock()
	delete(c.bound, agent)
	delete(c.own, agent)
	c.mu.Unlock()
	for _, e := range c.vault.List(ctx) {
		if e.Agent != agent {
			continue
		}
		if err := c.vault.Delete(ctx, agent, e.Origin); err != nil {
			return err
		}
	}
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
