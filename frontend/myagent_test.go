package frontend

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/orchestrator"
)

// host is a publisher that remembers what it was told.
type host struct {
	served orchestrator.Published
	tokens []*orchestrator.Token
	did    []string
}

func (h *host) Published(context.Context) (*orchestrator.Published, error) { return &h.served, nil }

func (h *host) Publish(_ context.Context, on bool) error {
	h.did, h.served.On = append(h.did, "publish"), on
	return nil
}

func (h *host) AskFirst(_ context.Context, on bool) error {
	h.did, h.served.AskFirst = append(h.did, "ask"), on
	return nil
}

func (h *host) LetIn(_ context.Context, caller string, yes bool) error {
	h.did = append(h.did, caller+map[bool]string{true: " yes", false: " no"}[yes])
	return nil
}

func (h *host) Tokens(context.Context) ([]*orchestrator.Token, error) {
	return slices.Clone(h.tokens), nil
}

func (h *host) NewToken(_ context.Context, t *orchestrator.Token) (orchestrator.Secret, error) {
	t.ID = "t-new"
	h.tokens = append(h.tokens, t)
	return "parley_canary", nil
}

func (h *host) RevokeToken(_ context.Context, id string) error {
	h.did = append(h.did, "revoke "+id)
	return nil
}

func TestMyAgent(t *testing.T) {
	t.Parallel()
	h := &host{served: orchestrator.Published{
		On: true, Address: "http://127.0.0.1:7421/", Fingerprint: "abcd ef01",
		Cards:   []orchestrator.ServedCard{{Version: "v1.0", Path: "/.well-known/agent-card.json", Header: "A2A-Version: 1.0", JSON: []byte(`{"new":1}`)}, {Version: "v0.1", Path: "/.well-known/agent.json", JSON: []byte(`{"old":1}`)}},
		Callers: []orchestrator.CallerUse{{ID: "u1", Name: "Newcomer", Waiting: clock}, {ID: "u2", Name: "Regular", Tasks: 500, Open: 2, Last: clock}},
	}}
	w := newWorld(t, &Options{Publisher: h})
	r := w.get("/my-agent").want(t, 200, "Published", "http://127.0.0.1:7421/", "Reached from this machine only", "abcd ef01", `"new": 1`, "curl http://127.0.0.1:7421/",
		"Newcomer wants to begin its first task", "Regular", "500+", "No tokens yet", "begins at once")
	// A code is for a phone, which has to reach what it says.
	for address, want := range map[string]int{
		"http://127.0.0.1:7421/": 0, "http://[::1]:7421/": 0, "http://localhost:7421/": 0, "http://parley.localhost/": 0, "http://0.0.0.0:7421/": 0,
		"http://192.168.1.5:7421/": 1, "https://parley.example/": 1,
	} {
		h.served.Address = address
		if n := len(find(w.get("/my-agent").doc, byClass("qr"))); n != want {
			t.Errorf("%s: %d codes", address, n)
		}
	}
	h.served.Address = "http://127.0.0.1:7421/"
	if links := find(r.doc, func(n *html.Node) bool { return attr(n, "href") == "/tasks?caller=u2" }); len(links) != 1 {
		t.Error("what a caller ran is not linked")
	}
	w.get("/my-agent?call=python&card=v0.1").want(t, 200, "urllib.request", `"old": 1`)

	r = w.post("/my-agent/tokens", url.Values{"name": {"CI"}, "agent": {"atlas", "quill"}, "credentials": {"1"}, "rate": {"30"}}).want(t, 303)
	to := r.Header.Get("Location")
	w.get(to).want(t, 200, "parley_canary", "Parley and Atlas Research, Quill", "uses credentials", "30 a minute", "never used")
	if strings.Contains(w.get(to).body, "parley_canary") || strings.Contains(w.get("/my-agent").body, "parley_canary") {
		t.Error("the token is shown twice")
	}
	if made := h.tokens[0]; made.Workflows || made.ReadOnly || !made.Credentials || made.RatePerMin != 30 {
		t.Errorf("made: %+v", made)
	}
	w.post("/my-agent/tokens", url.Values{"name": {"x"}, "rate": {"many"}}).want(t, 400, "Requests a minute are a whole number.")
	w.post("/my-agent/tokens/revoke", url.Values{"id": {"t-new"}}).want(t, 303)
	w.post("/my-agent/caller", url.Values{"caller": {"u1"}, "yes": {"1"}}).want(t, 303)
	w.post("/my-agent/caller", url.Values{"caller": {"u1"}, "yes": {""}}).want(t, 303)
	w.post("/my-agent/ask-first", url.Values{"on": {"1"}}).want(t, 303)
	w.post("/my-agent/publish", nil).want(t, 303)
	if got := strings.Join(h.did, ", "); got != "revoke t-new, u1 yes, u1 no, ask, publish" || h.served.On || !h.served.AskFirst {
		t.Errorf("did %s", got)
	}
	w.get("/my-agent").want(t, 200, "Not published", "waits for your yes")

	newWorld(t, nil).get("/my-agent").want(t, 404)
}

// The code is that of the address, module for module, with its margin.
func TestQR(t *testing.T) {
	t.Parallel()
	code := qrOf("https://parley.example/")
	if code.Size < 21+2*quiet || !strings.HasPrefix(code.Path, "M4 4h7v1h-7z") { // the finder pattern begins behind the margin
		t.Errorf("%d modules: %.40s", code.Size, code.Path)
	}
	if other := qrOf("https://parley.example/2"); other.Path == code.Path {
		t.Error("another address has the same code")
	}
	if long := qrOf(strings.Repeat("x", 5000)); long.Size != 0 {
		t.Error("what does not fit is drawn")
	}
}
