package card_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/a2aclient/card"
)

// One address that is looked at must not have us ask thousands of others, whose owners know nothing of it.
func TestCatalogFlood(t *testing.T) {
	t.Parallel()
	list := func(kind, prefix string) string {
		var all []map[string]string
		for n := range 64 {
			all = append(all, map[string]string{"type": kind, "url": fmt.Sprint(prefix, n)})
		}
		b, _ := json.Marshal(map[string]any{"entries": all})
		return string(b)
	}
	s := newSite(t, nil)
	within := s.handler(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == catalog:
			says(list("application/ai-catalog+json", "/list/"))(w, r)
		case strings.HasPrefix(r.URL.Path, "/list/"):
			says(list("application/a2a-agent-card+json", "/agents/"+strings.TrimPrefix(r.URL.Path, "/list/")+"/"))(w, r)
		default:
			within.ServeHTTP(w, r)
		}
	})
	found, err := card.Find(t.Context(), s.URL+catalog, &card.Options{HTTP: client(t)})
	if err != nil || len(found) != 64 {
		t.Errorf("%d entries, %v", len(found), err)
	}
	if n := len(s.paths()); n > 1024 {
		t.Errorf("%d requests for one address", n)
	}
}
