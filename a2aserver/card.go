package a2aserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"parley/a2a/wire"
)

const (
	cardPath    = "/.well-known/agent-card.json"
	oldCardPath = "/.well-known/agent.json"
)

// serveCard answers with the card, in the form that belongs to its path and to the version that the client names. One that
// names none gets the card for readers of every version. The official Go SDK (to 2.4.0 at least) fails on
// a card whose security requirements are written as the specification has them, and fetches it under the name that Go
// programs have when they give themselves none: such a reader gets the form that it can parse.
func (h *Handler) serveCard(w http.ResponseWriter, r *http.Request) {
	cache := "public, max-age=60"
	if h.o.CardNeedsAuth {
		if _, err := h.authenticate(r); err != nil {
			x := &exchange{w: w, r: r}
			x.Handler = h
			x.refuse(false, 0, err)
			return
		}
		cache = "private, max-age=60"
	}
	card := h.card(r.Context(), r)
	if card == nil {
		http.NotFound(w, r)
		return
	}
	form, version := wire.CardSuperset, requestedVersion(r)
	switch {
	case r.URL.Path == oldCardPath:
		form = wire.CardOLD
	case version == "1" || strings.HasPrefix(version, "1."):
		form = wire.CardNEW
	case version == "0.3" || strings.HasPrefix(version, "0."):
		form = wire.CardMID
	case version == "" && strings.HasPrefix(r.UserAgent(), "Go-http-client/"):
		form = wire.CardBareLists
	}
	body := wire.AppendCard(nil, form, card)
	sum := sha256.Sum256(body)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	header.Set("Cache-Control", cache)
	header.Set("Vary", "A2A-Version, User-Agent")
	if h.o.CardNeedsAuth {
		header.Add("Vary", "Authorization")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // knows If-None-Match and HEAD
}
