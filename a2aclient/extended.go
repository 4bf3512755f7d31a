package a2aclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// ExtendedCard returns the card that the agent shows to those who signed in. It is asked for once: later calls return the
// same card, as long as the client lives. An agent without one is an *Error of KindUnsupported or KindCardNotFound.
func (c *Client) ExtendedCard(ctx context.Context) (*a2a.AgentCard, error) {
	c.extendedMu.Lock()
	defer c.extendedMu.Unlock()
	if c.extended != nil {
		return c.extended, nil
	}
	ac, err := c.askExtended(ctx)
	if err != nil {
		return nil, err
	}
	c.extended = ac
	return ac, nil
}

// askExtended asks in the way of the agent's version: by an operation since v0.3, by an address of its own in v0.2.
func (c *Client) askExtended(ctx context.Context) (*a2a.AgentCard, error) {
	w := c.use.Load()
	t, ok := w.transport.(*jsonrpc)
	byAddress := ok && c.Dialect() != wire.NEW
	if byAddress && strings.HasPrefix(w.iface.Version, "0.2") {
		ac, err := t.extendedCard(ctx)
		if err == nil || !nowhere(err) {
			return ac, err
		}
		byAddress = false
	}
	v, err := c.call(ctx, wire.OpExtendedCard, &a2a.ExtendedCardRequest{})
	if err == nil {
		ac, ok := v.(*a2a.AgentCard)
		if !ok || ac == nil {
			return nil, c.garbage(wire.OpExtendedCard, "the answer is no card")
		}
		return ac, nil
	}
	if byAddress && unknownMethod(err) {
		if ac, other := t.extendedCard(ctx); other == nil || !nowhere(other) {
			return ac, other
		}
	}
	return nil, err
}

// nowhere reports whether err says that no card was found at any of the addresses.
func nowhere(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == card.KindCardNotFound
}

// extendedCard asks the addresses at which agents of v0.2 keep their extended card: {url}/../agent/…, which is read in two
// ways, and what servers made of it.
func (t *jsonrpc) extendedCard(ctx context.Context) (*a2a.AgentCard, error) {
	q := &request{dialect: wire.MID, op: wire.OpExtendedCard}
	var tried []card.Try
	for _, u := range extendedPlaces(t.url.Load()) {
		x := t.exchange(ctx, q, bareCard)
		x.method = "GET " + u.Path
		_, err := x.open(http.MethodGet, u)
		if err != nil {
			return nil, err
		}
		v, err := x.result()
		if ac, ok := v.(*a2a.AgentCard); ok && err == nil {
			return ac, nil
		}
		var e *Error
		if !errors.As(err, &e) {
			return nil, err
		}
		switch {
		case e.Kind == card.KindNotFound, e.Kind == card.KindGarbage, e.Status == http.StatusMethodNotAllowed:
			tried = append(tried, card.Try{URL: card.Show(u), Status: e.Status, Result: "no card"})
		default:
			return nil, e
		}
	}
	return nil, &Error{
		Kind: card.KindCardNotFound, Where: card.WhereAgent, Tried: tried,
		What: t.c.name() + " has no extended card, though its card says so.",
	}
}

func bareCard(_ *exchange, _ wire.Op, body []byte) (any, error) {
	ac, _, err := wire.DecodeCard(body)
	if err != nil {
		return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the answer is no card: %w", err)
	}
	return ac, nil
}

func extendedPlaces(at *url.URL) []*url.URL {
	const name = "/agent/authenticatedExtendedCard"
	base := strings.TrimSuffix(at.Path, "/")
	var out []*url.URL
	seen := map[string]bool{}
	for _, p := range []string{
		path.Join(base, "..") + name,       // appended, then made normal
		at.ResolveReference(up(name)).Path, // relative to the address, as RFC 3986 has it
		name,                               // at the host's root
		base + name,                        // below the address
	} {
		if p = path.Clean("/" + p); !seen[p] {
			seen[p] = true
			u := *at
			u.Path, u.RawPath, u.RawQuery = p, "", ""
			out = append(out, &u)
		}
	}
	return out
}

func up(name string) *url.URL { return &url.URL{Path: ".." + name} }
