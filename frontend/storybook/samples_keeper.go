package storybook

import "parley/frontend/view"

// keeperSamples are the parts of the pages of agents and of our own.
func keeperSamples() []Sample {
	done := view.State{Class: "is-done", Icon: "s-done", Word: "Good"}
	d := view.AgentDetail{
		ID: "atlas", Name: atlas.Name, Flag: atlas.Flag, By: "by Atlas Labs, version 3.4.0", Speaks: "A2A v1.0 over JSON-RPC", Address: "https://atlas.example/a2a", Held: true,
		Change: &view.Change{Grave: true, Since: "3 November 2026", Hash: "h1", Origins: []string{"https://eu.atlas-cdn.example"}, Raw: "{}", Hunks: []view.Hunk{{Title: "Skills", Lines: []view.DiffLine{
			{Text: "search-web  Search the public web"}, {Op: "+", Text: "read-mailbox  Read messages you can read"},
		}}}},
		Keep: &view.Keep{
			Health: []view.TrustCheck{{State: done, Name: "Last contact", Text: "14:04:00,", Code: "SendMessage"}}, Tested: "14:05:00",
			Test:     []view.TrustCheck{{State: done, Name: "Answer", Text: "It says that there is no such task, as it should.", Lines: []string{"after 12 ms"}}},
			Trust:    []view.TrustCheck{{State: done, Name: "Connection", Text: "TLS 1.3, with a certificate valid until 2 February 2027"}},
			Grants:   []view.GrantRow{{Origin: "https://atlas.example", Given: "3 November 2026"}},
			Creds:    []view.CredRow{{Kind: "bearer", Word: "Bearer token", Origin: "https://atlas.example"}},
			Lost:     "https://eu.atlas-cdn.example",
			Findings: []view.FindingRow{{State: done, Path: "$.skills[0].tags", What: "It is required and empty.", Rule: "A2A v1.0, 4.4.5"}},
			Extended: &view.ExtendedCard{},
		},
	}
	blocked := view.AgentDetail{ID: "quill", Name: quill.Name, Flag: quill.Flag, Blocked: true, Keep: &view.Keep{Muted: true}}
	return []Sample{
		{"agent-changed", view.AgentPanel(d)},
		{"agent-blocked", view.AgentPanel(blocked)},
		{"caller-waiting", view.WaitingCaller(view.CallerRow{ID: "u1", Name: "Newcomer", Since: "14:04:00"})},
	}
}
