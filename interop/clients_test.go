//go:build interop

package interop

import (
	"path/filepath"
	"testing"
)

// TestPeers has the peers of one version talk to one another.
func TestPeers(t *testing.T) {
	t.Parallel()
	for _, server := range peers() {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			url := start(t, server.serve, nil).ready["a2a"]
			for _, client := range peers() {
				if client.version != server.version {
					continue
				}
				t.Run("from "+client.name, func(t *testing.T) {
					client.runPlan(t, "", &plan{
						Echo:   &role{URL: url, Text: "echo hello"},
						Stream: &role{URL: url, Text: "stream"},
						Ask:    &role{URL: url, Text: "ask", Answers: []string{"blue"}},
						Slow:   &role{URL: url, Text: "slow"},
						Parts:  &role{URL: url, Text: "files"},
					})
				})
			}
		})
	}
}

// TestTheirClients has their clients call our agents.
func TestTheirClients(t *testing.T) {
	t.Parallel()
	env := []string{"PARLEY_A2A_TOKEN=" + token}
	demo := start(t, []string{filepath.Join(bin, "parley"), "demo", "--addr", "127.0.0.1:0", "--data", t.TempDir()}, env).ready["a2a"]
	serve := start(t, []string{
		filepath.Join(bin, "parley"), "serve", "--demo", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--data", t.TempDir(),
	}, env).ready["a2a"]
	agents := func(base string) *plan {
		return &plan{
			Token:  token,
			Echo:   &role{URL: base + "echo/", Text: "hello"},
			Stream: &role{URL: base + "writer/", Text: "Write about the sea"},
			Ask:    &role{URL: base + "travel/", Text: "I want to travel", Answers: []string{"from Berlin to Lisbon, 2027-03-01 until 2027-03-08"}},
			Slow:   &role{URL: base + "slow/", Text: "#slow 60s"},
			Parts:  &role{URL: base + "echo/", Text: "hello"},
			Files:  &role{URL: base + "files/", Text: "Give me files"},
		}
	}
	targets := []struct {
		name string
		plan *plan
	}{
		{"demo agents", agents(demo)},
		{"gateway", agents(serve + "agents/")},
		{"own agent", &plan{
			Token:  token,
			Echo:   &role{URL: serve, Text: "Echo: hello", Task: true},
			Stream: &role{URL: serve, Text: "Write a text in Markdown"},
			Slow:   &role{URL: serve, Text: "Wait a while and report progress: #slow 60s"},
			Ask:    &role{URL: serve, Text: "Plan a trip for me", Answers: []string{"from Berlin to Lisbon, 2027-03-01 until 2027-03-08"}},
		}},
	}
	for _, target := range targets {
		for _, client := range peers() {
			t.Run(target.name+" from "+client.name, func(t *testing.T) {
				t.Parallel()
				client.runPlan(t, target.name, target.plan)
			})
		}
	}
}
