package a2aclient

import (
	"errors"
	"net/http"

	"parley/a2a"
	"parley/a2a/wire"
)

// attempt runs f in the dialect the agent is thought to speak, and once in the other generation when the answer shows that
// it does not, which also means that nothing was carried out.
func (c *Client) attempt(op wire.Op, f func(wire.Dialect) error) error {
	d := c.Dialect()
	err := f(d)
	if understood(err) && !c.proven.Load() {
		c.settle(d)
	}
	if !wrongDialect(err) {
		return err
	}
	other := c.Dialect() // another call may have found out meanwhile
	switch {
	case other != d:
	case c.proven.Load():
		return err
	case d == wire.MID:
		other = wire.NEW
	default:
		other = wire.MID
	}
	again := f(other)
	if wrongDialect(again) || !understood(again) {
		if e := (*Error)(nil); errors.As(again, &e) && e.MayHaveRun {
			return again // the second request must not be taken for one that was certainly not carried out
		}
		return err
	}
	c.settle(other)
	return again
}

// settle remembers that the agent speaks d.
func (c *Client) settle(d wire.Dialect) {
	if was := wire.Dialect(c.dialect.Swap(uint32(d))); was != d {
		c.log.Info("an agent speaks another version than its card says", "agent", c.o.Peer, "card", was.String(), "speaks", d.String())
	}
	c.proven.Store(true)
}

// understood reports whether the outcome shows that the agent speaks the dialect: a result, or an error in its terms.
func understood(err error) bool {
	if err == nil {
		return true
	}
	_, ok := protocol(err)
	return ok && !wrongDialect(err)
}

// wrongDialect reports whether err is what agents answer to methods of another generation.
func wrongDialect(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	ae, ok := protocol(err)
	if !ok {
		return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
	}
	switch ae.Kind {
	case a2a.KindMethodNotFound, a2a.KindVersionNotSupported:
		return true
	case a2a.KindInvalidRequest, a2a.KindInvalidParams, a2a.KindParse:
		return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusUnprocessableEntity
	}
	return false
}
