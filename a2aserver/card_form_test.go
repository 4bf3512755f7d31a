package a2aserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/a2a"
	"parley/a2aserver"
)

// TestCardForReaders has the card read by those who read a security requirement differently.
func TestCardForReaders(t *testing.T) {
	t.Parallel()
	card := &a2a.AgentCard{
		Name:                 "reads",
		SecuritySchemes:      map[string]a2a.SecurityScheme{"bearer": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"}},
		SecurityRequirements: []a2a.SecurityRequirement{{"bearer": {"read"}}},
	}
	h := a2aserver.NewHandler(nil, func(context.Context, *http.Request) *a2a.AgentCard { return card }, nil)
	for _, tt := range []struct{ name, agent, version, want string }{
		{"the specification", "curl/8", "", `{"list":["read"]}`},
		{"a Go program without a name", "Go-http-client/1.1", "", `["read"]`},
		{"a Go program that says its version", "Go-http-client/1.1", "1.0", `{"list":["read"]}`},
		{"a Go program with a name", "program/1 Go-http-client/1.1", "", `{"list":["read"]}`},
	} {
		r := httptest.NewRequest(http.MethodGet, "/.well-known/agent-card.json", nil)
		r.Header.Set("User-Agent", tt.agent)
		r.Header.Set("A2A-Version", tt.version)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var got struct {
			SecurityRequirements []struct{ Schemes map[string]json.RawMessage }
			Security             []map[string][]string
		}
		both := 1 // who says its version reads that one only
		if tt.version != "" {
			both = 0
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.SecurityRequirements) != 1 || len(got.Security) != both {
			t.Fatalf("%s: %v in %s", tt.name, err, w.Body)
		}
		if s := string(got.SecurityRequirements[0].Schemes["bearer"]); s != tt.want {
			t.Errorf("%s reads %s; want %s", tt.name, s, tt.want)
		}
	}
}
