package frontend

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// credential reads a secret from a form; nil when none was typed.
func credential(r *http.Request) *orchestrator.Credential {
	kind, secret := r.FormValue("kind"), strings.TrimSpace(r.FormValue("secret"))
	if kind == "cert" {
		secret = strings.TrimSpace(r.FormValue("pem"))
	}
	if secret == "" {
		return nil
	}
	c := &orchestrator.Credential{Kind: a2a.SchemeHTTP, Scheme: "Bearer", Secret: orchestrator.Secret(secret)}
	switch kind {
	case "key":
		c.Kind, c.Scheme, c.Location = a2a.SchemeAPIKey, "", "header"
		c.Header = strings.TrimSpace(r.FormValue("header"))
		if l := r.FormValue("location"); l == "query" || l == "cookie" {
			c.Location = l
		}
	case "basic":
		c.Scheme, c.User = "Basic", r.FormValue("user")
	case "cert":
		c.Kind, c.Scheme = a2a.SchemeMutualTLS, ""
	}
	return c
}

// wanted is the credential that an agent's card asks for first, of those that can be typed here. Requirements go before schemes
// that nothing requires. It reports whether the card asks for any: a token for one that cannot be typed may be had by
// other means, and be typed as a bearer token.
func wanted(schemes map[string]a2a.SecurityScheme, requirements []a2a.SecurityRequirement) (view.SecretKind, bool) {
	var names []string
	for _, r := range requirements {
		names = append(names, slices.Sorted(maps.Keys(r))...)
	}
	names = append(names, slices.Sorted(maps.Keys(schemes))...)
	for _, n := range names {
		switch sc := schemes[n]; {
		case sc.Kind == a2a.SchemeAPIKey:
			return view.SecretKind{Kind: "key", Header: sc.Name, Location: sc.Location}, true
		case sc.Kind == a2a.SchemeMutualTLS:
			return view.SecretKind{Kind: "cert"}, true
		case sc.Kind == a2a.SchemeHTTP && strings.EqualFold(sc.Scheme, "basic"):
			return view.SecretKind{Kind: "basic"}, true
		case sc.Kind == a2a.SchemeHTTP:
			return view.SecretKind{Kind: "bearer"}, true
		}
	}
	return view.SecretKind{Kind: "bearer"}, len(schemes) > 0
}

// challenged is the credential that a refusal asks for, of those that can be typed here.
func challenged(f *orchestrator.Fault) view.SecretKind {
	for _, c := range f.SignIn {
		switch c.Scheme {
		case "Basic":
			return view.SecretKind{Kind: "basic"}
		case "Bearer":
			return view.SecretKind{Kind: "bearer"}
		case "Certificate":
			return view.SecretKind{Kind: "cert"}
		case "ApiKey":
			return view.SecretKind{Kind: "key", Header: c.Name, Location: c.Location}
		}
	}
	return view.SecretKind{}
}

// signInHref is the form in which the agent can be given what its refusal asks for; "" for a failure of another kind.
func signInHref(agent string, f *orchestrator.Fault) string {
	if agent == "" || f.Where != orchestrator.WhereSignIn {
		return ""
	}
	k := challenged(f)
	asked := url.Values{"sign-in": {cmp.Or(k.Kind, "bearer")}}
	if k.Kind == "key" {
		asked.Set("name", k.Header)
		asked.Set("in", k.Location)
	}
	return "/agents/" + url.PathEscape(agent) + "?" + asked.Encode() + "#credential"
}
