package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
)

// A card of v0.1 says in words what it wants, and where, and a reader of that time finds it again.
func TestCardOLD(t *testing.T) {
	for _, c := range []struct {
		name   string
		scheme a2a.SecurityScheme
		want   string
		back   a2a.SchemeKind
	}{
		{"bearer", a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Scheme: "bearer"}, `{"schemes":["Bearer"]}`, a2a.SchemeHTTP},
		{"basic", a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Scheme: "Basic"}, `{"schemes":["Basic"]}`, a2a.SchemeHTTP},
		{
			"key",
			a2a.SecurityScheme{Kind: a2a.SchemeAPIKey, Location: "query", Name: "k"},
			`{"schemes":["ApiKey"],"credentials":"{\"in\":\"query\",\"name\":\"k\"}"}`, a2a.SchemeAPIKey,
		},
		{
			"oauth",
			a2a.SecurityScheme{Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{{
				Kind: "authorizationCode", AuthorizationURL: "https://a.example/", TokenURL: "https://t.example/", Scopes: map[string]string{"r": "read"},
			}}},
			`{"schemes":["OAuth2"],"credentials":"{\"tokenUrl\":\"https://t.example/\",\"authorizationUrl\":\"https://a.example/\",\"scopes\":{\"r\":\"read\"}}"}`,
			a2a.SchemeOAuth2,
		},
	} {
		card := &a2a.AgentCard{
			Name: "x", Interfaces: []a2a.AgentInterface{{URL: "https://x.example/", Binding: a2a.BindingJSONRPC, Version: "0.3"}},
			SecuritySchemes: map[string]a2a.SecurityScheme{"s": c.scheme}, SecurityRequirements: []a2a.SecurityRequirement{{"s": nil}},
		}
		b := wire.AppendCard(nil, wire.CardOLD, card)
		var got struct {
			Authentication  json.RawMessage
			ProtocolVersion string
			Security        []any
			Interfaces      any `json:"supportedInterfaces"`
		}
		if err := json.Unmarshal(b, &got); err != nil || string(got.Authentication) != c.want {
			t.Errorf("%s: %v, %s, want %s", c.name, err, got.Authentication, c.want)
		}
		if got.ProtocolVersion != "0.3.0" || len(got.Security) != 1 || got.Interfaces != nil {
			t.Errorf("%s is not the card of v0.3: %s", c.name, b)
		}
		old := strings.NewReplacer(`"securitySchemes"`, `"x"`, `"security"`, `"y"`).Replace(string(b))
		read, _, err := wire.DecodeCard([]byte(old))
		if err != nil || len(read.SecuritySchemes) != 1 {
			t.Fatalf("%s: %v in %s", c.name, err, old)
		}
		for _, s := range read.SecuritySchemes {
			if s.Kind != c.back || s.Location != c.scheme.Location {
				t.Errorf("%s is read back as %+v", c.name, s)
			}
		}
	}
	b := wire.AppendCard(nil, wire.CardOLD, &a2a.AgentCard{Name: "open"})
	if !strings.Contains(string(b), `"authentication":{"schemes":[]}`) {
		t.Errorf("an open agent: %s", b)
	}
}

// Readers of v0.2 refuse a card with a kind of scheme that they do not know: agent.json has no mutual TLS, and what is left
// suffices as before. Where nothing would be left, the requirement stays.
func TestCardOLDWithoutMutualTLS(t *testing.T) {
	card := &a2a.AgentCard{
		Name: "x", Interfaces: []a2a.AgentInterface{{URL: "https://x.example/", Binding: a2a.BindingJSONRPC, Version: "0.3"}},
		SecuritySchemes: map[string]a2a.SecurityScheme{
			"mtls": {Kind: a2a.SchemeMutualTLS}, "key": {Kind: a2a.SchemeAPIKey, Location: "header", Name: "K"},
		},
		SecurityRequirements: []a2a.SecurityRequirement{{"mtls": {}}, {"key": {}}},
		Skills:               []a2a.AgentSkill{{ID: "s", Name: "s", SecurityRequirements: []a2a.SecurityRequirement{{"mtls": {}}}}},
		Signatures:           []a2a.AgentCardSignature{{Protected: "p", Signature: "s"}},
	}
	b := string(wire.AppendCard(nil, wire.CardOLD, card))
	for part, want := range map[string]bool{
		`"securitySchemes":{"key":`: true, `"type":"mutualTLS"`: false, `"security":[{"key":[]}]`: true,
		`"security":[{"mtls":[]}]`: true, `"schemes":["MutualTLS","ApiKey"]`: true, `"signatures"`: false,
	} {
		if strings.Contains(b, part) != want {
			t.Errorf("%s is there: %t, want %t, in %s", part, !want, want, b)
		}
	}
	if len(card.SecuritySchemes) != 2 || len(card.SecurityRequirements) != 2 || len(card.Skills[0].SecurityRequirements) != 1 || len(card.Signatures) != 1 {
		t.Errorf("the card was changed: %+v", card)
	}
	if b := string(wire.AppendCard(nil, wire.CardMID, card)); !strings.Contains(b, `"type":"mutualTLS"`) || !strings.Contains(b, `"signatures"`) {
		t.Errorf("v0.3 has it: %s", b)
	}
}
