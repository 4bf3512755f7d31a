package orchestrator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/a2a"
)

// CardHunk is what became of one part of a card, as people compare it.
type CardHunk struct {
	Title string     `json:"title"`           // "Skills"
	Grave bool       `json:"grave,omitempty"` // where, how or as whom the agent is called, or what it says it can do
	Lines []CardLine `json:"lines"`
}

// CardLine is one line of a part: both cards have it, or only one.
type CardLine struct {
	Op   CardOp `json:"op,omitempty"`
	Text string `json:"text"`
}

// CardOp says which card a line is from.
type CardOp string

const (
	CardKept    CardOp = ""  // both
	CardRemoved CardOp = "-" // only the one before
	CardAdded   CardOp = "+" // only the one now
)

// DiffCards says what changed from one card to another: the parts that did, the grave ones first. Signatures do not
// count, as some servers sign anew for every reader.
func DiffCards(was, is *a2a.AgentCard) []CardHunk {
	if was == nil {
		was = &a2a.AgentCard{}
	}
	if is == nil {
		is = &a2a.AgentCard{}
	}
	var out []CardHunk
	part := func(title string, grave bool, of func(*a2a.AgentCard) []string) {
		if h, changed := hunk(title, of(was), of(is)); changed {
			h.Grave = grave
			out = append(out, h)
		}
	}
	part("Addresses", true, func(c *a2a.AgentCard) (all []string) {
		for _, i := range c.Interfaces {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s  %s  %s  %s", i.URL, i.Binding, i.Version, i.Tenant)))
		}
		return all
	})
	part("Sign-in", true, func(c *a2a.AgentCard) (all []string) {
		for _, name := range slices.Sorted(maps.Keys(c.SecuritySchemes)) {
			all = append(all, name+"  "+scheme(c.SecuritySchemes[name]))
		}
		for _, r := range c.SecurityRequirements {
			all = append(all, "wants "+requirement(r))
		}
		return all
	})
	part("Provider", true, func(c *a2a.AgentCard) []string {
		if c.Provider == nil {
			return nil
		}
		return []string{strings.TrimSpace(c.Provider.Organization + "  " + c.Provider.URL)}
	})
	part("Skills", true, func(c *a2a.AgentCard) (all []string) {
		for _, s := range c.Skills {
			line := s.ID + "  " + cmp.Or(s.Name, s.ID)
			if s.Description != "" {
				line += ": " + oneLine(s.Description)
			}
			for _, r := range s.SecurityRequirements {
				line += "  wants " + requirement(r)
			}
			all = append(all, line)
		}
		return all
	})
	part("Abilities", true, func(c *a2a.AgentCard) (all []string) {
		for _, a := range []struct {
			on   bool
			word string
		}{{c.Capabilities.Streaming, "streaming"}, {c.Capabilities.PushNotifications, "push notifications"}, {c.Capabilities.ExtendedAgentCard, "extended card"}} {
			if a.on {
				all = append(all, a.word)
			}
		}
		for _, e := range c.Capabilities.Extensions {
			line := "extension " + e.URI
			if e.Required {
				line += ", required"
			}
			all = append(all, line)
		}
		return all
	})
	part("Takes and gives", false, func(c *a2a.AgentCard) (all []string) {
		for _, m := range c.DefaultInputModes {
			all = append(all, "takes "+m)
		}
		for _, m := range c.DefaultOutputModes {
			all = append(all, "gives "+m)
		}
		return all
	})
	part("Name", true, func(c *a2a.AgentCard) []string { return some(c.Name) })
	part("Description", false, func(c *a2a.AgentCard) []string { return some(oneLine(c.Description)) })
	part("Version", false, func(c *a2a.AgentCard) []string { return some(c.Version) })
	part("Links", false, func(c *a2a.AgentCard) []string { return some(c.DocumentationURL, c.IconURL) })
	slices.SortStableFunc(out, func(a, b CardHunk) int {
		switch {
		case a.Grave == b.Grave:
			return 0
		case a.Grave:
			return -1
		}
		return 1
	})
	return out
}

// hunk compares lists without regard to order, as nothing in a card but its first address depends on it.
func hunk(title string, was, is []string) (CardHunk, bool) {
	h := CardHunk{Title: title}
	changed := false
	left := slices.Clone(is)
	for _, line := range was {
		if i := slices.Index(left, line); i >= 0 {
			left = slices.Delete(left, i, i+1)
			h.Lines = append(h.Lines, CardLine{CardKept, line})
			continue
		}
		changed = true
		h.Lines = append(h.Lines, CardLine{CardRemoved, line})
	}
	for _, line := range left {
		changed = true
		h.Lines = append(h.Lines, CardLine{CardAdded, line})
	}
	return h, changed
}

func some(words ...string) []string {
	return slices.DeleteFunc(words, func(s string) bool { return s == "" })
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func scheme(s a2a.SecurityScheme) string {
	out := string(s.Kind)
	for _, word := range some(s.Scheme, s.Name, s.Location, s.OpenIDConnectURL, s.OAuth2MetadataURL) {
		out += "  " + word
	}
	for _, f := range s.Flows {
		out += "  " + f.Kind
		for _, u := range some(f.AuthorizationURL, f.DeviceAuthorizationURL, f.TokenURL, f.RefreshURL) {
			out += "  " + u
		}
		if len(f.Scopes) > 0 {
			out += "  scopes " + strings.Join(slices.Sorted(maps.Keys(f.Scopes)), " ")
		}
	}
	return out
}

func requirement(r a2a.SecurityRequirement) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		one := name
		if len(r[name]) > 0 {
			one += " (" + strings.Join(slices.Sorted(slices.Values(r[name])), " ") + ")"
		}
		all = append(all, one)
	}
	return strings.Join(all, " and ")
}
