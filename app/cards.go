package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
)

// ownCard describes Parley's own agent at base (the origin of the A2A plane, with a trailing slash), and over gRPC at grpc
// (host:port, "" where that is not served).
func ownCard(base, grpc, version string, auth bool) *a2a.AgentCard {
	card := &a2a.AgentCard{
		Name: "Parley",
		Description: "Hands a request to whichever of its agents fits, asks when that needs an answer or a sign-in, " +
			"and streams what the agent produces.",
		Version:            version,
		Provider:           &a2a.AgentProvider{Organization: "Parley", URL: base},
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: auth},
		DefaultInputModes:  []string{"*/*"},
		DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{
			ID: "orchestrate", Name: "Find an agent and let it work",
			Description: "Chooses among the agents its person approved by what their cards say, and carries the request out there.",
			Tags:        []string{"orchestration", "routing", "agents"},
			Examples:    []string{"Write a short article about tide tables", "Plan a trip to Bergen"},
		}, runWorkflow()},
	}
	publish(card, base, auth)
	if grpc != "" {
		over := a2a.AgentInterface{URL: grpc, Binding: a2a.BindingGRPC, Version: "1.0"}
		card.Interfaces = slices.Insert(card.Interfaces, 2, over) // behind the others of v1.0
		over.Version = "0.3"
		card.Interfaces = append(card.Interfaces, over)
	}
	return card
}

// extendedCard is the own card as a caller with a token sees it: with a skill for every workflow that is offered, and for
// every agent that the token may reach.
func extendedCard(own *a2a.AgentCard, workflows []offered, agents []*orchestrator.Agent) *a2a.AgentCard {
	card := *own
	card.Skills = slices.Clone(own.Skills)
	withWorkflows(&card, workflows)
	for _, g := range agents {
		s := a2a.AgentSkill{ID: "agent-" + g.ID, Name: g.Name, Description: g.Name, Tags: []string{"agent"}}
		if g.Card != nil {
			s.Description = cmp.Or(g.Card.Description, g.Name)
			for _, k := range g.Card.Skills {
				s.Examples = append(s.Examples, k.Examples...)
				s.Tags = append(s.Tags, k.Tags...)
			}
			s.Examples = s.Examples[:min(len(s.Examples), 4)]
			slices.Sort(s.Tags)
			s.Tags = slices.Compact(s.Tags)
		}
		card.Skills = append(card.Skills, s)
	}
	return &card
}

// gatewayCard is the card of a remote agent, re-addressed to us at base ("…/agents/{id}/"): its own words, skills and
// modes, our addresses, our sign-in. What only holds between the agent and a direct client is left out: its signatures,
// push notifications, extended card and extensions.
//
// Over gRPC it is the tenant id of v1.0; v0.3 has none.
func gatewayCard(remote *a2a.AgentCard, base, grpc, id string, auth bool) *a2a.AgentCard {
	card := *remote
	card.Signatures = nil
	card.Capabilities = a2a.AgentCapabilities{Streaming: true, PushNotifications: true}
	card.Skills = slices.Clone(remote.Skills)
	for i := range card.Skills {
		card.Skills[i].SecurityRequirements = nil
	}
	publish(&card, base, auth)
	if grpc != "" {
		card.Interfaces = slices.Insert(card.Interfaces, 2, a2a.AgentInterface{URL: grpc, Binding: a2a.BindingGRPC, Version: "1.0", Tenant: id})
	}
	return &card
}

// publish writes into a card where and how it is served here: at base (with a trailing slash), in every dialect. No two
// transports of one version have the same address, for there are readers that take them for one then; and the older
// version has its JSON-RPC one segment deeper, where clients of v0.2 find the extended card beside it. That address also
// answers v0.1, whose cards name no version.
func publish(card *a2a.AgentCard, base string, auth bool) {
	rest := strings.TrimSuffix(base, "/")
	card.Interfaces = []a2a.AgentInterface{
		{URL: base, Binding: a2a.BindingJSONRPC, Version: "1.0"},
		{URL: rest, Binding: a2a.BindingREST, Version: "1.0"},
		{URL: base + "rpc", Binding: a2a.BindingJSONRPC, Version: "0.3"},
		{URL: rest, Binding: a2a.BindingREST, Version: "0.3"},
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
