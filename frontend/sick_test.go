package frontend

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/a2a"
)

const (
	fullDisk = "The disk is full. Nothing more is stored until there is room again."
	heldBack = "This cannot be sent now. What you write stays here."
)

// TestStoreThatTakesNoWrites: every page says so, those that are open too, and nothing that was typed is lost.
func TestStoreThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	chat, settings := w.open("/c/c1"), w.open("/settings")
	chat.until("!The disk is full", "!"+heldBack)

	sick := &a2a.Error{Kind: a2a.KindUnavailable, Message: fullDisk}
	w.st.Fail(sick)
	w.who.fails(sick)
	chat.until(fullDisk, heldBack)
	settings.until(fullDisk, "!"+heldBack)
	for _, path := range []string{"/", "/c/c1", "/agents", "/connect", "/search", "/settings"} {
		w.get(path).want(t, http.StatusOK, fullDisk)
	}
	w.get("/nowhere").want(t, http.StatusNotFound, fullDisk)

	form := url.Values{"conversation": {"c1"}, "to": {"atlas"}, "message": {"m"}, "text": {"a long thought"}}
	w.post("/say", form, "Parley-Live", "1").want(t, http.StatusServiceUnavailable, fullDisk)
	p := w.post("/say", form).want(t, http.StatusServiceUnavailable, fullDisk, heldBack)
	if typed := textOf(byID(p.doc, "say")); typed != "a long thought" {
		t.Errorf("the composer holds %q", typed)
	}

	w.st.Fail(nil)
	chat.until("!The disk is full", "!"+heldBack)
	settings.until("Appearance", "!The disk is full")
	if p := w.get("/c/c1"); strings.Contains(p.body, fullDisk) || strings.Contains(p.body, heldBack) {
		t.Error("a page says that the disk is still full")
	}
}
