package wire

import (
	"maps"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// appendAuthentication writes what v0.1 has in place of security schemes: the words for those that suffice, and in
// credentials, which is for nothing secret, where the first of them that is no plain token has its say. A card that needs
// none has an empty list.
func appendAuthentication(b []byte, card *a2a.AgentCard) []byte {
	var words []string
	var hints []byte
	for _, req := range card.SecurityRequirements {
		for _, name := range slices.Sorted(maps.Keys(req)) {
			scheme, ok := card.SecuritySchemes[name]
			if !ok {
				continue
			}
			word, hint := oldScheme(&scheme)
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
			if hints == nil {
				hints = hint
			}
		}
	}
	b = jsontext.AppendStrings(append(b, `,"authentication":{"schemes":`...), words)
	if hints != nil {
		b = jsontext.AppendString(append(b, `,"credentials":`...), string(hints))
	}
	return append(b, '}')
}

// oldScheme is v0.1's word for a scheme, with what a client must know beside it as a JSON object; nil where that is nothing.
func oldScheme(s *a2a.SecurityScheme) (word string, hint []byte) {
	switch s.Kind {
	case a2a.SchemeAPIKey:
		hint = jsontext.AppendString([]byte(`{"in":`), s.Location)
		hint = jsontext.AppendString(append(hint, `,"name":`...), s.Name)
		return "ApiKey", append(hint, '}')
	case a2a.SchemeOAuth2:
		for i := range s.Flows {
			f := &s.Flows[i]
			if f.TokenURL == "" {
				continue
			}
			hint = jsontext.AppendString([]byte(`{"tokenUrl":`), f.TokenURL)
			hint = jsontext.AppendText(hint, "authorizationUrl", f.AuthorizationURL)
			hint = append(appendScopes(append(hint, `,"scopes":`...), f.Scopes), '}')
			break
		}
		return "OAuth2", hint
	case a2a.SchemeOpenIDConnect:
		return "OpenIdConnect", nil
	case a2a.SchemeMutualTLS:
		return "MutualTLS", nil
	}
	switch {
	case strings.EqualFold(s.Scheme, "bearer"):
		return "Bearer", nil
	case strings.EqualFold(s.Scheme, "basic"):
		return "Basic", nil
	}
	return s.Scheme, nil
}
