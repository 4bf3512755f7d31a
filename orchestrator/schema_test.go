package orchestrator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/orchestrator"
)

func schemaOf(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// doubling is a schema that stands for 2^n others.
func doubling(n int, way string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)
		fmt.Fprintf(&b, `"a%d":{%q:[%s,%s]},`, i, way, next, next)
	}
	fmt.Fprintf(&b, `"a%d":{"type":"object"}}}`, n)
	return b.String()
}

// What agents write of their forms is checked as far as that can be done, and never for hours.
func TestValidate(t *testing.T) {
	t.Parallel()
	const deep = 40
	tree := `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`
	for what, c := range map[string]struct {
		schema, value string
		want          error
	}{
		"little that stands for much":      {doubling(deep, "allOf"), `{}`, orchestrator.ErrSchema},
		"and in the other ways":            {doubling(deep, "oneOf"), `{}`, orchestrator.ErrSchema},
		"more with each step into a value": {tree, strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep), orchestrator.ErrSchema},
		"the same of a flat value":         {tree, `{"a":{"a":1}}`, nil},
		"a little that stands for some":    {doubling(5, "allOf"), `{}`, nil},
		"a tree":                           {`{"properties":{"a":{"$ref":"#"}}}`, strings.Repeat(`{"a":`, deep) + "{}" + strings.Repeat("}", deep), nil},
		"a long list":                      {`{"items":{"type":"number"}}`, "[" + strings.Repeat("1,", 10000) + "1]", nil},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(c.value))
		if err != nil {
			t.Fatal(err)
		}
		if err := orchestrator.Validate(schemaOf(t, c.schema), v); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", what, err, c.want)
		}
	}
	var invalid *jsonschema.ValidationError
	if err := orchestrator.Validate(schemaOf(t, `{"type":"object"}`), "x"); !errors.As(err, &invalid) {
		t.Errorf("what does not fit: %v", err)
	}
}
