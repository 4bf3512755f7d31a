package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"parley/orchestrator"
)

// envPrincipal is the caller who has the token of the environment.
const envPrincipal = "env"

// tokenPrefix makes a leaked token recognisable as one of ours.
const tokenPrefix = "parley_"

// tokens knows who may call us. A token is looked up by its hash; what it may do is remembered, so that a request costs
// no query, until it is changed here.
//
// What somebody began goes on under what he was allowed, also when he is let in no more, and in processes that never let
// him in: there the run's row says whose it is. That of env is the same everywhere, so any worker carries its runs on.
type tokens struct {
	store orchestrator.Store

	mu     sync.Mutex
	byHash map[[32]byte]*client
	byID   map[string]*client
}

// client is an authenticated caller.
type client struct {
	*orchestrator.Token               // never changed
	limit               *rate.Limiter // nil = no limit
	used                time.Time     // as stored, or on its way there; under tokens.mu
}

// usedEvery is how exactly it is known when a token was used last.
const usedEvery = time.Minute

func newTokens(store orchestrator.Store, env string) *tokens {
	t := &tokens{store: store, byHash: map[[32]byte]*client{}, byID: map[string]*client{}}
	c := &client{Token: &orchestrator.Token{
		ID: envPrincipal, Name: envPrincipal, Agents: []string{"*"}, Credentials: true, Workflows: true,
	}}
	t.byID[envPrincipal] = c
	if env != "" {
		t.byHash[sha256.Sum256([]byte(env))] = c
	}
	return t
}

// learn remembers a token as it was read, unless it became known, or was revoked, meanwhile.
func (t *tokens) learn(k *orchestrator.Token) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byID[k.ID]; c != nil {
		return c
	}
	return t.put(k)
}

// remember takes a token in place of what was known of it.
func (t *tokens) remember(k *orchestrator.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(k)
}

func (t *tokens) put(k *orchestrator.Token) *client {
	c := &client{Token: k, used: k.Used}
	if k.RatePerMin > 0 {
		c.limit = rate.NewLimiter(rate.Limit(float64(k.RatePerMin)/60), k.RatePerMin)
	}
	t.byHash[k.Hash], t.byID[k.ID] = c, c
	return c
}

// lookup returns the principal that a token's hash belongs to.
func (t *tokens) lookup(ctx context.Context, hash [32]byte) (string, bool, error) {
	t.mu.Lock()
	c, ok := t.byHash[hash]
	t.mu.Unlock()
	if !ok {
		k, err := t.store.Token(ctx, hash)
		if errors.Is(err, orchestrator.ErrNotFound) {
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		c = t.learn(k)
	}
	if !c.Revoked.IsZero() {
		return "", false, nil
	}
	t.note(c)
	return c.ID, true, nil
}

// note stores that a token is being used. It queues that with t.mu held: a token that is revoked meanwhile is stored as
// revoked after this.
func (t *tokens) note(c *client) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.ID == envPrincipal || now.Sub(c.used) < usedEvery || t.byID[c.ID] != c {
		return
	}
	c.used = now
	k := *c.Token
	k.Used = now
	t.store.Enqueue(&orchestrator.Batch{Tokens: []*orchestrator.Token{&k}}, nil)
}

// client returns a caller, nil when there is none of that id. What a caller began goes on after a restart, before the
// caller is seen again: then its token is read.
func (t *tokens) client(principal string) *client {
	t.mu.Lock()
	c := t.byID[principal]
	t.mu.Unlock()
	if c != nil || principal == "" || principal == anonymous {
		return c
	}
	all, err := t.store.ListTokens(context.Background())
	i := slices.IndexFunc(all, func(k *orchestrator.Token) bool { return k.ID == principal })
	if err != nil || i < 0 {
		return nil
	}
	return t.learn(all[i])
}

// mayReach reports whether a principal may reach a gateway agent.
func (t *tokens) mayReach(principal, agent string) bool {
	c := t.client(principal)
	return c != nil && (slices.Contains(c.Agents, agent) || slices.Contains(c.Agents, "*"))
}

func (t *tokens) readOnly(principal string) bool {
	c := t.client(principal)
	return c != nil && c.ReadOnly
}

// revoked reports whether a principal had a token and is let in by it no more.
func (t *tokens) revoked(principal string) bool {
	c := t.client(principal)
	return c != nil && !c.Revoked.IsZero()
}

// mayRunWorkflows reports whether a principal may have any workflow carried out, its own files included.
func (t *tokens) mayRunWorkflows(principal string) bool {
	c := t.client(principal)
	return c != nil && c.Workflows
}

// mayUseCredentials reports whether a principal's runs may use credentials stored here.
func (t *tokens) mayUseCredentials(principal string) bool {
	if principal == orchestrator.LocalPrincipal {
		return true
	}
	c := t.client(principal)
	return c != nil && c.Credentials
}

func (t *tokens) limiter(principal string) *rate.Limiter {
	if c := t.client(principal); c != nil {
		return c.limit
	}
	return nil
}

// create makes a token.
func (t *tokens) create(ctx context.Context, in TokenInfo) (TokenInfo, error) {
	if strings.TrimSpace(in.Name) == "" {
		return TokenInfo{}, &orchestrator.Fault{Kind: "name", Where: orchestrator.WhereUs, What: "A token needs a name."}
	}
	if in.RatePerMin < 0 {
		return TokenInfo{}, &orchestrator.Fault{Kind: "rate", Where: orchestrator.WhereUs, What: "A rate is a number of requests a minute, or 0 for no limit."}
	}
	for _, id := range in.Agents {
		if id == "*" {
			continue
		}
		if _, err := t.store.Agent(ctx, id); err != nil {
			return TokenInfo{}, noAgent(ctx, t.store, id, err)
		}
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	in.Secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	k := &orchestrator.Token{
		ID: uuid.Must(uuid.NewV7()).String(), Name: in.Name, Hash: sha256.Sum256([]byte(in.Secret)), Agents: in.Agents,
		ReadOnly: in.ReadOnly, Credentials: in.Credentials, Workflows: in.Workflows, RatePerMin: in.RatePerMin, Created: time.Now(),
	}
	if err := t.store.Write(ctx, &orchestrator.Batch{Tokens: []*orchestrator.Token{k}}); err != nil {
		return TokenInfo{}, err
	}
	t.remember(k)
	out := tokenInfo(k)
	out.Secret = in.Secret
	return out, nil
}

func (t *tokens) list(ctx context.Context) ([]TokenInfo, error) {
	all, err := t.store.ListTokens(ctx)
	out := make([]TokenInfo, 0, len(all))
	for _, k := range all {
		out = append(out, tokenInfo(k))
	}
	return out, err
}

// revokeToken ends a token at once. What it started goes on, and neither its webhooks nor its open streams hear more of that.
func (a *App) revokeToken(ctx context.Context, n Named) (struct{}, error) {
	principal, err := a.tokens.revoke(ctx, n.ID)
	if err == nil {
		err = a.push.Forget(ctx, principal)
	}
	return struct{}{}, err
}

// revoke ends a token, by its id or by the name that no other valid one has, and returns whose it was.
func (t *tokens) revoke(ctx context.Context, id string) (principal string, err error) {
	all, err := t.store.ListTokens(ctx)
	if err != nil {
		return "", err
	}
	found := tokensOf(all, id)
	switch {
	case len(found) == 0:
		return "", &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no token " + id + ".", Do: "See: parley token list",
		}
	case len(found) > 1:
		return "", &orchestrator.Fault{
			Kind: "ambiguous", Where: orchestrator.WhereUs, What: "Several tokens are named " + id + ".", Do: "Give the id of one: parley token list",
		}
	case !found[0].Revoked.IsZero():
		return found[0].ID, nil
	}
	k := *found[0]
	k.Revoked = time.Now()
	t.remember(&k) // first, so that nothing is stored of its use after it
	return k.ID, t.store.Write(ctx, &orchestrator.Batch{Tokens: []*orchestrator.Token{&k}})
}

// tokensOf returns the token with an id, else those with that name: the valid ones, or, where there is none, the newest.
func tokensOf(all []*orchestrator.Token, id string) (found []*orchestrator.Token) {
	var revoked *orchestrator.Token
	for _, k := range all {
		switch {
		case k.ID == id:
			return []*orchestrator.Token{k}
		case k.Name != id:
		case k.Revoked.IsZero():
			found = append(found, k)
		default:
			revoked = k
		}
	}
	if len(found) == 0 && revoked != nil {
		found = append(found, revoked)
	}
	return found
}

func tokenInfo(k *orchestrator.Token) TokenInfo {
	ptr := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return TokenInfo{
		ID: k.ID, Name: k.Name, Agents: k.Agents, ReadOnly: k.ReadOnly, Credentials: k.Credentials, Workflows: k.Workflows,
		RatePerMin: k.RatePerMin,
		Created:    k.Created, Used: ptr(k.Used), Revoked: ptr(k.Revoked),
	}
}
