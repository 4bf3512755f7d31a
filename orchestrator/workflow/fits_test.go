package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/orchestrator"
)

func TestMisfitsInWords(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"minLength":3}`, `"ab"`, "must have at least 3 characters"},
		{`{"minLength":1}`, `""`, "must have at least one character"},
		{`{"maxLength":1}`, `"ab"`, "must have at most one character"},
		{`{"minimum":2.5}`, `2`, "must be at least 2.5"},
		{`{"maximum":100000000000000000000}`, `1e21`, "must be at most 100000000000000000000"},
		{`{"exclusiveMinimum":2}`, `2`, "must be more than 2"},
		{`{"exclusiveMaximum":2}`, `2`, "must be less than 2"},
		{`{"multipleOf":2}`, `3`, "must be a multiple of 2"},
		{`{"minItems":2}`, `[1]`, "must have at least 2 elements"},
		{`{"maxItems":1}`, `[1,2]`, "must have at most one element"},
		{`{"uniqueItems":true}`, `[1,2,1]`, "has the same twice, as elements 1 and 3"},
		{`{"enum":["economy","business",3]}`, `"first"`, `must be "economy", "business", 3`},
		{`{"const":true}`, `false`, "must be true"},
		{`{"pattern":"^a"}`, `"b"`, "does not have the form ^a"},
		{`{"type":["string","null"]}`, `[]`, "must be null or text, not a list"},
		{`{"required":["a","b"]}`, `{}`, "`a`, `b` are needed"},
		{`{"additionalProperties":false}`, `{"x":1}`, "there is no place for `x`"},
		{`{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[1,true]}`, "a/1: must be a whole number, not true or false"},
	} {
		if err := Fits(json.RawMessage(c[0]), json.RawMessage(c[1])); err == nil || err.Error() != c[2] {
			t.Errorf("%s in %s: %v, want %q", c[1], c[0], err, c[2])
		}
	}
}

// A schema of a few lines can stand for more work than is ever done: then it is not done.
func TestFitsInTime(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]},`, i, i+1)
	}
	b.WriteString(`"a60":{}}}`)
	if err := Fits(json.RawMessage(b.String()), json.RawMessage(`{}`)); !errors.Is(err, orchestrator.ErrSchema) {
		t.Errorf("a schema that stands for 2^60 others: %v", err)
	}
}
