package frontend

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// TestCredentialForm reads every kind of credential out of the form.
func TestCredentialForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form url.Values
		want *orchestrator.Credential
	}{
		"nothing":     {url.Values{"kind": {"basic"}, "user": {"mina"}, "secret": {" "}}, nil},
		"bearer":      {url.Values{"secret": {" tok "}}, &orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Bearer", Secret: "tok"}},
		"basic":       {url.Values{"kind": {"basic"}, "user": {"mina"}, "secret": {"p"}}, &orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Basic", User: "mina", Secret: "p"}},
		"header":      {url.Values{"kind": {"key"}, "header": {" X-Key "}, "secret": {"k"}, "location": {"body"}}, &orchestrator.Credential{Kind: a2a.SchemeAPIKey, Header: "X-Key", Location: "header", Secret: "k"}},
		"query":       {url.Values{"kind": {"key"}, "header": {"key"}, "secret": {"k"}, "location": {"query"}}, &orchestrator.Credential{Kind: a2a.SchemeAPIKey, Header: "key", Location: "query", Secret: "k"}},
		"cookie":      {url.Values{"kind": {"key"}, "header": {"sid"}, "secret": {"k"}, "location": {"cookie"}}, &orchestrator.Credential{Kind: a2a.SchemeAPIKey, Header: "sid", Location: "cookie", Secret: "k"}},
		"certificate": {url.Values{"kind": {"cert"}, "secret": {"left over"}, "pem": {"-----BEGIN …"}}, &orchestrator.Credential{Kind: a2a.SchemeMutualTLS, Secret: "-----BEGIN …"}},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := credential(r)
		if (got == nil) != (c.want == nil) || got != nil && (*got != *c.want || got.Secret.Reveal() != c.want.Secret.Reveal()) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestChallengeOpensForm is check 36's 401: WWW-Authenticate opens the form for what it asks for.
func TestCheck36ChallengeOpensForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	refused := func(all ...orchestrator.Challenge) *orchestrator.Fault {
		return &orchestrator.Fault{Kind: "unauthenticated", Where: orchestrator.WhereSignIn, What: "Who are you?", SignIn: all}
	}
	for selected, f := range map[string]*orchestrator.Fault{
		`<option value="basic" selected`:  refused(orchestrator.Challenge{Scheme: "Negotiate"}, orchestrator.Challenge{Scheme: "Basic"}),
		`<option value="bearer" selected`: refused(orchestrator.Challenge{Scheme: "Bearer"}),
		`<option value="cert" selected`:   refused(orchestrator.Challenge{Scheme: "Certificate"}),
		`<option value="key" selected`:    refused(orchestrator.Challenge{Scheme: "ApiKey", Name: "X-Their-Key", Location: "cookie"}),
	} {
		w.who.fails(f)
		r := w.post("/connect", url.Values{"input": {"locked.example"}})
		page := w.get(r.Header.Get("Location"))
		if !strings.Contains(page.body, selected) {
			t.Errorf("the protected card's form has no %s", selected)
		}
		href := signInHref("atlas", f)
		agent := w.get(strings.TrimSuffix(href, "#credential"))
		if !strings.Contains(agent.body, selected) || !strings.Contains(agent.body, `id="credential"`) {
			t.Errorf("%s has no %s", href, selected)
		}
		if strings.Contains(selected, "key") && (!strings.Contains(agent.body, `value="X-Their-Key"`) || !strings.Contains(agent.body, `<option value="cookie" selected`)) {
			t.Error("the name and place of the key are not filled in")
		}
	}
	if href := signInHref("atlas", &orchestrator.Fault{Where: orchestrator.WhereAgent}); href != "" {
		t.Errorf("a failure that is none of the sign-in leads to %s", href)
	}
	if href := signInHref("atlas", refused()); href != "/agents/atlas?sign-in=bearer#credential" {
		t.Errorf("without a challenge: %s", href)
	}
}

// TestWanted chooses the form by what the card requires, each kind of scheme.
func TestWanted(t *testing.T) {
	t.Parallel()
	schemes := map[string]a2a.SecurityScheme{
		"a-oauth": {Kind: a2a.SchemeOAuth2}, "b-basic": {Kind: a2a.SchemeHTTP, Scheme: "basic"}, "c-oidc": {Kind: a2a.SchemeOpenIDConnect},
		"d-key": {Kind: a2a.SchemeAPIKey, Location: "query", Name: "k"}, "e-cert": {Kind: a2a.SchemeMutualTLS}, "f-token": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"},
	}
	for name, want := range map[string]view.SecretKind{
		"a-oauth": {Kind: "basic"}, // what can be typed, of the rest
		"b-basic": {Kind: "basic"}, "d-key": {Kind: "key", Header: "k", Location: "query"}, "e-cert": {Kind: "cert"}, "f-token": {Kind: "bearer"},
	} {
		if got, ok := wanted(schemes, []a2a.SecurityRequirement{{name: nil}}); got != want || !ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	if got, ok := wanted(map[string]a2a.SecurityScheme{"a": {Kind: a2a.SchemeOAuth2}}, nil); got.Kind != "bearer" || !ok {
		t.Errorf("OAuth alone: %+v, %v", got, ok)
	}
	if _, ok := wanted(nil, nil); ok {
		t.Error("a card that asks for nothing")
	}
}

// TestSignatureShown says of every state what it is, on the agent's page and before approval.
func TestSignatureShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for want, s := range map[string]*orchestrator.Signature{
		"Verified: signed by the key": {State: orchestrator.SignatureVerified, Fingerprint: "00ff 11ee", Keys: []byte("{}"), Source: "https://atlas.example/keys", Unsigned: []string{"url"}},
		"Signed, not verified":        {State: orchestrator.SignatureOpen, Why: "The key is said to be elsewhere."},
		"Not verified":                {State: orchestrator.SignatureFailed, Why: "It was changed <b>."},
		"Changed since":               {State: orchestrator.SignatureChanged, Why: "Another card is served."},
	} {
		a, err := w.st.Agent(t.Context(), "atlas")
		if err != nil {
			t.Fatal(err)
		}
		b := *a
		b.Signature = s
		w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{&b}})
		w.get("/agents/atlas").want(t, 200, want, s.Why, s.Fingerprint)
		w.who.previews = []*orchestrator.Candidate{{Input: "atlas.example", Agent: &b}}
		r := w.post("/connect", url.Values{"input": {"atlas.example"}})
		w.get(r.Header.Get("Location")).want(t, 200, want, s.Why)
	}
}
