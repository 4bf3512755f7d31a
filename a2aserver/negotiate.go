package a2aserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
)

// requestedVersion is the version of A2A that a client says it speaks; "" when it does not say.
func requestedVersion(r *http.Request) string {
	if v := r.Header["A2a-Version"]; len(v) > 0 { // the canonical form of A2A-Version
		return strings.TrimSpace(v[0])
	}
	if strings.Contains(r.URL.RawQuery, "A2A-Version") {
		return strings.TrimSpace(r.URL.Query().Get("A2A-Version"))
	}
	return ""
}

// checkVersion refuses a v1.0 method of a client that names another version. Only major and minor count; a method's name
// is proof enough where the client names none, and for the older methods, whatever it names.
func checkVersion(v string, d wire.Dialect) error {
	if d != wire.NEW || v == "" || v == "1" || v == "1.0" || strings.HasPrefix(v, "1.0.") {
		return nil
	}
	return &a2a.Error{
		Kind: a2a.KindVersionNotSupported, Message: "this version of A2A is not supported; 1.0 is",
		Metadata: map[string]string{"supportedVersions": "1.0"},
	}
}

// requestedExtensions are the lists of extensions that a client wants, under the names of every version.
func requestedExtensions(r *http.Request) []string {
	list, old := r.Header["A2a-Extensions"], r.Header["X-A2a-Extensions"] // the canonical forms
	if len(list) == 0 {
		return old
	}
	return append(slices.Clip(list), old...)
}

// negotiateExtensions refuses a message of a client that does not know an extension the agent cannot do without, and
// returns which of those it asked for are in force; the others that it asked for are nothing to us.
func negotiateExtensions(wanted []string, card *a2a.AgentCard, message bool) (active []string, err error) {
	for _, e := range card.Capabilities.Extensions {
		if wants(wanted, e.URI) {
			active = append(active, e.URI)
		} else if e.Required && message {
			return nil, &a2a.Error{
				Kind: a2a.KindExtensionRequired, Message: "this agent needs its clients to support the extension " + e.URI,
				Metadata: map[string]string{"extension": e.URI},
			}
		}
	}
	return active, nil
}

// wants reports whether one of the lists holds uri.
func wants(lists []string, uri string) bool {
	for _, list := range lists {
		for v := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(v) == uri {
				return true
			}
		}
	}
	return false
}

// checkTenant refuses a tenant that this agent does not answer for: not by what HandlerOptions.Tenant says, or, where there
// is none, not named by an interface of the card.
func (a *asked) checkTenant(ctx context.Context, tenant string, card *a2a.AgentCard) error {
	ok := !reservedTenant(tenant)
	switch {
	case !ok:
	case a.o.Tenant != nil:
		ok = a.o.Tenant(ctx, a.principal, tenant)
	default:
		ok = slices.ContainsFunc(card.Interfaces, func(in a2a.AgentInterface) bool { return in.Tenant == tenant })
	}
	if ok {
		return nil
	}
	return &a2a.Error{Kind: a2a.KindInvalidParams, Field: "tenant", Message: "this agent does not answer for that tenant"}
}

// reservedTenant reports whether a tenant could not be told from a route of HTTP+JSON.
func reservedTenant(name string) bool {
	switch name {
	case "v1", "tasks", "extendedAgentCard", "agent", ".well-known":
		return true
	}
	return strings.HasPrefix(name, "message:") || strings.Contains(name, "/")
}

// negotiateModes refuses a message with a part that the agent does not take, and a caller who takes nothing of what it
// makes. The modes in force are those of the skill the message names; when it names none, those of the card and of all
// its skills.
func negotiateModes(r *a2a.SendRequest, card *a2a.AgentCard) error {
	in, out := card.DefaultInputModes, card.DefaultOutputModes
	skill := skillID(r)
	if i := slices.IndexFunc(card.Skills, func(s a2a.AgentSkill) bool { return s.ID == skill }); i >= 0 {
		if s := &card.Skills[i]; len(s.InputModes) > 0 {
			in = s.InputModes
		}
		if s := &card.Skills[i]; len(s.OutputModes) > 0 {
			out = s.OutputModes
		}
	} else {
		in, out = slices.Clip(in), slices.Clip(out)
		for i := range card.Skills {
			in = append(in, card.Skills[i].InputModes...)
			out = append(out, card.Skills[i].OutputModes...)
		}
	}
	for i := range r.Message.Parts {
		if mode := partMode(&r.Message.Parts[i]); mode != "" && !anyMode(in, mode) {
			return a2a.Errorf(a2a.KindContentType, "this agent does not take %s", mode)
		}
	}
	accepted := r.Configuration.AcceptedOutputModes
	if len(accepted) > 0 && !slices.ContainsFunc(accepted, func(m string) bool { return anyMode(out, m) }) {
		return a2a.Errorf(a2a.KindContentType, "this agent makes none of the accepted output modes")
	}
	return nil
}

// skillID is the skill a request names in its metadata.
func skillID(r *a2a.SendRequest) string {
	if id := skillIn(r.Metadata); id != "" {
		return id
	}
	return skillIn(r.Message.Metadata)
}

func skillIn(m a2a.Metadata) string {
	if len(m) == 0 {
		return ""
	}
	var v struct {
		SkillID string `json:"skillId"`
	}
	if json.Unmarshal(m, &v) != nil {
		return ""
	}
	return v.SkillID
}

// partMode is the media type of a part; "" when it cannot be told.
func partMode(p *a2a.Part) string {
	switch {
	case p.Kind == a2a.PartNoContent:
		return ""
	case p.MediaType != "":
		return p.MediaType
	case p.Kind == a2a.PartText:
		return "text/plain"
	case p.Kind == a2a.PartData:
		return "application/json"
	}
	return ""
}

// anyMode reports whether mode matches one of modes; none at all means text/plain.
func anyMode(modes []string, mode string) bool {
	if len(modes) == 0 {
		return matchMode("text/plain", mode)
	}
	return slices.ContainsFunc(modes, func(m string) bool { return matchMode(m, mode) })
}

// matchMode compares two media types, either of which may have wildcards or be a word of the first drafts. Parameters do
// not count.
func matchMode(a, b string) bool {
	if a == b {
		return true
	}
	a, b = normalMode(a), normalMode(b)
	if a == b || a == "*/*" || b == "*/*" {
		return true
	}
	at, as, _ := strings.Cut(a, "/")
	bt, bs, _ := strings.Cut(b, "/")
	return at == bt && (as == "*" || bs == "*")
}

func normalMode(m string) string {
	m, _, _ = strings.Cut(m, ";")
	switch m = strings.ToLower(strings.TrimSpace(m)); m {
	case "text":
		return "text/plain"
	case "data":
		return "application/json"
	case "file", "*":
		return "*/*"
	}
	return m
}
