package card

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// A catalogue lists agents, among other things: the AI Catalog (ai-catalog.io, application/ai-catalog+json) in all the forms
// it had so far, and the plain lists of cards or addresses that registries serve.
type catalog struct {
	Entries     []listed
	Agents      []listed // as the first drafts called them
	Collections []listed // further catalogues
}

type listed struct {
	Type, MediaType string
	URL, CardURL    string
	Data, Card      json.RawMessage // the card itself
	raw             json.RawMessage
}

func (l *listed) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &l.URL)
	}
	type plain listed
	if err := json.Unmarshal(b, (*plain)(l)); err != nil {
		return err
	}
	l.raw = b
	return nil
}

// is reports whether the entry is said to be of a type that holds the word; without a type it may be anything.
func (l *listed) is(word string) bool {
	return strings.Contains(strings.ToLower(l.Type+l.MediaType), word)
}

// readCatalog reads a catalogue; nil when b is none. A card may hold members of the same names: what has an address of its
// own is no catalogue.
func readCatalog(b []byte) []listed {
	if len(b) == 0 {
		return nil
	}
	var list []listed
	if b[0] == '[' {
		if json.Unmarshal(b, &list) != nil {
			return nil
		}
		return list
	}
	var c struct {
		catalog
		URL                 string
		SupportedInterfaces json.RawMessage
	}
	if json.Unmarshal(b, &c) != nil || c.URL != "" || c.SupportedInterfaces != nil {
		return nil
	}
	for i := range c.Collections {
		c.Collections[i].Type = "catalog"
	}
	return append(append(c.Entries, c.Agents...), c.Collections...)
}

func isCatalog(b []byte) bool { return len(readCatalog(b)) > 0 }

// catalog finds the agents of a catalogue that was found at an address. Those that cannot be found say so themselves.
func (f *finder) catalog(ctx context.Context, b []byte, at *url.URL, tried []Try) ([]*Found, error) {
	f.left = new(atomic.Int32)
	f.left.Store(maxEntries)
	out := f.listed(ctx, b, at, 1)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(out) == 0 {
		return nil, &Error{
			Kind: KindCardNotFound, Where: WhereAgent, Tried: tried,
			What: fmt.Sprintf("%s has a catalogue, which lists no A2A agents.", at.Host),
			Do:   "Give the address of an agent instead.",
		}
	}
	if len(out) == 1 && out[0].Err != nil {
		return nil, out[0].Err
	}
	for _, found := range out {
		if found.Err == nil {
			found.Catalog, found.Tried = Show(at), tried
		}
	}
	return out, nil
}

// listed looks for each agent of a catalogue, several at a time. Catalogues within it are followed depth deep.
func (f *finder) listed(ctx context.Context, b []byte, at *url.URL, depth int) []*Found {
	items := readCatalog(b)
	all := make([][]*Found, len(items))
	room := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for n := range items {
		if n == maxEntries {
			break
		}
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if all[n] = f.item(ctx, &items[n], at, depth); len(all[n]) == 1 && all[n][0].Input == "" {
				all[n][0].Input = fmt.Sprintf("entry %d of the catalogue", n+1)
			}
		})
	}
	wg.Wait()
	var out []*Found
	for _, found := range all {
		out = append(out, found...)
	}
	return out[:min(len(out), maxEntries)]
}

// item returns what one entry names, nil when it is none of ours.
func (f *finder) item(ctx context.Context, l *listed, at *url.URL, depth int) []*Found {
	for _, c := range []json.RawMessage{l.Data, l.Card, l.raw} {
		if c = bytes.TrimSpace(c); len(c) == 0 || c[0] != '{' {
			continue
		}
		if found, err := understand(c, at, nil); err == nil {
			return []*Found{found}
		} else if len(l.Data) > 0 && l.is("a2a") {
			return []*Found{{Err: err}}
		}
	}
	address := l.CardURL
	if address == "" {
		address = l.URL
	}
	u, err := at.Parse(strings.TrimSpace(address))
	if typed := l.Type + l.MediaType; address == "" || err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" ||
		typed != "" && !l.is("a2a") && !l.is("agent-card") && !l.is("catalog") {
		return nil
	}
	if u.Scheme == "http" && at.Scheme == "https" {
		return []*Found{{Input: Show(u), Err: badAddress(fmt.Sprintf("The catalogue names %s without encryption, though it was itself fetched over https.", u.Host), nil)}}
	}
	there := f
	if from, _ := originOf(at); !sameOrigin(u, from) {
		alone := *f
		alone.o.Authorize = nil // the credentials are for the catalogue's own origin
		there = &alone
	}
	if l.is("catalog") {
		if depth == 0 {
			return nil
		}
		body, next, err := there.get(ctx, u)
		if err != nil {
			return []*Found{{Input: Show(u), Err: err}}
		}
		return there.listed(ctx, body, next, depth-1)
	}
	if f.left.Add(-1) < 0 { // else a list of lists would have us ask thousands of addresses
		return nil
	}
	found, err := there.one(ctx, u)
	if err != nil {
		return []*Found{{Input: Show(u), Err: err}}
	}
	return []*Found{found}
}

// one fetches the card at an address that a catalogue names: that of the card, or of the agent.
func (f *finder) one(ctx context.Context, u *url.URL) (*Found, error) {
	body, at, err := f.get(ctx, u)
	var found *Found
	if err == nil {
		found, err = understand(body, at, at)
	}
	if err != nil && !strings.HasSuffix(u.Path, ".json") && ctx.Err() == nil {
		if body, at, _, err = f.search(ctx, u); err == nil {
			found, err = understand(body, at, at)
		}
	}
	if err != nil {
		return nil, err
	}
	found.Input, found.URL = Show(u), at.String()
	return found, nil
}

func sameOrigin(u *url.URL, origin string) bool {
	o, err := originOf(u)
	return err == nil && o == origin
}
