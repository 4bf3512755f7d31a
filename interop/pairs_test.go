//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"parley/interop/peer"
)

// TestPeers has each SDK's client call its own agent. It fails never: what it finds is evidence.
func TestPeers(t *testing.T) {
	t.Parallel()
	hooks := receive(t)
	for _, p := range pairings() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			c, err := p.client(t).dial(t.Context(), peer.Dial{URL: p.serve(t), Binding: p.binding})
			cell := cell{"peers", p.name, p.binding, "connect"}
			if err != nil {
				note(t, cell, err)
				return
			}
			r := p.round(c)
			r.hooks = hooks
			r.run(t, cell)
		})
	}
}

// TestOurClient has our client call their agents.
func TestOurClient(t *testing.T) {
	t.Parallel()
	hooks := receive(t)
	for _, p := range pairings() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			cell := cell{"ours", p.name, p.binding, "connect"}
			c, err := dialOurs(t.Context(), peer.Dial{URL: p.serve(t), Binding: p.binding})
			if err != nil {
				note(t, cell, err)
				return
			}
			r := p.round(c)
			r.hooks = hooks
			declaring := p.serve(t, peer.Declaring)
			dial := func(ctx context.Context, extensions ...string) (peer.Client, error) {
				return dialOurs(ctx, peer.Dial{URL: declaring, Binding: p.binding, Extensions: append([]string{}, extensions...)})
			}
			r.others = &others{declaring: dial, needing: dial}
			r.run(t, cell)
		})
	}
}

// A place is an agent of ours for their clients.
type place struct {
	table, url string
	script     script
	hooks      *hooks
}

// TestTheirClients has their clients call our agents.
func TestTheirClients(t *testing.T) {
	t.Parallel()
	hooks := receive(t)
	agent := ourAgent(t, agentOptions{token: token})
	own, gateway := serveParley(t, ourAgent(t, agentOptions{}))
	behind := obey
	behind.Extended = "" // the gateway never shows one
	places := []place{
		{"direct", agent, obey, hooks},
		{"gateway", gateway, behind, hooks},
		{"own", own, script{
			Task: "Echo: hello", Stream: "Write a text in Markdown", Slow: "Wait a while and report progress: #slow 60s",
			Ask: "Plan a trip for me", Answers: []string{"from Berlin to Lisbon, 2027-03-01 until 2027-03-08"},
		}, hooks},
	}
	for _, p := range pairings() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			client := p.client(t)
			for _, at := range places {
				t.Run(at.table, func(t *testing.T) {
					cell := cell{at.table, p.name, p.binding, "connect"}
					c, err := client.dial(t.Context(), peer.Dial{URL: at.url, Token: token, Binding: p.binding})
					if at.table == "gateway" && p.binding == peer.GRPC && p.version != "1.0" {
						if err == nil {
							t.Error("a2a.v1 names no agent, but the card offers it")
						}
						return
					}
					if err != nil {
						note(t, cell, err)
						return
					}
					r := p.round(c)
					r.script, r.hooks, r.hop = at.script, at.hooks, at.table == "gateway"
					if at.table == "direct" {
						r.others = ourOthers(t, func(ctx context.Context, url string, extensions []string) (peer.Client, error) {
							return client.dial(ctx, peer.Dial{URL: url, Binding: p.binding, Extensions: extensions})
						})
					}
					r.refused = func(ctx context.Context) error {
						c, err := client.dial(ctx, peer.Dial{URL: at.url, Token: "not-" + token, Binding: p.binding})
						if err == nil {
							_, err = c.Send(ctx, &peer.Message{Text: at.script.Task})
						}
						if err == nil {
							return errors.New("was let in")
						}
						return nil
					}
					r.run(t, cell)
				})
			}
		})
	}
}

// ourOthers are agents of ours for a round of their own.
func ourOthers(t *testing.T, dial func(ctx context.Context, url string, extensions []string) (peer.Client, error)) *others {
	var named atomic.Int64
	to := func(url string) func(context.Context, ...string) (peer.Client, error) {
		return func(ctx context.Context, extensions ...string) (peer.Client, error) {
			return dial(ctx, url, append([]string{}, extensions...))
		}
	}
	return &others{
		declaring: to(ourAgent(t, agentOptions{declaring: &named})), needing: to(ourAgent(t, agentOptions{needing: true})),
		ours: true, tenants: func() int { return int(named.Load()) },
	}
}

// serveParley starts `parley serve` with an agent of ours registered, and returns the addresses of Parley's own agent and
// of that one behind the gateway.
func serveParley(t *testing.T, agent string) (own, gateway string) {
	t.Helper()
	data := t.TempDir()
	own = start(t, []string{
		filepath.Join(bin, "parley"), "serve", "--demo", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--push-loopback", "--data", data,
	}, []string{"PARLEY_A2A_TOKEN=" + token}).ready["a2a"]
	return own, own + "agents/" + register(t, data, agent) + "/"
}

// register adds an agent to a running Parley and returns its id.
func register(t *testing.T, data, url string) string {
	t.Helper()
	args := []string{filepath.Join(bin, "parley"), "--data", data, "agents", "add", "--yes", "--json", url}
	out, err := run(t, args, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var added []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &added); err != nil || len(added) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	return added[0].ID
}

// TestFaultsAreSeen has our client call an agent of ours that does everything wrong: every check that depends on what an
// agent does has to say so.
func TestFaultsAreSeen(t *testing.T) {
	t.Parallel()
	c, err := dialOurs(t.Context(), peer.Dial{URL: ourAgent(t, agentOptions{fault: true}), Binding: peer.JSONRPC})
	if err != nil {
		t.Fatal(err)
	}
	r := &round{c: c, script: obey, version: "1.0", hooks: receive(t)}
	again := func(context.Context, ...string) (peer.Client, error) { return c, nil }
	r.others = &others{declaring: again, needing: again, ours: true, tenants: func() int { return 0 }}
	blind := map[string]bool{ // these find what the server does, not the agent
		"card": true, "send in a context": true, "get": true, "list": true, "extended card": true,
		"error: get unknown": true, "error: cancel unknown": true, "error: cancel completed": true,
		"error: send to completed": true, "error: subscribe unknown": true,
	}
	var wait sync.WaitGroup
	for _, k := range checks(r) {
		wait.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := k.f(r, ctx); (err == nil) != blind[k.name] || errors.Is(err, peer.ErrNone) {
				t.Errorf("%s: %v", k.name, err)
			}
		})
	}
	wait.Wait()
}
