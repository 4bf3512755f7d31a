package frontend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"parley/frontend/view"
	"parley/orchestrator"
)

// readForm reads what was filled in, into f too, and checks it against the schema. When ok is false f says what is wrong
// where.
func readForm(ctx context.Context, f *view.Form, schema json.RawMessage, values url.Values) (data json.RawMessage, problem string, ok bool) {
	var n schemaNode
	_ = json.Unmarshal(schema, &n)
	if f.IsRaw {
		f.Raw = strings.TrimSpace(values.Get("json"))
		if !json.Valid([]byte(f.Raw)) {
			return nil, view.T(ctx, "This is not JSON yet."), false
		}
		data = json.RawMessage(f.Raw)
	} else {
		fine := true
		if len(n.Properties) == 0 {
			data, fine = n.read(&f.Fields[0], values)
		} else {
			data, fine = n.readObject(f.Fields, values)
		}
		if !fine {
			return nil, "", false
		}
	}
	if problem = check(ctx, f, schema, data); problem != "" || wrong(f.Fields) {
		return nil, problem, false
	}
	return data, "", true
}

func wrong(fs []view.Field) bool {
	return slices.ContainsFunc(fs, func(f view.Field) bool { return f.Err != "" || wrong(f.Fields) })
}

// readObject builds an object in the schema's order; members that were left empty are left out.
func (n *schemaNode) readObject(fs []view.Field, values url.Values) (json.RawMessage, bool) {
	var b bytes.Buffer
	b.WriteByte('{')
	fine := true
	for i := range fs {
		p := &n.Properties[i]
		v, ok := p.node.read(&fs[i], values)
		fine = fine && ok
		if v == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		k, _ := json.Marshal(p.name)
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), fine
}

// read takes one control; nil means left empty.
func (n *schemaNode) read(f *view.Field, values url.Values) (json.RawMessage, bool) {
	f.Err = ""
	if f.Kind == view.FieldGroup {
		v, ok := n.readObject(f.Fields, values)
		if string(v) == "{}" && !f.Required {
			return nil, ok
		}
		return v, ok
	}
	f.Values = values[f.Name]
	f.Value = strings.TrimSpace(values.Get(f.Name))
	if f.Kind == view.FieldBool {
		return json.RawMessage(strconv.FormatBool(f.Value == "true")), true
	}
	if f.Kind == view.FieldMany {
		vs := []json.RawMessage{}
		for _, v := range f.Values {
			vs = append(vs, n.Items.value(v))
		}
		if len(vs) == 0 && !f.Required {
			return nil, true
		}
		b, _ := json.Marshal(vs)
		return b, true
	}
	if f.Kind == view.FieldLines && f.Value != "" {
		lines := []string{}
		for line := range strings.Lines(strings.ReplaceAll(f.Value, "\r", "")) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		b, _ := json.Marshal(lines)
		return b, true
	}
	if f.Value == "" {
		if f.Required {
			f.Err = view.Mark("This is needed.")
			return nil, false
		}
		return nil, true
	}
	switch f.Kind {
	case view.FieldOne:
		return n.value(f.Value), true
	case view.FieldNumber:
		v := strings.ReplaceAll(f.Value, " ", "")
		if _, ok := new(big.Float).SetString(v); !ok || !json.Valid([]byte(v)) {
			f.Err = view.Mark("This is not a number.")
			return nil, false
		}
		return json.RawMessage(v), true
	case view.FieldTime:
		t, err := time.ParseInLocation("2006-01-02T15:04", strings.Replace(f.Value, " ", "T", 1), time.Local)
		if err != nil {
			if _, err := time.Parse(time.RFC3339, f.Value); err != nil {
				f.Err = view.Mark("This is not a date and time.")
				return nil, false
			}
			b, _ := json.Marshal(f.Value)
			return b, true
		}
		b, _ := json.Marshal(t.Format(time.RFC3339))
		return b, true
	}
	b, _ := json.Marshal(strings.ReplaceAll(f.Value, "\r\n", "\n"))
	return b, true
}

// nothing loads no schema from anywhere.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// check validates data and puts what is wrong at the fields it is about. What has no field is returned. A schema that
// cannot be compiled checks nothing: the agent has the last word.
func check(ctx context.Context, f *view.Form, schema, data json.RawMessage) string {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return ""
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(nothing{})
	if c.AddResource("mem:///schema.json", doc) != nil {
		return ""
	}
	sch, err := c.Compile("mem:///schema.json")
	if err != nil {
		return ""
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return view.T(ctx, "This is not JSON yet.")
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(orchestrator.Validate(sch, v), &invalid) { // what cannot be checked here is for the agent to judge
		return ""
	}
	var rest []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) > 0 {
			return
		}
		what := explain(ctx, e.ErrorKind)
		name := "d"
		for _, l := range e.InstanceLocation {
			name += "/" + escape(l)
		}
		if !blame(f.Fields, name, what) {
			if name != "d" {
				what = strings.TrimPrefix(name, "d/") + ": " + what
			}
			rest = append(rest, what)
		}
	}
	walk(invalid)
	return strings.Join(rest, " ")
}

// explain says to a person what a value should have been.
func explain(ctx context.Context, k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return view.T(ctx, "At least %d characters, please.", k.Want)
	case *kind.MaxLength:
		return view.T(ctx, "At most %d characters, please.", k.Want)
	case *kind.Minimum:
		return view.T(ctx, "At least %s, please.", number(k.Want))
	case *kind.Maximum:
		return view.T(ctx, "At most %s, please.", number(k.Want))
	case *kind.ExclusiveMinimum:
		return view.T(ctx, "More than %s, please.", number(k.Want))
	case *kind.ExclusiveMaximum:
		return view.T(ctx, "Less than %s, please.", number(k.Want))
	case *kind.MultipleOf:
		return view.T(ctx, "A multiple of %s, please.", number(k.Want))
	case *kind.MinItems:
		return view.T(ctx, "Choose at least %d.", k.Want)
	case *kind.MaxItems:
		return view.T(ctx, "Choose at most %d.", k.Want)
	case *kind.Enum, *kind.Const:
		return view.T(ctx, "This is none of the choices.")
	case *kind.Format:
		return formatWords(ctx, k.Want)
	case *kind.Pattern:
		return view.T(ctx, "This does not look as it should: %s", k.Want)
	case *kind.Type:
		return typeWords(ctx, k.Want)
	case *kind.UniqueItems:
		return view.T(ctx, "Each only once, please.")
	case *kind.AdditionalProperties:
		return view.T(ctx, "Not asked for: %s.", strings.Join(k.Properties, ", "))
	case *kind.MinProperties:
		return view.T(ctx, "Fill in at least %d.", k.Want)
	case *kind.MaxProperties:
		return view.T(ctx, "Fill in at most %d.", k.Want)
	case *kind.DependentRequired:
		return view.T(ctx, "Needed: %s.", strings.Join(k.Missing, ", "))
	case *kind.Required:
		return view.T(ctx, "Needed: %s.", strings.Join(k.Missing, ", "))
	}
	return view.T(ctx, "This does not fit: %s.", k.LocalizedString(message.NewPrinter(language.English)))
}

// formatWords says what a text is not.
func formatWords(ctx context.Context, format string) string {
	switch format {
	case "date":
		return view.T(ctx, "This is not a date.")
	case "date-time":
		return view.T(ctx, "This is not a date and time.")
	case "email", "idn-email":
		return view.T(ctx, "This is not an e-mail address.")
	case "uri", "url", "iri":
		return view.T(ctx, "This is not a web address. It begins with https://, for example.")
	}
	return view.T(ctx, "This is no valid %s.", format)
}

// typeWords says what kind of value is wanted.
func typeWords(ctx context.Context, want []string) string {
	if len(want) == 1 {
		switch want[0] {
		case "string":
			return view.T(ctx, "This should be text.")
		case "number":
			return view.T(ctx, "This is not a number.")
		case "integer":
			return view.T(ctx, "This should be a whole number.")
		case "boolean":
			return view.T(ctx, "This should be yes or no.")
		case "array":
			return view.T(ctx, "This should be a list.")
		case "object":
			return view.T(ctx, "This should have members.")
		}
	}
	return view.T(ctx, "This should be of the type %s.", strings.Join(want, ", "))
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// blame marks the field of that name, or the list that the element belongs to.
func blame(fs []view.Field, name, what string) bool {
	for i := range fs {
		f := &fs[i]
		if f.Kind == view.FieldGroup && blame(f.Fields, name, what) {
			return true
		}
		if f.Kind != view.FieldGroup && (f.Name == name || (f.Kind == view.FieldMany || f.Kind == view.FieldLines) && strings.HasPrefix(name, f.Name+"/")) {
			if f.Err == "" {
				f.Err = what
			}
			return true
		}
	}
	return false
}
