package wire

import (
	"maps"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// CardForm says which dialects a written card serves.
type CardForm uint8

const (
	CardNEW       CardForm = iota // pure v1.0, for RPC results
	CardMID                       // pure v0.3
	CardSuperset                  // both at once, for /.well-known/agent-card.json
	CardOLD                       // v0.3 with what v0.1 needs beside it, for /.well-known/agent.json
	CardPROTO                     // v0.3 with security schemes in the form of a2a.v1 as well, for /v1/card: SDKs differ in what they read
	CardBareLists                 // as CardSuperset with the scopes of a requirement not wrapped in "list": all that a2a-go/v2 parses
)

// AppendCard appends a card. What one version cannot say is said in the nearest way that keeps an agent as closed as it
// is: v1.0 gets a scheme for every OAuth flow, v0.3 a bearer token in place of flows that it does not know.
//
// CardOLD has no schemes of mutual TLS: strict readers of v0.2, which does not know them, refuse the card.
func AppendCard(b []byte, f CardForm, card *a2a.AgentCard) []byte {
	whole := card
	if f == CardOLD {
		card = withoutMutualTLS(card)
	}
	w := cardWriter{form: f, whole: whole, schemes: card.SecuritySchemes}
	if w.is(CardNEW) {
		w.schemes, w.flows = splitFlows(card.SecuritySchemes)
	}
	return w.append(b, card)
}

type cardWriter struct {
	form    CardForm
	whole   *a2a.AgentCard // with what was left out for v0.2
	schemes map[string]a2a.SecurityScheme
	flows   map[string][]string // the names that a scheme of several flows was split into
}

func (w *cardWriter) is(f CardForm) bool {
	switch w.form {
	case CardSuperset, CardBareLists:
		return f == CardNEW || f == CardMID
	case CardOLD, CardPROTO:
		return f == w.form || f == CardMID
	}
	return f == w.form
}

func (w *cardWriter) append(b []byte, card *a2a.AgentCard) []byte {
	b = append(b, '{')
	if w.is(CardMID) {
		b = append(b, `"protocolVersion":"0.3.0"`...)
	}
	b = jsontext.AppendString(jsontext.AppendName(b, "name"), card.Name)
	b = jsontext.AppendString(jsontext.AppendName(b, "description"), card.Description)
	b = jsontext.AppendString(jsontext.AppendName(b, "version"), card.Version)
	if p := card.Provider; p != nil {
		b = jsontext.AppendString(append(b, `,"provider":{"organization":`...), p.Organization)
		b = jsontext.AppendString(append(b, `,"url":`...), p.URL)
		b = append(b, '}')
	}
	b = jsontext.AppendText(b, "documentationUrl", card.DocumentationURL)
	b = jsontext.AppendText(b, "iconUrl", card.IconURL)
	if w.is(CardNEW) {
		b = append(b, `,"supportedInterfaces":[`...)
		for _, in := range card.Interfaces {
			b = append(separate(b), `{"url":`...)
			b = jsontext.AppendString(b, in.URL)
			b = jsontext.AppendText(b, "protocolBinding", in.Binding)
			b = jsontext.AppendText(b, "protocolVersion", in.Version)
			b = jsontext.AppendText(b, "tenant", in.Tenant)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	if w.is(CardMID) {
		b = appendAddresses(b, addresses(card.Interfaces, w.is(CardOLD)))
	}
	b = w.appendCapabilities(b, &card.Capabilities)
	if len(w.schemes) > 0 {
		b = append(b, `,"securitySchemes":{`...)
		for _, name := range slices.Sorted(maps.Keys(w.schemes)) {
			s := w.schemes[name]
			b = append(jsontext.AppendString(separate(b), name), ':')
			b = w.appendScheme(b, &s)
		}
		b = append(b, '}')
	}
	b = w.appendRequirements(b, card.SecurityRequirements)
	if w.form == CardOLD {
		b = appendAuthentication(b, w.whole)
	}
	b = jsontext.AppendStrings(append(b, `,"defaultInputModes":`...), card.DefaultInputModes)
	b = jsontext.AppendStrings(append(b, `,"defaultOutputModes":`...), card.DefaultOutputModes)
	b = append(b, `,"skills":[`...)
	for i := range card.Skills {
		b = w.appendSkill(separate(b), &card.Skills[i])
	}
	b = append(b, ']')
	if len(card.Signatures) > 0 {
		b = append(b, `,"signatures":[`...)
		for _, s := range card.Signatures {
			b = jsontext.AppendString(append(separate(b), `{"protected":`...), s.Protected)
			b = jsontext.AppendString(append(b, `,"signature":`...), s.Signature)
			b = jsontext.AppendObject(b, "header", s.Header)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// separate appends a comma unless b ends where a list or an object begins.
func separate(b []byte) []byte {
	if c := b[len(b)-1]; c == '[' || c == '{' {
		return b
	}
	return append(b, ',')
}

// addresses are the interfaces that v0.3 is told of, the main one first. A card without interfaces of that time offers the
// ones it has. Clients of v0.1 know a main url only, where they speak JSON-RPC.
func addresses(all []a2a.AgentInterface, old bool) []a2a.AgentInterface {
	var list []a2a.AgentInterface
	for _, in := range all {
		if strings.HasPrefix(in.Version, "0.") && in.Version != "0.1" {
			list = append(list, in)
		}
	}
	if len(list) == 0 {
		list = slices.Clone(all)
	}
	if len(list) == 0 {
		list = []a2a.AgentInterface{{Binding: a2a.BindingJSONRPC}}
	}
	if !old {
		return list
	}
	main := slices.IndexFunc(all, func(in a2a.AgentInterface) bool { return in.Version == "0.1" })
	if main < 0 {
		all = list
		main = slices.IndexFunc(all, func(in a2a.AgentInterface) bool { return in.Binding == a2a.BindingJSONRPC })
	}
	if main < 0 {
		return list
	}
	first := []a2a.AgentInterface{all[main]}
	return append(first, slices.DeleteFunc(list, func(in a2a.AgentInterface) bool { return in == first[0] })...)
}

// appendAddresses writes the interfaces as v0.3 knows them: a main url and others beside it. The main one is among them as
// well if it has a tenant, which only they can say.
func appendAddresses(b []byte, list []a2a.AgentInterface) []byte {
	b = jsontext.AppendString(append(b, `,"url":`...), list[0].URL)
	b = jsontext.AppendString(append(b, `,"preferredTransport":`...), list[0].Binding)
	if list[0].Tenant == "" {
		list = list[1:]
	}
	b = append(b, `,"additionalInterfaces":[`...)
	for _, in := range list {
		b = jsontext.AppendString(append(separate(b), `{"url":`...), in.URL)
		b = jsontext.AppendString(append(b, `,"transport":`...), in.Binding)
		b = jsontext.AppendText(b, "tenant", in.Tenant)
		b = append(b, '}')
	}
	return append(b, ']')
}

func (w *cardWriter) appendCapabilities(b []byte, c *a2a.AgentCapabilities) []byte {
	b = appendBool(append(b, `,"capabilities":{"streaming":`...), c.Streaming)
	b = appendBool(append(b, `,"pushNotifications":`...), c.PushNotifications)
	if w.is(CardNEW) {
		b = jsontext.AppendTrue(b, "extendedAgentCard", c.ExtendedAgentCard)
	}
	if w.is(CardMID) {
		b = append(b, `,"stateTransitionHistory":false`...)
	}
	if len(c.Extensions) > 0 {
		b = append(b, `,"extensions":[`...)
		for _, e := range c.Extensions {
			b = jsontext.AppendString(append(separate(b), `{"uri":`...), e.URI)
			b = jsontext.AppendText(b, "description", e.Description)
			b = jsontext.AppendTrue(b, "required", e.Required)
			b = jsontext.AppendObject(b, "params", e.Params)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	b = append(b, '}')
	if w.is(CardMID) {
		b = appendBool(append(b, `,"supportsAuthenticatedExtendedCard":`...), c.ExtendedAgentCard)
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, "true"...)
	}
	return append(b, "false"...)
}

func (w *cardWriter) appendSkill(b []byte, s *a2a.AgentSkill) []byte {
	b = jsontext.AppendString(append(b, `{"id":`...), s.ID)
	b = jsontext.AppendString(append(b, `,"name":`...), s.Name)
	b = jsontext.AppendString(append(b, `,"description":`...), s.Description)
	b = jsontext.AppendStrings(append(b, `,"tags":`...), s.Tags)
	b = jsontext.AppendList(b, "examples", s.Examples)
	b = jsontext.AppendList(b, "inputModes", s.InputModes)
	b = jsontext.AppendList(b, "outputModes", s.OutputModes)
	b = w.appendRequirements(b, s.SecurityRequirements)
	return append(b, '}')
}

// appendRequirements writes the requirements under the name of each version.
func (w *cardWriter) appendRequirements(b []byte, list []a2a.SecurityRequirement) []byte {
	if len(list) == 0 {
		return b
	}
	list = w.splitRequirements(list)
	if w.is(CardNEW) {
		b = append(b, `,"securityRequirements":[`...)
		for _, req := range list {
			b = append(separate(b), `{"schemes":{`...)
			for _, name := range slices.Sorted(maps.Keys(req)) {
				b = append(jsontext.AppendString(separate(b), name), ':')
				if w.form == CardBareLists {
					b = jsontext.AppendStrings(b, req[name])
					continue
				}
				b = append(jsontext.AppendStrings(append(b, `{"list":`...), req[name]), '}')
			}
			b = append(b, "}}"...)
		}
		b = append(b, ']')
	}
	if w.is(CardMID) {
		b = append(b, `,"security":[`...)
		for _, req := range list {
			b = append(separate(b), '{')
			for _, name := range slices.Sorted(maps.Keys(req)) {
				b = append(jsontext.AppendString(separate(b), name), ':')
				b = jsontext.AppendStrings(b, req[name])
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return b
}
