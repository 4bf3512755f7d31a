package workflow

import (
	"strings"
	"testing"
)

// Whatever is wrong with an expression, it is said how to put it right.
func TestFlawsHaveFixes(t *testing.T) {
	t.Parallel()
	sc := &scope{
		inputs: []Input{{Name: "s", Schema: []byte(`{"type":"string"}`)}, {Name: "l", Schema: []byte(`{}`)}},
		ids:    []string{"a"},
		steps:  func(id string) (may, known bool) { return id == "a", id == "a" },
	}
	for src, want := range map[string]string{
		`1 + inputs.s`:                   "one kind",
		`steps.a.text[0]`:                "split(x",
		`steps.a.text.title`:             "only maps have members",
		`steps.a.artifacts.text`:         "map(x, .name)",
		`map(inputs.s, #)`:               "split(x",
		`filter(steps.a.artifacts, "x")`: "a condition",
		`inputs.s ? 1 : 2`:               "a condition",
		`len()`:                          "docs/workflows.md",
		`len(1, 2)`:                      "docs/workflows.md",
		`upper(7)`:                       "string(x)",
		`inputs.l | len`:                 "write its end",
		`inputs.l,`:                      "see what stands before it",
		`# + 1`:                          "within `map`",
		`"open`:                          "quote",
		`inputs.s ~ 1`:                   "",
		`"\q"`:                           "backslash",
		`{1: 2}[`:                        "",
		`let len = 1; len`:               "",
		`steps.a.artifacts["x"]`:         "x[0]",
		`reduce(1..3, # + "x" , [])`:     "",
		`inputs.s matches "["`:           "plain text",
		`99999999999999999999`:           "",
	} {
		flaws := examine(src, sc)
		if len(flaws) == 0 && want != "" {
			t.Errorf("%s: nothing is wrong", src)
		}
		for _, f := range flaws {
			if f.do == "" || !strings.Contains(f.do, want) {
				t.Errorf("%s: %s; %s, want %q", src, f.what, f.do, want)
			}
		}
	}
}
