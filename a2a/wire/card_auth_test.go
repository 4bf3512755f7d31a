package wire_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
)

// Agents made with @a2a-js/sdk 1.3.0 write the schemes of their card as the SDK holds them.
func TestSchemesOfTSProto(t *testing.T) {
	card := func(schemes string) string {
		return `{"name":"x","supportedInterfaces":[{"url":"https://x.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"securitySchemes":` + schemes + `}`
	}
	got, notes, err := wire.DecodeCard([]byte(card(`{
		"key":{"scheme":{"$case":"apiKeySecurityScheme","value":{"description":"d","location":"header","name":"K"}}},
		"bearer":{"scheme":{"value":{"scheme":"Bearer","bearerFormat":"JWT"},"$case":"httpAuthSecurityScheme"}},
		"oauth":{"scheme":{"$case":"oauth2SecurityScheme","value":{"oauth2MetadataUrl":"https://m.example/","flows":{"flow":{
			"$case":"clientCredentials","value":{"tokenUrl":"https://t.example/","scopes":{"r":"read"}}}}}}},
		"mtls":{"scheme":{"$case":"mtlsSecurityScheme"}},
		"new":{"scheme":{"$case":"telepathySecurityScheme","value":{}}},
		"flat":{"type":"http","scheme":"basic"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]a2a.SecurityScheme{
		"key":    {Kind: a2a.SchemeAPIKey, Description: "d", Location: "header", Name: "K"},
		"bearer": {Kind: a2a.SchemeHTTP, Scheme: "Bearer", BearerFormat: "JWT"},
		"oauth": {Kind: a2a.SchemeOAuth2, OAuth2MetadataURL: "https://m.example/", Flows: []a2a.OAuthFlow{
			{Kind: "clientCredentials", TokenURL: "https://t.example/", Scopes: map[string]string{"r": "read"}},
		}},
		"mtls": {Kind: a2a.SchemeMutualTLS},
		"flat": {Kind: a2a.SchemeHTTP, Scheme: "basic"},
	}
	if !reflect.DeepEqual(got.SecuritySchemes, want) {
		t.Errorf("got %+v", got.SecuritySchemes)
	}
	if !strings.Contains(fmt.Sprint(notes), `"new"`) {
		t.Errorf("nothing is said of the kind that is not known: %q", notes)
	}
	for _, bad := range []string{
		`{"s":{"scheme":{"$case":7,"value":{}}}}`,
		`{"s":{"scheme":{"$case":"apiKeySecurityScheme","value":[]}}}`,
		`{"s":{"scheme":{"$case":"apiKeySecurityScheme","value":{"name":7}}}}`,
		`{"s":{"scheme":{"$case":"oauth2SecurityScheme","value":{"flows":{"flow":{"$case":"password","value":{"tokenUrl":7}}}}}}}`,
	} {
		if _, notes, err := wire.DecodeCard([]byte(card(bad))); err == nil && len(notes) == 0 {
			t.Errorf("nothing is said of %s", bad)
		}
	}
}
