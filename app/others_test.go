package app

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"testing"
	"time"

	"parley/orchestrator"
)

// What another process changes is what counts here, too, from the next hint on: a token that was revoked lets nobody in.
func TestOthersChange(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	ctx := t.Context()
	hash := sha256.Sum256([]byte("secret"))
	token := &orchestrator.Token{ID: "t", Hash: hash, RatePerMin: 60, Created: time.UnixMilli(1)}
	put := func(b *orchestrator.Batch) { // behind the back of what is in memory
		t.Helper()
		if err := s.Storage.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	put(&orchestrator.Batch{
		Tokens: []*orchestrator.Token{token}, Agents: []*orchestrator.Agent{{ID: "a", Name: "A"}},
		Grants: []orchestrator.Grant{{AgentID: "a", Origin: "https://one.test:443"}},
	})
	grants, err := loadGrants(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	a := &App{store: s, tokens: newTokens(s, ""), grants: grants, log: slog.New(slog.DiscardHandler)}
	a.model = newModel(s, nil, a.log)
	s.changed = a.othersChanged
	lookup := func(want bool) {
		t.Helper()
		if _, ok, err := a.tokens.lookup(ctx, hash); ok != want || err != nil {
			t.Fatalf("lookup: %v, %v; want %v", ok, err, want)
		}
	}
	agent := func(want string) {
		t.Helper()
		if g, err := s.Agent(ctx, "a"); err != nil || g.Name != want {
			t.Fatalf("agent %v, %v; want %s", g, err, want)
		}
	}
	lookup(true)
	agent("A")
	limit := a.tokens.limiter("t")

	put(&orchestrator.Batch{
		Tokens: []*orchestrator.Token{{ID: "t", Hash: hash, ReadOnly: true, RatePerMin: 60, Created: time.UnixMilli(1)}},
		Agents: []*orchestrator.Agent{{ID: "a", Name: "B"}}, Grants: []orchestrator.Grant{{AgentID: "a", Origin: "https://two.test:443"}},
		Settings: map[string]string{orchestrator.ErrorMapping: "1.0.0"},
	})
	if a.tokens.readOnly("t") {
		t.Fatal("known before it was said")
	}
	agent("A")
	for _, c := range []orchestrator.Change{{TokenID: "t"}, {AgentID: "a"}, {Setting: orchestrator.ErrorMapping}} {
		s.refresh(ctx, c)
	}
	agent("B")
	if !a.tokens.readOnly("t") || !s.old.Load() || !slices.Contains(grants.of(ctx, "a"), "https://two.test:443") {
		t.Error("what was hinted at is not known")
	}
	if a.tokens.limiter("t") == nil || limit == nil {
		t.Error("the limit is gone")
	}
	revoked := *token
	revoked.Revoked = time.UnixMilli(5)
	put(&orchestrator.Batch{Tokens: []*orchestrator.Token{&revoked}})
	lookup(true)
	s.refresh(context.Background(), orchestrator.Change{}) // without a hint
	lookup(false)
}

// Who holds the token of the environment is let in only by processes that have it. What he began is carried on by any: his
// rights are the same everywhere.
func TestEnvElsewhere(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	hash := sha256.Sum256([]byte("secret"))
	node, worker := newTokens(s, "secret"), newTokens(s, "")
	if who, ok, err := node.lookup(t.Context(), hash); who != envPrincipal || !ok || err != nil {
		t.Errorf("with the token: %q, %v, %v", who, ok, err)
	}
	for _, h := range [][32]byte{hash, {}, sha256.Sum256(nil)} {
		if who, ok, err := worker.lookup(t.Context(), h); ok || err != nil {
			t.Errorf("without the token: %q, %v, %v", who, ok, err)
		}
	}
	for _, k := range []*tokens{node, worker} {
		if !k.mayReach(envPrincipal, "a") || !k.mayUseCredentials(envPrincipal) || !k.mayRunWorkflows(envPrincipal) || k.readOnly(envPrincipal) {
			t.Error("what env began is not carried on")
		}
	}
	if worker.mayReach("nobody", "a") || worker.mayReach("", "a") {
		t.Error("nobody may reach an agent")
	}
}
