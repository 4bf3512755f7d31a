package wiretest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

var code = a2a.OAuthFlow{
	Kind: "authorizationCode", AuthorizationURL: "https://o.example/auth", TokenURL: "https://o.example/token", RefreshURL: "https://o.example/refresh",
	Scopes: map[string]string{"read": "to read", "write": "to write"}, PKCERequired: true,
}

var card = a2a.AgentCard{
	Name: "calc", Description: "It **adds**.", Version: "1.0.0",
	Provider:         &a2a.AgentProvider{Organization: "Example", URL: "https://a.example"},
	DocumentationURL: "https://a.example/docs", IconURL: "https://a.example/icon.png",
	Interfaces: []a2a.AgentInterface{
		{URL: "https://a.example/rpc", Binding: a2a.BindingJSONRPC, Version: "1.0"},
		{URL: "https://a.example/rest", Binding: a2a.BindingREST, Version: "1.0", Tenant: "acme"},
		{URL: "https://a.example/old", Binding: a2a.BindingJSONRPC, Version: "0.3"},
		{URL: "https://a.example/oldrest", Binding: a2a.BindingREST, Version: "0.3"},
	},
	Capabilities: a2a.AgentCapabilities{
		Streaming: true, PushNotifications: true, ExtendedAgentCard: true,
		Extensions: []a2a.AgentExtension{{URI: "https://e.example/x", Description: "x", Required: true, Params: a2a.Metadata(`{"a":1}`)}},
	},
	SecuritySchemes: map[string]a2a.SecurityScheme{
		"bearer": {Kind: a2a.SchemeHTTP, Scheme: "bearer", BearerFormat: "JWT", Description: "a token"},
		"key":    {Kind: a2a.SchemeAPIKey, Name: "X-Key", Location: "header"},
		"oauth": {Kind: a2a.SchemeOAuth2, OAuth2MetadataURL: "https://o.example/.well-known/oauth", Flows: []a2a.OAuthFlow{
			code, {Kind: "clientCredentials", TokenURL: "https://o.example/token"},
		}},
		"device": {Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{{Kind: "deviceCode", DeviceAuthorizationURL: "https://o.example/device", TokenURL: "https://o.example/token"}}},
		"oidc":   {Kind: a2a.SchemeOpenIDConnect, OpenIDConnectURL: "https://o.example/.well-known/openid-configuration"},
		"mtls":   {Kind: a2a.SchemeMutualTLS},
	},
	SecurityRequirements: []a2a.SecurityRequirement{{"bearer": {}}, {"oauth": {"read"}, "key": {}}, {"device": {}}},
	DefaultInputModes:    []string{"text/plain"},
	DefaultOutputModes:   []string{"text/plain", "application/json"},
	Skills: []a2a.AgentSkill{
		{
			ID: "add", Name: "Add", Description: "adds", Tags: []string{"math"}, Examples: []string{"1+1"}, InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"},
			SecurityRequirements: []a2a.SecurityRequirement{{"oauth": {"write"}}},
		},
		{ID: "sub", Name: "Subtract"},
	},
	Signatures: []a2a.AgentCardSignature{{Protected: "cA", Signature: "cw", Header: []byte(`{"kid":"1"}`)}},
}

// newCard is c after a way through v1.0: every flow has a scheme of its own.
func newCard(c *a2a.AgentCard) *a2a.AgentCard {
	n := *c
	n.SecuritySchemes = map[string]a2a.SecurityScheme{}
	for name, s := range c.SecuritySchemes {
		if name != "oauth" {
			n.SecuritySchemes[name] = s
			continue
		}
		for _, f := range s.Flows {
			one := s
			one.Flows = []a2a.OAuthFlow{f}
			n.SecuritySchemes[name+"-"+f.Kind] = one
		}
	}
	n.SecurityRequirements = []a2a.SecurityRequirement{
		{"bearer": {}}, {"oauth-authorizationCode": {"read"}, "key": {}}, {"oauth-clientCredentials": {"read"}, "key": {}}, {"device": {}},
	}
	n.Skills = append([]a2a.AgentSkill(nil), c.Skills...)
	n.Skills[0].SecurityRequirements = []a2a.SecurityRequirement{{"oauth-authorizationCode": {"write"}}, {"oauth-clientCredentials": {"write"}}}
	return &n
}

// midCard is c after a way through v0.3: only its own interfaces, no PKCE, and a bearer token for the device flow.
func midCard(c *a2a.AgentCard) *a2a.AgentCard {
	n := *c
	n.Interfaces = c.Interfaces[2:]
	n.SecuritySchemes = map[string]a2a.SecurityScheme{}
	for name, s := range c.SecuritySchemes {
		switch name {
		case "oauth":
			plain := code
			plain.PKCERequired = false
			s.Flows = []a2a.OAuthFlow{plain, s.Flows[1]}
		case "device":
			s = a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Scheme: "bearer"}
		}
		n.SecuritySchemes[name] = s
	}
	return &n
}

// oldCard is what agent.json makes of a card: mutual TLS, which v0.2 does not know, is left out, and with it what signed it.
func oldCard(c *a2a.AgentCard) *a2a.AgentCard {
	o := midCard(c)
	o.SecuritySchemes, o.Signatures = maps.Clone(o.SecuritySchemes), nil
	maps.DeleteFunc(o.SecuritySchemes, func(_ string, s a2a.SecurityScheme) bool { return s.Kind == a2a.SchemeMutualTLS })
	return o
}

// turned is a card whose interfaces are in the other order.
func turned(c a2a.AgentCard) *a2a.AgentCard {
	c.Interfaces = slices.Clone(c.Interfaces)
	slices.Reverse(c.Interfaces)
	return &c
}

func TestCards(t *testing.T) {
	t.Parallel()
	plain := a2a.AgentCard{
		Name: "plain", Interfaces: []a2a.AgentInterface{{URL: "https://p.example/", Binding: a2a.BindingJSONRPC, Version: "1.0"}},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
	older := plain // what a card of v0.3 makes of an interface of v1.0
	older.Interfaces = []a2a.AgentInterface{{URL: "https://p.example/", Binding: a2a.BindingJSONRPC, Version: "0.3"}}
	tenants := plain // v0.3 has them over HTTP+JSON only
	tenants.Interfaces = []a2a.AgentInterface{
		{URL: "https://p.example/rest", Binding: a2a.BindingREST, Version: "0.3", Tenant: "acme"},
		{URL: "p.example:443", Binding: a2a.BindingGRPC, Version: "0.3"},
		{URL: "https://p.example/rpc", Binding: a2a.BindingJSONRPC, Version: "0.3", Tenant: "acme"},
	}
	apart := tenants // v0.1 has its own address
	apart.Interfaces = append([]a2a.AgentInterface{{URL: "https://p.example/old", Binding: a2a.BindingJSONRPC, Version: "0.1"}}, tenants.Interfaces...)
	apartMID := apart
	apartMID.Interfaces = slices.Clone(apart.Interfaces)
	apartMID.Interfaces[0].Version = "0.3"
	var files []txtar.File
	for _, tt := range []struct {
		name string
		form wire.CardForm
		card *a2a.AgentCard
		want *a2a.AgentCard
	}{
		{"full v1.0", wire.CardNEW, &card, newCard(&card)},
		{"full v0.3", wire.CardMID, &card, midCard(&card)},
		{"full superset", wire.CardSuperset, &card, newCard(&card)},
		{"full with bare lists", wire.CardBareLists, &card, newCard(&card)},
		{"full v0.3 over HTTP+JSON", wire.CardPROTO, &card, midCard(&card)},
		{"full v0.1", wire.CardOLD, &card, oldCard(&card)},
		{"turned v0.1", wire.CardOLD, turned(card), oldCard(&card)},
		{"v0.1 apart", wire.CardOLD, &apart, &apartMID},
		{"v0.1 apart for v0.3", wire.CardMID, &apart, &tenants},
		{"tenants v0.3", wire.CardMID, &tenants, &tenants},
		{"plain v1.0", wire.CardNEW, &plain, &plain},
		{"plain v0.3", wire.CardMID, &plain, &older},
		{"plain superset", wire.CardSuperset, &plain, &plain},
	} {
		b := wire.AppendCard(nil, tt.form, tt.card)
		files = append(files, file(tt.name, b))
		got, notes, err := wire.DecodeCard(b)
		if err != nil {
			t.Fatalf("%s: %v\n%s", tt.name, err, b)
		}
		if tt.card == &card && len(notes) > 0 {
			t.Errorf("%s: notes on a whole card: %q", tt.name, notes)
		}
		if diff := cmp.Diff(tt.want, got, same); diff != "" {
			t.Errorf("%s was read differently:\n%s", tt.name, diff)
		}
	}
	golden(t, "cards.txtar", files)
}

// mutualTLS reports whether a card declares mutual TLS.
func mutualTLS(card *a2a.AgentCard) bool {
	for _, s := range card.SecuritySchemes {
		if s.Kind == a2a.SchemeMutualTLS {
			return true
		}
	}
	return false
}

// TestCardsSurvive: a card is in every form what it was, but for the interfaces of other versions.
func TestCardsSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		card := wiretest.Card().Draw(t, "card")
		v03 := card
		v03.Interfaces = slices.DeleteFunc(slices.Clone(card.Interfaces), func(in a2a.AgentInterface) bool { return in.Version != "0.3" })
		if len(v03.Interfaces) == 0 { // better than none
			for _, in := range card.Interfaces {
				in.Version = "0.3"
				v03.Interfaces = append(v03.Interfaces, in)
			}
		}
		v01 := v03
		if i := slices.IndexFunc(v03.Interfaces, func(in a2a.AgentInterface) bool { return in.Binding == a2a.BindingJSONRPC }); i > 0 {
			main := v03.Interfaces[i]
			v01.Interfaces = slices.Insert(slices.Delete(slices.Clone(v03.Interfaces), i, i+1), 0, main)
		}
		for form, want := range map[wire.CardForm]*a2a.AgentCard{
			wire.CardNEW: &card, wire.CardSuperset: &card, wire.CardBareLists: &card, wire.CardMID: &v03, wire.CardPROTO: &v03, wire.CardOLD: &v01,
		} {
			if form == wire.CardOLD && mutualTLS(&card) {
				continue // which agent.json does not name: see TestCardOLD of package wire
			}
			b := wire.AppendCard(nil, form, &card)
			got, _, err := wire.DecodeCard(b)
			if err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Fatalf("form %d: %s\n%s", form, b, diff)
			}
		}
	})
}
