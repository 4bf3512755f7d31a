package wire

import (
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

func (c *cardReader) readSchemes(r *jsontext.Reader) map[string]a2a.SecurityScheme {
	m := map[string]a2a.SecurityScheme{}
	for r.Object(); r.Member(); {
		name := string(r.Key())
		s := a2a.SecurityScheme{}
		kind := ""
		readScheme(r, &s, &kind)
		if s.Kind == "" {
			s.Kind = schemeKind(kind)
		}
		if s.Kind == "" {
			c.note("The security scheme %q is of a kind that is not known.", name)
			continue
		}
		m[name] = s
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// readScheme reads a scheme in its flat form (type), in the wrapper of v1.0, or both at once. The wrapper decides, and may
// be written as @a2a-js/sdk 1.3.0 keeps it: {"scheme": {"$case": wrapper, "value": scheme}}.
func readScheme(r *jsontext.Reader, s *a2a.SecurityScheme, kind *string) {
	for r.Object(); r.Member(); {
		name := string(r.Name())
		var within []byte
		if wrappers[name] != "" && r.Peek() == '{' {
			within = r.Span()
		} else if name == "scheme" && r.Peek() == '{' {
			name, within = readCase(r)
		}
		if within != nil {
			*s = a2a.SecurityScheme{Description: s.Description}
			if wrappers[name] == "" {
				continue
			}
			var none string
			readWithin(r, within, func(r *jsontext.Reader) { readScheme(r, s, &none) })
			s.Kind = wrappers[name]
			continue
		}
		switch name {
		case "type":
			*kind = r.String()
		case "description":
			s.Description = r.String()
		case "name":
			s.Name = r.String()
		case "in", "location":
			s.Location = strings.ToLower(r.String())
		case "scheme":
			s.Scheme = r.String()
		case "bearerFormat":
			s.BearerFormat = r.String()
		case "flows":
			s.Flows = readFlows(r)
		case "oauth2MetadataUrl":
			s.OAuth2MetadataURL = r.String()
		case "openIdConnectUrl":
			s.OpenIDConnectURL = r.String()
		default:
			r.Skip()
		}
	}
}

// readCase reads a choice as programs made by ts-proto hold it, {"$case": name, "value": object}.
func readCase(r *jsontext.Reader) (name string, value []byte) {
	value = []byte("{}")
	for r.Object(); r.Member(); {
		switch string(r.Key()) {
		case "$case":
			name = r.String()
		case "value":
			value = r.Span()
		default:
			r.Skip()
		}
	}
	return name, value
}

// readWithin reads a value that r has passed.
func readWithin(r *jsontext.Reader, value []byte, read func(*jsontext.Reader)) {
	inner := jsontext.NewReader(value)
	read(inner)
	if err, ok := inner.Err().(*jsontext.Error); ok {
		r.Fail(r.Offset(), err.Msg)
	}
}

var wrappers = map[string]a2a.SchemeKind{
	"apiKeySecurityScheme":        a2a.SchemeAPIKey,
	"httpAuthSecurityScheme":      a2a.SchemeHTTP,
	"http":                        a2a.SchemeHTTP, // a2a-go
	"oauth2SecurityScheme":        a2a.SchemeOAuth2,
	"openIdConnectSecurityScheme": a2a.SchemeOpenIDConnect,
	"mtlsSecurityScheme":          a2a.SchemeMutualTLS,
}

func schemeKind(kind string) a2a.SchemeKind {
	for _, k := range []a2a.SchemeKind{a2a.SchemeAPIKey, a2a.SchemeHTTP, a2a.SchemeOAuth2, a2a.SchemeOpenIDConnect, a2a.SchemeMutualTLS} {
		if strings.EqualFold(kind, string(k)) {
			return k
		}
	}
	return ""
}

var flowKinds = []string{"authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"}

// readFlows reads all flows, in the order of flowKinds.
func readFlows(r *jsontext.Reader) (list []a2a.OAuthFlow) {
	found := map[string]a2a.OAuthFlow{}
	for r.Object(); r.Member(); {
		kind := string(r.Name())
		switch {
		case r.Peek() != '{':
			r.Skip()
		case kind == "flow":
			kind, value := readCase(r)
			readWithin(r, value, func(r *jsontext.Reader) { found[kind] = readFlow(r, kind) })
		default:
			found[kind] = readFlow(r, kind)
		}
	}
	for _, kind := range flowKinds {
		if f, ok := found[kind]; ok {
			list = append(list, f)
		}
	}
	return list
}

func readFlow(r *jsontext.Reader, kind string) a2a.OAuthFlow {
	f := a2a.OAuthFlow{Kind: kind}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "authorizationUrl":
			f.AuthorizationURL = r.String()
		case "deviceAuthorizationUrl":
			f.DeviceAuthorizationURL = r.String()
		case "tokenUrl":
			f.TokenURL = r.String()
		case "refreshUrl":
			f.RefreshURL = r.String()
		case "scopes":
			f.Scopes = readScopeTexts(r)
		case "pkceRequired":
			f.PKCERequired = r.Bool()
		default:
			r.Skip()
		}
	}
	return f
}

// readScopeTexts reads scopes with what they allow.
func readScopeTexts(r *jsontext.Reader) map[string]string {
	m := map[string]string{}
	for r.Object(); r.Member(); {
		scope := string(r.Key())
		m[scope] = r.String()
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// readRequirements reads [{"schemes":{name:{"list":[…]}}}] of v1.0, the same without "list" as a2a-go writes it, and
// [{name:[…]}] of before.
func readRequirements(r *jsontext.Reader) (list []a2a.SecurityRequirement) {
	for r.Array(); r.Element(); {
		req := a2a.SecurityRequirement{}
		for r.Object(); r.Member(); {
			if string(r.Key()) == "schemes" && r.Peek() == '{' {
				for r.Object(); r.MemberOrNull(); {
					name := string(r.Key())
					req[name] = readScopes(r)
				}
				continue
			}
			name := string(r.Key())
			req[name] = readScopes(r)
		}
		list = append(list, req)
	}
	return list
}

func readScopes(r *jsontext.Reader) []string {
	scopes := []string{}
	if r.Null() {
		return scopes
	}
	if r.Peek() == '[' {
		return append(scopes, r.Strings()...)
	}
	for r.Object(); r.Member(); {
		if string(r.Key()) == "list" {
			scopes = append(scopes, r.Strings()...)
		} else {
			r.Skip()
		}
	}
	return scopes
}

// readAuthentication reads what v0.1 had in place of security schemes.
func (c *cardReader) readAuthentication(r *jsontext.Reader) {
	c.words = []string{}
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "schemes":
			c.words = r.Strings()
		case "credentials":
			if r.Peek() == '"' {
				c.hints = r.String()
			} else {
				c.hints = string(r.Raw())
			}
		default:
			r.Skip()
		}
	}
}

// finishAuthentication turns the words of v0.1 into schemes, any of which suffices. Schemes that the card describes go
// before them.
func (c *cardReader) finishAuthentication() {
	if len(c.words) == 0 || len(c.card.SecuritySchemes) > 0 {
		return
	}
	c.card.SecuritySchemes = map[string]a2a.SecurityScheme{}
	for _, word := range c.words {
		name := strings.ToLower(word)
		c.card.SecuritySchemes[name] = c.scheme(word)
		c.card.SecurityRequirements = append(c.card.SecurityRequirements, a2a.SecurityRequirement{name: {}})
	}
}

// scheme says what a word of v0.1 means. The card's credentials may be a JSON object with details, none of them secret.
func (c *cardReader) scheme(word string) a2a.SecurityScheme {
	var key a2a.SecurityScheme
	var flow a2a.OAuthFlow
	if hints := []byte(c.hints); jsontext.IsObject(hints) {
		r := jsontext.NewReader(hints)
		for r.Object(); r.Member(); {
			name := string(r.Name())
			if name == "scopes" && r.Peek() == '{' {
				flow.Scopes = readScopeTexts(r)
				continue
			}
			if r.Peek() != '"' {
				r.Skip()
				continue
			}
			switch s := r.String(); name {
			case "in", "location":
				key.Location = strings.ToLower(s)
			case "name":
				key.Name = s
			case "authorizationUrl":
				flow.AuthorizationURL = s
			case "tokenUrl":
				flow.TokenURL = s
			}
		}
	}
	switch strings.ToLower(word) {
	case "basic":
		return a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Scheme: "Basic"}
	case "apikey", "api_key", "api-key":
		if key.Location == "" || key.Name == "" {
			key.Location, key.Name = "header", "X-API-Key"
			c.note("The card does not say where its API key goes: the header X-API-Key is a guess.")
		}
		key.Kind = a2a.SchemeAPIKey
		return key
	case "oauth2":
		if flow.AuthorizationURL != "" && flow.TokenURL != "" {
			flow.Kind = "authorizationCode"
			return a2a.SecurityScheme{Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{flow}}
		}
		c.note("The card asks for OAuth 2.0 and does not say where: a token must be given by hand.")
	case "bearer":
	default:
		c.note("The card asks for authentication by %q: a bearer token is assumed.", word)
	}
	return a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Scheme: "Bearer"}
}
