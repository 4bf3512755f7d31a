package card_test

import (
	"slices"
	"testing"

	"parley/a2aclient/card"
)

func TestTyped(t *testing.T) {
	t.Parallel()
	for input, want := range map[string][]string{
		"agent.example":                                        {"https://agent.example"},
		"127.0.0.1:9":                                          {"http://127.0.0.1:9", "https://127.0.0.1:9"},
		"https://agent.example/a?b=127.0.0.1":                  {"https://agent.example"},
		"a2a://connect?url=https://agent.example":              {"https://agent.example"},
		"https://one.example\nhttps://two.example:8443/x":      {"https://one.example", "https://two.example:8443"},
		`["https://one.example", {"url": "http://127.0.0.1"}]`: {"https://one.example"},
		`{"url": "http://127.0.0.1:9"}`:                        nil,
		"":                                                     nil,
	} {
		if got := card.Typed(input); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", input, got, want)
		}
	}
}
