package a2aclient

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// speech is what the client knows of the dialect that its agent speaks. It is replaced, never changed.
type speech struct {
	dialect wire.Dialect
	by      Evidence
	order   []wire.Dialect // what to try, the likeliest first, while nothing is proven
}

func (s *speech) proven() bool { return s.by != ByCard }

// listen says in which dialects an agent is to be tried, by the version that its card names for the interface, by what was
// found before, and above all by what a person says.
func (c *Client) listen(i a2a.AgentInterface, v *Verdict) (*speech, error) {
	can := dialects(i.Binding)
	if o := c.o.Override; o != nil && o.Dialect != nil {
		d := fit(*o.Dialect, i.Binding)
		if !slices.Contains(can, d) {
			return nil, c.mute(d.String(), i)
		}
		return &speech{dialect: d, by: ByPerson}, nil
	}
	d, ok := card.Speaks(i.Version, i.Binding)
	if !ok {
		return nil, c.mute(i.Version, i)
	}
	s := &speech{dialect: d, by: ByCard, order: []wire.Dialect{d}}
	if n := i.Version; can[1] == wire.MID && (n == "" || strings.HasPrefix(n, "0.") && !strings.HasPrefix(n, "0.3")) {
		s.order = []wire.Dialect{wire.MID, wire.OLD} // cards of that time do not tell them apart
	}
	for _, d := range can {
		if !slices.Contains(s.order, d) {
			s.order = append(s.order, d)
		}
	}
	if v != nil && slices.Contains(can, v.Dialect) && bindingName(v.Binding) == bindingName(i.Binding) {
		s.dialect, s.by = v.Dialect, ByRecord
	}
	return s, nil
}

// fit turns v0.3 into its form for a binding.
func fit(d wire.Dialect, binding string) wire.Dialect {
	switch rpc := bindingName(binding) == "JSON-RPC"; {
	case d == wire.MID && !rpc:
		return wire.PROTO
	case d == wire.PROTO && rpc:
		return wire.MID
	}
	return d
}

func (c *Client) mute(version string, i a2a.AgentInterface) error {
	return &Error{
		Kind: card.KindVersion, Where: card.WhereUs,
		What: fmt.Sprintf("%s speaks version %s of A2A over %s, which Parley does not.", c.name(), version, bindingName(i.Binding)),
	}
}

// Speaks returns what the agent was found to speak so far.
func (c *Client) Speaks() Verdict {
	w := c.use.Load()
	s := w.speech.Load()
	return Verdict{Dialect: s.dialect, Binding: w.binding, By: s.by}
}

// Dialect returns the dialect of Speaks.
func (c *Client) Dialect() wire.Dialect { return c.use.Load().speech.Load().dialect }

// speak runs f in the dialect that the agent is thought to speak on a way, and in the others, once each, while the answers
// show that it does not speak these, which also means that nothing was carried out. first says that f sends a message that
// belongs to no task yet.
func (c *Client) speak(w *way, op wire.Op, first bool, f func(*way, wire.Dialect) error) error {
	s := w.speech.Load()
	switch {
	case s.by == ByPerson:
		return f(w, s.dialect)
	case s.proven():
		err := f(w, s.dialect)
		if op != wire.OpSend || !first || !w.unknown(err) {
			return err
		}
		// There is no agent without this method: it was replaced by one that speaks something else.
		c.log.Info("an agent does not speak any more what it did", "agent", c.o.Peer, "spoke", s.dialect.String())
		s = &speech{dialect: s.dialect, by: ByCard, order: s.order}
		w.speech.Store(s)
		return c.others(w, op, first, s, s.dialect, err, f)
	}
	d := s.dialect
	if first {
		d = s.order[0]
	}
	err := f(w, d)
	if w.understood(err, first) {
		c.settle(w, d, op)
	}
	if !w.wrongDialect(err, first) {
		return err
	}
	return c.others(w, op, first, s, d, err, f)
}

// others tries the dialects that are left after d, which err says was not the agent's.
func (c *Client) others(w *way, op wire.Op, first bool, s *speech, d wire.Dialect, err error, f func(*way, wire.Dialect) error) error {
	order := s.order
	if now := w.speech.Load(); now.proven() { // another call has found out meanwhile
		order = []wire.Dialect{now.dialect}
	}
	for _, other := range order {
		if other == d {
			continue
		}
		again := f(w, other)
		switch e := (*Error)(nil); {
		case w.wrongDialect(again, first):
			continue
		case w.understood(again, first):
			c.settle(w, other, op)
			return again
		case errors.As(again, &e) && e.MayHaveRun:
			return again // the second request must not be taken for one that was certainly not carried out
		}
		return err
	}
	return err
}

// settle remembers that the agent was understood in d on a way. What v0.1 and v0.3 call by the same name proves neither.
func (c *Client) settle(w *way, d wire.Dialect, op wire.Op) {
	if (d == wire.OLD || d == wire.MID) && wire.MethodName(wire.OLD, op) == wire.MethodName(wire.MID, op) {
		return
	}
	s := w.speech.Load()
	if s.proven() && s.dialect == d || s.by == ByPerson {
		return
	}
	now := &speech{dialect: d, by: ByAnswer, order: s.order}
	if said, _ := card.Speaks(w.iface.Version, w.iface.Binding); said != d || w.iface.Version == "" {
		now.by = ByTrial
		c.log.Info("an agent speaks another version than its card says", "agent", c.o.Peer, "card", said.String(), "speaks", d.String())
	}
	if w.speech.CompareAndSwap(s, now) && w == c.use.Load() {
		c.tell()
	}
}

// understood reports whether the outcome shows that the agent speaks the dialect: a result, or an error in its terms.
func (w *way) understood(err error, first bool) bool {
	if err == nil {
		return true
	}
	ae, ok := protocol(err)
	if ok && ae.Kind == a2a.KindTaskNotFound && w.binding != a2a.BindingJSONRPC {
		return false // it may be the address that was not found
	}
	return ok && !w.wrongDialect(err, first)
}

// unknown reports whether err, of a first message, says that the agent does not know how messages are sent: over JSON-RPC
// the method, over HTTP+JSON the address.
func (w *way) unknown(err error) bool {
	var e *Error
	return unknownMethod(err) || w.binding == a2a.BindingREST && w.wrongDialect(err, true) && errors.As(err, &e) &&
		(e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed)
}

func unknownMethod(err error) bool {
	ae, ok := protocol(err)
	return ok && ae.Kind == a2a.KindMethodNotFound
}

// wrongDialect reports whether err is what agents answer to methods of another generation.
func (w *way) wrongDialect(err error, first bool) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	ae, ok := protocol(err)
	if !ok {
		return e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed ||
			first && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
	}
	switch ae.Kind {
	case a2a.KindMethodNotFound, a2a.KindVersionNotSupported:
		return true
	case a2a.KindTaskNotFound:
		// A message that names no task cannot miss one: it was the address that was not found.
		return first && w.binding != a2a.BindingJSONRPC
	case a2a.KindInvalidRequest, a2a.KindInvalidParams, a2a.KindParse:
		// Some have no other word for a method they do not know, but this one they also have for much else.
		return first && (e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound ||
			e.Status == http.StatusUnprocessableEntity || ofEnvelope(ae.Message))
	}
	return false
}

// ofEnvelope reports whether a refusal is about the request's form, not about what it asks for.
func ofEnvelope(message string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		switch word {
		case "method", "id", "validation":
			return true
		}
	}
	return false
}
