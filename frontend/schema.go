package frontend

import (
	"bytes"
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
)

// A form is made of a JSON Schema: strings, numbers, booleans, choices, dates, lists of choices, and objects one level
// deep. Anything else becomes a field for JSON, so that no schema is a dead end.

// schemaNode is as much of a schema as a form shows.
type schemaNode struct {
	Type        types             `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Enum        []json.RawMessage `json:"enum"`
	OneOf       []schemaNode      `json:"oneOf"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   int               `json:"minLength"`
	MaxLength   int               `json:"maxLength"`
	Items       *schemaNode       `json:"items"`
	Properties  properties        `json:"properties"`
	Required    []string          `json:"required"`
	Ref         string            `json:"$ref"`
	AllOf       []json.RawMessage `json:"allOf"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	If          json.RawMessage   `json:"if"`
	WriteOnly   bool              `json:"writeOnly"`
}

// types is the value of "type", one or several; null beside another does not count.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return err
	}
	*t = slices.DeleteFunc(many, func(s string) bool { return s == "null" })
	return nil
}

// properties keep the order in which they were written.
type properties []property

type property struct {
	name string
	node schemaNode
}

func (p *properties) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("properties is no object")
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return err
		}
		one := property{name: k.(string)}
		if err := d.Decode(&one.node); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

const maxFields = 60

// newForm makes a form of a schema. Field names are JSON pointers from the ask's element on.
func newForm(ask string, schema json.RawMessage) *view.Form {
	var n schemaNode
	f := &view.Form{Schema: indent(schema)}
	if json.Unmarshal(schema, &n) != nil || !n.plain() {
		f.IsRaw = true
		return f
	}
	if len(n.Properties) == 0 {
		field, ok := n.field("d", ask+"-d", "Answer", true, 0)
		if !ok || field.Kind == view.FieldGroup {
			f.IsRaw = true
			return f
		}
		f.Fields = []view.Field{field}
		return f
	}
	fields, ok := n.fields("d", ask+"-d", 0)
	if !ok {
		f.IsRaw = true
		return f
	}
	f.Fields = fields
	return f
}

func indent(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return string(b)
	}
	return out.String()
}

// plain reports whether the node says all it means in the keywords a form knows.
func (n *schemaNode) plain() bool {
	return n.Ref == "" && len(n.AllOf) == 0 && len(n.AnyOf) == 0 && n.If == nil && len(n.Type) <= 1
}

func (n *schemaNode) typ() string {
	if len(n.Type) == 1 {
		return n.Type[0]
	}
	if len(n.Properties) > 0 {
		return "object"
	}
	return ""
}

func (n *schemaNode) fields(name, id string, depth int) ([]view.Field, bool) {
	if len(n.Properties) > maxFields {
		return nil, false
	}
	var fs []view.Field
	for i, p := range n.Properties {
		label := p.node.Title
		if label == "" {
			label = words(p.name)
		}
		f, ok := p.node.field(name+"/"+escape(p.name), id+strconv.Itoa(i), label, slices.Contains(n.Required, p.name), depth)
		if !ok {
			return nil, false
		}
		fs = append(fs, f)
	}
	return fs, true
}

func escape(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// words makes a label of a member's name: departure_date and departureDate are Departure date.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.':
			b.WriteByte(' ')
			continue
		case i > 0 && r >= 'A' && r <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z':
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	s := b.String()
	if s == "" {
		return name
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// field makes one control; ok is false for what a form cannot show.
func (n *schemaNode) field(name, id, label string, required bool, depth int) (_ view.Field, ok bool) {
	if n.Title != "" {
		label = n.Title
	}
	f := view.Field{Name: name, ID: "f-" + id, Label: label, Help: n.Description, Required: required, Kind: view.FieldText}
	if !n.plain() {
		return f, false
	}
	if len(n.Default) > 0 {
		f.Value, f.Values = shown(n.Default), valuesOf(n.Default)
	}
	if opts, is := n.options(); is {
		f.Kind, f.Options = view.FieldOne, opts
		return f, len(opts) > 0
	}
	if len(n.OneOf) > 0 {
		return f, false
	}
	switch n.typ() {
	case "string", "":
		return f, n.text(&f)
	case "number", "integer":
		f.Kind, f.Step = view.FieldNumber, "any"
		if n.typ() == "integer" {
			f.Step = "1"
		}
		f.Min, f.Max = n.Minimum.String(), n.Maximum.String()
		if f.Help == "" {
			f.Help = between(f.Min, f.Max)
		}
	case "boolean":
		f.Kind = view.FieldBool
	case "array":
		if n.Items == nil {
			return f, false
		}
		opts, is := n.Items.options()
		f.Kind, f.Options = view.FieldMany, opts
		return f, is && len(opts) > 0
	case "object":
		if depth > 0 || len(n.Properties) == 0 {
			return f, false
		}
		f.Kind = view.FieldGroup
		f.Fields, ok = n.fields(name, id+"-", depth+1)
		return f, ok
	default:
		return f, false
	}
	return f, true
}

func (n *schemaNode) text(f *view.Field) bool {
	switch n.Format {
	case "date":
		f.Kind = view.FieldDate
	case "date-time":
		f.Kind = view.FieldTime
		if t, err := time.Parse(time.RFC3339, f.Value); err == nil {
			f.Value = t.Local().Format("2006-01-02T15:04")
		}
	case "email":
		f.Kind = view.FieldEmail
	case "uri", "url":
		f.Kind = view.FieldAddress
	case "password":
		f.Kind = view.FieldSecret
	default:
		if n.WriteOnly {
			f.Kind = view.FieldSecret
		} else if n.MaxLength > 200 || n.Format == "textarea" {
			f.Kind = view.FieldLong
		}
	}
	return len(n.Type) == 1 || n.Format != "" || n.Title != "" || n.Description != ""
}

// options are the values of an enum, or of a oneOf of constants.
func (n *schemaNode) options() ([]string, bool) {
	if len(n.Enum) > 0 {
		var opts []string
		for _, e := range n.Enum {
			if string(e) != "null" {
				opts = append(opts, shown(e))
			}
		}
		return opts, true
	}
	if len(n.OneOf) > 0 {
		var opts []string
		for _, o := range n.OneOf {
			if o.Const == nil {
				return nil, false
			}
			opts = append(opts, shown(o.Const))
		}
		return opts, true
	}
	return nil, false
}

// value returns the value behind a shown option.
func (n *schemaNode) value(option string) json.RawMessage {
	for _, e := range n.Enum {
		if shown(e) == option {
			return e
		}
	}
	for _, o := range n.OneOf {
		if shown(o.Const) == option {
			return o.Const
		}
	}
	b, _ := json.Marshal(option)
	return b
}

// shown is a JSON value as it stands in a control.
func shown(b json.RawMessage) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(bytes.TrimSpace(b))
}

func valuesOf(b json.RawMessage) []string {
	var many []json.RawMessage
	if json.Unmarshal(b, &many) != nil {
		return nil
	}
	var ss []string
	for _, m := range many {
		ss = append(ss, shown(m))
	}
	return ss
}

func between(low, high string) string {
	switch {
	case low != "" && high != "":
		return "Between " + low + " and " + high
	case low != "":
		return "At least " + low
	case high != "":
		return "At most " + high
	}
	return ""
}

// readForm reads what was filled in, into f too, and checks it against the schema. When ok is false f says what is wrong
// where.
func readForm(f *view.Form, schema json.RawMessage, values url.Values) (data json.RawMessage, problem string, ok bool) {
	var n schemaNode
	_ = json.Unmarshal(schema, &n)
	if f.IsRaw {
		f.Raw = strings.TrimSpace(values.Get("json"))
		if !json.Valid([]byte(f.Raw)) {
			return nil, "This is not JSON yet.", false
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
	if problem = check(f, schema, data); problem != "" || wrong(f.Fields) {
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
	if f.Value == "" {
		if f.Required {
			f.Err = "This is needed."
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
			f.Err = "This is not a number."
			return nil, false
		}
		return json.RawMessage(v), true
	case view.FieldTime:
		t, err := time.ParseInLocation("2006-01-02T15:04", strings.Replace(f.Value, " ", "T", 1), time.Local)
		if err != nil {
			if _, err := time.Parse(time.RFC3339, f.Value); err != nil {
				f.Err = "This is not a date and time."
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
func check(f *view.Form, schema, data json.RawMessage) string {
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
		return "This is not JSON yet."
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(sch.Validate(v), &invalid) {
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
		what := explain(e.ErrorKind)
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
func explain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("At least %d characters, please.", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("At most %d characters, please.", k.Want)
	case *kind.Minimum:
		return "At least " + number(k.Want) + ", please."
	case *kind.Maximum:
		return "At most " + number(k.Want) + ", please."
	case *kind.ExclusiveMinimum:
		return "More than " + number(k.Want) + ", please."
	case *kind.ExclusiveMaximum:
		return "Less than " + number(k.Want) + ", please."
	case *kind.MultipleOf:
		return "A multiple of " + number(k.Want) + ", please."
	case *kind.MinItems:
		return fmt.Sprintf("Choose at least %d.", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("Choose at most %d.", k.Want)
	case *kind.Enum, *kind.Const:
		return "This is none of the choices."
	case *kind.Format:
		return "This is no valid " + k.Want + "."
	case *kind.Pattern:
		return "This does not look as it should: " + k.Want
	case *kind.Type:
		return "This should be of the type " + strings.Join(k.Want, " or ") + "."
	case *kind.Required:
		return "Needed: " + strings.Join(k.Missing, ", ") + "."
	}
	return sentence(k.LocalizedString(message.NewPrinter(language.English)))
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
		if f.Kind != view.FieldGroup && (f.Name == name || f.Kind == view.FieldMany && strings.HasPrefix(name, f.Name+"/")) {
			if f.Err == "" {
				f.Err = what
			}
			return true
		}
	}
	return false
}
