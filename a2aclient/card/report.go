package card

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"parley/a2a"
)

// Finding is one thing that a card says against the rules of its version, or that is worth knowing.
type Finding struct {
	Level Level
	Path  string // a JSON path: "$.skills[2].id"
	What  string // one sentence
	Rule  string // where the rule stands: "A2A v1.0, 4.4.5"
}

// Level says how much a finding weighs.
type Level string

const (
	LevelError   Level = "error"   // a required member is missing or of another type, or the card contradicts itself
	LevelWarning Level = "warning" // it is sure to mislead some client
	LevelNote    Level = "note"    // worth knowing, and allowed
)

// Report checks a card as it came against the rules for the version whose form it has: v1.0 (supportedInterfaces), else
// v0.3. Nothing is asked of anybody. The worst findings come first, else in the order of the card. At most 200.
func Report(card []byte) []Finding {
	r := &reporter{}
	var all map[string]any
	dec := json.NewDecoder(strings.NewReader(string(card)))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		return []Finding{{LevelError, "$", "This is not a JSON object.", "RFC 8259"}}
	}
	if _, err := Hash(card); err != nil {
		r.add(LevelError, "$", "The card is not unambiguous: a member stands in it twice, or a number is too large.", "RFC 8785, 3.1")
	}
	r.card = all
	_, r.new = either(all, "supportedInterfaces")
	r.check()
	slices.SortStableFunc(r.found, func(a, b Finding) int { return weight(a.Level) - weight(b.Level) })
	return r.found[:min(len(r.found), 200)]
}

func weight(l Level) int { return slices.Index([]Level{LevelError, LevelWarning, LevelNote}, l) }

type reporter struct {
	card  map[string]any
	new   bool // v1.0
	found []Finding
}

func (r *reporter) add(l Level, path, what, rule string) {
	r.found = append(r.found, Finding{l, path, what, rule})
}

// rule names a section of v1.0 and the one of v0.3 that says the same.
func (r *reporter) rule(newer, older string) string {
	if r.new {
		return "A2A v1.0, " + newer
	}
	return "A2A v0.3, " + older
}

// either returns a member in lowerCamelCase or, as some servers write it, snake_case.
func either(m map[string]any, name string) (any, bool) {
	if v, ok := m[name]; ok {
		return v, v != nil
	}
	v, ok := m[snake(name)]
	return v, ok && v != nil
}

func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// text wants a string that is not empty.
func (r *reporter) text(m map[string]any, path, name, rule string) string {
	v, ok := either(m, name)
	s, is := v.(string)
	switch {
	case !ok:
		r.add(LevelError, path+"."+name, "It is required and missing.", rule)
	case !is:
		r.add(LevelError, path+"."+name, "It must be text.", rule)
	case strings.TrimSpace(s) == "":
		r.add(LevelError, path+"."+name, "It is required and empty.", rule)
	}
	return s
}

// list wants an array; some may be empty.
func (r *reporter) list(m map[string]any, path, name, rule string, required bool) []any {
	v, ok := either(m, name)
	l, is := v.([]any)
	switch {
	case !ok && required:
		r.add(LevelError, path+"."+name, "It is required and missing.", rule)
	case ok && !is:
		r.add(LevelError, path+"."+name, "It must be a list.", rule)
	case ok && required && len(l) == 0:
		r.add(LevelWarning, path+"."+name, "It is required and empty.", rule)
	}
	return l
}

func (r *reporter) object(v any, path, rule string) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		r.add(LevelError, path, "It must be an object.", rule)
	}
	return m
}

func (r *reporter) check() {
	c, rule := r.card, r.rule("4.4.1", "5.5")
	r.text(c, "$", "name", rule)
	r.text(c, "$", "description", rule)
	r.text(c, "$", "version", rule)
	if v, ok := either(c, "capabilities"); !ok {
		r.add(LevelError, "$.capabilities", "It is required and missing.", rule)
	} else if m := r.object(v, "$.capabilities", r.rule("4.4.3", "5.5.2")); m != nil {
		r.capabilities(m)
	}
	r.modes(c, "$", "defaultInputModes", rule, true)
	r.modes(c, "$", "defaultOutputModes", rule, true)
	if r.new {
		r.interfaces()
	} else {
		r.older()
	}
	if v, ok := either(c, "provider"); ok {
		where := r.rule("4.4.2", "5.5.1")
		if m := r.object(v, "$.provider", where); m != nil {
			r.text(m, "$.provider", "organization", where)
			r.address(r.text(m, "$.provider", "url", where), "$.provider.url", where)
		}
	}
	for _, name := range []string{"documentationUrl", "iconUrl"} {
		if v, ok := either(c, name); ok {
			s, _ := v.(string)
			r.address(s, "$."+name, rule)
		}
	}
	r.skills()
	r.security()
	r.signatures()
	for name := range c {
		if !known(name) && !strings.HasPrefix(name, "x-") {
			r.add(LevelNote, "$."+name, "No version of A2A has this member; clients leave it out.", rule)
		}
		if known(name) && strings.Contains(name, "_") {
			r.add(LevelWarning, "$."+name, "JSON names are written in lowerCamelCase; strict clients do not see this one.", r.rule("5.5", "5.5"))
		}
	}
}

func (r *reporter) capabilities(m map[string]any) {
	for _, name := range []string{"streaming", "pushNotifications", "extendedAgentCard", "stateTransitionHistory"} {
		if v, ok := m[name]; ok {
			if _, is := v.(bool); !is {
				r.add(LevelError, "$.capabilities."+name, "It must be true or false.", r.rule("4.4.3", "5.5.2"))
			}
		}
	}
	for i, v := range r.list(m, "$.capabilities", "extensions", r.rule("4.4.3", "5.5.2"), false) {
		path := fmt.Sprintf("$.capabilities.extensions[%d]", i)
		if e := r.object(v, path, r.rule("4.4.4", "5.5.2.1")); e != nil {
			uri := r.text(e, path, "uri", r.rule("4.4.4", "5.5.2.1"))
			if required, _ := e["required"].(bool); required {
				r.add(LevelNote, path, "Clients that do not know "+inWords(uri)+" cannot use this agent.", r.rule("4.4.4", "5.5.2.1"))
			}
		}
	}
	if !r.new {
		return
	}
	if _, ok := either(r.card, "supportsAuthenticatedExtendedCard"); ok {
		r.add(LevelNote, "$.supportsAuthenticatedExtendedCard", "Since v1.0 this is capabilities.extendedAgentCard.", "A2A v1.0, 4.4.3")
	}
}

func (r *reporter) modes(m map[string]any, path, name, rule string, required bool) {
	for i, v := range r.list(m, path, name, rule, required) {
		s, ok := v.(string)
		kind, _, err := mime.ParseMediaType(s)
		if !ok || err != nil || !strings.Contains(kind, "/") {
			r.add(LevelWarning, fmt.Sprintf("%s.%s[%d]", path, name, i), fmt.Sprintf("%q is no media type; it should be one such as text/plain.", inWords(fmt.Sprint(v))), rule)
		}
	}
}

func (r *reporter) interfaces() {
	const rule = "A2A v1.0, 4.4.6"
	list := r.list(r.card, "$", "supportedInterfaces", "A2A v1.0, 4.4.1", true)
	seen := map[string]bool{}
	for i, v := range list {
		path := fmt.Sprintf("$.supportedInterfaces[%d]", i)
		m := r.object(v, path, rule)
		if m == nil {
			continue
		}
		u, b, version := r.text(m, path, "url", rule), r.text(m, path, "protocolBinding", rule), r.text(m, path, "protocolVersion", rule)
		if b != "" && !slices.Contains([]string{a2a.BindingJSONRPC, a2a.BindingREST, a2a.BindingGRPC}, b) {
			r.add(LevelNote, path+".protocolBinding", inWords(b)+" is none of the bindings that A2A defines.", "A2A v1.0, 5")
		}
		if b != a2a.BindingGRPC || strings.Contains(u, "://") { // host:port is usual for gRPC
			r.address(u, path+".url", rule)
		}
		if version != "" && !strings.Contains(version, ".") {
			r.add(LevelWarning, path+".protocolVersion", "A version is written major.minor: 1.0.", "A2A v1.0, 3.6")
		}
		tenant, _ := m["tenant"].(string)
		if key := u + " " + b + " " + version + " " + tenant; u != "" && seen[key] {
			r.add(LevelWarning, path, "This interface stands in the list twice.", rule)
		} else {
			seen[key] = true
		}
	}
}

func (r *reporter) older() {
	const rule = "A2A v0.3, 5.5"
	if _, ok := either(r.card, "protocolVersion"); !ok {
		r.add(LevelError, "$.protocolVersion", "It is required and missing: clients have to find out which version is spoken.", rule)
	}
	main := r.text(r.card, "$", "url", rule)
	r.address(main, "$.url", rule)
	transport := a2a.BindingJSONRPC
	if v, ok := either(r.card, "preferredTransport"); ok {
		transport, _ = v.(string)
	}
	named := false
	list := r.list(r.card, "$", "additionalInterfaces", rule, false)
	for i, v := range list {
		path := fmt.Sprintf("$.additionalInterfaces[%d]", i)
		m := r.object(v, path, "A2A v0.3, 5.5.5")
		if m == nil {
			continue
		}
		u, t := r.text(m, path, "url", "A2A v0.3, 5.5.5"), r.text(m, path, "transport", "A2A v0.3, 5.5.5")
		named = named || u == main && t == transport
		if u == main && t != transport {
			r.add(LevelError, path, "The main address is named here with another transport than preferredTransport.", "A2A v0.3, 5.6.4")
		}
	}
	if len(list) > 0 && !named {
		r.add(LevelNote, "$.additionalInterfaces", "The main address should stand in this list too.", "A2A v0.3, 5.6.2")
	}
}

func (r *reporter) address(s, path, rule string) {
	if s == "" {
		return
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		r.add(LevelError, path, inWords(s)+" is no absolute address.", rule)
		return
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	switch near := ip.IsLoopback() || house(u.Hostname()); {
	case u.Scheme == "http" && !near:
		r.add(LevelWarning, path, "Plain http can be read and changed on the way; in production it must be https.", r.rule("7.1", "4.1"))
	case u.Scheme == "http":
		r.add(LevelNote, path, "Only programs on this machine or in this house reach this address.", r.rule("7.1", "4.1"))
	}
}

func (r *reporter) skills() {
	rule := r.rule("4.4.5", "5.5.4")
	list := r.list(r.card, "$", "skills", r.rule("4.4.1", "5.5"), true)
	if len(list) > a2a.Limits.CardSkills {
		r.add(LevelWarning, "$.skills", fmt.Sprintf("There are %d skills; Parley reads cards with at most %d.", len(list), a2a.Limits.CardSkills), rule)
	}
	ids := map[string]bool{}
	for i, v := range list {
		path := fmt.Sprintf("$.skills[%d]", i)
		m := r.object(v, path, rule)
		if m == nil {
			continue
		}
		id := r.text(m, path, "id", rule)
		if id != "" && ids[id] {
			r.add(LevelError, path+".id", "Another skill has the id "+inWords(id)+".", rule)
		}
		ids[id] = true
		r.text(m, path, "name", rule)
		r.text(m, path, "description", rule)
		r.list(m, path, "tags", rule, true)
		r.modes(m, path, "inputModes", rule, false)
		r.modes(m, path, "outputModes", rule, false)
	}
}

func (r *reporter) security() {
	v, _ := either(r.card, "securitySchemes")
	schemes, _ := v.(map[string]any)
	if v != nil && schemes == nil {
		r.add(LevelError, "$.securitySchemes", "It must be an object of schemes by name.", r.rule("4.5.1", "5.5.3"))
	}
	for name, v := range schemes {
		path := "$.securitySchemes." + inWords(name)
		m := r.object(v, path, r.rule("4.5.1", "5.5.3"))
		if m == nil {
			continue
		}
		if r.new {
			n := 0
			for _, kind := range []string{"apiKeySecurityScheme", "httpAuthSecurityScheme", "oauth2SecurityScheme", "openIdConnectSecurityScheme", "mtlsSecurityScheme"} {
				if _, ok := either(m, kind); ok {
					n++
				}
			}
			if n != 1 {
				r.add(LevelError, path, "A scheme has exactly one of apiKeySecurityScheme, httpAuthSecurityScheme, oauth2SecurityScheme, openIdConnectSecurityScheme and mtlsSecurityScheme.", "A2A v1.0, 4.5.1")
			}
		} else if kind, _ := m["type"].(string); !slices.Contains([]string{"apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"}, kind) {
			r.add(LevelError, path+".type", "A scheme is of type apiKey, http, oauth2, openIdConnect or mutualTLS.", "A2A v0.3, 5.5.3")
		}
	}
	member := "securityRequirements"
	if !r.new {
		member = "security"
	}
	for i, v := range r.list(r.card, "$", member, r.rule("4.4.1", "5.5"), false) {
		path := fmt.Sprintf("$.%s[%d]", member, i)
		m := r.object(v, path, r.rule("4.4.1", "5.5"))
		if inner, ok := m["schemes"].(map[string]any); ok && r.new {
			m, path = inner, path+".schemes"
		}
		for name := range m {
			if _, ok := schemes[name]; !ok {
				r.add(LevelError, path, "It requires the scheme "+inWords(name)+", which securitySchemes does not describe.", r.rule("4.5.1", "5.5.3"))
			}
		}
	}
}

func (r *reporter) signatures() {
	for i, v := range r.list(r.card, "$", "signatures", r.rule("4.4.1", "5.5"), false) {
		path := fmt.Sprintf("$.signatures[%d]", i)
		if m := r.object(v, path, r.rule("4.4.7", "5.5.6")); m != nil {
			r.text(m, path, "protected", r.rule("4.4.7", "5.5.6"))
			r.text(m, path, "signature", r.rule("4.4.7", "5.5.6"))
		}
	}
}

// shorten is a word of the card, fit to be shown.
func inWords(s string) string {
	s, _ = Text(s, 120)
	return s
}
