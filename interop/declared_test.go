//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/interop/peer"
)

// others are the agents of a round that are not like its first: dialers, with the extensions to ask for.
type others struct {
	declaring func(ctx context.Context, extensions ...string) (peer.Client, error) // its card declares security, tenant and modes
	needing   func(ctx context.Context, extensions ...string) (peer.Client, error) // it needs the extension

	ours    bool       // they are of our making
	tenants func() int // how many calls named the tenant; nil = the agent says so
}

// declared are the declarations of a card that has members, as our reader understands them.
func declared(members json.RawMessage) (map[string]a2a.SecurityScheme, []a2a.SecurityRequirement, error) {
	card := map[string]json.RawMessage{"name": []byte(`"x"`), "version": []byte(`"1"`), "url": []byte(`"http://x.example/"`)}
	if err := json.Unmarshal(members, &card); err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(card, func(_ string, v json.RawMessage) bool { return v == nil || string(v) == "null" })
	if schemes := map[string]map[string]json.RawMessage{}; card["security"] != nil && json.Unmarshal(card["securitySchemes"], &schemes) == nil {
		for _, s := range schemes { // an SDK that keeps cards as they came has those of v1.0 beside them
			maps.DeleteFunc(s, func(member string, _ json.RawMessage) bool { return strings.HasSuffix(member, "SecurityScheme") })
		}
		card["securitySchemes"] = peer.Raw(schemes)
	}
	got, _, err := wire.DecodeCard(must(json.Marshal(card)))
	if err != nil {
		return nil, nil, err
	}
	return got.SecuritySchemes, got.SecurityRequirements, nil
}

// security wants the card's declarations to be read as they were meant.
func (r *round) security(ctx context.Context) error {
	c, err := r.others.declaring(ctx, peer.Extension)
	if err != nil {
		return err
	}
	card, err := c.Card(ctx)
	if err != nil {
		return err
	}
	schemes, requirements, err := declared(card.Security)
	if err != nil {
		return fmt.Errorf("%w in %s", err, card.Security)
	}
	if r.old() && r.others.ours { // which says in words what suffices
		const want = `{"authentication":{"schemes":["ApiKey","OAuth2","OpenIdConnect","MutualTLS"],"credentials":"{\"in\":\"header\",\"name\":\"X-Key\"}"}}`
		if !same(card.Security, []byte(want)) {
			return fmt.Errorf("%s; want %s", card.Security, want)
		}
		return nil
	}
	version := r.version
	if r.others.ours {
		version = "1.0"
	}
	wanted, needed, err := declared(peer.Security(version))
	if err != nil {
		return err
	}
	if r.others.ours && r.version != "1.0" {
		wanted = earlier(wanted)
	}
	if r.others.ours && r.version == "0.2" { // some of them read agent.json, others the card of v0.3
		needed, requirements = earliest(wanted, needed), earliest(schemes, requirements)
	}
	for name, s := range wanted {
		if got, ok := schemes[name]; ok && r.version == "0.2" { // which knows nothing of metadata
			got.OAuth2MetadataURL, s.OAuth2MetadataURL = "", ""
			schemes[name], wanted[name] = got, s
		}
		if got, want := peer.Raw(schemes[name]), peer.Raw(wanted[name]); !same(got, want) {
			return fmt.Errorf("scheme %s is %s; want %s", name, got, want)
		}
	}
	if len(schemes) != len(wanted) {
		return fmt.Errorf("schemes %v; want %v", slices.Sorted(maps.Keys(schemes)), slices.Sorted(maps.Keys(wanted)))
	}
	if got, want := peer.Raw(requirements), peer.Raw(needed); !same(got, want) {
		return fmt.Errorf("requirements %s; want %s", got, want)
	}
	return nil
}

// earlier is what versions before v1.0 can say of schemes: nothing of PKCE, and a bearer token in place of device codes.
func earlier(schemes map[string]a2a.SecurityScheme) map[string]a2a.SecurityScheme {
	out := map[string]a2a.SecurityScheme{}
	for name, s := range schemes {
		s.Flows = slices.Clone(s.Flows)
		for i := range s.Flows {
			s.Flows[i].PKCERequired = false
		}
		if len(s.Flows) == 1 && s.Flows[0].Kind == "deviceCode" {
			s = a2a.SecurityScheme{Kind: a2a.SchemeHTTP, Scheme: "bearer"}
		}
		out[name] = s
	}
	return out
}

// earliest is what the readers of agent.json know besides: nothing of mutual TLS, nor where metadata is.
func earliest(schemes map[string]a2a.SecurityScheme, needed []a2a.SecurityRequirement) []a2a.SecurityRequirement {
	maps.DeleteFunc(schemes, func(_ string, s a2a.SecurityScheme) bool { return s.Kind == a2a.SchemeMutualTLS })
	return slices.DeleteFunc(needed, func(req a2a.SecurityRequirement) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(req)), func(name string) bool { _, ok := schemes[name]; return !ok })
	})
}

// tenant wants every call to name the tenant that the card's interface has.
func (r *round) tenant(ctx context.Context) error {
	if r.version != "1.0" {
		return peer.ErrNone
	}
	c, err := r.others.declaring(ctx, peer.Extension)
	if err != nil {
		return err
	}
	t := *r
	t.c = c
	if r.others.tenants == nil {
		e, err := c.Send(ctx, &peer.Message{Text: "tenant"})
		if err != nil {
			return err
		}
		if err := r.completed(e, peer.Tenant); err != nil {
			return err
		}
		return errors.Join(t.stream(ctx), t.get(ctx), t.getUnknown(ctx))
	}
	for _, call := range []struct {
		name string
		f    func(context.Context) error
		n    int
	}{
		{"send", t.send, 1},
		{"stream and get", t.get, 2},
		{"get", t.getUnknown, 1},
		{"cancel", t.cancelUnknown, 1},
		{"subscribe", func(ctx context.Context) error { _ = t.subscribeUnknown(ctx); return nil }, 1}, // how it fails is another check
		{"push", t.pushList, 5},
	} {
		before := r.others.tenants()
		if err := call.f(ctx); err != nil {
			return fmt.Errorf("%s: %w", call.name, err)
		}
		if n := r.others.tenants() - before; n < call.n {
			return fmt.Errorf("%s: the tenant was named %d times, want %d", call.name, n, call.n)
		}
	}
	return nil
}

// inputMode sends what the agent does not take, then what it takes.
func (r *round) inputMode(ctx context.Context) error {
	c, err := r.others.declaring(ctx, peer.Extension)
	if err != nil {
		return err
	}
	_, err = c.Send(ctx, &peer.Message{Text: r.Task, Parts: []peer.Part{{Bytes: []byte{1}, Name: "a.bin", MediaType: "application/octet-stream"}}})
	if err := r.unfit(err); err != nil {
		return err
	}
	e, err := c.Send(ctx, &peer.Message{Text: r.Task, Parts: []peer.Part{{Bytes: []byte("a"), Name: "a.txt", MediaType: "text/plain"}}})
	if err != nil {
		return err
	}
	return r.completed(e, "hello")
}

// unfit wants a refusal for the media type. a2a.v1 has no details: over gRPC no more comes than INVALID_ARGUMENT.
func (r *round) unfit(err error) error {
	if r.proto {
		return wants(err, "content-type", "invalid-params")
	}
	return wants(err, "content-type")
}

// outputMode wants what the agent does not make, then what it makes.
func (r *round) outputMode(ctx context.Context) error {
	c, err := r.others.declaring(ctx, peer.Extension)
	if err != nil {
		return err
	}
	_, err = c.Send(ctx, &peer.Message{Text: r.Task, Accept: []string{"image/png"}})
	if err := r.unfit(err); err != nil {
		return err
	}
	e, err := c.Send(ctx, &peer.Message{Text: r.Task, Accept: []string{"image/png", "text/*"}})
	if err != nil {
		return err
	}
	return r.completed(e, "hello")
}

// neededRefused talks to an agent that needs an extension, without it.
func (r *round) neededRefused(ctx context.Context) error {
	c, err := r.others.needing(ctx)
	if err != nil {
		return err
	}
	e, err := c.Send(ctx, &peer.Message{Text: r.Task})
	if err == nil && !r.others.ours && e.State == "completed" { // nothing of the SDK looks at it
		return peer.ErrNone
	}
	return wants(err, "extension-required", "unsupported-operation", "invalid-request", "invalid-params")
}

// neededAnswered talks to it with the extension.
func (r *round) neededAnswered(ctx context.Context) error {
	c, err := r.others.needing(ctx, peer.Extension)
	if err != nil {
		return err
	}
	e, err := c.Send(ctx, &peer.Message{Text: r.Task})
	var f *peer.Failure
	if errors.As(err, &f) && strings.Contains(f.Text, peer.Extension) { // its client cannot name extensions
		return peer.ErrNone
	}
	if err != nil {
		return err
	}
	return r.completed(e, "hello")
}
