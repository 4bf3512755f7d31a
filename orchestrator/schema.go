package orchestrator

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrSchema is why a value is not checked against a JSON Schema: that would take too long.
var ErrSchema = errors.New("the schema takes too much work to check a value against")

// maxSchemaWork is how often the parts of a schema may have to be applied to the parts of a value.
const maxSchemaWork = 1 << 20

// Validate checks a value, as jsonschema.UnmarshalJSON reads it, against a schema. Agents and callers write both: a few
// references of a schema to one another can stand for more work than is ever done, so that is counted first. The error is
// a *jsonschema.ValidationError, or ErrSchema.
func Validate(s *jsonschema.Schema, v any) error {
	w := &schemaWork{done: map[schemaAt]int{}}
	if w.of(s, placeOf(v)) > maxSchemaWork {
		return ErrSchema
	}
	return s.Validate(v)
}

// place is a part of a value.
type place struct {
	members map[string]*place
	items   []*place
}

func placeOf(v any) *place {
	p := &place{}
	switch v := v.(type) {
	case map[string]any:
		p.members = make(map[string]*place, len(v))
		for name, m := range v {
			p.members[name] = placeOf(m)
		}
	case []any:
		p.items = make([]*place, len(v))
		for i := range v {
			p.items[i] = placeOf(v[i])
		}
	}
	return p
}

type schemaAt struct {
	schema *jsonschema.Schema
	place  *place
}

// schemaWork counts how often schemas are applied at most, each pair of a schema and a place once however often it comes
// up.
type schemaWork struct{ done map[schemaAt]int }

const tooMuch = maxSchemaWork + 1

// of is the work of applying s at p, tooMuch at most. What leads back to itself at the same place is too much, and so is
// a reference that depends on where it is come from.
func (w *schemaWork) of(s *jsonschema.Schema, p *place) int {
	if s == nil {
		return 0
	}
	at := schemaAt{s, p}
	if n, ok := w.done[at]; ok {
		return n
	}
	if len(w.done) >= maxSchemaWork || s.DynamicRef != nil || s.RecursiveRef != nil {
		return tooMuch
	}
	w.done[at] = tooMuch // until it is known
	n := 1
	add := func(p *place, all ...*jsonschema.Schema) {
		for _, s := range all {
			if n < tooMuch {
				n = min(n+w.of(s, p), tooMuch)
			}
		}
	}
	add(p, s.Ref, s.Not, s.If, s.Then, s.Else)
	add(p, s.AllOf...)
	add(p, s.AnyOf...)
	add(p, s.OneOf...)
	for _, d := range s.DependentSchemas {
		add(p, d)
	}
	for _, d := range s.Dependencies {
		add(p, oneSchema(d))
	}
	for name, m := range p.members {
		add(&place{}, s.PropertyNames)
		add(m, s.Properties[name], oneSchema(s.AdditionalProperties), s.UnevaluatedProperties)
		for _, named := range s.PatternProperties {
			add(m, named)
		}
	}
	for i, m := range p.items {
		add(m, oneSchema(s.Items), oneSchema(s.AdditionalItems), s.Items2020, s.Contains, s.UnevaluatedItems)
		if all, ok := s.Items.([]*jsonschema.Schema); ok && i < len(all) {
			add(m, all[i])
		}
		if i < len(s.PrefixItems) {
			add(m, s.PrefixItems[i])
		}
	}
	w.done[at] = n
	return n
}

// oneSchema is a schema that stands where something else may stand too.
func oneSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}
