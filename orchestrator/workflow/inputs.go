package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/orchestrator"
)

// InputSchema returns the JSON Schema of all inputs together, as a skill's clients are told it.
func (w *Workflow) InputSchema() json.RawMessage {
	properties, required := map[string]json.RawMessage{}, []string{}
	for i := range w.Inputs {
		in := &w.Inputs[i]
		properties[in.Name] = in.Schema
		if _, has := in.standard(); !has && !in.Optional {
			required = append(required, in.Name)
		}
	}
	b, err := marshal(object{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic("workflow: " + err.Error()) // each was read from a file of a bounded size
	}
	return b
}

// standard returns the value that an input has when it is not given.
func (in *Input) standard() (any, bool) {
	var s map[string]json.RawMessage
	if json.Unmarshal(in.Schema, &s) != nil {
		return nil, false
	}
	raw, ok := s["default"]
	if !ok {
		return nil, false
	}
	v, err := plain(raw)
	return v, err == nil
}

// Given returns the inputs of a run: those that were given, checked against their schemas, and the defaults of the
// others. An input that is optional and was not given is nil. The error is a Fault that names every input at fault.
func (w *Workflow) Given(given map[string]json.RawMessage) (map[string]any, error) {
	all := make(map[string]any, len(w.Inputs))
	var wrong []string
	known := map[string]bool{}
	var names []string
	for i := range w.Inputs {
		in := &w.Inputs[i]
		known[in.Name] = true
		names = append(names, in.Name)
		raw, ok := given[in.Name]
		if !ok {
			v, has := in.standard()
			if !has && !in.Optional {
				wrong = append(wrong, "`"+in.Name+"` is needed")
			}
			all[in.Name] = v
			continue
		}
		v, err := plain(raw)
		if err != nil {
			wrong = append(wrong, "`"+in.Name+"` is not JSON")
			continue
		}
		if err := in.fits(raw); err != nil {
			wrong = append(wrong, "`"+in.Name+"`: "+err.Error())
			continue
		}
		all[in.Name] = v
	}
	for name := range given {
		if !known[name] {
			wrong = append(wrong, strings.TrimSuffix("there is no input `"+name+"`; "+didYouMean(name, names), "; "))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, &orchestrator.Fault{
			Kind: "inputs", Where: orchestrator.WhereUs, What: fmt.Sprintf("The inputs of %s do not fit: %s.", w.Name, strings.Join(wrong, "; ")),
			Do: "Correct them.",
		}
	}
	return all, nil
}

// fits checks a value against the input's schema.
func (in *Input) fits(raw json.RawMessage) error { return Fits(in.Schema, raw) }

// checkDefault finds a default that is not allowed itself.
func (r *reader) checkDefault(in *Input) {
	var s map[string]json.RawMessage
	if json.Unmarshal(in.Schema, &s) != nil || s["default"] == nil {
		return
	}
	if err := in.fits(s["default"]); err != nil {
		r.bad(in.At, "write one that fits", "the default of the input `%s` does not fit its schema: %s", in.Name, err)
	}
}

// plain reads JSON into what expressions work with: whole numbers stay whole.
func plain(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return int(i)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}
