package a2aclient

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2aclient/card"
)

// check looks at what can be known to fail before it is sent: an extension that the agent requires and we do not know,
// and a file of a type that it does not take.
func (c *Client) check(r *a2a.SendRequest) error {
	if c.o.SendAnyway {
		return nil
	}
	var unknown []string
	for _, x := range c.card.Capabilities.Extensions {
		if x.Required && !slices.Contains(c.o.Extensions, x.URI) {
			unknown = append(unknown, x.URI)
		}
	}
	if len(unknown) > 0 {
		shown, _ := card.Name(strings.Join(unknown, ", "), 300)
		return &Error{
			Kind: card.KindExtension, Where: card.WhereUs, URIs: unknown,
			What: fmt.Sprintf("%s requires an extension of the protocol that Parley does not know: %s.", c.name(), shown),
			Do:   "Send anyway if you know that it works without.",
		}
	}
	modes := c.modes(r.Metadata)
	for _, p := range r.Message.Parts {
		if p.Kind != a2a.PartRaw && p.Kind != a2a.PartURL || p.MediaType == "" || accepts(modes, p.MediaType) {
			continue
		}
		file, _ := card.Name(p.Filename, card.MaxName)
		if file == "" {
			file = "a file"
		}
		return &Error{
			Kind: card.KindFileType, Where: card.WhereAgent, Accepted: modes,
			What: fmt.Sprintf("%s does not take %s, which is %s%s.", c.name(), file, p.MediaType, takes(modes)),
			Do:   "Send the file in another format, or send anyway.",
		}
	}
	return nil
}

func takes(modes []string) string {
	if len(modes) == 0 {
		return ""
	}
	shown, _ := card.Name(strings.Join(modes, ", "), 300)
	return "; it takes " + shown
}

// modes lists the media types that the agent takes: those of the skill that metadata names, else the card's and all its
// skills'. Empty means that it does not say.
func (c *Client) modes(metadata a2a.Metadata) []string {
	var m struct{ SkillID string }
	if len(metadata) > 0 && json.Unmarshal(metadata, &m) == nil && m.SkillID != "" {
		for i := range c.card.Skills {
			if s := &c.card.Skills[i]; s.ID == m.SkillID && len(s.InputModes) > 0 {
				return s.InputModes
			}
		}
	}
	out := slices.Clone(c.card.DefaultInputModes)
	for _, s := range c.card.Skills {
		for _, mode := range s.InputModes {
			if !slices.Contains(out, mode) {
				out = append(out, mode)
			}
		}
	}
	return out
}

// accepts reports whether one of modes covers a media type. The words of old cards are understood as well.
func accepts(modes []string, mediaType string) bool {
	if len(modes) == 0 {
		return true
	}
	mt, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		mt = strings.ToLower(strings.TrimSpace(mediaType))
	}
	for _, mode := range modes {
		mode, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mode)), ";")
		switch mode = strings.TrimSpace(mode); mode {
		case "*/*", "*", "file", "files", mt:
			return true
		case "text", "image", "audio", "video":
			mode += "/*"
		case "data", "json":
			mode = "application/json"
		}
		if kind, ok := strings.CutSuffix(mode, "/*"); ok && strings.HasPrefix(mt, kind+"/") || mode == mt {
			return true
		}
	}
	return false
}
