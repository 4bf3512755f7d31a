package frontend

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/frontend/view"
)

const tripSchema = `{
	"type": "object", "required": ["from", "leave_on", "class"],
	"properties": {
		"from": {"type": "string", "title": "Where from", "minLength": 2},
		"leave_on": {"type": "string", "format": "date"},
		"class": {"enum": ["economy", "business"], "default": "economy"},
		"seats": {"type": "integer", "minimum": 1, "maximum": 14},
		"price": {"type": "number"},
		"flexible": {"type": "boolean"},
		"mail": {"type": "string", "format": "email"},
		"site": {"type": "string", "format": "uri"},
		"at": {"type": "string", "format": "date-time"},
		"extras": {"type": "array", "items": {"enum": ["meal", "bag"]}, "minItems": 1},
		"rank": {"enum": [1, 2, 3]},
		"hotel": {"type": "object", "required": ["stars"], "properties": {"stars": {"type": "integer"}, "name": {"type": "string"}}}
	}
}`

func TestFormOfSchema(t *testing.T) {
	t.Parallel()
	f := newForm(t.Context(), "q", json.RawMessage(tripSchema))
	if f.IsRaw {
		t.Fatal("the schema is within what a form shows")
	}
	type short struct {
		Name, Label string
		Kind        view.FieldKind
		Required    bool
	}
	var got []short
	var walk func([]view.Field)
	walk = func(fs []view.Field) {
		for _, f := range fs {
			got = append(got, short{f.Name, f.Label, f.Kind, f.Required})
			walk(f.Fields)
		}
	}
	walk(f.Fields)
	want := []short{
		{"d/from", "Where from", view.FieldText, true},
		{"d/leave_on", "Leave on", view.FieldDate, true},
		{"d/class", "Class", view.FieldOne, true},
		{"d/seats", "Seats", view.FieldNumber, false},
		{"d/price", "Price", view.FieldNumber, false},
		{"d/flexible", "Flexible", view.FieldBool, false},
		{"d/mail", "Mail", view.FieldEmail, false},
		{"d/site", "Site", view.FieldAddress, false},
		{"d/at", "At", view.FieldTime, false},
		{"d/extras", "Extras", view.FieldMany, false},
		{"d/rank", "Rank", view.FieldOne, false},
		{"d/hotel", "Hotel", view.FieldGroup, false},
		{"d/hotel/stars", "Stars", view.FieldNumber, true},
		{"d/hotel/name", "Name", view.FieldText, false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f.Fields[2].Value != "economy" || f.Fields[3].Help != "Between 1 and 14" {
		t.Errorf("default %q, help %q", f.Fields[2].Value, f.Fields[3].Help)
	}
}

func TestReadForm(t *testing.T) {
	t.Parallel()
	base := url.Values{"d/from": {"Oslo"}, "d/leave_on": {"2026-12-01"}, "d/class": {"business"}, "d/hotel/stars": {"4"}}
	with := func(kv ...string) url.Values {
		v := url.Values{}
		for k, s := range base {
			v[k] = s
		}
		for i := 0; i < len(kv); i += 2 {
			v[kv[i]] = strings.Split(kv[i+1], "|")
		}
		return v
	}
	for name, c := range map[string]struct {
		values url.Values
		want   string
		wrong  []string
	}{
		"least":       {with(), `{"from":"Oslo","leave_on":"2026-12-01","class":"business","flexible":false,"hotel":{"stars":4}}`, nil},
		"all kinds":   {with("d/seats", "3", "d/price", "12.50", "d/flexible", "true", "d/extras", "meal|bag", "d/rank", "2"), `{"from":"Oslo","leave_on":"2026-12-01","class":"business","seats":3,"price":12.50,"flexible":true,"extras":["meal","bag"],"rank":2,"hotel":{"stars":4}}`, nil},
		"needed":      {with("d/from", " "), "", []string{"d/from"}},
		"too short":   {with("d/from", "O"), "", []string{"d/from"}},
		"too many":    {with("d/seats", "15"), "", []string{"d/seats"}},
		"at most":     {with("d/seats", "14"), `{"from":"Oslo","leave_on":"2026-12-01","class":"business","seats":14,"flexible":false,"hotel":{"stars":4}}`, nil},
		"no integer":  {with("d/seats", "1.5"), "", []string{"d/seats"}},
		"no number":   {with("d/price", "cheap"), "", []string{"d/price"}},
		"no choice":   {with("d/class", "first"), "", []string{"d/class"}},
		"no date":     {with("d/leave_on", "tomorrow"), "", []string{"d/leave_on"}},
		"no mail":     {with("d/mail", "me"), "", []string{"d/mail"}},
		"no time":     {with("d/at", "soon"), "", []string{"d/at"}},
		"inner":       {with("d/hotel/stars", ""), "", []string{"d/hotel/stars"}},
		"two":         {with("d/from", "", "d/seats", "x"), "", []string{"d/from", "d/seats"}},
		"no such one": {with("d/extras", "meal|dog"), "", []string{"d/extras"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForm(t.Context(), "q", json.RawMessage(tripSchema))
			data, problem, ok := readForm(t.Context(), f, json.RawMessage(tripSchema), c.values)
			var wrong []string
			var walk func([]view.Field)
			walk = func(fs []view.Field) {
				for _, f := range fs {
					if f.Err != "" {
						wrong = append(wrong, f.Name)
					}
					walk(f.Fields)
				}
			}
			walk(f.Fields)
			if ok != (c.want != "") || string(data) != c.want || cmp.Diff(c.wrong, wrong) != "" {
				t.Errorf("ok %v, wrong %v, problem %q:\n got %s\nwant %s", ok, wrong, problem, data, c.want)
			}
		})
	}
}

// What a form cannot show becomes a field for JSON, and JSON is checked just the same.
func TestRawForm(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"string"}}}}}}}`,
		`{"anyOf":[{"type":"string"},{"type":"number"}]}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"type":"string"}}}`,
		`{"type":"array","items":{"type":"object"}}`,
		`{"type":"array","items":{"type":"string","format":"date"}}`,
		`{"type":["string","number"]}`,
		`{"type":"object"}`,
		`{"$ref":"https://elsewhere.example/schema.json"}`,
		`true`, `7`, `[]`, `"x"`, `null`, `{`, ``,
		`{"type":"object","properties":[]}`,
		`{"properties":{"a":{"type":{"x":1}}}}`,
	} {
		f := newForm(t.Context(), "q", json.RawMessage(s))
		if !f.IsRaw {
			t.Errorf("%s became fields", s)
			continue
		}
		if _, problem, ok := readForm(t.Context(), f, json.RawMessage(s), url.Values{"json": {"{"}}); ok || problem == "" {
			t.Errorf("%s: half a JSON value was taken", s)
		}
		if f.Raw != "{" {
			t.Errorf("%s: what was typed is lost", s)
		}
	}
	s := json.RawMessage(`{"anyOf":[{"type":"string"},{"type":"number"}]}`)
	if _, problem, ok := readForm(t.Context(), newForm(t.Context(), "q", s), s, url.Values{"json": {"true"}}); ok || problem == "" {
		t.Error("a value that the schema refuses was taken")
	}
	if data, _, ok := readForm(t.Context(), newForm(t.Context(), "q", s), s, url.Values{"json": {" 7 "}}); !ok || string(data) != "7" {
		t.Errorf("got %s", data)
	}
	one := json.RawMessage(`{"type":"string","enum":["yes","no"]}`)
	if data, _, ok := readForm(t.Context(), newForm(t.Context(), "q", one), one, url.Values{"d": {"yes"}}); !ok || string(data) != `"yes"` {
		t.Errorf("a schema of one value gives %s", data)
	}
}

func FuzzForm(f *testing.F) {
	f.Add(tripSchema, "Oslo")
	f.Add(`{"type":"object","properties":{"a":{"enum":[]}}}`, "")
	f.Add(`{"type":"array","items":{"enum":[null]}}`, "x")
	f.Add(`{"properties":{"a/b~":{"type":"number"}}}`, "1e999")
	f.Fuzz(func(t *testing.T, schema, value string) {
		form := newForm(t.Context(), "q", json.RawMessage(schema))
		vs := url.Values{"json": {value}, "d": {value}}
		var walk func([]view.Field)
		walk = func(fs []view.Field) {
			for _, f := range fs {
				vs.Set(f.Name, value)
				walk(f.Fields)
			}
		}
		walk(form.Fields)
		if data, _, ok := readForm(t.Context(), form, json.RawMessage(schema), vs); ok && !json.Valid(data) {
			t.Errorf("%s with %q gives %s", schema, value, data)
		}
	})
}

// TestLines fills in a list of texts, one a line.
func TestLines(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","required":["topics"],"properties":{"topics":{"type":"array","items":{"type":"string","minLength":2},"maxItems":3,"default":["sea","sky"]}}}`)
	f := newForm(t.Context(), "q", schema)
	if f.IsRaw || f.Fields[0].Kind != view.FieldLines || f.Fields[0].Value != "sea\nsky" {
		t.Fatalf("the form is %+v", f)
	}
	for typed, want := range map[string]string{
		"tides\r\n\r\n  moon  \n": `{"topics":["tides","moon"]}`, "one\ntwo\nthree": `{"topics":["one","two","three"]}`,
		"": "", " \n ": "", "a": "", "aa\nbb\ncc\ndd": "",
	} {
		data, _, ok := readForm(t.Context(), newForm(t.Context(), "q", schema), schema, url.Values{"d/topics": {typed}})
		if ok != (want != "") || ok && string(data) != want {
			t.Errorf("%q: %s %v, want %s", typed, data, ok, want)
		}
	}
}

// TestExplained: whatever a form may ask for, what is wrong with an answer is said in words, at its field.
func TestExplained(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"string","minLength":3}`:                          "At least 3 characters, please.",
		`{"type":"string","maxLength":1}`:                          "At most 1 characters, please.",
		`{"type":"string","format":"email"}`:                       "This is not an e-mail address.",
		`{"type":"string","format":"uri"}`:                         "This is not a web address. It begins with https://, for example.",
		`{"type":"string","format":"date"}`:                        "This is not a date.",
		`{"type":"string","format":"date-time"}`:                   "This is not a date and time.",
		`{"type":"string","format":"ipv4"}`:                        "This is no valid ipv4.",
		`{"type":"string","pattern":"^a"}`:                         "This does not look as it should: ^a",
		`{"type":"string","enum":["x"]}`:                           "This is none of the choices.",
		`{"type":"number"}`:                                        "This is not a number.",
		`{"type":"integer"}`:                                       "This is not a number.",
		`{"type":"array","items":{"type":"string","minLength":3}}`: "At least 3 characters, please.",
		`{"type":"array","items":{"type":"string"},"minItems":2}`:  "Choose at least 2.",
		`{"type":"array","items":{"type":"string","enum":["x"]}}`:  "This is none of the choices.",
		`{"type":"string","title":"T","not":{"enum":["no"]}}`:      "This does not fit: 'not' failed.",
	} {
		schema := json.RawMessage(`{"type":"object","properties":{"v":` + schema + `}}`)
		f := newForm(t.Context(), "a", schema)
		if f.IsRaw {
			t.Fatalf("%s has no form", schema)
		}
		_, problem, ok := readForm(t.Context(), f, schema, url.Values{"d/v": {"no"}})
		if got := f.Fields[0].Err; ok || problem != "" || got != want {
			t.Errorf("%s: %q, %q beside it, want %q", schema, got, problem, want)
		}
	}
	for answer, want := range map[string]string{
		`{"v":1,"w":1}`: "v: This should be text. Not asked for: w.", `{}`: "Needed: v.", `[]`: "This should have members.", `{"v":"a","n":1.5}`: "n: This should be a whole number.",
		`{"v":"a","l":["x","x"]}`: "l: Each only once, please.", `{"v":"a","l":"x"}`: "l: This should be a list.", `{"v":"a","b":"x"}`: "b: This should be yes or no.",
	} {
		schema := json.RawMessage(`{"type":"object","required":["v"],"additionalProperties":false,"properties":{"v":{"type":"string"},"n":{"type":"integer"},"b":{"type":"boolean"},"l":{"type":"array","uniqueItems":true}}}`)
		_, problem, ok := readForm(t.Context(), &view.Form{IsRaw: true}, schema, url.Values{"json": {answer}})
		if ok || problem != want {
			t.Errorf("%s: %q, want %q", answer, problem, want)
		}
	}
}

// A form whose schema stands for more work than is ever done is not checked here: the agent gets what was filled in.
func TestFormIsReadInTime(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/a0","$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]},`, i, i+1)
	}
	b.WriteString(`"a60":{}}}`)
	data, problem, ok := readForm(t.Context(), &view.Form{IsRaw: true}, json.RawMessage(b.String()), url.Values{"json": {`{"a":1}`}})
	if string(data) != `{"a":1}` || problem != "" || !ok {
		t.Errorf("%s %q %v", data, problem, ok)
	}
}
