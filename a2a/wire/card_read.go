package wire

import (
	"bytes"
	"fmt"
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// DecodeCard reads a card of any version (also OLD ones, as far as their fields go) into canonical form. notes say in
// plain words what was missing or repaired; err (an *a2a.Error, Field set where one member is at fault) means that it
// cannot be used at all.
//
// A relative url stays relative: only the caller knows where the card came from.
func DecodeCard(b []byte) (card *a2a.AgentCard, notes []a2a.Note, err error) {
	if len(b) > a2a.Limits.Card {
		return nil, nil, a2a.Errorf(a2a.KindTooLarge, "the card is larger than %d bytes", a2a.Limits.Card)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // a card may be a file
	if err := jsontext.Check(b, a2a.Limits.JSONDepth); err != nil {
		return nil, nil, a2a.JSONError(b, err)
	}
	c := cardReader{card: new(a2a.AgentCard)}
	if err := c.read(jsontext.NewReader(b)); err != nil {
		return nil, nil, err
	}
	if err := c.finish(); err != nil {
		return nil, nil, err
	}
	return c.card, c.notes, nil
}

// cardReader holds what only makes sense once the whole card is read.
type cardReader struct {
	card  *a2a.AgentCard
	notes []a2a.Note

	version    string // protocolVersion of the card itself
	url        string // before v1.0
	transport  string
	additional []a2a.AgentInterface
	words      []string // authentication.schemes of v0.1
	hints      string   // authentication.credentials of v0.1
	newer      bool     // holds what v0.1 did not have
}

func (c *cardReader) note(format string, args ...any) {
	c.notes = append(c.notes, a2a.Note{Text: fmt.Sprintf(format, args...)})
}

// doubt notes what the agent's answers will settle: which version it speaks.
func (c *cardReader) doubt(format string, args ...any) {
	c.notes = append(c.notes, a2a.Note{Kind: a2a.NoteVersion, Text: fmt.Sprintf(format, args...)})
}

// read reads the members. One that has the wrong form is left out, with a note, unless nothing works without it.
func (c *cardReader) read(r *jsontext.Reader) error {
	if r.Peek() != '{' {
		return a2a.Errorf(a2a.KindInvalidParams, "the card is not an object")
	}
	for r.Object(); r.Member(); {
		name := string(r.Name())
		value := r.Span()
		m := jsontext.NewReader(value)
		c.member(name, m)
		err := m.Err()
		if err == nil {
			continue
		}
		switch name {
		case "name", "url", "supportedInterfaces":
			return invalid(name, err.Error()).err()
		}
		c.note("The card's %s was left out: it %s.", name, err)
	}
	return nil
}

func (c *cardReader) member(name string, r *jsontext.Reader) {
	a := c.card
	switch name {
	case "name":
		a.Name = r.String()
	case "description":
		a.Description = r.String()
	case "version":
		a.Version = r.String()
	case "documentationUrl":
		a.DocumentationURL = r.String()
	case "iconUrl":
		a.IconURL = r.String()
	case "provider":
		a.Provider = new(a2a.AgentProvider)
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "organization":
				a.Provider.Organization = r.String()
			case "url":
				a.Provider.URL = r.String()
			default:
				r.Skip()
			}
		}
		if *a.Provider == (a2a.AgentProvider{}) {
			a.Provider = nil
		}
	case "supportedInterfaces":
		a.Interfaces = readInterfaces(r)
	case "additionalInterfaces":
		c.additional, c.newer = readInterfaces(r), true
	case "protocolVersion":
		c.version = r.String()
	case "url":
		c.url = r.String()
	case "preferredTransport":
		c.transport, c.newer = r.String(), true
	case "capabilities":
		c.readCapabilities(r)
	case "supportsAuthenticatedExtendedCard":
		a.Capabilities.ExtendedAgentCard = r.Bool() || a.Capabilities.ExtendedAgentCard
		c.newer = true
	case "securitySchemes":
		a.SecuritySchemes, c.newer = c.readSchemes(r), true
	case "security", "securityRequirements":
		if list := readRequirements(r); len(list) > 0 {
			a.SecurityRequirements = list
		}
		c.newer = true
	case "authentication":
		c.readAuthentication(r)
	case "defaultInputModes":
		a.DefaultInputModes = readModes(r)
	case "defaultOutputModes":
		a.DefaultOutputModes = readModes(r)
	case "skills":
		a.Skills = readSkills(r)
	case "signatures":
		a.Signatures = readSignatures(r)
	default:
		r.Skip()
	}
}

func readInterfaces(r *jsontext.Reader) (list []a2a.AgentInterface) {
	for r.Array(); r.Element(); {
		var i a2a.AgentInterface
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "url":
				i.URL = r.String()
			case "protocolBinding", "transport":
				i.Binding = r.String()
			case "protocolVersion":
				i.Version = r.String()
			case "tenant":
				i.Tenant = r.String()
			default:
				r.Skip()
			}
		}
		list = append(list, i)
	}
	return list
}

func (c *cardReader) readCapabilities(r *jsontext.Reader) {
	p := &c.card.Capabilities
	for r.Object(); r.Member(); {
		switch string(r.Name()) {
		case "streaming":
			p.Streaming = r.Bool()
		case "pushNotifications":
			p.PushNotifications = r.Bool()
		case "extendedAgentCard":
			p.ExtendedAgentCard = r.Bool() || p.ExtendedAgentCard
		case "extensions":
			c.newer = true
			for r.Array(); r.Element(); {
				var e a2a.AgentExtension
				for r.Object(); r.Member(); {
					switch string(r.Name()) {
					case "uri":
						e.URI = r.String()
					case "description":
						e.Description = r.String()
					case "required":
						e.Required = r.Bool()
					case "params":
						e.Params = r.RawObject()
					default:
						r.Skip()
					}
				}
				p.Extensions = append(p.Extensions, e)
			}
		default:
			r.Skip()
		}
	}
}

func readSkills(r *jsontext.Reader) (list []a2a.AgentSkill) {
	for r.Array(); r.Element(); {
		var s a2a.AgentSkill
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "id":
				s.ID = r.String()
			case "name":
				s.Name = r.String()
			case "description":
				s.Description = r.String()
			case "tags":
				s.Tags = r.Strings()
			case "examples":
				s.Examples = r.Strings()
			case "inputModes":
				s.InputModes = readModes(r)
			case "outputModes":
				s.OutputModes = readModes(r)
			case "security", "securityRequirements":
				if list := readRequirements(r); len(list) > 0 {
					s.SecurityRequirements = list
				}
			default:
				r.Skip()
			}
		}
		list = append(list, s)
	}
	return list
}

// readModes reads media types; the first drafts wrote words.
func readModes(r *jsontext.Reader) []string {
	list := r.Strings()
	for i, mode := range list {
		switch strings.ToLower(mode) {
		case "text":
			list[i] = "text/plain"
		case "data":
			list[i] = "application/json"
		case "file":
			list[i] = "*/*"
		}
	}
	return list
}

func readSignatures(r *jsontext.Reader) (list []a2a.AgentCardSignature) {
	for r.Array(); r.Element(); {
		var s a2a.AgentCardSignature
		for r.Object(); r.Member(); {
			switch string(r.Name()) {
			case "protected":
				s.Protected = r.String()
			case "signature":
				s.Signature = r.String()
			case "header":
				s.Header = r.RawObject()
			default:
				r.Skip()
			}
		}
		list = append(list, s)
	}
	return list
}

// finish derives what older cards say in other words, and says what is missing.
func (c *cardReader) finish() error {
	a := c.card
	if a.Name == "" {
		return &a2a.Error{Kind: a2a.KindInvalidParams, Message: "the card has no name", Field: "name"}
	}
	if len(a.Skills) > a2a.Limits.CardSkills {
		return invalid("skills", fmt.Sprintf("must not be more than %d", a2a.Limits.CardSkills)).err()
	}
	if err := c.finishInterfaces(); err != nil {
		return err
	}
	c.finishAuthentication()
	if a.Version == "" {
		c.note("The card does not say the agent's own version.")
	}
	if a.Description == "" {
		c.note("The card has no description.")
	}
	if len(a.DefaultInputModes) == 0 {
		a.DefaultInputModes = []string{"text/plain"}
	}
	if len(a.DefaultOutputModes) == 0 {
		a.DefaultOutputModes = []string{"text/plain"}
	}
	if len(a.Skills) == 0 {
		c.note("The card lists no skills.")
	}
	for i := range a.Skills {
		s := &a.Skills[i]
		switch {
		case s.ID == "" && s.Name == "":
			c.note("Skill %d has neither id nor name.", i+1)
		case s.ID == "":
			s.ID = s.Name
		case s.Name == "":
			s.Name = s.ID
		}
	}
	for _, req := range a.SecurityRequirements {
		for name := range req {
			if _, ok := a.SecuritySchemes[name]; !ok {
				c.note("The card requires the security scheme %q and does not describe it.", name)
			}
		}
	}
	return nil
}

// finishInterfaces: v1.0 lists interfaces, older cards have a main url and others beside it.
func (c *cardReader) finishInterfaces() error {
	a := c.card
	kept := a.Interfaces[:0]
	for i, in := range a.Interfaces {
		if in.URL == "" {
			c.note("Interface %d has no url.", i+1)
			continue
		}
		if in.Binding == "" {
			c.note("Interface %d does not name its binding: JSON-RPC is assumed.", i+1)
			in.Binding = a2a.BindingJSONRPC
		}
		if in.Version == "" {
			c.doubt("Interface %d does not name its version: 1.0 is assumed.", i+1)
			in.Version = "1.0"
		}
		in.Version = majorMinor(in.Version)
		kept = append(kept, in)
	}
	if a.Interfaces = kept; len(kept) > 0 {
		return nil
	}
	if c.url == "" && len(c.additional) > 0 {
		c.note("The card has no url: its first additional interface is taken.")
		c.url, c.transport = c.additional[0].URL, c.additional[0].Binding
	}
	if c.url == "" {
		return &a2a.Error{Kind: a2a.KindInvalidParams, Message: "the card names no address at which the agent answers", Field: "supportedInterfaces"}
	}
	version := majorMinor(c.version)
	switch {
	case version != "":
	case c.newer:
		version = "0.2"
	case c.words != nil:
		version = "0.1"
	default:
		version = "0.2"
		c.doubt("The card does not say which version of A2A it is for: 0.2 is assumed.")
	}
	if strings.HasPrefix(version, "1.") {
		c.note("The card says version %s and has the form of an older one.", version)
	}
	if c.transport == "" {
		c.transport = a2a.BindingJSONRPC
	}
	main := a2a.AgentInterface{URL: c.url, Binding: c.transport, Version: version}
	a.Interfaces = []a2a.AgentInterface{main}
	for _, in := range c.additional {
		if in.Binding == "" {
			in.Binding = a2a.BindingJSONRPC
		}
		in.Version = version
		if same := in; in.URL != "" {
			if same.Tenant = ""; same == main {
				a.Interfaces[0].Tenant = in.Tenant
				continue
			}
			a.Interfaces = append(a.Interfaces, in)
		}
	}
	return nil
}

// majorMinor drops the patch of a version: it never counts.
func majorMinor(v string) string {
	v = strings.TrimPrefix(strings.TrimSpace(v), "v")
	major, rest, ok := strings.Cut(v, ".")
	if !ok {
		if major == "1" {
			return "1.0"
		}
		return v
	}
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}
