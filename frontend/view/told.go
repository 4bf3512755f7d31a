package view

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Sentences that are made below the pages, of failures above all, come here in English, are kept so, and are shown so by
// the shell. Their catalogues are words/told/<language>.json. Where a sentence has values in it, its key has a %s for
// each: what the page is given is held against those keys, and the values are put into the translation. So old sentences
// in the log are translated like new ones, and whoever makes a sentence need not know that there are languages.

// shape is a sentence with values in it.
type shape struct {
	parts []string // what stands before, between and after the values
	to    string   // the translation, a %s for each value
	short bool     // says so little that its values must be words of ours, or it would be taken for what agents say
}

// below is what one language makes of these sentences.
type below struct {
	plain  map[string]string
	shapes []shape
}

var belows = sync.OnceValue(readBelows) // when a page speaks one of their languages

func readBelows() map[string]*below {
	all := map[string]*below{}
	for _, t := range Tongues()[1:] {
		c := map[string]string{}
		b, err := words.ReadFile("words/told/" + t.Code + ".json")
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		if err != nil {
			panic("view: catalogue told/" + t.Code + ": " + err.Error()) // it is part of the program
		}
		of := &below{plain: map[string]string{}}
		for en, s := range c {
			switch {
			case s == "": // not translated yet
			case strings.Contains(en, "%"):
				of.shapes = append(of.shapes, shapeOf(en, s))
			default:
				of.plain[en] = s
			}
		}
		all[t.Code] = of
		slices.SortFunc(of.shapes, func(a, b shape) int { // the one that says most is tried first, of short ones that with most values
			if a.short && b.short && len(a.parts) != len(b.parts) {
				return cmp.Compare(len(b.parts), len(a.parts))
			}
			return cmp.Or(cmp.Compare(len(strings.Join(b.parts, "")), len(strings.Join(a.parts, ""))), slices.Compare(a.parts, b.parts))
		})
	}
	return all
}

func shapeOf(en, to string) shape {
	parts := strings.Split(strings.ReplaceAll(en, "%%", "\x00"), "%s")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, "\x00", "%")
	}
	return shape{parts, to, len(strings.Join(parts, "")) < leastSaid}
}

// leastSaid is how many bytes of its own a sentence has that is one whatever its values are.
const leastSaid = 10

// listed is names in a row: `a`, `b` and `c`.
var listed = regexp.MustCompile("^(`[^`]*`(?:, `[^`]*`)*) (and|or) (`[^`]*`)$")

// plainly are names and numbers, which are the same in every language.
var plainly = regexp.MustCompile("^(?:`[^`]*`|-?[0-9][0-9.]*)$")

// allOurs reports whether every value of a shape is ours, or stands in the shape as a name.
func (b *below) allOurs(p *shape, values []any) bool {
	for i, v := range values {
		named := strings.HasSuffix(p.parts[i], "`") && strings.HasPrefix(p.parts[i+1], "`")
		if !named && !b.ours(v.(string)) {
			return false
		}
	}
	return true
}

// ours reports whether a value is a name, a number, or itself a sentence of these catalogues.
func (b *below) ours(s string) bool {
	if _, ok := b.plain[s]; ok || plainly.MatchString(s) || listed.MatchString(s) {
		return true
	}
	return slices.ContainsFunc(b.shapes, func(p shape) bool {
		values, ok := p.values(s)
		return ok && (!p.short || b.allOurs(&p, values))
	})
}

// values returns what stands in s for the values of the shape, and whether s has it. Of values with nothing between them
// the first has all; no other is empty, but at the end of a word.
func (p *shape) values(s string) ([]any, bool) {
	s, ok := strings.CutPrefix(s, p.parts[0])
	if !ok {
		return nil, false
	}
	var values []any
	joined := 0
	for i, part := range p.parts[1:] {
		last := i == len(p.parts)-2
		if part == "" && !last {
			joined++
			continue
		}
		v, rest, ok := strings.Cut(s, part)
		if last {
			v, ok = strings.CutSuffix(s, part)
		}
		before := p.parts[i-joined]
		if !ok || v == "" && (before == "" || strings.HasSuffix(before, " ")) {
			return nil, false
		}
		values = append(values, v)
		for ; joined > 0; joined-- {
			values = append(values, "")
		}
		s = rest
	}
	return values, true
}

// maxTold is the length in bytes of the longest sentence that is held against shapes: more is what an agent said.
const maxTold = 1000

// toldIn returns a sentence that was made below in the language of ctx. A value in it may be such a sentence itself.
func toldIn(ctx context.Context, en string) string {
	code := Spoken(ctx)
	if code == Tongues()[0].Code || len(en) > maxTold {
		return en
	}
	of := belows()[code]
	if of == nil {
		return en
	}
	if s, ok := of.plain[en]; ok {
		return s
	}
	if m := listed.FindStringSubmatch(en); m != nil {
		if m[2] == "or" {
			return T(ctx, "%s or %s", m[1], m[3])
		}
		return T(ctx, "%s and %s", m[1], m[3])
	}
	for _, p := range of.shapes {
		if values, ok := p.values(en); ok {
			if p.short && !of.allOurs(&p, values) {
				continue
			}
			for i, v := range values {
				values[i] = Tv(ctx, v.(string))
			}
			return format(p.to, values)
		}
	}
	return en
}
