package app

import (
	"maps"
	"slices"

	"parley/a2a"
)

// ownCard describes Parley's own agent at base (the origin of the A2A plane, with a trailing slash).
func ownCard(base, version string, auth bool) *a2a.AgentCard {
	card := &a2a.AgentCard{
		Name: "Parley",
		Description: "Hands a request to whichever of its agents fits, asks when that needs an answer or a sign-in, " +
			"and streams what the agent produces.",
		Version:            version,
		Provider:           &a2a.AgentProvider{Organization: "Parley", URL: base},
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"*/*"},
		DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{
			ID: "orchestrate", Name: "Find an agent and let it work",
			Description: "Chooses among the agents its person approved by what their cards say, and carries the request out there.",
			Tags:        []string{"orchestration", "routing", "agents"},
			Examples:    []string{"Write a short article about tide tables", "Plan a trip to Bergen"},
		}},
	}
	publish(card, base, base+"rpc", auth)
	return card
}

// gatewayCard is the card of a remote agent, re-addressed to us at base ("…/agents/{id}/"): its own words, skills and
// modes, our addresses, our sign-in. What only holds between the agent and a direct client is left out: its signatures,
// push notifications, extended card and extensions.
func gatewayCard(remote *a2a.AgentCard, base string, auth bool) *a2a.AgentCard {
	card := *remote
	card.Signatures = nil
	card.Capabilities = a2a.AgentCapabilities{Streaming: true}
	card.Skills = slices.Clone(remote.Skills)
	for i := range card.Skills {
		card.Skills[i].SecurityRequirements = nil
	}
	publish(&card, base, base+"rpc", auth)
	return &card
}

// publish writes into a card where and how it is served here. The older version has an address one segment deeper,
// where clients of v0.2 find the extended card beside it.
func publish(card *a2a.AgentCard, url10, url03 string, auth bool) {
	card.Interfaces = []a2a.AgentInterface{
		{URL: url10, Binding: a2a.BindingJSONRPC, Version: "1.0"},
		{URL: url03, Binding: a2a.BindingJSONRPC, Version: "0.3"},
	}
	card.SecuritySchemes, card.SecurityRequirements = nil, nil
	if auth {
		card.SecuritySchemes = maps.Clone(bearerSchemes)
		card.SecurityRequirements = []a2a.SecurityRequirement{{"bearer": nil}}
	}
}

var bearerSchemes = map[string]a2a.SecurityScheme{
	"bearer": {Kind: a2a.SchemeHTTP, Scheme: "Bearer", Description: "A token made with `parley token new`."},
}
