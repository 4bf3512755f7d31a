package frontend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/frontend/view"
)

// A form is made of a JSON Schema: strings, numbers, booleans, choices, dates, lists of choices or of texts, and objects
// one level deep. Anything else becomes a field for JSON, so that no schema is a dead end.

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
func newForm(ctx context.Context, ask string, schema json.RawMessage) *view.Form {
	var n schemaNode
	f := &view.Form{Schema: indent(schema)}
	if json.Unmarshal(schema, &n) != nil || !n.plain() {
		f.IsRaw = true
		return f
	}
	if len(n.Properties) == 0 {
		field, ok := n.field(ctx, "d", ask+"-d", view.T(ctx, "Answer"), true, 0)
		if !ok || field.Kind == view.FieldGroup {
			f.IsRaw = true
			return f
		}
		f.Fields = []view.Field{field}
		return f
	}
	fields, ok := n.fields(ctx, "d", ask+"-d", 0)
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

func (n *schemaNode) fields(ctx context.Context, name, id string, depth int) ([]view.Field, bool) {
	if len(n.Properties) > maxFields {
		return nil, false
	}
	var fs []view.Field
	for i, p := range n.Properties {
		label := p.node.Title
		if label == "" {
			label = words(p.name)
		}
		f, ok := p.node.field(ctx, name+"/"+escape(p.name), id+strconv.Itoa(i), label, slices.Contains(n.Required, p.name), depth)
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
func (n *schemaNode) field(ctx context.Context, name, id, label string, required bool, depth int) (_ view.Field, ok bool) {
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
			f.Help = between(ctx, f.Min, f.Max)
		}
	case "boolean":
		f.Kind = view.FieldBool
	case "array":
		if n.Items == nil {
			return f, false
		}
		opts, is := n.Items.options()
		if f.Kind, f.Options = view.FieldMany, opts; is {
			return f, len(opts) > 0
		}
		// A list of texts: one a line.
		f.Kind, f.Value = view.FieldLines, strings.Join(f.Values, "\n")
		if note := view.T(ctx, "One a line."); f.Help == "" {
			f.Help = note
		} else {
			f.Help += " " + note
		}
		return f, n.Items.plain() && n.Items.typ() == "string" && n.Items.Format == ""
	case "object":
		if depth > 0 || len(n.Properties) == 0 {
			return f, false
		}
		f.Kind = view.FieldGroup
		f.Fields, ok = n.fields(ctx, name, id+"-", depth+1)
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

func between(ctx context.Context, low, high string) string {
	switch {
	case low != "" && high != "":
		return view.T(ctx, "Between %s and %s", low, high)
	case low != "":
		return view.T(ctx, "At least %s", low)
	case high != "":
		return view.T(ctx, "At most %s", high)
	}
	return ""
}
