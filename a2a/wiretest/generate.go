package wiretest

import (
	"encoding/json"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"parley/a2a"
)

// Event generates any event.
func Event() *rapid.Generator[a2a.Event] {
	return rapid.Custom(func(t *rapid.T) a2a.Event {
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0:
			return &a2a.Task{
				ID: id(t), ContextID: maybe(t, id), Status: status(t), Artifacts: list(t, 3, artifact),
				History: list(t, 3, func(t *rapid.T) a2a.Message { return Message().Draw(t, "message") }), Metadata: metadata(t),
			}
		case 1:
			m := Message().Draw(t, "message")
			return &m
		case 2:
			return &a2a.StatusUpdate{TaskID: id(t), ContextID: maybe(t, id), Status: status(t), Metadata: metadata(t)}
		}
		return &a2a.ArtifactUpdate{
			TaskID: id(t), ContextID: maybe(t, id), Artifact: artifact(t), Append: flip(t), LastChunk: flip(t), Metadata: metadata(t),
		}
	})
}

// Request generates a request to send.
func Request() *rapid.Generator[a2a.SendRequest] {
	return rapid.Custom(func(t *rapid.T) a2a.SendRequest {
		r := a2a.SendRequest{Tenant: maybe(t, id), Message: Message().Draw(t, "message"), Metadata: metadata(t)}
		if len(r.Message.Parts) == 0 {
			r.Message.Parts = []a2a.Part{a2a.TextPart("hello")}
		}
		c := &r.Configuration
		c.AcceptedOutputModes = list(t, 2, text)
		c.ReturnImmediately = flip(t)
		if flip(t) {
			n := rapid.IntRange(0, 1000).Draw(t, "history")
			c.HistoryLength = &n
		}
		if flip(t) {
			p := Push().Draw(t, "push")
			c.Push = &p
		}
		return r
	})
}

// Push generates a push configuration.
func Push() *rapid.Generator[a2a.PushConfig] {
	return rapid.Custom(func(t *rapid.T) a2a.PushConfig {
		p := a2a.PushConfig{Tenant: maybe(t, id), ID: maybe(t, id), TaskID: maybe(t, id), URL: id(t), Token: maybe(t, text)}
		if flip(t) {
			p.Authentication = &a2a.PushAuthentication{Scheme: id(t), Credentials: maybe(t, text), MoreSchemes: list(t, 2, id)}
		}
		return p
	})
}

// Card generates a card. Every scheme of OAuth 2.0 has one flow, none of them deviceCode, and no two interfaces have the same
// address: what else there is, v1.0 and v0.3 cannot both say.
func Card() *rapid.Generator[a2a.AgentCard] {
	return rapid.Custom(func(t *rapid.T) a2a.AgentCard {
		c := a2a.AgentCard{
			Name: id(t), Description: maybe(t, text), Version: maybe(t, id), DocumentationURL: maybe(t, id), IconURL: maybe(t, id),
			DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: append(list(t, 2, id), "image/png"),
			Capabilities: a2a.AgentCapabilities{Streaming: flip(t), PushNotifications: flip(t), ExtendedAgentCard: flip(t)},
		}
		if flip(t) {
			c.Provider = &a2a.AgentProvider{Organization: id(t), URL: maybe(t, id)}
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "interfaces") {
			c.Interfaces = append(c.Interfaces, a2a.AgentInterface{
				URL: "https://a.example/" + strconv.Itoa(i), Tenant: maybe(t, id), Version: rapid.SampledFrom([]string{"1.0", "0.3"}).Draw(t, "version"),
				Binding: rapid.SampledFrom([]string{a2a.BindingJSONRPC, a2a.BindingREST, a2a.BindingGRPC}).Draw(t, "binding"),
			})
		}
		c.Capabilities.Extensions = list(t, 2, func(t *rapid.T) a2a.AgentExtension {
			return a2a.AgentExtension{URI: id(t), Description: maybe(t, text), Required: flip(t), Params: metadata(t)}
		})
		c.SecuritySchemes = map[string]a2a.SecurityScheme{}
		for range rapid.IntRange(0, 3).Draw(t, "schemes") {
			c.SecuritySchemes[id(t)] = scheme(t)
		}
		requirements := func(t *rapid.T) a2a.SecurityRequirement {
			r := a2a.SecurityRequirement{}
			for name := range c.SecuritySchemes {
				if len(r) == 0 { // with more, the draws would depend on the order of a map
					r[name] = list(t, 2, text)
				}
			}
			return r
		}
		if len(c.SecuritySchemes) < 2 {
			c.SecurityRequirements = list(t, 2, requirements)
		}
		c.Skills = list(t, 2, func(t *rapid.T) a2a.AgentSkill {
			return a2a.AgentSkill{
				ID: id(t), Name: id(t), Description: maybe(t, text), Tags: list(t, 2, text), Examples: list(t, 2, text), InputModes: list(t, 2, id), OutputModes: list(t, 2, id),
			}
		})
		c.Signatures = list(t, 1, func(t *rapid.T) a2a.AgentCardSignature {
			return a2a.AgentCardSignature{Protected: id(t), Signature: id(t), Header: metadata(t)}
		})
		return c
	})
}

func scheme(t *rapid.T) a2a.SecurityScheme {
	s := a2a.SecurityScheme{Description: maybe(t, text)}
	switch s.Kind = rapid.SampledFrom([]a2a.SchemeKind{a2a.SchemeAPIKey, a2a.SchemeHTTP, a2a.SchemeOAuth2, a2a.SchemeOpenIDConnect, a2a.SchemeMutualTLS}).Draw(t, "kind"); s.Kind {
	case a2a.SchemeAPIKey:
		s.Name, s.Location = id(t), rapid.SampledFrom([]string{"header", "query", "cookie"}).Draw(t, "in")
	case a2a.SchemeHTTP:
		s.Scheme, s.BearerFormat = id(t), maybe(t, text)
	case a2a.SchemeOAuth2:
		f := a2a.OAuthFlow{
			Kind:       rapid.SampledFrom([]string{"authorizationCode", "clientCredentials", "implicit", "password"}).Draw(t, "flow"),
			RefreshURL: maybe(t, id),
		}
		if f.Kind == "authorizationCode" || f.Kind == "implicit" {
			f.AuthorizationURL = maybe(t, id)
		}
		if f.Kind != "implicit" {
			f.TokenURL = id(t)
		}
		if flip(t) {
			f.Scopes = map[string]string{id(t): text(t)}
		}
		s.Flows, s.OAuth2MetadataURL = []a2a.OAuthFlow{f}, maybe(t, id)
	case a2a.SchemeOpenIDConnect:
		s.OpenIDConnectURL = id(t)
	}
	return s
}

// Message generates a message, possibly without parts.
func Message() *rapid.Generator[a2a.Message] {
	return rapid.Custom(func(t *rapid.T) a2a.Message {
		return a2a.Message{
			ID: id(t), ContextID: maybe(t, id), TaskID: maybe(t, id),
			Role:  rapid.SampledFrom([]a2a.Role{a2a.RoleUser, a2a.RoleAgent, ""}).Draw(t, "role"),
			Parts: list(t, 3, part), Metadata: metadata(t), Extensions: list(t, 2, text), ReferenceTaskIDs: list(t, 2, id),
		}
	})
}

func status(t *rapid.T) a2a.TaskStatus {
	s := a2a.TaskStatus{State: rapid.SampledFrom([]a2a.TaskState{
		a2a.TaskStateUnspecified, a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected,
	}).Draw(t, "state")}
	if flip(t) {
		m := Message().Draw(t, "message")
		s.Message = &m
	}
	if flip(t) {
		s.Timestamp = time.UnixMilli(rapid.Int64Range(-60e12, 250e12).Draw(t, "time")).UTC()
	}
	return s
}

func artifact(t *rapid.T) a2a.Artifact {
	return a2a.Artifact{
		ID: id(t), Name: maybe(t, text), Description: maybe(t, text), Parts: list(t, 3, part), Metadata: metadata(t), Extensions: list(t, 2, text),
	}
}

func part(t *rapid.T) a2a.Part {
	p := a2a.Part{
		Kind:     a2a.PartKind(rapid.IntRange(int(a2a.PartText), int(a2a.PartNoContent)).Draw(t, "part")),
		Filename: maybe(t, text), MediaType: maybe(t, mediaType), Metadata: metadata(t),
	}
	switch p.Kind {
	case a2a.PartText:
		p.Text = text(t)
	case a2a.PartRaw:
		p.Raw = rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 20), rapid.SampledFrom([][]byte{[]byte("hi"), []byte("word"), []byte("aGk="), []byte("YUdrPQ=="), []byte("YUdr\n")}),
		).Draw(t, "raw")
	case a2a.PartURL:
		p.URL = id(t)
	case a2a.PartData:
		p.Data = value(t, 3)
	}
	return p
}

// metadata draws the names that have a meaning more often than chance would.
func metadata(t *rapid.T) a2a.Metadata {
	if flip(t) {
		return nil
	}
	m := map[string]json.RawMessage{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		key := rapid.OneOf(rapid.SampledFrom([]string{"filename", "mediaType", "data_part_compat", a2a.NoContentKey, "a_b"}), rapid.String()).Draw(t, "name")
		m[key] = rapid.OneOf(rapid.Just(json.RawMessage("true")), rapid.Custom(func(t *rapid.T) json.RawMessage { return value(t, 2) })).Draw(t, "value")
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// value generates any JSON value; numbers keep the form in which they were written.
func value(t *rapid.T, depth int) json.RawMessage {
	kinds := 5
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return json.RawMessage("null")
	case 1:
		return json.RawMessage(strconv.FormatBool(flip(t)))
	case 2:
		return json.RawMessage(rapid.SampledFrom([]string{"0", "-1.50", "1e3", "9007199254740993", "1152921504606846976", "1.0E-7"}).Draw(t, "number"))
	case 3, 4:
		b, _ := json.Marshal(rapid.String().Draw(t, "string"))
		return b
	case 5:
		b, _ := json.Marshal(list(t, 3, func(t *rapid.T) json.RawMessage { return value(t, depth-1) }))
		return b
	}
	m := map[string]json.RawMessage{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		m[rapid.OneOf(rapid.Just("value"), rapid.String()).Draw(t, "name")] = value(t, depth-1)
	}
	b, _ := json.Marshal(m)
	return b
}

func id(t *rapid.T) string {
	return rapid.StringN(1, 12, -1).Draw(t, "id")
}

func text(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"plain words", "<b>&\"\\</b>\n\t", "\u2028 世界 😀"})).Draw(t, "text")
}

func mediaType(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"text/plain", "image/png"})).Draw(t, "type")
}

func flip(t *rapid.T) bool { return rapid.Bool().Draw(t, "bool") }

func maybe(t *rapid.T, f func(*rapid.T) string) string {
	if flip(t) {
		return ""
	}
	return f(t)
}

func list[T any](t *rapid.T, most int, f func(*rapid.T) T) (l []T) {
	for range rapid.IntRange(0, most).Draw(t, "length") {
		l = append(l, f(t))
	}
	return l
}
