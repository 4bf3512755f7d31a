package orchestrator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
)

func TestDiffCards(t *testing.T) {
	t.Parallel()
	was := &a2a.AgentCard{
		Name: "Atlas", Description: "Finds.", Version: "1",
		Interfaces:      []a2a.AgentInterface{{URL: "https://a.example", Binding: "JSONRPC", Version: "1.0"}},
		Skills:          []a2a.AgentSkill{{ID: "search", Name: "Search"}},
		SecuritySchemes: map[string]a2a.SecurityScheme{"b": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"}},
		Signatures:      []a2a.AgentCardSignature{{Protected: "x"}},
	}
	is := *was
	is.Signatures = nil
	if got := DiffCards(was, &is); got != nil {
		t.Errorf("the same but for its signature: %+v", got)
	}
	is.Version, is.Description = "2", "Finds\n more."
	is.Skills = []a2a.AgentSkill{{ID: "mail", Name: "Mail", Description: "Reads mail"}, {ID: "search", Name: "Search"}}
	is.Interfaces = []a2a.AgentInterface{{URL: "https://b.example", Binding: "JSONRPC", Version: "1.0"}}
	is.SecurityRequirements = []a2a.SecurityRequirement{{"b": {"mail.read"}}}
	want := []CardHunk{
		{"Addresses", true, []CardLine{{CardRemoved, "https://a.example  JSONRPC  1.0"}, {CardAdded, "https://b.example  JSONRPC  1.0"}}},
		{"Sign-in", true, []CardLine{{CardKept, "b  http  Bearer"}, {CardAdded, "wants b (mail.read)"}}},
		{"Skills", true, []CardLine{{CardKept, "search  Search"}, {CardAdded, "mail  Mail: Reads mail"}}},
		{"Description", false, []CardLine{{CardRemoved, "Finds."}, {CardAdded, "Finds more."}}},
		{"Version", false, []CardLine{{CardRemoved, "1"}, {CardAdded, "2"}}},
	}
	if d := cmp.Diff(want, DiffCards(was, &is)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
