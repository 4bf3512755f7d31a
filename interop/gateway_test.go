//go:build interop

package interop

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/interop/peer"
)

// TestGateway has clients of one generation reach agents of another through `parley serve`: streaming, with turns that ask
// for more, and with webhooks.
func TestGateway(t *testing.T) {
	t.Parallel()
	hooks := receive(t)
	data := t.TempDir()
	own := start(t, []string{
		filepath.Join(bin, "parley"), "serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--push-loopback", "--data", data,
	}, []string{"PARLEY_A2A_TOKEN=" + token}).ready["a2a"]
	across := []string{
		"card", "send", "stream", "get", "cancel", "input-required", "input-required, streaming", "auth-required", "failed",
		"part: file bytes", "part: file URL", "part: data object", "push: set, get", "push: delivery",
	}
	for _, c := range crossings() {
		t.Run(c.client.String()+" to "+c.agent.String(), func(t *testing.T) {
			t.Parallel()
			at := own + "agents/" + register(t, data, c.agent.serve(t)) + "/"
			client, err := c.client.client(t).dial(t.Context(), peer.Dial{URL: at, Token: token, Binding: c.client.binding})
			if err != nil {
				t.Fatal(err)
			}
			r := c.client.round(client)
			r.hooks, r.hop, r.only = hooks, true, across
			r.oldAgent = c.agent.version == "0.1"
			r.only = slices.DeleteFunc(slices.Clone(across), func(check string) bool {
				return c.agent.lacks(check) // of its own doing
			})
			r.run(t, cell{"across", strings.Join([]string{c.client.String(), c.agent.String()}, " → "), "", ""})
		})
	}
}

// A crossing is a client and an agent that have no version in common.
type crossing struct{ client, agent pairing }

func crossings() []crossing {
	find := func(name, binding string) pairing {
		all := pairings()
		return all[slices.IndexFunc(all, func(p pairing) bool { return p.name == name && p.binding == binding })]
	}
	old := find("trpc-a2a-go 0.0.3", peer.JSONRPC)
	return []crossing{
		{find("a2a-go/v2 2.4.0", peer.JSONRPC), old},
		{find("a2a-go/v2 2.4.0", peer.GRPC), old},
		{find("a2a-sdk 1.1.0", peer.REST), old},
		{find("a2a-sdk 0.3.26", peer.JSONRPC), old},
		{old, find("a2a-go/v2 2.4.0", peer.JSONRPC)},
		{old, find("a2a-sdk 1.1.0", peer.GRPC)},
		{old, find("@a2a-js/sdk 0.3.14", peer.JSONRPC)},
	}
}
