package a2aserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"parley/a2a/wire"
)

const (
	cardPath    = "/.well-known/agent-card.json"
	oldCardPath = "/.well-known/agent.json"
)

// serveCard answers with the card, in the form that belongs to its path.
func (h *Handler) serveCard(w http.ResponseWriter, r *http.Request) {
	cache := "public, max-age=60"
	if h.o.CardNeedsAuth {
		if _, err := h.authenticate(r); err != nil {
			h.refuse(w, r, wire.HTTPStatus(err), err)
			return
		}
		cache = "private, max-age=60"
	}
	card := h.card(r.Context(), r)
	if card == nil {
		http.NotFound(w, r)
		return
	}
	form := wire.CardSuperset
	if r.URL.Path == oldCardPath {
		form = wire.CardMID
	}
	body := wire.AppendCard(nil, form, card)
	sum := sha256.Sum256(body)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	header.Set("Cache-Control", cache)
	header.Set("Vary", "A2A-Version")
	if h.o.CardNeedsAuth {
		header.Add("Vary", "Authorization")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // knows If-None-Match and HEAD
}
