// Package card finds an agent's card from whatever a person has in hand, and makes it fit for use.
//
//	what was typed ── where the card may lie ── fetch ── read (any version) ── choose an interface ── Found
//
// What it guarantees: a card is read whole only up to its limit, counted after decompression. Credentials go to the
// origin that was asked for and to no other, also when it redirects. The words in a card are taken for data: what cannot
// be seen or turns the reading direction is taken out of them. Nothing is sent anywhere but the requests for the card,
// and nothing is repaired without a note that says so. Every failure is an *Error, told for people.
package card

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// Options of Find.
type Options struct {
	// HTTP makes the requests; its redirect policy and cookies are not used. Without it only cards that were given
	// themselves can be read.
	HTTP *http.Client

	// Authorize adds the credentials for a request, when the card itself needs them. It is called for requests to the
	// origin that was asked for only. With it, a host without a scheme is asked over plain http only when it is one of
	// the house.
	Authorize func(context.Context, *http.Request) error

	// Base is the address by which relative ones in a pasted card are meant.
	Base string

	// NoFiles refuses paths: for input that does not come from the person at this computer.
	NoFiles bool

	Timeout time.Duration // of one request, 30 s by default
	Logger  *slog.Logger  // nil discards
}

// Found is an agent that was found.
type Found struct {
	Input     string             // the part of the input that named it
	URL       string             // where the card came from; "" for one that was given itself
	JSON      []byte             // the card as it came
	Hash      string             // of its canonical form, see Hash
	Card      *a2a.AgentCard     // as understood: addresses absolute, words fit to be shown
	Interface a2a.AgentInterface // the one to use
	Dialect   wire.Dialect       // in which it is spoken
	Catalog   string             // the list that named it, "" for none
	Notes     []a2a.Note         // what was repaired or is doubtful, one sentence each
	Tried     []Try              // where the card was looked for

	// Declared is the address of the interface as the card has it when Interface.URL had to be repaired, else "".
	Declared string

	// Typed is the same interface at the address that was typed, when the card names another host: only a person can
	// know which is right. Nil when there is no such doubt.
	Typed *a2a.AgentInterface

	// Elsewhere says that the card does not belong to the path that was typed, but to its whole host, or to where that led:
	// it may well be that of another agent.
	Elsewhere bool

	// Err is set, and the rest of it not, for an entry of a list that was not found.
	Err error
}

// Find finds the agents that input names: a host, host:port, base address, card address, a2a:// link, a card itself, the
// path of a file with any of these, or several as lines or a JSON list. An address where there is no card but a catalogue
// (/.well-known/ai-catalog.json, or a JSON list of cards or of their addresses) names all the agents in there. A failure with the only entry is the error; among
// several each Found has its own.
func Find(ctx context.Context, input string, o *Options) ([]*Found, error) {
	f := &finder{}
	if o != nil {
		f.o = *o
	}
	if f.timeout = f.o.Timeout; f.timeout <= 0 {
		f.timeout = 30 * time.Second
	}
	if f.log = f.o.Logger; f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if f.o.HTTP != nil {
		f.http = &http.Client{
			Transport:     f.o.HTTP.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	es, err := entries(input, !f.o.NoFiles)
	if err != nil {
		return nil, err
	}
	var out []*Found
	for _, e := range es {
		found, err := f.find(ctx, e)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err != nil {
			if len(es) == 1 {
				return nil, err
			}
			found = []*Found{{Input: e.text, Err: err}}
		}
		out = append(out, found...)
	}
	return out, nil
}

type finder struct {
	o       Options
	http    *http.Client
	log     *slog.Logger
	timeout time.Duration
	left    *atomic.Int32 // agents of a catalogue that may still be looked for
}

// find looks for what one entry names: an agent, or the several of a catalogue.
func (f *finder) find(ctx context.Context, e entry) ([]*Found, error) {
	if e.card != nil {
		if len(e.card) > a2a.Limits.Card {
			return nil, &Error{
				Kind: KindTooLarge, Where: WhereUs,
				What: fmt.Sprintf("The card is larger than %s.", size(a2a.Limits.Card)),
			}
		}
		var base *url.URL
		if f.o.Base != "" {
			bases, err := addresses(f.o.Base)
			if err != nil {
				return nil, err
			}
			base = bases[0]
		}
		found, err := understand(e.card, base, nil)
		if err != nil {
			return nil, err
		}
		found.Input = e.text
		return []*Found{found}, nil
	}
	if f.http == nil {
		return nil, &Error{Kind: KindBlocked, Where: WhereUs, What: "Parley was not given a way to reach the network."}
	}
	var tried []Try
	var failed error
	for n, base := range e.bases {
		if n > 0 && base.Scheme == "http" && f.o.Authorize != nil && !house(base.Hostname()) {
			break // nobody asked for plain http: a credential does not go through the open net by it
		}
		body, at, t, err := f.search(ctx, base)
		tried = append(tried, t...)
		if err != nil {
			// The first scheme's failure is told, unless only the second one got an answer.
			if failed == nil || silent(failed) && !silent(err) {
				failed = err
			}
			if silent(err) {
				continue
			}
			break
		}
		if isCatalog(body) {
			return f.catalog(ctx, body, at, tried)
		}
		found, err := understand(body, at, at)
		if err != nil {
			if e := (*Error)(nil); errors.As(err, &e) {
				e.Tried = tried
			}
			return nil, err
		}
		found.Input, found.URL, found.Tried = e.text, at.String(), tried
		if n > 0 && base.Scheme == "http" {
			found.note(fmt.Sprintf("%s answers over plain http only: what you send can be read on the way.", base.Host))
		}
		if found.Elsewhere = !under(at, base); found.Elsewhere {
			found.note(fmt.Sprintf("The card was found at %s, not under the path you typed.", Show(at)))
		}
		f.log.Debug("agent card found", "url", Show(at), "tried", len(tried))
		return []*Found{found}, nil
	}
	if e := (*Error)(nil); errors.As(failed, &e) {
		e.Tried = tried
	}
	return nil, failed
}

// silent reports whether no server spoke HTTP to us: another scheme may do better.
func silent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == 0 && (e.Kind == KindRefused || e.Kind == KindTLS || e.Kind == KindCut ||
		e.Kind == KindTimeout || e.Kind == KindUnreachable)
}

// under reports whether the card at a belongs to the address that was typed: the same origin, and not further up.
func under(at, typed *url.URL) bool {
	for _, p := range places(typed) {
		if p.String() == at.String() {
			return p.Path != cardPath && p.Path != legacyPath || typed.Path == "" || typed.Path == "/" ||
				typed.Path == cardPath || typed.Path == legacyPath
		}
	}
	return false
}

// understand reads a card. base is what its relative addresses are relative to, at the place it was fetched from.
func understand(b []byte, base, at *url.URL) (*Found, error) {
	c, notes, err := wire.DecodeCard(b)
	if err != nil {
		return nil, unusable(err)
	}
	hash, err := Hash(b)
	if err != nil {
		return nil, unusable(err)
	}
	found := &Found{JSON: b, Hash: hash, Card: c, Notes: notes}
	for _, n := range clean(c) {
		found.note(n)
	}
	more, err := resolve(c, base)
	for _, n := range more {
		found.note(n)
	}
	if err != nil {
		return nil, err
	}
	if found.Interface, err = Choose(c); err != nil {
		return nil, err
	}
	found.Dialect, _ = Speaks(found.Interface.Version, found.Interface.Binding)
	if found.Dialect == wire.OLD {
		found.Notes = append(found.Notes, a2a.Note{Kind: a2a.NoteVersion, Text: "The card is of the first kind, which says no version of A2A; the first message will tell which one the agent speaks."})
	}
	declared := found.Interface.URL
	note, typed := repair(&found.Interface, at)
	if found.Typed = typed; note != "" {
		found.Declared = declared
		found.note(note)
	}
	if typed != nil {
		u, _ := url.Parse(declared)
		found.note(fmt.Sprintf("The card names another host (%s) than the one it came from (%s).", u.Host, at.Host))
	}
	return found, nil
}

// note adds a sentence about the card.
func (f *Found) note(text string) {
	f.Notes = append(f.Notes, a2a.Note{Text: text})
}

// unusable tells a person why a card cannot be read.
func unusable(err error) error {
	e := &Error{
		Kind: KindCardInvalid, Where: WhereAgent, Err: err, Raw: shorten(err.Error()),
		What: "The agent's card cannot be read.",
		Do:   "Tell whoever runs the agent which field of its card is wrong.",
	}
	var ae *a2a.Error
	if errors.As(err, &ae) {
		e.Field = ae.Field
		if ae.Field != "" {
			e.What = fmt.Sprintf("The agent's card cannot be used: %s is wrong (%s).", ae.Field, shorten(ae.Message))
		} else {
			e.What = fmt.Sprintf("The agent's card cannot be read: %s.", shorten(ae.Message))
		}
	}
	return e
}
