package pb

import (
	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"parley/a2a"
	"parley/a2a/wire"
)

// Cards go through the JSON that package wire reads and writes, which is that of the messages: they are asked for seldom,
// and all that is to be known about older and newer cards is there.

func newCard(c *a2a.AgentCard) (proto.Message, error) {
	out := &lf.AgentCard{}
	return out, fromJSON(out, wire.CardNEW, c)
}

// v03Card has the addresses of v0.3 and everything else as v1.0 has it, but for what the members are called.
func v03Card(c *a2a.AgentCard) (proto.Message, error) {
	card, addresses, newer := &v03.AgentCard{}, &v03.AgentCard{}, &lf.AgentCard{}
	for form, m := range map[wire.CardForm]proto.Message{wire.CardMID: addresses, wire.CardNEW: newer} {
		if err := fromJSON(m, form, c); err != nil {
			return nil, err
		}
	}
	if err := fromJSON(card, wire.CardNEW, c); err != nil {
		return nil, err
	}
	card.ProtocolVersion, card.Url, card.PreferredTransport = addresses.ProtocolVersion, addresses.Url, addresses.PreferredTransport
	card.AdditionalInterfaces = addresses.AdditionalInterfaces
	card.SupportsAuthenticatedExtendedCard = addresses.SupportsAuthenticatedExtendedCard
	card.Security = each(newer.SecurityRequirements, v03Security)
	for i, s := range card.Skills {
		s.Security = each(newer.Skills[i].SecurityRequirements, v03Security)
	}
	for _, s := range card.SecuritySchemes {
		if o := s.GetOauth2SecurityScheme(); o != nil && o.GetFlows().GetFlow() == nil { // whoever has a token can still use it
			s.Scheme = &v03.SecurityScheme_HttpAuthSecurityScheme{HttpAuthSecurityScheme: &v03.HTTPAuthSecurityScheme{
				Description: o.Description, Scheme: "Bearer",
			}}
		}
	}
	return card, nil
}

func v03Security(r *lf.SecurityRequirement) *v03.Security {
	out := &v03.Security{Schemes: map[string]*v03.StringList{}}
	for name, scopes := range r.GetSchemes() {
		out.Schemes[name] = &v03.StringList{List: scopes.GetList()}
	}
	return out
}

func fromJSON(m proto.Message, f wire.CardForm, c *a2a.AgentCard) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(wire.AppendCard(nil, f, c), m); err != nil {
		return a2a.Errorf(a2a.KindInternal, "the card cannot be written: %w", err)
	}
	return nil
}

// readCard reads a card of either service.
func readCard(m proto.Message) (any, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, invalidReply(err)
	}
	c, _, err := wire.DecodeCard(b)
	if err != nil {
		return nil, invalidReply(err)
	}
	return c, nil
}
