package orchestratortest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

func storeAgents(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	_, err := s.Agent(t.Context(), "travel")
	storeNotFound(t, "Agent", err)
	want := &orchestrator.Agent{
		ID: "travel", Name: "Travel", Trust: orchestrator.TrustApproved, CardURL: "https://example.test/card",
		CardJSON: []byte(`{"name": "Travel"}`), CardHash: "abc", Dialect: "v0.3", Known: orchestrator.KnownByAnswer, Notes: []a2a.Note{{Text: "a note"}}, Hue: 7, Local: true,
		Idempotent: true, Added: storeTime(1),
		Interface: a2a.AgentInterface{URL: "https://example.test/", Binding: a2a.BindingJSONRPC, Version: "0.3", Tenant: "x"},
		Card: &a2a.AgentCard{
			Name: "Travel", Description: "Books *trips*.", Version: "1",
			Interfaces:   []a2a.AgentInterface{{URL: "https://example.test/", Binding: a2a.BindingJSONRPC, Version: "0.3"}},
			Capabilities: a2a.AgentCapabilities{Streaming: true},
			SecuritySchemes: map[string]a2a.SecurityScheme{
				"token": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"},
			},
			SecurityRequirements: []a2a.SecurityRequirement{{"token": {"read"}}},
			DefaultInputModes:    []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
			Skills: []a2a.AgentSkill{{ID: "book", Name: "Book", Description: "Books.", Tags: []string{"flights"}}},
		},
		Signature: &orchestrator.Signature{
			State: orchestrator.SignatureVerified, KeyID: "k", Fingerprint: "00ff", Form: "v1.0", Unsigned: []string{"url"},
			Source: "https://example.test/keys", Keys: []byte(`{"keys":[]}`), Checked: storeTime(3),
		},
		Changed: &orchestrator.CardChange{
			JSON: []byte(`{"name":"Trips"}`), Card: &a2a.AgentCard{Name: "Trips"}, Hash: "abd",
			Interface: a2a.AgentInterface{URL: "https://example.test/2"}, Origins: []string{"https://example.test"},
			Notes: []a2a.Note{{Text: "another"}}, Grave: true, Seen: storeTime(4),
		},
		Muted: true,
		Health: orchestrator.AgentHealth{
			Checked: storeTime(2), Latency: 12 * time.Millisecond, Fault: &orchestrator.Fault{Kind: "dns", Where: orchestrator.WhereNetwork, What: "No such host.", Retry: true},
		},
	}
	check := func() {
		t.Helper()
		got, err := s.Agent(t.Context(), "travel")
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("agent: %v (-want +got):\n%s", err, d)
		}
	}
	storeWrite(t, s, &orchestrator.Batch{Agents: []*orchestrator.Agent{
		want,
		{ID: "b", Name: "beta", Trust: orchestrator.TrustPending},
		{ID: "a", Name: "Alpha", Trust: orchestrator.TrustReview},
		{ID: "gone", Name: "Gone", Trust: orchestrator.TrustRemoved},
	}})
	check()
	want.Health, want.Trust, want.Card, want.Notes = orchestrator.AgentHealth{}, orchestrator.TrustRemoved, nil, nil
	want.Changed, want.Muted = nil, false
	listed := func(ids ...string) {
		t.Helper()
		all, err := s.ListAgents(t.Context())
		var got []string
		for _, a := range all {
			got = append(got, a.ID)
		}
		if d := cmp.Diff(ids, got); d != "" || err != nil {
			t.Errorf("agents: %v (-want +got):\n%s", err, d)
		}
	}
	listed("a", "b", "travel")
	storeWrite(t, s, &orchestrator.Batch{Agents: []*orchestrator.Agent{want}})
	check()
	listed("a", "b")
}

func storeGrants(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	grants := []orchestrator.Grant{
		{AgentID: "a", Origin: "https://one.test:443", Given: storeTime(1)}, {AgentID: "a", Origin: "https://two.test:443", Given: storeTime(2)},
	}
	storeWrite(t, s, &orchestrator.Batch{Grants: append(grants, orchestrator.Grant{AgentID: "b", Origin: "https://one.test:443"})})
	check := func(want []orchestrator.Grant) {
		t.Helper()
		got, err := s.Grants(t.Context(), "a")
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("grants: %v (-want +got):\n%s", err, d)
		}
	}
	check(grants)
	for range 2 {
		if err := s.RevokeGrant(t.Context(), orchestrator.Grant{AgentID: "a", Origin: "https://one.test:443"}); err != nil {
			t.Fatal(err)
		}
		check(grants[1:])
	}
}

func storeTokens(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	_, err := s.Token(t.Context(), [32]byte{1})
	storeNotFound(t, "Token", err)
	a := &orchestrator.Token{
		ID: "a", Name: "ci", Hash: [32]byte{1}, Agents: []string{"x", "y"}, ReadOnly: true, Credentials: true, Workflows: true, RatePerMin: 60,
		Created: storeTime(1), Used: storeTime(2),
	}
	b := &orchestrator.Token{ID: "b", Hash: [32]byte{2}, Created: storeTime(2)}
	storeWrite(t, s, &orchestrator.Batch{Tokens: []*orchestrator.Token{b, a}})
	a.Revoked = storeTime(3)
	storeWrite(t, s, &orchestrator.Batch{Tokens: []*orchestrator.Token{a}})
	got, err := s.Token(t.Context(), a.Hash)
	if d := cmp.Diff(a, got); d != "" || err != nil {
		t.Errorf("token: %v (-want +got):\n%s", err, d)
	}
	all, err := s.ListTokens(t.Context())
	if d := cmp.Diff([]*orchestrator.Token{a, b}, all); d != "" || err != nil {
		t.Errorf("tokens: %v (-want +got):\n%s", err, d)
	}
	// Another token cannot have the same secret.
	if err := s.Write(t.Context(), &orchestrator.Batch{Tokens: []*orchestrator.Token{{ID: "c", Hash: a.Hash}}}); err == nil {
		t.Error("two tokens with one hash were stored")
	}
	if got, err := s.Token(t.Context(), a.Hash); err != nil || got.ID != "a" {
		t.Errorf("Token = %v, %v", got, err)
	}
}
