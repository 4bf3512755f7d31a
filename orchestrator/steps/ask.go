package steps

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// AskOf reads what an interrupted task asks for out of its status: the words, the schema of the wanted data, choices,
// and, for a sign-in, the addresses to go to. An agent that wants the sign-in again which was answered before, and does not
// say where, wants it at the same place; before is nil where there was none. The caller gives the ask its id, step and agent.
func AskOf(kind orchestrator.AskKind, s *a2a.TaskStatus, before *orchestrator.Ask) *engine.Asked {
	a := &engine.Asked{AskKind: kind}
	var schemes []string
	if s.Message != nil {
		a.Prompt = strings.TrimSpace(a2a.Text(s.Message.Parts))
		for i := range s.Message.Parts {
			p := &s.Message.Parts[i]
			switch p.Kind {
			case a2a.PartText:
				if kind == orchestrator.AskSignIn {
					a.Links = addTextLinks(a.Links, p.Text)
				}
			case a2a.PartURL:
				if kind == orchestrator.AskSignIn {
					a.Links = addLink(a.Links, p.Filename, p.URL)
				}
			case a2a.PartData:
				schemes = append(schemes, readAskData(a, p.Data)...)
			}
		}
	}
	if kind == orchestrator.AskSignIn && len(a.Links) == 0 && before != nil && len(before.Links) > 0 {
		a.Links = before.Links
		if a.Prompt == "" {
			a.Prompt = strings.TrimSpace(strings.TrimPrefix(before.Prompt, orchestrator.NotSignedIn))
		}
		a.Prompt = strings.TrimSpace(orchestrator.NotSignedIn + "\n\n" + a.Prompt)
	}
	if a.Prompt == "" {
		switch {
		case len(schemes) > 0:
			a.Prompt = "The agent needs you to sign in (" + strings.Join(schemes, ", ") + ")."
		case kind == orchestrator.AskSignIn:
			a.Prompt = "The agent needs you to sign in."
		default:
			a.Prompt = "The agent needs your answer."
		}
	}
	return a
}

// readAskData reads a data part of an ask, and returns the authentication schemes it names.
func readAskData(a *engine.Asked, data json.RawMessage) []string {
	var v map[string]json.RawMessage
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	if a.Schema == nil {
		a.Schema = schemaIn(data, v)
	}
	for _, k := range []string{"choices", "options"} {
		if len(a.Choices) == 0 {
			a.Choices = choices(v[k])
		}
	}
	if a.AskKind != orchestrator.AskSignIn {
		return nil
	}
	var credentials string // where the first drafts of the protocol put addresses, as JSON in a string
	if json.Unmarshal(v["credentials"], &credentials) == nil && json.Valid([]byte(credentials)) {
		a.Links = addDataLinks(a.Links, "", json.RawMessage(credentials), 0)
	}
	a.Links = addDataLinks(a.Links, "", data, 0)
	var schemes []string
	_ = json.Unmarshal(v["schemes"], &schemes)
	return schemes
}

// schemaIn finds a JSON Schema: the data itself, or under one of the names agents put it.
func schemaIn(data json.RawMessage, v map[string]json.RawMessage) json.RawMessage {
	if isSchema(v) {
		return data
	}
	for _, k := range []string{"schema", "inputSchema", "requestedSchema", "form"} {
		var inner map[string]json.RawMessage
		if json.Unmarshal(v[k], &inner) == nil && isSchema(inner) {
			return v[k]
		}
	}
	return nil
}

func isSchema(v map[string]json.RawMessage) bool {
	if _, ok := v["$schema"]; ok {
		return true
	}
	var typ string
	if json.Unmarshal(v["type"], &typ) != nil {
		typ = ""
	}
	if p, ok := v["properties"]; ok {
		var props map[string]json.RawMessage
		return json.Unmarshal(p, &props) == nil && (typ == "" || typ == "object")
	}
	if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, typ) {
		return false
	}
	for _, k := range []string{"enum", "format", "items", "minimum", "maximum", "minLength", "maxLength", "pattern", "title", "description"} {
		if _, ok := v[k]; ok {
			return true
		}
	}
	return false
}

// choices reads a list of strings, or of objects with an id (or value) and a label (or title, name).
func choices(data json.RawMessage) []orchestrator.Choice {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || len(list) > 50 {
		return nil
	}
	var out []orchestrator.Choice
	for _, item := range list {
		var s string
		if json.Unmarshal(item, &s) == nil {
			out = append(out, orchestrator.Choice{ID: s, Label: s})
			continue
		}
		var o struct {
			ID, Value, Label, Title, Name, Detail, Description string
		}
		if json.Unmarshal(item, &o) != nil {
			return nil
		}
		c := orchestrator.Choice{
			ID: first(o.ID, o.Value, o.Label, o.Title, o.Name), Label: first(o.Label, o.Title, o.Name, o.ID, o.Value),
			Detail: first(o.Detail, o.Description),
		}
		if c.ID == "" {
			return nil
		}
		out = append(out, c)
	}
	return out
}

func first(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

const maxLinks = 8

var (
	mdLink  = regexp.MustCompile(`\[([^\]\n]{1,200})\]\((https?://[^\s)]+)\)`)
	rawLink = regexp.MustCompile(`https?://[^\s<>"'\x60\])]+`)
)

func addTextLinks(links []orchestrator.Link, text string) []orchestrator.Link {
	for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
		links = addLink(links, m[1], m[2])
	}
	for _, u := range rawLink.FindAllString(text, -1) {
		links = addLink(links, "", strings.TrimRight(u, ".,;:!?"))
	}
	return links
}

// addDataLinks adds every address that is a whole string somewhere in data.
func addDataLinks(links []orchestrator.Link, name string, data json.RawMessage, depth int) []orchestrator.Link {
	if depth > 6 || len(links) >= maxLinks {
		return links
	}
	var s string
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(data, &s) == nil:
		return addLink(links, name, s)
	case json.Unmarshal(data, &list) == nil:
		for _, v := range list {
			links = addDataLinks(links, name, v, depth+1)
		}
	case json.Unmarshal(data, &object) == nil:
		keys := make([]string, 0, len(object))
		for k := range object {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if k != "$schema" && k != "$id" && k != "tokenUrl" && k != "token_url" && k != "refreshUrl" {
				links = addDataLinks(links, k, object[k], depth+1)
			}
		}
	}
	return links
}

// addLink adds an http or https address once. Addresses that carry a user name are left out: they hide where they lead.
func addLink(links []orchestrator.Link, label, address string) []orchestrator.Link {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || len(links) >= maxLinks {
		return links
	}
	for _, l := range links {
		if l.URL == address {
			return links
		}
	}
	if label == "" {
		label = u.Host
	}
	return append(links, orchestrator.Link{Label: label, URL: address})
}
