package sign

// shape is the members that an object of some version has; a reader of that version does not see any other.
type shape map[string]member

// member is what a member holds.
type member struct {
	of   shape // the members of the value, or of each element; nil for what is taken as it is
	list bool  // of such objects
	dict bool  // of such objects, by name
	std  std   // the default at which a writer leaves it out
}

// std is the default of a member.
type std uint8

const (
	kept  std = iota // required, or told apart from one that is not there
	empty            // "", false, [] or {}
	v03              // "0.3.0"
	rpc              // "JSONRPC"
	named            // the word by which a security scheme says what it is
)

func (d std) is(v any) bool {
	switch d {
	case empty:
		switch v := v.(type) {
		case string:
			return v == ""
		case bool:
			return !v
		case []any:
			return len(v) == 0
		case map[string]any:
			return len(v) == 0
		}
	case v03:
		return v == "0.3.0"
	case rpc:
		return v == "JSONRPC"
	case named:
		return true
	}
	return false
}

// cut returns v with the members of its shape only, without null and, where defaults is set, without what is at its
// default.
func cut(v map[string]any, s shape, defaults bool) map[string]any {
	out := map[string]any{}
	for name, inner := range v {
		name = camel(name)
		m, ok := s[name]
		if !ok || inner == nil {
			continue
		}
		inner = m.cut(inner, defaults)
		if !defaults || !m.std.is(inner) {
			out[name] = inner
		}
	}
	return out
}

func (m member) cut(v any, defaults bool) any {
	one := func(v any) any {
		o, ok := v.(map[string]any)
		if !ok {
			return v
		}
		return cut(wrapped(o, m.of), m.of, defaults)
	}
	switch {
	case m.of == nil:
		return v
	case m.list:
		list, ok := v.([]any)
		if !ok {
			return v
		}
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = one(e)
		}
		return out
	case m.dict:
		dict, ok := v.(map[string]any)
		if !ok {
			return v
		}
		out := make(map[string]any, len(dict))
		for name, e := range dict {
			if list, bare := e.([]any); bare && m.of["list"].std == empty { // a2a-go leaves out the object around it
				e = map[string]any{"list": list}
			}
			out[name] = one(e)
		}
		return out
	}
	return one(v)
}

// wrapped puts a security scheme that has its type beside its members, as v0.3 does, into the wrapper of v1.0, where
// there is none: the SDKs read both.
func wrapped(o map[string]any, s shape) map[string]any {
	if _, scheme := s["httpAuthSecurityScheme"]; !scheme {
		return o
	}
	for name := range o {
		if _, ok := s[camel(name)]; ok {
			return o
		}
	}
	kind, _ := o["type"].(string)
	name, ok := map[string]string{
		"apiKey": "apiKeySecurityScheme", "http": "httpAuthSecurityScheme", "oauth2": "oauth2SecurityScheme",
		"openIdConnect": "openIdConnectSecurityScheme", "mutualTLS": "mtlsSecurityScheme",
	}[kind]
	if !ok {
		return o
	}
	inner := map[string]any{}
	for n, v := range o {
		if n == "in" {
			n = "location"
		}
		inner[n] = v
	}
	return map[string]any{name: inner}
}

// The card of v1.0, by the annotations of a2a.proto.
var (
	newRequirement = shape{"schemes": {dict: true, std: empty, of: shape{"list": {std: empty}}}}

	newFlow = shape{
		"authorizationUrl": {}, "deviceAuthorizationUrl": {}, "tokenUrl": {}, "refreshUrl": {std: empty}, "scopes": {},
		"pkceRequired": {std: empty},
	}
	newOldFlow = shape{ // implicit and password, where nothing is required
		"authorizationUrl": {std: empty}, "tokenUrl": {std: empty}, "refreshUrl": {std: empty}, "scopes": {std: empty},
	}

	newScheme = shape{
		"apiKeySecurityScheme":   {of: shape{"description": {std: empty}, "location": {}, "name": {}}},
		"httpAuthSecurityScheme": {of: shape{"description": {std: empty}, "scheme": {}, "bearerFormat": {std: empty}}},
		"oauth2SecurityScheme": {of: shape{"description": {std: empty}, "oauth2MetadataUrl": {std: empty}, "flows": {of: shape{
			"authorizationCode": {of: newFlow}, "clientCredentials": {of: newFlow}, "deviceCode": {of: newFlow},
			"implicit": {of: newOldFlow}, "password": {of: newOldFlow},
		}}}},
		"openIdConnectSecurityScheme": {of: shape{"description": {std: empty}, "openIdConnectUrl": {}}},
		"mtlsSecurityScheme":          {of: shape{"description": {std: empty}}},
	}

	newCard = shape{
		"name": {}, "description": {}, "version": {}, "documentationUrl": {}, "iconUrl": {},
		"provider":             {of: shape{"organization": {}, "url": {}}},
		"supportedInterfaces":  {list: true, of: shape{"url": {}, "protocolBinding": {}, "protocolVersion": {}, "tenant": {std: empty}}},
		"securitySchemes":      {dict: true, std: empty, of: newScheme},
		"securityRequirements": {list: true, std: empty, of: newRequirement},
		"defaultInputModes":    {}, "defaultOutputModes": {},
		"capabilities": {of: shape{
			"streaming": {}, "pushNotifications": {}, "extendedAgentCard": {},
			"extensions": {list: true, std: empty, of: shape{
				"uri": {std: empty}, "description": {std: empty}, "required": {std: empty}, "params": {},
			}},
		}},
		"skills": {list: true, of: shape{
			"id": {}, "name": {}, "description": {}, "tags": {}, "examples": {std: empty}, "inputModes": {std: empty},
			"outputModes": {std: empty}, "securityRequirements": {list: true, std: empty, of: newRequirement},
		}},
	}
)

// The card of v0.3, by its JSON schema; the defaults are those of the Python SDK.
var (
	midFlow = shape{"authorizationUrl": {}, "tokenUrl": {}, "refreshUrl": {}, "scopes": {}}

	midScheme = shape{
		"type": {std: named}, "description": {}, "in": {}, "name": {}, "scheme": {}, "bearerFormat": {},
		"openIdConnectUrl": {}, "oauth2MetadataUrl": {}, "flows": {of: shape{
			"authorizationCode": {of: midFlow}, "clientCredentials": {of: midFlow}, "implicit": {of: midFlow}, "password": {of: midFlow},
		}},
	}

	midCard = shape{
		"protocolVersion": {std: v03}, "preferredTransport": {std: rpc},
		"name": {}, "description": {}, "url": {}, "version": {}, "documentationUrl": {}, "iconUrl": {},
		"additionalInterfaces": {list: true, of: shape{"url": {}, "transport": {}}},
		"provider":             {of: shape{"organization": {}, "url": {}}},
		"security":             {}, "securitySchemes": {dict: true, of: midScheme},
		"supportsAuthenticatedExtendedCard": {}, "defaultInputModes": {}, "defaultOutputModes": {},
		"capabilities": {of: shape{
			"streaming": {}, "pushNotifications": {}, "stateTransitionHistory": {},
			"extensions": {list: true, of: shape{"uri": {}, "description": {}, "required": {}, "params": {}}},
		}},
		"skills": {list: true, of: shape{
			"id": {}, "name": {}, "description": {}, "tags": {}, "examples": {}, "inputModes": {}, "outputModes": {}, "security": {},
		}},
	}
)
