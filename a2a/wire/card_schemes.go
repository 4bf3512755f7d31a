package wire

import (
	"maps"
	"slices"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// splitFlows makes a scheme of every flow, named <scheme>-<flow>, since a scheme of v1.0 has one. names tells which
// schemes a scheme became.
func splitFlows(schemes map[string]a2a.SecurityScheme) (split map[string]a2a.SecurityScheme, names map[string][]string) {
	for name, s := range schemes {
		if len(s.Flows) < 2 {
			continue
		}
		if split == nil {
			split, names = maps.Clone(schemes), map[string][]string{}
		}
		delete(split, name)
		for _, f := range s.Flows {
			one := s
			one.Flows = []a2a.OAuthFlow{f}
			split[name+"-"+f.Kind] = one
			names[name] = append(names[name], name+"-"+f.Kind)
		}
	}
	if split == nil {
		return schemes, nil
	}
	return split, names
}

// splitRequirements puts in the place of a requirement on a scheme that was split one for each of what it became.
func (w *cardWriter) splitRequirements(list []a2a.SecurityRequirement) []a2a.SecurityRequirement {
	if w.flows == nil {
		return list
	}
	var out []a2a.SecurityRequirement
	for _, req := range list {
		alternatives := []a2a.SecurityRequirement{{}}
		for _, name := range slices.Sorted(maps.Keys(req)) {
			names := w.flows[name]
			if names == nil {
				names = []string{name}
			}
			var next []a2a.SecurityRequirement
			for _, alternative := range alternatives {
				for _, n := range names {
					one := maps.Clone(alternative)
					one[n] = req[name]
					next = append(next, one)
				}
			}
			alternatives = next
		}
		out = append(out, alternatives...)
	}
	return out
}

// withoutMutualTLS leaves out the schemes of mutual TLS, and the requirements on them unless there are no others: the agent
// stays as closed as it is. What was signed is another card then.
func withoutMutualTLS(card *a2a.AgentCard) *a2a.AgentCard {
	gone := func(name string, s a2a.SecurityScheme) bool { return s.Kind == a2a.SchemeMutualTLS }
	some := false
	for name, s := range card.SecuritySchemes {
		some = some || gone(name, s)
	}
	if !some {
		return card
	}
	kept := func(list []a2a.SecurityRequirement) []a2a.SecurityRequirement {
		rest := slices.DeleteFunc(slices.Clone(list), func(req a2a.SecurityRequirement) bool {
			for name := range req {
				if gone(name, card.SecuritySchemes[name]) {
					return true
				}
			}
			return false
		})
		if len(rest) == 0 {
			return list
		}
		return rest
	}
	out := *card
	out.SecuritySchemes = maps.Clone(card.SecuritySchemes)
	maps.DeleteFunc(out.SecuritySchemes, gone)
	out.SecurityRequirements = kept(card.SecurityRequirements)
	out.Skills = slices.Clone(card.Skills)
	for i := range out.Skills {
		out.Skills[i].SecurityRequirements = kept(out.Skills[i].SecurityRequirements)
	}
	out.Signatures = nil
	return &out
}

// appendScheme writes a scheme with its type (v0.3), in its wrapper (v1.0, a2a.v1), or in both ways at once.
func (w *cardWriter) appendScheme(b []byte, s *a2a.SecurityScheme) []byte {
	b = append(b, '{')
	if w.is(CardMID) {
		b = appendMidScheme(b, s)
	}
	if w.is(CardNEW) {
		b = appendNewScheme(b, s)
	}
	if w.is(CardPROTO) {
		one, flows := *s, midFlows(s.Flows)
		switch {
		case s.Kind != a2a.SchemeOAuth2:
		case len(flows) == 0: // as appendMidScheme has it
			one = a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Description: s.Description, Scheme: "bearer"}
		case len(flows) > 1: // the wrapper has room for one
			return append(b, '}')
		default:
			flows[0].PKCERequired = false
			one.Flows = flows
		}
		b = appendNewScheme(b, &one)
	}
	return append(b, '}')
}

func appendNewScheme(b []byte, s *a2a.SecurityScheme) []byte {
	switch s.Kind {
	case a2a.SchemeAPIKey:
		b = append(jsontext.AppendName(b, "apiKeySecurityScheme"), '{')
		b = jsontext.AppendText(b, "description", s.Description)
		b = jsontext.AppendString(jsontext.AppendName(b, "location"), s.Location)
		b = jsontext.AppendString(jsontext.AppendName(b, "name"), s.Name)
	case a2a.SchemeHTTP:
		b = append(jsontext.AppendName(b, "httpAuthSecurityScheme"), '{')
		b = jsontext.AppendText(b, "description", s.Description)
		b = jsontext.AppendString(jsontext.AppendName(b, "scheme"), s.Scheme)
		b = jsontext.AppendText(b, "bearerFormat", s.BearerFormat)
	case a2a.SchemeOAuth2:
		b = append(jsontext.AppendName(b, "oauth2SecurityScheme"), '{')
		b = jsontext.AppendText(b, "description", s.Description)
		b = append(jsontext.AppendName(b, "flows"), '{')
		for i := range s.Flows {
			b = appendFlow(b, &s.Flows[i], true)
		}
		b = append(b, '}')
		b = jsontext.AppendText(b, "oauth2MetadataUrl", s.OAuth2MetadataURL)
	case a2a.SchemeOpenIDConnect:
		b = append(jsontext.AppendName(b, "openIdConnectSecurityScheme"), '{')
		b = jsontext.AppendText(b, "description", s.Description)
		b = jsontext.AppendString(jsontext.AppendName(b, "openIdConnectUrl"), s.OpenIDConnectURL)
	default:
		b = append(jsontext.AppendName(b, "mtlsSecurityScheme"), '{')
		b = jsontext.AppendText(b, "description", s.Description)
	}
	return append(b, '}')
}

func appendMidScheme(b []byte, s *a2a.SecurityScheme) []byte {
	kind, flows := s.Kind, midFlows(s.Flows)
	if kind == a2a.SchemeOAuth2 && len(flows) == 0 {
		kind = a2a.SchemeHTTP // whoever has a token can still use it
	}
	b = jsontext.AppendString(append(b, `"type":`...), string(kind))
	b = jsontext.AppendText(b, "description", s.Description)
	switch kind {
	case a2a.SchemeAPIKey:
		b = jsontext.AppendString(append(b, `,"in":`...), s.Location)
		b = jsontext.AppendString(append(b, `,"name":`...), s.Name)
	case a2a.SchemeHTTP:
		scheme := s.Scheme
		if scheme == "" {
			scheme = "bearer"
		}
		b = jsontext.AppendString(append(b, `,"scheme":`...), scheme)
		b = jsontext.AppendText(b, "bearerFormat", s.BearerFormat)
	case a2a.SchemeOAuth2:
		b = append(b, `,"flows":{`...)
		for i := range flows {
			b = appendFlow(b, &flows[i], false)
		}
		b = append(b, '}')
		b = jsontext.AppendText(b, "oauth2MetadataUrl", s.OAuth2MetadataURL)
	case a2a.SchemeOpenIDConnect:
		b = jsontext.AppendString(append(b, `,"openIdConnectUrl":`...), s.OpenIDConnectURL)
	}
	return b
}

// midFlows leaves out what v0.3 does not have.
func midFlows(flows []a2a.OAuthFlow) (kept []a2a.OAuthFlow) {
	for _, f := range flows {
		if f.Kind != "deviceCode" {
			kept = append(kept, f)
		}
	}
	return kept
}

// appendFlow writes of a flow what its kind has: another member makes strict readers refuse the card.
func appendFlow(b []byte, f *a2a.OAuthFlow, pkce bool) []byte {
	b = append(jsontext.AppendString(separate(b), f.Kind), `:{`...)
	switch f.Kind {
	case "authorizationCode", "implicit":
		b = jsontext.AppendText(b, "authorizationUrl", f.AuthorizationURL)
	case "deviceCode":
		b = jsontext.AppendText(b, "deviceAuthorizationUrl", f.DeviceAuthorizationURL)
	}
	if f.Kind != "implicit" {
		b = jsontext.AppendText(b, "tokenUrl", f.TokenURL)
	}
	b = jsontext.AppendText(b, "refreshUrl", f.RefreshURL)
	b = appendScopes(jsontext.AppendName(b, "scopes"), f.Scopes)
	if pkce && f.Kind == "authorizationCode" {
		b = jsontext.AppendTrue(b, "pkceRequired", f.PKCERequired)
	}
	return append(b, '}')
}

func appendScopes(b []byte, scopes map[string]string) []byte {
	b = append(b, '{')
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		b = append(jsontext.AppendString(separate(b), scope), ':')
		b = jsontext.AppendString(b, scopes[scope])
	}
	return append(b, '}')
}
