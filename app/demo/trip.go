package demo

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"parley/a2a"
)

// trip is what the travel agent has to know. As JSON it is also the answer to its form.
type trip struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Depart string `json:"depart"`
	Return string `json:"return"`
}

var (
	fromWords   = regexp.MustCompile(`(?i:\bfrom)\s+(\pL[\pL' -]*?)(?:\s+(?i:to|on|until|in)\b|[,.;:!?\d]|\s+\d|$)`)
	toWords     = regexp.MustCompile(`(?i:\bto)\s+(\p{Lu}[\pL' -]*?)(?:\s+(?i:from|on|until|in)\b|[,.;:!?\d]|\s+\d|$)`)
	plainName   = regexp.MustCompile(`^\pL[\pL' -]*$`)
	cancelWords = regexp.MustCompile(`(?i)\bcancel the booking (\w+)`)
	dateWords   = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
)

// longestName is the most bytes that are taken for the name of a place.
const longestName = 80

// learn takes what a message of the caller says of the trip; asked tells that it answers a question.
func (p *trip) learn(m *a2a.Message, asked bool) {
	if m.Role != a2a.RoleUser {
		return
	}
	before := *p
	for i := range m.Parts {
		if m.Parts[i].Kind == a2a.PartData {
			_ = json.Unmarshal(m.Parts[i].Data, p) // what does not fit is asked again
		}
	}
	text := strings.TrimSpace(a2a.Text(m.Parts))
	p.From = cmp.Or(find(fromWords, text), p.From)
	p.To = cmp.Or(find(toWords, text), p.To)
	for _, d := range dateWords.FindAllString(text, 2) {
		if p.Depart == "" {
			p.Depart = d
		} else if d != p.Depart {
			p.Return = d
		}
	}
	if asked && *p == before && len(text) <= longestName && plainName.MatchString(text) { // a name alone answers the question
		if p.From == "" {
			p.From = text
		} else if p.To == "" {
			p.To = text
		}
	}
}

func find(re *regexp.Regexp, s string) string {
	if m := re.FindStringSubmatch(s); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// backTooSoon reports whether the trip ends before it begins. Days are written YYYY-MM-DD, so they compare as texts.
func (p *trip) backTooSoon() bool { return p.Return != "" && p.Return < p.Depart }

// missing says in words what is not known yet.
func (p *trip) missing() string {
	var out []string
	for _, f := range [][2]string{{p.From, "where you start"}, {p.To, "where you want to go"}, {p.Depart, "when you leave"}, {p.Return, "when you come back"}} {
		if f[0] == "" {
			out = append(out, f[1])
		}
	}
	return strings.Join(out, ", ")
}

// toBook returns the legs that a message wants booked: a data part {"book": [...]}; nil when there is none.
func toBook(m *a2a.Message) []trip {
	for i := range m.Parts {
		var v struct {
			Book []trip `json:"book"`
		}
		if m.Parts[i].Kind == a2a.PartData && json.Unmarshal(m.Parts[i].Data, &v) == nil && len(v.Book) > 0 {
			return v.Book
		}
	}
	return nil
}
